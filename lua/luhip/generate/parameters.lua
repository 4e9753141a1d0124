--- Parameter lists of generated kernels: "f32 x, raw i32 table, T y".
--
-- A parameter is a type and a name; before them may stand `raw` (the whole array, indexed by the expression itself) or,
-- for an output, `inout` (its old value is read). A type is an element type of luhip's, or one capital letter for
-- whatever type the buffer has that is given there, the same wherever the letter stands.
-- Dependencies: luhip.core, luhip.errors, luhip.keywords, luhip.nearest.
-- @module luhip.generate.parameters

local core = require "luhip.core"
local errors = require "luhip.errors"
local keywords = require "luhip.keywords"
local nearest = require "luhip.nearest"

local parameters = {}

-- C++ types of element types. Complex numbers have no operators that all compilers know.
local CTYPES = {
  i8 = "signed char",
  u8 = "unsigned char",
  i16 = "short",
  u16 = "unsigned short",
  i32 = "int",
  u32 = "unsigned int",
  i64 = "long long",
  u64 = "unsigned long long",
  f16 = "__half",
  bf16 = "__hip_bfloat16",
  f32 = "float",
  f64 = "double",
  bool = "bool",
}
local HEADERS = { f16 = "hip/hip_fp16.h", bf16 = "hip/hip_bf16.h" }

-- What a parameter may not be called: expressions use these. Other names of the generated text begin with luhip_, or
-- are in scopes that no expression sees.
local TAKEN = { i = true, n = true }

local function names_of(types)
  local names = {}
  for name in pairs(types) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function check_type(what, name, word)
  if CTYPES[word] or word:match "^%u$" then
    return
  end
  local near = nearest(word, names_of(CTYPES))
  errors.raise(
    "argument",
    "%s: parameter '%s' has no type '%s'%s; there are %s, and single capital letters for any of them",
    what,
    name,
    word,
    near and (" (did you mean '%s'?)"):format(near) or "",
    table.concat(names_of(CTYPES), ", ")
  )
end

local function parse_one(what, text)
  local words = {}
  for word in text:gmatch "%S+" do
    words[#words + 1] = word
  end
  local parameter = {}
  while words[1] == "raw" or words[1] == "inout" do
    parameter[table.remove(words, 1)] = true
  end
  if #words ~= 2 or not words[2]:match "^[%a_][%w_]*$" then
    errors.raise("argument", "%s: '%s' is no parameter; one is a type and a name, like 'f32 x'", what, text)
  end
  parameter.type, parameter.name = words[1], words[2]
  check_type(what, parameter.name, parameter.type)
  if TAKEN[parameter.name] then
    errors.raise("argument", "%s: a parameter cannot be called '%s', which is taken", what, parameter.name)
  elseif keywords[parameter.name] then
    errors.raise("argument", "%s: a parameter cannot be called '%s', a word of C++", what, parameter.name)
  end
  return parameter
end

--- Reads a list.
-- @tparam string what the caller, for messages
-- @tparam string text "f32 x, f32 y"
-- @treturn {table,...} { type=, name=, raw=, inout= }
-- @raise kinds "type", "argument"
function parameters.parse(what, text)
  if type(text) ~= "string" then
    errors.raise("type", "%s: a list of parameters like 'f32 x, f32 y' expected, not %s", what, errors.describe(text))
  end
  local list, seen = {}, {}
  for one in text:gmatch "[^,]+" do
    local parameter = parse_one(what, one:match "^%s*(.-)%s*$")
    if seen[parameter.name] then
      errors.raise("argument", "%s: two parameters are called '%s'", what, parameter.name)
    end
    seen[parameter.name] = true
    list[#list + 1] = parameter
  end
  return list
end

--- The C++ type of an element type; nil for complex ones and structs.
function parameters.ctype(dtype)
  return CTYPES[dtype]
end

--- The #include lines that a set of element types needs.
-- @tparam {[string]=any} dtypes by name
function parameters.includes(dtypes)
  local lines = {}
  for dtype, header in pairs(HEADERS) do
    if dtypes[dtype] then
      lines[#lines + 1] = ("#include <%s>\n"):format(header)
    end
  end
  table.sort(lines)
  return table.concat(lines)
end

local function is_buffer(value)
  return debug.getmetatable(value) == core.metatables.buffer
end
parameters.is_buffer = is_buffer

--- Finds what the capital letters stand for.
-- @tparam string what for messages
-- @tparam {table,...} list parameters
-- @tparam table values given for them; may have holes
-- @tparam[opt] table known letters that are known already; added to
-- @treturn table letter -> element type
function parameters.bind(what, list, values, known)
  known = known or {}
  for k, parameter in ipairs(list) do
    local value = values[k]
    if is_buffer(value) then
      local dtype = value.dtype
      local wanted = known[parameter.type] or parameter.type
      if #wanted == 1 and CTYPES[dtype] then
        known[parameter.type] = dtype
      elseif wanted ~= dtype then
        errors.raise(
          "type",
          "%s: '%s' is %s%s, not %s",
          what,
          parameter.name,
          #wanted == 1 and "any type but complex numbers and structs" or wanted,
          wanted ~= parameter.type and #wanted > 1 and (" like the others of type %s"):format(parameter.type) or "",
          dtype
        )
      end
    end
  end
  return known
end

--- The element type of a parameter, once the letters are known.
function parameters.resolve(what, parameter, known)
  local dtype = known[parameter.type] or parameter.type
  if #dtype == 1 then
    errors.raise("type", "%s: no buffer tells what type %s of '%s' is", what, dtype, parameter.name)
  end
  return dtype
end

--- A name for messages that gives a list as it was written.
function parameters.describe(list)
  local texts = {}
  for k, parameter in ipairs(list) do
    texts[k] = ("%s%s%s %s"):format(
      parameter.raw and "raw " or "",
      parameter.inout and "inout " or "",
      parameter.type,
      parameter.name
    )
  end
  return table.concat(texts, ", ")
end

--- The device of the first buffer among values; all must have the same.
function parameters.device(what, values, count)
  local device
  for k = 1, count do
    local value = values[k]
    if is_buffer(value) then
      if device and device ~= value.device then
        errors.raise("argument", "%s: the buffers lie on %s and %s", what, device.id, value.device.id)
      end
      device = device or value.device
    end
  end
  if not device then
    errors.raise("argument", "%s: no buffer was given, so there is no device to run on", what)
  end
  return device
end

--- Whether two shapes are the same.
function parameters.same_shape(a, b)
  if #a ~= #b then
    return false
  end
  for k = 1, #a do
    if a[k] ~= b[k] then
      return false
    end
  end
  return true
end

--- A shape as text: "[2, 3]".
function parameters.shape_text(shape)
  return ("[%s]"):format(table.concat(shape, ", "))
end

-- What an option's value is, and whether a value is one.
local KINDS = {
  identifier = {
    "an identifier",
    function(value)
      return type(value) == "string" and value:match "^[%a_][%w_]*$"
    end,
  },
  text = {
    "text",
    function(value)
      return type(value) == "string"
    end,
  },
}

local function option_names(options)
  local names = {}
  for k, option in ipairs(options) do
    names[k] = option[1]
  end
  local last = table.remove(names)
  return table.concat(names, ", ") .. " and " .. last
end

local function check_option(what, key, value, kind)
  if kind == "boolean" then
    if type(value) ~= "boolean" then
      errors.raise("type", "%s: %s: true or false expected, not %s", what, key, errors.describe(value))
    end
  elseif not KINDS[kind][2](value) then
    errors.raise("type", "%s: %s: %s expected", what, key, KINDS[kind][1])
  end
end

--- Checks a table of options.
-- @tparam string what the caller, for messages
-- @tparam table given
-- @tparam {table,...} options those there are: { name, "identifier", "text" or "boolean" }
-- @raise kinds "argument" for a name that is none, "type"
function parameters.check_options(what, given, options)
  local kinds = {}
  for _, option in ipairs(options) do
    kinds[option[1]] = option[2]
  end
  for key, value in pairs(given) do
    if not kinds[key] then
      errors.raise("argument", "%s: no option '%s'; there are %s", what, tostring(key), option_names(options))
    end
    check_option(what, key, value, kinds[key])
  end
end

--- Compiled kernels by device and variant. The devices are not kept alive.
function parameters.cache()
  local devices = setmetatable({}, { __mode = "k" })
  return function(device, key, make)
    local variants = devices[device]
    if not variants then
      variants = {}
      devices[device] = variants
    end
    local made = variants[key]
    if not made then
      made = make()
      variants[key] = made
    end
    return made
  end
end

return parameters
