-- luhip.save and luhip.load: .npy, .npz, raw bytes, pictures.
local core = require "luhip.core"
local luhip = require "luhip"
local npy = require "luhip.npy"
local picture = require "luhip.picture"
local support = require "spec.support"

local function hex(text)
  return (text:gsub("%s", ""):gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

describe("luhip.npy", function()
  it("writes what NumPy writes", function()
    local a = luhip.array("f32", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } })
    local header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    local expected = "\x93NUMPY\1\0\x76\0"
      .. header
      .. (" "):rep(118 - #header - 1)
      .. "\n"
      .. ("<ffffff"):pack(1, 2, 3, 4, 5, 6)
    assert.equal(expected, npy.encode(a))
    assert.equal(0, (#expected - 24) % 64)
    assert.matches("'shape': %(5,%), }", npy.encode(luhip.array("u8", 5)))
  end)

  it("gives back what it was given, of every type that NumPy has", function()
    for _, dtype in ipairs(luhip.dtypes) do
      local value = dtype == "bool" and true or dtype:sub(1, 1) == "c" and { 1.5, -2 } or 3
      if dtype == "bf16" then
        support.assert_error_kind("type", function()
          npy.encode(luhip.array(dtype, 2))
        end, "bf16", "astype")
      else
        local a = luhip.array(dtype, { 2, 2 }, { { value, value }, { value, value } })
        local b = npy.decode(npy.encode(a))
        assert.equal(dtype, b.dtype)
        assert.same(a:totable(), b:totable())
      end
    end
    assert.equal(0, npy.decode(npy.encode(luhip.array("f32", 0))).count)
  end)

  it("reads big-endian files, Fortran's order, single numbers and later versions", function()
    local function file(header, data, version)
      return "\x93NUMPY"
        .. string.char(version or 1)
        .. "\0"
        .. ((version or 1) == 1 and "<s2" or "<s4"):pack(header)
        .. data
    end
    local swapped =
      file("{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }\n", (">i4i4i4"):pack(1, -2, 1 << 30))
    assert.same({ 1, -2, 1 << 30 }, npy.decode(swapped):totable())
    local fortran =
      file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", ("<i2i2i2i2i2i2"):pack(1, 4, 2, 5, 3, 6))
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, npy.decode(fortran):totable())
    assert.same(
      { 2.5 },
      npy.decode(file("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", ("<d"):pack(2.5))):totable()
    )
    local third = file('{"descr": "<u8", "fortran_order": False, "shape": (1,), }\n', ("<i8"):pack(-1), 3)
    assert.equal(-1, npy.decode(third)[1])
    local complex = file("{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }\n", (">ff"):pack(1, 2))
    assert.same({ 1, 2 }, npy.decode(complex)[1])
  end)

  it("says what is wrong with a file, whatever it is", function()
    local good = npy.encode(luhip.array("f32", 4))
    for length = 0, #good - 1 do
      support.assert_error_kind("file", function()
        npy.decode(good:sub(1, length), "cut.npy")
      end, "cut.npy")
    end
    for _, change in ipairs {
      { "<f4", "|O8" },
      { "<f4", "<f3" },
      { "%(4,%)", "(4, 1152921504606846976)" },
      { "%(4,%)", "(-4,)" },
      { "%(4,%)", "(4.0,)" },
      { "%(4,%)", "(four,)" },
      { "False", "Maybe" },
      { "NUMPY\1", "NUMPY\9" },
    } do
      support.assert_error_kind("file", function()
        npy.decode((good:gsub(change[1], change[2])))
      end)
    end
    support.assert_error_kind("file", function()
      npy.load "/nowhere/x.npy"
    end, "/nowhere/x.npy")
    support.assert_error_kind("type", function()
      npy.save("x.npy", 5)
    end)
  end)

  it("reads and writes archives, stored and compressed", function()
    local folder = support.temporary_directory()
    local x, y = luhip.array("f64", 1000), luhip.array("i8", { 2, 2 }, { { 1, 2 }, { 3, 4 } })
    for _, compressed in ipairs { false, true } do
      local path = folder .. "/all.npz"
      luhip.save(path, { x = x, ["y.z"] = y }, { compressed = compressed })
      local all = luhip.load(path)
      assert.same(x:totable(), all.x:totable())
      assert.same(y:totable(), all["y.z"]:totable())
      local size = #support.read_file(path)
      assert.is_true(compressed and size < 1000 or not compressed and size > 8000)
    end
  end)

  it("finds every damage of an archive", function()
    local folder = support.temporary_directory()
    local path = folder .. "/all.npz"
    luhip.save(path, { x = luhip.array("i16", 5, { 1, 2, 3, 4, 5 }) }, { compressed = true })
    local bytes = support.read_file(path)
    local expected = luhip.load(path).x:totable()
    for at = 1, #bytes do
      local flipped = bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ 0x55) .. bytes:sub(at + 1)
      support.write_file(path, flipped)
      local ok, all = pcall(npy.load_all, path)
      if ok and all.x then
        assert.same(expected, all.x:totable()) -- a byte that nobody needs: a date, a version
      elseif not ok then
        assert.is_true(luhip.is_error(all) and all.kind == "file", tostring(all))
      end
    end
    for length = 0, #bytes - 1, 7 do
      support.write_file(path, bytes:sub(1, length))
      assert.equal("file", select(2, pcall(npy.load_all, path)).kind)
    end
  end)
end)

describe("compressed bytes", function()
  it("are read by the same or told", function()
    local text = ("luhip "):rep(10000)
    local packed = core.deflate(text)
    assert.is_true(#packed < 1000)
    assert.equal(text, core.inflate(packed, #text))
    assert.equal("", core.inflate(core.deflate "", 0))
    assert.is_nil((core.inflate(packed, #text - 1)))
    assert.is_nil((core.inflate(packed, #text + 1)))
    assert.is_nil((core.inflate(packed:sub(1, -2), #text)))
    assert.is_nil((core.inflate("nonsense", 10)))
    assert.equal("hi\n", core.inflate(hex "1f8b0800000000000003cbc8e402007a7a6fed03000000", 3, "gzip"))
    assert.equal(0xcbf43926, core.crc32 "123456789")
  end)
end)

support.each_device(function(id)
  it("buffers are saved and come back", function()
    local dev, folder = support.open(id), support.temporary_directory()
    local x = dev:from("f32", { { 1, 2 }, { 3, 4 } })
    luhip.save(folder .. "/x.npy", x:transpose():contiguous())
    local a = luhip.load(folder .. "/x.npy")
    assert.same({ { 1, 3 }, { 2, 4 } }, dev:buffer(a.dtype, a.shape, a):totable())
    luhip.save(folder .. "/x.bin", x)
    assert.same({ 1, 2, 3, 4 }, luhip.load(folder .. "/x.bin", "f32"):totable())
    assert.same({ { 1, 2 }, { 3, 4 } }, luhip.load(folder .. "/x.bin", "f32", { 2, 2 }):totable())
    support.assert_error_kind("file", function()
      luhip.load(folder .. "/x.bin", "f32", 5)
    end, "16 bytes", "20")
    support.assert_error_kind("argument", function()
      luhip.load(folder .. "/x.bin")
    end, "type")
    support.assert_error_kind("argument", function()
      luhip.save(folder .. "/x.txt", x)
    end, ".npy")
    support.assert_error_kind("file", function()
      luhip.save(folder .. "/none/x.npy", x)
    end)
  end)

  it("pictures show the least as the first colour and the most as the last", function()
    local dev, folder = support.open(id), support.temporary_directory()
    local field = dev:from("f32", { { 0, 5 }, { 10, 0 / 0 } })
    local width, height, pixels = picture.pixels(field)
    assert.same({ 2, 2 }, { width, height })
    assert.equal("\0\0\0\127\127\127\255\255\255\0\0\0", pixels)
    picture.save(folder .. "/x.ppm", field, { low = 0, high = 20 })
    assert.equal("P6\n2 2\n255\n\0\0\0\63\63\63\127\127\127\0\0\0", support.read_file(folder .. "/x.ppm"))
    luhip.save(folder .. "/x.png", field, { colors = "heat" })
    assert.equal("\x89PNG", support.read_file(folder .. "/x.png"):sub(1, 4))
    local rgb = dev:from("u8", { { { 1, 2, 3 }, { 4, 5, 6 } } })
    assert.equal("\1\2\3\4\5\6", select(3, picture.pixels(rgb)))
    support.assert_error_kind("argument", function()
      picture.save(folder .. "/x.png", field, { colors = "red" })
    end, "diverging")
    support.assert_error_kind("shape", function()
      picture.save(folder .. "/x.png", dev:buffer("f32", 4, 0))
    end)
    support.assert_error_kind("argument", function()
      picture.save(folder .. "/x.gif", field)
    end)
  end)
end)

describe("luhip.save", function()
  local function fails(kind, text, ...)
    local words = { ... }
    support.assert_error_kind(kind, function()
      luhip.save(table.unpack(words, 1, 3))
    end, text)
  end

  it("refuses in the caller's words what it cannot write, and leaves no file", function()
    local path = support.temporary_directory() .. "/x"
    local a = luhip.array("f32", 2)
    fails("type", "save: a buffer or a host array expected, not 5", path .. ".npy", 5)
    fails("type", "save: a buffer or a host array expected, not nothing", path .. ".npy")
    fails("type", "save: a buffer or a host array expected, not a table", path .. ".bin", {})
    fails("type", "picture: a buffer or a host array expected, not 'x'", path .. ".png", "x")
    fails("type", "save: an .npz file is of a table of arrays by name, not a luhip.array", path .. ".npz", a)
    fails("type", "save: 'x': a buffer or a host array expected, not 5", path .. ".npz", { x = 5 })
    fails("type", "save: the arrays of an .npz file have names, not 1", path .. ".npz", { a })
    fails("type", "save: NumPy has no type for bf16", path .. ".npy", luhip.array("bf16", 1))
    fails("type", "save: a path expected, not nothing", nil, a)
    for _, ending in ipairs { ".npy", ".npz", ".bin", ".png" } do
      assert.is_nil(io.open(path .. ending))
    end
  end)

  it("refuses options that its format has not", function()
    local path = support.temporary_directory() .. "/x"
    local a = luhip.array("f32", { 1, 2 }, { 1, 2 })
    fails("argument", "no option 'compress'", path .. ".npz", { a = a }, { compress = true })
    fails("type", "options are a table, not true", path .. ".npz", { a = a }, true)
    fails("argument", "takes no options (given 'compressed')", path .. ".npy", a, { compressed = true })
    fails("argument", "takes no options (given 'f32')", path .. ".bin", a, "f32")
    fails("type", "options are a table, not 'heat'", path .. ".png", a, "heat")
    fails("range", "low has to be below high, not 3 and 1", path .. ".png", a, { low = 3, high = 1 })
    luhip.save(path .. ".npy", a, {})
    assert.same({ { 1, 2 } }, luhip.load(path .. ".npy"):totable())
  end)

  it("writes a view as what it shows", function()
    local folder = support.temporary_directory()
    support.each_device(function(id)
      local dev = luhip.open(id)
      local x = dev:from("f32", { { 1, 2, 3 }, { 4, 5, 6 } })
      for view, expected in pairs {
        [x:transpose()] = { { 1, 4 }, { 2, 5 }, { 3, 6 } },
        [x:columns(2, 2)] = { { 2 }, { 5 } },
      } do
        luhip.save(folder .. "/v.npy", view)
        assert.same(expected, luhip.load(folder .. "/v.npy"):totable())
        luhip.save(folder .. "/v.npz", { v = view })
        assert.same(expected, luhip.load(folder .. "/v.npz").v:totable())
        luhip.save(folder .. "/v.bin", view)
        assert.same(expected, luhip.load(folder .. "/v.bin", "f32", view.shape):totable())
      end
      local _, _, pixels = picture.pixels(x:transpose())
      assert.same(
        { 0, 153, 51, 204, 102, 255 },
        { pixels:byte(1), pixels:byte(4), pixels:byte(7), pixels:byte(10), pixels:byte(13), pixels:byte(16) }
      )
    end)
  end)

  it("names the type of a raw file that is none", function()
    local path = support.temporary_directory() .. "/x.bin"
    support.write_file(path, "abcd")
    support.assert_error_kind("argument", function()
      luhip.load(path, "f23")
    end, "load: 'f23' is no element type")
  end)
end)
