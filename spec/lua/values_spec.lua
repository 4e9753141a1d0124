-- Elements: Lua values to every element type and back, at the limits. Host arrays need no device.

local luhip = require "luhip"
local support = require "spec.support"

local INTEGERS = {
  i8 = { -128, 127 },
  u8 = { 0, 255 },
  i16 = { -32768, 32767 },
  u16 = { 0, 65535 },
  i32 = { -2147483648, 2147483647 },
  u32 = { 0, 4294967295 },
  i64 = { math.mininteger, math.maxinteger },
}

local function round_trip(dtype, value)
  return luhip.array(dtype, 1, { value })[1]
end

local function refuse(kind, dtype, value, ...)
  return support.assert_error_kind(kind, function()
    luhip.array(dtype, 3, { 0, value, 0 })
  end, "element [2]", ...)
end

describe("elements", function()
  for dtype, limits in pairs(INTEGERS) do
    it("keep the least and greatest " .. dtype, function()
      for _, limit in ipairs(limits) do
        assert.equal(limit, round_trip(dtype, limit))
        assert.equal("integer", math.type(round_trip(dtype, limit)))
      end
      assert.equal(3, round_trip(dtype, 3.0))
      assert.equal("integer", math.type(round_trip(dtype, 3.0)))
    end)

    it("refuse what is not a " .. dtype .. " and name the element", function()
      if dtype ~= "i64" then
        refuse("range", dtype, limits[1] - 1, dtype)
        refuse("range", dtype, limits[2] + 1, dtype)
      end
      for _, value in ipairs { 0.5, 1e30, -1e30, 0 / 0, 1 / 0, 2 ^ 63 } do
        refuse("range", dtype, value, dtype)
      end
      for _, value in ipairs { "7", true, { 1 } } do
        refuse("type", dtype, value)
      end
    end)
  end

  it("of u64 are the integers with the same bits", function()
    assert.equal(-1, round_trip("u64", -1))
    assert.equal(math.mininteger, round_trip("u64", math.mininteger))
    assert.equal(math.maxinteger, round_trip("u64", math.maxinteger))
    assert.equal(math.mininteger, round_trip("u64", 2.0 ^ 63))
    assert.equal(-2048, round_trip("u64", 2.0 ^ 64 - 2048))
    assert.equal(-1, round_trip("u64", -1.0))
    refuse("range", "u64", 2.0 ^ 64)
    refuse("range", "u64", 0.5)
    assert.equal(("\xff"):rep(8), luhip.array("u64", 1, { -1 }):bytes_string())
  end)

  it("of bool are booleans; 1 and 0 are taken for them", function()
    local a = luhip.array("bool", 4, { true, false, 1, 0 })
    assert.same({ true, false, true, false }, a:totable())
    refuse("range", "bool", 2)
    refuse("range", "bool", 0.5)
    refuse("type", "bool", "true")
  end)

  it("of f64 are every Lua number", function()
    for _, value in ipairs { 0.1, -0.0, 1 / 0, -1 / 0, 5e-324, 0x1.fffffffffffffp1023 } do
      assert.equal(value, round_trip("f64", value))
      assert.equal(1 / value, 1 / round_trip("f64", value))
    end
    local nan = round_trip("f64", 0 / 0)
    assert.is_true(nan ~= nan)
    assert.equal(2.0 ^ 53, round_trip("f64", (1 << 53) + 1)) -- the nearest
  end)

  it("of f32 round to nearest even, once", function()
    assert.equal(0x1.99999ap-4, round_trip("f32", 0.1))
    assert.equal(0x1p24, round_trip("f32", (1 << 24) + 1))
    assert.equal(0x1.000004p24, round_trip("f32", (1 << 24) + 3))
    if support.sanitizer ~= "valgrind" then -- whose integers become floats by way of doubles
      -- An integer that a stop at double would round the other way.
      assert.equal(0x1.000002p60, round_trip("f32", (1 << 60) + (1 << 36) + 1))
    end
    assert.equal(0x1p-149, round_trip("f32", 0x1p-149))
    assert.equal(1 / 0, round_trip("f32", 1 / 0))
    refuse("range", "f32", 1e300, "f32")
    refuse("range", "f32", 0x1.ffffffp127)
    assert.equal(0x1.fffffep127, round_trip("f32", 0x1.fffffefp127))
  end)

  it("of f16 round to nearest even, to subnormals and up to 65504", function()
    local expected = {
      { 0.5, 0.5 },
      { 65504, 65504.0 },
      { 65519.99, 65504.0 },
      { 0.1, 0x1.998p-4 },
      { 2049, 2048.0 },
      { 2051, 2052.0 },
      { 2 ^ -24, 2 ^ -24 },
      { 2 ^ -25, 0.0 },
      { 2 ^ -25 * 1.01, 2 ^ -24 },
      { 3 * 2 ^ -25, 2 ^ -23 },
      { 2 ^ -14 - 2 ^ -26, 2 ^ -14 },
      { 1 / 0, 1 / 0 },
      { -1 / 0, -1 / 0 },
    }
    for _, pair in ipairs(expected) do
      assert.equal(pair[2], round_trip("f16", pair[1]))
    end
    assert.equal(-1 / 0, 1 / round_trip("f16", -0.0))
    assert.is_true(round_trip("f16", 0 / 0) ~= round_trip("f16", 0 / 0))
    refuse("range", "f16", 65520)
    refuse("range", "f16", 1e6)
    assert.equal("\x00\x38", luhip.array("f16", 1, { 0.5 }):bytes_string())
  end)

  it("of f16 are the same numbers after all 65536 of them went to Lua and back", function()
    local lows = {}
    for low = 0, 255 do
      lows[low + 1] = string.char(low)
    end
    lows = table.concat(lows)
    local wrong = 0
    for high = 0, 255 do
      local bytes = lows:gsub(".", "%0" .. string.char(high):gsub("%%", "%%%%"))
      local a = luhip.array("f16", 256, bytes)
      local b = luhip.array("f16", 256, a:totable())
      for i = 1, 256 do
        local x, y = a[i], b[i]
        local same = x == y and 1 / x == 1 / y or x ~= x and y ~= y
        wrong = wrong + (same and 0 or 1)
      end
    end
    assert.equal(0, wrong)
  end)

  it("of bf16 round to nearest even, integers too", function()
    assert.equal(1.0, round_trip("bf16", 1 + 2 ^ -8))
    assert.equal(1 + 2 ^ -6, round_trip("bf16", 1 + 3 * 2 ^ -8))
    assert.equal(256.0, round_trip("bf16", 257))
    assert.equal(260.0, round_trip("bf16", 259))
    assert.equal(0x1p-133, round_trip("bf16", 0x1p-133))
    assert.equal(0x1.02p62, round_trip("bf16", (1 << 62) + (1 << 54) + 1))
    refuse("range", "bf16", 0x1.ffp127)
    assert.equal(0x1.fep127, round_trip("bf16", 0x1.fep127))
  end)

  it("of c64 and c128 are {re, im}, or a number", function()
    local a = luhip.array("c128", 3, { { 1, -2.5 }, 3, { 0.1, 0 } })
    assert.same({ { 1.0, -2.5 }, { 3.0, 0.0 }, { 0.1, 0.0 } }, a:totable())
    assert.same({ 0x1.99999ap-4, 0.0 }, round_trip("c64", 0.1))
    refuse("range", "c64", { 1, 1e300 })
    for _, value in ipairs { { 1 }, { 1, 2, 3 }, { 1, "2" }, "i" } do
      refuse("type", "c64", value)
    end
  end)

  it("have the names and sizes of luhip.dtypes", function()
    local bytes = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, i64 = 8, u64 = 8 }
    for name, size in pairs { f16 = 2, bf16 = 2, f32 = 4, f64 = 8, bool = 1, c64 = 8, c128 = 16 } do
      bytes[name] = size
    end
    assert.equal(15, #luhip.dtypes)
    for _, dtype in ipairs(luhip.dtypes) do
      assert.equal(3 * bytes[dtype], luhip.array(dtype, 3).bytes)
    end
  end)
end)
