-- Tunes a matrix product over a larger space: tile sizes, work per thread, padding, wide loads, double buffering. Every
-- candidate is verified, by a kernel, against a plain product; the page of the result shows what mattered.
--
--   luhip examples/tune_gemm.lua [out.html]       LUHIP_SIZE: rows and columns (default 96; on a GPU 4096)
--   luhip tune --budget 60 --report out.html examples/tune_gemm.lua

local luhip = require "luhip"
local tune = require "luhip.tune"

local dev = luhip.open()
local gpu = not dev.id:find "^cpu"
local N = luhip.config "size" or (gpu and 4096 or 96)

-- A block makes BM rows by BN columns of c, BK products at a time; each thread TM by TN of them, as far apart as there
-- are threads, so that neighbours read and write neighbours. With STAGES 2 the next tile is fetched during products.
local source = [[
constexpr int DOWN = BM / TM, ACROSS = BN / TN, THREADS = DOWN * ACROSS;

// Columns column to column + VEC of a row of b, 0 beyond its edges.
static __device__ void fetch(const float *b, int n, int k, int column, float *to) {
#if VEC == 4
  if (n % 4 == 0 && k < n && column < n) {
    const float4 wide = *(const float4 *)&b[(size_t)k * n + column];
    to[0] = wide.x, to[1] = wide.y, to[2] = wide.z, to[3] = wide.w;
    return;
  }
#endif
  for (int v = 0; v < VEC; v++) to[v] = k < n && column + v < n ? b[(size_t)k * n + column + v] : 0.0f;
}

extern "C" __global__ __launch_bounds__(THREADS) void gemm(const float *a, const float *b, float *c, int n) {
  __shared__ float rows[STAGES][BK][BM + PAD];
  __shared__ float columns[STAGES][BK][BN + PAD];
  const int thread = threadIdx.x, x = thread % ACROSS, y = thread / ACROSS;
  const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
  float sum[TM][TN];
  for (int i = 0; i < TM; i++)
    for (int j = 0; j < TN; j++) sum[i][j] = 0.0f;

  auto load = [&](int stage, int k0) {
    for (int i = thread; i < BM * BK; i += THREADS) {
      const int row = row0 + i / BK, k = k0 + i % BK;
      rows[stage][i % BK][i / BK] = row < n && k < n ? a[(size_t)row * n + k] : 0.0f;
    }
    for (int i = thread; i < BK * BN / VEC; i += THREADS) {
      const int k = i / (BN / VEC), column = i % (BN / VEC) * VEC;
      fetch(b, n, k0 + k, column0 + column, &columns[stage][k][column]);
    }
  };

  int stage = 0;
  load(0, 0);
  __syncthreads();
  for (int k0 = 0; k0 < n; k0 += BK) {
    if (STAGES == 2 && k0 + BK < n) load(1 - stage, k0 + BK);
#pragma unroll UNROLL
    for (int k = 0; k < BK; k++) {
      float left[TM], right[TN];
      for (int i = 0; i < TM; i++) left[i] = rows[stage][k][y + i * DOWN];
      for (int j = 0; j < TN; j++) right[j] = columns[stage][k][x + j * ACROSS];
      for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
    if (STAGES == 2) {
      stage = 1 - stage;
    } else if (k0 + BK < n) {
      load(0, k0 + BK);
      __syncthreads();
    }
  }

  for (int i = 0; i < TM; i++)
    for (int j = 0; j < TN; j++) {
      const int row = row0 + y + i * DOWN, column = column0 + x + j * ACROSS;
      if (row < n && column < n) c[(size_t)row * n + column] = sum[i][j];
    }
}
]]

-- Multiples of 1/8 below 1: sums of their products are exact in any order, so results must be equal to the last bit.
local plain = [[
extern "C" __global__ void prepare(float *a, float *b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * n) a[i] = (i * 7u % 15 - 7.0f) / 8, b[i] = (i * 5u % 13 - 6.0f) / 8;
}

extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  float sum = 0.0f;
  if (column >= n) return;
  for (int k = 0; k < n; k++) sum += a[(size_t)row * n + k] * b[(size_t)k * n + column];
  c[(size_t)row * n + column] = sum;
}

extern "C" __global__ void differences(const float *c, const float *expected, unsigned *count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !(c[i] == expected[i])) atomicAdd(count, 1u);
}
]]

local a, b, c = dev:buffer("f32", { N, N }), dev:buffer("f32", { N, N }), dev:buffer("f32", { N, N })
local expected, count = dev:buffer("f32", { N, N }), dev:buffer("u32", 1)
local program = dev:compile(plain)
local blocks = { grid = luhip.cdiv(N * N, 256), block = 256 }
c:fill(0)
program:kernel("prepare"):launch(blocks, a, b, N)
program:kernel("product"):launch({ grid = { luhip.cdiv(N, 64), N }, block = 64 }, a, b, expected, N)
local differences = program:kernel "differences"

local result = tune {
  name = "gemm",
  device = dev,
  source = source,
  kernel = "gemm",
  access = { c = "out" },
  params = {
    { "BM", { 16, 32, 64, 128, 256 } },
    { "BN", { 16, 32, 64, 128, 256 } },
    { "BK", { 8, 16, 32 } },
    { "TM", { 1, 2, 4, 8, 16 } },
    { "TN", { 1, 2, 4, 8, 16 } },
    { "VEC", { 1, 4 } },
    { "PAD", { 0, 1, 4 } },
    { "STAGES", { 1, 2 } },
    { "UNROLL", { 1, 4, 8 } },
  },
  where = {
    "64 <= (BM // TM) * (BN // TN) <= 512",
    "TM * TN <= 128",
    { name = "shared memory", ("STAGES * BK * (BM + BN + 2 * PAD) * 4 <= %d"):format(dev.shared_bytes) },
    "BM <= 4 * BN and BN <= 4 * BM",
  },
  grid = function(p)
    return { luhip.cdiv(N, p.BN), luhip.cdiv(N, p.BM) }
  end,
  block = "(BM // TM) * (BN // TN)",
  args = { a, b, c, N },
  problem = { N = N },
  expect = function()
    count:fill(0)
    differences:launch(blocks, c, expected, count, N * N)
    local wrong = count:read()[1]
    return wrong == 0, ("%d of %d elements are wrong"):format(wrong, N * N)
  end,
  metrics = {
    gflops = function(row)
      return 2 * N ^ 3 / row.ms / 1e6
    end,
  },
  budget = gpu and N >= 1024 and { configs = 300, seconds = 120 } or { configs = 12, seconds = 20 },
}

print(result)
if arg and arg[1] then
  result:report(arg[1])
  print("tune_gemm: the page is " .. arg[1])
end
if not result.best then
  print "tune_gemm: WRONG: no configuration gives the right answer"
  os.exit(1, true)
end
local format = "tune_gemm: ok, %d x %d on %s: %.4g GFLOP/s verified; %.3g configurations a second"
print(format:format(N, N, dev.id, result.best.gflops, #result.rows / result.seconds))
