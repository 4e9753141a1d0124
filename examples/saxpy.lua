-- y = a * x + y over n numbers: the smallest whole job. Compile, launch, read back, compare.
--
--   luhip examples/saxpy.lua            LUHIP_SIZE: how many numbers (default 2^20)

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 20
local a = 2.5

local dev = luhip.open()
local saxpy = dev:kernel(
  [[
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
]],
  "saxpy",
  { name = "saxpy.hip" }
)

local function x_at(i)
  return i % 1000
end
local function y_at(i)
  return i % 7
end

local x = dev:buffer("f32", n, x_at)
local y = dev:buffer("f32", n, y_at)
saxpy:launch({ grid = luhip.cdiv(n, 256), block = 256 }, a, x, y, n)

local result = y:read()
for i = 1, n do
  local wanted = a * x_at(i) + y_at(i) -- exact in f32
  if result[i] ~= wanted then
    print(("saxpy: WRONG: y[%d] is %s, not %s"):format(i, result[i], wanted))
    os.exit(1, true)
  end
end
print(("saxpy on %s: %d numbers"):format(dev.id, n))
print "saxpy: ok"
