-- float4, dim3 and their like in kernels: layout, operators, construction.

local support = require("spec.support")

support.each_device(function(id)
  it("vector types: sizes and alignments are HIP's", function()
    local dev = support.open(id)
    dev:compile([[
      #define LAYOUT(T, bytes, align) static_assert(sizeof(T) == bytes && alignof(T) == align, #T);
      LAYOUT(char1, 1, 1) LAYOUT(char2, 2, 2) LAYOUT(char3, 3, 1) LAYOUT(char4, 4, 4)
      LAYOUT(uchar3, 3, 1) LAYOUT(uchar4, 4, 4) LAYOUT(short2, 4, 4) LAYOUT(ushort3, 6, 2) LAYOUT(short4, 8, 8)
      LAYOUT(int1, 4, 4) LAYOUT(int2, 8, 8) LAYOUT(int3, 12, 4) LAYOUT(int4, 16, 16) LAYOUT(uint4, 16, 16)
      LAYOUT(long2, 16, 16) LAYOUT(longlong3, 24, 8) LAYOUT(ulonglong4, 32, 32)
      LAYOUT(float1, 4, 4) LAYOUT(float2, 8, 8) LAYOUT(float3, 12, 4) LAYOUT(float4, 16, 16)
      LAYOUT(double1, 8, 8) LAYOUT(double2, 16, 16) LAYOUT(double3, 24, 8) LAYOUT(double4, 32, 32) LAYOUT(dim3, 12, 4)
      struct mixed { char c; float4 v; char3 t; };
      LAYOUT(mixed, 48, 16)
      extern "C" __global__ void k() {}
    ]])
  end)

  it("vector types: operators work by component", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void k(float *out, int *ints) {
        float4 a = make_float4(1, 2, 3, 4), b = {4, 3, 2, 1};
        float4 c = a + b * 2.0f - 1.0f / a;
        c += a; c /= make_float4(2, 2, 2, 2);
        out[0] = c.x; out[1] = c.y; out[2] = c.z; out[3] = c.w;
        float3 d = -make_float3(1, 2, 3); d *= 3; out[4] = d.x + d.y + d.z;
        out[5] = (a == b) + 2 * (a != b) + 4 * (a == a) + 8 * (make_float2(1, 1) == 1.0f);
        int4 i = make_int4(1, 2, 3, 4), j = i;
        i <<= 2; i |= 1; i ^= j; i = i % 7; ints[0] = i.x; ints[1] = i.y; ints[2] = i.z; ints[3] = i.w;
        int2 m = ~make_int2(0, 5) & make_int2(0xff, 0xff); ints[4] = m.x; ints[5] = m.y;
        int2 p = make_int2(7, 8); int2 q = p++; ++p; ints[6] = p.x + q.y; ints[7] = (--p).y;
        uchar4 u = make_uchar4(250, 1, 2, 3); u += 10; ints[8] = u.x;
        float4 zero = float4(0.0f); ints[9] = zero.w == 0.0f; short1 one = make_short1(-5); ints[10] = one.x;
        dim3 grid(3, 4); ints[11] = grid.x * 100 + grid.y * 10 + grid.z;
      }]])
    local out, ints = dev:buffer("f32", 6), dev:buffer("i32", 12)
    k:launch({ grid = 1, block = 1 }, out, ints)
    for i, wanted in ipairs { 4.5, 4.75, 29 / 6, 4.875, -18, 14 } do
      assert.near(wanted, out:read()[i], 1e-6)
    end
    assert.same({ 4, 4, 0, 0, 255, 250, 17, 9, 4, 1, -5, 341 }, ints:read():totable())
  end)

  it("vector types: a source's own operators are preferred", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, 100); }
      __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
      __device__ inline float norm(float3 v) { return sqrtf(dot(v, v)); }
      extern "C" __global__ void k(float *out) {
        float3 sum = make_float3(1, 2, 3) + make_float3(4, 5, 6);
        out[0] = sum.z; out[1] = norm(make_float3(2, 3, 6));
      }]])
    local out = dev:buffer("f32", 2)
    k:launch({ grid = 1, block = 1 }, out)
    assert.same({ 100, 7 }, out:read():totable())
  end)

  it("vector types: in buffers, in shared memory and as arguments", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void turn(const float4 *in, float4 *out, int3 shift) {
        __shared__ float4 tile[8];
        tile[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        float4 v = tile[(threadIdx.x + shift.z) % 8];
        v.w += shift.x + shift.y;
        out[threadIdx.x] = v;
      }]])
    local values = {}
    for i = 1, 32 do
      values[i] = i
    end
    local out = dev:buffer("f32", 32)
    k:launch({ grid = 1, block = 8 }, dev:from("f32", values), out, { 1, 2, 3 })
    local got = out:read():totable()
    for t = 0, 7 do
      local from = (t + 3) % 8 * 4
      assert.same({ from + 1, from + 2, from + 3, from + 7 }, table.move(got, t * 4 + 1, t * 4 + 4, 1, {}))
    end
  end)
end)
