-- Gravity among bodies by all pairs, staged in shared memory. One step, forces and then the move, is captured and
-- replayed; forces are held against Lua's own, and what a closed system keeps against what it had.
--
--   luhip examples/nbody.lua            LUHIP_SIZE: how many bodies (default 1024)

local luhip = require "luhip"

local n = luhip.config "size" or 1024
assert(n >= 1, "LUHIP_SIZE: at least one body")
local tile, steps, dt, softening = 64, 200, 1e-3, 1e-3

local here = debug.getinfo(1, "S").source:match "^@(.*/)" or "./"
local file = assert(io.open(here .. "kernels/nbody.hip"))
local source = file:read "a"
file:close()

local dev = luhip.open()
local program = dev:compile(source, { name = "nbody.hip", defines = { TILE = tile } })
local forces, move = program:kernel "forces", program:kernel "move"

local function wrong(...)
  print("nbody: WRONG: " .. string.format(...))
  os.exit(1, true)
end

-- Not so when either is NaN.
local function close(a, b, tolerance)
  return math.abs(a - b) <= tolerance
end

---- a turning ball of bodies, all of them together of mass 1 -----------------------------------------------------

local state = 20240229
local function random()
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state / 0x7fffffff
end

local places, speeds = {}, {}
for i = 1, n do
  local x, y, z
  repeat
    x, y, z = 2 * random() - 1, 2 * random() - 1, 2 * random() - 1
  until x * x + y * y + z * z <= 1
  places[i] = { x, y, z, 1 / n }
  speeds[i] = { -0.6 * y, 0.6 * x, 0, 0 } -- about the z axis
end

-- A float4 for each body: three coordinates and the mass.
local position = dev:buffer("f32", { n, 4 }, places)
local velocity = dev:buffer("f32", { n, 4 }, speeds)
local acceleration = dev:buffer("f32", { n, 4 })

local function rows(buffer)
  local bytes, list = buffer:bytes_string(), {}
  for i = 1, n do
    list[i] = { string.unpack("<ffff", bytes, i * 16 - 15) }
  end
  return list
end

---- what a closed system keeps ------------------------------------------------------------------------------------

local function measure()
  local p, v = rows(position), rows(velocity)
  local energy, momentum = 0, { 0, 0, 0 }
  for i = 1, n do
    local x, y, z, mass = table.unpack(p[i])
    for axis = 1, 3 do
      energy = energy + 0.5 * mass * v[i][axis] ^ 2
      momentum[axis] = momentum[axis] + mass * v[i][axis]
    end
    for j = i + 1, n do
      local other = p[j]
      local dx, dy, dz = other[1] - x, other[2] - y, other[3] - z
      energy = energy - mass * other[4] / (dx * dx + dy * dy + dz * dz + softening) ^ 0.5
    end
  end
  return energy, momentum
end

local energy, momentum = measure()

---- steps ---------------------------------------------------------------------------------------------------------

local blocks = luhip.cdiv(n, tile)
local function compute_forces()
  forces:launch({ grid = blocks, block = tile }, position, acceleration, n, softening)
end

-- Forces of some bodies, the first and the last among them.
compute_forces()
local p, got = rows(position), rows(acceleration)
for i = 1, n, math.max(1, (n - 1) // 15) do
  local wanted, size = { 0, 0, 0 }, 0
  for j = 1, n do
    local d = { p[j][1] - p[i][1], p[j][2] - p[i][2], p[j][3] - p[i][3] }
    local pull = p[j][4] / (d[1] ^ 2 + d[2] ^ 2 + d[3] ^ 2 + softening) ^ 1.5
    for axis = 1, 3 do
      wanted[axis] = wanted[axis] + pull * d[axis]
      size = size + math.abs(pull * d[axis])
    end
  end
  for axis = 1, 3 do
    if not close(got[i][axis], wanted[axis], 1e-5 * size) then
      wrong("the force on body %d along axis %d is %g, not %g", i, axis, got[i][axis], wanted[axis])
    end
  end
end

local step = dev:capture(function()
  compute_forces()
  move:launch({ grid = blocks, block = tile }, position, velocity, acceleration, n, dt)
end, { warmup = false })
for _ = 1, steps do
  step:replay()
end
dev:sync { position, velocity }

local energy_now, momentum_now = measure()
local drift = math.abs(energy_now - energy) / math.abs(energy)
print(
  ("nbody on %s: %d bodies, %d steps, energy %.5f and then %.5f (%.3f %% off)"):format(
    dev.id,
    n,
    steps,
    energy,
    energy_now,
    drift * 100
  )
)
if not close(energy_now, energy, 0.01 * math.abs(energy)) then
  wrong("the energy has drifted by more than 1 %%")
end
for axis = 1, 3 do
  if not close(momentum_now[axis], momentum[axis], 1e-5) then
    wrong("the momentum along axis %d was %g and is %g", axis, momentum[axis], momentum_now[axis])
  end
end
-- A single body has nothing to be pulled by; others have moved.
if n > 1 and rows(position)[1][1] == places[1][1] then
  wrong("the bodies have not moved")
end
print "nbody: ok"
