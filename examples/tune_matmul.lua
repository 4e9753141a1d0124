-- Tunes a tiled matrix multiplication: block shape, depth of the tile, rows per thread. Every candidate's result is
-- compared with a reference before it is timed.
--
--   luhip examples/tune_matmul.lua [result.json]    LUHIP_SIZE: rows and columns (default 256)

local luhip = require "luhip"
local tune = require "luhip.tune"

local N = luhip.config "size" or 256

-- A block of BX * BY threads makes BX columns by BY * RY rows of c, TK products at a time.
local source = [[
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float rows[BY * RY][TK];
  __shared__ float columns[TK][BX];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * BX + x;
  const int column0 = blockIdx.x * BX, row0 = blockIdx.y * BY * RY;
  float sum[RY];
  for (int r = 0; r < RY; r++) sum[r] = 0.0f;

  for (int k0 = 0; k0 < n; k0 += TK) {
    for (int i = thread; i < BY * RY * TK; i += BX * BY) {
      const int row = row0 + i / TK, k = k0 + i % TK;
      rows[i / TK][i % TK] = row < n && k < n ? a[row * n + k] : 0.0f;
    }
    for (int i = thread; i < TK * BX; i += BX * BY) {
      const int k = k0 + i / BX, column = column0 + i % BX;
      columns[i / BX][i % BX] = k < n && column < n ? b[k * n + column] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < TK; k++)
      for (int r = 0; r < RY; r++) sum[r] += rows[y + r * BY][k] * columns[k][x];
    __syncthreads();
  }

  for (int r = 0; r < RY; r++) {
    const int row = row0 + y + r * BY, column = column0 + x;
    if (row < n && column < n) c[row * n + column] = sum[r];
  }
}
]]

local function a_at(i)
  return (i * 7 % 17 - 8) / 8
end
local function b_at(i)
  return (i * 5 % 13 - 6) / 8
end

local function reference()
  local a, b, c = {}, {}, {}
  for i = 1, N * N do
    a[i], b[i], c[i] = a_at(i), b_at(i), 0.0
  end
  for row = 0, N - 1 do
    for k = 1, N do
      local factor, from = a[row * N + k], (k - 1) * N
      for column = 1, N do
        local i = row * N + column
        c[i] = c[i] + factor * b[from + column]
      end
    end
  end
  return c
end

local dev = luhip.open()
local a = dev:buffer("f32", { N, N }, a_at)
local b = dev:buffer("f32", { N, N }, b_at)
local c = dev:buffer("f32", { N, N })

local result = tune {
  name = "matmul",
  device = dev,
  source = source,
  kernel = "matmul",
  access = { c = "out" },
  params = { BX = { 8, 16, 32 }, BY = { 4, 8, 16 }, RY = { 2, 4 }, TK = tune.powers(2, 16, 64) },
  where = {
    "64 <= BX * BY <= 512",
    function(p)
      return (p.BY * p.RY * p.TK + p.TK * p.BX) * 4 <= dev.shared_bytes
    end,
  },
  grid = function(p)
    return { luhip.cdiv(N, p.BX), luhip.cdiv(N, p.BY * p.RY) }
  end,
  block = { "BX", "BY" },
  args = { a, b, c, N },
  problem = { N = N },
  expect = { c = reference() },
  tolerance = 1e-4,
  metrics = {
    gflops = function(row)
      return 2 * N ^ 3 / row.ms / 1e6
    end,
  },
}

print(result)
if arg and arg[1] then
  result:save_json(arg[1])
  print("tune_matmul: rows written to " .. arg[1])
end
if not result.best then
  print "tune_matmul: WRONG: no configuration gives the right answer"
  os.exit(1, true)
end
local p = result.best.params
print(
  ("tune_matmul: ok, verified winner BX=%d BY=%d RY=%d TK=%d: %.4g ms, %.4g GFLOP/s"):format(
    p.BX,
    p.BY,
    p.RY,
    p.TK,
    result.best.ms,
    result.best.gflops
  )
)
