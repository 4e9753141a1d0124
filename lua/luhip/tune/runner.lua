--- The sweep: every configuration of a space through compile, launch, verification and timing.
--
-- What goes wrong with a candidate is data: its row says how far it came (`status`) and why (`error`), and the sweep
-- goes on. Only what no candidate can get right (an expectation that names no parameter, a kernel that is not in the
-- source) and what the user's own functions of the configuration raise end the run with an error.
-- Dependencies: luhip.errors, luhip.tune.{arguments,callback,candidate,crew,evaluator,fleet,measure,objectives,
-- overrides,session,statistics}.
-- @module luhip.tune.runner

local arguments = require "luhip.tune.arguments"
local callback = require "luhip.tune.callback"
local candidate = require "luhip.tune.candidate"
local core = require "luhip.core"
local crew = require "luhip.tune.crew"
local errors = require "luhip.errors"
local evaluator = require "luhip.tune.evaluator"
local fleet = require "luhip.tune.fleet"
local measure = require "luhip.tune.measure"
local objectives = require "luhip.tune.objectives"
local overrides = require "luhip.tune.overrides"
local session = require "luhip.tune.session"
local statistics = require "luhip.tune.statistics"

local runner = {}

local WARM = 2 -- of each other device and problem, to begin with

local Runner = {}
Runner.__index = Runner

-- ---- failures --------------------------------------------------------------------------------------------------

-- Kinds of errors that mean one status wherever they appear.
local STATUS_OF_KIND = {
  compile = "compile",
  limits = "limits",
  fault = "fault",
  poisoned = "fault",
  timeout = "timeout",
  verify = "verify",
}

-- Otherwise the stage decides.
local STATUS_OF_STAGE = {
  constraint = "constraint",
  geometry = "limits",
  compile = "compile",
  launch = "launch",
  verify = "verify",
  measure = "objective",
  objective = "objective",
}

-- A read or a sync that met several failures carries them; the first is the one to blame.
local function root_kind(e)
  local kind = errors.kind(e)
  if kind and not STATUS_OF_KIND[kind] and e.failures[1] then
    return errors.kind(e.failures[1])
  end
  return kind
end

local function is_interrupt(e)
  return errors.kind(e) == "interrupted" or (type(e) == "string" and e:find "interrupted!" ~= nil)
end

local function as_error(e)
  if errors.kind(e) then
    return e
  end
  return errors.new("argument", "%s", tostring(e))
end

-- ---- the stages of one candidate -------------------------------------------------------------------------------

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

local function time(self, run)
  return measure.run(sampler_of(self, run), self.plan.rules, self:limit())
end

local function compute_metrics(self, row)
  for _, metric in ipairs(self.plan.metrics) do
    local ok, value = pcall(metric.compute, row)
    if not ok then
      errors.raise("argument", "metric '%s': %s", metric.name, tostring(value))
    end
    row[metric.name] = value
  end
  for _, goal in ipairs(self.plan.goals) do
    local value = row[goal.name]
    if type(value) ~= "number" or value ~= value then
      errors.raise("argument", "objective '%s' is %s, not a number", goal.name, tostring(value))
    end
  end
end

-- The ms beyond which a candidate cannot win; nil where time is not what decides.
function Runner:limit()
  if self.best and #self.plan.goals == 1 and self.plan.objective == "ms" and not self.plan.higher then
    return self.best.ms
  end
  return nil
end

-- A wrong number of arguments is one for all candidates, where all have the same source and nothing in it can make a
-- difference.
local function check_arguments(self, kernel)
  local plan = self.plan
  local fixed = type(plan.source) == "string" and type(plan.kernel) ~= "function" and not plan.source:find "#%s*if"
  if fixed and not self.arguments.outputs and #kernel.params ~= plan.args.n then
    local format = "tune: kernel '%s' has %d parameters; 'args' has %d"
    errors.raise("argument", format, plan.kernel or plan.name, #kernel.params, plan.args.n)
  end
end

-- Makes a candidate ready; what launches it.
local function prepare(self, config, row)
  local plan, args = self.plan, self.arguments
  self.stage = "geometry"
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
    turn = turn % #lists + 1
    launcher(table.unpack(lists[turn], 1, args.n))
  end
end

local function attempt(self, config, row)
  local run = prepare(self, config, row)
  run()
  settle(self)
  self.stage = "verify"
  self.arguments:verify(config)
  self.stage = "measure"
  for key, value in pairs(time(self, run)) do
    row[key] = value
  end
  self.stage = "objective"
  compute_metrics(self, row)
end

-- ---- rows ------------------------------------------------------------------------------------------------------

-- Frees what the candidate held, so that its module is unloaded now and not when the collector comes by.
local function forget(self)
  for i = #self.held, 1, -1 do
    table.remove(self.held, i):free()
  end
end

local function record_failure(row, e, stage)
  row.status = STATUS_OF_KIND[root_kind(e)] or STATUS_OF_STAGE[stage]
  row.error = as_error(e)
end

local function evaluate_anew(self, config)
  local row = { params = config, status = "ok" }
  local ok, e = pcall(attempt, self, config, row)
  local theirs
  e, theirs = callback.unwrap(e)
  forget(self)
  if ok then
    return row
  elseif is_interrupt(e) then
    return nil, "interrupted"
  elseif theirs or self.hopeless or self.stage == "resolve" then
    error(e, 0)
  end
  record_failure(row, e, self.stage)
  return row, root_kind(e) == "poisoned" and "poisoned" or nil
end

-- What the store knows already; metrics are computed again, since they may have changed.
local function reuse(self, row)
  if row.status == "objective" and row.ms then
    row.status, row.error = "ok", nil
  elseif row.status ~= "ok" then
    return row
  end
  local ok, e = pcall(compute_metrics, self, row)
  if not ok then
    row.status, row.error = "objective", as_error(e)
  end
  return row
end

--- Takes one configuration through all stages, or takes its row out of the store.
-- @tparam table config
-- @treturn table its row
-- @treturn ?string why the sweep cannot go on: "interrupted" or "poisoned"
-- @raise what no candidate can get right
function Runner:evaluate(config)
  local kept = self.session
  if not kept then
    return evaluate_anew(self, config)
  end
  local known = kept:finished(config)
  if known then
    return reuse(self, known)
  end
  kept:start(config)
  overrides.begin()
  local ok, row, stop = pcall(evaluate_anew, self, config)
  overrides.done()
  if ok and row then
    kept:keep(row)
    return row, stop
  end
  kept:abandon(config)
  if not ok then
    error(row, 0)
  end
  return nil, stop
end

local function add(self, row)
  self.rows[#self.rows + 1] = row
  local cost = self.cost(row)
  if cost < self.least then
    self.best, self.least = row, cost
  end
end

-- ---- the sweep -------------------------------------------------------------------------------------------------

-- A configuration of a run that is one's own, or shared.
local function evaluate_shared(self, config)
  if not self.crew then
    return self:evaluate(config)
  end
  return self.crew:evaluate(config, function(params)
    return self:evaluate(params)
  end)
end

-- What takes several configurations at once, where compilers run ahead or devices share; nil elsewhere.
local function batch_of(self)
  if self.crew or not self.lanes then
    return nil
  end
  return function(list, may, commit)
    return fleet.run(self.lanes, {
      list = list,
      may = may,
      start = candidate.start,
      evaluate = function(lane, i)
        return Runner.evaluate(lane, lane.plan.space:nth(i))
      end,
      commit = function(i, row)
        add(self, row)
        self.host.progress(self, row)
        commit(i, row)
      end,
    })
  end
end

-- The rest of a shared run: what is left, and then the rows of all.
local function gather(self, stopped)
  if stopped == "interrupted" or stopped == "poisoned" then
    return stopped
  end
  if stopped ~= "seconds" then
    for params in self.crew:left() do
      local _, stop = evaluate_shared(self, params)
      if stop then
        return stop
      end
    end
  end
  self.rows, self.best, self.least = {}, nil, math.huge
  for _, record in ipairs(self.crew:results()) do
    add(self, reuse(self, session.row(record)))
  end
  return #self.rows < self.total and stopped or nil
end

local function sweep(self)
  local plan = self.plan
  return (
    evaluator.run {
      space = plan.space,
      strategy = self.crew and self.crew:strategy() or plan.strategy_body,
      options = plan.strategy_options,
      seed = plan.seed + (self.crew and self.session.store.worker or 0),
      budget = plan.budget,
      objectives = #plan.goals,
      clock = self.host.clock,
      cost = self.cost,
      first = self.session and next(plan.budget) and self.session:warm(WARM) or nil,
      evaluate = function(i)
        local row, stop = evaluate_shared(self, plan.space:nth(i))
        if row then
          add(self, row)
          self.host.progress(self, row)
        end
        return row, stop
      end,
      batch = batch_of(self),
      width = self.lanes and #self.lanes or 1,
    }
  )
end

-- ---- the final -------------------------------------------------------------------------------------------------

-- Rows that the noise does not tell from the best, fastest first, the best among them: their intervals meet.
local function alike(self)
  local best, list = self.best, {}
  if not self:limit() or not best.low or best.low >= best.high then
    return list
  end
  for _, row in ipairs(self.rows) do
    if row.status == "ok" and not row.given_up and row.low and row.low <= best.high then
      list[#list + 1] = row
    end
  end
  table.sort(list, function(a, b)
    return a.ms < b.ms
  end)
  return list
end

-- Those that are measured again; fewer than two: there is no final.
local function finalists(self)
  local list, rules = {}, self.plan.rules
  for _, row in ipairs(rules.rounds > 0 and alike(self) or {}) do
    if not row.reused and #list < rules.finalists then
      list[#list + 1] = row
    end
  end
  return list
end

-- In turns, so that whatever the clock does it does to all.
local function play(self, list)
  local rounds, finals = {}, {}
  for k, row in ipairs(list) do
    rounds[k] = sampler_of(self, prepare(self, row.params, {}))
    finals[k] = {}
    rounds[k](1)
  end
  for _ = 1, self.plan.rules.rounds do
    for k in ipairs(list) do
      table.insert(finals[k], rounds[k](1))
    end
  end
  return finals
end

local function less(a, b)
  for _, key in ipairs { "final", "registers", "shared_bytes" } do
    local x, y = a[key] or 0, b[key] or 0
    if x ~= y then
      return x < y
    end
  end
  return false
end

-- Measures the finalists again, in turn; the winner is the one with the lowest median, then with fewer registers, then
-- with less shared memory. What goes wrong here leaves the winner what it was.
local function final(self)
  local list = finalists(self)
  if #list < 2 then
    return
  end
  local ok, finals = pcall(play, self, list)
  forget(self)
  if not ok then
    if is_interrupt(finals) then
      error(finals, 0)
    end
    self.warnings[#self.warnings + 1] = "the finalists could not be measured again: " .. tostring(as_error(finals))
    return
  end
  for k, row in ipairs(list) do
    row.finals, row.final = finals[k], statistics.median(finals[k])
  end
  table.sort(list, less)
  self.best, self.near = list[1], list
end

local function check_constant(self)
  local first, count = nil, 0
  for _, row in ipairs(self.rows) do
    if row.status == "ok" then
      first = first or row[self.plan.objective]
      if row[self.plan.objective] ~= first then
        return
      end
      count = count + 1
    end
  end
  if count > 2 then
    self.warnings[#self.warnings + 1] = ("the objective '%s' is the same for all %d configurations"):format(
      self.plan.objective,
      count
    )
  end
end

-- What the process that watches looks for when this one dies.
local function tell_opened(self)
  if self.session then
    local kept = self.session.store
    local records, pid = self.crew and 0 or #kept.records, self.crew and kept.worker or core.pid()
    overrides.tell { kind = "open", store = self.plan.store, records = records, pid = pid }
  end
end

--- Runs a plan.
-- @tparam table plan from luhip.tune.options
-- @tparam table host `clock` (seconds, monotonic), `sampler` (takes a device, gives a function that times a function,
--   in ms), `progress` (called with the runner and each new row)
-- @treturn Runner `rows` in order of their measurement, `best`, `pareto` (with several objectives), `near` (the
--   finalists, where there was a final), `alike` (all that the noise does not tell from the best), `warnings`,
--   `seconds`, `stopped` (nil when the space was exhausted; "configs", "seconds", "strategy", "interrupted" or
--   "poisoned"), `total` (valid configurations, nil when not counted)
-- @raise what no candidate can get right; buffers then hold their first content again
function runner.run(plan, host)
  local self =
    setmetatable({ plan = plan, host = host, rows = {}, warnings = {}, least = math.huge, held = {} }, Runner)
  self.cost = objectives.cost(plan.goals)
  self.total = plan.space.count
  table.move(plan.space.warnings, 1, #plan.space.warnings, 1, self.warnings)
  self.started = host.clock()
  self.arguments = arguments.new(plan)
  self.sample = host.sampler(plan.device)
  self.session = plan.store and session.open(plan) or nil
  local ok, stopped = pcall(function()
    self.crew = plan.worker and crew.join(plan, self.session) or nil
    tell_opened(self)
    if not self.crew and (plan.ahead > 0 or #plan.devices > 1) then
      self.lanes = fleet.lanes(self, session.open)
    end
    local stop = sweep(self)
    if self.crew then
      stop = gather(self, stop)
    end
    if stop ~= "interrupted" and stop ~= "poisoned" then
      final(self)
    end
    return stop
  end)
  self.arguments:leave()
  local elsewhere = self.lanes and fleet.close(self.lanes) or 0
  if self.session then
    self.reused = self.session.reused + elsewhere
    self.session:close()
  end
  if not ok then
    if not is_interrupt(stopped) then
      error(stopped, 0)
    end
    stopped = "interrupted"
  end
  self.alike = alike(self)
  self.pareto = #plan.goals > 1 and objectives.front(self.rows, plan.goals) or nil
  self.stopped, self.seconds = stopped, host.clock() - self.started
  for _, warning in ipairs(self.arguments.warnings) do
    self.warnings[#self.warnings + 1] = warning
  end
  check_constant(self)
  overrides.tell { kind = "run", name = plan.name, stopped = self.stopped, best = self.best and self.best.params }
  return self
end

return runner
