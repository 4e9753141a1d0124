-- The sum of n numbers: shuffles within a warp, shared memory between warps, a second launch between blocks.
--
--   luhip examples/reduction.lua        LUHIP_SIZE: how many numbers (default 2^20)

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 20
local threads = 256

local dev = luhip.open()
local sum = dev:kernel(
  [[
extern "C" __global__ void sum(const float *x, float *partial, int n) {
  __shared__ float of_warp[32];
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];

  for (int step = warpSize / 2; step > 0; step /= 2) v += __shfl_down(v, step);
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (lane == 0) of_warp[warp] = v;
  __syncthreads();

  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (unsigned w = 0; w < blockDim.x / warpSize; w++) total += of_warp[w];
    partial[blockIdx.x] = total;
  }
}
]],
  "sum",
  { name = "reduction.hip", access = { sum = { partial = "out" } } }
)

local function x_at(i)
  return i % 10
end

local blocks = math.max(1, math.min(64, luhip.cdiv(n, threads)))
local x = dev:buffer("f32", n, x_at)
local partial = dev:buffer("f32", blocks)
local total = dev:buffer("f32", 1)
sum:launch({ grid = blocks, block = threads }, x, partial, n)
sum:launch({ grid = 1, block = threads }, partial, total, blocks)

local wanted = 0.0
for i = 1, n do
  wanted = wanted + x_at(i)
end
local got = total:read()[1]
print(("reduction on %s: %d numbers in %d blocks of %d threads, sum %.0f"):format(dev.id, n, blocks, threads, got))
local right = math.abs(got - wanted) <= 1e-5 * wanted
if not right then
  print(("reduction: WRONG: %.9g, not %.9g"):format(got, wanted))
  os.exit(1, true)
end
print "reduction: ok"
