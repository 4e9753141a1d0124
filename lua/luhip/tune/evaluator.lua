--- The loop between a strategy and what measures: budgets, repetitions and the order of events are decided here.
--
-- A strategy asks for configurations and is told costs; it cannot spend more than the budget, and what it asks for
-- twice is measured once. One that asks 100 times in a row for nothing new has something new measured for it at random,
-- so that every strategy gets through its budget. Given the same seed and the same costs, the same configurations are
-- asked for. Dependencies: luhip.errors, luhip.nearest, luhip.tune.search.
-- @module luhip.tune.evaluator

local errors = require "luhip.errors"
local nearest = require "luhip.nearest"
local search = require "luhip.tune.search"

local evaluator = {}

local STALL = 100

local Evaluator = {}
Evaluator.__index = Evaluator

--- Reads a budget: { configs =, seconds = }, or a number of configurations.
-- @param given
-- @tparam string where names it in messages
-- @treturn table `configs`, `seconds`
-- @raise kinds "type" and "argument"
function evaluator.budget(given, where)
  if type(given) == "number" then
    given = { configs = given }
  elseif given ~= nil and type(given) ~= "table" then
    errors.raise("type", "%s: budget: a table or a number of configurations expected, not a %s", where, type(given))
  end
  local budget = {}
  for key, value in pairs(given or {}) do
    if key ~= "configs" and key ~= "seconds" then
      local near = nearest(tostring(key), { "configs", "seconds" })
      local hint = near and (", did you mean '%s'?"):format(near) or "; there are configs and seconds"
      errors.raise("argument", "%s: budget: unknown key '%s'%s", where, tostring(key), hint)
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
    errors.raise("argument", "%s: budget: seconds: more than 0 expected", where)
  end
  return budget
end

-- ---- requests --------------------------------------------------------------------------------------------------

local function position_of(self, wanted)
  if math.type(wanted) == "integer" then
    if wanted < 1 or wanted > self.space.count then
      errors.raise("range", "the strategy asks for configuration %d of %d", wanted, self.space.count)
    end
    return wanted
  elseif type(wanted) ~= "table" then
    errors.raise("type", "a strategy yields a position or a configuration, not a %s", type(wanted))
  end
  local i = self.space:index_for("what the strategy asks for", wanted)
  if not i then
    local parts = {}
    for _, name in ipairs(self.space.names) do
      parts[#parts + 1] = ("%s=%s"):format(name, tostring(wanted[name]))
    end
    errors.raise("argument", "the strategy asks for {%s}, which is not in the space", table.concat(parts, ", "))
  end
  return i
end

local function spent(self)
  local budget = self.budget
  local done = self.search.measured - self.known
  if budget.configs and done >= budget.configs then
    return "configs"
  elseif budget.seconds and done > 0 and self.clock() - self.started >= budget.seconds then
    return "seconds"
  end
  return nil
end

local function take(self, i, row)
  local cost, vector = self.cost(row)
  self.search:note(i, cost, vector)
  self.rows[i] = row
  self.stalled = 0
end

-- Measures one position that has not been measured.
local function measure(self, i)
  local stop = spent(self)
  if stop then
    return stop
  end
  local row, reason = self.evaluate(i)
  if row then
    take(self, i, row)
  end
  return reason
end

-- Answers a request for one configuration; a reason when that ends the run.
local function serve(self, i)
  if self.rows[i] == nil then
    return measure(self, i)
  end
  self.stalled = self.stalled + 1
  if self.stalled > STALL then
    return measure(self, self.search:fresh())
  end
  return nil
end

local function serve_one(self, wanted)
  local i = position_of(self, wanted)
  local stop = serve(self, i)
  return stop, self.search.costs[i], self.rows[i]
end

-- Why no more may be begun, with so many begun that have no row yet.
local function refusal(self, begun)
  local budget, done = self.budget, self.search.measured - self.known + begun
  if budget.configs and done >= budget.configs then
    return "configs"
  end
  local late = budget.seconds and done > 0 and self.clock() - self.started >= budget.seconds
  return late and "seconds" or nil
end

-- Answers a request for several by what takes them all at once; rows come in order.
local function serve_batch(self, list)
  local positions, new, there = {}, {}, {}
  for k, wanted in ipairs(list) do
    local i = position_of(self, wanted)
    positions[k] = i
    if self.rows[i] == nil and not there[i] then
      there[i], new[#new + 1] = true, i
    end
  end
  self.stalled = self.stalled + #list - #new
  local stop = #new > 0
      and self.batch(new, function(begun)
        return refusal(self, begun)
      end, function(i, row)
        take(self, i, row)
      end)
    or nil
  if not stop and self.stalled > STALL and self.search.measured < self.space.count then
    stop = measure(self, self.search:fresh())
  end
  local costs, rows = {}, {}
  for k, i in ipairs(positions) do
    costs[k], rows[k] = self.search.costs[i], self.rows[i]
  end
  return stop, costs, rows
end

local function serve_list(self, list)
  if self.batch then
    return serve_batch(self, list)
  end
  local costs, rows = {}, {}
  for k, wanted in ipairs(list) do
    local stop
    stop, costs[k], rows[k] = serve_one(self, wanted)
    if stop then
      return stop
    end
  end
  return nil, costs, rows
end

-- ---- the run ---------------------------------------------------------------------------------------------------

local function run(self, strategy)
  if self.batch and #self.first > 0 then
    local stop = serve_batch(self, self.first)
    if stop then
      return stop
    end
  end
  for _, i in ipairs(self.first) do
    local stop = self.rows[i] == nil and measure(self, i)
    if stop then
      return stop
    end
  end
  local co = coroutine.create(strategy)
  local cost, row = self.search, self.options
  while self.search.measured < self.space.count do
    local ok, wanted = coroutine.resume(co, cost, row)
    if not ok then
      error(wanted, 0)
    elseif coroutine.status(co) == "dead" then
      return "strategy"
    end
    local stop
    if type(wanted) == "table" and wanted[1] ~= nil then
      stop, cost, row = serve_list(self, wanted)
    else
      stop, cost, row = serve_one(self, wanted)
    end
    if stop then
      coroutine.close(co)
      return stop
    end
  end
  coroutine.close(co)
  return nil
end

local function take_known(self, known)
  local order = {}
  for i in pairs(known) do
    order[#order + 1] = i
  end
  table.sort(order)
  for _, i in ipairs(order) do
    self.rows[i] = known[i]
    self.search:note(i, self.cost(known[i]))
  end
  self.known = #order
end

--- Runs a strategy.
-- @tparam table given `space`; `strategy` (a function of a search and options) and its `options`; `seed`; `budget`
--   ({ configs =, seconds = }, either may be nil; at least one configuration is measured); `clock` (gives seconds);
--   `evaluate` (position to row, and a reason when the run has to end with it); `batch` (the same of several that are
--   asked for at once, see luhip.tune.fleet: a list of positions, a function of how many are begun that says why no
--   more may be, and one that takes a position and its row in the order of the list; nil: one after the other) and
--   `width` (how many of these it measures at the same time);
--   `cost` (row to a number, lower is
--   better, and a list of such where there are several `objectives`, of which that is the number); `first` (positions
--   that are measured before the strategy begins); `known` (rows by position that count as measured from the start,
--   and cost no budget)
-- @treturn ?string why it ended: "configs", "seconds", "strategy" (it returned) or what `evaluate` gave; nil:
--   everything was measured
-- @treturn Search
-- @raise what the strategy and `evaluate` raise
function evaluator.run(given)
  local budget = given.budget or {}
  local self = setmetatable({
    space = given.space,
    budget = budget,
    clock = given.clock,
    evaluate = given.evaluate,
    batch = given.batch,
    cost = given.cost,
    options = given.options or {},
    search = search.new(given.space, given.seed or 0, budget),
    first = given.first or {},
    rows = {},
    known = 0,
    stalled = 0,
    started = given.clock(),
  }, Evaluator)
  self.search.objectives = given.objectives or 1
  self.search.width = given.width or 1
  take_known(self, given.known or {})
  return run(self, given.strategy), self.search
end

return evaluator
