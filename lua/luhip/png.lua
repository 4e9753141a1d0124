--- Pictures as PNG files, in Lua alone.
-- The file is that of the PNG specification (W3C, third edition): a signature, then chunks with a CRC-32 each. Its
-- pixels are a zlib stream (RFC 1950, with its Adler-32) around deflate (RFC 1951). Rows are not filtered. What is
-- looked for is runs of one pixel, written as one block in the fixed Huffman code; where that does not pay, the bytes
-- are stored as they are.
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file.
-- @module luhip.png

local core = require "luhip.core"
local errors = require "luhip.errors"
local whole_file = require "luhip.whole_file"

local png = {}

---- checksums ------------------------------------------------------------------------------------------------------

--- The CRC-32 of the PNG specification's annex D.
-- @tparam string bytes
-- @treturn integer
function png.crc32(bytes)
  return core.crc32(bytes)
end

--- The Adler-32 of RFC 1950.
-- @tparam string bytes
-- @treturn integer
function png.adler32(bytes)
  local a, b = 1, 0
  for i = 1, #bytes do
    a = a + bytes:byte(i)
    b = b + a
    if i % 4096 == 0 then -- the sums are far from 2^63 until then
      a, b = a % 65521, b % 65521
    end
  end
  return (b % 65521) << 16 | a % 65521
end

---- deflate --------------------------------------------------------------------------------------------------------

-- Huffman codes are written from their highest bit on, all else from the lowest (RFC 1951, 3.1.1).
local function reversed(code, length)
  local result = 0
  for _ = 1, length do
    result = result << 1 | code & 1
    code = code >> 1
  end
  return result
end

-- The fixed code (3.2.6): of each symbol its bits, ready to be written, and how many they are.
local fixed, fixed_length = {}, {}
for symbol = 0, 287 do
  local code, length
  if symbol < 144 then
    code, length = 0x30 + symbol, 8
  elseif symbol < 256 then
    code, length = 0x190 + symbol - 144, 9
  elseif symbol < 280 then
    code, length = symbol - 256, 7
  else
    code, length = 0xc0 + symbol - 280, 8
  end
  fixed[symbol], fixed_length[symbol] = reversed(code, length), length
end

-- Lengths of matches (3.2.5): of each its symbol, and its extra bits.
local length_symbol, length_extra, length_bits = {}, {}, {}
do
  local length = 3
  for symbol = 257, 284 do
    local bits = math.max(0, (symbol - 261) // 4)
    for extra = 0, (1 << bits) - 1 do
      length_symbol[length], length_extra[length], length_bits[length] = symbol, extra, bits
      length = length + 1
    end
  end
  length_symbol[258], length_extra[258], length_bits[258] = 285, 0, 0
end

local function stored(bytes)
  local blocks = {}
  for first = 1, math.max(1, #bytes), 65535 do
    local block = bytes:sub(first, first + 65534)
    local last = first + 65535 > #bytes
    blocks[#blocks + 1] = string.pack("<BI2I2", last and 1 or 0, #block, ~#block & 0xffff) .. block
  end
  return table.concat(blocks)
end

-- One block; matches are at this distance (1 to 4) only, of which there are no extra bits.
local function runs(bytes, distance)
  local out, pending, count = {}, 3, 3 -- the last block, in the fixed code
  local function put(bits, n)
    pending, count = pending | bits << count, count + n
    if count >= 32 then
      out[#out + 1] = string.pack("<I4", pending & 0xffffffff)
      pending, count = pending >> 32, count - 32
    end
  end
  local distance_code = reversed(distance - 1, 5)
  local i, size = 1, #bytes
  while i <= size do
    local length = 0
    if i > distance then
      local most = math.min(258, size - i + 1)
      while length < most and bytes:byte(i + length) == bytes:byte(i + length - distance) do
        length = length + 1
      end
    end
    if length >= 3 then
      local symbol = length_symbol[length]
      put(fixed[symbol], fixed_length[symbol])
      put(length_extra[length], length_bits[length])
      put(distance_code, 5)
      i = i + length
    else
      local byte = bytes:byte(i)
      put(fixed[byte], fixed_length[byte])
      i = i + 1
    end
  end
  put(fixed[256], fixed_length[256])
  while count > 0 do
    out[#out + 1] = string.char(pending & 255)
    pending, count = pending >> 8, count - 8
  end
  return table.concat(out)
end

local function zlib(bytes, distance)
  local plain, packed = stored(bytes), runs(bytes, distance)
  return "\x78\x01" .. (#packed < #plain and packed or plain) .. string.pack(">I4", png.adler32(bytes))
end

---- the file -------------------------------------------------------------------------------------------------------

local function chunk(kind, data)
  return string.pack(">I4", #data) .. kind .. data .. string.pack(">I4", png.crc32(kind .. data))
end

local function check_side(name, value)
  local side = math.type(value) and math.tointeger(value)
  if not side or side < 1 or side > 0x7fffffff then
    errors.raise("argument", "png: %s: a whole number from 1 on expected, not %s", name, tostring(value))
  end
  return side
end

--- A picture as the bytes of a PNG file.
-- @tparam integer width
-- @tparam integer height
-- @tparam string pixels row by row from the top: one byte each is grey, three are red, green and blue
-- @treturn string
function png.encode(width, height, pixels)
  width, height = check_side("width", width), check_side("height", height)
  if type(pixels) ~= "string" then
    errors.raise("type", "png: pixels: a string expected, not a %s", type(pixels))
  end
  local channels = #pixels // (width * height)
  if channels ~= 1 and channels ~= 3 or #pixels ~= width * height * channels then
    errors.raise(
      "shape",
      "png: %d x %d pixels are %d bytes of grey or %d of RGB, not %d",
      width,
      height,
      width * height,
      width * height * 3,
      #pixels
    )
  end
  local rows = {}
  for row = 0, height - 1 do
    rows[row + 1] = "\0" .. pixels:sub(row * width * channels + 1, (row + 1) * width * channels) -- filter: none
  end
  local header = string.pack(">I4I4BBBBB", width, height, 8, channels == 1 and 0 or 2, 0, 0, 0)
  return "\x89PNG\r\n\x1a\n"
    .. chunk("IHDR", header)
    .. chunk("IDAT", zlib(table.concat(rows), channels))
    .. chunk("IEND", "")
end

--- Writes a picture to a file.
-- @tparam string path
-- @tparam integer width
-- @tparam integer height
-- @tparam string pixels as for `png.encode`
-- @raise kind "file" when it cannot be written
function png.write(path, width, height, pixels)
  whole_file.write(path, png.encode(width, height, pixels), "png: %s")
end

return png
