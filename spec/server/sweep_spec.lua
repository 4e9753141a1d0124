-- Every call of the driver fails in turn: nothing crashes, nothing leaks, claims are what a model says, and the device
-- works afterwards.

local luhip = require "luhip"
local support = require "spec.support"
local scenario = require "spec.server.scenario"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

if not testing then
  return
end

-- These cannot fail in a way that means anything, or are ours.
local harmless = {
  hipGetLastError = true,
  hipDriverGetVersion = true,
  hipGetDevice = true,
  hipxLaunchTag = true,
  hipxTakeFault = true,
  hipxSetWriter = true,
}
-- How often these are called depends on how fast the device is.
local polls = { hipEventQuery = 12, hipStreamQuery = 4 }

support.each_device(function(id)
  local function objects()
    collectgarbage()
    collectgarbage()
    return testing.driver_objects()
  end

  -- One run under a rule; nil: none. What went wrong, or nil, and how often the rule has struck.
  local function run(rule)
    local function lost()
      return rule and rule.sticky and testing.driver_struck() > 0
    end
    testing.driver_reset()
    testing.driver_renew()
    if rule then
      testing.driver_fail(rule)
    end
    local script = scenario.new(id, lost)
    local ok, e = pcall(script.all, script)
    local closed, why = pcall(script.close, script)
    if not closed then
      ok, e = false, "close: " .. tostring(why)
    end
    local struck = testing.driver_struck()
    testing.driver_reset()
    local violations = testing.driver_violations()
    if #violations > 0 then
      ok, e = false, table.concat(violations, "; ")
    end
    return not ok and tostring(e) or nil, struck
  end

  local function works()
    local dev = luhip.open(id)
    local x = dev:buffer("f32", 4, 2)
    local value = x:read()[4]
    dev:close()
    return value == 2
  end

  -- Fails the nth call of each kind, for every n.
  local function sweep(what)
    assert.is_nil((run()))
    local before, wrong, count = objects(), {}, 0
    local function note(rule, e)
      table.insert(wrong, ("%s %d %s: %s"):format(rule.call, rule.nth, rule.error, e))
    end
    local counted = scenario.count(id)
    local names = {}
    for name in pairs(counted) do
      table.insert(names, name)
    end
    table.sort(names)
    for _, name in ipairs(names) do
      local made = counted[name]
      for nth = 1, harmless[name] and 0 or math.min(made, polls[name] or made), support.every(13) do
        local rule = { call = name, nth = nth, error = what(name), sticky = what(name) == "hipErrorIllegalAddress" }
        local e = run(rule)
        count = count + 1
        if e then
          note(rule, e)
        end
        local after = objects()
        for kind, live in pairs(after) do
          if live ~= before[kind] then
            note(rule, ("%d %s objects, %d before"):format(live, kind, before[kind]))
          end
        end
        before = after
        local fine, value = pcall(works)
        if not (fine and value) then
          note(rule, "the device does not work afterwards: " .. tostring(value))
        end
      end
    end
    assert.is_true(count > 100 // support.every(13))
    assert(#wrong == 0, ("%d things are wrong:\n%s"):format(#wrong, table.concat(wrong, "\n", 1, math.min(#wrong, 60))))
  end

  it("E1 E3 J2 every call of the driver may fail once", function()
    sweep(function(name)
      return name:find "alloc" and "hipErrorOutOfMemory" or "hipErrorUnknown"
    end)
  end)

  it("E8 a lost device says so at every use, names the launch suspected, and is had again by opening it", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    local x, y = dev:buffer("f32", 8, 1), dev:buffer("f32", 8, 1)
    dev:sync()
    k.add:launch(work.over(8), x, 8, 1)
    testing.driver_fail { call = "hipStreamQuery", error = "hipErrorIllegalAddress", sticky = true }
    support.assert_error_kind("driver", function()
      dev:sync()
    end, "hipErrorIllegalAddress")
    for _, use in ipairs {
      function()
        k.add:launch(work.over(8), y, 8, 1)
      end,
      function()
        y:read()
      end,
      function()
        y:fill(1)
      end,
      function()
        y:write { 1, 2, 3, 4, 5, 6, 7, 8 }
      end,
      function()
        y:copy(x)
      end,
      function()
        dev:sync()
      end,
      function()
        dev:start_profile()
      end,
    } do
      support.assert_error_kind("poisoned", use, "hipErrorIllegalAddress", "'add'", "open it again")
    end
    dev:close()
    testing.driver_reset()
    assert.is_true(works())
  end)

  it("E8 a program that cannot be loaded, since the device is lost, says so, and whoever comes later", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 8, 1)
    dev:sync()
    testing.driver_fail { call = "hipModuleLoadData", error = "hipErrorIllegalAddress", sticky = true }
    support.assert_error_kind("driver", function()
      dev:compile('extern "C" __global__ void other(float *x) { x[0] = 3; }', { cache = false })
    end, "loading program", "hipErrorIllegalAddress")
    support.assert_error_kind("poisoned", function()
      x:read()
    end, "hipErrorIllegalAddress", "open it again")
    dev:close()
    testing.driver_reset()
    assert.is_true(works())
  end)

  it("E8 out of memory loses nothing", function()
    local dev = support.open(id)
    testing.driver_fail { call = "hipMalloc", error = "hipErrorOutOfMemory", times = 8 }
    support.assert_error_kind("oom", function()
      dev:buffer("f32", 8, 1)
    end)
    testing.driver_reset()
    assert.equal(1.0, dev:buffer("f32", 8, 1):read()[8])
  end)

  it("E8 every call of the driver may be the one that loses the device", function()
    sweep(function()
      return "hipErrorIllegalAddress"
    end)
  end)
end)
