--- Replaying a recorded run: a strategy meets a space whose outcomes are known, and no device is needed.
--
-- Each configuration costs the seconds that were recorded for compiling, checking and measuring it, on a clock that
-- only such costs move; budgets in seconds are of that clock. What failed counts as an evaluation. The same recorded
-- run, options and seed give the same result. Dependencies: luhip.errors, luhip.nearest,
-- luhip.tune.{evaluator,front,recorded, result,strategies}.
-- @module luhip.tune.simulate

local errors = require "luhip.errors"
local evaluator = require "luhip.tune.evaluator"
local front = require "luhip.tune.front"
local nearest = require "luhip.nearest"
local objectives = require "luhip.tune.objectives"
local recorded = require "luhip.tune.recorded"
local result = require "luhip.tune.result"
local strategies = require "luhip.tune.strategies"

local simulate = {}

local OPTIONS = { "budget", "higher", "objective", "seed", "strategy" }

local function check(given)
  if type(given) ~= "table" then
    errors.raise("type", "tune.simulate: options: a table expected, not a %s", type(given))
  end
  for key in pairs(given) do
    local found = false
    for _, name in ipairs(OPTIONS) do
      found = found or name == key
    end
    if not found then
      local near = nearest(tostring(key), OPTIONS)
      local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(OPTIONS, ", ")
      errors.raise("argument", "tune.simulate: unknown option '%s'%s", tostring(key), hint)
    end
  end
end

--- Reads a budget: { configs =, seconds = }, or a number of configurations.
-- @param given
-- @tparam string where names it in messages
-- @treturn table `configs`, `seconds`
-- @raise kinds "type" and "argument"
function simulate.budget(given, where)
  if type(given) == "number" then
    given = { configs = given }
  elseif given ~= nil and type(given) ~= "table" then
    errors.raise("type", "%s: budget: a table or a number of configurations expected, not a %s", where, type(given))
  end
  local budget = {}
  for key, value in pairs(given or {}) do
    if key ~= "configs" and key ~= "seconds" then
      errors.raise("argument", "%s: budget: unknown key '%s'; there are configs and seconds", where, tostring(key))
    elseif type(value) ~= "number" then
      errors.raise("type", "%s: budget: %s: a number expected, not a %s", where, key, type(value))
    end
    budget[key] = key == "configs" and math.tointeger(value) or value
  end
  if budget.configs and (math.type(budget.configs) ~= "integer" or budget.configs < 1) then
    errors.raise(
      "argument",
      "%s: budget: configs: a whole number of at least 1 expected, not %s",
      where,
      budget.configs
    )
  elseif budget.seconds and (budget.seconds <= 0 or budget.seconds ~= budget.seconds) then
    errors.raise("argument", "%s: budget: seconds is more than 0", where)
  end
  return budget
end

local function check_seed(seed)
  if seed ~= nil and not (math.type(seed) and math.tointeger(seed)) then
    errors.raise("type", "tune.simulate: seed: an integer expected, not %s", tostring(seed))
  end
  return seed and math.tointeger(seed) or 0
end

-- What luhip.tune.result wants to know of a run.
local function plan_of(run, goals, name)
  return {
    name = run.name,
    device = { id = "recorded", name = run.device, arch = "" },
    objective = goals[1].name,
    higher = goals[1].higher,
    goals = goals,
    metrics = {},
    space = run.space,
    strategy = name,
  }
end

--- Replays a recorded run: `tune.simulate(recorded, options)`.
-- @tparam Recorded run what `tune.load_cache` gives
-- @tparam[opt] table given `strategy` (default "auto"), `budget` (default: everything), `seed` (default 0), `objective`
--   (default "ms"; a list for several) and `higher`, as of `tune`
-- @treturn Result as of `tune`; `seconds` is recorded time, `strategy` the strategy's name; rows are in order of
--   evaluation
-- @raise kinds "type" and "argument"; what a strategy raises
function simulate.run(run, given)
  if not recorded.is(run) then
    errors.raise("type", "tune.simulate: what tune.load_cache gives expected, not a %s", type(run))
  end
  given = given or {}
  check(given)
  local goals = objectives.read(given.objective, given.higher, "tune.simulate")
  local name, body, options = strategies.read(given.strategy)
  local budget, seconds, rows = simulate.budget(given.budget, "tune.simulate"), 0, {}
  local stopped, search = evaluator.run {
    space = run.space,
    strategy = body,
    options = options,
    seed = check_seed(given.seed),
    budget = budget,
    objectives = #goals,
    clock = function()
      return seconds
    end,
    evaluate = function(i)
      local row, spent = run:row(i)
      seconds = seconds + spent
      rows[#rows + 1] = row
      return row
    end,
    cost = objectives.cost(goals),
  }
  local made = result.new {
    plan = plan_of(run, goals, name),
    best = search.best and rows[search.order[search.best]],
    rows = rows,
    warnings = {},
    seconds = seconds,
    stopped = stopped,
    total = run.space.count,
    pareto = #goals > 1 and objectives.front(rows, goals, front) or nil,
  }
  made.strategy = name
  return made
end

return simulate
