-- luhip.reduce and luhip.scan.
local luhip = require "luhip"
local support = require "spec.support"

local SIZES = { 1, 2, 31, 256, 257, 1000, 5000, 70001 }

support.each_device(function(id)
  local dev

  before_each(function()
    dev = support.open(id)
  end)

  it("reduce combines all elements of any number", function()
    local sum = luhip.reduce("i32 x", "i64 y", "x", "a + b", "0")
    for _, n in ipairs(SIZES) do
      local x = dev:buffer("i32", n, function(i)
        return i
      end)
      local y = sum(x)
      assert.same({ 1 }, y.shape)
      assert.equal(n * (n + 1) // 2, y:read()[1])
    end
    assert.equal(0, sum(dev:buffer("i32", 0)):read()[1]) -- the identity
  end)

  it("parameters of reduce may be called as the text of the kernels calls its own", function()
    local names = { "a", "b", "k", "r", "part", "mine", "all", "first", "count", "partial", "result", "inner" }
    local x = dev:from("f32", { { 1, 2, 3 }, { 4, 5, 6 } })
    for _, name in ipairs(names) do
      local sum = luhip.reduce("f32 " .. name, "f32 y", name .. " + i - i", "a + b", "0")
      assert.equal(21, sum(x):read()[1], name)
    end
    assert.same({ 6, 15 }, luhip.reduce("f32 part", "f32 y", "part", "a + b", "0")(x, { axis = 2 }):totable())
  end)

  it("reduce maps several inputs, finishes with post, and accumulates in a type of its own", function()
    local norm = luhip.reduce("f32 x, f32 y", "f32 r", "x * y", "a + b", "0", { post = "sqrt(a)", accumulate = "f64" })
    local x = dev:from("f32", { 3, 4 })
    assert.equal(5, norm(x, x):read()[1])
    local largest = luhip.reduce("T x", "T y", "x", "a > b ? a : b", "-1000")
    assert.equal(7, largest(dev:from("i32", { -5, 7, 2 })):read()[1])
    assert.equal(2.5, largest(dev:from("f64", { -5, 2.5, 2 })):read()[1])
    local mean = luhip.reduce("f32 x", "f32 y", "x", "a + b", "0", { post = "a / n" })
    assert.equal(2.5, mean(dev:from("f32", { 1, 2, 3, 4 })):read()[1])
    local where = luhip.reduce("raw f32 table, i32 x", "f32 y", "table[x] * (i + 1)", "a + b", "0")
    assert.equal(20 * 1 + 10 * 2, where(dev:from("f32", { 10, 20 }), dev:from("i32", { 1, 0 })):read()[1])
  end)

  it("reduce along an axis leaves the others", function()
    local sum = luhip.reduce("i32 x", "i32 y", "x", "a + b", "0")
    local m = dev:from("i32", { { 1, 2, 3 }, { 4, 5, 6 } })
    assert.same({ 5, 7, 9 }, sum(m, { axis = 1 }):totable())
    assert.same({ 6, 15 }, sum(m, { axis = 2 }):totable())
    assert.same({ 5, 7, 9 }, sum(m:transpose(), { axis = 2 }):totable())
    local cube = dev:buffer("i32", { 2, 3, 4 }, function(i)
      return i
    end)
    local y = sum(cube, { axis = 2 })
    assert.same({ 2, 4 }, y.shape)
    assert.same({ { 15, 18, 21, 24 }, { 51, 54, 57, 60 } }, y:totable())
    local wide = dev:buffer("i32", { 3, 1000 }, 1)
    local given = dev:buffer("i32", 3)
    assert.is_true(rawequal(given, sum(wide, given, { axis = 2 })))
    assert.same({ 1000, 1000, 1000 }, given:totable())
  end)

  it("reduce says what is wrong with a call", function()
    local dot = luhip.reduce("f32 x, f32 y", "f32 r", "x * y", "a + b", "0")
    local x = dev:buffer("f32", 4, 1)
    support.assert_error_kind("shape", function()
      dot(x, dev:buffer("f32", 5, 1))
    end, "'y'", "[5]", "[4]")
    support.assert_error_kind("type", function()
      dot(x)
    end, "'y'", "missing")
    support.assert_error_kind("range", function()
      dot(x, x, { axis = 2 })
    end, "axis 2", "1..1")
    support.assert_error_kind("argument", function()
      dot(x, x, { axes = 2 })
    end, "axes")
    support.assert_error_kind("shape", function()
      dot(x, x, dev:buffer("f32", 2))
    end, "2 elements, not 1")
    support.assert_error_kind("compile", function()
      luhip.reduce("f32 x", "f32 r", "x", "a +", "0")(x)
    end)
    assert.matches("static __device__ luhip_value luhip_map(const float x, const float y,", dot:source(x, x), 1, true)
  end)

  it("scan combines each element with those before it", function()
    local sums = luhip.scan("T", "a + b", "0")
    local before = luhip.scan("i32", "a + b", "0", { exclusive = true })
    for _, n in ipairs(SIZES) do
      local x = dev:buffer("i32", n, 2)
      local y, z = sums(x):read(), before(x):read()
      for _, i in ipairs { 1, 2, n // 2 + 1, n - 1, n } do
        if i >= 1 and i <= n then
          assert.equal(2 * i, y[i], n)
          assert.equal(2 * (i - 1), z[i], n)
        end
      end
    end
    assert.same({ 1, 3, 6 }, sums(dev:from("f64", { 1, 2, 3 })):totable())
    assert.equal(0, sums(dev:buffer("i32", 0)).count)
  end)

  it("scan keeps the order, so that the operation need not be commutative", function()
    -- (m, c) stands for x -> m x + c over 16 bits each; composing such is associative only.
    local compose = luhip.scan("u32", "compose(a, b)", "1u", {
      preamble = [[
static __device__ unsigned compose(unsigned a, unsigned b) {
  const unsigned am = a & 255, ac = a >> 8 & 255, bm = b & 255, bc = b >> 8 & 255;
  return (am * bm & 255) | ((bm * ac + bc & 255) << 8);
}]],
    })
    local n = 3000
    local x = dev:buffer("u32", n, function(i)
      return (2 * (i * 7 % 128) + 1) | (i * 13 % 256) << 8
    end)
    local y = compose(x):read()
    local m, c = 1, 0
    for i = 1, n do
      local bm, bc = 2 * (i * 7 % 128) + 1, i * 13 % 256
      m, c = m * bm & 255, bm * c + bc & 255
      assert.equal(m | c << 8, y[i])
    end
  end)

  it("scan works in place, of any shape, and says what is wrong", function()
    local sums = luhip.scan("i32", "a + b", "0")
    local x = dev:buffer("i32", { 2, 2000 }, 1)
    assert.is_true(rawequal(x, sums(x, x)))
    assert.equal(4000, x:read()[4000])
    support.assert_error_kind("type", function()
      sums(dev:buffer("f32", 3, 0))
    end, "f32")
    support.assert_error_kind("shape", function()
      sums(dev:buffer("i32", 3, 0), dev:buffer("i32", 4))
    end)
    support.assert_error_kind("type", function()
      sums(7)
    end, "buffer")
    assert.matches("a + b", sums:source(x), 1, true)
    assert.equal("luhip.scan: scan of i32: a + b from 0", tostring(sums))
  end)
end)

describe("luhip.reduce and luhip.scan", function()
  it("name an expression that is missing or none", function()
    for text, call in pairs {
      ["reduce: identity is an expression, not nothing"] = function()
        luhip.reduce("f32 x", "f32 y", "x", "a + b")
      end,
      ["reduce: map is an expression, not 5"] = function()
        luhip.reduce("f32 x", "f32 y", 5, "a + b", "0")
      end,
      ["scan: the identity is an expression, not a table"] = function()
        luhip.scan("f32", "a + b", {})
      end,
      ["random: the seed is a whole number, not 'a'"] = function()
        luhip.random "a"
      end,
    } do
      support.assert_error_kind("type", call, text)
    end
  end)

  it("refuse a name that is a word of C++, for parameters and for fields and structs", function()
    for text, call in pairs {
      ["a parameter cannot be called 'int', a word of C++"] = function()
        luhip.elementwise("f32 int", "f32 y", "y = int")
      end,
      ["struct: 'class' is no name for field 1 of struct p: it is a word of C++"] = function()
        luhip.struct("p", { { "class", "f32" } })
      end,
      ["struct: 'union' is no name for a struct: it is a word of C++"] = function()
        luhip.struct("union", { { "x", "f32" } })
      end,
    } do
      support.assert_error_kind("argument", call, text)
    end
  end)

  it("name what is wrong with a declaration", function()
    support.assert_error_kind("argument", function()
      luhip.reduce("f32 x", "f32 y, f32 z", "x", "a + b", "0")
    end, "one output")
    support.assert_error_kind("argument", function()
      luhip.reduce("raw f32 x", "f32 y", "1", "a + b", "0")
    end, "how many")
    support.assert_error_kind("type", function()
      luhip.reduce("f32 x", "f32 y", "x", "a + b")
    end, "identity")
    support.assert_error_kind("argument", function()
      luhip.reduce("f32 x", "f32 y", "x", "a + b", "0", { accumulate = "f99" })
    end, "f99")
    support.assert_error_kind("argument", function()
      luhip.scan("f99", "a + b", "0")
    end, "f99")
    support.assert_error_kind("type", function()
      luhip.scan("f32", "a + b", "0", { exclusive = 1 })
    end, "exclusive")
    support.assert_error_kind("argument", function()
      luhip.scan("f32", "a + b", "0", { inclusive = true })
    end, "inclusive")
  end)
end)
