--- Replaying a recorded run: a strategy meets a space whose outcomes are known, and no device is needed.
--
-- Each configuration costs the seconds that were recorded for compiling, checking and measuring it, on a clock that
-- only such costs move; budgets in seconds are of that clock. What failed counts as an evaluation. The same recorded
-- run, options and seed give the same result, also when it was ended in between and a store kept its rows.
-- Dependencies: luhip.errors, luhip.nearest,
-- luhip.tune.{evaluator,objectives,recorded,replay,result,strategies}.
-- @module luhip.tune.simulate

local errors = require "luhip.errors"
local evaluator = require "luhip.tune.evaluator"
local nearest = require "luhip.nearest"
local objectives = require "luhip.tune.objectives"
local recorded = require "luhip.tune.recorded"
local replay = require "luhip.tune.replay"
local result = require "luhip.tune.result"
local strategies = require "luhip.tune.strategies"

local simulate = {}

local OPTIONS = { "budget", "higher", "objective", "seed", "store", "strategy" }

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

local function check_seed(seed)
  if seed ~= nil and not (math.type(seed) and math.tointeger(seed)) then
    errors.raise("type", "tune.simulate: seed: an integer expected, not %s", tostring(seed))
  end
  return seed and math.tointeger(seed) or 0
end

local function check_store(path)
  if path ~= nil and type(path) ~= "string" then
    errors.raise("type", "tune.simulate: store: a path expected, not a %s", type(path))
  end
  return path
end

-- The numbers that a row has.
local function numbers_of(row)
  local names = {}
  for name, value in pairs(row) do
    if type(value) == "number" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

-- Whether some configuration that worked has a number of that name; otherwise those that the first one has.
local function find_number(run, name)
  local first = nil
  for i = 1, run.space.count do
    local row = run:row(i)
    if row.status == "ok" and type(row[name]) == "number" then
      return true
    end
    first = first or row.status == "ok" and row or nil
  end
  return false, first and numbers_of(first) or {}
end

local function check_goals(run, goals)
  for _, goal in ipairs(goals) do
    local found, names = find_number(run, goal.name)
    if not found and #names > 0 then
      local near = nearest(goal.name, names)
      local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(names, ", ")
      errors.raise("argument", "tune.simulate: objective: '%s' was not recorded%s", goal.name, hint)
    end
  end
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
--   (default "ms"; a list for several) and `higher`, as of `tune`; `store`: a file that keeps the rows, and which they
--   come from when the run is begun again
-- @treturn Result as of `tune`; `seconds` is recorded time, `strategy` the strategy's name; rows are in order of
--   evaluation
-- @raise kinds "type", "argument" and "file"; what a strategy raises
function simulate.run(run, given)
  if not recorded.is(run) then
    errors.raise("type", "tune.simulate: what tune.load_cache gives expected, not a %s", type(run))
  end
  given = given or {}
  check(given)
  local goals = objectives.read(given.objective, given.higher, "tune.simulate")
  check_goals(run, goals)
  local name, body, options = strategies.read(given.strategy)
  local budget, seconds, rows = evaluator.budget(given.budget, "tune.simulate"), 0, {}
  local job = {
    space = run.space,
    strategy = body,
    options = options,
    seed = check_seed(given.seed),
    budget = budget,
    objectives = #goals,
    clock = function()
      return seconds
    end,
    cost = objectives.cost(goals),
  }
  local kept = check_store(given.store) and replay.open(run, given.store)
  function job.evaluate(i)
    local row, spent = (kept or run):row(i)
    seconds = seconds + spent
    rows[#rows + 1] = row
    return row
  end
  local ok, stopped, search = pcall(evaluator.run, job)
  if kept then
    kept:close()
  end
  if not ok then
    error(stopped, 0)
  end
  return result.new {
    plan = plan_of(run, goals, name),
    best = search.best and rows[search.order[search.best]],
    rows = rows,
    warnings = { kept and kept.store:passed_over() },
    seconds = seconds,
    stopped = stopped,
    total = run.space.count,
    reused = kept and kept.reused or nil,
    pareto = #goals > 1 and objectives.front(rows, goals) or nil,
  }
end

return simulate
