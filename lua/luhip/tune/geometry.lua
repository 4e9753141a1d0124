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

local function compile_number(value, names, what)
  if type(value) == "number" then
    local n = whole(value, what)
    return function()
      return n
    end
  elseif type(value) == "string" then
    local parsed = expr.parse(value, names)
    return function(p)
      local n, undefined = parsed:eval(p)
      if undefined then
        errors.raise("limits", "%s: '%s' divides by zero", what, value)
      end
      return whole(n, what)
    end
  elseif type(value) == "function" then
    return function(p)
      return whole(callback.call(value, p), what)
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
      return dimensions(callback.call(value, p), what)
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
