-- Warp operations: shuffles and votes, at every width, for every type, in uniform and in divergent code.

local support = require "spec.support"

local function launch(dev, source, block, count, dtype, ...)
  local out = dev:buffer(dtype or "i32", count, 0)
  dev:kernel(source):launch({ grid = 1, block = block }, out, ...)
  return out:read():totable()
end

support.each_device(function(id)
  it("shuffles move values between the lanes of a warp, or of each part of `width` lanes", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local source = [[
      template <int width> __global__ void k(int *out) {
        int t = threadIdx.x, *mine = out + 5 * t, v = 7 * t + 1;
        mine[0] = __shfl(v, 3, width);
        mine[1] = __shfl_up(v, 2, width);
        mine[2] = __shfl_down(v, 3, width);
        mine[3] = __shfl_xor(v, 1, width);
        mine[4] = __shfl(v, t + 1, width);
      }
    ]]
    local width = 4
    while width <= w do
      local name = ("k<%d>"):format(width)
      local kernel = dev:compile(source, { names = { name } }):kernel(name)
      local out = dev:buffer("i32", 5 * 128, 0)
      kernel:launch({ grid = 1, block = 128 }, out)
      local got = out:read()
      for t = 0, 127 do
        local lane, first = t % width, t - t % width
        local function at(source_lane, fallback)
          return 7 * (first + ((source_lane >= 0 and source_lane < width) and source_lane or fallback)) + 1
        end
        local wanted = {
          at(3),
          at(lane - 2, lane),
          at(lane + 3, lane),
          at(lane ~ 1),
          at((lane + 1) % width),
        }
        for i = 1, 5 do
          assert.equal(wanted[i], got[5 * t + i], ("width %d, thread %d, value %d"):format(width, t, i))
        end
      end
      width = width * 2
    end
  end)

  it("shuffles take types of four and eight bytes, with and without _sync", function()
    local dev = support.open(id)
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(double *out) {
        int t = threadIdx.x;
        unsigned long long all = ~0ull;
        double *mine = out + 8 * t;
        mine[0] = __shfl_xor(t + 0.5f, 1);
        mine[1] = __shfl_xor(t + 0.25, 1);
        mine[2] = (double)__shfl_xor(1ll << t, 1);
        mine[3] = __shfl_xor((unsigned)t, 1);
        mine[4] = (double)__shfl_xor((unsigned long long)t << 33, 1);
        mine[5] = __shfl_down_sync(all, t * 2.0, 1, 8);
        mine[6] = __shfl_up_sync(all, t, 1, 8);
        mine[7] = __shfl_sync(all, t, 2, 4);
      }
    ]],
      32,
      256,
      "f64"
    )
    for t = 0, 31 do
      local o = t ~ 1
      local wanted = {
        o + 0.5,
        o + 0.25,
        2.0 ^ o,
        o,
        o * 2.0 ^ 33,
        2.0 * (t % 8 == 7 and t or t + 1),
        t % 8 == 0 and t or t - 1,
        t - t % 4 + 2,
      }
      for i, value in ipairs(wanted) do
        assert.equal(value, out[8 * t + i], ("thread %d, value %d"):format(t, i))
      end
    end
  end)

  it("votes see the lanes of one warp", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(long long *out) {
        int t = threadIdx.x;
        long long *mine = out + 6 * t;
        mine[0] = (long long)__ballot(t % 3 == 0);
        mine[1] = __any(t == 5) != 0;
        mine[2] = __all(t < 100) != 0;
        mine[3] = (long long)__activemask();
        mine[4] = (long long)__ballot_sync(~0ull, t & 1);
        mine[5] = (__any_sync(~0ull, 0) != 0) + 2 * (__all_sync(~0ull, 2) != 0);
      }
    ]],
      2 * w,
      12 * w,
      "i64"
    )
    for t = 0, 2 * w - 1 do
      local first = t - t % w
      local third, odd = 0, 0
      for l = 0, w - 1 do
        third = third | (((first + l) % 3 == 0) and 1 << l or 0)
        odd = odd | ((l & 1) << l)
      end
      local full = w == 64 and -1 or 0xffffffff
      local wanted = { third, first == 0 and 1 or 0, first + w <= 100 and 1 or 0, full, odd, 2 }
      assert.same(wanted, { table.unpack(out, 6 * t + 1, 6 * t + 6) })
    end
  end)

  it("a sum by shuffles and shared memory is right for every block size", function()
    local dev = support.open(id)
    local kernel = dev:kernel [[
      __device__ int warp_sum(int v) {
        for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_xor(v, o);
        return v;
      }
      extern "C" __global__ void sum(int *out, int n) {
        __shared__ int part[32];
        int v = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) v += i;
        v = warp_sum(v);
        if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
        __syncthreads();
        if (threadIdx.x < warpSize) {
          int w = threadIdx.x < blockDim.x / warpSize ? part[threadIdx.x] : 0;
          w = warp_sum(w);
          if (threadIdx.x == 0) out[blockIdx.x] = w;
        }
      }
    ]]
    for blocks = 1, 9, 4 do
      for _, warps in ipairs { 1, 2, 3, 8, 16 } do
        local out = dev:buffer("i32", blocks, 0)
        kernel:launch({ grid = blocks, block = warps * dev.warp_size }, out, 5000)
        for _, sum in ipairs(out:read():totable()) do
          assert.equal(5000 * 4999 // 2, sum)
        end
      end
    end
  end)

  it("lanes in different branches form groups of their own", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(long long *out) {
        int t = threadIdx.x;
        long long a, b = 0;
        if (t % 2) {
          a = (long long)__ballot(1);
          b = __shfl(t, 1);
        } else {
          a = (long long)__ballot(t != 4);
          b = __shfl(100 + t, 2);
        }
        long long c = (long long)__ballot(1);
        out[3 * t] = a, out[3 * t + 1] = b, out[3 * t + 2] = c;
      }
    ]],
      w,
      3 * w,
      "i64"
    )
    local odd, even = 0, 0
    for l = 0, w - 1 do
      if l % 2 == 1 then
        odd = odd | 1 << l
      elseif l ~= 4 then
        even = even | 1 << l
      end
    end
    local full = w == 64 and -1 or 0xffffffff
    for t = 0, w - 1 do
      local wanted = t % 2 == 1 and { odd, 1, full } or { even, 102, full }
      assert.same(wanted, { table.unpack(out, 3 * t + 1, 3 * t + 3) })
    end
  end)

  it("lanes that have returned are not waited for", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local source = [[
      extern "C" __global__ void k(long long *out, int from, int to) {
        int t = threadIdx.x;
        if (t >= from && t < to) return;
        out[t] = (long long)__ballot(1);
        __syncthreads();
        if (t % 4 == 0) return;
        out[t] += (long long)(__ballot(1) != 0);
      }
    ]]
    local kernel = dev:kernel(source)
    for _, range in ipairs { { 0, 5 }, { 10, w }, { 3, w + 7 }, { w // 2, w // 2 + 1 } } do
      local out = dev:buffer("i64", 2 * w, 0)
      kernel:launch({ grid = 1, block = 2 * w }, out, range[1], range[2])
      local got = out:read()
      for t = 0, 2 * w - 1 do
        local function here(lane)
          return lane < range[1] or lane >= range[2]
        end
        local mask, first = 0, t - t % w
        for l = 0, w - 1 do
          mask = mask | (here(first + l) and 1 << l or 0)
        end
        assert.equal(here(t) and mask + (t % 4 ~= 0 and 1 or 0) or 0, got[t + 1])
      end
    end
  end)

  it("some lanes may shuffle while the others of their warp are at the barrier, or about to be", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(int *out) {
        __shared__ int s[256];
        int t = threadIdx.x, lane = t % warpSize, v = t;
        if (lane < 8) for (int o = 4; o; o >>= 1) v += __shfl_xor(v, o, 8);
        s[t] = v;
        __syncthreads();
        if (lane >= warpSize - 8) {
          for (int o = 4; o; o >>= 1) v += __shfl_xor(v, o, 8);
          s[t] = v;
        }
        __syncthreads();
        out[t] = s[t];
      }
    ]],
      256,
      256
    )
    for t = 0, 255 do
      local lane = t % w
      local summed = lane < 8 or lane >= w - 8
      local first = t - t % 8
      assert.equal(summed and 8 * first + 28 or t, out[t + 1])
    end
  end)

  it("loops that lanes leave at different times keep the others together", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(int *out) {
        int t = threadIdx.x, rounds = 0, seen = 0;
        for (int i = 0; i < t % 7; i++) {
          seen += __popcll(__ballot(1));
          rounds++;
        }
        out[t] = seen + 1000 * rounds;
      }
    ]],
      w,
      w
    )
    for t = 0, w - 1 do
      local seen = 0
      for i = 0, t % 7 - 1 do
        for l = 0, w - 1 do
          seen = seen + (l % 7 > i and 1 or 0)
        end
      end
      assert.equal(seen + 1000 * (t % 7), out[t + 1])
    end
  end)

  it("a block whose size is no multiple of the warp has a short last warp", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(long long *out) {
        int t = threadIdx.x;
        out[t] = (long long)__ballot(1);
        __syncthreads();
        out[t] += __shfl_up(t, 1) * 0;
      }
    ]],
      w + 5,
      w + 5,
      "i64"
    )
    assert.equal(w == 64 and -1 or 0xffffffff, out[1])
    for t = w, w + 4 do
      assert.equal(31, out[t + 1])
    end
  end)

  it("warps are made of threads in the order x, y, z", function()
    local dev = support.open(id)
    local w = dev.warp_size
    local out = launch(
      dev,
      [[
      extern "C" __global__ void k(int *out) {
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        out[t] = __shfl(t, 0);
      }
    ]],
      { 4, 8, 8 },
      256
    )
    for t = 0, 255 do
      assert.equal(t - t % w, out[t + 1])
    end
  end)
end, { warp64 = true })
