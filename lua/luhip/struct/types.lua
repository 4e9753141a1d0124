--- The types of a struct's fields: how large they are, where they may lie, what their values are in Lua.
--
-- A type is text (in C), bytes, align, encode(value, place) -> bytes and decode(bytes, at) -> value.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.struct.types

local core = require "luhip.core"
local errors = require "luhip.errors"

local types = {}

-- ---- scalars and vectors -----------------------------------------------------------------------------------------

-- dtype -> type in C, bytes, and alignment where it is not the bytes.
local SCALARS = {
  i8 = { "signed char", 1 },
  u8 = { "unsigned char", 1 },
  i16 = { "short", 2 },
  u16 = { "unsigned short", 2 },
  i32 = { "int", 4 },
  u32 = { "unsigned int", 4 },
  i64 = { "long long", 8 },
  u64 = { "unsigned long long", 8 },
  f16 = { "half", 2 },
  bf16 = { "__hip_bfloat16", 2 },
  f32 = { "float", 4 },
  f64 = { "double", 8 },
  bool = { "bool", 1 },
  c64 = { "float2", 8 },
  c128 = { "double2", 16 },
}

local VECTORS = {
  char = "i8",
  uchar = "u8",
  short = "i16",
  ushort = "u16",
  int = "i32",
  uint = "u32",
  longlong = "i64",
  ulonglong = "u64",
  float = "f32",
  double = "f64",
}

-- How string.pack writes the values of which nothing is lost by it; any other value takes the core's way, which also
-- says what is wrong with it.
local LARGEST_FLOAT = 0x1.fffffep127
local INTEGERS = {
  i8 = { "<i1", -0x80, 0x7f },
  u8 = { "<I1", 0, 0xff },
  i16 = { "<i2", -0x8000, 0x7fff },
  u16 = { "<I2", 0, 0xffff },
  i32 = { "<i4", -0x80000000, 0x7fffffff },
  u32 = { "<I4", 0, 0xffffffff },
  i64 = { "<i8", math.mininteger, math.maxinteger },
  u64 = { "<i8", math.mininteger, math.maxinteger }, -- from 2^63 on: the negative integers with the same bits
}
local FLOATS = { f32 = "<f", f64 = "<d" }

local function encode(dtype, value, place)
  local integer, kind = INTEGERS[dtype], math.type(value)
  if integer and kind == "integer" and value >= integer[2] and value <= integer[3] then
    return string.pack(integer[1], value)
  elseif kind == "float" and (dtype == "f64" or dtype == "f32" and math.abs(value) <= LARGEST_FLOAT) then
    return string.pack(FLOATS[dtype], value)
  end
  local ok, array = pcall(core.array, dtype, 1, { value })
  if ok then
    return array:bytes_string()
  end
  errors.raise(errors.kind(array) or "type", "%s: %s", place, (errors.message(array):gsub("^.-element %[1%]: ", "")))
end

local function decode(dtype, bytes, at)
  local integer = INTEGERS[dtype]
  if integer then
    return (string.unpack(integer[1], bytes, at))
  elseif FLOATS[dtype] then
    return (string.unpack(FLOATS[dtype], bytes, at))
  elseif dtype == "bool" then
    return bytes:byte(at) ~= 0
  end
  return core.array(dtype, 1, bytes:sub(at, at + SCALARS[dtype][2] - 1))[1]
end

-- ---- types -------------------------------------------------------------------------------------------------------

local function scalar_type(dtype)
  local text, bytes = table.unpack(SCALARS[dtype])
  return {
    text = text,
    bytes = bytes,
    align = bytes,
    encode = function(value, place)
      return encode(dtype, value, place)
    end,
    decode = function(data, at)
      return decode(dtype, data, at)
    end,
  }
end

local function check_list(value, n, place)
  if type(value) ~= "table" then
    errors.raise("type", "%s: a list of %d expected, got %s", place, n, type(value))
  elseif #value ~= n then
    errors.raise("shape", "%s: a list of %d expected, it has %d", place, n, #value)
  end
end

-- n values of a type, one after the other.
local function repeated(element, n)
  return function(value, place)
    check_list(value, n, place)
    local parts = {}
    for i = 1, n do
      parts[i] = element.encode(value[i], ("%s[%d]"):format(place, i))
    end
    return table.concat(parts)
  end, function(data, at)
    local list = {}
    for i = 1, n do
      list[i] = element.decode(data, at + (i - 1) * element.bytes)
    end
    return list
  end
end

-- Two and four components are aligned to their whole size, three to one of them.
local function vector_type(name)
  local base, lanes = name:match "^(%l+)([234])$"
  local dtype = base and VECTORS[base]
  if not dtype then
    return nil
  end
  lanes = math.tointeger(tonumber(lanes))
  local element = scalar_type(dtype)
  local bytes = lanes * element.bytes
  local vector = { text = name, bytes = bytes, align = lanes == 3 and element.bytes or bytes }
  vector.encode, vector.decode = repeated(element, lanes)
  return vector
end

--- An array of a type, nested by its dimensions.
-- @tparam table element a type
-- @tparam {integer,...} dimensions
-- @treturn table a type without text
function types.array(element, dimensions)
  local whole = element
  for i = #dimensions, 1, -1 do
    local inner, n = whole, dimensions[i]
    whole = { bytes = inner.bytes * n, align = inner.align }
    whole.encode, whole.decode = repeated(inner, n)
  end
  return whole
end

--- The type of a name.
-- @tparam string name a dtype, or a vector type of HIP: "float4"
-- @treturn ?table nil for another name
function types.named(name)
  return SCALARS[name] and scalar_type(name) or vector_type(name)
end

return types
