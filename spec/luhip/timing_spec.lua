local support = require "spec.support"

support.each_device(function(id)
  local function setup()
    local dev = support.open(id)
    local x = dev:buffer("f32", 64, 0)
    local add = dev:kernel 'extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1.0f; }'
    return dev, x, function()
      add:launch({ grid = 1, block = 64 }, x)
    end
  end

  it("dev:time calls the function once to warm up and once per sample", function()
    local dev, x, work = setup()
    local ms, samples = dev:time(work, { samples = 4 })
    assert.equal(4, #samples)
    assert.equal(5, x:read()[1])
    assert.is_number(ms)
    for _, sample in ipairs(samples) do
      assert.is_true(sample >= 0)
    end
    local _, more = dev:time(work, { warmup = 0, samples = 1 })
    assert.equal(1, #more)
    assert.equal(6, x:read()[1])
    _, more = dev:time(work)
    assert.equal(10, #more)
  end)

  it("dev:time takes whatever can be called, and says what cannot", function()
    local dev, x = setup()
    local calls = 0
    local callable = setmetatable({}, {
      __call = function()
        calls = calls + 1
      end,
    })
    dev:time(callable, { samples = 2 })
    dev:profile(callable)
    dev:plan(callable)
    dev:memory_mode("auto", callable)
    assert.equal(6, calls)
    for _, method in ipairs { "time", "profile", "plan" } do
      support.assert_error_kind("type", function()
        dev[method](dev, x)
      end, method .. ": a function expected, not a luhip.buffer")
      support.assert_error_kind("type", function()
        dev[method](callable)
      end, ("bad argument #1 to 'device:%s' (luhip.device expected, got a table)"):format(method))
      support.assert_error_kind("type", function()
        dev[method]()
      end, ("'device:%s' (luhip.device expected, got no value)"):format(method))
    end
  end)

  it("dev:time gives the median of its samples", function()
    local dev, _, work = setup()
    local ms, samples = dev:time(work, { samples = 3 })
    table.sort(samples)
    assert.equal(samples[2], ms)
  end)

  it("dev:time works on the current stream", function()
    local dev, x, work = setup()
    local s = dev:stream()
    dev:with(s, function()
      dev:time(work, { samples = 1 })
    end)
    assert.equal(2, x:read()[1])
  end)

  it("dev:time lets errors through and goes on after them", function()
    local dev, x, work = setup()
    assert.has_error(function()
      dev:time(function()
        error("not this", 0)
      end)
    end, "not this")
    dev:time(work, { samples = 1 })
    assert.equal(2, x:read()[1])
  end)

  it("dev:time refuses options that cannot be", function()
    local dev, _, work = setup()
    support.assert_error_kind("type", function()
      dev:time(5)
    end)
    local wrong = { { samples = 0 }, { samples = 1.5 }, { warmup = -1 }, { sample = 1 }, { samples = "3" } }
    for _, options in ipairs(wrong) do
      support.assert_error_kind("argument", function()
        dev:time(work, options)
      end)
    end
  end)

  if id:find "^cpu" then
    it("dev:time with buffers raises for work that failed, instead of a small number", function()
      local dev, x = setup()
      local bad = dev:kernel 'extern "C" __global__ void bad(float *x) { if (x[0] == 0.0f) __builtin_trap(); }'
      support.assert_error_kind("fault", function()
        dev:time(function()
          bad:launch({ grid = 1, block = 1 }, x)
        end, { buffers = { x } })
      end, "bad")
    end)

    it("dev:time gives no time for work that failed, whatever it writes", function()
      local dev, x = setup()
      local program = dev:compile [[
        extern "C" __global__ void bare() { assert(threadIdx.x > 100); }
        extern "C" __global__ void check(const float *x) { assert(x[0] == 1.0f); }
        extern "C" __global__ void spoil(float *x) { if (x[0] == 0.0f) __builtin_trap(); }
        extern "C" __global__ void look(const float *x) {}
      ]]
      local y = dev:buffer("f32", 64, 0)
      local function time(name, culprit, ...)
        local arguments = { ... }
        support.assert_error_kind("fault", function()
          dev:time(function()
            program:kernel(name):launch({ grid = 1, block = 1 }, table.unpack(arguments))
          end)
        end, "timed work: ", "kernel '" .. culprit .. "'")
        dev:sync()
      end
      time("bare", "bare")
      time("check", "check", x)
      time("spoil", "spoil", y)
      time("look", "spoil", y) -- is skipped
    end)

    it("dev:time gives no time for work on another stream that failed", function()
      local dev = setup()
      local s = dev:stream()
      local bad = dev:kernel 'extern "C" __global__ void bad() { __builtin_trap(); }'
      support.assert_error_kind("fault", function()
        dev:time(function()
          bad:launch { grid = 1, block = 1, stream = s }
          pcall(s.sync, s)
        end)
      end, "bad")
      dev:sync()
    end)
  end
end)
