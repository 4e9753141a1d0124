-- How often each byte value occurs: atomics in shared memory, then one atomic per bin and block in global memory.
--
--   luhip examples/histogram.lua        LUHIP_SIZE: how many bytes (default 2^20)

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 20
local threads = 256

local dev = luhip.open()
local histogram = dev:kernel(
  [=[
extern "C" __global__ void histogram(const unsigned char *data, unsigned int *bins, int n) {
  __shared__ unsigned int counts[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) counts[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (counts[b] != 0) atomicAdd(&bins[b], counts[b]);
}
]=],
  "histogram",
  { name = "histogram.hip" }
)

-- Bytes with a slope: small values are more frequent.
local wanted, chunk, bytes, state = {}, {}, {}, 12345
for b = 0, 255 do
  wanted[b] = 0
end
for i = 1, n do
  state = (state * 1103515245 + 12345) & 0x7fffffff
  local b = ((state >> 16) & 255) * ((state >> 8) & 255) // 256
  wanted[b] = wanted[b] + 1
  chunk[#chunk + 1] = string.char(b)
  if #chunk == 4096 or i == n then
    bytes[#bytes + 1] = table.concat(chunk)
    chunk = {}
  end
end

local blocks = math.max(1, math.min(64, luhip.cdiv(n, threads)))
local data = dev:buffer("u8", n, table.concat(bytes))
local bins = dev:buffer("u32", 256, 0)
histogram:launch({ grid = blocks, block = threads }, data, bins, n)

local result = bins:read()
local most = 0
for b = 0, 255 do
  if result[b + 1] ~= wanted[b] then
    print(("histogram: WRONG: %d bytes are %d, not %d"):format(result[b + 1], b, wanted[b]))
    os.exit(1, true)
  end
  most = wanted[b] > wanted[most] and b or most
end
print(("histogram on %s: %d bytes, most often %d (%d times)"):format(dev.id, n, most, wanted[most]))
print "histogram: ok"
