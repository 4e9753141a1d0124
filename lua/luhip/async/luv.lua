--- Awaiting luhip's futures in luv's event loop.
--
--    local uv, async = require "luv", require "luhip.async.luv"
--    async.spawn(function()
--      local array = async.await(x:read_async()) -- the loop goes on meanwhile; x:read_async():await() is the same
--    end)
--    uv.run()
--
-- A future tells of itself by a descriptor, which the loop polls. What has none (events, streams, durations) is looked
-- at every millisecond.
-- Dependencies: luv, luhip.async.
-- @module luhip.async.luv

local async = require "luhip.async"
local uv = require "luv"

local luv = {}

local function resume(thread)
  local ok, e = coroutine.resume(thread)
  if not ok then
    error(e, 0)
  end
end

local function until_readable(object, thread)
  local poll = uv.new_poll(object:fd())
  poll:start("r", function()
    poll:stop()
    poll:close()
    resume(thread)
  end)
  coroutine.yield()
end

local function until_timer(object, thread)
  local timer = uv.new_timer()
  timer:start(1, 1, function()
    local ok, ready = pcall(async.ready, object)
    if ok and not ready then
      return
    end
    timer:stop()
    timer:close()
    resume(thread)
  end)
  coroutine.yield()
end

local function wait(object)
  local thread = coroutine.running()
  local meta = debug.getmetatable(object)
  if meta and meta.__name == "luhip.future" then
    until_readable(object, thread)
  else
    until_timer(object, thread)
  end
end

--- Starts a coroutine whose `await`s let the loop run. Its errors are raised out of uv.run.
-- @tparam function fn
-- @param ... its arguments
function luv.spawn(fn, ...)
  local thread = coroutine.create(fn)
  async.adopt(thread, wait)
  local ok, e = coroutine.resume(thread, ...)
  if not ok then
    error(e, 0)
  end
end

--- Waits for an object; in any coroutine under uv.run, also one that `spawn` did not start.
-- @param object a future, event, stream or duration
-- @return what object:wait() gives
function luv.await(object)
  local thread, main = coroutine.running()
  if not main then
    async.adopt(thread, wait)
  end
  return async.await(object)
end

return luv
