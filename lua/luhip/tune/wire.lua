--- Values as bytes, for two processes of ours that talk: what is written by one is read as the same by the other.
--
-- Numbers stay exact and keep their type, texts may hold any byte. Besides plain tables there are the null pointer,
-- host arrays, struct layouts and what is read of structs. What cannot be moved (a function, a buffer, a coroutine) is
-- refused by name. Dependencies: luhip.core, luhip.errors, luhip.struct.
-- @module luhip.tune.wire

local core = require "luhip.core"
local errors = require "luhip.errors"
local struct = require "luhip.struct"

local wire = {}

local pack, unpack = string.pack, string.unpack

local write, read = {}, {}

-- ---- writing -------------------------------------------------------------------------------------------------------

local function put(parts, value)
  local kind = math.type(value) or type(value)
  local writer = write[kind]
  if not writer then
    errors.raise("type", "a %s cannot be moved to another process", kind)
  end
  writer(parts, value)
end

write["nil"] = function(parts)
  parts[#parts + 1] = "z"
end

function write.boolean(parts, value)
  parts[#parts + 1] = value and "t" or "f"
end

function write.integer(parts, value)
  parts[#parts + 1] = pack("<c1i8", "i", value)
end

function write.float(parts, value)
  parts[#parts + 1] = pack("<c1d", "d", value)
end

function write.string(parts, value)
  parts[#parts + 1] = pack("<c1I8", "s", #value)
  parts[#parts + 1] = value
end

local function put_layout(parts, layout)
  local fields = {}
  for i, field in ipairs(layout.fields) do
    fields[i] = { field.name, field.type, field.count }
  end
  parts[#parts + 1] = "l"
  put(parts, layout.name)
  put(parts, fields)
end

-- What is read of a buffer of structs.
local function is_struct_array(value)
  return struct.is_layout(rawget(value, "layout")) and getmetatable(value) ~= nil
end

local function put_struct_array(parts, value)
  parts[#parts + 1] = "S"
  put_layout(parts, value.layout)
  put(parts, value.shape)
  put(parts, value:bytes_string())
end

function write.table(parts, value)
  if struct.is_layout(value) then
    return put_layout(parts, value)
  elseif is_struct_array(value) then
    return put_struct_array(parts, value)
  elseif getmetatable(value) ~= nil then
    errors.raise("type", "a table with a metatable cannot be moved to another process")
  end
  local n, count = #value, 0
  for i = 1, n do
    if value[i] == nil then
      n = i - 1
      break
    end
  end
  for key in pairs(value) do
    count = count + ((math.type(key) == "integer" and key >= 1 and key <= n) and 0 or 1)
  end
  parts[#parts + 1] = pack("<c1I8I8", "{", n, count)
  for i = 1, n do
    put(parts, value[i])
  end
  for key, item in pairs(value) do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then
      put(parts, key)
      put(parts, item)
    end
  end
end

function write.userdata(parts, value)
  if value == core.null then
    parts[#parts + 1] = "0"
    return
  elseif debug.getmetatable(value) ~= core.metatables.array then
    errors.raise("type", "%s cannot be moved to another process", errors.describe(value))
  end
  parts[#parts + 1] = "a"
  put(parts, value.dtype)
  put(parts, value.shape)
  put(parts, value:bytes_string())
end

--- Writes a value.
-- @param value nil, booleans, numbers, texts, the null pointer, host arrays, layouts, and tables of these
-- @treturn string
-- @raise kind "type" for what cannot be moved
function wire.encode(value)
  local parts = {}
  put(parts, value)
  return table.concat(parts)
end

-- ---- reading -------------------------------------------------------------------------------------------------------

local function get(bytes, at)
  local reader = read[bytes:sub(at, at)]
  if not reader then
    errors.raise("argument", "no value at byte %d of a message", at)
  end
  return reader(bytes, at + 1)
end

read.z = function(_, at)
  return nil, at
end

read.t = function(_, at)
  return true, at
end

read.f = function(_, at)
  return false, at
end

read.i = function(bytes, at)
  return unpack("<i8", bytes, at)
end

read.d = function(bytes, at)
  return unpack("<d", bytes, at)
end

read.s = function(bytes, at)
  return unpack("<s8", bytes, at)
end

read["0"] = function(_, at)
  return core.null, at
end

read["{"] = function(bytes, at)
  local n, count, value, key
  n, count, at = unpack("<I8I8", bytes, at)
  local list = {}
  for i = 1, n do
    value, at = get(bytes, at)
    list[i] = value
  end
  for _ = 1, count do
    key, at = get(bytes, at)
    value, at = get(bytes, at)
    list[key] = value
  end
  return list, at
end

-- A type of elements or a layout, a shape and the bytes.
local function get_array(bytes, at)
  local of, shape, content
  of, at = get(bytes, at)
  shape, at = get(bytes, at)
  content, at = get(bytes, at)
  return of, shape, content, at
end

read.a = function(bytes, at)
  local dtype, shape, content, behind = get_array(bytes, at)
  return core.array(dtype, shape, content), behind
end

read.l = function(bytes, at)
  local name, fields
  name, at = get(bytes, at)
  fields, at = get(bytes, at)
  return struct(name, fields), at
end

read.S = function(bytes, at)
  local layout, shape, content, behind = get_array(bytes, at)
  return layout:__array(content, shape), behind
end

--- Reads what `wire.encode` wrote.
-- @tparam string bytes
-- @return the value
-- @raise kind "argument" for other bytes
function wire.decode(bytes)
  return (get(bytes, 1))
end

return wire
