--- Configurations tried in a process of their own (luhip.tune.hands), which may die of them.
--
-- A device that did not survive a configuration cannot be had again in the process that lost it: closing it would take
-- the user's buffers, and starting it again everybody's else on the same device, where the driver can do that at all.
-- So another process tries the rest. It is given what the run is made of; strategy, store, metrics and every function
-- of the user stay here. When it dies, loses its device, or has no answer within `hang` seconds, the configuration at
-- hand is the one to blame, and the next one gets a new process. A device that is lost before the configuration has
-- done anything to it is nobody's fault: that is tried once more. Dependencies: luhip.config, luhip.core,
-- luhip.errors, luhip.tune.{arguments,callback,candidate,failure,interpreter,wire}.
-- @module luhip.tune.remote

local arguments = require "luhip.tune.arguments"
local callback = require "luhip.tune.callback"
local candidate = require "luhip.tune.candidate"
local config = require "luhip.config"
local core = require "luhip.core"
local errors = require "luhip.errors"
local failure = require "luhip.tune.failure"
local interpreter = require "luhip.tune.interpreter"
local wire = require "luhip.tune.wire"

local remote = {}

local Remote = {}
Remote.__index = Remote

local SLICE = 50 -- ms of a wait, in which nothing of Lua runs
local PATIENCE = 2000 -- ms that a process whose channel has ended may take to end
local START = 120 -- seconds that it may take to open the device and make the arguments

-- ---- what it is told of the run ------------------------------------------------------------------------------------

-- Names what it is that cannot be moved.
local function moved(what, value)
  local ok, e = pcall(wire.encode, value)
  if not ok then
    errors.raise(errors.kind(e) or "type", "%s: %s", what, errors.message(e))
  end
  return value
end

-- What the script has set; log lines of the other process go where lines go by themselves.
local function settings()
  local set = {}
  for _, setting in ipairs(config.settings) do
    local value, layer = config.config(setting.key)
    if layer == "script" and setting.type ~= "sink" then
      set[setting.key] = value
    end
  end
  return set
end

local function device_of(device)
  local ok, memory = pcall(device.memory, device)
  local limit = ok and memory.limit or nil
  return {
    device = device.id,
    checked = device.checked or nil,
    timeout = device.timeout > 0 and device.timeout or nil,
    limit = limit and limit > 0 and limit or nil,
  }
end

-- The arguments: buffers by their number, with the content that they had at first.
local function args_of(self)
  local list, numbers = { n = self.arguments.n }, {}
  for i = 1, list.n do
    local value = self.arguments.values[i]
    if arguments.is_buffer(value) then
      local known = numbers[value]
      numbers[value] = known or i
      local original = not known and self.arguments:original(value)
      list[i] = { buffer = numbers[value], dtype = value.dtype, shape = value.shape }
      list[i].content = original and original:bytes_string() or nil
    elseif type(value) == "function" then
      list[i] = { of_config = true }
    else
      list[i] = { value = moved(("argument %d"):format(i), value) }
    end
  end
  return list, numbers
end

local function expect_of(self)
  local expect = self.arguments.expect
  if type(expect) == "function" then
    return "all"
  elseif not expect then
    return nil
  end
  local given = {}
  for key, value in pairs(expect) do
    given[key] = type(value) == "function" and {}
      or { values = moved(("expect: %s"):format(key), self.arguments.references[key]) }
  end
  return given
end

local function plan_of(plan)
  return {
    name = plan.name,
    source = type(plan.source) == "string" and plan.source or nil,
    kernel = type(plan.kernel) == "string" and plan.kernel or nil,
    unnamed = plan.kernel == nil or nil,
    fixed = plan.fixed,
    same_types = plan.same_types,
    access = moved("access", plan.access),
    compile = moved("compile", plan.compile),
    conventions = plan.conventions,
    rules = plan.rules,
    rotate = plan.rotate,
    cold = plan.cold,
  }
end

local function describe(self)
  local args, numbers = args_of(self.owner)
  self.numbers = numbers
  return {
    parent = core.pid(),
    settings = settings(),
    device = device_of(self.owner.plan.device),
    plan = plan_of(self.owner.plan),
    args = args,
    expect = expect_of(self.owner),
    tolerance = self.owner.plan.tolerance_given,
  }
end

-- ---- asking it -----------------------------------------------------------------------------------------------------

local function send(self, message)
  return self.channel:send(wire.encode(message))
end

-- The next message: nil and why when there will be none.
local function receive(self, deadline)
  local owner = self.owner
  local pause = not self.alone and owner.pause or nil
  while true do
    local message = self.channel:receive(pause and 0 or SLICE)
    if message then
      return wire.decode(message)
    elseif message == false then
      return nil, "gone"
    elseif core.monotime() > deadline then
      return nil, "late"
    end
    if owner.crew then
      owner.session.store:beat()
    end
    if pause then
      pause()
    end
  end
end

-- Ends the process; how it ended.
local function discard(self, patience)
  local channel = self.channel
  self.channel = nil
  local how, code = channel:finish(patience or 0)
  channel:free()
  return how, code
end

-- The error of a configuration whose process is gone.
local function obituary(self, why)
  if why == "late" then
    discard(self)
    return errors.new("timeout", "no end within %g s; the worker process was ended", self.hang)
  end
  local how, code = discard(self, PATIENCE)
  if how == "killed" then
    return errors.new("fault", "the worker process died of %s", failure.signal(code))
  end
  return errors.new("fault", "the worker process ended by itself%s", how == "exited" and (", code " .. code) or "")
end

-- Arguments as a check function sees them: what the other process has in them.
local function reader(self, deadline)
  return setmetatable({}, {
    __index = function(cache, key)
      send(self, { read = key })
      local answer = receive(self, deadline)
      if not answer then
        errors.raise("fault", "the worker process is gone")
      elseif answer.failed then
        errors.raise(answer.failed.kind, "%s", answer.failed.message)
      end
      rawset(cache, key, answer.value)
      return answer.value
    end,
  })
end

-- Answers a question by a function of the user's; what it raises is what it says.
local function answer(self, question, params, deadline)
  local expect = self.owner.arguments.expect
  local ok, passes, why
  if question.all then
    ok, passes, why = pcall(expect, reader(self, deadline), params)
  else
    ok, passes, why = pcall(expect[question.key], question.array, params)
  end
  if not ok then
    if failure.is_interrupt(passes) then
      error(passes, 0)
    end
    passes, why = false, errors.message(passes)
  end
  send(self, { passes = passes and true or false, why = why ~= nil and tostring(why) or nil })
end

-- Has it do something: what came of it, or an error of a process that is gone.
local function order(self, message, params)
  local deadline = core.monotime() + self.hang
  if not send(self, message) then
    return nil, obituary(self, "gone")
  end
  while true do
    local reply, why = receive(self, deadline)
    if not reply then
      return nil, obituary(self, why)
    elseif reply.done then
      return reply.done
    end
    answer(self, reply.ask, params, deadline)
  end
end

local function start(self)
  local words = { interpreter(), "-e", 'require("luhip.tune.hands").serve()' }
  self.channel = core.companion(words, { LUA_PATH_5_4 = package.path, LUA_CPATH_5_4 = package.cpath })
  self.early, self.generation = {}, (self.generation or 0) + 1
  local hang = self.hang
  self.hang = START
  local done, gone = order(self, describe(self))
  self.hang = hang
  if not done then
    errors.raise("fault", "%s before it was ready", errors.message(gone))
  elseif done.fault then
    discard(self, PATIENCE)
    errors.raise(done.fault.kind, "%s", done.fault.message)
  end
end

local function take_warnings(self, list)
  local warnings = self.owner.arguments.warnings
  for _, warning in ipairs(list or {}) do
    local known = false
    for _, one in ipairs(warnings) do
      known = known or one == warning
    end
    if not known then
      warnings[#warnings + 1] = warning
    end
  end
end

-- ---- configurations ------------------------------------------------------------------------------------------------

-- The value of a function among the arguments, as the other process can have it.
local function value_of(self, fn, params, i)
  local value = arguments.value_of(fn, params, i)
  if not arguments.is_buffer(value) then
    return { value = value }
  elseif not self.numbers[value] then
    callback.call(
      errors.raise,
      "type",
      "tune: a function among 'args' gives a buffer that is not there itself: no other process has it"
    )
  end
  return { buffer = self.numbers[value] }
end

local function of_config(value, params)
  if type(value) == "function" then
    return callback.call(value, params)
  end
  return nil -- it has it
end

-- What has to be known of one configuration.
local function job_of(self, params)
  local plan, values = self.owner.plan, {}
  local shape = candidate.shape(plan, params)
  for i = 1, plan.args.n do
    if type(plan.args[i]) == "function" then
      values[i] = value_of(self, plan.args[i], params, i)
    end
  end
  return {
    params = params,
    source = of_config(plan.source, params),
    kernel = of_config(plan.kernel, params),
    grid = shape.grid,
    block = shape.block,
    shared = shape.shared,
    values = values,
  }
end

-- Raises what went wrong there as if it had been here.
local function raise(self, fault)
  local owner = self.owner
  owner.stage, owner.hopeless = fault.stage, fault.hopeless
  if fault.lost then
    discard(self)
    owner.stage = "launch"
    error(errors.new("fault", "%s", fault.message), 0)
  end
  error(fault.kindless and fault.message or errors.new(fault.kind, "%s", fault.message), 0)
end

-- Starts another process; without one there is no going on, which `broken` says.
local function restart(self)
  local ok, why = pcall(start, self)
  if not ok then
    self.broken = not failure.is_interrupt(why) and errors.message(why) or nil
    error(why, 0)
  end
end

local function ordered(self, message, params)
  if not self.channel then
    restart(self)
  end
  local done, gone = order(self, message, params)
  local unblamed = done and done.fault and done.fault.lost and not done.fault.launched
  if unblamed then
    discard(self)
    restart(self)
    done, gone = order(self, message, params)
  end
  if not done then
    error(gone, 0)
  end
  take_warnings(self, done.warnings)
  if done.fault then
    raise(self, done.fault)
  end
  return done
end

--- Takes a configuration through all stages up to its times, as luhip.tune.trial does here.
-- @tparam table params
-- @tparam table row gets what was measured
-- @raise what went wrong, at `stage` of the owner
function Remote:run(params, row)
  local owner = self.owner
  owner.stage, owner.launched = "geometry", false
  local job = job_of(self, params)
  owner.stage = "launch"
  local id = self.early and self.early[owner.at] and owner.at or nil
  if id then
    self.early[id] = nil
  end
  local message = { op = "try", job = job, id = id, compiled = owner.compiled }
  message.limit, message.theirs = owner:limit()
  local done = ordered(self, message, params)
  owner.compiled = true
  for key, value in pairs(done.row) do
    row[key] = value
  end
end

--- Measures several configurations in turns.
-- @tparam {table,...} configs
-- @tparam integer rounds
-- @treturn {{number,...},...} ms of each
-- @raise what goes wrong
function Remote:play(configs, rounds)
  local jobs = {}
  self.alone = true -- no other lane is at work
  for k, params in ipairs(configs) do
    jobs[k] = job_of(self, params)
  end
  return ordered(self, { op = "play", jobs = jobs, rounds = rounds }).times
end

--- Has a configuration compiled in the background, for when its turn comes.
-- @tparam table params
-- @tparam integer id its position
-- @treturn table stands for its kernel
function Remote:compile_ahead(params, id)
  local generation = self.generation
  local job = job_of(self, params)
  if not self.channel or not send(self, { op = "early", job = job, id = id }) then
    errors.raise("fault", "there is no worker process at the moment")
  end
  self.early[id] = true
  local kernel = {}
  function kernel.ready()
    return true
  end
  function kernel.free()
    if self.channel and self.generation == generation and self.early[id] then
      self.early[id] = nil
      send(self, { op = "drop", id = id })
    end
  end
  return kernel
end

--- Ends it.
function Remote:close()
  if self.channel then
    discard(self, PATIENCE) -- it ends by itself, with what kernels have printed
  end
end

--- Starts a process for a run, or a lane of one.
-- @tparam table owner with `plan`, `arguments`, `limit`
-- @tparam[opt] boolean alone whether no other lane is at work now, so that this one does not give way
-- @treturn Remote
-- @raise why there cannot be one: what of the run cannot be moved, or that the device cannot be opened a second time
function remote.open(owner, alone)
  if type(owner.plan.device) ~= "userdata" then
    errors.raise("type", "tune: isolate: a device that is a table cannot be moved to another process")
  end
  local self = setmetatable({ owner = owner, hang = owner.plan.hang, alone = alone }, Remote)
  local ok, why = pcall(start, self)
  self.alone = nil
  if not ok and (failure.is_interrupt(why) or not errors.kind(why)) then
    error(why, 0)
  elseif not ok then
    errors.raise(errors.kind(why), "tune: isolate: %s", errors.message(why))
  end
  return self
end

return remote
