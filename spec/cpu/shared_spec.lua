-- Shared memory, static and dynamic, and the variables of a module.

local support = require "spec.support"
local testing = require("luhip.core").testing

support.each_device(function(id)
  it("each block has shared memory of its own", function()
    local dev = support.open(id)
    local kernel = dev:kernel [[
      extern "C" __global__ void k(int *out) {
        __shared__ int count;
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        atomicAdd(&count, (int)blockIdx.x + 1);
        __syncthreads();
        if (threadIdx.x == 0) out[blockIdx.x] = count;
      }
    ]]
    local out = dev:buffer("i32", 300, 0)
    kernel:launch({ grid = 300, block = 64 }, out)
    for b, count in ipairs(out:read():totable()) do
      assert.equal(64 * b, count)
    end
  end)

  it("extern __shared__ arrays of every name share the dynamic memory of the launch", function()
    local dev = support.open(id)
    local kernel = dev:kernel(
      [[
      namespace deep { extern __shared__ int words[]; }
      template <class T> __device__ T *dynamic() {
        extern __shared__ unsigned char bytes[];
        return reinterpret_cast<T *>(bytes);
      }
      extern "C" __global__ void k(int *out, int n) {
        extern __shared__ int data[];
        __shared__ int fixed[16];
        fixed[threadIdx.x % 16] = 5;
        for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = i * i;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x)
          out[i] = deep::words[n - 1 - i] + dynamic<int>()[i] + fixed[i % 16];
      }
    ]],
      "k"
    )
    for _, n in ipairs { 1, 100, 8192 } do
      local out = dev:buffer("i32", n, 0)
      kernel:launch({ grid = 1, block = 64, shared = 4 * n }, out, n)
      local got = out:read()
      for i = 0, n - 1, n > 200 and 41 or 1 do
        assert.equal((n - 1 - i) ^ 2 + i ^ 2 + 5, got[i + 1])
      end
    end
  end)

  it("dynamic shared memory is aligned for vectors, and too much of it is refused", function()
    local dev = support.open(id)
    local kernel = dev:kernel [[
      extern "C" __global__ void k(int *out) {
        extern __shared__ double4 quads[];
        quads[threadIdx.x] = make_double4(threadIdx.x, 1, 2, 3);
        __syncthreads();
        double4 q = quads[blockDim.x - 1 - threadIdx.x];
        out[threadIdx.x] = (int)(q.x + q.y + q.z + q.w);
      }
    ]]
    local out = dev:buffer("i32", 32, 0)
    kernel:launch({ grid = 1, block = 32, shared = 32 * 32 }, out)
    assert.equal(31 + 6, out:read()[1])
    support.assert_error_kind("limits", function()
      kernel:launch({ grid = 1, block = 32, shared = dev.shared_bytes + 1 }, out)
    end)
  end)

  it("shared arrays of structs, of vectors and of two dimensions keep their layout", function()
    local dev = support.open(id)
    local kernel = dev:kernel [[
      struct pair { int a; double b; };
      extern "C" __global__ void k(int *out) {
        __shared__ pair pairs[32];
        __shared__ float4 vectors[32];
        __shared__ int grid[8][33];
        int t = threadIdx.x;
        pairs[t] = pair{t, t * 0.5};
        vectors[t] = make_float4(t, t + 1, t + 2, t + 3);
        for (int i = 0; i < 8; i++) grid[i][t] = 100 * i + t;
        __syncthreads();
        int o = 31 - t;
        out[t] = pairs[o].a + (int)(2 * pairs[o].b) + (int)vectors[o].w + grid[o % 8][o];
      }
    ]]
    local out = dev:buffer("i32", 32, 0)
    kernel:launch({ grid = 1, block = 32 }, out)
    for t, got in ipairs(out:read():totable()) do
      local o = 32 - t
      assert.equal(o + o + o + 3 + 100 * (o % 8) + o, got)
    end
  end)

  it("device and constant variables live from launch to launch", function()
    local dev = support.open(id)
    local program = dev:compile [[
      __device__ int counter;
      __constant__ int step = 3;
      extern "C" __global__ void k(int *out) {
        if (threadIdx.x == 0 && blockIdx.x == 0) { counter += step; *out = counter; }
      }
    ]]
    local out = dev:buffer("i32", 1, 0)
    for _ = 1, 5 do
      program:kernel("k"):launch({ grid = 2, block = 32 }, out)
    end
    assert.equal(15, out:read()[1])
  end)

  if not id:find "^cpu" then
    return
  end

  it("the host may write a variable that the source never writes and only its own file can name", function()
    local dev = support.open(id)
    local program = dev:compile [[
      static __device__ int bias = 5;
      namespace { __constant__ int scale = 2; __device__ int table[3] = {1, 1, 1}; }
      extern "C" __global__ void k(int *out) { *out = scale * *out + bias + table[1]; }
    ]]
    local out = dev:buffer("i32", 1, 10)
    program:kernel("k"):launch({ grid = 1, block = 1 }, out)
    assert.equal(26, out:read()[1])
    program:global("bias"):view("i32"):write { 1000 }
    program:global("_ZN12_GLOBAL__N_15scaleE"):view("i32"):write { 10 }
    program:global("_ZN12_GLOBAL__N_15tableE"):view("i32"):write { 0, 7, 0 }
    program:kernel("k"):launch({ grid = 1, block = 1 }, out)
    assert.equal(1267, out:read()[1])
  end)

  it("a __shared__ variable with an initial value is an error that says so", function()
    local dev = support.open(id)
    support.assert_error_kind("compile", function()
      dev:kernel [[
        extern "C" __global__ void k(int *out) {
          __shared__ int count = 5;
          out[threadIdx.x] = count++;
        }
      ]]
    end, "initial")
  end)

  it("modules that come and go in other threads leave the numbers of a running kernel alone", function()
    if not testing then
      return
    end
    local dev = support.open(id)
    local kernel = dev:kernel [[
      extern "C" __global__ void k(float a, const float *x, float *y, int n) {
        __shared__ float part[64];
        for (int i = 0; i < n; i++) {
          part[threadIdx.x] = a * x[threadIdx.x];
          __syncthreads();
          y[threadIdx.x] += part[63 - threadIdx.x] - part[threadIdx.x];
          __syncthreads();
        }
        y[threadIdx.x] += a * x[threadIdx.x];
      }
    ]]
    local x = dev:buffer("f32", 64, function(i)
      return i
    end)
    local s, ys = dev:stream(), {}
    for round = 1, 20 do
      ys[round] = dev:buffer("f32", 64, 0)
      kernel:launch({ grid = 1, block = 64, stream = s }, 2.0, x, ys[round], 200)
    end
    local loading = [[
      local dev = require("luhip.core").open(...)
      for i = 1, 20 do
        local k = dev:kernel("extern \"C\" __global__ void k(int *p) {"
          .. " __shared__ int s[8]; s[threadIdx.x] = 1; *p = s[0]; }")
        k:launch({ grid = 1, block = 1 }, dev:buffer("i32", 1, 0))
        dev:sync()
        k = nil
        collectgarbage()
      end
    ]]
    for _, r in ipairs(testing.threads(loading, 2, id)) do
      assert.is_true(r.ok, r.message)
    end
    for _, y in ipairs(ys) do
      for i, value in ipairs(y:totable()) do
        assert.equal(200 * (2.0 * (65 - i) - 2.0 * i) + 2.0 * i, value)
      end
    end
  end)
end, { warp64 = true })
