-- Records a small space on the CPU device, for specs that replay it: writes spec/tune/fixtures/recorded.json.
--
--   scripts/luhip bench/tune/record.lua [path]
--
-- A matrix product with odd corners: combinations that do not compile, that do not fit and that are wrong.

local core = require "luhip.core"
local luhip = require "luhip"
local tune = require "luhip.tune"

local N = 96

local source = [[
#if UNROLL * TILE == 32 && LAYOUT == 1
#error this combination is not written
#endif
extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
  __shared__ float tile[TILE][BX];
  int column = blockIdx.x * BX + threadIdx.x, row = (blockIdx.y * BY + threadIdx.y) * PER_THREAD;
  float sums[PER_THREAD] = {0};
  for (int first = 0; first < n; first += TILE) {
    for (int k = threadIdx.y; k < TILE; k += BY) tile[k][threadIdx.x] = column < n ? b[(first + k) * n + column] : 0;
    __syncthreads();
    for (int p = 0; p < PER_THREAD; p++)
#pragma unroll UNROLL
      for (int k = 0; k < TILE; k++)
        if (row + p < n)
          sums[p] += a[LAYOUT ? (row + p) * n + first + k : (first + k) * n + row + p] * tile[k][threadIdx.x];
    __syncthreads();
  }
  for (int p = 0; p < PER_THREAD; p++)
    if (row + p < n && column < n) c[(row + p) * n + column] = sums[p];
}
]]

local dev = luhip.open "cpu"
-- symmetric, so that both layouts are right
local a = dev:buffer("f32", { N, N }, function(i)
  local row, column = (i - 1) // N, (i - 1) % N
  return ((row + column) % 7) - 3.0
end)
local b = dev:buffer("f32", { N, N }, function(i)
  return (i % 5) - 2.0
end)
local c = dev:buffer("f32", { N, N })

local result = tune {
  name = "product",
  device = dev,
  source = source,
  kernel = "product",
  access = { c = "out" },
  params = {
    { "BX", { 4, 8, 16, 32, 96 } },
    { "BY", { 1, 2, 4 } },
    { "PER_THREAD", { 1, 2, 4 } },
    { "TILE", { 8, 32 } },
    { "UNROLL", { 1, 4 } },
    { "LAYOUT", { 0, 1 } },
  },
  where = { "BX * BY >= 16", "PER_THREAD * BY <= 8" },
  grid = { "cdiv(96, BX)", "cdiv(96, BY * PER_THREAD)" },
  block = { "BX", "BY" },
  args = { a, b, c, N },
  budget = { configs = tonumber(os.getenv "LUHIP_SIZE" or 400) },
  strategy = "random",
  compile = { cache = false },
  measure = { max_samples = 5 },
}

-- As a cache of Kernel Tuner, which is short.
local lines, names, values = {}, result.space.names, {}
for _, param in ipairs(result.space.params) do
  values[param.name] = param.values
end
local STATUS = { compile = "CompilationFailedConfig", limits = "InvalidConfig" }
for k, row in ipairs(result.rows) do
  local key, record = {}, {}
  for i, name in ipairs(names) do
    key[i], record[name] = tostring(row.params[name]), row.params[name]
  end
  record.time = row.ms and tonumber(("%.4g"):format(row.ms)) or STATUS[row.status] or "RuntimeFailedConfig"
  record.compile_time = row.compile_ms and math.floor(row.compile_ms)
  lines[k] = ('"%s": %s'):format(table.concat(key, ","), core.json_text(record))
end
table.sort(lines)
local head = '{"device_name": "%s", "kernel_name": "product", "tune_params_keys": %s, "tune_params": %s, "cache": {\n'
local text = head:format(dev.name, core.json_text(names), core.json_text(values))
assert(core.write_file(arg[1] or "spec/tune/fixtures/recorded.json", text .. table.concat(lines, ",\n") .. "\n}}\n"))
print(result)
