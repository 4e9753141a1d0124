--- One worker of a tuning run that many share, through a store in PostgreSQL (luhip.tune.database).
--
-- A run that tries everything has all its configurations put in by whoever comes first, and workers take them in order.
-- A search is every worker's own, each with a seed of its own; what one proposes is put in (together no more than the
-- budget allows) and measured by it, and what another measured already is taken from there. When a worker has nothing
-- left to propose it takes over what dead ones left, and waits for what others are at; so each of them ends with the
-- rows of all. Dependencies: luhip.core, luhip.errors, luhip.tune.{database,overrides,store}.
-- @module luhip.tune.crew

local core = require "luhip.core"
local database = require "luhip.tune.database"
local errors = require "luhip.errors"
local overrides = require "luhip.tune.overrides"
local store = require "luhip.tune.store"

local crew = {}

local Crew = {}
Crew.__index = Crew

local PAUSE = 10 -- times 10 ms, between looks at what others do
local MARGIN, HANG = 60, 300
local MOST = 10000000 -- configurations that are put in

local function pause()
  for _ = 1, PAUSE do
    core.sleep(10)
  end
end

-- What tells a run from another: all that its rows depend on, and what is tried.
local function run_of(plan, session)
  local values = {}
  for i, name in ipairs(plan.space.names) do
    values[i] = { name, plan.space:values(name) }
  end
  local source = type(plan.source) == "string" and plan.source or string.dump(plan.source, true)
  local what = { session.common, core.hash(source), values, tostring(plan.space.count), plan.strategy, plan.seed }
  what[#what + 1] = plan.budget.configs or 0
  return core.hash(core.json_text(what))
end

local function all_of_it(plan)
  return plan.strategy == "exhaustive" or (plan.strategy == "auto" and next(plan.budget) == nil)
end

--- Joins.
-- @tparam table plan
-- @tparam Session session whose store is a database
-- @treturn Crew
-- @raise kind "argument" for a space that is too large to be tried whole
function crew.join(plan, session)
  local self = setmetatable({ plan = plan, session = session, store = session.store }, Crew)
  if not store.is_database(plan.store) then
    errors.raise(
      "argument",
      "tune: workers share a store in PostgreSQL (postgres://user@host/base), not '%s'",
      plan.store
    )
  end
  if #plan.devices > 1 then
    errors.raise("argument", "tune: a worker has one device, not %d: start one for each", #plan.devices)
  end
  self.whole = all_of_it(plan)
  if self.whole and plan.space.count > MOST then
    local format = "tune: %s configurations are too many for workers to try all of them: give a budget"
    errors.raise("argument", format, tostring(plan.space.count))
  end
  local told = overrides.get() or {}
  self.store:join(run_of(plan, session), plan.name, (told.hang or HANG) + MARGIN)
  if self.whole then
    self.store:fill(plan.space.count, function(i)
      return plan.space:nth(i)
    end)
  end
  return self
end

-- A configuration that its workers died of.
local function condemn(self, params, attempts)
  local row = { params = params, status = "fault" }
  row.error = errors.new("fault", "%d workers ended while this configuration was tried", attempts)
  self.session:keep(row)
end

-- Takes a configuration, this one or any, that may be tried.
local function take(self, params)
  while true do
    local taken, attempts = self.store:claim(params)
    if not taken or attempts < database.CRASHES then
      return taken
    end
    condemn(self, taken, attempts)
  end
end

--- The strategy of this worker, where the run tries everything: what it can take, and then what others leave.
-- @treturn ?function nil for a search
function Crew:strategy()
  if not self.whole then
    return nil
  end
  return function(search)
    for params in self:left() do
      search:evaluate(self.plan.space:index(params))
    end
  end
end

--- Configurations to try, for as long as there are any; waits for those that others are at.
-- @treturn function iterator of parameters
function Crew:left()
  return function()
    while true do
      local params = take(self)
      if params or self.store:outstanding() == 0 then
        self.taken = params
        return params
      end
      pause()
    end
  end
end

-- The row that another made of it; the claim, when it has to be made here; or neither: there is no budget for it.
local function await(self, params)
  if not self.store:offer(params, self.plan.budget.configs) then
    return nil
  end
  while true do
    if self.store:is_done(params) then
      return self.session:finished(params)
    end
    self.taken = take(self, params)
    if self.taken then
      return nil
    end
    pause()
  end
end

--- Evaluates a configuration, here or elsewhere.
-- @tparam table params
-- @tparam function measure of parameters: gives a row, or nil, and why the run has to end
-- @treturn ?table row
-- @treturn ?string why the run has to end
function Crew:evaluate(params, measure)
  local row = nil
  if not self.taken then
    row = await(self, params)
    if not row and not self.taken then
      return nil, "configs"
    end
  end
  if row then
    return row
  end
  self.taken = nil
  local stop
  row, stop = measure(params)
  if row then
    self.session:end_claim(params)
  end
  return row, stop
end

--- What became of all configurations of the run.
-- @treturn {table,...} records
function Crew:results()
  return self.store:results()
end

return crew
