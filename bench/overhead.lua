-- What luhip itself costs, beside what it is meant to cost. Medians; run on an idle machine.
--
--   scripts/luhip bench/overhead.lua [device]

local luhip = require "luhip"
local monotime = require("luhip.core").monotime

local dev = luhip.open(arg[1])

local function median(samples)
  table.sort(samples)
  return samples[(#samples + 1) // 2]
end

-- Seconds for one call of fn, median over `samples` rounds of `calls` calls, each round closed by finish.
local function cost(samples, calls, fn, finish)
  local times = {}
  for i = 0, samples do
    local start = monotime()
    for _ = 1, calls do
      fn()
    end
    if finish then
      finish()
    end
    if i > 0 then -- the first round warms up
      times[i] = (monotime() - start) / calls
    end
  end
  return median(times)
end

local function sync()
  dev:sync()
end

local function resident_kib()
  local file = assert(io.open "/proc/self/status")
  local kib = file:read("a"):match "VmRSS:%s*(%d+)"
  file:close()
  return tonumber(kib)
end

local rows = {}
local function row(what, value, unit, target)
  table.insert(rows, { what, ("%.2f %s"):format(value, unit), target and ("<= %g %s"):format(target, unit) or "" })
end

---- Launches -------------------------------------------------------------------------------------------------

local empty = dev:kernel [[extern "C" __global__ void empty() {}]]
local axpy = dev:kernel [[
  extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }
]]
local x, y = dev:buffer("f32", 256, 1), dev:buffer("f32", 256, 1)

row("empty launch and wait", 1e6 * cost(201, 20, function()
  empty:launch { grid = 1, block = 1 }
  dev:sync()
end), "us", 20)

local bound = axpy:bind { grid = 1, block = 256 }
row("launch of a bound kernel, 4 arguments, host side", 1e9 * cost(51, 100, function()
  bound(2.0, x, y, 256)
end, sync), "ns")
row("the same through kernel:launch", 1e9 * cost(51, 100, function()
  axpy:launch({ grid = 1, block = 256 }, 2.0, x, y, 256)
end, sync), "ns")

-- Two events around each launch, and their times read.
local plain = cost(101, 100, function()
  bound(2.0, x, y, 256)
end, sync)
local profiled
dev:profile(function()
  profiled = cost(101, 100, function()
    bound(2.0, x, y, 256)
  end, sync)
end)
row("profiled launch, on top of a plain one", 1e6 * (profiled - plain), "us", 1)
local window = cost(101, 100, function()
  dev:start_profile():stop():free()
end, sync)
row("a window started and stopped", 1e6 * window, "us")

---- Replays --------------------------------------------------------------------------------------------------

-- What a graph of n empty kernels adds to a graph of one, per node: neither the call nor the wait is in it. The
-- kernel itself is in it.
local run_empty = empty:bind { grid = 1, block = 1 }
local function replay_of(n)
  local graph = dev:capture(function()
    for _ = 1, n do
      run_empty()
    end
  end)
  local seconds = cost(51, 1, function()
    graph:replay()
    dev:sync()
  end)
  graph:free()
  return seconds
end
local one_node = replay_of(1)
row("replay of a graph of 1 empty kernel and wait", 1e6 * one_node, "us")
for _, n in ipairs { 10, 100, 1000 } do
  row(("each further node of a graph of %d"):format(n), 1e6 * (replay_of(n) - one_node) / (n - 1), "us", 0.5)
end

---- Barriers -------------------------------------------------------------------------------------------------

local barriers = dev:kernel [[
  extern "C" __global__ void barriers(int n, int *out) {
    __shared__ int turn[256];
    int t = threadIdx.x;
    turn[t] = t;
    for (int i = 0; i < n; i++) {
      __syncthreads();
      turn[t] += i;
    }
    out[t] = turn[t];
  }
]]
local out = dev:buffer("i32", 256)
local function with_barriers(n)
  return cost(21, 1, function()
    barriers:launch({ grid = 1, block = 256 }, n, out)
    dev:sync()
  end)
end
local few, many = 100, 2100
row("barrier, per thread of 256", 1e9 * (with_barriers(many) - with_barriers(few)) / (many - few) / 256, "ns", 10)

---- Memory ---------------------------------------------------------------------------------------------------

local host = luhip.array("f32", 1024)
local kilo = dev:buffer("f32", 1024)
row("write of 4 KiB and wait", 1e6 * cost(101, 10, function()
  kilo:write(host)
  dev:sync()
end), "us")
row("read of 4 KiB", 1e6 * cost(101, 10, function()
  kilo:read()
end), "us")
row("allocate and free 4 KiB", 1e6 * cost(101, 20, function()
  dev:buffer("f32", 1024):free()
end), "us")

-- Rows at a pitch, beside what one memcpy a row costs on the device itself.
local N = 1000
local by_rows = dev:kernel [[
  extern "C" __global__ void by_rows(char *to, const char *from, long long pitch, long long width, int rows) {
    for (int i = 0; i < rows; i++) __builtin_memcpy(to + i * width, from + i * pitch, width);
  }
]]
local pitched, packed = dev:pitched("f32", { N, N }, 1), dev:buffer("f32", { N, N }, 0)
local rows_span, pitch = pitched:span(), pitched.strides[1]
local one_by_one = cost(51, 1, function()
  by_rows:launch({ grid = 1, block = 1 }, packed, rows_span, 4 * pitch, 4 * N, N)
end, sync)
local in_one = cost(51, 1, function()
  packed:copy(pitched)
end, sync)
row("copy of 1000 x 1000 f32 from a pitched buffer", 1e6 * in_one, "us")
row("the same, as a multiple of a memcpy per row", in_one / one_by_one, "x", 1.2)

---- Compiling ------------------------------------------------------------------------------------------------

-- Each source is new to every cache.
local unique = ("%d_%d"):format(os.time(), math.floor(monotime() * 1e6) % 1000000)
local function source(i)
  return ([[
    // %s %d
    extern "C" __global__ void scale(float a, float *x, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= a;
    }
  ]]):format(unique, i)
end

local compiles = {}
for i = 1, 7 do
  local start = monotime()
  dev:kernel(source(i))
  compiles[i] = 1e3 * (monotime() - start)
end
row("a small kernel compiled, nothing cached", median(compiles), "ms", 400)

-- The disk cache serves a process that has not compiled the kernel itself.
local child = [[
  local luhip, monotime = require "luhip", require("luhip.core").monotime
  local dev = luhip.open(%q)
  local start = monotime()
  dev:kernel(%q)
  io.write(1e3 * (monotime() - start), "\n")
]]
local loads = {}
for i = 1, 7 do
  local script = os.tmpname()
  local file = assert(io.open(script, "w"))
  file:write(child:format(dev.id, source(i)))
  file:close()
  local pipe = assert(io.popen("lua5.4 " .. script))
  loads[i] = assert(pipe:read "n", "the child process failed")
  pipe:close()
  os.remove(script)
end
row("the same from the disk cache, in a new process", median(loads), "ms", 2)

---- Growth ---------------------------------------------------------------------------------------------------

local function launches(n)
  for i = 1, n do
    bound(2.0, x, y, 256)
    if i % 100 == 0 then
      dev:sync()
    end
  end
  dev:sync()
  collectgarbage()
end
launches(10000)
local before = resident_kib()
launches(100000)
row("growth over 100 000 launches", math.max(0, resident_kib() - before), "KiB", 256)

print(("luhip %s, %s (%s)"):format(luhip.version, dev.id, dev.name))
for _, r in ipairs(rows) do
  print(("  %-50s %14s   %s"):format(table.unpack(r)))
end
