-- PNG files, read back by a reader of the spec's own that knows as much of deflate as is written.

local png = require "luhip.png"
local support = require "spec.support"

-- RFC 1951 with stored blocks and the fixed code, decoded bit by bit.
local function inflate(data)
  local place, out = 0, {}
  local function take(n)
    local value = 0
    for bit = 0, n - 1 do
      local byte = assert(data:byte(place // 8 + 1), "the stream ends early")
      value = value | (byte >> place % 8 & 1) << bit
      place = place + 1
    end
    return value
  end
  local function code(n, start)
    for _ = 1, n do
      start = start << 1 | take(1)
    end
    return start
  end
  local function symbol()
    local value = code(7, 0)
    if value <= 23 then
      return 256 + value
    end
    value = code(1, value)
    if value >= 0x30 and value <= 0xbf then
      return value - 0x30
    elseif value >= 0xc0 and value <= 0xc7 then
      return 280 + value - 0xc0
    end
    return code(1, value) - 0x190 + 144
  end
  local bases, extras = {}, {}
  for s, base in ipairs { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115 } do
    bases[256 + s], extras[256 + s] = base, s <= 8 and 0 or (s - 5) // 4
  end
  for s, base in ipairs { 131, 163, 195, 227 } do
    bases[280 + s], extras[280 + s] = base, 5
  end
  bases[285], extras[285] = 258, 0
  local blocks = {}
  repeat
    local last, kind = take(1), take(2)
    blocks[#blocks + 1] = kind
    if kind == 0 then
      place = (place + 7) // 8 * 8
      local size, complement = take(16), take(16)
      assert.equal(0xffff, size ~ complement)
      for _ = 1, size do
        out[#out + 1] = take(8)
      end
    else
      assert.equal(1, kind)
      local s = symbol()
      while s ~= 256 do
        if s < 256 then
          out[#out + 1] = s
        else
          local length = bases[s] + take(extras[s])
          local distance = code(5, 0) + 1
          for _ = 1, length do
            out[#out + 1] = out[#out + 1 - distance]
          end
        end
        s = symbol()
      end
    end
  until last == 1
  local text = {}
  for first = 1, #out, 4000 do
    text[#text + 1] = string.char(table.unpack(out, first, math.min(first + 3999, #out)))
  end
  return table.concat(text), (place + 7) // 8, blocks
end

-- { width =, height =, channels =, pixels =, blocks = the kinds of its blocks }
local function decode(file)
  assert.equal("\x89PNG\r\n\x1a\n", file:sub(1, 8))
  local chunks, at = {}, 9
  while at <= #file do
    local size, kind = string.unpack(">I4c4", file, at)
    local data = file:sub(at + 8, at + 7 + size)
    assert.equal(size, #data)
    assert.equal(png.crc32(kind .. data), (string.unpack(">I4", file, at + 8 + size)))
    chunks[#chunks + 1] = { kind = kind, data = data }
    at = at + 12 + size
  end
  assert.equal(3, #chunks)
  assert.same({ "IHDR", "IDAT", "IEND" }, { chunks[1].kind, chunks[2].kind, chunks[3].kind })
  assert.equal("", chunks[3].data)
  local width, height, depth, color, compression, filter, interlace = string.unpack(">I4I4BBBBB", chunks[1].data)
  assert.same({ 13, 8, 0, 0, 0 }, { #chunks[1].data, depth, compression, filter, interlace })
  local channels = assert(({ [0] = 1, [2] = 3 })[color])
  local stream = chunks[2].data
  assert.equal(0x78, stream:byte(1))
  assert.equal(0, (stream:byte(1) * 256 + stream:byte(2)) % 31)
  local bytes, used, blocks = inflate(stream:sub(3))
  assert.equal(#stream, 2 + used + 4)
  assert.equal(png.adler32(bytes), (string.unpack(">I4", stream, #stream - 3)))
  local rows, stride = {}, 1 + width * channels
  assert.equal(stride * height, #bytes)
  for row = 0, height - 1 do
    assert.equal(0, bytes:byte(row * stride + 1))
    rows[row + 1] = bytes:sub(row * stride + 2, (row + 1) * stride)
  end
  return { width = width, height = height, channels = channels, pixels = table.concat(rows), blocks = blocks }
end

local function noise(n)
  local bytes, state = {}, 1
  for i = 1, math.min(n, 4000) do
    state = (state * 1103515245 + 12345) & 0x7fffffff
    bytes[i] = state >> 16 & 255
  end
  return string.char(table.unpack(bytes)):rep(n // 4000 + 1):sub(1, n)
end

local function round_trip(width, height, pixels)
  local file = png.encode(width, height, pixels)
  local picture = decode(file)
  assert.same({ width, height }, { picture.width, picture.height })
  assert.equal(#pixels // (width * height), picture.channels)
  assert.is_true(picture.pixels == pixels)
  return picture, file
end

describe("luhip.png", function()
  it("knows the checksums' published values", function()
    assert.equal(0xcbf43926, png.crc32 "123456789")
    assert.equal(0xae426082, png.crc32 "IEND")
    assert.equal(0, png.crc32 "")
    assert.equal(0x11e60398, png.adler32 "Wikipedia")
    assert.equal(1, png.adler32 "")
    local ones, a, b = ("\255"):rep(20000), 1, 0
    for _ = 1, #ones do
      a = (a + 255) % 65521
      b = (b + a) % 65521
    end
    assert.equal(b << 16 | a, png.adler32(ones))
  end)

  it("gives back grey pixels", function()
    round_trip(1, 1, "\7")
    round_trip(7, 3, noise(21))
    local _, file = round_trip(300, 40, ("\200"):rep(300 * 40))
    assert.is_true(#file < 600)
  end)

  it("gives back colours", function()
    round_trip(1, 1, "\1\2\3")
    round_trip(5, 4, noise(60))
    local picture, file = round_trip(100, 50, ("\10\20\30"):rep(5000))
    assert.same({ 1 }, picture.blocks)
    assert.is_true(#file < 1000)
  end)

  it("gives back runs of every length", function()
    local parts = {}
    for length = 1, 300 do
      if length < 40 or length > 253 and length < 264 or length % 16 < 2 then
        parts[#parts + 1] = string.char(length % 251):rep(length)
      end
    end
    local pixels = table.concat(parts)
    round_trip(#pixels, 1, pixels)
    for i, part in ipairs(parts) do
      parts[i] = (part:sub(1, 1) .. "\0\255"):rep(#part)
    end
    round_trip(#pixels, 1, table.concat(parts))
  end)

  it("stores what has no runs, in several blocks when it is long", function()
    local picture = round_trip(260, 256, noise(260 * 256))
    assert.same({ 0, 0 }, picture.blocks)
  end)

  it("writes a file", function()
    local path = support.temporary_directory() .. "/grey.png"
    png.write(path, 3, 2, "abcdef")
    assert.equal(png.encode(3, 2, "abcdef"), support.read_file(path))
  end)

  it("refuses what is no picture", function()
    local function refused(kind, ...)
      local given = table.pack(...)
      support.assert_error_kind(kind, function()
        png.encode(table.unpack(given, 1, given.n))
      end)
    end
    refused("shape", 2, 2, "abc")
    refused("shape", 2, 2, "abcdefgh")
    refused("shape", 2, 2, "")
    refused("type", 2, 2, 5)
    refused("type", 2, 2, nil)
    refused("argument", 0, 2, "")
    refused("argument", 1.5, 2, "abc")
    refused("argument", "2", 2, "abcd")
    refused("argument", 2, 1 << 31, "abcd")
    support.assert_error_kind("file", function()
      png.write("/nowhere/at/all.png", 1, 1, "a")
    end, "/nowhere/at/all.png")
  end)
end)
