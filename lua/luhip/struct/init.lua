--- Struct layouts: what a `struct` of a kernel's source is, said in Lua.
--
--    local P = luhip.struct("particle", { { "pos", "f32", 3 }, { "id", "i32" }, { "mass", "f64" } })
--    print(P)                                  -- every field's offset
--    local x = dev:from(P, { { pos = { 1, 2, 3 }, id = 7, mass = 0.5 } })
--    kernel:launch({ grid = 1, block = 64 }, x, P:pack { pos = { 0, 0, 0 }, id = 1, mass = 2 })
--    x:read()[1].pos[2]                        -- 2.0; totable() of what was read has all, bytes_string() the bytes
--
-- Fields lie where C puts them: each at a multiple of its alignment, the whole a multiple of the largest. A field's
-- type is a dtype, a vector type of HIP ("float4", aligned to all of it), or another layout; its count is a number or a
-- list of dimensions. `P:declaration()` is the text for the kernel's source, which refuses to compile where the
-- compiler's layout is another one.
-- Dependencies: luhip.core, luhip.errors, luhip.keywords, luhip.struct.types, luhip.struct.many.
-- @module luhip.struct

local core = require "luhip.core"
local errors = require "luhip.errors"
local keywords = require "luhip.keywords"
local many = require "luhip.struct.many"
local types = require "luhip.struct.types"

local struct = {}

local Layout = {}
Layout.__index = errors.strict(Layout, "luhip.struct", { "name", "bytes", "align", "fields", "by_name" })
Layout.__name = "luhip.struct"
Layout.__struct = true

-- ---- types -------------------------------------------------------------------------------------------------------

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

local function is_layout(value)
  return getmetatable(value) == Layout
end

local function find_type(given, place)
  if is_layout(given) then
    return layout_type(given)
  elseif type(given) ~= "string" then
    errors.raise("type", "%s: a type is a string or a struct layout, not %s", place, errors.describe(given))
  end
  return types.named(given)
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
  for key in pairs(spec) do
    if key ~= 1 and key ~= 2 and key ~= 3 then
      errors.raise("argument", "%s: { name, type [, count] } expected, and it has the key '%s'", place, tostring(key))
    end
  end
  local name, given, count = spec[1], spec[2], spec[3]
  check_name(name, ("field %d of struct %s"):format(i, layout.name))
  place = ("struct %s, field '%s'"):format(layout.name, name)
  if layout.by_name[name] then
    errors.raise("argument", "%s: there are two of that name", place)
  end
  local element = find_type(given, place)
  local dimensions = count ~= nil and check_dimensions(count, place) or nil
  local whole = dimensions and types.array(element, dimensions) or element
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

-- ---- what the core calls, for buffers of a layout ------------------------------------------------------------------

Layout.__array = many.array
Layout.__data = many.data

function Layout.__totable(layout, bytes, shape)
  return many.array(layout, bytes, shape):totable()
end

--- Whether a value is a layout.
-- @param value anything
-- @treturn boolean
struct.is_layout = is_layout

return setmetatable(struct, {
  __call = function(_, name, fields, ...)
    errors.check_no_more("struct", ...)
    return struct.new(name, fields)
  end,
})
