-- A chain of launches captured once, and replayed with other arguments: numbers and buffers of a recorded launch can
-- be exchanged between replays, which costs no new capture.
--
--   luhip examples/capture_update.lua   LUHIP_SIZE: how many numbers (default 2^16)

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 16

local dev = luhip.open()
local program = dev:compile(
  [[
extern "C" __global__ void scale(const int *x, LUHIP_OUT int *y, int factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}

extern "C" __global__ void add(const int *x, int *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
]],
  { name = "capture_update.hip" }
)
local scale, add = program:kernel "scale", program:kernel "add"

local function ramp(i)
  return i % 1000
end
local function squares(i)
  return (i % 100) * (i % 100)
end

local x, other = dev:buffer("i32", n, ramp), dev:buffer("i32", n, squares)
local y, z = dev:buffer("i32", n, 0), dev:buffer("i32", n, 0)

local shape = { grid = luhip.cdiv(n, 256), block = 256 }
local graph = dev:capture(function()
  scale:launch(shape, x, y, 3, n) -- launch 1: y = 3 x
  add:launch(shape, x, y, n) --      launch 2: y = y + x
end)
print(("capture_update on %s: %d numbers, %s"):format(dev.id, n, tostring(graph)))
for _, node in ipairs(graph:nodes()) do
  print(("  launch %d: %s, grid %d x block %d"):format(node.launch, node.kernel, node.grid[1], node.block[1]))
end

local function expect(what, buffer, wanted)
  local result = buffer:read()
  for i = 1, n do
    if result[i] ~= wanted(i) then
      print(("capture_update: WRONG: %s: element %d is %s, not %s"):format(what, i, result[i], wanted(i)))
      os.exit(1, true)
    end
  end
  print("  " .. what)
end

-- Replayed as it was recorded.
y:fill(-1)
graph:replay()
expect("as recorded: y = 3 x + x", y, function(i)
  return 4 * ramp(i)
end)

-- Another number. All arguments of the launch are given, as to the launch itself.
for factor = 5, 7 do
  graph:update(1, x, y, factor, n)
  graph:replay()
  expect(("the factor is %d: y = %d x + x"):format(factor, factor), y, function(i)
    return (factor + 1) * ramp(i)
  end)
end

-- Another buffer to read, in the second launch only.
graph:update(2, other, y, n)
graph:replay()
expect("another buffer is read: y = 7 x + other", y, function(i)
  return 7 * ramp(i) + squares(i)
end)

-- Another buffer to write, in both; the first one keeps what it has.
graph:update(1, x, z, -1, n)
graph:update(2, other, z, n)
graph:replay()
expect("another buffer is written: z = -x + other", z, function(i)
  return squares(i) - ramp(i)
end)
expect("y is what it was", y, function(i)
  return 7 * ramp(i) + squares(i)
end)

-- What does not fit is refused, and changes nothing.
local ok, e = pcall(graph.update, graph, 1, x, dev:buffer("f32", n), 2, n)
if ok or e.kind ~= "type" then
  print(("capture_update: WRONG: a buffer of f32 is taken for int *: %s"):format(tostring(e)))
  os.exit(1, true)
end
z:fill(0)
graph:replay()
expect("after a refused update: z = -x + other", z, function(i)
  return squares(i) - ramp(i)
end)
print "capture_update: ok"
