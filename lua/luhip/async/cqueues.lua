--- Awaiting luhip's futures in cqueues' coroutines.
--
--    local cqueues, async = require "cqueues", require "luhip.async.cqueues"
--    local loop = cqueues.new()
--    loop:wrap(function()
--      local array = async.await(x:read_async()) -- other coroutines of the loop run meanwhile
--    end)
--    assert(loop:loop())
--
-- A future tells of itself by a descriptor, which cqueues polls. What has none (events, streams, durations) is looked
-- at every millisecond.
-- Dependencies: cqueues, luhip.async.
-- @module luhip.async.cqueues

local async = require "luhip.async"
local cqueues = require "cqueues"

local adapter = {}

local function wait(object)
  local meta = debug.getmetatable(object)
  local pollable = meta and meta.__name == "luhip.future" and { pollfd = object:fd(), events = "r" }
  while not async.ready(object) do
    if pollable then
      cqueues.poll(pollable)
    else
      cqueues.sleep(0.001)
    end
  end
end

--- Waits for an object; in a coroutine of a cqueues loop the others run meanwhile.
-- @param object a future, event, stream or duration
-- @return what object:wait() gives
function adapter.await(object)
  local thread, main = coroutine.running()
  if not main and cqueues.running() then
    async.adopt(thread, wait)
  end
  return async.await(object)
end

return adapter
