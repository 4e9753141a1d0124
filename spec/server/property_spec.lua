-- E1 to E6: whatever happened, a read succeeds exactly when the last writer of each of its bytes did, with the value
-- that it wrote, and tells each failure once. Ten thousand random operations over four streams, beside a model.

local support = require "spec.support"
local model = require "spec.server.model"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local N, BUFFERS, OPERATIONS = 24, 6, 10000
local part = model.part

support.each_device(function(id)
  local survives = id:find "^cpu" -- faults of kernels

  -- One run; all randomness comes from the seed, which the name of a failure tells.
  local function run(seed, operations)
    math.randomseed(seed)
    local random = math.random
    local dev = support.open(id)
    local k = work.kernels(dev)
    local broken = dev:kernel(
      [[
      extern "C" __global__ void broken(const float *x, LUHIP_OUT float *y, int n) { this is no C++ }
    ]],
      "broken",
      { lazy = true }
    )
    local streams, buffers, m = {}, {}, model.new()
    for i = 1, 4 do
      streams[i] = dev:stream()
    end
    local function renew(b)
      if buffers[b] then
        buffers[b]:free()
      end
      buffers[b] = dev:buffer("f32", N)
      m:make(b, N)
    end
    for b = 1, BUFFERS + 2 do -- the last two are the graph's
      renew(b)
    end
    local big, zero = dev:buffer("u32", 3, 0xFFFFFFFF), dev:buffer("u32", 3, 0)

    local function some(length)
      local n = length or random(N)
      local first = random(N - n + 1)
      return part(random(BUFFERS + 2), first, first + n - 1)
    end
    local function other(than, length)
      local p
      repeat
        p = some(length)
      until p.buffer ~= than.buffer
      return p
    end
    local function view(p)
      return buffers[p.buffer]:slice(p.first, p.last)
    end
    local function length(p)
      return p.last - p.first + 1
    end
    -- What has failed already is told without waiting for more: so there may be fewer, until all has passed.
    local function expect_failure(count, ok, e, what, passed)
      local told = not ok and math.max(#e.failures, 1) or 0
      if (count == 0) ~= ok then
        error(("%s: %s, but %d failures are expected"):format(what, ok and "worked" or tostring(e), count), 0)
      elseif told > count or (passed and told ~= count) then
        error(("%s: %d failures, but %d are expected: %s"):format(what, told, count, e), 0)
      end
    end
    local function read(p, passed)
      local _, count = m:carried(p)
      local v = view(p)
      local ok, result = pcall(v.read, v)
      expect_failure(count, ok, result, "read", passed)
      for i = 1, ok and length(p) or 0 do
        local value = m.cells[p.buffer][p.first + i - 1].value
        if value and result[i] ~= value then
          error(("buffer %d, element %d: %g, not %g"):format(p.buffer, p.first + i - 1, result[i], value), 0)
        end
      end
    end

    local ga, gb = part(BUFFERS + 1, 3, 14), part(BUFFERS + 2, 7, 18)
    buffers[ga.buffer]:fill(1)
    buffers[gb.buffer]:fill(1)
    m:run({}, { part(ga.buffer, 1, N) }, function()
      return 1
    end)
    m:run({}, { part(gb.buffer, 1, N) }, function()
      return 1
    end)
    local graph = dev:capture(function()
      k.add:launch(work.over(12), view(ga), 12, 1)
      view(gb):copy(view(ga))
    end, { warmup = false })

    local operations_of = {
      function() -- fill
        local p, v = some(), random(100)
        view(p):fill(v)
        m:run({}, { p }, function()
          return v
        end)
      end,
      function() -- write
        local p, v = some(), {}
        for i = 1, length(p) do
          v[i] = random(100)
        end
        view(p):write(v)
        m:run({}, { p }, function(i)
          return v[i]
        end)
      end,
      function() -- copy
        local from = some()
        local to = other(from, length(from))
        view(to):copy(view(from))
        m:run({ from }, { to }, function(_, x)
          return x
        end)
      end,
      function() -- inout
        local p, v = some(), random(9)
        k.add:launch(work.over(length(p)), view(p), length(p), v)
        m:run({ p }, { p }, function(_, x)
          return (x + v) % 1000 == x + v and x + v or nil
        end)
      end,
      function() -- out
        local p, v = some(), random(9)
        k.set:launch(work.over(length(p)), view(p), length(p), v)
        m:run({}, { p }, function()
          return v
        end)
      end,
      function() -- in and out
        local from = some()
        local to = other(from, length(from))
        k.copy:launch(work.over(length(from)), view(from), view(to), length(from))
        m:run({ from }, { to }, function(_, x)
          return x
        end)
      end,
      function() -- two in, one out
        local x = some()
        local y = other(x, length(x))
        local z
        repeat
          z = other(x, length(x))
        until z.buffer ~= y.buffer
        k.sum:launch(work.over(length(x)), view(x), view(y), view(z), length(x))
        m:run({ x, y }, { z }, function(_, a, b)
          return a + b < 1000 and a + b or nil
        end)
      end,
      function() -- a grid from a buffer, beyond every limit
        local from = some()
        local to = other(from, length(from))
        k.copy:launch({ grid = big, block = 64 }, view(from), view(to), length(from))
        m:run({}, { to }, nil, true)
      end,
      function() -- and of nothing
        local p = some()
        k.add:launch({ grid = zero, block = 64 }, view(p), length(p), 1)
      end,
      function() -- does not compile, which takes its time
        if random(30) > 1 then
          return
        end
        local from = some()
        local to = other(from, length(from))
        broken:launch(work.over(1), view(from), view(to), length(from))
        m:run({}, { to }, nil, true)
      end,
      function() -- faults
        if not survives or random(8) > 1 then
          return
        end
        local p = some()
        k.wild:launch(work.over(1), view(p), 1, 1 << 40)
        m:run({}, { p }, nil, true)
      end,
      function() -- the driver refuses
        if not testing or random(4) > 1 then
          return
        end
        local p = some()
        testing.driver_fail { call = "hipMemcpyAsync", error = "hipErrorUnknown" }
        local v = view(p)
        assert(not pcall(v.write, v, string.pack("<f", 0):rep(length(p))))
        testing.driver_reset()
        m:run({}, { p }, nil, true)
      end,
      function() -- freed and made anew
        renew(random(BUFFERS))
      end,
      function()
        graph:replay()
        m:run({ ga }, { ga, gb }, function(_, x)
          return x < 1000 and x + 1 or nil
        end)
      end,
      function()
        read(some())
      end,
      function()
        read(some(1))
      end,
      function()
        if random(20) == 1 then
          dev:sync()
        end
      end,
    }
    for i = 1, operations do
      local what = random(#operations_of)
      local ok, e = pcall(dev.with, dev, streams[random(4)], operations_of[what])
      if not ok then
        error(("seed %d, operation %d, of kind %d: %s"):format(seed, i, what, e), 0)
      end
    end
    -- Every element by itself: claims are exact, and checking agrees with reading.
    dev:sync()
    for b = 1, BUFFERS + 2 do
      for i = 1, N do
        local p = part(b, i, i)
        read(p, true)
        local _, count = m:carried(p)
        local ok, e = view(p):check()
        expect_failure(count, ok == true, e, "check", true)
      end
    end
    graph:free()
    for b in pairs(buffers) do
      buffers[b]:free()
    end
    if testing then
      collectgarbage() -- views keep what they are of
      collectgarbage()
      dev:sync()
      dev:flush()
      local counts = testing.server_counts(dev)
      assert.same({ 0, 0 }, { counts.failures, counts.inflight })
    end
  end

  it("E1 E2 E3 E4 E6 a read succeeds exactly when the last writer of every byte did", function()
    run(math.tointeger(os.getenv "LUHIP_TEST_SEED") or 1, OPERATIONS // support.every(10))
  end)
end)
