--- NumPy's files: .npy (one array) and .npz (a zip of named ones).
--
--    local npy = require "luhip.npy"
--    npy.save("x.npy", x)                                  -- a buffer or a host array
--    local a = npy.load "x.npy"                            -- a host array; dev:from(a.dtype, a) brings it to a device
--    npy.save_all("all.npz", { x = x, y = y }, { compressed = true })
--    local arrays = npy.load_all "all.npz"                 -- arrays.x, arrays.y
--
-- The formats are those of NumPy's "NEP 1" (versions 1 to 3) and of PKWARE's APPNOTE, with zip64 read where a file has
-- it. What is written is version 1, little-endian, in C order. Files in Fortran's order and big-endian ones are read
-- too. There is no NumPy type for bf16: save it as another (x:astype "f32").
-- Dependencies: luhip.core, luhip.errors, luhip.host_array, luhip.whole_file.
-- @module luhip.npy

local core = require "luhip.core"
local errors = require "luhip.errors"
local host_array = require "luhip.host_array"
local whole_file = require "luhip.whole_file"

local npy = {}

local MAGIC = "\x93NUMPY"
local DESCRIPTIONS = {
  i8 = "|i1",
  u8 = "|u1",
  bool = "|b1",
  i16 = "<i2",
  u16 = "<u2",
  i32 = "<i4",
  u32 = "<u4",
  i64 = "<i8",
  u64 = "<u8",
  f16 = "<f2",
  f32 = "<f4",
  f64 = "<f8",
  c64 = "<c8",
  c128 = "<c16",
}
local DTYPES = {}
for dtype, description in pairs(DESCRIPTIONS) do
  DTYPES[description:sub(2)] = dtype
end

-- ---- one array -------------------------------------------------------------------------------------------------

local function encode(what, x)
  local array = host_array(what, x)
  local description = DESCRIPTIONS[array.dtype]
  if not description then
    errors.raise("type", "%s: NumPy has no type for %s; convert it with astype", what, tostring(array.dtype))
  end
  local shape = table.concat(array.shape, ", ") .. (#array.shape == 1 and "," or "")
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(description, shape)
  header = header .. (" "):rep(-(#MAGIC + 4 + #header + 1) % 64) .. "\n"
  return MAGIC .. "\1\0" .. ("<s2"):pack(header) .. array:bytes_string()
end

--- An array as the bytes of a .npy file.
-- @param x a buffer or a host array
-- @treturn string
-- @raise kind "type" for bf16 and structs, which NumPy has no type for
function npy.encode(x)
  return encode("npy.encode", x)
end

local function damaged(name, why)
  errors.raise("file", "%s is no .npy file that can be read: %s", name, why)
end

-- The header's text and where the data begins.
local function read_header(name, bytes)
  if bytes:sub(1, #MAGIC) ~= MAGIC or #bytes < 12 then
    damaged(name, "it does not begin like one")
  end
  local version = bytes:byte(7)
  if version < 1 or version > 3 then
    damaged(name, ("its version is %d"):format(version))
  end
  local length, first
  if version == 1 then
    length, first = ("<I2"):unpack(bytes, 9)
  else
    length, first = ("<I4"):unpack(bytes, 9)
  end
  if first + length - 1 > #bytes then
    damaged(name, "it ends within its header")
  end
  return bytes:sub(first, first + length - 1), first + length
end

local function parse_header(name, header)
  local description = header:match "['\"]descr['\"]%s*:%s*['\"]([^'\"]*)['\"]"
  local order = header:match "['\"]fortran_order['\"]%s*:%s*(%a+)"
  local shape_text = header:match "['\"]shape['\"]%s*:%s*%(([^)]*)%)"
  if not shape_text or (order ~= "True" and order ~= "False") then
    damaged(name, "its header is not understood: " .. header:match "^%s*(.-)%s*$")
  elseif not description then
    damaged(name, "it has structs or objects")
  end
  local mark, rest = description:match "^([<>|=]?)(.*)$"
  local dtype = DTYPES[rest]
  if not dtype then
    damaged(name, ("it has the type '%s', which luhip has not"):format(description))
  end
  local shape = {}
  for word in shape_text:gmatch "[^,%s]+" do
    local number = word:match "^%d+L?$" and word:match "%d+" -- NumPy of Python 2 wrote 3L
    if not number then
      damaged(name, ("its shape is (%s)"):format(shape_text))
    end
    shape[#shape + 1] = math.tointeger(tonumber(number)) or damaged(name, "its shape is too large")
  end
  if #shape == 0 then
    shape[1] = 1 -- a number by itself
  end
  return { dtype = dtype, swapped = mark == ">", fortran = order == "True", shape = shape }
end

-- Every group of `size` bytes the other way round.
local function swap_bytes(bytes, size)
  if size == 1 then
    return bytes
  end
  local from, to, pieces = (">I%d"):format(size), ("<I%d"):format(size), {}
  for at = 1, #bytes, size do
    pieces[#pieces + 1] = to:pack((from:unpack(bytes, at)))
  end
  return table.concat(pieces)
end

-- Elements whose first index runs fastest into rows.
local function to_rows(bytes, shape, size)
  local count = #bytes // size
  local strides, stride = {}, 1
  for k = 1, #shape do
    strides[k] = stride
    stride = stride * shape[k]
  end
  local index, pieces, at = {}, {}, 0
  for k = 1, #shape do
    index[k] = 0
  end
  for i = 1, count do
    pieces[i] = bytes:sub(at * size + 1, at * size + size)
    for k = #shape, 1, -1 do
      index[k], at = index[k] + 1, at + strides[k]
      if index[k] < shape[k] then
        break
      end
      at = at - index[k] * strides[k]
      index[k] = 0
    end
  end
  return table.concat(pieces)
end

local function element_sizes(dtype)
  local size = math.tointeger(DESCRIPTIONS[dtype]:match "%d+")
  return size, dtype:sub(1, 1) == "c" and size // 2 or size
end

--- The array in the bytes of a .npy file.
-- @tparam string bytes
-- @tparam[opt] string name for messages
-- @treturn array a host array
-- @raise kind "file" for what cannot be read
function npy.decode(bytes, name)
  name = name or "the string"
  local header, first = read_header(name, bytes)
  local about = parse_header(name, header)
  local size, part = element_sizes(about.dtype)
  local wanted = size
  for _, n in ipairs(about.shape) do
    if n > 0 and wanted > (1 << 60) // n then
      damaged(name, "its shape is too large")
    end
    wanted = wanted * n
  end
  if #bytes - first + 1 < wanted then
    damaged(name, ("it ends after %d of %d bytes"):format(#bytes - first + 1, wanted))
  end
  local data = bytes:sub(first, first + wanted - 1)
  if about.swapped then
    data = swap_bytes(data, part)
  end
  if about.fortran and #about.shape > 1 then
    data = to_rows(data, about.shape, size)
  end
  return core.array(about.dtype, about.shape, data)
end

-- ---- files -----------------------------------------------------------------------------------------------------

local function read_file(path)
  local bytes, why = whole_file.read(path)
  if not bytes then
    errors.raise("file", "%s", why)
  end
  return bytes
end

local function check_path(what, path)
  if type(path) ~= "string" then
    errors.raise("type", "%s: a path expected, not %s", what, errors.describe(path))
  end
end

--- Writes an array to a .npy file.
-- @tparam string path
-- @param x a buffer or a host array
-- @raise kinds "type", "file"
function npy.save(path, x)
  check_path("save", path)
  whole_file.write(path, encode("save", x))
end

--- Reads a .npy file.
-- @tparam string path
-- @treturn array a host array
-- @raise kind "file"
function npy.load(path)
  check_path("load", path)
  return npy.decode(read_file(path), path)
end

-- ---- zip -------------------------------------------------------------------------------------------------------

local LOCAL, CENTRAL, END = 0x04034b50, 0x02014b50, 0x06054b50
local STORED, DEFLATED = 0, 8
local DATE = 1 << 5 | 1 -- 1 January 1980: the same content makes the same file

local function sorted_names(what, arrays)
  local names = {}
  for name in pairs(arrays) do
    if type(name) ~= "string" or name == "" then
      errors.raise("type", "%s: the arrays of an .npz file have names, not %s", what, errors.describe(name))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function check_options(options)
  if options ~= nil and type(options) ~= "table" then
    errors.raise("type", "save: options are a table, not %s", errors.describe(options))
  end
  for key in pairs(options or {}) do
    if key ~= "compressed" then
      errors.raise("argument", "save: no option '%s'; an .npz file has compressed", tostring(key))
    end
  end
end

--- Writes arrays to a .npz file.
-- @tparam string path
-- @tparam {[string]=any} arrays buffers or host arrays by name
-- @tparam[opt] table options `compressed = true`
-- @raise kinds "type", "file", "argument" beyond zip's 4 GiB
function npy.save_all(path, arrays, options)
  check_path("save", path)
  if type(arrays) ~= "table" then
    errors.raise("type", "save: an .npz file is of a table of arrays by name, not %s", errors.describe(arrays))
  end
  check_options(options)
  local pieces, central, at = {}, {}, 0
  for _, name in ipairs(sorted_names("save", arrays)) do
    local plain, file = encode(("save: '%s'"):format(name), arrays[name]), name .. ".npy"
    local packed = options and options.compressed and core.deflate(plain) or plain
    local method = packed == plain and STORED or DEFLATED
    if #plain >= 1 << 32 or at + #packed >= (1 << 32) - (1 << 16) then
      errors.raise("argument", "save: '%s' does not fit the 4 GiB of a zip file", name)
    end
    local about = ("<I2I2I2I2I2I4I4I4I2I2"):pack(20, 0, method, 0, DATE, core.crc32(plain), #packed, #plain, #file, 0)
    pieces[#pieces + 1] = ("<I4"):pack(LOCAL) .. about .. file .. packed
    central[#central + 1] = ("<I4I2"):pack(CENTRAL, 20) .. about .. ("<I2I2I2I4I4"):pack(0, 0, 0, 0, at) .. file
    at = at + #pieces[#pieces]
  end
  local directory = table.concat(central)
  local tail = ("<I4I2I2I2I2I4I4I2"):pack(END, 0, 0, #central, #central, #directory, at, 0)
  whole_file.write(path, table.concat(pieces) .. directory .. tail)
end

local function no_zip(name, why)
  errors.raise("file", "%s is no .npz file that can be read: %s", name, why)
end

-- Sizes and place that do not fit 32 bits lie in an extra field.
local function zip64(entry, extra)
  local at = 1
  while at + 3 <= #extra do
    local id, length = ("<I2I2"):unpack(extra, at)
    if id == 1 then
      local place = at + 4
      for _, key in ipairs { "size", "packed", "offset" } do
        if entry[key] == 0xffffffff and place + 7 <= at + 3 + length then
          entry[key] = ("<i8"):unpack(extra, place)
          place = place + 8
        end
      end
    end
    at = at + 4 + length
  end
  return entry
end

-- The list of what is in the file.
local function read_directory(path, bytes)
  local finish
  for at = #bytes - 21, math.max(1, #bytes - 22 - 65535), -1 do
    if bytes:sub(at, at + 3) == "PK\5\6" then
      finish = at
      break
    end
  end
  if not finish then
    no_zip(path, "it has no directory")
  end
  local count, _, at = ("<I2I4I4"):unpack(bytes, finish + 10)
  if at == 0xffffffff or count == 0xffff then
    local locator = finish - 20
    if locator < 1 or bytes:sub(locator, locator + 3) ~= "PK\6\7" then
      no_zip(path, "its directory cannot be found")
    end
    local record = ("<i8"):unpack(bytes, locator + 8) + 1
    count = ("<i8"):unpack(bytes, record + 32)
    at = ("<i8"):unpack(bytes, record + 48)
  end
  local entries = {}
  at = at + 1
  for i = 1, count do
    if at < 1 or at + 45 > #bytes or ("<I4"):unpack(bytes, at) ~= CENTRAL then
      no_zip(path, "its directory is damaged")
    end
    local flags, method, _, _, crc, packed, size = ("<I2I2I2I2I4I4I4"):unpack(bytes, at + 8)
    local name_length, extra_length, comment_length = ("<I2I2I2"):unpack(bytes, at + 28)
    local offset = ("<I4"):unpack(bytes, at + 42)
    local name = bytes:sub(at + 46, at + 45 + name_length)
    local extra = bytes:sub(at + 46 + name_length, at + 45 + name_length + extra_length)
    entries[i] = zip64(
      { name = name, flags = flags, method = method, crc = crc, packed = packed, size = size, offset = offset },
      extra
    )
    at = at + 46 + name_length + extra_length + comment_length
  end
  return entries
end

local function read_entry(path, bytes, entry)
  local name = ("%s: %s"):format(path, entry.name)
  local at = entry.offset + 1
  if at < 1 or at + 29 > #bytes or ("<I4"):unpack(bytes, at) ~= LOCAL then
    no_zip(name, "it is not where the directory says")
  elseif entry.flags & 1 == 1 then
    no_zip(name, "it is encrypted")
  end
  local name_length, extra_length = ("<I2I2"):unpack(bytes, at + 26)
  local first = at + 30 + name_length + extra_length
  local packed = bytes:sub(first, first + entry.packed - 1)
  if #packed ~= entry.packed then
    no_zip(name, "the file ends within it")
  end
  local plain, why = packed, nil
  if entry.method == DEFLATED then
    plain, why = core.inflate(packed, entry.size)
  elseif entry.method ~= STORED then
    no_zip(name, ("it is compressed by method %d"):format(entry.method))
  end
  if not plain or core.crc32(plain) ~= entry.crc then
    no_zip(name, why or "its checksum is wrong")
  end
  return plain
end

--- Reads a .npz file.
-- @tparam string path
-- @treturn {[string]=array} host arrays by name
-- @raise kind "file"
function npy.load_all(path)
  check_path("load_all", path)
  local bytes = read_file(path)
  local arrays = {}
  for _, entry in ipairs(read_directory(path, bytes)) do
    local name = entry.name:match "^(.*)%.npy$"
    if name then
      arrays[name] = npy.decode(read_entry(path, bytes, entry), ("%s: %s"):format(path, entry.name))
    end
  end
  return arrays
end

return npy
