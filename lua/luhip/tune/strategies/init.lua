--- The strategies by name, and reading what a user asks for.
-- Dependencies: luhip.errors, luhip.nearest, luhip.tune.strategies.*.
-- @module luhip.tune.strategies

local errors = require "luhip.errors"
local nearest = require "luhip.nearest"

local strategies = {}

-- Name to the options it takes.
local KNOWN = {
  annealing = { "hot", "cold", "steps" },
  auto = { "caution", "caution_end", "first", "population", "mutation" },
  bandit = { "arms", "exploration", "window" },
  basin = { "hop", "temperature" },
  bayesian = { "first" },
  differential = { "crossover", "population", "weight" },
  exhaustive = {},
  genetic = { "elite", "mutation", "population" },
  greywolf = { "pack", "patience" },
  latin = { "points" },
  ["local"] = { "accept", "kick" },
  pareto = { "mutation", "population" },
  random = {},
  swarm = { "all", "inertia", "own", "particles" },
}

--- The names, sorted.
-- @treturn {string,...}
function strategies.names()
  local names = {}
  for name in pairs(KNOWN) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- A strategy by its name.
-- @tparam string name
-- @treturn function of a search and options
-- @raise kind "argument", with the nearest name
function strategies.find(name)
  if not KNOWN[name] then
    local names = strategies.names()
    local near = nearest(tostring(name), names)
    local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(names, ", ")
    errors.raise("argument", "tune: no strategy '%s'%s", tostring(name), hint)
  end
  return require("luhip.tune.strategies." .. name)
end

local COUNTS = { elite = 0, first = 1, hop = 1, kick = 1, pack = 3, particles = 2, patience = 1, points = 1 }
COUNTS.population, COUNTS.steps, COUNTS.window = 4, 1, 1

local function check_option(strategy, key, value)
  local where = ("tune: strategy %s: %s"):format(strategy, key)
  if key == "arms" then
    if type(value) ~= "table" or #value == 0 then
      errors.raise("type", "%s: a list of names of strategies expected", where)
    end
    for _, name in ipairs(value) do
      strategies.find(name)
    end
  elseif type(value) ~= "number" then
    errors.raise("type", "%s: a number expected, not a %s", where, type(value))
  elseif value ~= value or value < 0 or value == math.huge then
    errors.raise("argument", "%s: %s is not possible", where, value)
  elseif COUNTS[key] and (not math.tointeger(value) or value < COUNTS[key]) then
    errors.raise("argument", "%s: a whole number of at least %d expected, not %s", where, COUNTS[key], value)
  end
end

local function check_options(given)
  local known = KNOWN[given[1]]
  for key, value in pairs(given) do
    local found = key == 1
    for _, name in ipairs(known) do
      found = found or name == key
    end
    if not found then
      local near = nearest(tostring(key), known)
      local hint = near and (", did you mean '%s'?"):format(near)
        or #known > 0 and "; there are " .. table.concat(known, ", ")
        or "; it has none"
      errors.raise("argument", "tune: strategy %s: no option '%s'%s", given[1], tostring(key), hint)
    elseif key ~= 1 then
      check_option(given[1], key, value)
    end
  end
end

--- Reads a strategy: a name, a function, or { name, option = value, ... }.
-- @param given nil for "auto"
-- @treturn string its name; "custom" for a function
-- @treturn function
-- @treturn table its options
-- @raise kinds "type" and "argument"
function strategies.read(given)
  given = given == nil and "auto" or given
  if type(given) == "function" then
    return "custom", given, {}
  elseif type(given) == "string" then
    return given, strategies.find(given), {}
  elseif type(given) ~= "table" then
    errors.raise("type", "tune: strategy: a name, a function or a table expected, not a %s", type(given))
  elseif type(given[1]) ~= "string" then
    errors.raise("argument", "tune: strategy: { name, option = value, ... } expected")
  end
  local body = strategies.find(given[1])
  check_options(given)
  return given[1], body, given
end

return strategies
