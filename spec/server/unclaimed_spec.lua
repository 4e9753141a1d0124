-- E6 for operations that write no buffer: no claim can say that they failed, so the next wait does.

local support = require "spec.support"

local SOURCE = [[
#include <assert.h>
extern "C" __global__ void bare() { assert(0 && "bare"); }
extern "C" __global__ void check(const float *x) { assert(x[threadIdx.x] == 0.0f); }
extern "C" __global__ void fill(LUHIP_OUT float *x) { x[threadIdx.x] = 3.0f; }
extern "C" __global__ void spoil(LUHIP_OUT float *x) { assert(threadIdx.x > 100); x[threadIdx.x] = 4.0f; }
]]

support.each_device(function(id)
  if not id:find "^cpu" then
    return -- a fault is the end of another device
  end

  local ONE = { grid = 1, block = 1 }

  local function setup()
    local dev = support.open(id)
    local program = dev:compile(SOURCE, { name = "unclaimed.hip" })
    return dev, program:kernel "bare", program
  end

  it("E6 dev:sync raises the fault of a kernel that writes nothing, once", function()
    local dev, bare = setup()
    bare:launch(ONE)
    local e = support.assert_error_kind("fault", function()
      dev:sync()
    end, "kernel 'bare' failed an assertion")
    assert.equal("bare", e.kernel)
    dev:sync()
  end)

  it("E6 a kernel with only const arguments says it failed, and its arguments stay good", function()
    local dev, _, program = setup()
    local x = dev:from("f32", { 1, 2, 3 })
    program:kernel("check"):launch({ grid = 1, block = 3 }, x)
    assert.same({ 1, 2, 3 }, x:read():totable())
    support.assert_error_kind("fault", function()
      dev:sync()
    end, "'check'")
    dev:sync { x }
  end)

  it("E6 a sync of a stream and a wait for an event raise it as well", function()
    local dev, bare = setup()
    local s = dev:stream()
    bare:launch({ grid = 1, block = 1, stream = s })
    support.assert_error_kind("fault", function()
      s:sync()
    end, "'bare'")
    s:sync()
    bare:launch({ grid = 1, block = 1, stream = s })
    local event = s:record()
    support.assert_error_kind("fault", function()
      event:wait()
    end, "'bare'")
    event:wait()
    dev:sync()
  end)

  it("E6 of several failures the oldest is told, with their number", function()
    local dev, bare, program = setup()
    local x = dev:from("f32", { 1 })
    bare:launch(ONE)
    program:kernel("check"):launch(ONE, x)
    program:kernel("check"):launch(ONE, x)
    support.assert_error_kind("fault", function()
      dev:sync()
    end, "3 failures, the first is: kernel 'bare'")
    dev:sync()
  end)

  it("E6 it does not disturb reads and writes of other buffers", function()
    local dev, bare, program = setup()
    local x = dev:buffer("f32", 4)
    bare:launch(ONE)
    program:kernel("fill"):launch({ grid = 1, block = 4 }, x)
    assert.same({ 3, 3, 3, 3 }, x:read():totable())
    x:write { 1, 2, 3, 4 }
    assert.same({ 1, 2, 3, 4 }, x:read():totable())
    support.assert_error_kind("fault", function()
      dev:sync()
    end, "'bare'")
  end)

  it("E6 a failure that a buffer carries is the buffer's to tell, not the next sync's", function()
    local dev, _, program = setup()
    local x = dev:buffer("f32", 4)
    program:kernel("spoil"):launch({ grid = 1, block = 4 }, x)
    dev:sync()
    support.assert_error_kind("fault", function()
      x:read()
    end, "'spoil'")
  end)

  it("E6 a kernel that is skipped leaves it to its stale input", function()
    local dev, _, program = setup()
    local x = dev:buffer("f32", 4)
    program:kernel("spoil"):launch({ grid = 1, block = 4 }, x)
    program:kernel("check"):launch({ grid = 1, block = 4 }, x)
    dev:sync()
    program:kernel("check"):launch({ grid = 1, block = 4 }, x)
    dev:sync()
  end)

  it("E6 what a profile told is not told again", function()
    local dev, bare = setup()
    support.assert_error_kind("fault", function()
      dev:profile(function()
        bare:launch(ONE)
      end)
    end, "'bare'")
    dev:sync()
  end)

  it("E6 a device that is closed forgets it", function()
    local dev, bare = setup()
    bare:launch(ONE)
    dev:close()
    dev = support.open(id)
    dev:sync()
  end)
end)
