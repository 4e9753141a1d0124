-- What luhip costs beside the bare driver: each figure through the Lua API with every check on, and the same work by
-- the driver's calls alone in a C loop (bench/raw.c), in turns in one run. Medians; run on an idle machine.
--
--   scripts/bench driver [device]            quick: BENCH=quick

local luhip = require "luhip"
local monotime = require("luhip.core").monotime

local core = assert(package.searchpath("luhip.core", package.cpath))
local open_raw, reason = package.loadlib(core, "luaopen_luhip_core_raw")
if not open_raw then
  io.stderr:write("this luhip.core has no raw loops (" .. reason .. "); run scripts/bench driver\n")
  os.exit(1)
end
local raw = open_raw()

local dev = luhip.open(arg[1])
local loops = raw.open(dev)
local small = os.getenv "BENCH" == "quick"
local ROUNDS = small and 3 or 15

local function median(samples)
  table.sort(samples)
  return samples[(#samples + 1) // 2]
end

-- Seconds for one of the turns of a loop, the wait behind the last included. loop(calls) makes them all, as the raw
-- loops do.
local function timed(calls, loop, wait)
  local start = monotime()
  loop(calls)
  if wait then
    wait()
  end
  return (monotime() - start) / calls
end

local function sync()
  dev:sync()
end

local rows = {}

-- One line: ours(calls) and the loop(calls) give seconds for one turn; target is the most their ratio may be.
local function compare(what, target, calls, ours, loop)
  calls = small and math.max(1, calls // 20) or calls
  local a, b = {}, {}
  for round = 0, ROUNDS do
    local x, y = ours(calls), loop and loop(calls)
    if round > 0 then -- the first warms up
      table.insert(a, x)
      table.insert(b, y)
    end
  end
  local mine, floor = median(a), b[1] and median(b)
  table.insert(rows, { what, mine, floor, floor and mine / floor, dev.id:find "^cuda" and target })
end

local axpy = dev:kernel [[
  extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }
]]
local N = 256
local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
local bound = axpy:bind { grid = 1, block = N }
local function run_bound(calls)
  for _ = 1, calls do
    bound(2.0, x, y, N)
  end
end

---- Launches -------------------------------------------------------------------------------------------------

compare("launch, bound launcher", 1.10, 2000, function(calls)
  return timed(calls, run_bound, sync)
end, function(calls)
  return loops:launch(axpy, calls)
end)

compare("launch, k:launch with a table each", 1.15, 2000, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      axpy:launch({ grid = 1, block = N }, 2.0, x, y, N)
    end
  end, sync)
end, function(calls)
  return loops:launch(axpy, calls)
end)

compare("launch and wait", nil, 500, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      bound(2.0, x, y, N)
      dev:sync()
    end
  end)
end, function(calls)
  return loops:launch_wait(axpy, calls)
end)

compare("launch between two events, time read back", 1.10, 300, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      local window <close> = dev:start_profile()
      bound(2.0, x, y, N)
      local duration <close> = window:stop()
      duration:wait()
    end
  end)
end, function(calls)
  return loops:launch_timed(axpy, calls)
end)

compare("launch under dev:profile, two events each", 1.10, 1000, function(calls)
  local seconds
  dev:profile(function()
    seconds = timed(calls, run_bound, sync)
  end)
  return seconds
end, function(calls)
  return loops:launch_events(axpy, calls)
end)

---- Replays --------------------------------------------------------------------------------------------------

for _, nodes in ipairs { 1, 10, 100, 1000 } do
  local graph <close> = dev:capture(function()
    run_bound(nodes)
  end)
  compare(("replay of a graph of %d"):format(nodes), 1.05, math.max(20, 2000 // nodes), function(calls)
    return timed(calls, function(n)
      for _ = 1, n do
        graph:replay()
      end
    end, sync)
  end, function(calls)
    return loops:replay(axpy, nodes, calls)
  end)
end

---- Memory ---------------------------------------------------------------------------------------------------

local host = luhip.array("f32", 1024)
local pinned = dev:staging({ 4096 })[1]
local kilo = dev:buffer("f32", 1024)
local bytes = kilo:view "u8"

compare("write 4 KiB, pageable", 1.15, 500, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      kilo:write(host)
    end
  end, sync)
end, function(calls)
  return loops:write(4096, calls)
end)

compare("write 4 KiB, pinned", 1.15, 500, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      bytes:write(pinned)
    end
  end, sync)
end, function(calls)
  return loops:write_pinned(4096, calls)
end)

compare("read 4 KiB", 1.15, 500, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      kilo:read()
    end
  end)
end, function(calls)
  return loops:read(4096, calls)
end)

compare("allocate and free 64 KiB (raw: stream-ordered)", 0.7, 2000, function(calls)
  return timed(calls, function(n)
    for _ = 1, n do
      dev:buffer("u8", 65536):free()
    end
  end, sync)
end, function(calls)
  return loops:allocate_async(65536, calls) or loops:allocate(65536, calls)
end)

---- How the host can wait, all raw -----------------------------------------------------------------------------

for _, how in ipairs { "read_query", "read_event", "read_event_wait" } do
  compare(("raw read 4 KiB, %s (beside the stream's wait)"):format(how), nil, 500, function(calls)
    return loops[how](loops, 4096, calls)
  end, function(calls)
    return loops:read(4096, calls)
  end)
end

for _, call in ipairs {
  "event_record",
  "event_create",
  "event_query",
  "event_elapsed",
  "stream_query",
  "host_allocate",
} do
  compare("raw call: " .. call, nil, 500, function(calls)
    return loops:call(call, calls)
  end)
end

loops:close()

print(("luhip %s, %s (%s): microseconds"):format(luhip.version, dev.id, dev.name))
print(("  %-58s %9s %9s %7s  %s"):format("", "luhip", "raw", "ratio", "target"))
for _, row in ipairs(rows) do
  local what, mine, floor, ratio, target = table.unpack(row, 1, 5)
  print(
    ("  %-58s %9.3f %9s %7s  %s"):format(
      what,
      mine * 1e6,
      floor and ("%.3f"):format(floor * 1e6) or "",
      ratio and ("%.2f"):format(ratio) or "",
      target and ("<= %.2f%s"):format(target, ratio and ratio > target and "  MISSED" or "") or ""
    )
  )
end
dev:close()
