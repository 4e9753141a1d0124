-- C. Staging, write, read, copy, fill.

local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"

local N = 256

support.each_device(function(id)
  local dev

  before_each(function()
    dev = support.open(id)
  end)

  local function numbers(n, from)
    local t = {}
    for i = 1, n do
      t[i] = (from or 0) + i + 0.0
    end
    return t
  end

  it("C1 gives staging of any size, also none", function()
    local arrays = dev:staging { 0, 1, 4096, 100000 }
    local sizes = {}
    for i, a in ipairs(arrays) do
      sizes[i] = a.bytes
      assert.equal("u8", a.dtype)
    end
    assert.same({ 0, 1, 4096, 100000 }, sizes)
    assert.equal(0, arrays[4][100000])
  end)

  it("C2 attempts every write, and reports the first that failed", function()
    local a, b, c = dev:buffer("f32", 4, 0), support.beyond_memory(dev):view "f32", dev:buffer("f32", 4, 0)
    local part = b:slice(1, 4)
    support.assert_error_kind("oom", function()
      dev:write { { a, { 1, 2, 3, 4 } }, { part, { 1, 1, 1, 1 } }, { c, { 5, 6, 7, 8 } } }
    end)
    assert.same({ 1.0, 2.0, 3.0, 4.0 }, a:read():totable())
    assert.same({ 5.0, 6.0, 7.0, 8.0 }, c:read():totable())
    support.assert_error_kind("oom", function()
      part:read()
    end)
  end)

  it("C2 a short write releases just the bytes it wrote", function()
    local x, big = dev:buffer("f32", 100, 0), support.beyond_memory(dev):view "f32"
    work.kernels(dev).copy:launch({ grid = 1, block = 1 }, big, x, 1)
    x:slice(11, 14):write { 1, 2, 3, 4 }
    assert.same({ 1.0, 2.0, 3.0, 4.0 }, x:slice(11, 14):read():totable())
    for _, range in ipairs { { 1, 10 }, { 15, 100 }, { 10, 11 }, { 14, 15 } } do
      support.assert_error_kind("oom", function()
        x:read(range[1], range[2])
      end)
    end
    local m = dev:buffer("f32", { 10, 10 }, 0)
    work.kernels(dev).copy:launch({ grid = 1, block = 1 }, big, m:reshape(100), 1)
    m:columns(3, 4):write(luhip.array("f32", { 10, 2 }))
    assert.is_true(m:columns(3, 4):check())
    assert.is_nil(m:columns(4, 5):check())
    x:slice(5, 4):write {} -- nothing reaches the driver, and nothing is released
    assert.is_nil(x:slice(1, 10):check())
    x:write(numbers(100))
    assert.is_true(x:check())
  end)

  it("C2 a write that fails claims its own destination, and only that", function()
    local testing = require("luhip.core").testing
    support.defer(testing.driver_reset)
    local a, b, c = dev:buffer("f32", 4, 0), dev:buffer("f32", 8, 5), dev:buffer("f32", 4, 0)
    dev:sync()
    testing.driver_fail { call = "hipMemcpyAsync", nth = 2, error = "hipErrorUnknown" }
    support.assert_error_kind("driver", function()
      dev:write { { a, { 1, 1, 1, 1 } }, { b:slice(3, 4), { 2, 2 } }, { c, { 3, 3, 3, 3 } } }
    end, "hipErrorUnknown")
    testing.driver_reset()
    assert.equal(1.0, a:read()[1])
    assert.equal(3.0, c:read()[4])
    assert.equal(5.0, b:read(5, 8)[1])
    support.assert_error_kind("driver", function()
      b:read()
    end, "hipErrorUnknown")
    b:slice(3, 4):write { 7, 7 }
    assert.same({ 5.0, 5.0, 7.0, 7.0, 5.0, 5.0, 5.0, 5.0 }, b:read():totable())
  end)

  it("C3 the source may be changed as soon as write returns", function()
    local k = work.kernels(dev)
    local gate = work.gate(dev, k)
    local x = dev:buffer("f32", N, 0)
    local plain, staging = luhip.array("f32", N, numbers(N)), dev:staging({ 4 * N })[1]
    for i = 1, 4 * N do
      staging[i] = 1
    end
    local bytes = dev:buffer("u8", 4 * N, 0)
    gate:close(x)
    gate:close(bytes)
    x:write(plain)
    bytes:write(staging)
    plain[1] = 1000
    gate:open()
    staging[1] = 2 -- a pinned array: waits until it has been read
    assert.equal(1.0, x:read()[1])
    assert.equal(1, bytes:read()[1])
  end)

  it("C3 large writes are the same in chunks", function()
    local n = 27 << 20 -- 108 MiB: beyond what is staged in one piece
    local a = luhip.array("u8", n * 4)
    for i = 1, n * 4, 1000003 do
      a[i] = i % 251
    end
    local x = dev:buffer("u8", n * 4)
    x:write(a)
    a[1] = 77
    local r = x:read()
    assert.equal(1, r[1])
    for i = 1, n * 4, 1000003 do
      assert.equal(i % 251, r[i])
    end
    assert.is_true(x:check())
  end)

  it("C4 moves rows at a pitch, and refuses what is none, by name", function()
    local m = dev:pitched("f32", { 5, 3 })
    m:write { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 10, 11, 12 }, { 13, 14, 15 } }
    assert.is_true(m.strides[1] >= 3)
    assert.same({ 13.0, 14.0, 15.0 }, m:read():totable()[5])
    m:row(2):fill(0)
    m:columns(2, 2):fill(-1)
    local rows = m:read():totable()
    assert.same({ { 1.0, -1.0, 3.0 }, { 0.0, -1.0, 0.0 }, { 13.0, -1.0, 15.0 } }, { rows[1], rows[2], rows[5] })
    local square = dev:from("f32", { { 1, 2, 3 }, { 4, 5, 6 } })
    support.assert_error_kind("unsupported_strides", function()
      square:transpose():read()
    end, "read")
    assert.same({ { 2.0 }, { 5.0 } }, square:columns(2, 2):read():totable())
  end)

  it("C4 pitched writes and fills leave the rest alone", function()
    local m = dev:buffer("i32", { 6, 7 }, 0)
    m:columns(3, 5):write { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 10, 11, 12 }, { 13, 14, 15 }, { 16, 17, 18 } }
    m:columns(7, 7):fill(99)
    local t = m:read():totable()
    assert.same({ 0, 0, 1, 2, 3, 0, 99 }, t[1])
    assert.same({ 0, 0, 16, 17, 18, 0, 99 }, t[6])
  end)

  it("C4 wrong sizes and places are typed errors", function()
    local x = dev:buffer("f32", 8, 0)
    support.assert_error_kind("shape", function()
      x:write { 1, 2, 3 }
    end)
    support.assert_error_kind("shape", function()
      x:copy(dev:buffer("f32", 7, 0))
    end)
    support.assert_error_kind("type", function()
      x:copy(dev:buffer("i32", 8, 0))
    end)
    support.assert_error_kind("range", function()
      x:slice(5, 9)
    end)
    support.assert_error_kind("argument", function()
      x:slice(1, 6):copy(x:slice(3, 8))
    end, "overlap")
    x:copy(x) -- itself is no overlap
    x:slice(1, 4):copy(x:slice(5, 8))
  end)

  it("C4 columns of one buffer may be copied past each other", function()
    local m = dev:from("f32", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } })
    m:columns(3, 4):copy(m:columns(1, 2))
    assert.same({ { 1.0, 2.0, 1.0, 2.0 }, { 5.0, 6.0, 5.0, 6.0 } }, m:read():totable())
    support.assert_error_kind("argument", function()
      m:columns(2, 3):copy(m:columns(1, 2))
    end, "overlap")
  end)

  it("C5 several reads have one future, complete when it is", function()
    local x, y = dev:from("f32", numbers(N)), dev:from("i32", { 1, 2, 3 })
    local arrays = dev:read { x, y, x:slice(2, 3) }
    assert.equal(N + 0.0, arrays[1][N])
    assert.same({ 1, 2, 3 }, arrays[2]:totable())
    assert.same({ 2.0, 3.0 }, arrays[3]:totable())
  end)

  it("C5 a read with a stale buffer fails whole, and names every failure once", function()
    local good = dev:buffer("f32", 4, 1)
    local a, b = support.beyond_memory(dev):view "f32", support.beyond_memory(dev):view "f64"
    pcall(a.fill, a, 1)
    pcall(b.fill, b, 1)
    local e = support.assert_error_kind("oom", function()
      dev:read { good, a:slice(1, 2), b:slice(1, 2), a:slice(3, 4) }
    end)
    assert.equal(2, #e.failures)
    assert.same({ "oom", "oom" }, { e.failures[1].kind, e.failures[2].kind })
    assert.same({ 1.0, 1.0, 1.0, 1.0 }, good:read():totable())
  end)

  it("C6 fills with every size of element and every value", function()
    local values = {
      u8 = 200,
      i16 = -2,
      u16 = 0x1234,
      i32 = -123456,
      u32 = 0xdeadbeef,
      f32 = 1.5,
      i64 = -5000000000,
      f64 = 0.1,
      f16 = 0.5,
      bf16 = -2.0,
    }
    for dtype, value in pairs(values) do
      for _, n in ipairs { 1, 3, 1000, 40000 } do
        local x = dev:buffer(dtype, n)
        x:fill(value)
        local r = x:read()
        assert.same({ dtype, value, value, value }, { dtype, r[1], r[(n + 1) // 2], r[n] })
      end
    end
    local c = dev:buffer("c128", 5000)
    c:fill { 1.25, -3 }
    assert.same({ 1.25, -3.0 }, c:read()[5000])
    local b = dev:buffer("bool", 9)
    b:fill(true)
    assert.is_true(b:read()[9])
  end)

  it("C6 fills pitched rows with patterns that no memset has", function()
    for _, dtype in ipairs { "f64", "f32" } do
      local m = dev:buffer(dtype, { 40, 7 }, 0)
      m:columns(2, 4):fill(0.1)
      local t = m:columns(2, 4):view(dtype):read():totable()
      local expected = dtype == "f64" and 0.1 or string.unpack("f", string.pack("f", 0.1))
      for i = 1, 40 do
        assert.same({ expected, expected, expected }, t[i])
      end
      assert.equal(0.0, m:read():totable()[40][5])
    end
  end)

  it("C6 copies between packed and pitched, of one row and of many", function()
    local packed, pitched = dev:from("f32", { { 1, 2 }, { 3, 4 }, { 5, 6 } }), dev:pitched("f32", { 3, 2 })
    pitched:copy(packed)
    assert.same({ { 1.0, 2.0 }, { 3.0, 4.0 }, { 5.0, 6.0 } }, pitched:read():totable())
    local back = dev:buffer("f32", { 3, 2 }, 0)
    back:copy(pitched)
    assert.same(packed:read():totable(), back:read():totable())
  end)

  it("C7 host arrays outlive their stream and the device", function()
    local own = luhip.open(id)
    local s = own:stream()
    local x = own:buffer("f32", N, 3)
    local a = own:with(s, function()
      return x:read()
    end)
    s:free()
    own:close()
    collectgarbage()
    assert.equal(3.0, a[N])
    a[1] = 5
    assert.equal(5.0, a[1])
  end)

  it("C7 a future that is given up frees nothing too early", function()
    local k = work.kernels(dev)
    local gate = work.gate(dev, k)
    local x = dev:buffer("f32", 100000, 1)
    gate:close(x)
    for _ = 1, 5 do
      x:read_async()
      x:slice(1, 10):read_async()
    end
    collectgarbage()
    local others = {}
    for i = 1, 5 do
      others[i] = dev:staging({ 400000 })[1]
    end
    gate:open()
    dev:sync()
    for i = 1, 5 do
      assert.equal(0, others[i][1])
      assert.equal(0, others[i][400000])
    end
    assert.equal(1.0, x:read()[100000])
  end)

  it("C8 flush reports nothing and streams lists what exists", function()
    local count = #dev:streams()
    local s = dev:stream()
    dev:buffer("f32", 4, 1):free()
    dev:flush()
    assert.equal(count + 1, #dev:streams())
    s:free()
    assert.equal(count, #dev:streams())
  end)

  it("C5 a future's descriptor becomes readable", function()
    local k = work.kernels(dev)
    local gate = work.gate(dev, k)
    local x = dev:buffer("f32", N, 1)
    gate:close(x)
    local future = x:read_async()
    local fd = future:fd()
    assert.equal(fd, future:fd())
    gate:open()
    assert.equal(1.0, future:wait()[1])
    assert.is_true(future:ready())
  end)
end)
