-- What a function does not take is refused, not ignored: options it has not, arguments behind its last, keys in lists.

local luhip = require "luhip"
local support = require "spec.support"
local fails = support.assert_error_kind

support.each_device(function(id)
  support.scope()

  local SOURCE = 'extern "C" __global__ void k(float *x) {}'

  it("option tables name the nearest option to one that they have not", function()
    local dev = support.open(id)
    local kernel = dev:kernel(SOURCE)
    local x = dev:buffer("f32", 4, 0)
    for text, call in pairs {
      ["open: unknown key 'chekced'; did you mean 'checked'?"] = function()
        luhip.open { device = id, chekced = true }
      end,
      ["unknown key 'deffines'; did you mean 'defines'?"] = function()
        dev:compile(SOURCE, { deffines = {} })
      end,
      ["unknown key 'lzy'; did you mean 'lazy'?"] = function()
        dev:kernel(SOURCE, "k", { lzy = true })
      end,
      ["launch: unknown key 'blok'; did you mean 'block'?"] = function()
        kernel:launch({ grid = 1, blok = 1 }, x)
      end,
      ["launch: unknown key 'strem'; did you mean 'stream'?"] = function()
        kernel:bind { grid = 1, block = 1, strem = dev:stream() }
      end,
      ["capture: unknown key 'wramup'; did you mean 'warmup'?"] = function()
        dev:capture(function() end, { wramup = false })
      end,
      ["time: unknown option 'sample'"] = function()
        dev:time(function() end, { sample = 1 })
      end,
      ["pools[1]: unknown key 'pgae'; did you mean 'page'?"] = function()
        dev:install_pools { { kind = "direct", pgae = 1 } }
      end,
    } do
      fails("argument", call, text)
    end
  end)

  it("functions without options, timeouts or more dimensions refuse what is given for them", function()
    local dev = support.open(id)
    local x, s = dev:buffer("f32", { 4, 4 }, 0), dev:stream()
    local program = dev:compile(SOURCE)
    for text, call in pairs {
      ["bad argument #1 to 'device:stream' (nothing expected here, got table)"] = function()
        dev:stream { priority = 1 }
      end,
      ["bad argument #2 to 'luhip.open' (nothing expected here, got table)"] = function()
        luhip.open(id, { checked = true })
      end,
      ["bad argument #4 to 'device:buffer' (nothing expected here, got number)"] = function()
        dev:buffer("f32", 4, 4, 4)
      end,
      ["bad argument #4 to 'luhip.array' (nothing expected here, got number)"] = function()
        luhip.array("f32", 4, 4, 4)
      end,
      ["bad argument #2 to 'buffer:reshape' (nothing expected here, got number)"] = function()
        x:reshape(16, 1)
      end,
      ["bad argument #1 to 'buffer:transpose' (nothing expected here, got number)"] = function()
        x:transpose(2, 1)
      end,
      ["bad argument #3 to 'buffer:slice' (nothing expected here, got number)"] = function()
        x:slice(1, 2, 3)
      end,
      ["bad argument #1 to 'event:wait' (nothing expected here, got number)"] = function()
        dev:record():wait(1000)
      end,
      ["bad argument #1 to 'stream:sync' (nothing expected here, got number)"] = function()
        s:sync(1000)
      end,
      ["bad argument #1 to 'future:wait' (nothing expected here, got number)"] = function()
        x:read_async():wait(1000)
      end,
      ["bad argument #2 to 'program:kernel' (nothing expected here, got table)"] = function()
        program:kernel("k", { lazy = true })
      end,
    } do
      fails("argument", call, text)
    end
  end)

  it("functions that are written in Lua do so too", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, 0)
    for what, call in pairs {
      devices = function()
        luhip.devices { reason = true }
      end,
      clear_cache = function()
        luhip.clear_cache "all"
      end,
      profile = function()
        dev:profile(function() end, { samples = 2 })
      end,
      random = function()
        luhip.random(1, { rounds = 7 })
      end,
      ["random:normal"] = function()
        luhip.random(1):normal(x, 0, 1, { rounds = 7 })
      end,
      ["random:uniform"] = function()
        luhip.random(1):uniform(dev, "f32", 4, 0, 1, 2)
      end,
      scan = function()
        luhip.scan("f32", "a + b", "0")(x, nil, { axis = 1 })
      end,
      struct = function()
        luhip.struct("s", { { "x", "f32" } }, { packed = true })
      end,
    } do
      fails("argument", call, what .. ": nothing expected behind its last argument, got ")
    end
  end)

  it("a nil behind the last argument is none, and data may come with more", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, nil, nil)
    dev:stream(nil):free()
    x:write { 1, 2, 3, 4 }
    local function two()
      return { 1, 2, 3, 4 }, "how they came about"
    end
    assert.equal(10, dev:from("f32", two()):read():totable()[4] + 6)
    assert.equal(4, x:copy(dev:from("f32", two()), "more"):read()[4])
  end)

  it("a list has elements alone, without gaps", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, 0)
    local kernel = dev:kernel(SOURCE)
    for text, call in pairs {
      ["buffers: a list expected, and it has the key 'x'"] = function()
        dev:sync { x = x }
      end,
      ["buffers: a list expected, and it has the key 'y'"] = function()
        dev:read { x, y = x }
      end,
      ["buffers: the list has gaps"] = function()
        dev:check { x, nil, x }
      end,
      ["touches: a list expected, and it has the key 'x'"] = function()
        kernel:launch({ grid = 1, block = 1, touches = { x = x } }, x)
      end,
      ["device:write: a list expected, and it has the key 'x'"] = function()
        dev:write { x = { x, { 1, 2, 3, 4 } } }
      end,
      ["an entry { buffer, data }: a list expected, and it has the key 'first'"] = function()
        dev:write { { x, { 1 }, first = 2 } }
      end,
      ["entry 1 is { buffer, data } and more"] = function()
        dev:write { { x, { 1, 2, 3, 4 }, 1 } }
      end,
      ["device:staging: a list expected, and it has the key 'bytes'"] = function()
        dev:staging { bytes = 16 }
      end,
      ["shape: a list expected, and it has the key 'rows'"] = function()
        dev:buffer("f32", { 4, rows = 4 })
      end,
      ["include_dirs: a list expected, and it has the key 'a'"] = function()
        dev:compile(SOURCE, { include_dirs = { a = "." } })
      end,
      ["install_pools: a list expected, and it has the key 'kind'"] = function()
        dev:install_pools { kind = "direct" }
      end,
    } do
      fails("argument", call, text)
    end
  end)

  it("an object in the wrong state is named with its method", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, 0)
    local ok, e = pcall(x.row, x, 1)
    assert.is_false(ok)
    assert.equal("buffer:row: f32[4] has one dimension and no rows; slice(i, i) is one element", e.message)
    x:free()
    e = select(2, pcall(x.read, x))
    assert.equal("buffer:read: the buffer was freed", e.message)
    e = select(2, pcall(x.read, dev))
    assert.equal("calling 'buffer:read' on a bad object (luhip.buffer expected, got luhip.device)", e.message)
  end)
end)
