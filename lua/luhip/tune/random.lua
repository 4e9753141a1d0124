--- Random numbers for searches: the same sequence for the same seed, on every machine and whatever else draws numbers.
--
-- The generator is xoshiro256** by Blackman and Vigna (Scrambled linear pseudorandom number generators, 2018), seeded
-- by SplitMix64 as its authors advise. Dependencies: none.
-- @module luhip.tune.random

local random = {}

local Random = {}
Random.__index = Random

local function split(state)
  state = state + 0x9e3779b97f4a7c15
  local z = state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return state, z ~ (z >> 31)
end

--- Makes a generator.
-- @tparam integer seed any
-- @treturn Random
function random.new(seed)
  local self = setmetatable({}, Random)
  for i = 1, 4 do
    seed, self[i] = split(seed)
  end
  return self
end

--- 64 random bits.
-- @treturn integer
function Random:bits()
  local a, b, c, d = self[1], self[2], self[3], self[4]
  local x = b * 5
  local result = ((x << 7) | (x >> 57)) * 9
  local t = b << 17
  c, d = c ~ a, d ~ b
  self[1], self[2] = a ~ d, b ~ c
  self[3], self[4] = c ~ t, (d << 45) | (d >> 19)
  return result
end

--- A number of [0, 1).
-- @treturn number
function Random:unit()
  return (self:bits() >> 11) * 0x1p-53
end

--- A whole number of 1 to n.
-- @tparam integer n at least 1
-- @treturn integer
function Random:below(n)
  if n <= 0x1p53 then
    return math.floor(self:unit() * n) + 1
  end
  return (self:bits() >> 1) % n + 1
end

--- A number of the normal distribution with mean 0 and deviation 1 (Box and Muller, 1958).
-- @treturn number
function Random:normal()
  local radius = math.sqrt(-2 * math.log(1 - self:unit()))
  return radius * math.cos(2 * math.pi * self:unit())
end

--- An item of a list that is not empty.
-- @tparam table list
-- @return the item
function Random:pick(list)
  return list[self:below(#list)]
end

--- Puts a list into random order, in place.
-- @tparam table list
-- @treturn table the list
function Random:shuffle(list)
  for i = #list, 2, -1 do
    local k = self:below(i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

return random
