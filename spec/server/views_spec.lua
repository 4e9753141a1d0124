-- Views held against a model in Lua: which elements each has and in which order, whatever is read, written, copied or
-- converted through it; and what no single copy serves is refused.

local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

-- A view in the model: elements of a list, by shape and strides from an offset. Only the arithmetic is shared with what
-- is tested, not the code.
local Model = {}
Model.__index = Model

local function model(data, shape, strides, offset)
  return setmetatable({ data = data, shape = shape, strides = strides, offset = offset or 0 }, Model)
end

local function packed_strides(shape)
  local strides, stride = {}, 1
  for i = #shape, 1, -1 do
    strides[i] = stride
    stride = stride * shape[i]
  end
  return strides
end

-- Calls fn with each place in the data, in order.
function Model:each(fn)
  local function walk(dimension, at)
    if dimension > #self.shape then
      fn(at + 1)
      return
    end
    for i = 0, self.shape[dimension] - 1 do
      walk(dimension + 1, at + i * self.strides[dimension])
    end
  end
  walk(1, self.offset)
end

function Model:list()
  local list = {}
  self:each(function(at)
    list[#list + 1] = self.data[at]
  end)
  return list
end

local function with(list, i, value)
  local copy = { table.unpack(list) }
  copy[i] = value
  return copy
end

function Model:slice(first, last)
  local offset = self.offset + (first - 1) * self.strides[1]
  return model(self.data, with(self.shape, 1, last - first + 1), self.strides, offset)
end

function Model:row(i)
  local part = self:slice(i, i)
  return model(part.data, { table.unpack(part.shape, 2) }, { table.unpack(part.strides, 2) }, part.offset)
end

function Model:columns(first, last)
  local n = #self.shape
  local offset = self.offset + (first - 1) * self.strides[n]
  return model(self.data, with(self.shape, n, last - first + 1), self.strides, offset)
end

function Model:transpose()
  local shape, strides = {}, {}
  for i = 1, #self.shape do
    shape[i] = self.shape[#self.shape + 1 - i]
    strides[i] = self.strides[#self.shape + 1 - i]
  end
  return model(self.data, shape, strides, self.offset)
end

local function flatten(table_or_value, list)
  list = list or {}
  if type(table_or_value) ~= "table" then
    list[#list + 1] = table_or_value
    return list
  end
  for _, inner in ipairs(table_or_value) do
    flatten(inner, list)
  end
  return list
end

-- The same views of a buffer and of its model, by name.
local VIEWS_2D = {
  { "the whole", {} },
  { "rows", { { "slice", 2, 3 } } },
  { "columns", { { "columns", 2, 4 } } },
  { "one column", { { "columns", 3, 3 } } },
  { "the last column", { { "columns", 6, 6 } } },
  { "rows of columns", { { "columns", 1, 2 }, { "slice", 2, 4 } } },
  { "columns of rows", { { "slice", 2, 4 }, { "columns", 5, 6 } } },
  { "one row", { { "row", 3 } } },
  { "part of a row", { { "row", 3 }, { "slice", 2, 5 } } },
  { "one element", { { "slice", 4, 4 }, { "columns", 2, 2 } } },
}
local STRIDED_2D = {
  { "the transpose", { { "transpose" } } },
  { "rows of the transpose", { { "transpose" }, { "slice", 2, 4 } } },
  { "columns of the transpose", { { "transpose" }, { "columns", 2, 3 } } },
}
local VIEWS_3D = {
  { "the whole", {} },
  { "one plane", { { "row", 2 } } },
  { "planes", { { "slice", 2, 2 } } },
  { "a row", { { "row", 2 }, { "row", 3 } } },
  { "columns", { { "columns", 2, 3 } } },
  { "columns of a plane", { { "row", 2 }, { "columns", 1, 2 } } },
  { "rows of a plane", { { "row", 1 }, { "slice", 2, 3 } } },
}

local function apply(target, steps)
  for _, step in ipairs(steps) do
    target = target[step[1]](target, table.unpack(step, 2))
  end
  return target
end

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  -- A buffer 1, 2, 3, ... packed or pitched, and the model of its elements.
  local function numbered(shape, make, dtype)
    local buffer = dev[make](dev, dtype or "i32", shape, function(i)
      return i
    end)
    local data, n = {}, 1
    for _, size in ipairs(shape) do
      n = n * size
    end
    for i = 1, n do
      data[i] = i
    end
    return buffer, model(data, shape, packed_strides(shape))
  end

  for _, make in ipairs { "buffer", "pitched" } do
    for _, case in ipairs { { { 4, 6 }, VIEWS_2D }, { { 2, 3, 4 }, VIEWS_3D } } do
      local shape, views = case[1], case[2]
      for _, view in ipairs(views) do
        local name = ("%s of a %s %d-D buffer"):format(view[1], make == "pitched" and "pitched" or "packed", #shape)

        it("C4 " .. name .. " is read, written, filled and copied in the order of its elements", function()
          local buffer, expected = numbered(shape, make)
          local part, wanted = apply(buffer, view[2]), apply(expected, view[2])
          local list = wanted:list()
          assert.same(wanted.shape, part.shape)
          assert.same(list, flatten(part:totable()))
          assert.same(list, flatten(part:contiguous():totable()))
          assert.same(list, part:read_into(luhip.array("i32", #list)):totable())
          assert.same(list, flatten(part:astype("f64"):totable()))
          local count = 0
          wanted:each(function(at)
            count = count + 1
            wanted.data[at] = -count
          end)
          local negative = {}
          for i = 1, count do
            negative[i] = -i
          end
          part:write(negative)
          assert.same(expected:list(), flatten(buffer:totable()))
          part:fill(77)
          wanted:each(function(at)
            wanted.data[at] = 77
          end)
          assert.same(expected:list(), flatten(buffer:totable()))
          local copy = dev:buffer("i32", part.shape):copy(part)
          part:copy(dev:buffer("i32", part.shape, function(i)
            return 100 + i
          end))
          count = 0
          wanted:each(function(at)
            count = count + 1
            wanted.data[at] = 100 + count
          end)
          assert.same(expected:list(), flatten(buffer:totable()))
          for _, value in ipairs(flatten(copy:totable())) do
            assert.equal(77, value)
          end
        end)
      end
    end

    for _, view in ipairs(STRIDED_2D) do
      it(
        ("C4 %s of a %s buffer is no source or target of one copy, but of contiguous and astype"):format(view[1], make),
        function()
          local buffer, expected = numbered({ 4, 6 }, make)
          local part, wanted = apply(buffer, view[2]), apply(expected, view[2])
          local list = wanted:list()
          assert.same(wanted.shape, part.shape)
          assert.same(list, flatten(part:contiguous():totable()))
          assert.same(list, flatten(part:astype("i64"):totable()))
          for _, use in ipairs {
            function()
              part:read()
            end,
            function()
              part:write(list)
            end,
            function()
              part:fill(0)
            end,
            function()
              part:copy(dev:buffer("i32", part.shape, 0))
            end,
            function()
              dev:buffer("i32", part.shape):copy(part)
            end,
          } do
            fails("unsupported_strides", use, "contiguous()")
          end
          assert.same(expected:list(), flatten(buffer:totable()))
        end
      )
    end
  end

  it("C4 copies go between any two pitches, and between blocks of columns", function()
    local sources = {
      function()
        return dev:buffer("f32", { 5, 7 })
      end,
      function()
        return dev:pitched("f32", { 5, 7 })
      end,
      function()
        return dev:pitched("f32", { 5, 200 }, 0):columns(101, 107)
      end,
      function()
        return dev:buffer("f32", { 5, 9 }, 0):columns(2, 8)
      end,
      function()
        return dev:buffer("f32", { 9, 7 }, 0):slice(3, 7)
      end,
    }
    local data = {}
    for i = 1, 35 do
      data[i] = i + 0.5
    end
    for _, make_source in ipairs(sources) do
      for _, make_target in ipairs(sources) do
        local source, target = make_source():write(data), make_target():fill(0)
        target:copy(source)
        assert.same(data, flatten(target:totable()))
        assert.same(data, flatten(source:totable()))
      end
    end
  end)

  it("C4 a copy of columns leaves the columns beside them alone", function()
    local target = dev:pitched("i16", { 3, 6 }, 1)
    local source = numbered({ 3, 4 }, "pitched", "i16")
    target:columns(3, 4):copy(source:columns(2, 3))
    assert.same({ { 1, 1, 2, 3, 1, 1 }, { 1, 1, 6, 7, 1, 1 }, { 1, 1, 10, 11, 1, 1 } }, target:totable())
    target:columns(1, 2):copy(target:columns(3, 4)) -- rows that interleave do not overlap
    assert.same({ 2, 3, 2, 3, 1, 1 }, target:row(1):totable())
    fails("argument", function()
      target:columns(1, 3):copy(target:columns(2, 4))
    end, "overlap")
  end)

  it("C4 rows of different widths need the packed side to take the other's", function()
    local packed = numbered({ 6, 4 }, "buffer")
    local list = flatten(packed:totable())
    assert.same(list, flatten(dev:pitched("i32", { 4, 6 }):copy(packed):totable()))
    assert.same(list, flatten(dev:buffer("i32", { 4, 6 }):copy(numbered({ 6, 4 }, "pitched")):totable()))
    fails("unsupported_strides", function()
      dev:pitched("i32", { 4, 6 }):copy(numbered({ 6, 4 }, "pitched"))
    end, "16", "24")
    fails("shape", function()
      dev:pitched("i32", { 4, 6 }):copy(dev:buffer("i32", { 4, 5 }))
    end)
    fails("type", function()
      dev:pitched("i32", { 4, 6 }):copy(dev:buffer("u32", { 4, 6 }))
    end)
  end)

  it("sub-ranges of views are read and written in the view's rows", function()
    for _, make in ipairs { "buffer", "pitched" } do
      local buffer = numbered({ 4, 6 }, make)
      local part = buffer:columns(2, 3)
      assert.same({ 8, 9, 14, 15 }, flatten(part:totable(2, 3)))
      assert.same({ 8, 9, 14, 15 }, flatten(part:read(2, 3):totable()))
      assert.same({ 20, 21 }, flatten(part:read_async(4):wait():totable()))
      assert.equal(string.pack("<i4i4", 2, 3), part:bytes_string(1, 1))
      part:write({ { -1, -2 } }, 4)
      part:write(string.pack("<i4i4", -3, -4), 2)
      assert.same({ 2, 3, -3, -4, 14, 15, -1, -2 }, flatten(part:totable()))
      assert.same({ 7, -3, -4, 10, 11, 12 }, buffer:row(2):totable())
      fails("range", function()
        part:write({ { 1, 2 }, { 3, 4 } }, 4)
      end)
      fails("shape", function()
        part:write({ 1, 2, 3 }, 1)
      end)
      fails("range", function()
        part:read(3, 5)
      end)
    end
  end)

  it("C3 large writes into rows come in pieces, in order", function()
    local n = 700
    local array = luhip.array("i32", { n, n }):map(function(_, i)
      return i
    end)
    local bytes = array:bytes_string()
    local wide = dev:buffer("i32", { n, n + 64 }, -1)
    wide:columns(33, n + 32):write(bytes)
    assert.equal(bytes, wide:columns(33, n + 32):bytes_string())
    assert.equal(("\xff"):rep(128 * n), wide:columns(1, 32):bytes_string())
    local pitched = dev:pitched("i32", { n, n }):write(array)
    assert.equal(bytes, pitched:contiguous():bytes_string())
  end)

  it("fills of every pattern stay inside their columns", function()
    local patterns = {
      { "u8", 7 },
      { "i16", -2 },
      { "f32", 0.1 },
      { "f64", 0.1 },
      { "c64", { 0.1, -0.2 } },
      { "c128", { 0.1, 7.0 } },
      { "bool", true },
    }
    for _, pattern in ipairs(patterns) do
      local dtype, value = pattern[1], pattern[2]
      local buffer = dev:buffer(dtype, { 40, 5 }, 0)
      local before = buffer:columns(1, 1):bytes_string()
      buffer:columns(2, 3):fill(value)
      assert.equal(before, buffer:columns(1, 1):bytes_string())
      assert.equal(before .. before, buffer:columns(4, 5):bytes_string())
      local one = dev:from(dtype, { value }):bytes_string()
      assert.equal(one:rep(80), buffer:columns(2, 3):bytes_string())
    end
  end)

  it("view takes the rows of columns and pitched buffers as other dtypes", function()
    local buffer = dev:pitched("u32", { 2, 3 }, { 0x00010002, 0x00030004, 0x00050006, 7, 8, 9 })
    assert.same({ { 2, 1, 4, 3, 6, 5 }, { 7, 0, 8, 0, 9, 0 } }, buffer:view("u16"):totable())
    assert.same({ { 4, 3 }, { 8, 0 } }, buffer:columns(2, 2):view("u16"):totable())
    fails("shape", function()
      buffer:view "u64"
    end)
    assert.same({ { 0x0003000400010002 }, { 7 | 8 << 32 } }, buffer:columns(1, 2):view("u64"):totable())
    fails("shape", function()
      buffer:columns(2, 3):view "u64" -- begins in the middle of one
    end)
    fails("shape", function()
      buffer:transpose():view "u16"
    end)
    assert.same({ 3, 2 }, buffer:transpose():view("i32").shape)
  end)

  it("reshape wants contiguous elements, one row of a pitched buffer too", function()
    assert.same({ { 1, 2 }, { 3, 4 } }, dev:pitched("i32", { 1, 4 }, { 1, 2, 3, 4 }):reshape({ 2, 2 }):totable())
    for _, buffer in ipairs {
      dev:pitched("i32", { 2, 3 }, 0),
      dev:buffer("i32", { 2, 3 }, 0):columns(1, 2),
      dev:buffer("i32", { 2, 3 }, 0):transpose(),
    } do
      fails("shape", function()
        buffer:reshape(buffer.count)
      end, "contiguous")
      assert.same({ buffer.count }, buffer:contiguous():reshape(buffer.count).shape)
    end
  end)

  it(
    "a raw pointer is refused where it would read wrongly, and span is the way for kernels that take strides",
    function()
      local k = dev:kernel [[
      extern "C" __global__ void turn(const int *p, int down, int right, int *out, int rows, int columns) {
        int i = threadIdx.x;
        if (i < rows * columns) out[i] = p[i / columns * down + i % columns * right];
      }
    ]]
      local out = dev:buffer("i32", { 4, 6 })
      for _, make in ipairs { "buffer", "pitched" } do
        local buffer, expected = numbered({ 4, 6 }, make)
        for _, steps in ipairs {
          { { "columns", 2, 4 } },
          { { "transpose" } },
          { { "columns", 2, 4 }, { "transpose" } },
          { { "columns", 3, 3 } },
        } do
          local part, wanted = apply(buffer, steps), apply(expected, steps)
          local rows, columns = part.shape[1], part.shape[2]
          fails("unsupported_strides", function()
            k:launch({ grid = 1, block = 32 }, part, 1, 1, out, rows, columns)
          end, "contiguous()")
          local down, right = part.strides[1], part.strides[2]
          k:launch({ grid = 1, block = 32 }, part:span(), down, right, out, rows, columns)
          assert.same(wanted:list(), out:reshape(24):totable(1, rows * columns))
        end
      end
      assert.equal(0, #out:columns(1, 0):span())
      assert.equal(24, #out:span())
    end
  )

  it("A5 empty views are legal in every operation", function()
    local buffer = dev:pitched("i32", { 3, 4 }, 1)
    for _, empty in ipairs { buffer:columns(3, 2), buffer:slice(4, 3), buffer:columns(5, 4):transpose() } do
      assert.equal(0, #empty)
      assert.equal("", empty:bytes_string())
      empty:fill(1):write {}
      empty:copy(dev:buffer("i32", empty.shape))
      assert.same(empty.shape, empty:contiguous().shape)
      assert.same(empty.shape, empty:astype("f16").shape)
    end
    assert.equal(0, #dev:pitched("i32", { 0, 4 }))
    assert.equal(0, #dev:pitched("i32", { 4, 0 }))
    assert.same({ { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, { 1, 1, 1, 1 } }, buffer:totable())
  end)

  it("a view beyond its allocation cannot be made", function()
    local x = dev:buffer("i32", { 3, 4 })
    for _, use in ipairs {
      function()
        x:columns(4, 5)
      end,
      function()
        x:slice(0, 2)
      end,
      function()
        x:row(4)
      end,
      function()
        x:columns(3, 1)
      end,
    } do
      fails("range", use)
    end
  end)
end)
