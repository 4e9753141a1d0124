-- Atomics with many threads and blocks at once, in global and in shared memory.

local support = require("spec.support")

local BLOCKS, THREADS = 24, 64
local N = BLOCKS * THREADS

-- dtype, C type
local TYPES = {
  { "i32", "int" },
  { "u32", "unsigned" },
  { "i64", "long long" },
  { "u64", "unsigned long long" },
  { "f32", "float" },
  { "f64", "double" },
}

support.each_device(function(id)
  for _, entry in ipairs(TYPES) do
    local dtype, ctype = table.unpack(entry)

    it("atomics: add, sub, min, max, exchange and compare-and-swap on " .. ctype, function()
      local dev = support.open(id)
      local source = ([[
        typedef TYPE T;
        extern "C" __global__ void k(T *out, T *seen) {
          __shared__ T local[4];
          unsigned i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
          if (t < 4) local[t] = t == 2 ? T(1000) : T(0);
          __syncthreads();
          seen[i] = atomicAdd(&out[0], T(1));            // each value once
          atomicSub(&out[1], T(2));
          atomicMin(&out[2], T(i + 5)); atomicMax(&out[3], T(i));
          T old = out[4], want;                          // a sum by compare and swap
          do { want = old; old = atomicCAS(&out[4], want, T(want + 3)); } while (old != want);
          atomicAdd(&local[0], T(1)); atomicSub(&local[1], T(1));
          atomicMin(&local[2], T(t)); atomicMax(&local[3], T(t));
          __syncthreads();
          if (t == 0) {
            atomicAdd(&out[5], local[0]); atomicAdd(&out[6], -local[1]);
            atomicAdd(&out[7], T(local[2] + local[3]));
            if (atomicExch(&out[8], T(blockIdx.x + 1)) == T(0)) atomicAdd(&out[9], T(1));   // only the first sees 0
          }
        }]]):gsub("TYPE", ctype)
      local k = dev:kernel(source)
      local out, seen = dev:from(dtype, { 0, 2 * N, 100000, 0, 0, 0, 0, 0, 0, 0 }), dev:buffer(dtype, N)
      k:launch({ grid = BLOCKS, block = THREADS }, out, seen)
      local got, values = out:read():totable(), seen:read():totable()
      local last = table.remove(got, 9)
      assert.same({ N, 0, 5, N - 1, 3 * N, N, N, BLOCKS * (THREADS - 1), 1 }, got)
      assert.is_true(last >= 1 and last <= BLOCKS)
      table.sort(values)
      for i, value in ipairs(values) do
        assert.equal(i - 1, value)
      end
    end)
  end

  it("atomics: and, or, xor, inc and dec", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void k(unsigned *out, unsigned long long *wide) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        atomicAnd(&out[0], ~(1u << i % 32)); atomicOr(&out[1], 1u << i % 31); atomicXor(&out[2], i);
        atomicInc(&out[3], 9); atomicDec(&out[4], 9);
        atomicOr(&wide[0], 1ull << i % 64); atomicAnd(&wide[1], ~(1ull << i % 64)); atomicXor(&wide[2], 1ull << 40 | i);
      }]])
    local out, wide = dev:from("u32", { 0xffffffff, 0, 0, 0, 0 }), dev:from("u64", { 0, -1, 0 })
    k:launch({ grid = BLOCKS, block = THREADS }, out, wide)
    local xor = 0
    for i = 0, N - 1 do
      xor = xor ~ i
    end
    assert.same({ 0, 0x7fffffff, xor, N % 10, (10 - N % 10) % 10 }, out:read():totable())
    assert.same({ -1, 0, xor }, wide:read():totable())
  end)

  if id:find("^cpu") then
    it("atomics: minimum and maximum of floats of both signs, and NaN does not hang", function()
      local dev = support.open(id)
      local k = dev:kernel([[
        extern "C" __global__ void k(float *out, float nan) {
          float v = (int)(blockIdx.x * blockDim.x + threadIdx.x) - 700;
          atomicMin(&out[0], v); atomicMax(&out[1], v); atomicAdd(&out[2], nan); atomicMax(&out[3], nan);
        }]])
      local out = dev:from("f32", { 0, -1e9, 0, 5 })
      k:launch({ grid = BLOCKS, block = THREADS }, out, 0 / 0)
      local got = out:read():totable()
      assert.same({ -700, N - 1 - 700 }, { got[1], got[2] })
      assert.is_true(got[3] ~= got[3])
      assert.equal(5, got[4])
    end)

    it("atomics: scopes, the compiler's own names, cache hints, and a source's own atomicAdd", function()
      local dev = support.open(id)
      local k = dev:kernel([[
        __device__ double atomicAdd(double *address, double v) {
          unsigned long long *word = (unsigned long long *)address, old = *word, expected;
          do {
            expected = old;
            double sum = v + __longlong_as_double(expected);
            old = atomicCAS(word, expected, (unsigned long long)__double_as_longlong(sum));
          } while (old != expected);
          return __longlong_as_double(old);
        }
        extern "C" __global__ void k(int *out, float *f, double *d, const int *in) {
          atomicAdd_block(&out[0], 1); atomicAdd_system(&out[0], __ldg(in));
          atomicMax_system(&out[1], (int)threadIdx.x);
          __hip_atomic_fetch_add(&out[2], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
          __hip_atomic_fetch_add(f, 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
          unsafeAtomicAdd(f, 0.5f); atomicAdd(d, 1.0);
          if (__hip_atomic_load(&out[2], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < 1) out[3] = 1;
          unsigned char c = __ldcs((const unsigned char *)in); if (c != 2) out[3] = 2;
        }]])
      local out, f, d = dev:buffer("i32", 4, 0), dev:from("f32", { 0 }), dev:from("f64", { 0 })
      k:launch({ grid = BLOCKS, block = THREADS }, out, f, d, dev:from("i32", { 2 }))
      assert.same({ 3 * N, THREADS - 1, N, 0 }, out:read():totable())
      assert.same({ N }, f:read():totable())
      assert.same({ N }, d:read():totable())
    end)
  end
end)
