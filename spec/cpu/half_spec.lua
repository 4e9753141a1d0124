-- half and bfloat16 in kernels: conversions at the limits, rounding, arithmetic, pairs.

local support = require("spec.support")

-- Both formats as { bits of fraction, largest exponent field, bias }.
local HALF = { fraction = 10, top = 31, bias = 15 }
local BF16 = { fraction = 7, top = 255, bias = 127 }

local function decode(f, bits)
  local sign = bits & 0x8000 ~= 0 and -1 or 1
  local exponent, fraction = bits >> f.fraction & f.top, bits & (1 << f.fraction) - 1
  if exponent == f.top then
    return fraction == 0 and sign * math.huge or 0 / 0
  elseif exponent == 0 then
    return sign * fraction * 2.0 ^ (1 - f.bias - f.fraction)
  end
  return sign * (1 + fraction * 2.0 ^ -f.fraction) * 2.0 ^ (exponent - f.bias)
end

-- x to the nearest value, ties to even; x is not NaN.
local function encode(f, x)
  local sign = (x < 0 or 1 / x < 0) and 0x8000 or 0
  local magnitude, infinity = math.abs(x), f.top << f.fraction
  local low, high = 0, infinity
  if magnitude == math.huge then
    return sign | infinity
  end
  while high - low > 1 do -- decode(low) <= magnitude < decode(high), were infinity a number
    local middle = (low + high) // 2
    if decode(f, middle) <= magnitude then
      low = middle
    else
      high = middle
    end
  end
  local below = decode(f, low)
  local above = high == infinity and 2.0 ^ (f.top - f.bias) or decode(f, high)
  local down, up = magnitude - below, above - magnitude
  return sign | ((down < up or (down == up and low & 1 == 0)) and low or high)
end

-- Values between, at and around what the formats can hold.
local function hard_values(f)
  local values = { 0.0, -0.0, 1.0, -1.0, 0.1, -2.7, 1e-45, 3.4e38, -3.4e38, 65504.0, 65519.0, 65520.0, 65536.0 }
  values[#values + 1] = math.huge
  values[#values + 1] = -math.huge
  local infinity = f.top << f.fraction
  for _, bits in ipairs({
    0,
    1,
    2,
    3,
    (1 << f.fraction) - 1,
    1 << f.fraction,
    0x3b01,
    0x3b02,
    infinity - 2,
    infinity - 1,
  }) do
    local a = decode(f, bits)
    local b = bits + 1 == infinity and 2.0 ^ (f.top - f.bias) or decode(f, bits + 1)
    local middle = (a + b) / 2
    for _, x in ipairs({ a, middle, middle * (1 - 2.0 ^ -20), middle * (1 + 2.0 ^ -20) }) do
      values[#values + 1] = string.unpack("f", string.pack("f", x))
      values[#values + 1] = -values[#values]
    end
  end
  return values
end

local FORMATS = {
  {
    format = HALF,
    name = "half",
    source = [[
      typedef __half T;
      __device__ T from_float(float x) { return __float2half(x); }
      __device__ float to_float(T x) { return __half2float(x); }
      __device__ unsigned short bits_of(T x) { return __half_as_ushort(x); }
      __device__ T of_bits(unsigned short x) { return __ushort_as_half(x); }
    ]],
  },
  {
    format = BF16,
    name = "bfloat16",
    source = [[
      typedef __hip_bfloat16 T;
      __device__ T from_float(float x) { return __float2bfloat16(x); }
      __device__ float to_float(T x) { return __bfloat162float(x); }
      __device__ unsigned short bits_of(T x) { return __bfloat16_as_ushort(x); }
      __device__ T of_bits(unsigned short x) { return __ushort_as_bfloat16(x); }
    ]],
  },
}

local KERNELS = [[
  typedef unsigned short bits;
  extern "C" __global__ void widen(float *out, unsigned short *back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = to_float(of_bits(i));
    back[i] = bits_of(from_float(out[i]));
  }
  extern "C" __global__ void narrow(const float *x, unsigned short *from, unsigned short *from_double, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) from[i] = bits_of(from_float(x[i])), from_double[i] = bits_of(T((double)x[i]));
  }
  extern "C" __global__ void arithmetic(const bits *xs, const bits *ys, bits *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = of_bits(xs[i]), y = of_bits(ys[i]);
    out[i] = bits_of(x + y), out[n + i] = bits_of(x - y);
    out[2 * n + i] = bits_of(x * y), out[3 * n + i] = bits_of(x / y);
    out[4 * n + i] = bits_of(__hfma(x, y, x)), out[5 * n + i] = (x < y) + 2 * (x == y) + 4 * __hge(x, y);
  }
]]

support.each_device(function(id)
  if not id:find("^cpu") then
    return
  end

  for _, case in ipairs(FORMATS) do
    local f, name = case.format, case.name

    it(name .. ": all 65536 values go to float and back", function()
      local dev = support.open(id)
      local widen = dev:compile(case.source .. KERNELS):kernel("widen")
      local out, back = dev:buffer("f32", 65536), dev:buffer("u16", 65536)
      widen:launch({ grid = 256, block = 256 }, out, back)
      local floats, bits = out:read():totable(), back:read():totable()
      for i = 0, 65535 do
        local wanted, got = decode(f, i), floats[i + 1]
        if wanted ~= wanted then
          local again, infinity = bits[i + 1], f.top << f.fraction
          assert.is_true(got ~= got, ("0x%04x is %g, not NaN"):format(i, got))
          assert.is_true(
            again & 0x7fff > infinity and again & 0x8000 == i & 0x8000,
            ("NaN 0x%04x: 0x%04x"):format(i, again)
          )
        elseif wanted ~= got or i ~= bits[i + 1] then
          assert.equal(wanted, got, ("0x%04x"):format(i))
          assert.equal(i, bits[i + 1])
        end
      end
    end)

    it(name .. ": float and double round to the nearest, ties to even", function()
      local dev = support.open(id)
      local narrow = dev:compile(case.source .. KERNELS):kernel("narrow")
      local values = hard_values(f)
      local n = #values
      local from, from_double = dev:buffer("u16", n), dev:buffer("u16", n)
      narrow:launch({ grid = (n + 63) // 64, block = 64 }, dev:from("f32", values), from, from_double, n)
      local got, got_double = from:read():totable(), from_double:read():totable()
      for i, x in ipairs(values) do
        assert.equal(encode(f, x), got[i], ("%a"):format(x))
        assert.equal(encode(f, x), got_double[i], ("double %a"):format(x))
      end
    end)

    it(name .. ": arithmetic rounds once per operation", function()
      local dev = support.open(id)
      local arithmetic = dev:compile(case.source .. KERNELS):kernel("arithmetic")
      local xs, ys, state = {}, {}, 1
      for i = 1, 300 do
        state = state * 1103515245 + 12345 & 0x7fffffff
        xs[i] = state >> 8 & 0xffff
        state = state * 1103515245 + 12345 & 0x7fffffff
        ys[i] = i % 3 == 0 and (xs[i] ~ (state >> 8 & 0x807f)) or state >> 8 & 0xffff -- every third: about as large
      end
      local n = #xs
      local out = dev:buffer("u16", 6 * n)
      arithmetic:launch({ grid = 5, block = 64 }, dev:from("u16", xs), dev:from("u16", ys), out, n)
      local got = out:read():totable()
      local checked = 0
      for i = 1, n do
        local x, y = decode(f, xs[i]), decode(f, ys[i])
        -- In double these are exact, or off by less than could move the rounding.
        local results = { x + y, x - y, x * y, x / y }
        for op, wanted in ipairs(results) do
          if wanted == wanted and wanted ~= 0 and math.abs(x) < math.huge and math.abs(y) < math.huge then
            assert.equal(encode(f, wanted), got[(op - 1) * n + i], ("operation %d of %a and %a"):format(op, x, y))
            checked = checked + 1
          end
        end
        local flags = (x < y and 1 or 0) + (x == y and 2 or 0) + (x >= y and 4 or 0)
        assert.equal(flags, got[5 * n + i], ("comparison of %a and %a"):format(x, y))
      end
      assert.is_true(checked > 800)
    end)
  end

  it("half and bfloat16: fma rounds once", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void k(unsigned short *out) {
        // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20: with c = 2^-11 just above a tie, which two roundings would lose.
        half a = __ushort_as_half(0x3c01), c = __ushort_as_half(0x1000);
        out[0] = __half_as_ushort(__hfma(a, a, c)), out[1] = __half_as_ushort(a * a + c);
        __hip_bfloat16 b = __ushort_as_bfloat16(0x3f81), tiny = __ushort_as_bfloat16(0x0080), one = 1.0f;
        __hip_bfloat16 tie = __ushort_as_bfloat16(0x3b80); // 2^-8: 1 + 2^-8 is a tie between 1 and 1 + 2^-7
        out[2] = __bfloat16_as_ushort(__hfma(tie, one, one)), out[3] = __bfloat16_as_ushort(__hfma(b, one, tiny));
        out[4] = __bfloat16_as_ushort(__hip_bfloat16((1ll << 40) + (1ll << 32) + 1));
      }]])
    local out = dev:buffer("u16", 5)
    k:launch({ grid = 1, block = 1 }, out)
    local got = out:read():totable()
    local a = decode(HALF, 0x3c01)
    assert.equal(encode(HALF, a * a + decode(HALF, 0x1000)), got[1])
    assert.equal(0x3f80, got[3])
    assert.equal(0x3f81, got[4])
    assert.equal(0x5381, got[5])
  end)

  it("half: pairs, conversions and functions", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_fp16.h>
      extern "C" __global__ void k(half2 *pairs, float *out) {
        half2 a = __floats2half2_rn(1.0f, 2.0f), b(half(3), half(4));
        pairs[0] = a + b; pairs[1] = __hmul2(a, b); pairs[2] = __hfma2(a, b, a); pairs[3] = -__lowhigh2highlow(a);
        float2 f = __half22float2(b); out[0] = f.x + f.y;
        out[1] = __half2float(hsqrt(half(16))) + __low2float(h2exp2(b)); out[2] = float(hexp(half(0)));
        out[3] = __half2int_rn(half(2.5f)) + __half2int_ru(half(2.25f)) * 10;
        out[3] += __half2int_rz(__float2half(70000.0f)) % 7;
        out[4] = __hisnan(half(NAN)) + 2 * __hisinf(half(-INFINITY));
        out[4] += 8 * __hltu(half(NAN), half(1)) + 16 * __hlt(half(NAN), half(1));
        out[5] = __half2float(__float2half_rd(1.0001f)); out[6] = __half2float(__float2half_ru(1.0001f));
        half h = 1.5f; h += half(2); h++; float wide = h; out[7] = wide;
        out[8] = __hbgt2(b, a) + 2 * __hbeq2(a, b) + 4 * (__hmax(half(1), half(2)) == half(2));
        out[9] = std::is_trivially_copyable<half>::value && sizeof(half2) == 4 && alignof(half2) == 4;
      }]])
    local pairs_out, out = dev:buffer("f16", 8), dev:buffer("f32", 10)
    k:launch({ grid = 1, block = 1 }, pairs_out, out)
    assert.same({ 4, 6, 3, 8, 4, 10, -2, -1 }, pairs_out:read():totable())
    local got = out:read():totable()
    assert.same({ 7, 12, 1, 32 + 2147483647 % 7, 1 - 2 + 8 }, table.move(got, 1, 5, 1, {}))
    assert.same({ 1, 1 + 2.0 ^ -10, 4.5, 5, 1 }, table.move(got, 6, 10, 1, {}))
  end)

  it("bfloat16: its three names", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_bfloat16.h>
      #include <cuda_bf16.h>
      extern "C" __global__ void k(__hip_bfloat16 *out, const hip_bfloat16 *in) {
        hip_bfloat16 a = in[0], b = hip_bfloat16(2.0f), c = a * b;
        out[0] = float(c); out[1] = a + 1.0f;
        out[2] = float(hip_bfloat16::round_to_bfloat16(1.01171875f, hip_bfloat16::truncate)); // cut, not rounded
        __nv_bfloat16 d = 3.0f; d = d + __float2bfloat16(1.0f); out[3] = d;
        __nv_bfloat162 p = __floats2bfloat162_rn(1.0f, 2.0f); p = __hadd2(p, p); out[4] = p.x + p.y;
        out[5] = hexp(__nv_bfloat16(0.0f)); out[6] = __habs(__nv_bfloat16(-3.0f));
      }]])
    local out, from = dev:buffer("bf16", 7), dev:from("bf16", { 5 })
    k:launch({ grid = 1, block = 1 }, out, from)
    assert.same({ 10, 6, 1.0078125, 4, 6, 1, 3 }, out:read():totable())
  end)

  it("half and bfloat16: atomicAdd", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void k(half *h, half2 *p, __hip_bfloat16 *b) {
        atomicAdd(h, half(1)); atomicAdd(p, half2(half(1), half(2))); atomicAdd(b, __hip_bfloat16(1.0f));
      }]])
    local h, p, b = dev:from("f16", { 0 }), dev:from("f16", { 0, 0 }), dev:from("bf16", { 0 })
    k:launch({ grid = 16, block = 8 }, h, p, b)
    assert.same({ 128 }, h:read():totable())
    assert.same({ 128, 256 }, p:read():totable())
    assert.same({ 128 }, b:read():totable())
  end)

  it("complex: functions", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_complex.h>
      extern "C" __global__ void k(double *out) {
        hipFloatComplex a = make_hipFloatComplex(1, 2), b = make_hipComplex(3, -4);
        hipFloatComplex m = hipCmulf(a, b), q = hipCdivf(m, b);
        hipFloatComplex s = hipCaddf(a, hipConjf(b));
        out[0] = m.x; out[1] = m.y; out[2] = q.x; out[3] = q.y;
        out[4] = s.x; out[5] = hipCimagf(s); out[6] = hipCabsf(b);
        hipDoubleComplex d = hipComplexFloatToDouble(b), e = hipCsub(hipCfma(d, d, d), d);
        out[7] = hipCreal(e); out[8] = e.y; out[9] = hipCsqabs(d);
      }]])
    local out = dev:buffer("f64", 10)
    k:launch({ grid = 1, block = 1 }, out)
    assert.same({ 11, 2, 1, 2, 4, 6, 5, -7, -24, 25 }, out:read():totable())
  end)
end)
