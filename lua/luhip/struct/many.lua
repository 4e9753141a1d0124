--- Many structs of a layout, for buffers: what is read of them, and what is written to them.
-- Dependencies: luhip.errors.
-- @module luhip.struct.many

local errors = require "luhip.errors"

local many = {}

-- What a read gives: array[i] are the fields of struct i, unpacked when they are asked for. A copy: setting them is an
-- error, as it would change nothing on the device.
local Array = { __name = "luhip.struct_array" }
local Array_methods = errors.strict({}, "luhip.struct_array", { "layout", "shape", "count" })

local function element(array, i)
  if i < 1 or i > #array then
    return nil
  end
  return array.layout:unpack(rawget(array, "data"), (i - 1) * array.layout.bytes + 1)
end

function Array:__index(key)
  if math.type(key) == "integer" then
    return element(self, key)
  end
  return Array_methods[key]
end

function Array.__newindex()
  errors.raise("argument", "what was read of structs is a copy; write to the buffer")
end

function Array:__len()
  return rawget(self, "count")
end

function Array:__tostring()
  return ("luhip.struct_array: %s[%s]"):format(self.layout.name, table.concat(self.shape, ", "))
end

local function nested(array, dimension, first)
  local list, shape = {}, array.shape
  if dimension == #shape then
    for i = 1, shape[dimension] do
      list[i] = element(array, first + i)
    end
    return list, first + shape[dimension]
  end
  for i = 1, shape[dimension] do
    list[i], first = nested(array, dimension + 1, first)
  end
  return list, first
end

--- Tables of fields, nested by shape.
function Array_methods:totable()
  return (nested(self, 1, 0))
end

--- The structs as they are in memory.
function Array_methods:bytes_string()
  return rawget(self, "data")
end

--- What a read gives.
-- @tparam layout layout
-- @tparam string bytes the structs as they are in memory
-- @tparam {integer,...} shape
-- @treturn table
function many.array(layout, bytes, shape)
  local fields = { layout = layout, data = bytes, shape = shape, count = #bytes // layout.bytes }
  return setmetatable(fields, Array)
end

local function pack_list(layout, list, parts, place)
  for i = 1, #list do
    local value, where = list[i], ("%s[%d]"):format(place, i)
    if type(value) == "table" and value[1] ~= nil and not getmetatable(value) then
      pack_list(layout, value, parts, where) -- a row
    else
      parts[#parts + 1] = layout:pack(value, where)
    end
  end
end

local function pack_function(layout, fn, count)
  local parts = {}
  for i = 1, count do
    parts[i] = layout:pack(fn(i), ("%s[%d]"):format(layout.name, i))
  end
  return parts
end

--- The bytes of what a buffer is written with.
-- @tparam layout layout
-- @param data a table of structs (rows nested), one struct for all, a function of the index, or what a read gave
-- @tparam ?integer count of structs; nil: as many as there are
-- @treturn string
-- @raise kinds "type", "shape", and what pack raises
function many.data(layout, data, count)
  if type(data) == "table" and #data == 0 and next(data) ~= nil and getmetatable(data) ~= Array then
    return layout:pack(data):rep(count or 1) -- one struct, for all
  end
  local parts = {}
  if type(data) == "function" and count then
    parts = pack_function(layout, data, count)
  elseif getmetatable(data) == Array then
    if data.layout ~= layout then
      errors.raise("type", "structs %s where %s is wanted", data.layout.name, layout.name)
    end
    return data:bytes_string()
  elseif type(data) ~= "table" then
    errors.raise("type", "a table of structs %s, a byte string or a function expected, got %s", layout.name, type(data))
  else
    pack_list(layout, data, parts, layout.name)
  end
  if count and #parts ~= count then
    errors.raise("shape", "%d structs %s where %d are wanted", #parts, layout.name, count)
  end
  return table.concat(parts)
end

return many
