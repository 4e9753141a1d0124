-- Runs before any spec: finds the module that was built, chooses the collector, and makes finalisers heard.
--
-- LUHIP_BUILD      build directory whose module is tested (build/test)
-- LUHIP_COLLECTOR  incremental, generational, or stress (a full cycle for every few allocations)

package.cpath = (os.getenv "LUHIP_BUILD" or "build/test") .. "/?.so;" .. package.cpath

-- An error in a finaliser is only a warning: scripts/test fails a run that shows one.
warn "@on"

local collector = os.getenv "LUHIP_COLLECTOR" or "incremental"
if collector == "generational" then
  collectgarbage "generational"
elseif collector == "stress" then
  collectgarbage("incremental", 50, 1000)
end
