-- Public reports about kernel arguments and launch configuration; each spec is named after them.
local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind
local ONE = { grid = 1, block = 1 }

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("cupy#3186 a buffer of another type is an error that names parameter and types", function()
    local source = [[
      extern "C" __global__ void f(int n, float *x) { x[0] = n; }
      extern "C" __global__ void i(int n, int *x) { x[0] = n; }
      extern "C" __global__ void c(int n, char *x) { x[0] = (char)n; }
      extern "C" __global__ void v(int n, void *x) { *(float *)x = n; }
      extern "C" __global__ void d(int n, const double *x, float *y) { y[0] = (float)x[0]; }
    ]]
    local prog = dev:compile(source)
    local function launch(name, ...)
      prog:kernel(name):launch(ONE, ...)
    end
    for _, case in ipairs {
      { "f", "f64", "float *" },
      { "f", "i32", "float *" },
      { "f", "u8", "float *" },
      { "f", "f16", "float *" },
      { "i", "f32", "int *" },
      { "i", "i64", "int *" },
      { "i", "u16", "int *" },
    } do
      fails("type", function()
        launch(case[1], 1, dev:buffer(case[2], 4))
      end, "argument 2", "'x'", ("kernel '%s'"):format(case[1]), case[2], case[3])
    end
    fails("type", function()
      launch("d", 1, dev:buffer("f32", 4), dev:buffer("f32", 4))
    end, "argument 2", "'x'", "f64")
    local bytes = dev:buffer("u8", 4, 0)
    launch("c", 65, bytes)
    assert.equal("A\0\0\0", bytes:bytes_string())
    for _, dtype in ipairs { "f32", "u8", "c128" } do
      launch("v", 3, dev:buffer(dtype, 16))
    end
    local raw = dev:buffer("f64", 4, 0) -- the way around it
    launch("f", 7, raw:view "f32")
    assert.equal(7, raw:view("f32"):read()[1])
  end)

  it("pyopencl#314 a wrong kind of object as argument names its position and type", function()
    local k = dev:kernel [[extern "C" __global__ void k(int n, float *x, float y) { x[0] = n + y; }]]
    local x = dev:buffer("f32", 4, 0)
    local freed = dev:buffer("f32", 4)
    freed:free()
    for _, case in ipairs {
      { { 1, 2 }, "table" },
      { {}, "table" },
      { "text", "string" },
      { print, "function" },
      { true, "true" },
      { 1.5, "1.5" },
      { coroutine.create(print), "thread" },
      { dev, "device" },
      { k, "kernel" },
      { luhip.array("f32", 4), "array" },
    } do
      fails("type", function()
        k:launch(ONE, 1, case[1], 2.0)
      end, "argument 2", "'x'", "kernel 'k'", case[2])
    end
    for _, case in ipairs { { {}, "table" }, { "1", "string" }, { x, "buffer" }, { dev, "device" } } do
      fails("type", function()
        k:launch(ONE, case[1], x, 2.0)
      end, "argument 1", "'n'", case[2])
    end
    fails("type", function()
      k:launch(ONE, 1, nil, 2.0)
    end, "argument 2", "nil")
    fails("freed", function()
      k:launch(ONE, 1, freed, 2.0)
    end, "argument 2", "freed")
    k:launch(ONE, 1, x, 2.0)
    assert.equal(3, x:read()[1])
  end)

  it("pyopencl#314 a buffer of another device is named", function()
    if not id:find "^cpu" then
      pending "there may be one device"
    end
    local other = support.open "cpu:0/64"
    local k = dev:kernel [[extern "C" __global__ void k(float *x) {}]]
    fails("argument", function()
      k:launch(ONE, other:buffer("f32", 4))
    end, "argument 1", "cpu:0/64", "cpu:0")
  end)

  it("pyopencl#92 a kernel is the same object each time it is asked for", function()
    local prog = dev:compile [[
      extern "C" __global__ void sum(float *x) {}
      template <typename T> __global__ void t(T *x) {}
      template __global__ void t<int>(int *);
    ]]
    assert.equal(prog:kernel "sum", prog:kernel "sum")
    local first = tostring(prog:kernel "sum")
    collectgarbage()
    assert.equal(first, tostring(prog:kernel "sum"))
    fails("argument", function() -- nothing to be lost: all arguments are given at once
      return prog:kernel("sum").set_arg
    end, "no field or method 'set_arg'")
  end)

  it("kernel_tuner PR#176, cuda-python PR#1292 bool scalars are one byte, their neighbours intact", function()
    local k = dev:kernel [[
      extern "C" __global__ void k(bool a, int x, bool b, bool c, short s, bool d, int *o) {
        o[0] = a; o[1] = x; o[2] = b; o[3] = c; o[4] = s; o[5] = d; o[6] = sizeof(bool);
      }
    ]]
    local o = dev:buffer("i32", 7, 0)
    for bits = 0, 15 do
      local function bit(n)
        return bits & (1 << n) ~= 0
      end
      local function number(n)
        return bit(n) and 1 or 0
      end
      k:launch(ONE, bit(0), -0x01020304, bit(1), bit(2), -2, bit(3), o)
      assert.same({ number(0), -0x01020304, number(1), number(2), -2, number(3), 1 }, o:totable())
    end
    fails("type", function()
      k:launch(ONE, "true", 1, true, true, 1, true, o)
    end, "argument 1", "'a'", "string")
  end)

  it("cuda.core 0.3.0 half scalars are rounded, not cut", function()
    local k = dev:kernel [[
      #include <hip/hip_fp16.h>
      extern "C" __global__ void k(__half before, __half h, __half after, float *o) {
        o[0] = __half2float(before); o[1] = __half2float(h); o[2] = __half2float(after);
      }
    ]]
    local o = dev:buffer("f32", 3, 0)
    local function through(value)
      k:launch(ONE, 1.5, value, -2.5, o)
      local got = o:totable()
      assert.equal(1.5, got[1])
      assert.equal(-2.5, got[3])
      return got[2]
    end
    for _, pair in ipairs {
      { 0.5, 0.5 },
      { 65504, 65504 },
      { 65519, 65504 }, -- the largest that rounds down
      { 1 / 3, 0.333251953125 },
      { 2049, 2048 }, -- to even
      { 2051, 2052 },
      { 0x1p-24, 0x1p-24 },
      { 0x1p-26, 0 },
      { 1 / 0, 1 / 0 },
      { -1 / 0, -1 / 0 },
    } do
      assert.equal(pair[2], through(pair[1]))
    end
    local nan = through(0 / 0)
    assert.is_true(nan ~= nan)
    assert.equal(-1 / 0, 1 / through(-0.0))
    -- What is too large is an error, as for every other type.
    fails("range", function()
      through(1e6)
    end, "argument 2", "'h'")
  end)

  it("pycuda#144 a struct layout that differs from the source's is an error with offsets", function()
    local T = luhip.struct("rec", { { "v", "f32" }, { "n", "i64" } })
    assert.matches("8", tostring(T)) -- it prints its offsets
    fails("compile", function()
      local text = T:declaration():gsub("long long n", "int n")
      dev:kernel(text .. [[extern "C" __global__ void k(rec *r) { r[threadIdx.x].n = 3; }]])
    end, "rec")
    local k = dev:kernel [[
      struct rec { float v; int n; };
      extern "C" __global__ void k(rec *r) { r[threadIdx.x].n = 3; }
    ]]
    fails("type", function()
      k:launch({ grid = 1, block = 10 }, dev:buffer(T, 10))
    end, "structs of 16 bytes", "8 bytes", "'r'")
    local right = dev:kernel(T:declaration() .. [[
      extern "C" __global__ void k(rec *r) { r[threadIdx.x].n = threadIdx.x; r[threadIdx.x].v = 0.5f; }
    ]])
    local x = dev:buffer(T, 10)
    right:launch({ grid = 1, block = 10 }, x)
    assert.same({ v = 0.5, n = 9 }, x:totable()[10])
  end)

  it("cupy#9918, cupy#9750 views beyond 2^31 bytes have 64-bit offsets", function()
    if dev:memory().device_free < 3 << 30 or support.sanitizer then
      pending "not enough memory"
    end
    local far, n = (1 << 31) + 64, 4096
    local x = dev:buffer("u8", (1 << 31) + (1 << 20))
    local view = x:slice(far + 1, far + n)
    local bytes = {}
    for i = 1, n do
      bytes[i] = i * 7 % 251
    end
    view:write(bytes)
    assert.equal(14 % 251, x:read(far + 2, far + 2)[1])
    assert.equal(n * 7 % 251, view:read()[n])
    local copy = dev:buffer("u8", n):copy(view)
    assert.same(bytes, copy:totable())
    local sum = dev:kernel [[
      extern "C" __global__ void sum(const unsigned char *x, long long at, int n, unsigned long long *out) {
        unsigned long long s = 0;
        for (int i = 0; i < n; i++) s += x[at + i];
        out[0] = s;
      }
    ]]
    local out, wanted = dev:buffer("u64", 2, 0), 0
    for i = 1, n do
      wanted = wanted + bytes[i]
    end
    sum:launch(ONE, view, 0, n, out)
    assert.equal(wanted, out:read()[1])
    sum:launch(ONE, x, far, n, out)
    assert.equal(wanted, out:read()[1])
    view:fill(9)
    assert.equal(9, x:read(far + n, far + n)[1])
    assert.equal(
      9 * n,
      (function()
        sum:launch(ONE, x, far, n, out)
        return out:read()[1]
      end)()
    )
    fails("range", function()
      x:slice(far, (1 << 32))
    end)
  end)

  it("cuda-python#1396, numba-cuda#351 zero-size and 2-D bool arrays go through every path", function()
    local k = dev:kernel [[extern "C" __global__ void k(const float *x, float *y, int n) { if (n) y[0] = x[0]; }]]
    for _, shape in ipairs { 0, { 0, 4 }, { 4, 0 } } do
      local x, y = dev:buffer("f32", shape), dev:buffer("f32", shape)
      x:write {}
      x:fill(1)
      y:copy(x)
      assert.equal(0, #y:read())
      assert.equal("", y:bytes_string())
      assert.equal(0, x:view("f32").count)
      assert.is_string(tostring(x))
      k:launch(ONE, x, y, 0)
      assert.equal(0, #dev:read({ x, y })[2])
      x:free()
    end
    local empty = dev:buffer("f32", 0)
    assert.equal(0, empty:slice(1, 0).count)
    assert.equal(0, dev:from("f32", {}).count)
    local rows = {}
    for i = 1, 10 do
      rows[i] = {}
      for j = 1, 10 do
        rows[i][j] = (i * j) % 3 == 0
      end
    end
    local b = dev:from("bool", rows)
    assert.same(rows, b:totable())
    assert.same(rows, dev:buffer("bool", { 10, 10 }):copy(b):totable())
    assert.same(rows[4], b:row(4):totable())
    local flip = dev:kernel [[extern "C" __global__ void k(bool *x) { x[threadIdx.x] = !x[threadIdx.x]; }]]
    flip:launch({ grid = 1, block = 100 }, b)
    assert.equal(not rows[3][3], b:totable()[3][3])
  end)
end)
