--- Struct layouts: what a `struct` of a kernel's source is, said in Lua.
--
--    local P = luhip.struct("particle", { { "pos", "f32", 3 }, { "id", "i32" }, { "mass", "f64" } })
--    print(P)                                  -- every field's offset
--    local x = dev:from(P, { { pos = { 1, 2, 3 }, id = 7, mass = 0.5 } })
--    kernel:launch({ grid = 1, block = 64 }, x, P:pack { pos = { 0, 0, 0 }, id = 1, mass = 2 })
--    x:totable()[1].pos[2]                     -- 2.0
--
-- Fields lie where C puts them: each at a multiple of its alignment, the whole a multiple of the largest. A field's
-- type is a dtype, a vector type of HIP ("float4", aligned to all of it), or another layout; its count is a number or a
-- list of dimensions. `P:declaration()` is the text for the kernel's source, which refuses to compile where the
-- compiler's layout is another one.
-- Dependencies: luhip.core, luhip.errors, luhip.keywords.
-- @module luhip.struct

local core = require "luhip.core"
local errors = require "luhip.errors"
local keywords = require "luhip.keywords"

local struct = {}

local Layout = {}
Layout.__index = Layout
Layout.__name = "luhip.struct"
Layout.__struct = true

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

-- A type is text (in C), bytes, align, encode(value, place) -> bytes and decode(bytes, at) -> value.

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

local function layout_type(layout)
  return {
    text = layout.name,
    bytes = layout.bytes,
    align = layout.align,
    encode = function(value, place)
      return layout:pack(value, place)
    end,
    decode = function(data, at)
      return layout:unpack(data, at)
    end,
  }
end

local function array_type(element, dimensions)
  local whole = element
  for i = #dimensions, 1, -1 do
    local inner, n = whole, dimensions[i]
    whole = { bytes = inner.bytes * n, align = inner.align }
    whole.encode, whole.decode = repeated(inner, n)
  end
  return whole
end

local function is_layout(value)
  return getmetatable(value) == Layout
end

local function find_type(given, place)
  if is_layout(given) then
    return layout_type(given)
  elseif type(given) ~= "string" then
    errors.raise("type", "%s: a type is a string or a struct layout, not %s", place, type(given))
  end
  local found = SCALARS[given] and scalar_type(given) or vector_type(given)
  return found
    or errors.raise(
      "argument",
      "%s: '%s' is no type; there are %s, vectors such as float4, and struct layouts",
      place,
      given,
      table.concat(core.dtypes, ", ")
    )
end

-- ---- making layouts ------------------------------------------------------------------------------------------------

-- A name that C takes, at least by its letters.
local function check_name(name, what)
  if type(name) ~= "string" then
    errors.raise("type", "struct: %s is a string, not %s", what, type(name))
  elseif not name:find "^[%a_][%w_]*$" then
    errors.raise("argument", "struct: '%s' is no name for %s", name, what)
  elseif keywords[name] then
    errors.raise("argument", "struct: '%s' is no name for %s: it is a word of C++", name, what)
  end
end

local function check_dimensions(count, place)
  local dimensions = type(count) == "table" and count or { count }
  if #dimensions == 0 then
    errors.raise("shape", "%s: an array has at least one dimension", place)
  end
  for i, n in ipairs(dimensions) do
    if math.type(n) ~= "integer" then
      errors.raise("type", "%s: a count is a whole number, not %s", place, tostring(n))
    elseif n < 1 or n > 0x7fffffff then
      errors.raise("range", "%s: a count of %d", place, n)
    end
    dimensions[i] = n
  end
  return { table.unpack(dimensions) }
end

local function round_up(bytes, align)
  return (bytes + align - 1) // align * align
end

local MOST_BYTES = 0x7fffffff

local function add_field(layout, spec, i)
  local place = ("struct %s, field %d"):format(layout.name, i)
  if type(spec) ~= "table" then
    errors.raise("type", "%s: { name, type [, count] } expected, got %s", place, type(spec))
  end
  local name, given, count = spec[1], spec[2], spec[3]
  check_name(name, ("field %d of struct %s"):format(i, layout.name))
  place = ("struct %s, field '%s'"):format(layout.name, name)
  if layout.by_name[name] then
    errors.raise("argument", "%s: there are two of that name", place)
  end
  local element = find_type(given, place)
  local dimensions = count ~= nil and check_dimensions(count, place) or nil
  local whole = dimensions and array_type(element, dimensions) or element
  local offset = round_up(layout.bytes, element.align)
  if whole.bytes > MOST_BYTES - offset then
    errors.raise("too_big", "%s: the struct has more than %d bytes", place, MOST_BYTES)
  end
  local field = {
    name = name,
    type = given,
    count = count,
    offset = offset,
    bytes = whole.bytes,
    align = element.align,
    text = element.text,
    dimensions = dimensions,
    encode = whole.encode,
    decode = whole.decode,
  }
  layout.fields[i] = field
  layout.by_name[name] = field
  layout.align = math.max(layout.align, element.align)
  layout.bytes = offset + whole.bytes
end

--- Declares a layout.
-- @tparam string name of the struct, as the kernel's source has it
-- @tparam table fields a list of { name, type [, count] }: type is a dtype, a vector type or a layout, count a number
--   or a list of dimensions
-- @treturn layout name, bytes, align, fields (each with name, type, count, offset, bytes)
-- @raise kinds "type", "argument", "range", "shape"
function struct.new(name, fields)
  if type(name) == "table" and fields == nil then
    errors.raise("type", 'luhip.struct takes a name and a list of fields: luhip.struct("S", { {"a", "f32"} })')
  end
  check_name(name, "a struct")
  if type(fields) ~= "table" then
    errors.raise("type", "struct %s: a list of fields expected, got %s", name, type(fields))
  elseif #fields == 0 then
    errors.raise("argument", "struct %s: it has no fields", name)
  end
  local layout = setmetatable({ name = name, bytes = 0, align = 1, fields = {}, by_name = {} }, Layout)
  for i, spec in ipairs(fields) do
    add_field(layout, spec, i)
  end
  layout.bytes = round_up(layout.bytes, layout.align)
  return layout
end

-- ---- one struct ----------------------------------------------------------------------------------------------------

local function refuse_unknown(layout, value, place)
  for key in pairs(value) do
    if not layout.by_name[key] then
      errors.raise("argument", "%s: there is no field '%s' in struct %s", place, tostring(key), layout.name)
    end
  end
end

--- One struct as bytes, padding zero: for a parameter by value.
-- @tparam table value every field by its name
-- @tparam[opt] string place what errors call it
-- @treturn string of `bytes` bytes
-- @raise kinds "type", "argument", "shape", "range", with the field's name
function Layout:pack(value, place)
  place = place or self.name
  if type(value) ~= "table" then
    errors.raise("type", "%s: a table of the fields of struct %s expected, got %s", place, self.name, type(value))
  end
  local parts, at = {}, 0
  for _, field in ipairs(self.fields) do
    local given = value[field.name]
    if given == nil then
      errors.raise("argument", "%s: field '%s' of struct %s is missing", place, field.name, self.name)
    end
    if field.offset > at then
      parts[#parts + 1] = ("\0"):rep(field.offset - at)
    end
    parts[#parts + 1] = field.encode(given, place .. "." .. field.name)
    at = field.offset + field.bytes
  end
  refuse_unknown(self, value, place)
  parts[#parts + 1] = ("\0"):rep(self.bytes - at)
  return table.concat(parts)
end

--- The fields of one struct.
-- @tparam string bytes
-- @tparam[opt=1] integer at where it begins
-- @treturn table
-- @raise kinds "type" and "shape"
function Layout:unpack(bytes, at)
  at = at or 1
  if type(bytes) ~= "string" then
    errors.raise("type", "%s: a byte string expected, got %s", self.name, type(bytes))
  elseif math.type(at) ~= "integer" or at < 1 or #bytes - at + 1 < self.bytes then
    errors.raise("shape", "%s: %d bytes from %s on hold no struct of %d", self.name, #bytes, tostring(at), self.bytes)
  end
  local value = {}
  for _, field in ipairs(self.fields) do
    value[field.name] = field.decode(bytes, at + field.offset)
  end
  return value
end

--- Where a field lies.
-- @tparam string name
-- @treturn integer bytes from the struct's begin
-- @raise kind "argument"
function Layout:offset(name)
  local field = self.by_name[name]
  if not field then
    errors.raise("argument", "there is no field '%s' in struct %s", tostring(name), self.name)
  end
  return field.offset
end

-- ---- texts ---------------------------------------------------------------------------------------------------------

local function field_text(field)
  local dimensions = ""
  for _, n in ipairs(field.dimensions or {}) do
    dimensions = ("%s[%d]"):format(dimensions, n)
  end
  return ("%s %s%s"):format(field.text, field.name, dimensions)
end

local function add_declarations(layout, lines, done)
  for _, field in ipairs(layout.fields) do
    if is_layout(field.type) then
      add_declarations(field.type, lines, done)
    end
  end
  if done[layout.name] == layout then
    return
  elseif done[layout.name] then
    errors.raise("argument", "there are two different structs of the name '%s'", layout.name)
  end
  done[layout.name] = layout
  lines[#lines + 1] = ("struct %s {"):format(layout.name)
  for _, field in ipairs(layout.fields) do
    lines[#lines + 1] = ("  %s;"):format(field_text(field))
  end
  lines[#lines + 1] = "};"
  local assert_text = 'static_assert(%s == %d, "%s");'
  lines[#lines + 1] = assert_text:format(
    ("sizeof(%s)"):format(layout.name),
    layout.bytes,
    ("struct %s has %d bytes in Lua"):format(layout.name, layout.bytes)
  )
  for _, field in ipairs(layout.fields) do
    lines[#lines + 1] = assert_text:format(
      ("__builtin_offsetof(%s, %s)"):format(layout.name, field.name),
      field.offset,
      ("%s.%s lies at byte %d in Lua"):format(layout.name, field.name, field.offset)
    )
  end
end

local function holds(layout, dtype)
  for _, field in ipairs(layout.fields) do
    if field.type == dtype or is_layout(field.type) and holds(field.type, dtype) then
      return true
    end
  end
  return false
end

--- The struct for a kernel's source, those it contains before it, each with assertions of its size and offsets.
-- @treturn string C++
-- @raise kind "argument" for two different structs of one name
function Layout:declaration()
  local lines = { holds(self, "bf16") and "#include <hip/hip_bf16.h>" or nil }
  add_declarations(self, lines, {})
  return table.concat(lines, "\n") .. "\n"
end

--- The layout with its offsets, one field a line.
function Layout:__tostring()
  local lines = { ("struct %s (%d bytes, alignment %d)"):format(self.name, self.bytes, self.align) }
  for _, field in ipairs(self.fields) do
    lines[#lines + 1] = ("  %4d  %s"):format(field.offset, field_text(field))
  end
  return table.concat(lines, "\n")
end

local function value_text(value)
  if type(value) == "table" then
    local parts = {}
    for i = 1, #value do
      parts[i] = value_text(value[i])
    end
    return ("{%s}"):format(table.concat(parts, ", "))
  end
  return math.type(value) == "float" and ("%.6g"):format(value) or tostring(value)
end

--- One struct's fields in a line.
-- @tparam table value as unpack gives it
-- @treturn string
function Layout:text(value)
  local parts = {}
  for i, field in ipairs(self.fields) do
    local inner = value[field.name]
    local text = is_layout(field.type) and not field.dimensions and field.type:text(inner) or value_text(inner)
    parts[i] = ("%s = %s"):format(field.name, text)
  end
  return ("{%s}"):format(table.concat(parts, ", "))
end

-- ---- many structs, for buffers -------------------------------------------------------------------------------------

-- What a read gives: array[i] are the fields of struct i, unpacked when they are asked for. A copy: setting them is an
-- error, as it would change nothing on the device.
local Array = { __name = "luhip.struct_array" }
local Array_methods = {}

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

-- The functions below are called by the core, for buffers of this layout.

function Layout.__array(layout, bytes, shape)
  local fields = { layout = layout, data = bytes, shape = shape, count = #bytes // layout.bytes }
  return setmetatable(fields, Array)
end

function Layout.__totable(layout, bytes, shape)
  return Layout.__array(layout, bytes, shape):totable()
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

function Layout.__data(layout, data, count)
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

--- Whether a value is a layout.
-- @param value anything
-- @treturn boolean
struct.is_layout = is_layout

return setmetatable(struct, {
  __call = function(_, name, fields)
    return struct.new(name, fields)
  end,
})
