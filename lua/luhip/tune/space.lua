--- The space of configurations: the product of the parameters' values that the constraints leave.
--
-- Parameters that constraints tie together form a group; the valid rows of each group are enumerated in C (src/tune),
-- every constraint tested at the first depth where what it reads is bound. Groups are never multiplied out: a position
-- is a number of mixed radix over them, so a product of free parameters costs nothing, however large.
--
-- What an expression reads is what it names. What a function reads is found by running it on a proxy that notes it: on
-- some configurations beforehand, and whenever it is called while rows are enumerated. A function that then reads a
-- parameter that it was not known to read has its group enlarged and enumerated again. Its answers are kept by what it
-- reads, so it is called at most once for each combination of those; it must depend on nothing else.
--
-- Order is stable: `params = { BX = ..., BY = ... }` orders parameters by name; a list of pairs,
-- `params = { { "BX", {...} }, { "BY", {...} } }`, keeps its own order. Values keep theirs. Configurations are in
-- nested
-- order, the first parameter outermost, where the parameters of each group follow each other; otherwise a group counts
-- as standing where its first parameter stands.
-- Dependencies: luhip.core, luhip.errors, luhip.nearest, luhip.tune.{expr,probe}.
-- @module luhip.tune.space

local core = require "luhip.core"
local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"
local nearest = require "luhip.nearest"
local probe = require "luhip.tune.probe"

local space = {}

local NODES = 500000 -- enumerated at a time, a few dozen milliseconds: then Ctrl-C and progress have their turn
local MOST = 200000000 -- rows of one group

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
  return axes, depth
end

-- ---- constraints --------------------------------------------------------------------------------------------

-- A constraint is { text =, expr = } or { text =, call = }, the function's answers being luhip.tune.probe's.
local function make_constraint(self, w, i)
  local kind, name = type(w), nil
  if kind == "table" then
    name, w = w.name, w[1]
    kind = type(w)
    if type(name) ~= "string" then
      errors.raise("type", "where, entry %d: { name = text, expression or function } expected", i)
    end
  end
  if kind == "string" then
    return { text = name or w, expr = expr.parse(w, self.names) }
  elseif kind == "function" then
    local text = name or probe.describe(w, i)
    return { text = text, call = probe.new(w, text, self.params) }
  end
  errors.raise("type", "where, entry %d: an expression or a function expected, not a %s", i, kind)
end

local function make_constraints(self, where)
  if where == nil then
    return {}
  end
  if type(where) ~= "table" then
    where = { where }
  end
  local constraints = {}
  for i = 1, length(where) or 0 do
    constraints[i] = make_constraint(self, where[i], i)
  end
  if next(where) ~= nil and #constraints == 0 then
    errors.raise("argument", "where: a list of expressions and functions expected")
  end
  return constraints
end

-- ---- enumeration ----------------------------------------------------------------------------------------------

local function add_expression(self, engine, parsed)
  local axes = {}
  for i, name in ipairs(parsed.names) do
    axes[i] = self._depth[name]
  end
  engine:expression(parsed.code, axes)
end

-- The engine with all constraints; a function that reads nothing is an expression by then.
local function make_engine(self)
  local lists = {}
  for i, param in ipairs(self.params) do
    lists[i] = param.values
  end
  local engine = core.space(self.names, lists, self._most)
  for _, constraint in ipairs(self._constraints) do
    local axes = constraint.call and constraint.call:axes()
    if not axes then
      add_expression(self, engine, constraint.expr)
    elseif #axes > 0 then
      engine:asked(axes)
    else
      add_expression(self, engine, expr.parse(constraint.call:constant() and "true" or "false"))
    end
  end
  return engine
end

local function too_many(self, engine)
  local large = {}
  for i, constraint in ipairs(self._constraints) do
    local _, share = engine:removal(i)
    if share > self._most then
      large[#large + 1] = "'" .. constraint.text .. "'"
    end
  end
  errors.raise(
    "too_big",
    "more than %d configurations where parameters are tied together by %s; constrain them more, or raise 'most'",
    self._most,
    #large > 0 and table.concat(large, ", ") or "nothing: all together more than 2^62"
  )
end

-- Enumerates until a function turns out to read more than it was known to; true when all is done.
local function enumerate(self, engine, tell)
  local digits = {}
  while true do
    local what, index = engine:build(NODES, digits)
    if what == "done" then
      return true
    elseif what == "many" then
      too_many(self, engine)
    elseif what == "ask" then
      local answer, widened = self._constraints[index].call:answer(digits)
      if widened then
        return false
      end
      engine:answer(answer)
    end
    tell(engine)
  end
end

-- A number of configurations: whole where it can be.
local function whole(count)
  return math.tointeger(count) or count
end

local function removals_of(self, engine)
  local list = {}
  for i, constraint in ipairs(self._constraints) do
    local removed, share, undefined, bad, why = engine:removal(i)
    if constraint.call then
      undefined, bad, why = constraint.call.undefined, constraint.call.bad, constraint.call.why
    end
    list[i] = {
      text = constraint.text,
      removed = share > 0 and whole(removed / share * self.product) or 0,
      undefined = undefined,
      failed = bad,
      why = why,
    }
  end
  return list
end

local function check_satisfiable(self)
  if self.count > 0 then
    return
  end
  local lines = {}
  for _, r in ipairs(self._removals) do
    if r.removed > 0 then
      local why = r.why and (" (%s)"):format(r.why) or r.undefined > 0 and " (it divides by zero)" or ""
      lines[#lines + 1] = ("'%s' removes %s%s"):format(expr.excerpt(r.text), tostring(r.removed), why)
    end
  end
  errors.raise("argument", "no valid configuration: of %s, %s", tostring(self.product), table.concat(lines, ", "))
end

local function tests(n)
  return n == 1 and "1 test, which counts as not satisfied" or ("%d tests, which count as not satisfied"):format(n)
end

local function warn(self)
  for _, r in ipairs(self._removals) do
    if r.undefined > 0 then
      local zero = "constraint '%s' divides by zero in %s"
      self.warnings[#self.warnings + 1] = zero:format(expr.excerpt(r.text), tests(r.undefined))
    end
    if r.failed > 0 then
      local failed = "constraint '%s' fails in %s; the first: %s"
      self.warnings[#self.warnings + 1] = failed:format(expr.excerpt(r.text), tests(r.failed), r.why)
    end
  end
end

local function build(self, tell)
  for _, constraint in ipairs(self._constraints) do
    if constraint.call then
      constraint.call:discover()
    end
  end
  local engine
  repeat
    engine = make_engine(self)
  until enumerate(self, engine, tell)
  self._engine, self.count = engine, engine.count
  self._removals = removals_of(self, engine)
end

-- ---- progress -------------------------------------------------------------------------------------------------

local DELAY, PERIOD = 0.5, 0.1 -- seconds before the first line, and between lines

local function draw(fraction, found)
  io.stderr:write(("\rspace: %.0f %%, %d rows\27[K"):format(fraction * 100, found))
  io.stderr:flush()
end

-- What enumerate calls between its turns, and what ends the showing.
local function progress_of(wanted)
  local show = wanted
  if wanted == nil then
    show = core.isatty(2) and draw or false
  end
  local next_at, shown = core.monotime() + DELAY, false
  return function(engine)
    if show and core.monotime() >= next_at then
      next_at, shown = core.monotime() + PERIOD, true
      show(engine:progress())
    end
  end, function()
    if shown and show == draw then
      io.stderr:write "\r\27[K"
    end
  end
end

-- ---- the space ------------------------------------------------------------------------------------------------

local Space = { __name = "luhip.tune.space" }
Space.__index = Space

function Space:__tostring()
  local names = {}
  for i, param in ipairs(self.params) do
    names[i] = ("%s (%d)"):format(param.name, #param.values)
  end
  local text = "luhip.tune.space: %s; %d of %s configurations"
  return text:format(table.concat(names, " x "), self.count, tostring(self.product))
end

function Space:__len()
  return self.count
end

local function check_position(self, what, i)
  local index = math.type(i) and math.tointeger(i)
  if not index then
    errors.raise("type", "%s: an integer expected, not %s", what, tostring(i))
  end
  if index < 1 or index > self.count then
    errors.raise("range", "%s: %d is outside of 1 to %d", what, index, self.count)
  end
  return index
end

--- The i-th configuration.
-- @tparam integer i 1 to `count`
-- @treturn table a new table of values by parameter name
-- @raise kind "range" outside of that, "type" for what is no integer
function Space:nth(i)
  return self._engine:config(check_position(self, "nth", i))
end

--- The digits of a configuration: where each of its values stands.
-- @tparam integer i 1 to `count`
-- @treturn {integer,...} a new list, by position in `params`: 1 to the number of the parameter's values
-- @raise as `nth`
function Space:digits(i)
  return self._engine:digits(check_position(self, "digits", i))
end

-- The digits of a configuration, or nil when a value is none of its parameter's.
local function digits_of(self, what, config)
  for name in pairs(config) do
    if not self._depth[name] then
      local near = nearest(tostring(name), self.names)
      local hint = near and (", did you mean '%s'?"):format(near) or ""
      errors.raise("argument", "%s: '%s' is no parameter%s", what, tostring(name), hint)
    end
  end
  local digits, outside = {}, nil
  for k, axis in ipairs(self._axes) do
    local value = config[axis.name]
    if value == nil then
      errors.raise("argument", "%s: parameter '%s' is missing", what, axis.name)
    end
    digits[k] = axis.position[value]
    outside = outside or (not digits[k] and axis.name)
  end
  if outside then
    return nil, outside
  end
  return digits
end

--- Where a configuration stands.
-- @tparam table config a value for every parameter
-- @treturn ?integer 1 to `count`; nil when the configuration is not in the space
-- @raise kind "argument" for a parameter that is unknown or missing
function Space:index(config)
  return self:index_for("index", config)
end

--- As `index`, for a caller whose own words the message begins with.
-- @tparam string what "index", or what was given the configuration
-- @tparam table config a value for every parameter
-- @treturn ?integer as `index`
-- @raise as `index`
function Space:index_for(what, config)
  if type(config) ~= "table" then
    errors.raise("type", "%s: a configuration expected, not a %s", what, type(config))
  end
  local digits = digits_of(self, what, config)
  return digits and self._engine:find(digits)
end

--- Where the configuration with these digits stands.
-- @tparam {integer,...} digits as `digits` gives them
-- @treturn ?integer 1 to `count`; nil when it is not in the space
function Space:index_digits(digits)
  return self._engine:find(digits)
end

--- Iterates over the valid configurations, without building a list of them.
-- @treturn function gives the next position and a new table of values, nil at the end
function Space:each()
  local i, count, engine = 0, self.count, self._engine
  return function()
    if i < count then
      i = i + 1
      return i, engine:config(i)
    end
    return nil
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

--- What each constraint removes from the product: the configurations that fell to it among the parameters that
-- constraints tie to its own. Where several would remove one, it falls to the constraint whose parameters are bound
-- first, or stands first.
-- @treturn {table,...} per constraint: `text`, `removed` (configurations), `undefined` (tests with a zero divisor),
--   `failed` (tests that raised) and `why` (what the first of those raised)
function Space:removals()
  local list = {}
  for i, r in ipairs(self._removals) do
    list[i] = { text = r.text, removed = r.removed, undefined = r.undefined, failed = r.failed, why = r.why }
  end
  return list
end

local function check_whole(what, value)
  local n = math.type(value) and math.tointeger(value)
  if not n then
    errors.raise("type", "%s: an integer expected, not %s", what, tostring(value))
  end
  return n
end

--- Draws configurations: each set of n has the same chance.
-- @tparam integer n how many, none twice; more than `count` gives all
-- @tparam[opt=0] integer seed the same seed draws the same
-- @treturn {integer,...} positions in random order
-- @raise kinds "type" and "range"
function Space:sample(n, seed)
  n, seed = check_whole("sample: n", n), seed == nil and 0 or check_whole("sample: seed", seed)
  if n < 0 then
    errors.raise("range", "sample: n: %d configurations", n)
  end
  return core.sample(self.count, math.min(n, self.count), seed)
end

local KINDS = { hamming = true, adjacent = true, ["strictly-adjacent"] = true }

--- The neighbours of a configuration that are in the space.
-- @param of its position; or the configuration itself, or its digits, which need not be in the space
-- @tparam[opt="hamming"] string kind "hamming": one parameter differs; "adjacent": every parameter differs by one value
--   at most; "strictly-adjacent": one parameter differs, by one value
-- @treturn {integer,...} positions, ascending, without its own
-- @raise kinds "argument", "range", "type"; "too_big" for more than a million neighbours
function Space:neighbours(of, kind)
  kind = kind == nil and "hamming" or kind
  if not KINDS[kind] then
    local known = "there are hamming, adjacent, strictly-adjacent"
    errors.raise("argument", "neighbours: no kind '%s'; %s", tostring(kind), known)
  end
  local digits = of
  if type(of) ~= "table" then
    digits = self._engine:digits(check_position(self, "neighbours", of))
  elseif of[1] == nil then
    local unknown
    digits, unknown = digits_of(self, "neighbours", of)
    if not digits then
      errors.raise("range", "neighbours: '%s' has no value %s", unknown, tostring(of[unknown]))
    end
  end
  local list = self._engine:near(digits, kind)
  if not list then
    errors.raise("too_big", "neighbours: more than a million %s ones", kind)
  end
  return list
end

-- ---- making ---------------------------------------------------------------------------------------------------

local OPTIONS = { "most", "params", "progress", "where" }

local function check_options(options)
  if type(options) ~= "table" then
    errors.raise("type", "tune.space: a table expected, not a %s", type(options))
  end
  local known = {}
  for _, key in ipairs(OPTIONS) do
    known[key] = true
  end
  for key in pairs(options) do
    if not known[key] then
      local near = nearest(tostring(key), OPTIONS)
      local hint = near and (", did you mean '%s'?"):format(near) or ""
      errors.raise("argument", "tune.space: unknown option '%s'%s", tostring(key), hint)
    end
  end
  local progress = options.progress
  if progress ~= nil and type(progress) ~= "function" and type(progress) ~= "boolean" then
    errors.raise("type", "tune.space: progress: a function or boolean expected, not a %s", type(progress))
  end
  local most = options.most == nil and MOST or check_whole("tune.space: most", options.most)
  if most < 1 then
    errors.raise("argument", "tune.space: most: at least 1 expected, not %d", most)
  end
  return most
end

local function product_of(axes)
  local product = 1
  for _, axis in ipairs(axes) do
    local next_product = product * #axis.values
    if math.type(product) == "integer" and product > math.maxinteger // #axis.values then
      next_product = product * (#axis.values + 0.0)
    end
    product = next_product
  end
  return product
end

--- Makes a space: enumerates what has to be, and can be interrupted while it does.
-- @tparam table options
--   `params`: lists of values by name, or a list of { name, values } pairs; values are numbers, strings or booleans,
--   none twice. `where`: an expression (see luhip.tune.expr), a function of the configuration, or a list of both, in
--   which { name = "text", w } gives one a name for messages; a configuration is valid when all hold. A zero divisor,
--   values that do not fit and a function that raises count as not satisfied, with one warning per constraint.
--   `progress`: false for none, a function(fraction, rows), or nil: a line after half a second when stderr is a
--   terminal. `most`: rows that parameters which constraints tie together may have, 200 million by default.
-- @treturn Space with `names` (in order), `params` ({name=, values=}, in order; not to be changed), `product`
--   (configurations before constraints; a float beyond 2^63), `count` (after), `#space`, and `warnings`
-- @raise kinds "argument" and "type", naming the parameter or the constraint; "argument" when no configuration is
--   valid, with what each constraint removes; "too_big"; "interrupted"
function space.new(options)
  local most = check_options(options)
  local axes, depth = make_axes(options.params)
  local self = { _axes = axes, _depth = depth, _most = most, product = product_of(axes) }
  self.names, self.params, self.warnings = {}, {}, {}
  for i, axis in ipairs(axes) do
    self.names[i], self.params[i] = axis.name, { name = axis.name, values = axis.values }
  end
  self._constraints = make_constraints(self, options.where)
  local tell, clear = progress_of(options.progress)
  local ok, e = pcall(build, self, tell)
  clear()
  if not ok then
    error(e, 0)
  end
  check_satisfiable(self)
  warn(self)
  return setmetatable(self, Space)
end

--- Makes a space of listed configurations, as those of a recorded run: there are no constraints to enumerate by.
-- @tparam table params as of `new`
-- @tparam {integer,...} digits of all configurations, one behind the other, in the order of the parameters; what is
--   there twice counts once
-- @treturn Space whose positions are in the order of the digits, not that of the list
-- @treturn {integer,...} the position of each configuration of the list
-- @raise kinds "argument" and "type"
function space.listed(params, digits)
  local axes, depth = make_axes(params)
  local self = { _axes = axes, _depth = depth, _most = #digits, product = product_of(axes) }
  self.names, self.params, self.warnings, self._constraints, self._removals = {}, {}, {}, {}, {}
  for i, axis in ipairs(axes) do
    self.names[i], self.params[i] = axis.name, { name = axis.name, values = axis.values }
  end
  self._engine = make_engine(self)
  local positions = self._engine:list(digits)
  self.count = self._engine.count
  if self.count == 0 then
    errors.raise("argument", "no configuration is listed")
  end
  return setmetatable(self, Space), positions
end

--- Whether a value is a space.
-- @param value anything
-- @treturn boolean
function space.is(value)
  return getmetatable(value) == Space
end

return space
