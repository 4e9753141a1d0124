--- The space of configurations: the product of the parameters' values that the constraints leave.
--
-- Configurations are enumerated in nested order, the first parameter outermost, and every constraint is tested at
-- the first depth where its parameters are bound, so that a whole subtree falls at once and the full product is
-- never built. A configuration is kept as its rank in the product: one integer.
--
-- Order is stable: `params = { BX = ..., BY = ... }` orders parameters by name; a list of pairs,
-- `params = { { "BX", {...} }, { "BY", {...} } }`, keeps its own order. Values keep theirs.
-- Dependencies: luhip.errors, luhip.nearest, luhip.tune.expr.
-- @module luhip.tune.space

local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"
local nearest = require "luhip.nearest"

local space = {}

local MAX_PRODUCT = 1 << 62

-- ---- parameters -------------------------------------------------------------------------------------------

local function check_value(name, position, value)
  local kind = type(value)
  if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
    local wanted = "a number, string or boolean expected"
    errors.raise("type", "parameter '%s', value %d: %s, not a %s", name, position, wanted, kind)
  end
  if kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then
    errors.raise("argument", "parameter '%s', value %d: %s is no value to tune", name, position, value)
  end
end

local function length(list)
  local n = 0
  for key in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 then
      return nil
    end
    n = math.max(n, key)
  end
  return n
end

-- One parameter: its name, its values, and where each value stands.
local function make_axis(name, values)
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    errors.raise("argument", "parameter name '%s' is no identifier", tostring(name))
  end
  if type(values) ~= "table" then
    errors.raise("type", "parameter '%s': a list of values expected, not a %s", name, type(values))
  end
  local n = length(values)
  if not n then
    errors.raise("argument", "parameter '%s': a list of values expected, not a table with other keys", name)
  elseif n == 0 then
    errors.raise("argument", "parameter '%s' has no values", name)
  end
  local axis = { name = name, values = {}, position = {} }
  for i = 1, n do
    local value = values[i]
    check_value(name, i, value)
    if axis.position[value] then
      errors.raise("argument", "parameter '%s' has the value %s twice", name, tostring(value))
    end
    axis.values[i], axis.position[value] = value, i
  end
  return axis
end

-- A map of names or a list of { name, values } pairs, as a list of pairs.
local function pairs_of(params)
  if type(params) ~= "table" then
    errors.raise("type", "params: a table of lists expected, not a %s", type(params))
  end
  local list = {}
  if params[1] ~= nil then
    for i = 1, length(params) or 0 do
      local pair = params[i]
      if type(pair) ~= "table" or pair[1] == nil or pair[2] == nil or pair[3] ~= nil then
        errors.raise("argument", "params, entry %d: { name, values } expected", i)
      end
      list[i] = pair
    end
    if #list == 0 then
      errors.raise("argument", "params: names and { name, values } pairs cannot be mixed")
    end
    return list
  end
  for name, values in pairs(params) do
    list[#list + 1] = { name, values }
  end
  table.sort(list, function(a, b)
    return tostring(a[1]) < tostring(b[1])
  end)
  return list
end

local function make_axes(params)
  local axes, depth = {}, {}
  for _, pair in ipairs(pairs_of(params)) do
    local axis = make_axis(pair[1], pair[2])
    if depth[axis.name] then
      errors.raise("argument", "parameter '%s' is there twice", axis.name)
    end
    axes[#axes + 1] = axis
    depth[axis.name] = #axes
  end
  if #axes == 0 then
    errors.raise("argument", "params: at least one parameter expected")
  end
  -- weight: how many points of the product one step of this axis spans
  local weight = 1
  for i = #axes, 1, -1 do
    axes[i].weight = weight
    if weight > MAX_PRODUCT // #axes[i].values then
      errors.raise("too_big", "params: their product has more than 2^62 configurations")
    end
    weight = weight * #axes[i].values
  end
  return axes, depth, weight
end

-- ---- constraints --------------------------------------------------------------------------------------------

-- What a constraint function sees: the values, and an error for a name that is no parameter.
local function strict_view(names)
  return {
    __index = function(_, name)
      local near = nearest(tostring(name), names)
      local hint = near and (", did you mean '%s'?"):format(near) or ""
      errors.raise("argument", "'%s' is no parameter%s", tostring(name), hint)
    end,
  }
end

-- Lua's own messages for an integer division or modulo by zero.
local ZERO_DIVISOR = { "attempt to perform 'n//0'", "attempt to perform 'n%0'", "attempt to divide by zero" }

local function divided_by_zero(message)
  for _, text in ipairs(ZERO_DIVISOR) do
    if type(message) == "string" and message:find(text, 1, true) then
      return true
    end
  end
  return false
end

local function function_constraint(f, index, names)
  local text = ("function #%d"):format(index)
  local view = strict_view(names)
  local function test(_, values)
    local copy = {}
    for _, name in ipairs(names) do
      copy[name] = values[name]
    end
    local ok, result = pcall(f, setmetatable(copy, view))
    if ok then
      return result and true or false
    elseif divided_by_zero(result) then
      return false, "undefined"
    end
    errors.raise("argument", "where, %s: %s", text, tostring(result))
  end
  return { text = text, depth = #names, test = test }
end

local function expression_constraint(text, names, depth)
  local parsed = expr.parse(text, names)
  local deepest = 1
  for _, name in ipairs(parsed.names) do
    deepest = math.max(deepest, depth[name])
  end
  return {
    text = text,
    depth = deepest,
    test = function(_, values)
      return parsed:test(values)
    end,
  }
end

local function make_constraints(where, names, depth)
  if where == nil then
    return {}
  end
  if type(where) ~= "table" then
    where = { where }
  end
  local constraints = {}
  for i = 1, length(where) or 0 do
    local w = where[i]
    if type(w) == "string" then
      constraints[i] = expression_constraint(w, names, depth)
    elseif type(w) == "function" then
      constraints[i] = function_constraint(w, i, names)
    else
      errors.raise("type", "where, entry %d: an expression or a function expected, not a %s", i, type(w))
    end
  end
  if next(where) ~= nil and #constraints == 0 then
    errors.raise("argument", "where: a list of expressions and functions expected")
  end
  return constraints
end

-- ---- enumeration ----------------------------------------------------------------------------------------------

-- Tests the constraints of one depth. `stats`, where given, counts what each removes from the product.
local function holds(self, depth, values, stats)
  for _, index in ipairs(self._at[depth]) do
    local ok, undefined = self._constraints[index]:test(values)
    if not ok then
      if stats then
        stats.removed[index] = stats.removed[index] + self._axes[depth].weight
        stats.undefined[index] = stats.undefined[index] + (undefined and 1 or 0)
      end
      return false
    end
  end
  return true
end

local function new_stats(self)
  local stats = { removed = {}, undefined = {} }
  for i in ipairs(self._constraints) do
    stats.removed[i], stats.undefined[i] = 0, 0
  end
  return stats
end

-- An iterator over the ranks of valid configurations, in order. A raised error leaves it standing behind the
-- configuration that raised, so that it can be called again. Returns the rank and a table that the next call changes.
local function walk(self, stats)
  local axes, n = self._axes, #self._axes
  local digits, values = { 0 }, {}
  local depth, rank = 1, 0
  return function()
    while depth > 0 do
      local axis = axes[depth]
      local d = digits[depth] + 1
      digits[depth] = d
      if d > #axis.values then
        rank = rank - (d - 2) * axis.weight
        depth = depth - 1
      else
        if d > 1 then
          rank = rank + axis.weight
        end
        values[axis.name] = axis.values[d]
        if holds(self, depth, values, stats) then
          if depth == n then
            return rank, values
          end
          depth = depth + 1
          digits[depth] = 0
        end
      end
    end
    return nil
  end
end

-- All valid ranks; nil for a space without constraints, where every rank is valid.
local function ranks_of(self)
  if #self._constraints == 0 then
    return nil
  end
  if not self._ranks then
    local ranks, stats = {}, new_stats(self)
    for rank in walk(self, stats) do
      ranks[#ranks + 1] = rank
    end
    self._ranks, self._stats = ranks, stats
  end
  return self._ranks
end

local Space = { __name = "luhip.tune.space" }

-- `count` enumerates a constrained space when first asked for.
function Space.__index(self, key)
  if key == "count" then
    local ranks = ranks_of(self)
    return ranks and #ranks or self.product
  end
  return Space[key]
end

function Space:__tostring()
  local names = {}
  for i, axis in ipairs(self._axes) do
    names[i] = ("%s (%d)"):format(axis.name, #axis.values)
  end
  return ("luhip.tune.space: %s; %d of %d configurations"):format(table.concat(names, " x "), self.count, self.product)
end

function Space:__len()
  return self.count
end

local function decode(self, rank)
  local config = {}
  for _, axis in ipairs(self._axes) do
    config[axis.name] = axis.values[rank // axis.weight + 1]
    rank = rank % axis.weight
  end
  return config
end

--- The i-th configuration.
-- @tparam integer i 1 to `count`
-- @treturn table a new table of values by parameter name
-- @raise kind "range" outside of that, "type" for what is no integer
function Space:nth(i)
  local index = math.type(i) and math.tointeger(i)
  if not index then
    errors.raise("type", "nth: an integer expected, not %s", tostring(i))
  end
  if index < 1 or index > self.count then
    errors.raise("range", "nth: %d is outside of 1 to %d", index, self.count)
  end
  local ranks = ranks_of(self)
  return decode(self, ranks and ranks[index] or index - 1)
end

local function rank_of(self, config)
  local rank = 0
  for name in pairs(config) do
    if not self._depth[name] then
      local near = nearest(tostring(name), self.names)
      local hint = near and (", did you mean '%s'?"):format(near) or ""
      errors.raise("argument", "index: '%s' is no parameter%s", tostring(name), hint)
    end
  end
  for _, axis in ipairs(self._axes) do
    local value = config[axis.name]
    if value == nil then
      errors.raise("argument", "index: parameter '%s' is missing", axis.name)
    end
    if not axis.position[value] then
      return nil
    end
    rank = rank + (axis.position[value] - 1) * axis.weight
  end
  return rank
end

--- Where a configuration stands.
-- @tparam table config a value for every parameter
-- @treturn ?integer 1 to `count`; nil when the configuration is not in the space
-- @raise kind "argument" for a parameter that is unknown or missing
function Space:index(config)
  if type(config) ~= "table" then
    errors.raise("type", "index: a configuration expected, not a %s", type(config))
  end
  local rank = rank_of(self, config)
  if not rank then
    return nil
  end
  local ranks = ranks_of(self)
  if not ranks then
    return rank + 1
  end
  local low, high = 1, #ranks
  while low <= high do
    local middle = (low + high) // 2
    if ranks[middle] == rank then
      return middle
    elseif ranks[middle] < rank then
      low = middle + 1
    else
      high = middle - 1
    end
  end
  return nil
end

--- Iterates over the valid configurations, without building a list of them.
-- The iterator may be called again after a constraint raised: it goes on behind that configuration.
-- @treturn function gives the next position and a new table of values, nil at the end
function Space:each()
  local step = walk(self)
  local i = 0
  return function()
    local rank = step()
    if not rank then
      return nil
    end
    i = i + 1
    return i, decode(self, rank)
  end
end

--- The values of a parameter.
-- @tparam string name
-- @treturn table a new list, in order
-- @raise kind "argument" for a name that is no parameter
function Space:values(name)
  local axis = self._axes[self._depth[name] or 0]
  if not axis then
    errors.raise("argument", "values: '%s' is no parameter", tostring(name))
  end
  return table.move(axis.values, 1, #axis.values, 1, {})
end

--- What each constraint removes from the product, the earlier one counted where several would.
-- Enumerates the space.
-- @treturn {table,...} per constraint: `text`, `removed` (configurations), `undefined` (tests with a zero divisor)
function Space:removals()
  ranks_of(self)
  local list = {}
  for i, constraint in ipairs(self._constraints) do
    list[i] = { text = constraint.text, removed = self._stats.removed[i], undefined = self._stats.undefined[i] }
  end
  return list
end

local OPTIONS = { "params", "where" }

local function check_options(options)
  if type(options) ~= "table" then
    errors.raise("type", "tune.space: a table expected, not a %s", type(options))
  end
  for key in pairs(options) do
    if key ~= "params" and key ~= "where" then
      local near = nearest(tostring(key), OPTIONS)
      local hint = near and (", did you mean '%s'?"):format(near) or ""
      errors.raise("argument", "tune.space: unknown option '%s'%s", tostring(key), hint)
    end
  end
end

--- The digits of a configuration: where each of its values stands.
-- @tparam integer i 1 to `count`
-- @treturn {integer,...} a new list, by position in `params`: 1 to the number of the parameter's values
-- @raise as `nth`
function Space:digits(i)
  local config, digits = self:nth(i), {}
  for k, axis in ipairs(self._axes) do
    digits[k] = axis.position[config[axis.name]]
  end
  return digits
end

--- Where the configuration with these digits stands.
-- @tparam {integer,...} digits as `digits` gives them
-- @treturn ?integer 1 to `count`; nil when it is not in the space
function Space:index_digits(digits)
  local config = {}
  for k, axis in ipairs(self._axes) do
    config[axis.name] = axis.values[digits[k]]
    if config[axis.name] == nil then
      return nil
    end
  end
  return self:index(config)
end

--- Draws configurations: each set of n has the same chance.
-- @tparam integer n how many, none twice; more than `count` gives all
-- @tparam[opt=0] integer seed the same seed draws the same
-- @treturn {integer,...} positions in random order
function Space:sample(n, seed)
  local count, state = self.count, seed or 0
  local function below(limit)
    state = state + 0x9E3779B97F4A7C15
    local z = state
    z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ~ (z >> 27)) * 0x94D049BB133111EB
    return math.abs((z ~ (z >> 31)) >> 1) % limit
  end
  local moved, list = {}, {}
  for k = 0, math.min(n, count) - 1 do -- Fisher and Yates, over a list that is never written down
    local j = k + below(count - k)
    list[k + 1], moved[j] = (moved[j] or j) + 1, moved[k] or k
  end
  return list
end

--- The neighbours of a configuration that are in the space.
-- @param of its position, or the configuration itself, which need not be in the space
-- @tparam[opt="hamming"] string kind "hamming": one parameter differs; "adjacent": every parameter differs by one value
--   at most; "strictly-adjacent": one parameter differs, by one value
-- @treturn {integer,...} positions, ascending, without its own
function Space:neighbours(of, kind)
  local digits
  if type(of) == "table" then
    digits = {}
    for k, axis in ipairs(self._axes) do
      digits[k] = axis.position[of[axis.name]]
    end
  else
    digits = self:digits(of)
  end
  local list = {}
  local function add()
    local i = self:index_digits(digits)
    if i then
      list[#list + 1] = i
    end
  end
  kind = kind or "hamming"
  if kind == "adjacent" then
    local own = self:index_digits(digits)
    local function vary(k)
      if k > #digits then
        return add()
      end
      local d = digits[k]
      for other = math.max(1, d - 1), math.min(#self._axes[k].values, d + 1) do
        digits[k] = other
        vary(k + 1)
      end
      digits[k] = d
    end
    vary(1)
    for i = #list, 1, -1 do
      if list[i] == own then
        table.remove(list, i)
      end
    end
  else
    for k, axis in ipairs(self._axes) do
      local d = digits[k]
      for other = 1, #axis.values do
        local far = kind == "strictly-adjacent" and math.abs(other - d) > 1
        if other ~= d and not far then
          digits[k] = other
          add()
        end
      end
      digits[k] = d
    end
  end
  table.sort(list)
  return list
end

--- Makes a space.
-- @tparam table options
--   `params`: lists of values by name, or a list of { name, values } pairs; values are numbers, strings or booleans,
--   none twice. `where`: an expression (see luhip.tune.expr), a function of the configuration, or a list of both;
--   a configuration is valid when all hold. A zero divisor counts as not satisfied.
-- @treturn Space with `names` (in order), `params` ({name=, values=}, in order; not to be changed), `product` (configurations before constraints), `count` (after), and `#space`
-- @raise kinds "argument" and "type", naming the parameter or the constraint
function space.new(options)
  check_options(options)
  local axes, depth, product = make_axes(options.params)
  local self = { _axes = axes, _depth = depth, product = product, names = {}, _at = {} }
  self.params = {}
  for i, axis in ipairs(axes) do
    self.names[i], self._at[i] = axis.name, {}
    self.params[i] = { name = axis.name, values = axis.values }
  end
  self._constraints = make_constraints(options.where, self.names, depth)
  for i, constraint in ipairs(self._constraints) do
    table.insert(self._at[constraint.depth], i)
  end
  return setmetatable(self, Space)
end

--- Whether a value is a space.
-- @param value anything
-- @treturn boolean
function space.is(value)
  return getmetatable(value) == Space
end

return space
