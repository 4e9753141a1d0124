-- Every dtype end to end: from Lua through a kernel that reads and writes it and back, at the ends of each type;
-- vectors and structs by value.

local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

local INF = 1 / 0

-- Of each dtype: its type in a kernel, an expression that makes another value of a value x, values, and what they
-- become.
local DTYPES = {
  i8 = { "signed char", "(signed char)-x", { -127, -1, 0, 127 }, { 127, 1, 0, -127 } },
  u8 = { "unsigned char", "(unsigned char)(255 - x)", { 0, 1, 128, 255 }, { 255, 254, 127, 0 } },
  i16 = { "short", "(short)(-1 - x)", { -32768, -1, 0, 32767 }, { 32767, 0, -1, -32768 } },
  u16 = { "unsigned short", "(unsigned short)(65535 - x)", { 0, 32768, 65535 }, { 65535, 32767, 0 } },
  i32 = { "int", "-1 - x", { -0x80000000, -1, 0x7fffffff }, { 0x7fffffff, 0, -0x80000000 } },
  u32 = { "unsigned", "~x", { 0, 0x80000000, 0xffffffff }, { 0xffffffff, 0x7fffffff, 0 } },
  i64 = {
    "long long",
    "-1 - x",
    { math.mininteger, -1, 0x1fffffffffffff + 2, math.maxinteger },
    { math.maxinteger, 0, -0x1fffffffffffff - 3, math.mininteger },
  },
  u64 = {
    "unsigned long long",
    "x + 1",
    { 0, math.maxinteger, math.mininteger, -2, -1 },
    { 1, math.mininteger, math.mininteger + 1, -1, 0 },
  },
  f16 = {
    "half",
    "-x",
    { 1.5, -65504.0, 0x1p-24, 0x1.ff8p-15, 0.0, INF },
    { -1.5, 65504.0, -0x1p-24, -0x1.ff8p-15, -0.0, -INF },
  },
  bf16 = {
    "__hip_bfloat16",
    "-x",
    { 1.5, 0x1.fep127, 0x1p-133, -0x1p-126, INF },
    { -1.5, -0x1.fep127, -0x1p-133, 0x1p-126, -INF },
  },
  f32 = {
    "float",
    "-x",
    { 0.5, 0x1.fffffep127, 0x1p-149, -0x1p-126, -0.0, INF },
    { -0.5, -0x1.fffffep127, -0x1p-149, 0x1p-126, 0.0, -INF },
  },
  f64 = {
    "double",
    "-x",
    { 0.1, 0x1.fffffffffffffp1023, 0x1p-1074, INF },
    { -0.1, -0x1.fffffffffffffp1023, -0x1p-1074, -INF },
  },
  bool = { "bool", "!x", { true, false, true }, { false, true, false } },
  c64 = {
    "hipFloatComplex",
    "hipCmulf(x, make_hipFloatComplex(0, 1))",
    { { 1, 2 }, { -0.5, 0x1p100 } },
    { { -2.0, 1.0 }, { -0x1p100, -0.5 } },
  },
  c128 = {
    "hipDoubleComplex",
    "hipConj(x)",
    { { 0.1, 0.2 }, { 0x1p-1074, 0x1p1000 } },
    { { 0.1, -0.2 }, { 0x1p-1074, -0x1p1000 } },
  },
}

-- The sign of zero counts.
local function same(wanted, got)
  assert.equal(#wanted, #got)
  for i = 1, #wanted do
    assert.same(wanted[i], got[i])
    if wanted[i] == 0 and math.type(wanted[i]) == "float" then
      assert.equal(1 / wanted[i], 1 / got[i])
    end
  end
end

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  for _, dtype in ipairs(luhip.dtypes) do
    it("K: a kernel reads and writes " .. dtype, function()
      local type_, expression, values, wanted = table.unpack(DTYPES[dtype])
      local k = dev:kernel(([[
        #include <hip/hip_runtime.h>
        #include <hip/hip_fp16.h>
        #include <hip/hip_bf16.h>
        #include <hip/hip_complex.h>
        typedef %s T;
        extern "C" __global__ void k(const T *in, T *out, T by, T *by_out, int n) {
          int i = threadIdx.x;
          if (i < n) { T x = in[i]; out[i] = %s; }
          if (i == 0) by_out[0] = by;
        }
      ]]):format(type_, expression))
      local x, y, z = dev:from(dtype, values), dev:buffer(dtype, #values), dev:buffer(dtype, 1)
      for _, value in ipairs(values) do
        k:launch({ grid = 1, block = 32 }, x, y, value, z, #values)
        same({ dev:from(dtype, { value }):totable()[1] }, z:totable())
      end
      same(wanted, y:totable())
      if dtype ~= "bool" and dtype:sub(1, 1) ~= "c" then
        local plain = dtype == "u64" or dtype == "i64"
        local converted = plain and x or x:astype "f64"
        if not plain then
          same(x:totable(), converted:astype(dtype):totable())
        end
      end
      for i, param in ipairs(k.params) do
        if i == 1 then
          assert.equal("in", param.kind)
        end
      end
      local other = dev:buffer(dtype == "i8" and "f32" or "i8", 16)
      if dtype ~= "u8" then
        fails("type", function()
          k:launch({ grid = 1, block = 1 }, other, y, values[1], z, 0)
        end, dtype:sub(1, 1) == "c" and "f" or dtype)
      end
    end)
  end

  it("NaN stays NaN in every floating type, by value too", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
      local k = dev:kernel(([[
        #include <hip/hip_fp16.h>
        #include <hip/hip_bf16.h>
        extern "C" __global__ void k(const %s *in, %s by, double *out) {
          out[0] = (float)in[0];
          out[1] = (float)by;
        }
      ]]):format(DTYPES[dtype][1], DTYPES[dtype][1]))
      local out = dev:buffer("f64", 2)
      k:launch({ grid = 1, block = 1 }, dev:from(dtype, { 0 / 0 }), 0 / 0, out)
      for _, value in ipairs(out:totable()) do
        assert.is_true(value ~= value)
      end
    end
  end)

  it("every half is the same number in Lua and in a kernel", function()
    local all = luhip.array("u16", 65536):map(function(_, i)
      return i - 1
    end)
    local bits = dev:buffer("u16", 65536, all)
    local out = dev:buffer("f32", 65536)
    for _, case in ipairs { { "f16", "half" }, { "bf16", "__hip_bfloat16" } } do
      local k = dev:kernel(([[
        #include <hip/hip_fp16.h>
        #include <hip/hip_bf16.h>
        extern "C" __global__ void k(const %s *in, float *out, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) out[i] = (float)in[i];
        }
      ]]):format(case[2]))
      k:launch({ grid = 256, block = 256 }, bits:view(case[1]), out, 65536)
      local device, host = out:read(), bits:view(case[1]):read()
      for i = 1, 65536 do
        local a, b = device[i], host[i]
        if a ~= b and (a == a or b == b) then
          error(("bits %04x: %s on the device, %s in Lua"):format(i - 1, a, b))
        end
      end
    end
  end)

  it("integers of 54 bits and more round once to every floating type, in buffers and by value", function()
    local k = dev:kernel [[
      #include <hip/hip_fp16.h>
      #include <hip/hip_bf16.h>
      extern "C" __global__ void k(__hip_bfloat16 b, float f, double d, float *out, double *out_d) {
        out[0] = (float)b; out[1] = f; out_d[0] = d;
      }
    ]]
    local out, out_d = dev:buffer("f32", 2), dev:buffer("f64", 1)
    for _, case in ipairs {
      { (1 << 60) + (1 << 52) + 1, 0x1.02p60, 0x1.01p60 },
      { -(1 << 60) - (1 << 52) - 1, -0x1.02p60, -0x1.01p60 },
      { (1 << 60) + (1 << 36) + 1, 0x1p60, 0x1.000002p60 },
      { math.maxinteger, 0x1p63, 0x1p63 },
      { math.mininteger, -0x1p63, -0x1p63 },
    } do
      k:launch({ grid = 1, block = 1 }, case[1], case[1], case[1], out, out_d)
      local by_value = out:totable()
      assert.same({ case[2] }, { by_value[1] })
      assert.same(dev:from("bf16", { case[1] }):totable()[1], by_value[1])
      assert.same(case[3], by_value[2])
      assert.same(dev:from("f32", { case[1] }):totable()[1], by_value[2])
      assert.same(dev:from("f64", { case[1] }):totable()[1], out_d:totable()[1])
    end
  end)

  it("conversions are exact at their limits, and refused one beyond", function()
    local last = {
      { "f64", "i8", 127.0, 127, 128.0 },
      { "f64", "i32", -2147483648.0, -2147483648, -2147483649.0 },
      { "f64", "u32", 4294967295.0, 4294967295, 4294967296.0 },
      { "f64", "i64", 0x1.fffffffffffffp62, 0x7ffffffffffffc00, 0x1p63 },
      { "f64", "i64", -0x1p63, math.mininteger, -0x1.0000000000001p63 },
      { "f64", "u64", 0x1.fffffffffffffp63, -2048, 0x1p64 },
      { "f32", "u64", 0x1.fffffep63, -1 << 40, 0x1p64 },
      { "f64", "f32", 0x1.fffffefffffffp127, 0x1.fffffep127, 0x1.ffffffp127 },
      { "f64", "f16", 65519.999, 65504.0, 65520.0 },
      { "f64", "bf16", 0x1.fefffffffffffp127, 0x1.fep127, 0x1.ffp127 },
      { "i64", "i32", 0x7fffffff, 0x7fffffff, 0x80000000 },
      { "u64", "i64", math.maxinteger, math.maxinteger, math.mininteger },
      { "i64", "u64", 0, 0, -1 },
    }
    for _, case in ipairs(last) do
      local from, to, value, wanted, beyond = table.unpack(case)
      assert.same({ wanted }, dev:from(from, { value }):astype(to):totable())
      fails("range", function()
        dev:from(from, { beyond }):astype(to)
      end, to)
    end
  end)

  it("D3 vector parameters take lists", function()
    local k = dev:kernel [[
      extern "C" __global__ void k(float4 a, int2 b, uchar3 c, double2 d, ulonglong2 e, short4 f, double *out,
                                   unsigned long long *last) {
        out[0] = a.x; out[1] = a.w; out[2] = b.x; out[3] = b.y; out[4] = c.x; out[5] = c.z;
        out[6] = d.y; out[7] = f.x; out[8] = f.w;
        last[0] = e.x; last[1] = e.y;
      }
    ]]
    local out, last = dev:buffer("f64", 9), dev:buffer("u64", 2)
    k:launch(
      { grid = 1, block = 1 },
      { 1, 2, 3, -4.5 },
      { math.mininteger >> 32 | ~0 << 32, 7 },
      { 0, 1, 255 },
      { 0, 0.1 },
      { -1, math.mininteger },
      { -32768, 0, 0, 32767 },
      out,
      last
    )
    assert.same({ 1.0, -4.5, -2147483648.0, 7.0, 0.0, 255.0, 0.1, -32768.0, 32767.0 }, out:totable())
    assert.same({ -1, math.mininteger }, last:totable())
    local good = { { 1, 2, 3, 4 }, { 1, 2 }, { 1, 2, 3 }, { 1, 2 }, { 1, 2 }, { 1, 2, 3, 4 } }
    local bad = { { 1, 2, 3 }, { 1, 2.5 }, { 0, 1, 256 }, { 1, "x" }, { 1, 1e30 }, { 0, 0, 0, 40000 } }
    for i, wrong in ipairs(bad) do
      local arguments = { table.unpack(good) }
      arguments[i] = wrong
      arguments[7], arguments[8] = out, last
      assert.is_false((pcall(k.launch, k, { grid = 1, block = 1 }, table.unpack(arguments))))
    end
    fails("range", function()
      k:launch({ grid = 1, block = 1 }, good[1], good[2], { 0, 1, 256 }, good[4], good[5], good[6], out, last)
    end, "'c'", "element 3")
  end)

  it("D3 buffers of vectors are buffers of their components, whole and aligned", function()
    local k = dev:kernel [[
      extern "C" __global__ void k(const float4 *a, float2 *b, const int3 *c, float *out) {
        out[0] = a[1].y; out[1] = c[1].z; b[1].x = 5;
      }
    ]]
    local a = dev:buffer("f32", { 2, 4 }, { 1, 2, 3, 4, 5, 6, 7, 8 })
    local b, out = dev:buffer("c64", 2, 0), dev:buffer("f32", 2)
    k:launch({ grid = 1, block = 1 }, a, b, dev:from("i32", { 1, 2, 3, 4, 5, 6 }), out)
    assert.same({ 6.0, 6.0 }, out:totable())
    assert.same({ { 0.0, 0.0 }, { 5.0, 0.0 } }, b:totable())
    fails("shape", function()
      k:launch({ grid = 1, block = 1 }, dev:buffer("f32", 6), b, dev:buffer("i32", 6), out)
    end, "16")
    fails("argument", function()
      k:launch({ grid = 1, block = 1 }, a:reshape(8):slice(2, 5), b, dev:buffer("i32", 6), out)
    end)
  end)

  it("D3 structs by value are byte strings of their size", function()
    local k = dev:kernel [[
      struct settings { char tag; double scale; bool on; int n[3]; };
      extern "C" __global__ void k(char before, settings s, bool after, double *out) {
        out[0] = before; out[1] = s.tag; out[2] = s.scale; out[3] = s.on; out[4] = s.n[2]; out[5] = after;
      }
    ]]
    local out = dev:buffer("f64", 6)
    local packed = string.pack("<!8 b !8 d B !4 i4i4i4 !8 Xd", -3, 0.1, 1, 7, 8, -9)
    local S = luhip.struct("settings", { { "tag", "i8" }, { "scale", "f64" }, { "on", "bool" }, { "n", "i32", 3 } })
    assert.equal(packed, S:pack { tag = -3, scale = 0.1, on = true, n = { 7, 8, -9 } })
    k:launch({ grid = 1, block = 1 }, -1, packed, true, out)
    assert.same({ -1.0, -3.0, 0.1, 1.0, -9.0, 1.0 }, out:totable())
    for _, wrong in ipairs { packed:sub(2), packed .. "\0", "" } do
      fails("type", function()
        k:launch({ grid = 1, block = 1 }, -1, wrong, true, out)
      end, "'s'", tostring(#wrong), "32")
    end
    fails("type", function()
      k:launch({ grid = 1, block = 1 }, -1, { 1 }, true, out)
    end)
  end)

  it("2-D booleans go there and back", function()
    local rows = {}
    for i = 1, 10 do
      rows[i] = {}
      for j = 1, 10 do
        rows[i][j] = (i * j) % 3 == 0
      end
    end
    local b = dev:from("bool", rows)
    assert.same(rows, b:totable())
    assert.same(rows, dev:pitched("bool", { 10, 10 }, rows):contiguous():totable())
    assert.same(rows, b:transpose():contiguous():totable())
    assert.same(rows, b:astype("f32"):astype("bool"):totable())
    fails("range", function()
      dev:from("bool", { 2 })
    end)
  end)
end)
