-- Heat in a square plate whose rim is kept cold: a thousand steps of a five-point stencil. Two steps, there and back
-- between two buffers, are captured once and replayed five hundred times; the picture shows the end.
--
--   luhip examples/heat2d.lua [picture.png]     LUHIP_SIZE: cells along a side (default 256)

local luhip = require "luhip"
local png = require "luhip.png"

local path = arg and arg[1] or "heat2d.png"
local side = luhip.config "size" or 256
assert(side >= 3, "LUHIP_SIZE: a plate has at least 3 cells along a side")
local rate, replays, hot = 0.2, 500, 100

local here = debug.getinfo(1, "S").source:match "^@(.*/)" or "./"
local file = assert(io.open(here .. "kernels/heat2d.hip"))
local source = file:read "a"
file:close()

local dev = luhip.open()
local step = dev:kernel(source, "heat_step", { name = "heat2d.hip" })

local function wrong(...)
  print("heat2d: WRONG: " .. string.format(...))
  os.exit(1, true)
end

-- Not so when either is NaN.
local function close(a, b, tolerance)
  return math.abs(a - b) <= tolerance
end

---- the plate at the start: a hot disc and a hot bar --------------------------------------------------------------

local function plate(nx, ny)
  local cells = {}
  for y = 0, ny - 1 do
    for x = 0, nx - 1 do
      local u, v = x / (nx - 1), y / (ny - 1)
      local disc = (u - 0.36) ^ 2 + (v - 0.42) ^ 2 < 0.16 ^ 2
      local bar = u > 0.6 and u < 0.8 and v > 0.68 and v < 0.76
      local rim = x == 0 or y == 0 or x == nx - 1 or y == ny - 1
      cells[#cells + 1] = (disc or bar) and not rim and hot or 0
    end
  end
  return cells
end

local function launch(nx, ny, from, to)
  step:launch({ grid = { luhip.cdiv(nx, 32), luhip.cdiv(ny, 8) }, block = { 32, 8 } }, from, to, nx, ny, rate)
end

---- a few steps on a small plate, beside the same in Lua ----------------------------------------------------------

do
  local nx, ny, steps = 37, 21, 5
  local now = plate(nx, ny)
  local a, b = dev:buffer("f32", { ny, nx }, now), dev:buffer("f32", { ny, nx })
  for _ = 1, steps do
    launch(nx, ny, a, b)
    a, b = b, a
    local next = {}
    for i, here_now in ipairs(now) do
      local x, y = (i - 1) % nx, (i - 1) // nx
      local inner = x > 0 and y > 0 and x < nx - 1 and y < ny - 1
      next[i] = inner and here_now + rate * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] - 4 * here_now)
        or here_now
    end
    now = next
  end
  local result = a:bytes_string()
  for i, wanted in ipairs(now) do
    local got = string.unpack("<f", result, i * 4 - 3)
    if not close(got, wanted, 1e-4) then
      wrong("cell %d of the small plate is %g, not %g", i, got, wanted)
    end
  end
end

---- the large one: captured and replayed --------------------------------------------------------------------------

local start = plate(side, side)
local a, b = dev:buffer("f32", { side, side }, start), dev:buffer("f32", { side, side }, start)
local two_steps = dev:capture(function()
  launch(side, side, a, b)
  launch(side, side, b, a)
end, { warmup = false })

local begun = os.clock()
for _ = 1, replays do
  two_steps:replay()
end
local result = a:bytes_string()
print(
  ("heat2d on %s: %d x %d cells, %d steps in %d replays of a %s graph, %.2f s of processor time"):format(
    dev.id,
    side,
    side,
    replays * #two_steps,
    replays,
    two_steps.kind,
    os.clock() - begun
  )
)

-- No cell is hotter than the hottest was, or colder than the coldest: every step is a mean. And with a cold rim the
-- plate's slowest mode, sin x sin y, fades by the same known factor in each.
local sines = {}
for i = 0, side - 1 do
  sines[i] = math.sin(math.pi * i / (side - 1))
end
local before, after, hottest = 0, 0, 0
local temperatures = {}
for i, first in ipairs(start) do
  local t = string.unpack("<f", result, i * 4 - 3)
  if not (t >= 0 and t <= hot) then
    wrong("cell %d is at %g, the plate began between 0 and %g", i, t, hot)
  end
  local mode = sines[(i - 1) % side] * sines[(i - 1) // side]
  before, after = before + mode * first, after + mode * t
  hottest = math.max(hottest, t)
  temperatures[i] = t
end
local wanted = before * (1 - 4 * rate * (1 - math.cos(math.pi / (side - 1)))) ^ (replays * 2)
if not close(after, wanted, 1e-3 * wanted + 1e-30) then
  wrong("the slowest mode has faded to %g, not %g", after, wanted)
end

---- the picture ---------------------------------------------------------------------------------------------------

-- From black by way of red and yellow to white.
local colors = {}
for i = 0, 255 do
  local function part(from)
    return math.floor(255 * math.min(1, math.max(0, (i / 255 - from) * 3)))
  end
  colors[i] = string.char(part(0), part(1 / 3), part(2 / 3))
end
local pixels = {}
for i, t in ipairs(temperatures) do
  pixels[i] = colors[math.floor(255 * t / math.max(hottest, 1e-30))]
end
png.write(path, side, side, table.concat(pixels))
print(("heat2d: the hottest cell is at %.1f, the picture is %s"):format(hottest, path))
print "heat2d: ok"
