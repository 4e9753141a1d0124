-- Buffers: making, writing, filling, copying, reading, in every element type.

local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("buffers know their dtype, shape, strides, count, bytes and device", function()
    local m = dev:buffer("f32", { 4, 3, 2 })
    assert.same({ "f32", { 4, 3, 2 }, { 6, 2, 1 }, 24, 96 }, { m.dtype, m.shape, m.strides, m.count, m.bytes })
    assert.equal(24, #m)
    assert.equal(dev, m.device)
    assert.is_true(m.is_contiguous)
    assert.equal("integer", math.type(m.bytes))
  end)

  it("buffers of every dtype give back what was written", function()
    for _, dtype in ipairs(luhip.dtypes) do
      local data = { 0, 1, 3, 127 }
      if dtype == "bool" then
        data = { true, false, false, true }
      elseif dtype:find "^c" then
        data = { { 0, 1 }, { 2, 3 }, { -4, 0.5 }, { 6, 7 } }
      end
      local x = dev:from(dtype, data)
      assert.same({ 4 }, x.shape)
      local back = x:totable()
      for i, v in ipairs(data) do
        assert.same(v, back[i])
      end
      assert.same(back, x:read():totable())
      assert.equal(x.bytes, #x:bytes_string())
      assert.same(back, dev:buffer(dtype, 4, x:bytes_string()):totable())
    end
  end)

  it("buffers start from a number, tables, a string, an array, a function or a boolean", function()
    local expected = { { 1, 2, 3 }, { 4, 5, 6 } }
    for _, init in ipairs {
      expected,
      { 1, 2, 3, 4, 5, 6 },
      string.pack("<i4i4i4i4i4i4", 1, 2, 3, 4, 5, 6),
      luhip.array("i32", { 2, 3 }, expected),
      function(i)
        return i
      end,
    } do
      assert.same(expected, dev:buffer("i32", { 2, 3 }, init):totable())
    end
    assert.same({ 7, 7 }, dev:buffer("i64", 2, 7):totable())
    assert.same({ true, true }, dev:buffer("bool", 2, true):totable())
    assert.same({ { 2.5, 0.0 } }, dev:buffer("c128", 1, 2.5):totable())
  end)

  it("from takes the shape of its data", function()
    assert.same({ 2, 1, 3 }, dev:from("i8", { { { 1, 2, 3 } }, { { 4, 5, 6 } } }).shape)
    assert.same({ 3 }, dev:from("i16", "abcdef").shape)
    assert.same({ 2, 2 }, dev:from("f32", luhip.array("f32", { 2, 2 })).shape)
    assert.same({ 0 }, dev:from("f32", {}).shape)
    assert.same({ 2 }, dev:from("c64", { { 1, 2 }, { 3, 4 } }).shape)
    assert.same({ 2, 3 }, dev:from("c64", { { 1, 2, 3 }, { 4, 5, 6 } }).shape)
    fails("shape", function()
      dev:from("i16", "abc")
    end, "3 bytes")
    fails("shape", function()
      dev:from("i16", { { 1, 2 }, { 3 } })
    end, "row [2]")
    fails("shape", function()
      dev:from("i16", { { { { { { { { { 1 } } } } } } } } })
    end, "8")
    fails("type", function()
      dev:from("i16", 5)
    end, "number")
    fails("type", function()
      dev:from("f32", luhip.array("f64", 2))
    end, "f64[2]")
  end)

  it("write takes all of the buffer, or what begins at first", function()
    local x = dev:buffer("i32", 5, 0)
    assert.equal(x, x:write { 1, 2, 3, 4, 5 })
    x:write({ 8, 9 }, 2)
    assert.same({ 1, 8, 9, 4, 5 }, x:totable())
    x:write(string.pack("<i4", 7), 5)
    x:write(luhip.array("i32", 1, { 6 }), 1)
    assert.same({ 6, 8, 9, 4, 7 }, x:totable())
    x:write(0, 4)
    x:write({}, 6)
    assert.same({ 6, 8, 9, 0, 0 }, x:totable())
    x:write(function(i)
      return 10 * i
    end, 3)
    assert.same({ 6, 8, 10, 20, 30 }, x:totable())
    local m = dev:buffer("i32", { 3, 2 }, 0)
    m:write({ { 1, 2 }, { 3, 4 } }, 2)
    assert.same({ { 0, 0 }, { 1, 2 }, { 3, 4 } }, m:totable())
    m:write({ 5, 6 }, 1)
    assert.same({ { 5, 6 }, { 1, 2 }, { 3, 4 } }, m:totable())
    fails("shape", function()
      x:write { 1, 2 }
    end, "2 elements", "i32[5]")
    fails("range", function()
      x:write({ 1, 2 }, 5)
    end, "2 elements")
    fails("range", function()
      x:write({ 1 }, 0)
    end)
    fails("shape", function()
      m:write({ 1, 2, 3 }, 1)
    end, "rows")
    fails("type", function()
      x:write()
    end)
  end)

  it("fill sets every element, in every dtype", function()
    for _, dtype in ipairs(luhip.dtypes) do
      local x = dev:buffer(dtype, 3)
      local value = dtype == "bool" and true or dtype:find "^c" and { 1, 2 } or 3
      assert.equal(x, x:fill(value))
      for _, v in ipairs(x:totable()) do
        assert.same(value, v)
      end
    end
    fails("range", function()
      dev:buffer("u8", 3):fill(256)
    end, "u8")
    fails("type", function()
      dev:buffer("u8", 3):fill()
    end, "nil")
  end)

  it("C6 copy moves elements on the device", function()
    local x, y = dev:from("f32", { 1, 2, 3 }), dev:buffer("f32", 3, 0)
    assert.equal(y, y:copy(x))
    assert.same({ 1.0, 2.0, 3.0 }, y:totable())
    y:slice(1, 2):copy(x:slice(2, 3))
    assert.same({ 2.0, 3.0, 3.0 }, y:totable())
    fails("shape", function()
      y:copy(dev:buffer("f32", 4))
    end, "f32[4]", "f32[3]")
    fails("type", function()
      y:copy(dev:buffer("i32", 3))
    end, "i32[3]", "f32[3]")
    fails("type", function()
      y:copy { 1, 2, 3 }
    end, "table")
  end)

  it("read takes elements, or rows, by first and last", function()
    local x = dev:from("i32", { 1, 2, 3, 4 })
    assert.same({ 2, 3 }, x:read(2, 3):totable())
    assert.same({ 3, 4 }, x:read(3):totable())
    assert.same({ 1, 2 }, x:read(nil, 2):totable())
    assert.same({}, x:read(3, 2):totable())
    local m = dev:from("i32", { { 1, 2 }, { 3, 4 }, { 5, 6 } })
    assert.same({ { 3, 4 }, { 5, 6 } }, m:read(2, 3):totable())
    assert.same({ { 1, 2 } }, m:totable(1, 1))
    for _, range in ipairs { { 0, 1 }, { 1, 4 }, { 3, 1 }, { 5, 4 } } do
      fails("range", function()
        m:read(range[1], range[2])
      end)
    end
  end)

  it("read_into fills an array that exists", function()
    local x = dev:from("f32", { 1, 2, 3, 4 })
    local a = luhip.array("f32", { 2, 2 })
    assert.equal(a, x:read_into(a))
    assert.same({ { 1.0, 2.0 }, { 3.0, 4.0 } }, a:totable())
    fails("type", function()
      x:read_into(luhip.array("i32", 4))
    end)
    fails("shape", function()
      x:read_into(luhip.array("f32", 3))
    end)
  end)

  it("C5 read_async gives a future: ready, wait, fd", function()
    local x = dev:from("i32", { 1, 2, 3 })
    local f = x:read_async(2, 3)
    assert.equal("integer", math.type(f:fd()))
    local a = f:wait()
    assert.same({ 2, 3 }, a:totable())
    assert.equal(a, f:wait())
    assert.is_true(f:ready())
    x:fill(0)
    assert.same({ 2, 3 }, a:totable())
    f:free()
    f:free()
    fails("freed", function()
      f:wait()
    end)
    assert.same({ 2, 3 }, a:totable())
  end)

  it("C5 a future's descriptor becomes readable when the read is done", function()
    local readable = require("luhip.core").testing.readable
    local x = dev:buffer("i32", 64, 0)
    local add = dev:kernel 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += 1; }'
    local before = x:read_async()
    before:wait()
    assert.is_true(readable(before:fd(), 10000)) -- asked for late
    add(1, 64)(x)
    local f = x:read_async()
    local fd = f:fd()
    assert.equal(fd, f:fd())
    assert.is_true(readable(fd, 10000))
    assert.is_true(f:ready())
    assert.equal(1, f:wait()[64])
  end)

  it("C5 dropped futures make room for new descriptors; when there is none, the error says why", function()
    local script = os.tmpname()
    support.write_file(
      script,
      ([[
      local luhip = require "luhip"
      local x = luhip.open(%q):buffer("i32", 4, 7)
      collectgarbage "stop"
      for _ = 1, 200 do
        local f = x:read_async()
        f:fd()
        f:wait()
      end
      print "dropped"
      local kept = {}
      local ok, e = pcall(function()
        for i = 1, 200 do
          kept[i] = x:read_async()
          kept[i]:fd()
        end
      end)
      print(ok, e.kind, e)
      x:read()
      kept = nil
      print(x:read_async():fd() > 0)
    ]]):format(id)
    )
    local r = support.run({ "sh", "-c", 'ulimit -n 64; exec "$0" "$1"', support.interpreter, script }, {
      env = support.environment(),
    })
    os.remove(script)
    assert.truthy(r.stdout:find "^dropped\nfalse\tfile\t[^\n]*Too many open files[^\n]*\ntrue\n$", r.stdout .. r.stderr)
  end)

  it("several buffers are read and written at once", function()
    local x, y = dev:buffer("i32", 2), dev:buffer("f32", { 1, 2 })
    dev:write { { x, { 1, 2 } }, { y, luhip.array("f32", 2, { 3, 4 }) } }
    local got = dev:read { x, y }
    assert.same({ { 1, 2 }, { { 3.0, 4.0 } } }, { got[1]:totable(), got[2]:totable() })
    dev:write { { x, 9 }, { y, ("\0"):rep(8) } }
    assert.same({ 9, 9 }, x:totable())
    assert.same({}, dev:read {})
    dev:write {}
    fails("type", function()
      dev:read { x, 5 }
    end, "entry 2", "number")
    fails("type", function()
      dev:write { { x, { 1, 2 } }, x }
    end, "entry 2")
    fails("type", function()
      dev:write { { {}, { 1, 2 } } }
    end, "entry 1", "table")
    fails("shape", function()
      dev:write { { x, { 1, 2, 3 } } }
    end)
  end)

  it("C1 staging gives u8 arrays, of zero bytes too", function()
    local list = dev:staging { 16, 0, 3 }
    assert.same({ 16, 0, 3 }, { #list[1], #list[2], #list[3] })
    assert.equal("u8", list[1].dtype)
    assert.equal(0, list[1][16])
    fails("range", function()
      dev:staging { -1 }
    end)
    fails("argument", function()
      dev:staging { 1.5 }
    end)
  end)

  it("C3 a source may change as soon as write returns; a pinned one waits for its copy", function()
    local n = 1 << 16
    local x = dev:buffer("i32", n)
    local a = luhip.array("i32", n, 1)
    x:write(a)
    a:write(2)
    local p = dev:buffer("i32", n, 5):read()
    local y = dev:buffer("i32", n)
    y:write(p)
    p[1], p[n] = 6, 6
    assert.same({ 1, 1 }, { x:read()[1], x:read()[n] })
    assert.same({ 5, 5 }, { y:read()[1], y:read()[n] })
    local t = { 3, 4 }
    local z = dev:from("i32", t)
    t[1] = 9
    assert.same({ 3, 4 }, z:totable())
  end)

  it("C7 host arrays outlive the device", function()
    local other = luhip.open(id)
    local a = other:from("f32", { 1, 2, 3 }):read()
    other:close()
    collectgarbage()
    assert.same({ 1.0, 2.0, 3.0 }, a:totable())
    a[1] = 5
    assert.equal(5, a[1])
  end)

  it("E7 resource gives an address and keeps the memory", function()
    local x = dev:from("i32", { 1, 2, 3 })
    local r = dev:resource(x)
    assert.equal("integer", math.type(r.pointer))
    assert.is_true(r.pointer ~= 0)
    assert.equal(12, r.bytes)
    local second = dev:resource(x:slice(2, 3))
    assert.equal(r.pointer + 4, second.pointer)
    r:free()
    r:free()
    fails("freed", function()
      return r.pointer
    end)
    fails("type", function()
      dev:resource(5)
    end)
  end)

  it("A4 a buffer beyond memory fails where it is used, and the device goes on", function()
    local ok, e = pcall(function()
      return dev:buffer("u8", 1 << 50, 1):read(1, 1)
    end)
    assert.is_false(ok)
    assert.is_true(luhip.is_error(e) and (e.kind == "oom" or e.kind == "too_big"), tostring(e))
    assert.same({ 1 }, dev:from("i32", { 1 }):totable())
  end)

  it("A5 empty buffers are legal everywhere", function()
    for _, shape in ipairs { 0, { 0 }, { 0, 4 }, { 4, 0 } } do
      local x = dev:buffer("f32", shape)
      x:write {}
      x:write ""
      x:fill(1)
      x:copy(dev:buffer("f32", shape))
      assert.equal(0, #x:read())
      assert.equal("", x:bytes_string())
      assert.equal(0, x:astype("i32").count)
      assert.is_true(x:check())
      assert.is_string(tostring(x))
      x:free()
    end
  end)

  it("A5 a freed buffer says so, whatever is asked of it", function()
    local x = dev:buffer("f32", { 2, 2 }, 0)
    local view = x:row(1)
    x:free()
    x:free()
    for _, use in pairs {
      function()
        return x.shape
      end,
      function()
        return #x
      end,
    } do
      local e = fails("freed", use)
      assert.equal("the buffer was freed", e.message)
    end
    for _, name in ipairs {
      "write",
      "fill",
      "copy",
      "read",
      "read_async",
      "read_into",
      "totable",
      "bytes_string",
      "slice",
      "row",
      "columns",
      "reshape",
      "transpose",
      "contiguous",
      "view",
      "astype",
      "check",
    } do
      fails("freed", function()
        x[name](x, 1, 1)
      end)
    end
    for _, name in ipairs { "dtype", "shape", "strides", "count", "bytes", "device" } do
      fails("freed", function()
        return x[name]
      end)
    end
    fails("freed", function()
      return #x
    end)
    fails("freed", function()
      dev:sync { x }
    end, "entry 1")
    fails("freed", function()
      dev:write { { x, { 1 } } }
    end)
    assert.truthy(tostring(x):find("freed", 1, true))
    assert.same({ 0.0, 0.0 }, view:totable())
  end)

  it("check gives true for good buffers, and raises for what is none", function()
    local x = dev:buffer("f32", 4, 0)
    assert.is_true(x:check())
    assert.is_true(dev:check { x })
    assert.is_true(dev:check(x))
    dev:sync()
    dev:sync { x }
    dev:sync(x)
    fails("type", function()
      dev:sync(5)
    end, "device:sync", "number")
    fails("type", function()
      dev:check { x, {} }
    end, "entry 2")
  end)

  it("memory counts buffers and their bytes", function()
    local before = dev:memory()
    local x = dev:buffer("f32", 1000, 0)
    local during = dev:memory()
    assert.equal(before.buffers + 1, during.buffers)
    assert.equal(before.in_use + 4000, during.in_use)
    x:free()
    dev:sync()
    dev:flush()
    assert.equal(before.in_use, dev:memory().in_use)
    dev:memory_cleanup()
    for _, name in ipairs { "padding", "reserved", "limit", "device_free", "device_total" } do
      assert.equal("integer", math.type(during[name]), name)
    end
    assert.equal("integer", math.type(during.pinned.in_use))
  end)
end)
