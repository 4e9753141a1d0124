-- The device headers behind g++, which stands in where there is no clang (nothing is vectorised across threads then).

local support = require "spec.support"

local SCRIPT = [==[
local luhip = require "luhip"
for _, id in ipairs { "cpu:0", "cpu:0/64" } do
  local dev = luhip.open(id)
  local k = dev:kernel [[
    #include <hip/hip_fp16.h>
    #include <hip/hip_bf16.h>
    #include <hip/hip_cooperative_groups.h>
    template <class T> struct pair { T a, b; };
    extern "C" __global__ void k(float *out, int *count) {
      __shared__ float4 tile[64];
      extern __shared__ pair<int> pairs[];
      int t = threadIdx.x;
      tile[t] = make_float4(t, 1, 2, 3) * 2.0f;
      pairs[t].a = t; pairs[t].b = __popc(t);
      __syncthreads();
      atomicAdd(count, pairs[63 - t].b);
      __hip_atomic_fetch_add(count + 1, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      float sum = tile[63 - t].x;
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor(sum, d, 32);
      half h = __float2half(1.5f);
      __hip_bfloat16 b = 2.5f;
      out[t] = sum + float(h) * float(b) + sinf(0.0f) + max(1, 2) + __ffs(8) + hypot(3.0, 4.0) + __brev(1u << 31)
             + cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block()).thread_rank();
    }]]
  local out, count = dev:buffer("f32", 64), dev:buffer("i32", 2, 0)
  k:launch({ grid = 1, block = 64, shared = 64 * 8 }, out, count)
  local got = out:read()
  for t = 0, 63 do
    local lanes = t < 32 and 3040 or 992 -- 2 (32 + ... + 63), 2 (0 + ... + 31)
    assert(got[t + 1] == lanes + 1.5 * 2.5 + 2 + 4 + 5 + 1 + t % 8, id .. ": " .. t .. ": " .. got[t + 1])
  end
  local counts = count:read()
  assert(counts[1] == 192 and counts[2] == 64, id)
  print(id)
end
]==]

it("the device headers compile behind g++ and give the same results", function()
  local result = support.lua(SCRIPT, { env = { LUHIP_CLANG = "g++", LUHIP_CACHE = "off" } })
  assert.equal("cpu:0\ncpu:0/64\n", result.stdout, result.stderr)
  assert.equal(0, result.code)
end)

it("K3 what g++ says of a kernel's marker is said of the kernel, at its place", function()
  local result = support.lua(
    [==[
      local dev = require("luhip").open "cpu"
      for _, source in ipairs {
        "__global__ void min(float *x) {}",
        'extern "C" __global__ void memcpy(float *x) {}',
        "__global__ int k(float *x) { return 1; }",
        "__global__ void k(float &x) {}",
      } do
        local e = select(2, pcall(dev.kernel, dev, source))
        print(#e.diagnostics, e.message:match ": (.*)")
      end
    ]==],
    { env = { LUHIP_CLANG = "g++", LUHIP_CACHE = "off" } }
  )
  local several = "several functions have this name; kernels cannot be overloaded, nor be called like a built-in "
    .. "function: give it a name of its own"
  assert.equal(
    table.concat {
      ("1\tkernel.hip:1:33: kernel 'min': %s\n"):format(several),
      ("1\tkernel.hip:1:47: kernel 'memcpy': %s\n"):format(several),
      "1\tkernel.hip:1:41: kernel 'k': a kernel must return void\n",
      "1\tkernel.hip:1:31: kernel 'k': a kernel's parameters cannot be references\n",
    },
    result.stdout,
    result.stderr
  )
end)
