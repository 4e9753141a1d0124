-- NVIDIA GPUs: how they are listed, HIP's words in sources, shared memory, and what a fault leaves.

local luhip = require "luhip"
local support = require "spec.support"

describe("cuda", function()
  it("is listed with a reason where it cannot be used, and as cuda:0 where it can", function()
    local found
    for _, device in ipairs(luhip.devices()) do
      if device.backend == "cuda" then
        found = device
        assert.matches(device.reason and "^cuda$" or "^cuda:%d+$", device.id)
        assert.matches(device.reason and "%a" or "^sm_%d+$", device.reason or device.arch)
      end
    end
    assert.truthy(found)
    if found.reason then
      support.assert_error_kind("no_device", function()
        luhip.open "cuda:0"
      end, "cuda", found.reason)
    end
  end)
end)

support.each_device(function(id)
  if not id:find "^cuda" then
    return
  end

  it("compiles HIP's sources as they are", function()
    local dev = support.open(id)
    local k = dev:kernel [[
      #include <hip/hip_runtime.h>
      #include <hip/hip_fp16.h>
      #include <hip/hip_bf16.h>
      #include <hip/hip_complex.h>
      #include <hip/hip_cooperative_groups.h>
      #include <cmath>
      #include <limits>
      #include <stdint.h>
      __global__ void words(float *out, uint64_t *masks) {
        HIP_DYNAMIC_SHARED(float, shared)
        int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
        shared[i] = __shfl_down(float(i), 1) + float(__half(2.0f)) + float(__float2bfloat16(4.0f));
        __syncthreads();
        float4 v = make_float4(1, 2, 3, 4) * 2.0f;
        out[i] = shared[i] + v.w + std::max(hipCrealf(make_hipFloatComplex(1, 2)), 0.0f);
        unsigned long long all = __ballot(1); // by the lanes that are there
        if (i == 0) masks[0] = all, masks[1] = warpSize;
      }
    ]]
    local out, masks = dev:buffer("f32", 32, 0), dev:buffer("u64", 2, 0)
    k:launch({ grid = 1, block = 32, shared = 128 }, out, masks)
    assert.equal(1 + 2 + 4 + 8 + 1.0, out:read()[1])
    assert.same({ 0xffffffff, 32 }, masks:totable())
  end)

  it("has 16-bit floats of its own where CUDA's headers are not, with the same values", function()
    local function values(include)
      local result = support.lua(
        [[
          local dev = require("luhip").open(...)
          local k = dev:kernel [=[
            #include <hip/hip_fp16.h>
            #include <hip/hip_bf16.h>
            #include <cuda_fp16.h>
            extern "C" __global__ void every(const float *x, float *out, __half *h, __half2 *pairs) {
              int i = threadIdx.x;
              __half a = __float2half(x[i]), b = __float2half(x[63 - i]), c = a * b; // CUDA's would fuse a sum with it
              if (__hgt(a, b)) c = __hdiv(c, a) - b;
              __half2 p = __hadd2(__floats2half2_rn(x[i], 1.0f), __halves2half2(b, a));
              h[i] = hsqrt(__habs(c));
              pairs[i] = __hmul2(p, p);
              out[i] = __half2float(__hfma(a, b, c)) + __high2float(p) + __bfloat162float(__float2bfloat16(x[i]));
            }
          ]=]
          local x = dev:buffer("f32", 64, function(i) return (i - 30) * 0.37 + 1e-6 * i * i end)
          local out, h, pairs = dev:buffer("f32", 64, 0), dev:buffer("f16", 64, 0), dev:buffer("f16", 128, 0)
          k:launch({ grid = 1, block = 64 }, x, out, h, pairs:view "f16")
          for _, b in ipairs { out, h, pairs } do
            print(table.concat(b:totable(), " "))
          end
        ]],
        { env = { LUHIP_CUDA_INCLUDE = include, LUHIP_CACHE = "off" } },
        id
      )
      assert.equal(0, result.code, result.stderr)
      return result.stdout
    end
    local own = values "/none"
    assert.equal(3, select(2, own:gsub("\n", "")))
    assert.is_nil(own:find("nan", 1, true))
    assert.equal(own, values(false))
  end)

  it("launches with as much shared memory as the device has", function()
    local dev = support.open(id)
    local k = dev:kernel [[
      extern "C" __global__ void last(int *out, int n) {
        extern __shared__ int shared[];
        shared[n - 1] = 7;
        out[0] = shared[n - 1];
      }
    ]]
    local out = dev:buffer("i32", 1, 0)
    k:launch({ grid = 1, block = 1, shared = dev.shared_bytes }, out, dev.shared_bytes // 4)
    assert.equal(7, out:read()[1])
  end)

  it("E8 tells an illegal address with the launch suspected, again later, and what opening again brings", function()
    local result = support.lua(
      [[
        local luhip = require "luhip"
        local id = ...
        local dev = luhip.open(id)
        local wild = dev:kernel 'extern "C" __global__ void wild(int *x) { *(int *)64 = 1; }'
        local x = dev:buffer("i32", 4, 0)
        wild:launch({ grid = 1, block = 1 }, x)
        local ok, first = pcall(x.read, x)
        print(ok, first)
        local again, second = pcall(dev.buffer, dev, "f32", 1 << 20, 1)
        print(again, second)
        pcall(dev.close, dev)
        local opened, third = pcall(luhip.open, id)
        if opened then -- then it has to work
          local y = third:buffer("f32", 4, 3)
          print("opened", y:read()[4])
          third:close()
        else
          print("refused", third)
        end
      ]],
      {},
      id
    )
    assert.equal(0, result.code, result.stderr)
    local lines = {}
    for line in result.stdout:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    assert.matches("^false.*hipErrorIllegalAddress", lines[1])
    assert.truthy(result.stdout:find("'wild'", 1, true), result.stdout)
    assert.matches("^false", lines[2])
    local last = lines[#lines]
    assert.truthy(last:find "^opened%s+3.0$" or last:find "^refused.*hipError", result.stdout)
  end)
end)
