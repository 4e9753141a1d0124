-- Views of buffers: the arithmetic of layouts, and what each gives when it is read.

local support = require "spec.support"

local fails = support.assert_error_kind

support.each_device(function(id)
  local dev, m
  before_each(function()
    dev = support.open(id)
    m = dev:from("i32", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } })
  end)

  it("slice takes elements of a 1-D buffer and rows of others", function()
    local x = dev:from("f32", { 1, 2, 3, 4 })
    assert.same({ 2.0, 3.0 }, x:slice(2, 3):totable())
    assert.same({ 4.0 }, x:slice(4):totable())
    assert.same({ { 5, 6, 7, 8 }, { 9, 10, 11, 12 } }, m:slice(2, 3):totable())
    assert.same({ { 9, 10, 11, 12 } }, m:slice(2):slice(2):totable())
  end)

  it("slice(i, i - 1) is empty", function()
    local x = dev:from("f32", { 1, 2, 3, 4 })
    for i = 1, 5 do
      assert.equal(0, #x:slice(i, i - 1))
      assert.same({}, x:slice(i, i - 1):totable())
    end
    assert.same({ 0, 4 }, m:slice(4, 3).shape)
  end)

  it("ranges outside, fractions and strings are refused and named", function()
    local wrong = {
      { "range", "first", 0, 1 },
      { "range", "last", 1, 4 },
      { "range", "last", 3, 1 },
      { "range", "first", 5, 4 },
      { "range", "first", -1, 2 },
      { "range", "last", 1, math.mininteger },
      { "range", "first", math.maxinteger, math.maxinteger },
      { "argument", "first", 1.5, 2 },
      { "argument", "last", 1, 2.5 },
      { "range", "last", 1, 1e30 },
      { "type", "first", "1", 2 },
      { "type", "last", 1, {} },
      { "type", "last", 1, true },
    }
    for _, case in ipairs(wrong) do
      fails(case[1], function()
        m:slice(case[3], case[4])
      end, "buffer:slice", case[2])
    end
    fails("range", function()
      m:row(0)
    end, "row")
    fails("range", function()
      m:row(4)
    end)
    fails("range", function()
      m:columns(1, 5)
    end)
  end)

  it("row drops the first dimension", function()
    assert.same({ 5, 6, 7, 8 }, m:row(2):totable())
    local t = dev:from("i32", { { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } })
    assert.same({ { 5, 6 }, { 7, 8 } }, t:row(2):totable())
    assert.same({ 7, 8 }, t:row(2):row(2):totable())
    fails("shape", function()
      dev:buffer("i32", 4):row(1)
    end)
  end)

  it("columns keep the strides", function()
    local c = m:columns(2, 3)
    assert.same({ { 3, 2 }, { 4, 1 } }, { c.shape, c.strides })
    assert.is_false(c.is_contiguous)
    assert.same({ { 2, 3 }, { 6, 7 }, { 10, 11 } }, c:totable())
    assert.same({ { 4 }, { 8 }, { 12 } }, m:columns(4):totable())
    c:write { { 0, 0 }, { 0, 0 }, { 0, 0 } }
    assert.same({ { 1, 0, 0, 4 }, { 5, 0, 0, 8 }, { 9, 0, 0, 12 } }, m:totable())
    c:fill(-1)
    assert.same({ 1, -1, -1, 4 }, m:row(1):totable())
  end)

  it("reshape gives the same elements another shape", function()
    assert.same({ { 1, 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11, 12 } }, m:reshape({ 2, 6 }):totable())
    assert.same({ 12 }, m:reshape(12).shape)
    assert.same({ { 9, 10 }, { 11, 12 } }, m:slice(3):reshape({ 2, 2 }):totable())
    fails("shape", function()
      m:reshape { 5, 2 }
    end, "12 elements", "10")
    fails("shape", function()
      m:columns(1, 2):reshape(6)
    end, "contiguous")
    fails("range", function()
      m:reshape { -1, 12 }
    end)
  end)

  it("C4 a transposed view is read and written through contiguous only", function()
    local t = m:transpose()
    assert.same({ { 4, 3 }, { 1, 4 } }, { t.shape, t.strides })
    for _, use in ipairs { "read", "totable", "bytes_string", "read_async" } do
      fails("unsupported_strides", function()
        t[use](t)
      end)
    end
    fails("unsupported_strides", function()
      t:write(dev:buffer("i32", { 4, 3 }, 0):read())
    end)
    fails("unsupported_strides", function()
      dev:read { m, t }
    end)
    assert.same({ { 1, 5, 9 }, { 2, 6, 10 }, { 3, 7, 11 }, { 4, 8, 12 } }, t:contiguous():totable())
    assert.same(m:totable(), t:transpose():totable())
    assert.same({ 1, 2, 3 }, dev:from("i32", { 1, 2, 3 }):transpose():totable())
  end)

  it("contiguous is the buffer itself, or a copy", function()
    assert.equal(m, m:contiguous())
    local c = m:columns(2, 3):contiguous()
    assert.same({ 2, 1 }, c.strides)
    m:fill(0)
    assert.same({ { 2, 3 }, { 6, 7 }, { 10, 11 } }, c:totable())
    local data = {}
    for i = 1, 2 * 3 * 4 do
      data[i] = i
    end
    local t = dev:buffer("i32", { 2, 3, 4 }, data):transpose():contiguous()
    assert.same({ 4, 3, 2 }, t.shape)
    for k = 1, 4 do
      for j = 1, 3 do
        for i = 1, 2 do
          assert.equal((i - 1) * 12 + (j - 1) * 4 + k, t:row(k):totable()[j][i])
        end
      end
    end
    assert.same(
      { { 6, 10 }, { 7, 11 } },
      m:fill(0)
        and dev
          :from("i32", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } })
          :slice(2, 3)
          :columns(2, 3)
          :transpose()
          :contiguous()
          :totable()
    )
  end)

  it("a view of no elements or one row is contiguous whatever its strides", function()
    assert.same({}, m:transpose():slice(1, 0):contiguous():totable())
    assert.same({ { 2, 3 } }, m:slice(1, 1):columns(2, 3):totable())
  end)

  it("view reads the same bytes as another dtype", function()
    local x = dev:from("u32", { 0x3f800000, 0x40000000 })
    assert.same({ 1.0, 2.0 }, x:view("f32"):totable())
    assert.same({ 4 }, x:view("u16").shape)
    assert.same({ 0, 0x3f80, 0, 0x4000 }, x:view("u16"):totable())
    assert.same({ 1 }, x:view("u64").shape)
    assert.same({ 3, 2 }, m:view("u64").shape)
    assert.same({ 3, 16 }, m:view("u8").shape)
    local bytes = m:columns(2, 3):view "u8"
    assert.same({ { 3, 8 }, { 16, 1 } }, { bytes.shape, bytes.strides })
    x:view("u8"):fill(0)
    assert.same({ 0, 0 }, x:totable())
    fails("shape", function()
      dev:buffer("u8", 6):view "u32"
    end)
    fails("shape", function()
      dev:buffer("u8", 9):slice(2, 9):view "u64"
    end)
    fails("shape", function()
      m:transpose():view "u8"
    end)
    fails("argument", function()
      m:view "int"
    end, "int")
  end)

  it("astype converts as C does, and refuses what does not fit", function()
    assert.same({ 1, -2, 3 }, dev:from("f32", { 1.9, -2.9, 3 }):astype("i32"):totable())
    assert.same({ 1.0, 2.0 }, dev:from("i64", { 1, 2 }):astype("f64"):totable())
    assert.same({ true, false, true }, dev:from("f32", { 0.5, 0, 0 / 0 }):astype("bool"):totable())
    assert.same({ 1, 0 }, dev:from("bool", { true, false }):astype("u8"):totable())
    assert.same({ { 5.0, 0.0 } }, dev:from("i8", { 5 }):astype("c64"):totable())
    assert.same({ { 1, 5 }, { 2, 6 } }, m:slice(1, 2):columns(1, 2):transpose():astype("u8"):totable())
    assert.same({ math.mininteger }, dev:from("f64", { 2 ^ 63 }):astype("u64"):totable())
    assert.same({ 2.0 ^ 64 }, dev:from("u64", { -1 }):astype("f64"):totable())
    for _, case in ipairs {
      { "i32", 300, "u8" },
      { "i64", -1, "u64" },
      { "u64", -1, "i64" },
      { "f32", 0 / 0, "i32" },
      { "f32", 1 / 0, "i64" },
      { "f64", 1e300, "f32" },
      { "f32", 1e6, "f16" },
      { "c64", { 1, 1 }, "f32" },
    } do
      fails("range", function()
        dev:from(case[1], { case[2] }):astype(case[3])
      end, "element [1]", case[3])
    end
  end)

  it("pitched buffers have the same methods", function()
    local p = dev:pitched("i32", { 3, 5 }, { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 }, { 11, 12, 13, 14, 15 } })
    assert.same({ 3, 5 }, p.shape)
    assert.is_true(p.strides[1] >= 5)
    assert.same({ { 6, 7, 8, 9, 10 } }, p:slice(2, 2):totable())
    assert.same({ 11, 12, 13, 14, 15 }, p:row(3):totable())
    assert.same({ { 2, 3 }, { 7, 8 }, { 12, 13 } }, p:columns(2, 3):totable())
    p:write({ { 0, 0, 0, 0, 0 } }, 2)
    local packed = p:contiguous()
    assert.same({ 5, 1 }, packed.strides)
    assert.same({ { 1, 2, 3, 4, 5 }, { 0, 0, 0, 0, 0 }, { 11, 12, 13, 14, 15 } }, packed:totable())
    p:copy(packed:fill(4))
    assert.same({ 4, 4, 4, 4, 4 }, p:row(2):totable())
  end)

  it("views keep the memory alive, and outlive what they view", function()
    local x = dev:from("i32", { 1, 2, 3, 4 })
    local view = x:slice(2, 3)
    x = nil
    collectgarbage()
    collectgarbage()
    assert.same({ 2, 3 }, view:totable())
    assert.is_nil(x)
  end)

  it("A3 views share their bytes", function()
    m:row(2):fill(0)
    m:reshape(12):slice(1, 2):write { 7, 7 }
    assert.same({ { 7, 7, 3, 4 }, { 0, 0, 0, 0 }, { 9, 10, 11, 12 } }, m:totable())
  end)
end)
