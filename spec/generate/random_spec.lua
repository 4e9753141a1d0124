-- luhip.random: Philox, the same on every device.
local luhip = require "luhip"
local support = require "spec.support"

-- The generator once more, in Lua: two 64-bit numbers for an index.
local function philox(seed, index)
  local c0, c1, c2, c3 = index & 0xffffffff, index >> 32, 0, 0
  local k0, k1 = seed & 0xffffffff, seed >> 32
  for _ = 1, 10 do
    local p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
    c0, c1, c2, c3 = (p1 >> 32) ~ c1 ~ k0, p1 & 0xffffffff, (p0 >> 32) ~ c3 ~ k1, p0 & 0xffffffff
    k0, k1 = k0 + 0x9E3779B9 & 0xffffffff, k1 + 0xBB67AE85 & 0xffffffff
  end
  return c1 << 32 | c0, c3 << 32 | c2
end

describe("Philox 4x32-10", function()
  it("gives what Random123 publishes for a key and a counter of zeros", function()
    local low, high = philox(0, 0)
    assert.equal(0xe169c58d6627e8d5, low)
    assert.equal(0x9b00dbd8bc57ac4c, high)
  end)
end)

support.each_device(function(id)
  local dev

  before_each(function()
    dev = support.open(id)
  end)

  it("integers are the generator's own bits", function()
    local seed = 0x123456789abcdef
    local x = luhip.random(seed):integers(dev, "i64", 7, math.mininteger, math.maxinteger)
    local y = x:read()
    for i = 1, 7 do
      local bits = select((i - 1) % 2 + 1, philox(seed, (i - 1) // 2))
      assert.equal(bits ~ math.mininteger, y[i]) -- low + bits, low = -2^63
    end
  end)

  it("uniform numbers are the generator's bits as fractions", function()
    local rng = luhip.random(5)
    local y = rng:uniform(dev, "f64", 5):read()
    for i = 1, 5 do
      local bits = select((i - 1) % 2 + 1, philox(5, (i - 1) // 2))
      assert.equal((bits >> 11) * 2.0 ^ -53, y[i])
    end
    local z = rng:uniform(dev, "f32", 4):read() -- goes on after three pairs
    for i = 1, 4 do
      local bits = select((i - 1) % 2 + 1, philox(5, 3 + (i - 1) // 2))
      assert.equal((bits >> 40) * 2.0 ^ -24, z[i])
    end
  end)

  it("a seed gives the same numbers again, however they are asked for", function()
    local a, b = luhip.random(9), luhip.random(9)
    local whole = a:uniform(dev, "f32", 1000):read()
    local first, second = b:uniform(dev, "f32", 400):read(), b:uniform(dev:buffer("f32", 600)):read()
    for i = 1, 400 do
      assert.equal(whole[i], first[i])
    end
    for i = 1, 600 do
      assert.equal(whole[400 + i], second[i])
    end
    b.drawn = 0
    assert.same(whole:totable(), b:uniform(dev, "f32", 1000):read():totable())
    assert.not_same(whole:totable(), luhip.random(10):uniform(dev, "f32", 1000):read():totable())
  end)

  it("normal numbers are the same to the last bit everywhere", function()
    local expected = {
      -0x1.05c318a128e96p-1,
      -0x1.07932256986ecp+1,
      -0x1.21f3a8b5765cdp+0,
      -0x1.b113fbe918962p+0,
      0x1.1f9ffad06c90ep+0,
      -0x1.34cf97547217fp-1,
    }
    local y = luhip.random(1):normal(dev, "f64", #expected):read()
    for i, value in ipairs(expected) do
      assert.equal(value, y[i])
      local first, second = philox(1, (i - 1) // 2)
      local radius = math.sqrt(-2 * math.log(1 - (first >> 11) * 2.0 ^ -53))
      local angle = 2 * math.pi * ((second >> 11) * 2.0 ^ -53)
      local exact = radius * (i % 2 == 1 and math.cos(angle) or math.sin(angle))
      assert.is_true(math.abs(value - exact) < 1e-14) -- the C library's may differ in the last bits
    end
    local single = luhip.random(1):normal(dev, "f32", 4):read()
    for i = 1, 4 do
      assert.equal(string.unpack("f", string.pack("f", expected[i])), single[i])
    end
  end)

  it("the numbers have the moments and bounds of their distribution", function()
    local n = 20000
    local rng = luhip.random(77)
    local function moments(array)
      local sum, squares, low, high = 0, 0, math.huge, -math.huge
      for i = 1, n do
        local v = array[i]
        sum, squares, low, high = sum + v, squares + v * v, math.min(low, v), math.max(high, v)
      end
      return sum / n, squares / n - (sum / n) ^ 2, low, high
    end
    local mean, variance, low, high = moments(rng:uniform(dev, "f32", n, -1, 3):read())
    assert.is_true(math.abs(mean - 1) < 0.04 and math.abs(variance - 16 / 12) < 0.05)
    assert.is_true(low >= -1 and high < 3)
    mean, variance, low, high = moments(rng:normal(dev, "f32", n, 10, 2):read())
    assert.is_true(math.abs(mean - 10) < 0.07 and math.abs(variance - 4) < 0.2)
    assert.is_true(low > 0 and low < 5 and high > 15 and high < 20)
    mean, variance, low, high = moments(rng:integers(dev, "i32", n, 1, 6):read())
    assert.is_true(math.abs(mean - 3.5) < 0.06 and math.abs(variance - 35 / 12) < 0.1)
    assert.is_true(low == 1 and high == 6)
  end)

  it("says what it cannot do", function()
    local rng = luhip.random()
    support.assert_error_kind("type", function()
      rng:uniform(dev, "i32", 4)
    end, "i32")
    support.assert_error_kind("type", function()
      rng:integers(dev, "f32", 4, 1, 2)
    end, "f32")
    support.assert_error_kind("range", function()
      rng:integers(dev, "u8", 4, 0, 256)
    end, "u8")
    support.assert_error_kind("range", function()
      rng:integers(dev, "i32", 4, 2, 1)
    end)
    support.assert_error_kind("type", function()
      rng:integers(dev, "i32", 4, 1.5, 2)
    end, "1.5")
    support.assert_error_kind("range", function()
      rng:normal(dev, "f32", 4, 0, -1)
    end, "-1")
    support.assert_error_kind("type", function()
      rng:uniform(dev, "f32", 4, 0, 0 / 0)
    end, "nan")
    support.assert_error_kind("argument", function()
      rng:uniform(dev, "f32")
    end, "shape")
    support.assert_error_kind("type", function()
      rng:uniform(5)
    end)
    support.assert_error_kind("type", function()
      luhip.random "x"
    end)
    support.assert_error_kind("argument", function()
      rng:source("uniform", "i32")
    end)
    assert.matches("luhip_philox", rng:source("normal", "f64"), 1, true)
    assert.equal(0, rng.drawn)
    assert.equal(0, rng:uniform(dev, "f32", 0).count)
  end)
end)
