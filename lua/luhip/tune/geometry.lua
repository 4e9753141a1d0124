--- Grid, block and other numbers that follow from a configuration.
--
-- Each may be a number, an expression of the parameters ("BX * 2"), a list of up to three of these, or a function of
-- the configuration that returns a number or a list of numbers. Dependencies: luhip.errors,
-- luhip.tune.{callback,expr}. What the function raises comes wrapped (luhip.tune.callback).
-- @module luhip.tune.geometry

local callback = require "luhip.tune.callback"
local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"

local geometry = {}

local AXES = { "x", "y", "z" }

local function whole(value, what)
  local n = math.tointeger(value)
  if type(value) ~= "number" or not n then
    errors.raise("limits", "%s: a whole number expected, not %s", what, tostring(value))
  end
  return n
end

local function parse(text, names, what)
  local ok, parsed = pcall(expr.parse, text, names)
  if not ok then
    errors.raise(errors.kind(parsed) or "argument", "tune: %s: %s", what, errors.message(parsed))
  end
  return parsed
end

-- What a function of the user's gives. What is no number at all is a mistake of that function, whatever the candidate.
local function ask(fn, p, what, several)
  local value = callback.call(fn, p)
  local list = several and type(value) == "table" and value or { value }
  local wrong = #list == 0 and (type(value) == "table" and "an empty list" or "nothing") or nil
  for _, one in ipairs(list) do
    wrong = wrong or type(one) ~= "number" and errors.describe(one) or nil
  end
  if wrong then
    local wanted = several and "a number or a list of up to three" or "a number"
    callback.call(errors.raise, "type", "tune: %s: its function gives %s; %s expected", what, wrong, wanted)
  end
  return value
end

local function compile_number(value, names, what)
  if type(value) == "number" then
    local n = whole(value, what)
    return function()
      return n
    end
  elseif type(value) == "string" then
    local parsed = parse(value, names, what)
    return function(p)
      local n, undefined = parsed:eval(p)
      if undefined then
        errors.raise("limits", "%s: '%s' divides by zero", what, value)
      end
      return whole(n, what)
    end
  elseif type(value) == "function" then
    return function(p)
      return whole(ask(value, p, what), what)
    end
  end
  errors.raise("type", "%s: a number, expression or function expected, not a %s", what, type(value))
end

local function dimensions(list, what)
  if type(list) ~= "table" then
    list = { list }
  end
  if #list < 1 or #list > 3 then
    errors.raise("limits", "%s: one to three numbers expected, not %d", what, #list)
  end
  local dims = { 1, 1, 1 }
  for i, value in ipairs(list) do
    dims[i] = whole(value, what .. "." .. AXES[i])
  end
  return dims
end

--- A single number, such as the dynamic shared memory.
-- @param value number, expression or function; nil gives 0
-- @tparam {string,...} names of the parameters
-- @tparam string what names it in messages
-- @treturn function takes a configuration, returns an integer; raises kind "limits" for what is none
function geometry.number(value, names, what)
  return compile_number(value == nil and 0 or value, names, what)
end

--- Up to three dimensions.
-- @param value as above, or a list of up to three
-- @tparam {string,...} names of the parameters
-- @tparam string what "grid" or "block"
-- @treturn function takes a configuration, returns { x, y, z }; raises kind "limits" for what cannot be one
function geometry.dims(value, names, what)
  if type(value) == "function" then
    return function(p)
      return dimensions(ask(value, p, what, true), what)
    end
  end
  local list = type(value) == "table" and value or { value }
  if #list < 1 or #list > 3 then
    errors.raise("argument", "%s: one to three numbers expected, not %d", what, #list)
  end
  local parts = {}
  for i, part in ipairs(list) do
    parts[i] = compile_number(part, names, what .. "." .. AXES[i])
  end
  return function(p)
    local dims = { 1, 1, 1 }
    for i, part in ipairs(parts) do
      dims[i] = part(p)
    end
    return dims
  end
end

-- ---- Kernel Tuner's conventions ------------------------------------------------------------------------------------

local BLOCK_SIZES = { "block_size_x", "block_size_y", "block_size_z" }
local GRID_DIVS = { "grid_div_x", "grid_div_y", "grid_div_z" }

local function has(names, name)
  for _, known in ipairs(names) do
    if known == name then
      return true
    end
  end
  return false
end

--- The block that parameters named block_size_x, block_size_y and block_size_z make.
-- @tparam {string,...} names of the parameters
-- @treturn ?table three entries as `geometry.dims` takes them; nil when there is none of these parameters
function geometry.block_of(names)
  local block, any = { 1, 1, 1 }, false
  for i, name in ipairs(BLOCK_SIZES) do
    if has(names, name) then
      block[i], any = name, true
    end
  end
  return any and block or nil
end

-- A number of the problem or a divisor: a number, an expression or a function; a list of them is multiplied.
local function factor(value, names, what)
  if type(value) == "table" then
    local parts = {}
    for i, part in ipairs(value) do
      parts[i] = factor(part, names, what)
    end
    return function(p)
      local product = 1
      for _, part in ipairs(parts) do
        product = product * part(p)
      end
      return product
    end
  elseif type(value) == "string" then
    local parsed = parse(value, names, what)
    return function(p)
      local n, undefined = parsed:eval(p)
      if undefined then
        errors.raise("limits", "%s: '%s' divides by zero", what, value)
      end
      return n
    end
  elseif type(value) == "number" then
    return function()
      return value
    end
  elseif type(value) == "function" then
    return function(p)
      return ask(value, p, what)
    end
  end
  errors.raise("type", "%s: a number, expression, function or list of these expected, not a %s", what, type(value))
end

-- The problem's size as a function of the configuration that gives up to three numbers.
local function sizes_of(problem_size, names)
  if type(problem_size) == "function" then
    return function(p)
      local sizes = ask(problem_size, p, "problem_size", true)
      return type(sizes) == "table" and sizes or { sizes }
    end
  end
  local list = type(problem_size) == "table" and problem_size or { problem_size }
  if #list < 1 or #list > 3 then
    errors.raise("argument", "problem_size: one to three numbers expected, not %d", #list)
  end
  local parts = {}
  for i, size in ipairs(list) do
    parts[i] = factor(size, names, "problem_size." .. AXES[i])
  end
  return function(p)
    local sizes = {}
    for i, part in ipairs(parts) do
      sizes[i] = part(p)
    end
    return sizes
  end
end

--- The grid that covers a problem: in each dimension its size over the product of the divisors, rounded up. The
-- divisors of a dimension are grid_div_x, ..., by default the parameter block_size_x, ... where there is one, else 1.
-- @tparam table given `problem_size`, `grid_div_x`, `grid_div_y`, `grid_div_z`, as Kernel Tuner has them
-- @tparam {string,...} names of the parameters
-- @treturn function takes a configuration, returns { x, y, z }; raises kind "limits" for what cannot be a grid
function geometry.grid_of(given, names)
  local sizes, divisors = sizes_of(given.problem_size, names), {}
  for i, key in ipairs(GRID_DIVS) do
    local div = given[key]
    if div == nil then
      div = has(names, BLOCK_SIZES[i]) and BLOCK_SIZES[i] or 1
    end
    divisors[i] = factor(div, names, key)
  end
  return function(p)
    local dims, problem = { 1, 1, 1 }, sizes(p)
    for i = 1, math.min(3, #problem) do
      local size, div = problem[i], divisors[i](p)
      if type(size) ~= "number" or type(div) ~= "number" or div <= 0 then
        local format = "grid.%s: problem_size %s over %s %s is no number of blocks"
        errors.raise("limits", format, AXES[i], tostring(size), GRID_DIVS[i], tostring(div))
      end
      dims[i] = whole(math.ceil(size / div), "grid." .. AXES[i])
    end
    return dims
  end
end

-- ---- limits -------------------------------------------------------------------------------------------------------

-- A number or expression as text in parentheses; nil for a function.
local function text_of(value)
  if type(value) == "number" then
    return ("(%s)"):format(value)
  end
  return type(value) == "string" and "(" .. value .. ")" or nil
end

local function limit(list, text, most, what, device)
  if text and most then
    local name = ("device limit: %s is at most %d on %s"):format(what, most, tostring(device.id or "the device"))
    list[#list + 1] = { name = name, ("%s <= %d"):format(text, most) }
  end
end

--- What a device allows, as constraints on the parameters: as far as block and shared memory are numbers and
-- expressions.
-- @param block as `geometry.dims` takes it
-- @param shared as `geometry.number` takes it
-- @tparam table device `max_threads`, `max_block`, `shared_bytes`
-- @treturn {table,...} entries for `where` of luhip.tune.space
function geometry.limits(block, shared, device)
  local list, factors = {}, {}
  local parts = type(block) == "table" and block or { block }
  for i, part in ipairs(parts) do
    factors[i] = text_of(part)
    limit(list, type(part) == "string" and factors[i], (device.max_block or {})[i], "block." .. AXES[i], device)
  end
  if #factors == #parts and #parts > 0 then
    local product = table.concat(factors, " * ")
    limit(list, product, device.max_threads, "the block's number of threads, " .. product .. ",", device)
  end
  limit(list, type(shared) == "string" and text_of(shared), device.shared_bytes, "shared memory in bytes", device)
  return list
end

local function check_dims(dims, most, what)
  for i, n in ipairs(dims) do
    if n < 1 then
      errors.raise("limits", "%s.%s is %d; at least 1 expected", what, AXES[i], n)
    elseif most and most[i] and n > most[i] then
      errors.raise("limits", "%s.%s is %d; the device allows %d", what, AXES[i], n, most[i])
    end
  end
end

--- Checks a geometry against a device before anything is compiled.
-- @tparam table device `max_threads`, `max_block`, `max_grid`, `shared_bytes`; what is missing is not checked
-- @tparam table shape `grid`, `block`, `shared`
-- @raise kind "limits", naming the dimension, what was given and what is allowed. An empty grid is refused too: what
--   does not run would otherwise win.
function geometry.check(device, shape)
  check_dims(shape.block, device.max_block, "block")
  check_dims(shape.grid, device.max_grid, "grid")
  local threads = shape.block[1] * shape.block[2] * shape.block[3]
  if device.max_threads and threads > device.max_threads then
    errors.raise("limits", "block has %d threads; the device allows %d", threads, device.max_threads)
  end
  if shape.shared < 0 then
    errors.raise("limits", "shared is %d bytes; at least 0 expected", shape.shared)
  elseif device.shared_bytes and shape.shared > device.shared_bytes then
    errors.raise("limits", "shared is %d bytes; the device allows %d", shape.shared, device.shared_bytes)
  end
end

return geometry
