-- Reads at once: one future serves them all, whatever runs while one waits.

local luhip = require "luhip"
local support = require "spec.support"

support.each_device(function(id)
  support.scope()

  it("C5 what a finaliser reads during a read is its own, and neither read sees the other's", function()
    local dev = support.open(id)
    local x, y = dev:buffer("i32", 64, 1), dev:buffer("i32", 64, 2)
    local finalised, done = 0, false
    local function litter()
      setmetatable({}, {
        __gc = function()
          if not done then
            finalised = finalised + 1
            assert(y:read()[64] == 2)
            litter()
          end
        end,
      })
    end
    litter()
    local mode = collectgarbage "incremental"
    local pause, multiplier = collectgarbage("setpause", 100), collectgarbage("setstepmul", 1000)
    local ok, e = pcall(function()
      for i = 1, 200 do
        x:fill(i)
        local a <close> = x:read()
        assert(a[1] == i and a[64] == i, i)
        collectgarbage "step"
      end
    end)
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", multiplier)
    collectgarbage(mode)
    done = true
    assert(ok, e)
    assert.is_true(finalised > 0)
  end)

  it("C5 reads come right after one that raised, in its array or in its wait", function()
    local dev = support.open(id)
    local x, bad = dev:buffer("i32", 64, 1), dev:buffer("i32", 64, 1)
    local scale = dev:kernel [[extern "C" __global__ void k(int *x) { x[threadIdx.x] = 1; }]]
    require("luhip.core").testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidValue" }
    scale:launch({ grid = 1, block = 64 }, bad)
    require("luhip.core").testing.driver_reset()
    for i = 1, 3 do
      assert.is_false((pcall(bad.read, bad)))
      x:fill(i)
      assert.equal(i, x:read()[64])
    end
  end)

  it("C5 a hook that ends a read's wait ends that read alone", function()
    local dev = support.open(id)
    local x = dev:buffer("i32", 64, 7)
    local raised = 0
    for n = 1, 200 do
      local ok, a = pcall(function()
        debug.sethook(function()
          debug.sethook()
          error "enough"
        end, "", n % 20 + 1)
        local a = x:read()
        debug.sethook()
        return a
      end)
      debug.sethook()
      raised = raised + (ok and 0 or 1)
      assert(not ok or a[64] == 7)
    end
    assert.is_true(raised > 0)
    assert.equal(7, x:read()[1])
  end)

  it("C3 an array may be freed right after it was written, and not before", function()
    local dev = support.open(id)
    local x = dev:buffer("i32", 64, 1)
    local a = luhip.array("i32", 64, 5)
    x:write(a)
    a:free()
    assert.equal(5, x:read()[64])
    support.assert_error_kind("freed", function()
      x:write(a)
    end)
  end)
end)
