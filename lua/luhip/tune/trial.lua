--- One configuration on a device of this process: compiled, launched, verified and timed.
--
-- `self` is whoever tries it: the run, a lane of it, or a worker process (luhip.tune.hands). It has `plan`,
-- `arguments`, `sample` (times a function, in ms), `held` (what has to be freed afterwards), `host`, and `limit`, a
-- method that gives the ms beyond which a candidate cannot win. `stage` says how far the configuration came,
-- `launched` whether it has done anything to the device. Dependencies: luhip.errors,
-- luhip.tune.{candidate,failure,fleet,measure,signature}.
-- @module luhip.tune.trial

local candidate = require "luhip.tune.candidate"
local errors = require "luhip.errors"
local failure = require "luhip.tune.failure"
local fleet = require "luhip.tune.fleet"
local measure = require "luhip.tune.measure"
local signature = require "luhip.tune.signature"

local trial = {}

-- Whatever the last launches did wrong comes out here.
local function settle(self)
  if self.crew then
    self.session.store:beat()
  end
  if self.early then
    fleet.look(self)
  end
  self.plan.device:sync(self.arguments.buffers)
end

-- What times a candidate: a number of launches to the ms of all together.
local function sampler_of(self, run)
  local args = self.arguments
  return function(count)
    local ms = args:sample(count, run, self.sample)
    settle(self)
    return ms
  end
end

--- Notes in a plan what is the same for all candidates: `fixed`, how many arguments there have to be, since all have
-- the same source and nothing in it can make a difference; `same_types`, of which types they are.
-- @tparam table plan
function trial.note_constants(plan)
  local one = type(plan.source) == "string" and type(plan.kernel) ~= "function"
  plan.fixed = one and not plan.source:find "#%s*if"
  plan.same_types = one and signature.is_fixed(plan.source, plan.kernel, plan.space.names)
end

local function check_arguments(self, kernel)
  local plan = self.plan
  if plan.fixed and not self.arguments.outputs and #kernel.params ~= plan.args.n then
    local format = "tune: kernel '%s' has %d parameters; 'args' has %d"
    errors.raise("argument", format, plan.kernel or plan.name, #kernel.params, plan.args.n)
  end
end

-- Makes a candidate ready; what launches it.
local function prepare(self, config, row)
  local plan, args = self.plan, self.arguments
  self.stage, self.launched = "geometry", false
  local shape = candidate.shape(plan, config)
  self.stage = "compile"
  local kernel = candidate.compile(self, config, row, shape)
  self.stage = "geometry"
  candidate.check(plan.device, kernel, shape)
  self.stage = "resolve"
  check_arguments(self, kernel)
  args:resolve(kernel.params)
  self.stage = "launch"
  args:restore()
  local lists, turn = args:lists(config), 0
  local launcher = kernel:bind { grid = shape.grid, block = shape.block, shared = shape.shared }
  self.held[#self.held + 1] = launcher
  return function()
    self.launched = true
    turn = turn % #lists + 1
    launcher(table.unpack(lists[turn], 1, args.n))
  end
end

-- Whether an error is of an argument that no configuration can change the type of.
local function is_wrong_for_all(self, e)
  local kind, plan = errors.kind(e), self.plan
  if not plan.same_types or (kind ~= "type" and kind ~= "range") then
    return false
  end
  local i = math.tointeger(tonumber(errors.message(e):match "^argument (%d+) "))
  return i ~= nil and type(plan.args[i]) ~= "function"
end

-- The first launch, of which the arguments are looked at.
local function launch(self, run)
  local ok, e = pcall(run)
  if ok then
    return
  elseif is_wrong_for_all(self, e) then
    self.hopeless = true
    errors.raise(errors.kind(e), "tune: args: %s", errors.message(e))
  end
  error(e, 0)
end

--- Takes a configuration through all stages up to its times.
-- @tparam table self
-- @tparam table config
-- @tparam table row gets what was measured
-- @raise what went wrong, at `self.stage`
function trial.run(self, config, row)
  local run = prepare(self, config, row)
  launch(self, run)
  settle(self)
  self.stage = "verify"
  self.arguments:verify(config)
  self.stage = "measure"
  local limit, theirs = self:limit()
  for key, value in pairs(measure.run(sampler_of(self, run), self.plan.rules, limit, theirs)) do
    row[key] = value
  end
end

--- Measures several configurations in turns, so that whatever the clock does it does to all.
-- @tparam table self
-- @tparam {table,...} configs
-- @tparam integer rounds
-- @treturn {{number,...},...} ms of each
-- @raise what goes wrong
function trial.play(self, configs, rounds)
  local samplers, times = {}, {}
  for k, config in ipairs(configs) do
    samplers[k], times[k] = sampler_of(self, prepare(self, config, {})), {}
    samplers[k](1)
  end
  for _ = 1, rounds do
    for k in ipairs(configs) do
      table.insert(times[k], samplers[k](1))
    end
  end
  return times
end

--- Frees what the candidate held, so that its module is unloaded now and not when the collector comes by.
-- @tparam table self
function trial.forget(self)
  for i = #self.held, 1, -1 do
    table.remove(self.held, i):free()
  end
end

--- Whether the device did not survive what an error tells of: the first to meet it hears the driver's own error.
-- @tparam table self
-- @param e the error
-- @treturn boolean
function trial.has_lost_device(self, e)
  local kind = failure.kind(e)
  if kind == "poisoned" then
    return true
  elseif not failure.is_suspicious(kind) then
    return false
  end
  local ok, why = pcall(self.plan.device.sync, self.plan.device, {})
  if not ok and failure.is_interrupt(why) then
    error(why, 0)
  end
  return not ok and failure.kind(why) == "poisoned"
end

return trial
