--- Timing one candidate: how many samples, which of them count, and what one number they give.
--
-- A warm-up, then 3 to 10 samples. After each from the third on, samples beyond 1.5 times the fastest are dropped
-- (two are always kept) and the score of the rest is taken; when it moved by at most 2 % twice in a row, it is enough.
-- The score is (0.8 * min + 0.2 * median) * (1 + sigma / (1 + mean)): near the fastest, with a price on spread.
-- A time of zero is no time: the work is repeated inside one sample until the device's clock sees it.
-- Dependencies: luhip.errors.
-- @module luhip.tune.measure

local errors = require "luhip.errors"

local measure = {}

--- The default rules; `tune { measure = {...} }` overrides single ones.
measure.defaults = {
  warmup = 1, -- launches before the first sample
  min_samples = 3,
  max_samples = 10,
  drop = 1.5, -- samples beyond this multiple of the fastest are dropped
  keep = 2, -- but never below this many
  converge = 0.02, -- relative change of the score that counts as none
  converged = 2, -- how often in a row
  race = 2, -- a candidate whose fastest sample is beyond this multiple of the best so far stops at min_samples
}

local MAX_REPEAT = 1000

--- The median of a list that is not empty.
-- @tparam {number,...} list in any order; unchanged
-- @treturn number
function measure.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  if #sorted % 2 == 1 then
    return sorted[middle + 1]
  end
  return (sorted[middle] + sorted[middle + 1]) / 2
end

--- The samples that count.
-- @tparam {number,...} samples ms, in order of measurement
-- @tparam[opt] table rules `drop` and `keep`, as in `measure.defaults`
-- @treturn {number,...} those kept, ascending
function measure.kept(samples, rules)
  rules = rules or measure.defaults
  local kept = table.move(samples, 1, #samples, 1, {})
  table.sort(kept)
  while #kept > rules.keep and kept[#kept] > rules.drop * kept[1] do
    kept[#kept] = nil
  end
  return kept
end

--- The score of samples: (0.8 * min + 0.2 * median) * (1 + sigma / (1 + mean)).
-- @tparam {number,...} list ms, not empty
-- @treturn number ms; lower is better
function measure.score(list)
  local sum, least = 0, math.huge
  for _, v in ipairs(list) do
    sum = sum + v
    least = math.min(least, v)
  end
  local mean, squares = sum / #list, 0
  for _, v in ipairs(list) do
    squares = squares + (v - mean) ^ 2
  end
  local sigma = math.sqrt(squares / #list)
  return (0.8 * least + 0.2 * measure.median(list)) * (1 + sigma / (1 + mean))
end

-- One sample that is a time: repeated tenfold while the clock shows nothing.
local function take(sample, count)
  while true do
    local ms = sample(count)
    if type(ms) ~= "number" or ms ~= ms or ms < 0 or ms == math.huge then
      errors.raise("argument", "a sample of %s ms is no time", tostring(ms))
    end
    if ms > 0 then
      return ms / count, count
    end
    if count >= MAX_REPEAT then
      errors.raise("argument", "%d launches together take no measurable time", count)
    end
    count = count * 10
  end
end

local function enough(scores, rules)
  if #scores <= rules.converged then
    return false
  end
  for i = #scores - rules.converged + 1, #scores do
    local before = scores[i - 1]
    if math.abs(scores[i] - before) > rules.converge * before then
      return false
    end
  end
  return true
end

--- Measures one candidate.
-- @tparam function sample takes a number of repeats, runs the work that often and gives the ms of all together;
--   what it raises passes through
-- @tparam[opt] table rules all of `measure.defaults`
-- @tparam[opt] number best ms of the best candidate so far, for the `race` rule
-- @treturn table `ms` (the score), `median`, `min`, `samples` (all, in order, ms per launch), `kept` (how many count)
-- @raise kind "argument" when nothing measurable happens
function measure.run(sample, rules, best)
  rules = rules or measure.defaults
  for _ = 1, rules.warmup do
    sample(1)
  end
  local samples, scores, count = {}, {}, 1
  local fastest = math.huge
  while #samples < rules.max_samples do
    local ms
    ms, count = take(sample, count)
    samples[#samples + 1] = ms
    fastest = math.min(fastest, ms)
    if #samples >= rules.min_samples then
      scores[#scores + 1] = measure.score(measure.kept(samples, rules))
      if enough(scores, rules) or (best and fastest > rules.race * best) then
        break
      end
    end
  end
  local kept = measure.kept(samples, rules)
  return {
    ms = measure.score(kept),
    median = measure.median(kept),
    min = kept[1],
    samples = samples,
    kept = #kept,
  }
end

return measure
