--- The process that tries configurations for another one, since they may take it down: the far side of
-- luhip.tune.remote.
--
-- It opens the device anew, makes the arguments out of their bytes, and then does what it is told: a configuration at
-- a time, as luhip.tune.trial does it anywhere. What belongs to the run (the strategy, the store, metrics) and all
-- functions of the user stay on the other side: values of functions come with each configuration, and check functions
-- are asked over the channel, with what the kernel wrote. Messages are tables (luhip.tune.wire).
-- Dependencies: luhip, luhip.core, luhip.errors, luhip.timing,
-- luhip.tune.{arguments,callback,candidate,failure,trial,verify,wire}.
-- @module luhip.tune.hands

local arguments = require "luhip.tune.arguments"
local callback = require "luhip.tune.callback"
local candidate = require "luhip.tune.candidate"
local core = require "luhip.core"
local errors = require "luhip.errors"
local failure = require "luhip.tune.failure"
local luhip = require "luhip"
local timing = require "luhip.timing"
local trial = require "luhip.tune.trial"
local verify = require "luhip.tune.verify"
local wire = require "luhip.tune.wire"

local hands = {}

local Hands = {}
Hands.__index = Hands

local WAIT = 1000 -- ms, between looks at whether the other side is there

-- ---- the channel ---------------------------------------------------------------------------------------------------

local function receive(self)
  while true do
    local message = self.channel:receive(WAIT)
    if message then
      return wire.decode(message)
    elseif message == false then
      os.exit(true, false) -- nobody is left to work for
    end
  end
end

local function send(self, message)
  if not self.channel:send(wire.encode(message)) then
    os.exit(true, false)
  end
end

-- Asks the other side to check; it may look at arguments before it answers.
local function ask(self, question, params)
  send(self, { ask = question })
  while true do
    local answer = receive(self)
    if answer.read == nil then
      return answer.passes, answer.why
    end
    local ok, e = pcall(function()
      send(self, { value = self.arguments:content(answer.read, params) })
    end)
    if not ok then
      send(self, { failed = { kind = errors.kind(e) or "argument", message = errors.message(e) } })
    end
  end
end

-- ---- what a run is made of -----------------------------------------------------------------------------------------

-- Buffers out of their bytes; each function among the arguments becomes one that gives what comes with a configuration.
local function make_args(self, given)
  local args, made = { n = given.n }, {}
  for i = 1, given.n do
    local one = given[i]
    if one.buffer then
      made[one.buffer] = made[one.buffer] or self.device:buffer(one.dtype, one.shape, one.content)
      args[i] = made[one.buffer]
    elseif one.of_config then
      args[i] = function(params)
        local value = self.jobs[params].values[i]
        return value.buffer and made[value.buffer] or value.value
      end
    else
      args[i] = one.value
    end
  end
  return args
end

local function make_expect(self, given)
  if given == "all" then
    return function(_, params)
      return ask(self, { all = true }, params)
    end
  end
  local expect = {}
  for key, value in pairs(given or {}) do
    expect[key] = value.values
      or function(array, params)
        return ask(self, { key = key, array = array }, params)
      end
  end
  return given and expect or nil
end

-- What is the same for every configuration, or what comes with each.
local function of_job(self, field, fixed)
  return fixed or function(params)
    return self.jobs[params][field]
  end
end

local function make_plan(self, given)
  local plan = given.plan
  plan.device, plan.devices = self.device, { self.device }
  plan.source = of_job(self, "source", plan.source)
  plan.kernel = not plan.unnamed and of_job(self, "kernel", plan.kernel) or nil
  for _, field in ipairs { "grid", "block", "shared" } do
    plan[field] = of_job(self, field)
  end
  plan.args = make_args(self, given.args)
  plan.expect = make_expect(self, given.expect)
  plan.tolerance = verify.tolerances(given.tolerance, plan.expect)
  return plan
end

local function set_up(channel, given)
  if not core.die_with(given.parent) then
    os.exit(true, false)
  end
  luhip.config(given.settings)
  local self = setmetatable({ channel = channel, held = {}, early = {}, host = { clock = core.monotime } }, Hands)
  self.jobs = setmetatable({}, { __mode = "k" }) -- by their parameters
  self.device = luhip.open(given.device)
  self.plan = make_plan(self, given)
  self.arguments = arguments.new(self.plan)
  self.sample = function(fn)
    return timing.once(self.device, fn)
  end
  return self
end

-- ---- what it is told -----------------------------------------------------------------------------------------------

function Hands:limit()
  return self.most, self.theirs
end

-- What went wrong, and whether this process is of any use after it.
local function report(self, e)
  local fault = { kind = failure.kind(e) or "argument", message = errors.message(e), stage = self.stage }
  fault.kindless = errors.kind(e) == nil or nil
  fault.launched, fault.lost = self.launched, trial.has_lost_device(self, e)
  fault.hopeless = self.hopeless or self.stage == "resolve"
  return fault
end

-- Warnings of the arguments that were not told yet.
local function news(self)
  local list = {}
  for i = (self.told or 0) + 1, #self.arguments.warnings do
    list[#list + 1] = self.arguments.warnings[i]
  end
  self.told = #self.arguments.warnings
  return list
end

local function protected(self, fn)
  local ok, e = pcall(fn)
  e = callback.unwrap(e)
  local fault = not ok and report(self, e) or nil
  trial.forget(self)
  return fault
end

-- The configuration of a job, which is known by it from now on.
local function take(self, job)
  self.jobs[job.params] = job
  return job.params
end

local TELL = {}

-- One configuration.
function TELL.try(self, message)
  local row = {}
  self.at, self.most, self.theirs, self.hopeless = message.id, message.limit, message.theirs, nil
  self.compiled = self.compiled or message.compiled
  local fault = protected(self, function()
    trial.run(self, take(self, message.job), row)
  end)
  send(self, { done = { row = row, fault = fault, warnings = news(self) } })
end

-- The final between some.
function TELL.play(self, message)
  local configs, times = {}, nil
  for k, job in ipairs(message.jobs) do
    configs[k] = take(self, job)
  end
  self.at = nil
  local fault = protected(self, function()
    times = trial.play(self, configs, message.rounds)
  end)
  send(self, { done = { times = times, fault = fault, warnings = news(self) } })
end

-- Compiles in the background what will be wanted.
function TELL.early(self, message)
  local ok, kernel = pcall(candidate.start, self, take(self, message.job))
  if ok then
    self.early[message.id] = { kernel = kernel, started = self.host.clock() }
  end
end

-- It will not be wanted.
function TELL.drop(self, message)
  local entry = self.early[message.id]
  self.early[message.id] = nil
  if entry then
    pcall(entry.kernel.free, entry.kernel)
  end
end

--- Serves the process that started this one, until that says no more.
function hands.serve()
  local channel = core.companion_of_parent()
  local starter = { channel = channel }
  local given = receive(starter)
  local ok, self = pcall(set_up, channel, given)
  if not ok then
    send(starter, { done = { fault = { kind = errors.kind(self) or "argument", message = errors.message(self) } } })
    return
  end
  send(self, { done = {} })
  while true do
    local message = receive(self)
    TELL[message.op](self, message)
  end
end

return hands
