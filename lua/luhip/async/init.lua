--- Waiting without standing still: futures, events, streams and durations awaited from coroutines.
--
--    local async = require "luhip.async"
--    async.run(function()
--      local tasks = {}
--      for i, stream in ipairs(streams) do
--        tasks[i] = async.spawn(function()
--          dev:with(stream, function() run(x[i]) end)
--          return x[i]:read_async():await()
--        end)
--      end
--      local arrays = async.all(tasks, { progress = function(done, total) print(done, total) end })
--    end)
--
-- `object:await()` gives what `object:wait()` gives. In a coroutine that a scheduler knows it yields to that scheduler
-- until the device is done; anywhere else it waits. Schedulers are the one here (`run`), that of luv's loop
-- (luhip.async.luv) and cqueues' (luhip.async.cqueues); another one calls `adopt`.
--
-- Nothing here is for several threads: a scheduler and its tasks belong to one Lua state.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.async

local core = require "luhip.core"
local errors = require "luhip.errors"

local async = {}

-- By coroutine, what it waits with: wait(object) returns when ready(object) is true.
local waiters = setmetatable({}, { __mode = "k" })

-- ---- what can be awaited ---------------------------------------------------------------------------------------

local Task = { __name = "luhip.task" }
Task.__index = Task

local READY = {
  ["luhip.future"] = "ready",
  ["luhip.event"] = "query",
  ["luhip.stream"] = "query",
  ["luhip.duration"] = "ready",
  ["luhip.task"] = "ready",
}
local FINISH = { ["luhip.stream"] = "sync" }

local function type_of(object)
  local meta = debug.getmetatable(object)
  return type(meta) == "table" and meta.__name or type(object)
end

local function check(object, what)
  if not READY[type_of(object)] then
    errors.raise("type", "%s: a future, event, stream, duration or task expected, not a %s", what, type_of(object))
  end
end

--- Whether an object is done; never waits. Raises what the work failed with.
-- @param object a future, event, stream, duration or task
-- @treturn boolean
function async.ready(object)
  check(object, "async.ready")
  return object[READY[type_of(object)]](object)
end

local function finish(object)
  return object[FINISH[type_of(object)] or "wait"](object)
end

--- Waits for an object and gives its result; yields where the running coroutine has a scheduler.
-- @param object a future (gives its array), event, stream, duration (gives milliseconds) or task (gives its results)
-- @return what object:wait() gives
-- @raise what the work failed with
function async.await(object)
  check(object, "async.await")
  local thread, main = coroutine.running()
  local waiter = not main and waiters[thread]
  if waiter and not async.ready(object) then
    waiter(object)
  elseif not waiter and type_of(object) == "luhip.task" then
    errors.raise("argument", "async.await: a task is awaited within async.run, by another task")
  end
  return finish(object)
end

--- Tells how a coroutine is to wait, for schedulers other than the one here.
-- @tparam thread thread
-- @tparam function wait called in that coroutine with an object; returns when async.ready(object) is true
function async.adopt(thread, wait)
  waiters[thread] = wait
end

for _, class in ipairs { "future", "event", "stream", "duration" } do
  core.methods[class].await = async.await
end

-- ---- a scheduler -----------------------------------------------------------------------------------------------

local running -- the scheduler whose loop runs now

function Task:ready()
  return self.done
end

function Task:wait()
  if not self.done then
    errors.raise("not_ready", "the task has not ended")
  elseif self.error ~= nil then
    self.told = true
    error(self.error, 0)
  end
  return table.unpack(self.results, 1, self.results.n)
end

Task.await = async.await

function Task:__tostring()
  return ("luhip.task: %s"):format(not self.done and "running" or self.error ~= nil and "failed" or "done")
end

local function yield_until(object)
  repeat
    coroutine.yield(object)
  until async.ready(object)
end

local function end_task(task, ok, ...)
  task.done = true
  if ok then
    task.results = table.pack(...)
  else
    task.error = ...
  end
end

--- Starts a task within `run`; it runs when the one that started it waits.
-- @tparam function fn
-- @param ... its arguments
-- @treturn task with `await`, `ready`
function async.spawn(fn, ...)
  if not running then
    errors.raise("argument", "async.spawn: only within async.run")
  elseif type(fn) ~= "function" then
    errors.raise("type", "async.spawn: a function expected, not %s", errors.describe(fn))
  end
  local task = setmetatable({ done = false }, Task)
  local arguments = table.pack(...)
  task.thread = coroutine.create(function()
    end_task(task, pcall(fn, table.unpack(arguments, 1, arguments.n)))
  end)
  errors.started(task.thread)
  async.adopt(task.thread, yield_until)
  table.insert(running.tasks, task)
  return task
end

-- Whether a task can go on: what it waits for is ready, or failed, which it is to hear itself.
local function can_go_on(task)
  if not task.object then
    return not task.wake or core.monotime() >= task.wake
  end
  local ok, ready = pcall(async.ready, task.object)
  return not ok or ready
end

local function step(task)
  task.object, task.wake = nil, nil
  local ok, object, wake = coroutine.resume(task.thread)
  if not ok then
    end_task(task, false, object)
  else
    task.object, task.wake = object, wake
  end
end

-- One round over all tasks; whether any of them moved.
local function round(scheduler)
  local moved = false
  local tasks = scheduler.tasks
  local i = 1
  while i <= #tasks do
    local task = tasks[i]
    if can_go_on(task) then
      step(task)
      moved = true
    end
    if task.done then
      table.remove(tasks, i)
      table.insert(scheduler.ended, task)
    else
      i = i + 1
    end
  end
  return moved
end

-- The first error of a task that nobody awaited.
local function untold(scheduler)
  for _, task in ipairs(scheduler.ended) do
    if task.error ~= nil and not task.told then
      return task
    end
  end
end

--- Runs a function as the first task, and returns when it and all tasks that were started have ended.
-- @tparam function fn
-- @param ... its arguments
-- @return what fn returns
-- @raise what fn raised; else the first error of a task that no other task awaited
function async.run(fn, ...)
  if type(fn) ~= "function" then
    errors.raise("type", "async.run: a function expected, not %s", errors.describe(fn))
  elseif running then
    errors.raise("argument", "async.run: a scheduler runs already; async.spawn starts another task")
  end
  local scheduler = { tasks = {}, ended = {} }
  running = scheduler
  local first = async.spawn(fn, ...)
  local ok, e = pcall(function()
    local idle = 0
    while #scheduler.tasks > 0 do
      if round(scheduler) then
        idle = 0
      else
        idle = math.min(idle + 1, 50)
        core.sleep(idle * 0.02) -- from 20 us up to 1 ms
      end
    end
  end)
  running = nil
  if not ok then
    error(e, 0) -- an interrupt
  end
  if first.error == nil then
    local task = untold(scheduler)
    if task then
      error(task.error, 0)
    end
  end
  return first:wait()
end

--- Lets other tasks run.
function async.yield()
  if waiters[coroutine.running()] == yield_until then
    coroutine.yield()
  end
end

--- Waits for some milliseconds; other tasks run meanwhile.
-- @tparam number ms
function async.sleep(ms)
  if math.type(ms) == nil or ms < 0 then
    errors.raise("type", "async.sleep: milliseconds expected, not %s", tostring(ms))
  end
  local wake = core.monotime() + ms / 1000
  local yields = waiters[coroutine.running()] == yield_until
  repeat
    if yields then
      coroutine.yield(nil, wake)
    else
      core.sleep((wake - core.monotime()) * 1000)
    end
  until core.monotime() >= wake
end

--- Awaits several objects and gives the first result of each, in their order.
-- @tparam {any,...} objects futures, events, streams, durations, tasks
-- @tparam[opt] table options `progress`: called with (number done, number in all) whenever one more is done
-- @treturn table
-- @raise the first error, after all are done
function async.all(objects, options)
  if type(objects) ~= "table" then
    errors.raise("type", "async.all: a list expected, not a %s", type(objects))
  end
  local progress = options and options.progress
  local results, failed, left = {}, nil, {}
  for i, object in ipairs(objects) do
    check(object, ("async.all: entry %d"):format(i))
    left[i] = i
  end
  while #left > 0 do
    local which
    for k, i in ipairs(left) do
      local ok, ready = pcall(async.ready, objects[i])
      if not ok or ready then
        which = k
        break
      end
    end
    if not which and waiters[coroutine.running()] == yield_until then
      coroutine.yield(nil, core.monotime() + 0.0005)
    else
      local i = table.remove(left, which or 1)
      local result = table.pack(pcall(async.await, objects[i]))
      results[i] = result[1] and result[2] or nil
      if not result[1] and not failed then
        failed = result
      end
      if progress then
        progress(#objects - #left, #objects)
      end
    end
  end
  if failed then
    error(failed[2], 0)
  end
  return results
end

return async
