--- Statistics of measured times: pure functions of lists of numbers, none of which is changed.
--
-- A device's clock ramps: after a pause the first runs of a kernel are up to four times slower than the rest, and short
-- kernels, the good ones, suffer most. What has no ramp has noise, seldom Gaussian. So a configuration is known by the
-- median of what comes behind the ramp, its uncertainty by order statistics, and none is given up for being slow while
-- a ramp could be why. Dependencies: none.
-- @module luhip.tune.statistics

local statistics = {}

local function sorted(list)
  local copy = table.move(list, 1, #list, 1, {})
  table.sort(copy)
  return copy
end

--- The median of a list that is not empty.
-- @tparam {number,...} list in any order
-- @treturn number
function statistics.median(list)
  local order = sorted(list)
  local middle = #order // 2
  if #order % 2 == 1 then
    return order[middle + 1]
  end
  return (order[middle] + order[middle + 1]) / 2
end

--- Mean and standard deviation (of the samples, not an estimate of more).
-- @tparam {number,...} list not empty
-- @treturn number mean
-- @treturn number deviation
function statistics.spread(list)
  local sum, squares = 0, 0
  for _, v in ipairs(list) do
    sum = sum + v
  end
  local mean = sum / #list
  for _, v in ipairs(list) do
    squares = squares + (v - mean) ^ 2
  end
  return mean, math.sqrt(squares / #list)
end

--- The relative noise: 1.4826 times the median distance from the median, over the median. What a few outliers do to a
-- standard deviation they do not do to this.
-- @tparam {number,...} list not empty
-- @treturn number 0 for a single value
function statistics.noise(list)
  local middle, off = statistics.median(list), {}
  for i, v in ipairs(list) do
    off[i] = math.abs(v - middle)
  end
  return middle == 0 and 0 or 1.4826 * statistics.median(off) / math.abs(middle)
end

-- ---- the ramp --------------------------------------------------------------------------------------------------

--- How many samples at the start belong to a ramp: those before the first that is not above what follows by more than
-- the noise. At least half of the samples are never taken for a ramp.
-- @tparam {number,...} samples in order of measurement
-- @tparam[opt=0.03] number tolerance relative excess that is not counted as ramp, whatever the noise
-- @treturn integer 0 for none
function statistics.ramp(samples, tolerance)
  local n = #samples
  if n < 4 then
    return 0
  end
  local rest = table.move(samples, n // 2 + 1, n, 1, {})
  local level = statistics.median(rest) * (1 + math.max(tolerance or 0.03, 3 * statistics.noise(rest)))
  local ramp = 0
  while ramp < n // 2 and samples[ramp + 1] > level do
    ramp = ramp + 1
  end
  return ramp
end

--- The samples behind the ramp, in order.
-- @tparam {number,...} samples
-- @treturn {number,...}
function statistics.settled(samples)
  local ramp = statistics.ramp(samples)
  return table.move(samples, ramp + 1, #samples, 1, {})
end

--- What a configuration takes, by few samples: the median behind the ramp; with six samples or more the first two never
-- count, since a ramp of two is what devices have.
-- @tparam {number,...} samples in order, not empty
-- @treturn number
function statistics.robust(samples)
  local skip = math.max(#samples >= 6 and 2 or 0, statistics.ramp(samples))
  return statistics.median(table.move(samples, skip + 1, #samples, 1, {}))
end

-- ---- intervals -------------------------------------------------------------------------------------------------

--- An interval for the true median, without assumptions about the distribution: order statistics whose binomial
-- coverage is at least the confidence, or the extremes where there are too few samples for that.
-- @tparam {number,...} list not empty
-- @tparam[opt=0.95] number confidence
-- @treturn number low
-- @treturn number high
-- @treturn number the coverage, which is lower than asked for when there are fewer than six samples
function statistics.interval(list, confidence)
  local order, n = sorted(list), #list
  confidence = confidence or 0.95
  -- P(low order statistic k is above the median) = P(Binomial(n, 1/2) < k)
  local k, tail, term = 0, 0, 0.5 ^ n
  local best = 1 - 2 * term
  while k + 1 <= n // 2 do
    tail = tail + term
    local coverage = 1 - 2 * tail
    if coverage < confidence then
      break
    end
    k, best = k + 1, coverage
    term = term * (n - k + 1) / k
  end
  k = math.max(k, 1)
  return order[k], order[n - k + 1], best
end

--- Whether a configuration is within the noise of the best: their intervals overlap, or it is no worse by more than
-- the margin.
-- @tparam {number,...} samples of the one
-- @tparam {number,...} best samples of the best
-- @tparam[opt=0] number margin relative
-- @treturn boolean
function statistics.within_noise(samples, best, margin)
  local low = statistics.interval(samples)
  local _, high = statistics.interval(best)
  return low <= high or statistics.median(samples) <= statistics.median(best) * (1 + (margin or 0))
end

-- ---- when to stop ----------------------------------------------------------------------------------------------

-- How much slower than a configuration really is its fastest of n runs may be, for a ramp: recorded are 4.06, 3.05,
-- 1.22 and 1.12 on an AMD W6600 that had idled for a second; with some room.
local RAMP = { 6, 4.5, 1.8, 1.25 }

-- Behind every ramp, samples of two configurations are compared that were taken at the same places: clocks do not only
-- rise after a pause, they fall under load (an A100's by 3 % within 32 runs), alike for both. By how many samples there
-- are, what part of the margin they have to be apart; twice the noise of either too, where that is known.
local CLOSE = { [5] = 0.2, [6] = 0.1, [7] = 0.05 }
local NOISES = 2

local function least_of(samples, n)
  local least = math.huge
  for i = 1, math.min(n, #samples) do
    least = math.min(least, samples[i])
  end
  return least
end

local function noise_behind_ramp(samples)
  return #samples > 6 and statistics.noise(table.move(samples, 5, #samples, 1, {})) or 0
end

-- No single outlier decides: the faster of two counts, the median of three or more.
local function is_behind(samples, theirs, margin)
  local n = math.min(#samples, #theirs)
  if n < 5 then
    return false
  end
  local from = math.min(5, n - 1)
  local ours, other = table.move(samples, from, n, 1, {}), table.move(theirs, from, n, 1, {})
  local level = #ours > 2 and statistics.median(ours) or least_of(ours, #ours)
  local noise = math.max(noise_behind_ramp(samples), noise_behind_ramp(theirs))
  local apart = math.max((margin - 1) * CLOSE[math.min(n, 7)], NOISES * noise)
  return level > statistics.median(other) * (1 + apart)
end

--- Whether a configuration cannot win, by what was measured of it: its fastest sample is beyond the incumbent by more
-- than the margin, even if the samples so far were part of a ramp; or its samples behind a ramp are beyond those that
-- the incumbent had at the same places, by more than their noise and a small part of the margin.
-- @tparam {number,...} samples in order, not empty
-- @tparam number incumbent time of the best so far
-- @tparam number margin at least 1: what is behind a ramp has to be slower by this
-- @tparam[opt] {number,...} theirs the incumbent's samples in order, where they are known
-- @treturn boolean
function statistics.beaten(samples, incumbent, margin, theirs)
  local n = #samples
  local level = theirs and math.min(incumbent, least_of(theirs, n)) or incumbent
  if least_of(samples, n) > level * math.max(margin, RAMP[n] or 0) then
    return true
  end
  return theirs ~= nil and is_behind(samples, theirs, margin)
end

--- Whether more samples would tell nothing new: the noise is small, or it does not change any more. The rule of
-- NVIDIA's nvbench (stdrel), with the median's deviation.
-- @tparam {number,...} samples in order
-- @tparam number precision relative noise that is small enough
-- @treturn boolean
function statistics.stable(samples, precision)
  local n = #samples
  if n < 8 then
    return false
  end
  local now = statistics.noise(samples)
  if now <= precision then
    return true
  end
  local before = statistics.noise(table.move(samples, 1, n - n // 4, 1, {}))
  return n >= 32 and math.abs(now - before) <= 0.05 * now
end

return statistics
