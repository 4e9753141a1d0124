--- The sweep: every configuration of a space through compile, launch, verification and timing.
--
-- What goes wrong with a candidate is data: its row says how far it came (`status`) and why (`error`), and the sweep
-- goes on. Only what no candidate can get right (an expectation that names no parameter, a kernel that is not in the
-- source) and what the user's own functions of the configuration raise end the run with an error.
-- Dependencies: luhip.errors, luhip.tune.{arguments,callback,candidate,crew,evaluator,failure,fleet,objectives,
-- overrides,remote,report,session,statistics,trial}.
-- @module luhip.tune.runner

local arguments = require "luhip.tune.arguments"
local callback = require "luhip.tune.callback"
local candidate = require "luhip.tune.candidate"
local core = require "luhip.core"
local crew = require "luhip.tune.crew"
local errors = require "luhip.errors"
local evaluator = require "luhip.tune.evaluator"
local failure = require "luhip.tune.failure"
local fleet = require "luhip.tune.fleet"
local objectives = require "luhip.tune.objectives"
local overrides = require "luhip.tune.overrides"
local remote = require "luhip.tune.remote"
local report = require "luhip.tune.report"
local session = require "luhip.tune.session"
local statistics = require "luhip.tune.statistics"
local trial = require "luhip.tune.trial"

local runner = {}

local WARM = 2 -- of each other device and problem, to begin with

local Runner = {}
Runner.__index = Runner

-- ---- the stages of one candidate -------------------------------------------------------------------------------

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
    if type(value) ~= "number" then
      errors.raise("argument", "objective '%s' is %s, not a number", goal.name, tostring(value))
    elseif value - value ~= 0 then -- which would win, or be beaten by nothing
      errors.raise("argument", "objective '%s' is %s, not a finite number", goal.name, report.number(value))
    end
  end
end

-- The ms beyond which a candidate cannot win, and the samples behind it; nil where time is not what decides.
function Runner:limit()
  if self.best and #self.plan.goals == 1 and self.plan.objective == "ms" and not self.plan.higher then
    return self.best.ms, self.best.samples
  end
  return nil
end

local function attempt(self, config, row)
  local where = self.remote
  if where then
    where:run(config, row)
  else
    trial.run(self, config, row)
  end
  self.stage = "objective"
  compute_metrics(self, row)
end

-- ---- devices that do not survive -------------------------------------------------------------------------------

local function warn(self, format, ...)
  self.warnings[#self.warnings + 1] = format:format(...)
end

local function how_to_go_on(plan)
  if plan.store then
    return ("what was found is in %s: run the script again, and it goes on"):format(plan.store)
  end
  return "with 'store' what is found is kept, and a script that is run again goes on"
end

-- Has the rest tried in a process of its own; false when it cannot be, or shall not.
local function move_out(self, config)
  local plan = self.plan
  if plan.isolate == false or (plan.isolate == nil and overrides.get()) then
    return false
  end
  fleet.forget(self)
  local ok, hands = pcall(remote.open, self)
  if ok then
    self.remote = hands
    local how = config and "did not survive " .. report.config(config, plan.space.names)
      or "is lost, by no configuration"
    local format = "%s %s: what came after was tried in a process of its own. In this one it is had again by closing "
      .. "and opening it, where its driver allows that"
    warn(self, format, plan.device.id, how)
    return true
  elseif failure.is_interrupt(hands) then
    error(hands, 0)
  end
  local why = errors.message(hands):gsub("^tune: isolate: ", "")
  warn(self, "no other process can try the rest: %s; %s", why, how_to_go_on(plan))
  return false
end

-- ---- rows ------------------------------------------------------------------------------------------------------

local evaluate_anew

-- The device is lost: by this configuration if it has done anything to it. Its row, or the one that it gets elsewhere;
-- and whether the run ends with it.
local function lose_device(self, config, row, e)
  local blamed = self.launched
  row.status, row.error = "fault", failure.as_error(e)
  if move_out(self, blamed and config or nil) then
    if blamed then
      return row
    end
    return evaluate_anew(self, config)
  end
  return blamed and row or nil, "poisoned"
end

function evaluate_anew(self, config)
  local row = { params = config, status = "ok" }
  local ok, e = pcall(attempt, self, config, row)
  local theirs
  e, theirs = callback.unwrap(e)
  trial.forget(self)
  if ok then
    return row
  elseif failure.is_interrupt(e) then
    return nil, "interrupted"
  elseif self.remote and self.remote.broken then
    warn(self, "no other process can try the rest: %s; %s", self.remote.broken, how_to_go_on(self.plan))
    return nil, "poisoned"
  elseif theirs or self.hopeless or self.stage == "resolve" then
    error(e, 0)
  elseif not self.remote and trial.has_lost_device(self, e) then
    return lose_device(self, config, row, e)
  end
  row.status, row.error = failure.status(failure.kind(e), self.stage), failure.as_error(e)
  return row
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
    row.status, row.error = "objective", failure.as_error(e)
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
  local watched = not self.remote -- another process has a time of its own
  if watched then
    overrides.begin()
  end
  local ok, row, stop = pcall(evaluate_anew, self, config)
  if watched then
    overrides.done()
  end
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

-- A kernel that is compiled in the background, wherever it will be used.
local function start_early(lane, config, i)
  if lane.remote then
    return lane.remote:compile_ahead(config, i)
  end
  return candidate.start(lane, config)
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
      start = start_early,
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

-- The times of several rows that are measured in turn, by whoever measured last on the first device.
local function play(self, list)
  local player, configs = self.lanes and self.lanes[1] or self, {}
  for k, row in ipairs(list) do
    configs[k] = row.params
  end
  local rounds = self.plan.rules.rounds
  if player.remote then
    return pcall(player.remote.play, player.remote, configs, rounds)
  end
  local ok, times = pcall(trial.play, self, configs, rounds)
  trial.forget(self)
  if not ok and trial.has_lost_device(self, times) and move_out(self) then
    return pcall(self.remote.play, self.remote, configs, rounds)
  end
  return ok, times
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
  local ok, finals = play(self, list)
  if not ok then
    if failure.is_interrupt(finals) then
      error(finals, 0)
    end
    warn(self, "the finalists could not be measured again: %s", tostring(failure.as_error(finals)))
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
    local records, pid = self.crew and 0 or kept.count, self.crew and kept.worker or core.pid()
    overrides.tell { kind = "open", store = self.plan.store, records = records, pid = pid }
  end
end

-- From the first configuration on, in processes of their own.
local function isolate(self)
  for _, owner in ipairs(self.lanes or { self }) do
    owner.remote = remote.open(owner, true)
  end
end

local function close_remotes(self)
  for _, owner in ipairs(self.lanes or { self }) do
    if rawget(owner, "remote") then
      owner.remote:close()
    end
  end
  if self.remote then
    self.remote:close()
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
  trial.note_constants(plan)
  self.total = plan.space.count
  table.move(plan.space.warnings, 1, #plan.space.warnings, 1, self.warnings)
  self.started = host.clock()
  self.arguments = arguments.new(plan)
  self.sample = host.sampler(plan.device)
  self.session = plan.store and session.open(plan) or nil
  self.warnings[#self.warnings + 1] = self.session and self.session.store:passed_over()
  local ok, stopped = pcall(function()
    self.crew = plan.worker and crew.join(plan, self.session) or nil
    tell_opened(self)
    if not self.crew and (plan.ahead > 0 or #plan.devices > 1) then
      self.lanes = fleet.lanes(self, session.open)
    end
    if plan.isolate then
      isolate(self)
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
  close_remotes(self)
  self.arguments:leave()
  local elsewhere = self.lanes and fleet.close(self.lanes) or 0
  if self.session then
    self.reused = self.session.reused + elsewhere
    self.session:close()
  end
  if not ok then
    if not failure.is_interrupt(stopped) then
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
