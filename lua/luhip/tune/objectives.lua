--- What a tuning run is after: one number of a row, or several at once.
--
-- Each becomes a cost, lower is better. With several, no row is the best of all: what counts is the front, the rows
-- that no other beats in everything. Strategies that know only one cost are given an augmented Chebyshev sum (as in
-- ParEGO, Knowles 2006, with equal weights) of the costs relative to the first that worked. Dependencies: luhip.errors,
-- luhip.tune.front.
-- @module luhip.tune.objectives

local errors = require "luhip.errors"
local front = require "luhip.tune.front"

local objectives = {}

local function names_of(objective, where)
  if objective == nil then
    return { "ms" }
  elseif type(objective) == "string" then
    return { objective }
  elseif type(objective) ~= "table" or #objective == 0 then
    errors.raise("type", "%s: objective: a name or a list of names expected", where)
  end
  local there = {}
  for _, name in ipairs(objective) do
    if type(name) ~= "string" then
      errors.raise("type", "%s: objective: a list of names expected, not of a %s", where, type(name))
    elseif there[name] then
      errors.raise("argument", "%s: objective: '%s' is there twice", where, name)
    end
    there[name] = true
  end
  return objective
end

--- Reads objectives.
-- @param objective a name or a list of names; "ms" where nil
-- @param higher true or false for all, or { name = true } for some
-- @tparam string where names it in messages
-- @treturn {table,...} each with `name` and `higher`
-- @raise kinds "type" and "argument"
function objectives.read(objective, higher, where)
  local goals = {}
  for k, name in ipairs(names_of(objective, where)) do
    goals[k] = { name = name, higher = higher == true }
  end
  if type(higher) == "table" then
    for name, value in pairs(higher) do
      local found
      for _, goal in ipairs(goals) do
        found = found or goal.name == name and goal
      end
      if not found then
        errors.raise("argument", "%s: higher: '%s' is no objective", where, tostring(name))
      end
      found.higher = value and true or false
    end
  elseif higher ~= nil and type(higher) ~= "boolean" then
    errors.raise("type", "%s: higher: a boolean, or one by objective, expected, not a %s", where, type(higher))
  end
  return goals
end

--- A row's costs by objective.
-- @tparam table row
-- @tparam {table,...} goals
-- @treturn ?{number,...} nil for a row that failed or lacks a number
function objectives.vector(row, goals)
  if row.status ~= "ok" then
    return nil
  end
  local vector = {}
  for k, goal in ipairs(goals) do
    local value = row[goal.name]
    if type(value) ~= "number" or value - value ~= 0 then
      return nil
    end
    vector[k] = goal.higher and -value or value
  end
  return vector
end

local function chebyshev(vector, scale)
  local most, sum = -math.huge, 0
  for k, value in ipairs(vector) do
    local x = value / scale[k]
    x = scale[k] < 0 and 2 - x or x -- of what is negated: more negative is better
    most, sum = math.max(most, x), sum + x
  end
  return most + 0.05 * sum
end

-- The cost where there is one objective.
local function single(goal)
  local name, higher = goal.name, goal.higher
  return function(row)
    local value = row[name]
    if row.status ~= "ok" or type(value) ~= "number" or value - value ~= 0 then
      return math.huge
    end
    return higher and -value or value
  end
end

--- A function that gives a row's cost, and its vector where there are several objectives.
-- @tparam {table,...} goals
-- @treturn function of a row; `math.huge` for one that failed
function objectives.cost(goals)
  if #goals == 1 then
    return single(goals[1])
  end
  local failed, scale = {}, nil
  for k in ipairs(goals) do
    failed[k] = math.huge
  end
  return function(row)
    local vector = objectives.vector(row, goals)
    if not vector then
      return math.huge, failed
    end
    if not scale then
      scale = {}
      for k, value in ipairs(vector) do
        scale[k] = value == 0 and 1 or value
      end
    end
    return chebyshev(vector, scale), vector
  end
end

--- The rows that no other beats in every objective, by the first objective.
-- @tparam {table,...} rows
-- @tparam {table,...} goals
-- @treturn {table,...}
function objectives.front(rows, goals)
  local members = {}
  for i, row in ipairs(rows) do
    local vector = objectives.vector(row, goals)
    if vector then
      members[#members + 1] = { i = i, vector = vector, row = row }
    end
  end
  local first, list = front.first(members), {}
  table.sort(first, function(a, b)
    return a.vector[1] < b.vector[1]
  end)
  for k, m in ipairs(first) do
    list[k] = m.row
  end
  return list
end

return objectives
