-- The algorithms of the kernel comparison on luhip's CPU device, timed on the device's clock.
--
--   scripts/luhip bench/kernels.lua [--small] [algorithm]...
--
-- Prints `name milliseconds` for each, the median of 5 runs after one to warm up. Sizes and inputs are those of
-- bench.h: element i of an input is value(i). Results are checked. LUHIP_DEVICE selects the device.

local luhip = require "luhip"

local SAMPLES = 5
local FACTOR = 0.25 -- axpy's a
local HISTOGRAM_CHUNK, REDUCTION_CHUNK = 1 << 14, 1 << 16 -- elements of one block

local dev = luhip.open(os.getenv "LUHIP_DEVICE" or "cpu:0")

local function value(i)
  return (i * 2654435761 & 0xffffffff) >> 8
end

-- Inputs are made on the device: Lua would take longer over them than the kernels do.
local inputs = dev:compile [[
  __device__ float value(unsigned i) { return (float)((i * 2654435761u) >> 8) * (1.0f / 16777216.0f); }
  extern "C" __global__ void floats(float *out, unsigned n, unsigned first) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value(i + first);
  }
  extern "C" __global__ void bytes(unsigned char *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (unsigned char)(value(i) * value(i) * 256.0f);
  }
]]
local make_floats, make_bytes = inputs:kernel "floats", inputs:kernel "bytes"

local function floats(shape, first)
  local b = dev:buffer("f32", shape)
  make_floats:launch({ grid = luhip.cdiv(b.count, 256), block = 256 }, b, b.count, first)
  return b
end

local function kernel(name)
  local path = ("bench/kernels/%s.hip"):format(name)
  local file = assert(io.open(path))
  local source = file:read "a"
  file:close()
  return dev:kernel(source, name, { name = path })
end

local function input(i)
  return value(i) / 16777216
end

local function near(got, wanted, tolerance)
  return math.abs(got - wanted) <= tolerance * (1 + math.abs(wanted))
end

-- 1000 indices from 0 to n - 1, both ends among them.
local function sample(n)
  local i = -1
  return function()
    i = i + 1
    return i <= 999 and i * (n - 1) // 999 or nil
  end
end

-- Each algorithm: launch() runs it once; reset() makes the next run's result checkable; check() looks at that result.
local algorithms = {}

function algorithms.axpy(n)
  local axpy, x, y = kernel "axpy", floats(n, 0), floats(n, 3)
  return {
    launch = function()
      axpy:launch({ grid = luhip.cdiv(n, 256), block = 256 }, FACTOR, x, y, n)
    end,
    reset = function()
      make_floats:launch({ grid = luhip.cdiv(n, 256), block = 256 }, y, n, 3)
    end,
    check = function()
      local out = y:read()
      for i in sample(n) do
        if not near(out[i + 1], input(i + 3) + FACTOR * input(i), 1e-6) then
          return false
        end
      end
      return true
    end,
  }
end

local function stencil(n, bx, by)
  local k, from, to = kernel "stencil", floats(n * n, 0), dev:buffer("f32", n * n)
  return {
    launch = function()
      k:launch({ grid = { luhip.cdiv(n, bx), luhip.cdiv(n, by) }, block = { bx, by } }, from, to, n)
    end,
    check = function()
      local out = to:read()
      for i in sample(n * n) do
        local x, y, wanted = i % n, i // n, input(i)
        if x > 0 and y > 0 and x < n - 1 and y < n - 1 then
          wanted = 0.5 * wanted + 0.125 * (input(i - 1) + input(i + 1) + input(i - n) + input(i + n))
        end
        if not near(out[i + 1], wanted, 1e-6) then
          return false
        end
      end
      return true
    end,
  }
end

function algorithms.stencil_256x1(n)
  return stencil(n, 256, 1)
end

function algorithms.stencil_16x16(n)
  return stencil(n, 16, 16)
end

function algorithms.expf_sinf(n)
  local k, x, y = kernel "expf_sinf", floats(n, 0), dev:buffer("f32", n)
  return {
    launch = function()
      k:launch({ grid = luhip.cdiv(n, 256), block = 256 }, x, y, n)
    end,
    check = function()
      local out = y:read()
      for i in sample(n) do
        if not near(out[i + 1], math.exp(input(i)) + math.sin(input(i)), 1e-6) then
          return false
        end
      end
      return true
    end,
  }
end

function algorithms.nbody(n)
  local k, bodies, acceleration = kernel "nbody", floats(n * 4, 0), dev:buffer("f32", n * 4)
  return {
    launch = function()
      k:launch({ grid = luhip.cdiv(n, 256), block = 256 }, bodies, acceleration, n)
    end,
    check = function()
      local b, out = bodies:read():totable(), acceleration:read()
      for i = 0, n - 1, n // 8 do
        local ax, ay, az = 0, 0, 0
        for j = 0, n - 1 do
          local dx, dy, dz = b[4 * j + 1] - b[4 * i + 1], b[4 * j + 2] - b[4 * i + 2], b[4 * j + 3] - b[4 * i + 3]
          local square = dx * dx + dy * dy + dz * dz + 1e-4
          local s = b[4 * j + 4] / (square * math.sqrt(square))
          ax, ay, az = ax + dx * s, ay + dy * s, az + dz * s
        end
        if
          not (near(out[4 * i + 1], ax, 1e-3) and near(out[4 * i + 2], ay, 1e-3) and near(out[4 * i + 3], az, 1e-3))
        then
          return false
        end
      end
      return true
    end,
  }
end

function algorithms.histogram(n)
  local k, data, bins = kernel "histogram", dev:buffer("u8", n), dev:buffer("u32", 256, 0)
  make_bytes:launch({ grid = luhip.cdiv(n, 256), block = 256 }, data, n)
  return {
    launch = function()
      k:launch({ grid = luhip.cdiv(n, HISTOGRAM_CHUNK), block = 256 }, data, bins, n, HISTOGRAM_CHUNK)
    end,
    reset = function()
      bins:fill(0)
    end,
    check = function()
      local out, wanted = bins:read(), {}
      for b = 0, 255 do
        wanted[b] = 0
      end
      local text = data:bytes_string()
      for first = 1, n, 4096 do
        for _, b in ipairs { text:byte(first, math.min(first + 4095, n)) } do
          wanted[b] = wanted[b] + 1
        end
      end
      for b = 0, 255 do
        if out[b + 1] ~= wanted[b] then
          return false
        end
      end
      return true
    end,
  }
end

function algorithms.reduction(n)
  local blocks = luhip.cdiv(n, REDUCTION_CHUNK)
  local k, x, sums = kernel "reduction", floats(n, 0), dev:buffer("f32", blocks)
  return {
    launch = function()
      k:launch({ grid = blocks, block = 256 }, x, sums, n, REDUCTION_CHUNK)
    end,
    check = function()
      local out, sum, wanted = sums:read(), 0, 0
      for i = 1, blocks do
        sum = sum + out[i]
      end
      for i = 0, n - 1 do
        wanted = wanted + value(i)
      end
      return near(sum, wanted / 16777216, 1e-5)
    end,
  }
end

function algorithms.matmul(n)
  local k, a, b, c = kernel "matmul", floats(n * n, 0), floats(n * n, 7), dev:buffer("f32", n * n)
  return {
    launch = function()
      k:launch({ grid = { n // 16, n // 16 }, block = { 16, 16 } }, a, b, c, n)
    end,
    check = function()
      local out = c:read()
      for i in sample(n * n) do
        local x, y, sum = i % n, i // n, 0
        for j = 0, n - 1 do
          sum = sum + input(y * n + j) * input(j * n + x + 7)
        end
        if not near(out[i + 1], sum, 1e-4) then
          return false
        end
      end
      return true
    end,
  }
end

local SIZES = {
  { "axpy", 1 << 24, 1 << 14 },
  { "stencil_256x1", 4096, 256 },
  { "stencil_16x16", 4096, 256 },
  { "expf_sinf", 1 << 24, 1 << 14 },
  { "nbody", 1 << 14, 1 << 9 },
  { "histogram", 1 << 24, 1 << 14 },
  { "reduction", 1 << 24, 1 << 14 },
  { "matmul", 512, 64 },
}

local small = arg[1] == "--small"
local chosen = table.move(arg, small and 2 or 1, #arg, 1, {})
local function wanted(name)
  for _, choice in ipairs(chosen) do
    if choice == name then
      return true
    end
  end
  return #chosen == 0
end

for _, entry in ipairs(SIZES) do
  local name, n, n_small = table.unpack(entry)
  if wanted(name) then
    local algorithm = algorithms[name](small and n_small or n)
    local ms = dev:time(algorithm.launch, { warmup = 1, samples = SAMPLES })
    if algorithm.reset then
      algorithm.reset()
      algorithm.launch()
    end
    if not algorithm.check() then
      io.stderr:write(("kernels.lua: %s is WRONG\n"):format(name))
      os.exit(1, true)
    end
    print(("%s %.4f"):format(name, ms))
    io.stdout:flush()
    collectgarbage()
  end
end
