--- What is asked for at once goes through several hands: compilers that run ahead, and several devices.
--
-- A lane is one device with arguments of its own; it inherits everything else from the run. Each lane takes the next
-- configurations off the list, has those behind the first one compiled in the background, and measures the first. With
-- several lanes each is a coroutine, which gives way while its device or a compiler works. Rows are handed on in the
-- order of the list, whoever finished first: given the same measurements, a strategy hears and proposes the same as
-- without all this. Dependencies: luhip.core, luhip.tune.{arguments,store}.
-- @module luhip.tune.fleet

local arguments = require "luhip.tune.arguments"
local core = require "luhip.core"
local store = require "luhip.tune.store"

local fleet = {}

-- ---- lanes ---------------------------------------------------------------------------------------------------------

-- The arguments on another device: buffers are copied to it.
local function arguments_on(device, args)
  local list, copies = { n = args.n }, {}
  for i = 1, args.n do
    local value = args[i]
    if arguments.is_buffer(value) then
      local copy = copies[value]
      if not copy then
        copy = device:buffer(value.dtype, value.shape)
        copy:write(value:read())
        copies[value] = copy
      end
      value = copy
    end
    list[i] = value
  end
  return list, copies
end

local function plan_on(plan, device)
  local copy = {}
  for key, value in pairs(plan) do
    copy[key] = value
  end
  local copies
  copy.device = device
  copy.args, copies = arguments_on(device, plan.args)
  return copy, copies
end

-- Times of different devices say nothing about each other.
local function warn_of_others(run)
  local first = store.identity(run.plan.devices[1])
  for _, device in ipairs(run.plan.devices) do
    if store.identity(device) ~= first then
      local format = "%s is another kind of device than %s: their times are compared all the same"
      run.warnings[#run.warnings + 1] = format:format(device.id, run.plan.devices[1].id)
    end
  end
end

local function give_way()
  coroutine.yield()
end

--- Makes the lanes of a run.
-- @tparam Runner run with `plan`, `host`, `arguments`, `sample` and `session` of the first device
-- @tparam function open_session of a plan
-- @treturn {table,...} one for each device
function fleet.lanes(run, open_session)
  local lanes = {}
  local several = #run.plan.devices > 1
  warn_of_others(run)
  for k, device in ipairs(run.plan.devices) do
    local lane = setmetatable({ early = {}, queue = {}, held = {} }, { __index = run })
    if k > 1 then
      lane.plan, lane.copies = plan_on(run.plan, device)
      lane.arguments = arguments.new(lane.plan)
      lane.session = run.session and open_session(lane.plan) or nil
    end
    if several then
      lane.pause, lane.place = give_way, device.id
      lane.sample = run.host.sampler(device, give_way)
    end
    lanes[k] = lane
  end
  return lanes
end

--- Ends the lanes: what was compiled and not used is freed, buffers that were copied too.
-- @tparam {table,...} lanes
-- @treturn integer how many configurations the sessions of other devices than the first did not have to measure
function fleet.close(lanes)
  local reused = 0
  for k, lane in ipairs(lanes) do
    fleet.drop(lane)
    for _, object in ipairs(lane.held) do
      pcall(object.free, object)
    end
    if k > 1 and lane.session then
      reused = reused + lane.session.reused
      lane.session:close()
    end
    if k > 1 then
      lane.arguments:free()
    end
    for _, copy in pairs(lane.copies or {}) do
      pcall(copy.free, copy)
    end
  end
  return reused
end

-- ---- compilers that run ahead --------------------------------------------------------------------------------------

--- Starts a compilation that a lane will want soon. What cannot even be started is met again when it is wanted.
-- @tparam table lane
-- @tparam integer i position
-- @tparam function start of a lane, a configuration and its position: gives a kernel that compiles in the background
function fleet.start(lane, i, start)
  local ok, kernel = pcall(start, lane, lane.plan.space:nth(i), i)
  if ok then
    lane.early[i] = { kernel = kernel, started = lane.host.clock() }
  end
end

--- Notes which compilations have ended since the last look, for how long they took.
-- @tparam table lane
function fleet.look(lane)
  for _, entry in pairs(lane.early) do
    if not entry.ms and entry.kernel:ready() then
      entry.ms = (lane.host.clock() - entry.started) * 1000
    end
  end
end

--- Hands out the kernel of the configuration at hand, if it was started; gives way while it compiles.
-- @tparam table lane
-- @treturn ?kernel
-- @treturn ?function gives the ms that its compilation took, once it is over
function fleet.take(lane)
  local entry = lane.early and lane.early[lane.at]
  if not entry then
    return nil
  end
  while lane.pause and not entry.kernel:ready() do
    lane.pause()
  end
  fleet.look(lane)
  lane.early[lane.at] = nil
  return entry.kernel, function()
    return entry.ms or (lane.host.clock() - entry.started) * 1000
  end
end

--- Frees what a lane, or a run without any, has compiled ahead.
-- @tparam table lane
function fleet.forget(lane)
  for i, entry in pairs(lane.early or {}) do
    lane.early[i] = nil
    pcall(entry.kernel.free, entry.kernel)
  end
end

--- Frees what a lane compiled and will not use.
-- @tparam table lane
function fleet.drop(lane)
  fleet.forget(lane)
  lane.queue = {}
end

-- ---- the list ------------------------------------------------------------------------------------------------------

-- Fills the queue of a lane; compilations of all but the configuration that is measured next are started. With several
-- lanes that one's too, so that the lane can give way meanwhile.
local function refill(work, lane)
  while #lane.queue <= lane.plan.ahead and work.next <= #work.list and not work.stop do
    work.stop = work.may(work.next - 1 - work.committed)
    if not work.stop then
      lane.queue[#lane.queue + 1] = work.next
      if #lane.queue > 1 or (lane.pause and lane.compiled) then
        fleet.start(lane, work.list[work.next], work.start)
      end
      work.next = work.next + 1
    end
  end
end

-- Hands on what is complete from the beginning of the list.
local function hand_on(work)
  while work.rows[work.committed + 1] do
    local k = work.committed + 1
    work.committed = k
    work.commit(work.list[k], work.rows[k])
    work.rows[k] = false
  end
end

local function drive(work, lane)
  while true do
    refill(work, lane)
    local k = table.remove(lane.queue, 1)
    if not k or work.broken then
      return
    end
    lane.at = work.list[k]
    local row, stop = work.evaluate(lane, lane.at)
    if row then
      row.place = lane.place
      work.rows[k] = row
      hand_on(work)
    end
    if stop then
      work.stop, work.broken = stop, true
    end
  end
end

local function turn(work, lanes, threads)
  local alive = false
  for k, thread in ipairs(threads) do
    if coroutine.status(thread) ~= "dead" then
      local ok, why = coroutine.resume(thread, work, lanes[k])
      if not ok then
        error(why, 0)
      end
      alive = alive or coroutine.status(thread) ~= "dead"
    end
  end
  return alive
end

--- Takes a list of configurations through the lanes.
-- @tparam {table,...} lanes
-- @tparam table work `list` (positions); `may` (of how many are taken and not handed on: why no more may be taken, or
--   nil); `commit` (of a position and its row, in order); `evaluate` (of a lane and a position: row, and why the run
--   has to end); `start` as of `fleet.start`
-- @treturn ?string why the run has to end
-- @raise what `evaluate` raises
function fleet.run(lanes, work)
  work.next, work.committed, work.rows = 1, 0, {}
  if #lanes == 1 then
    drive(work, lanes[1])
  else
    local threads = {}
    for k in ipairs(lanes) do
      threads[k] = coroutine.create(drive)
    end
    while turn(work, lanes, threads) do
      core.sleep(1)
    end
  end
  for _, lane in ipairs(lanes) do
    fleet.drop(lane)
  end
  return work.stop
end

return fleet
