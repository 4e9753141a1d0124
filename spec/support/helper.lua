-- Runs before any spec: finds the module that was built, chooses the collector, and makes finalisers heard.
--
-- LUHIP_BUILD      build directory whose module is tested (build/test)
-- LUHIP_COLLECTOR  incremental, generational, or stress (a collection at every allocation)

package.cpath = (os.getenv "LUHIP_BUILD" or "build/test") .. "/?.so;" .. package.cpath

-- An error in a finaliser is only a warning: scripts/test fails a run that shows one.
warn "@on"

local collector = os.getenv "LUHIP_COLLECTOR" or "incremental"
if collector == "generational" then
  collectgarbage "generational"
elseif collector == "stress" then
  -- Steps without end, and no pause: a whole cycle wherever Lua may collect. The first ends the pause that is on.
  collectgarbage("incremental", 1, 1000, 63)
  collectgarbage()
end

-- Every driver call of every spec is held against HIP's contract (src/testing/validate.c): a violation fails the spec.
local busted = require "busted"
busted.after_each(function()
  local core = package.loaded["luhip.core"]
  local testing = core and core.testing
  if testing then
    testing.driver_reset()
    testing.driver_renew()
    local violations = testing.driver_violations()
    if #violations > 0 then
      error("driver contract violated:\n" .. table.concat(violations, "\n"), 0)
    end
  end
end)
