-- Host arrays: making, indexing, changing, giving back. No device is needed.

local luhip = require "luhip"
local support = require "spec.support"

local function fails(kind, fn, ...)
  return support.assert_error_kind(kind, fn, ...)
end

describe("a host array", function()
  it("is zeroed, and knows its dtype, shape, count and bytes", function()
    local a = luhip.array("f32", { 2, 3 })
    assert.same({ "f32", { 2, 3 }, 6, 24, 6 }, { a.dtype, a.shape, a.count, a.bytes, #a })
    assert.same({ { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0 } }, a:totable())
    assert.is_false(a.pinned)
  end)

  it("is indexed in row-major order from 1", function()
    local a = luhip.array("i32", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } })
    assert.equal(1, a[1])
    assert.equal(4, a[4])
    assert.equal(6, a[6.0])
    a[5] = -7
    assert.same({ { 1, 2, 3 }, { 4, -7, 6 } }, a:totable())
  end)

  it("ends ipairs, and refuses every other index outside", function()
    local sum = 0
    for _, v in ipairs(luhip.array("i32", 4, { 1, 2, 3, 4 })) do
      sum = sum + v
    end
    assert.equal(10, sum)
    local a = luhip.array("i32", 4)
    for _, i in ipairs { 0, -1, 6, 1.5, math.mininteger, math.maxinteger, 0 / 0 } do
      fails("range", function()
        return a[i]
      end, "1..4")
      fails("range", function()
        a[i] = 1
      end, "1..4")
    end
    fails("range", function()
      a[5] = 1
    end)
    fails("type", function()
      a.foo = 1
    end, "foo")
    fails("argument", function()
      return a.foo
    end, "luhip.array has no field or method 'foo'")
  end)

  it("is made from nested and flat tables, strings, arrays, functions and numbers", function()
    local shape = { 2, 2 }
    local expected = { { 1, 2 }, { 3, 4 } }
    local nested = luhip.array("u8", shape, expected)
    assert.same(expected, nested:totable())
    assert.same(expected, luhip.array("u8", shape, { 1, 2, 3, 4 }):totable())
    assert.same(expected, luhip.array("u8", shape, "\1\2\3\4"):totable())
    assert.same(expected, luhip.array("u8", shape, nested):totable())
    assert.same(
      expected,
      luhip
        .array("u8", shape, function(i)
          return i
        end)
        :totable()
    )
    assert.same({ { 9, 9 }, { 9, 9 } }, luhip.array("u8", shape, 9):totable())
    assert.equal("\1\2\3\4", nested:bytes_string())
  end)

  it("names the row of a ragged table, and the element that is wrong", function()
    local function make(shape, data)
      return function()
        luhip.array("i32", shape, data)
      end
    end
    fails("shape", make({ 2, 2 }, { { 1, 2 }, { 3 } }), "row [2]", "1 element")
    fails("shape", make({ 2, 2 }, { { 1, 2 }, { 3, 4, 5 } }), "row [2]", "3 elements")
    fails("shape", make({ 2, 2, 2 }, { { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7 } } }), "row [2][2]")
    fails("shape", make({ 2, 2 }, { { 1, 2 }, 3 }), "row [2]", "number")
    fails("shape", make({ 2, 2 }, { 1, 2, 3 }), "3 elements", "4")
    fails("shape", make(2, {}), "0 elements")
    fails("shape", make(2, "12345678901"), "11 bytes")
    fails("shape", make(4, luhip.array("i32", 3)))
    fails("type", make(4, luhip.array("u32", 4)), "u32[4]", "i32[4]")
    fails("type", make({ 2, 2 }, { { 1, 2 }, { 3, "4" } }), "element [2][2]", "string")
    fails("type", make(3, { 1, nil, 3 }), "element [2]", "nil")
    fails("range", make({ 2, 2 }, { { 1, 2 }, { 3, 2 ^ 40 } }), "element [2][2]")
    fails("type", make(2, function() end), "element [1]", "nil")
    fails("type", make(2, io.stdout), "FILE*")
    fails("type", make(2, coroutine.create(print)), "thread")
  end)

  it("takes complex pairs nested and flat", function()
    local pairs4 = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }
    local flat = luhip.array("c64", { 2, 2 }, pairs4)
    assert.same({ { { 1.0, 2.0 }, { 3.0, 4.0 } }, { { 5.0, 6.0 }, { 7.0, 8.0 } } }, flat:totable())
    assert.same(flat:totable(), luhip.array("c64", { 2, 2 }, flat:totable()):totable())
    local rows = luhip.array("c64", { 2, 2 }, { { 1, 2 }, { 3, 4 } })
    assert.same({ { { 1.0, 0.0 }, { 2.0, 0.0 } }, { { 3.0, 0.0 }, { 4.0, 0.0 } } }, rows:totable())
    assert.same({ { 1.0, 2.0 }, { 3.0, 4.0 } }, luhip.array("c64", 2, { { 1, 2 }, { 3, 4 } }):totable())
  end)

  it("maps in place", function()
    local a = luhip.array("i32", 3, { 1, 2, 3 })
    local same = a:map(function(v, i)
      return v * 10 + i
    end)
    assert.equal(a, same)
    assert.same({ 11, 22, 33 }, a:totable())
    fails("range", function()
      a:map(function()
        return 0.5
      end)
    end, "element [1]", "i32")
    fails("type", function()
      a:map(5)
    end)
  end)

  it("is written as a whole", function()
    local a = luhip.array("i32", { 2, 2 })
    a:write { { 1, 2 }, { 3, 4 } }
    assert.same({ { 1, 2 }, { 3, 4 } }, a:totable())
    a:write(a)
    assert.same({ { 1, 2 }, { 3, 4 } }, a:totable())
    fails("shape", function()
      a:write { 1 }
    end)
  end)

  it("may be empty", function()
    for _, shape in ipairs { 0, { 0 }, { 3, 0 }, { 0, 3 } } do
      local a = luhip.array("f64", shape, {})
      assert.equal(0, #a)
      assert.equal("", a:bytes_string())
      assert.is_nil(a[1])
    end
    assert.same({ {}, {}, {} }, luhip.array("f64", { 3, 0 }):totable())
  end)

  it("refuses shapes that are none", function()
    local function shape(kind, value, ...)
      fails(kind, function()
        luhip.array("f32", value)
      end, ...)
    end
    shape("range", -1, "-1")
    shape("argument", 1.5, "1.5")
    shape("range", 1e30)
    shape("argument", 0 / 0)
    shape("type", "4")
    shape("type", nil)
    shape("type", { 1, "2" }, "dimension 2")
    shape("range", { 2, -3 }, "dimension 2", "-3")
    shape("argument", { 2, 0.5 }, "dimension 2")
    shape("shape", {})
    shape("shape", { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, "9")
    shape("too_big", { 1 << 40, 1 << 40 })
    shape("too_big", math.maxinteger)
    fails("argument", function()
      luhip.array("f31", 1)
    end, "f31", "f32")
    fails("type", function()
      luhip.array(1, 1)
    end)
  end)

  it("says it was freed, whatever is asked of it", function()
    local a = luhip.array("f32", 4)
    a:free()
    a:free()
    local uses = {
      function()
        return a[1]
      end,
      function()
        a[1] = 1
      end,
      function()
        return #a
      end,
      function()
        return a.shape
      end,
      function()
        a:totable()
      end,
      function()
        a:bytes_string()
      end,
      function()
        a:map(print)
      end,
      function()
        a:write { 1, 2, 3, 4 }
      end,
      function()
        luhip.array("f32", 4, a)
      end,
    }
    for _, use in ipairs(uses) do
      fails("freed", use)
    end
    assert.equal("luhip.array (freed)", tostring(a))
  end)

  it("survives being freed by the function that fills or maps it", function()
    local a = luhip.array("f32", 4)
    fails("freed", function()
      a:map(function(v)
        a:free()
        return v
      end)
    end)
    local b = luhip.array("f32", 4)
    fails("freed", function()
      b:write(function(i)
        b:free()
        return i
      end)
    end)
  end)

  it("is closed by the end of its scope", function()
    local kept
    do
      local a <close> = luhip.array("f32", 4)
      kept = a
    end
    assert.equal("luhip.array (freed)", tostring(kept))
  end)
end)
