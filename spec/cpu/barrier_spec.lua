-- Barriers: __syncthreads wherever a block's threads may reach it together, and its voting forms.

local support = require "spec.support"

local function run(dev, source, threads, ints, options)
  local out = dev:buffer("i32", ints or threads, 0)
  local config = { grid = options and options.grid or 1, block = threads }
  dev:kernel(source):launch(config, out)
  return out:read():totable()
end

support.each_device(function(id)
  it("a barrier makes what every thread wrote visible to all", function()
    local dev = support.open(id)
    local source = [[
      extern "C" __global__ void k(int *out) {
        __shared__ int s[256];
        s[threadIdx.x] = threadIdx.x * 3;
        __syncthreads();
        out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + blockIdx.x;
      }
    ]]
    for _, threads in ipairs { 1, 2, 31, 33, 64, 100, 256 } do
      local out = run(dev, source, threads, 5 * threads, { grid = 5 })
      for i = 0, 5 * threads - 1 do
        assert.equal((threads - 1 - i % threads) * 3 + i // threads, out[i + 1])
      end
    end
  end)

  it("barriers work in loops", function()
    local dev = support.open(id)
    local out = run(
      dev,
      [[
      extern "C" __global__ void k(int *out) {
        __shared__ int s[128];
        int t = threadIdx.x;
        s[t] = t;
        for (int i = 0; i < 100; i++) {
          __syncthreads();
          int v = s[(t + 1) % 128];
          __syncthreads();
          s[t] = v;
        }
        out[t] = s[t];
      }
    ]],
      128
    )
    for t = 0, 127 do
      assert.equal((t + 100) % 128, out[t + 1])
    end
  end)

  it(
    "barriers work in device functions, inlined or not, in templates, and with variables living across them",
    function()
      local dev = support.open(id)
      local out = run(
        dev,
        [[
      __shared__ int cell[64];
      __device__ __noinline__ int rotate(int v, int by) {
        cell[threadIdx.x] = v;
        __syncthreads();
        int got = cell[(threadIdx.x + by) % blockDim.x];
        __syncthreads();
        return got;
      }
      template <int n> __device__ int many(int v) {
        if constexpr (n == 0) return v;
        else return many<n - 1>(rotate(v, n));
      }
      extern "C" __global__ void k(int *out) {
        double keep[4];
        for (int i = 0; i < 4; i++) keep[i] = threadIdx.x * 10.0 + i;
        int v = many<4>(threadIdx.x);
        out[threadIdx.x] = v + (int)(keep[0] + keep[1] + keep[2] + keep[3]) * 1000;
      }
    ]],
        64
      )
      for t = 0, 63 do
        assert.equal((t + 10) % 64 + (40 * t + 6) * 1000, out[t + 1])
      end
    end
  )

  it("threads that have returned do not count at a barrier", function()
    local dev = support.open(id)
    local source = [[
      extern "C" __global__ void k(int *out) {
        __shared__ int s[256];
        int t = threadIdx.x;
        s[t] = -1;
        if (t %s) return;
        s[t] = t;
        __syncthreads();
        if (t %% 2 == 1) return;
        __syncthreads();
        int sum = 0;
        for (int i = 0; i < 256; i++) sum += s[i] > 0 ? s[i] : 0;
        out[t] = sum;
      }
    ]]
    local function wanted(keeps)
      local sum = 0
      for t = 0, 255 do
        sum = sum + (keeps(t) and t or 0)
      end
      return sum
    end
    local cases = {
      [">= 100"] = function(t)
        return t < 100
      end,
      ["< 77"] = function(t)
        return t >= 77
      end,
      ["% 3 == 0"] = function(t)
        return t % 3 ~= 0
      end,
    }
    for condition, keeps in pairs(cases) do
      -- %s of a shared array: what a thread that returned at once wrote may or may not be seen, so it is no sum's part.
      local out = run(dev, source:format(condition:gsub("%%", "%%%%"), ""):gsub("%%%%", "%%"), 256)
      for t = 0, 255 do
        assert.equal(keeps(t) and t % 2 == 0 and wanted(keeps) or 0, out[t + 1], condition .. " " .. t)
      end
    end
  end)

  it("__syncthreads_count, _and and _or tell every thread the same", function()
    local dev = support.open(id)
    local out = run(
      dev,
      [[
      extern "C" __global__ void k(int *out) {
        int t = threadIdx.x, n = blockDim.x;
        int *mine = out + 6 * t;
        mine[0] = __syncthreads_count(t % 3 == 0);
        mine[1] = __syncthreads_and(t < n);
        mine[2] = __syncthreads_and(t != 41) != 0;
        mine[3] = __syncthreads_or(t == 41) != 0;
        mine[4] = __syncthreads_or(t > n);
        mine[5] = __syncthreads_count(4);
      }
    ]],
      90,
      6 * 90
    )
    for t = 0, 89 do
      local mine = { table.unpack(out, 6 * t + 1, 6 * t + 6) }
      mine[2] = mine[2] ~= 0 and 1 or 0
      assert.same({ 30, 1, 0, 1, 0, 90 }, mine)
    end
  end)

  it("blocks have three dimensions, and 1024 threads at most", function()
    local dev = support.open(id)
    local source = [[
      extern "C" __global__ void k(int *out) {
        __shared__ int s[1024];
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int n = blockDim.x * blockDim.y * blockDim.z;
        int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        for (int i = 0; i < 3; i++) {
          s[t] = (int)(threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z) + i;
          __syncthreads();
          out[b * n + t] = s[n - 1 - t] + 1000000 * b;
          __syncthreads();
        }
      }
    ]]
    local kernel = dev:kernel(source)
    for _, block in ipairs { { 4, 3, 2 }, { 8, 8, 16 }, { 1024, 1, 1 }, { 1, 1024, 1 }, { 1, 2, 64 }, { 33, 1, 3 } } do
      local bx, by, bz = table.unpack(block)
      local n = bx * by * bz
      local out = dev:buffer("i32", n * 12, -1)
      kernel:launch({ grid = { 2, 3, 2 }, block = block }, out)
      local got = out:read()
      for b = 0, 11 do
        for t = 0, n - 1, n > 100 and 37 or 1 do
          local o = n - 1 - t
          local value = o % bx + 100 * (o // bx % by) + 10000 * (o // bx // by) + 2
          assert.equal(value + 1000000 * b, got[b * n + t + 1])
        end
      end
    end
    support.assert_error_kind("limits", function()
      kernel:launch({ grid = 1, block = { 32, 33, 1 } }, dev:buffer("i32", 2000))
    end)
  end)

  it("a kernel may wait at a barrier in one launch and at none in the next", function()
    local dev = support.open(id)
    local kernel = dev:kernel [[
      extern "C" __global__ void k(int *out, int barriers) {
        for (int i = 0; i < barriers; i++) __syncthreads();
        atomicAdd(out, 1);
      }
    ]]
    local out = dev:buffer("i32", 1, 0)
    for i = 0, 9 do
      kernel:launch({ grid = 7, block = 96 }, out, i % 3)
    end
    assert.equal(10 * 7 * 96, out:read()[1])
  end)

  if id:find "^cpu" then
    it("barriers in different branches count as one", function()
      local dev = support.open(id)
      local out = run(
        dev,
        [[
        extern "C" __global__ void k(int *out) {
          __shared__ int s[64];
          int t = threadIdx.x;
          s[t] = t + 1;
          if (t % 2) {
            __syncthreads();
            out[t] = s[t - 1];
          } else {
            __syncthreads();
            out[t] = s[t + 1];
          }
        }
      ]],
        64
      )
      for t = 0, 63 do
        assert.equal((t ~ 1) + 1, out[t + 1])
      end
    end)

    it("checked mode: waiting at different barriers is a fault, threads that have returned are not", function()
      local dev = support.open(id, { checked = true })
      local kernel = dev:kernel [[
        extern "C" __global__ void k(int *out, int mode) {
          int t = threadIdx.x;
          if (mode == 1 && t >= 20) return;
          if (mode == 2 && t < 16) __syncthreads();
          __syncthreads();
          out[t] = t;
        }
      ]]
      local out = dev:buffer("i32", 64, -1)
      for mode, last in pairs { [0] = 63, [1] = 19 } do
        out:fill(-1)
        kernel:launch({ grid = 1, block = 64 }, out, mode)
        local got = out:read()
        assert.same({ 0, last, last < 63 and -1 or 63 }, { got[1], got[last + 1], got[64] })
      end
      kernel:launch({ grid = 1, block = 64 }, out, 2)
      local e = support.assert_error_kind("fault", function()
        out:read()
      end, "barrier")
      assert.equal("k", e.kernel)
    end)
  end
end, { warp64 = true })
