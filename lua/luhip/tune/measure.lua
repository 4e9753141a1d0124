--- Timing one candidate: how many samples, which of them count, and what one number they give.
--
-- A warm-up, then 3 to 10 samples. While the clock still ramps up, each sample faster than all before by more than 3 %,
-- those before do not count (they are `ramp` samples) and as many more are taken. After each from the third on, samples
-- beyond 1.5 times the fastest are dropped (two are always kept) and the score of the rest is taken; when it moved by
-- at most 2 % twice in a row, it is enough, unless `precision` asks for samples until their noise is that small or does
-- not change any more. The score is (0.8 * min + 0.2 * median) * (1 + sigma / (1 + mean)): near the fastest, with a
-- price on spread. A candidate that cannot win any more, ramp or not, is given up. A time of zero, or below `least_ms`,
-- is no time: the work is repeated inside one sample until the device's clock sees it. Dependencies: luhip.errors,
-- luhip.tune.statistics.
-- @module luhip.tune.measure

local errors = require "luhip.errors"
local statistics = require "luhip.tune.statistics"

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
  precision = 0, -- relative noise that is sought beyond that; 0: none is
  race = 1.1, -- what is slower than the best so far by this factor is given up as soon as it shows, what is slower by
  -- less as soon as more samples tell (statistics.beaten); 0: nothing is
  ramp = 8, -- samples at most that are taken for the ramp of a clock
  least_ms = 0, -- shorter samples are made longer by repeating the work
  finalists = 5, -- how many that the noise does not tell apart are measured again at the end, in turn
  rounds = 7, -- how often
}

local MAX_REPEAT = 1000
local STEP = 0.97 -- what is faster than this times all before is on a ramp

measure.median = statistics.median

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
  local mean, sigma = statistics.spread(list)
  local least = math.huge
  for _, ms in ipairs(list) do
    least = math.min(least, ms)
  end
  return (0.8 * least + 0.2 * statistics.median(list)) * (1 + sigma / (1 + mean))
end

-- One sample that is a time: repeated tenfold while the clock shows nothing, or too little.
local function take(sample, count, least)
  while true do
    local ms = sample(count)
    if type(ms) ~= "number" or ms ~= ms or ms < 0 or ms == math.huge then
      errors.raise("argument", "a sample of %s ms is no time", tostring(ms))
    end
    if ms > 0 and (ms >= least or count >= MAX_REPEAT) then
      return ms / count, count
    end
    if count >= MAX_REPEAT then
      errors.raise("argument", "%d launches together take no measurable time", count)
    end
    count = count * 10
  end
end

local function converged(scores, rules)
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

local function enough(state, rules)
  if rules.precision > 0 then
    return statistics.stable(state.counted, rules.precision)
  end
  return converged(state.scores, rules)
end

-- Takes a sample in. One that is much faster than all before shows that those were on a ramp.
local function add(state, ms, rules)
  state.samples[#state.samples + 1] = ms
  if ms < STEP * state.fastest and state.ramp < rules.ramp and #state.counted > 0 and #state.scores < 2 then
    state.ramp = #state.samples - 1
    state.counted, state.scores = {}, {}
  end
  state.fastest = math.min(state.fastest, ms)
  state.counted[#state.counted + 1] = ms
  if #state.counted >= rules.min_samples then
    state.scores[#state.scores + 1] = measure.score(measure.kept(state.counted, rules))
  end
end

--- Measures one candidate.
-- @tparam function sample takes a number of repeats, runs the work that often and gives the ms of all together;
--   what it raises passes through
-- @tparam[opt] table rules all of `measure.defaults`
-- @tparam[opt] number best ms of the best candidate so far, for the `race` rule
-- @tparam[opt] {number,...} theirs its samples, in order
-- @treturn table `ms` (the score), `median`, `min`, `low` and `high` (an interval for the median, at 95 % from six
--   samples on), `samples` (all, in order, ms per launch), `ramp` (how many of these at the start do not count), `kept`
--   (how many count), `given_up` (true when it could not win)
-- @raise kind "argument" when nothing measurable happens
function measure.run(sample, rules, best, theirs)
  rules = rules or measure.defaults
  for _ = 1, rules.warmup do
    sample(1)
  end
  local state = { samples = {}, counted = {}, scores = {}, fastest = math.huge, ramp = 0 }
  local count, given_up = 1, nil
  while #state.counted < rules.max_samples do
    local ms
    ms, count = take(sample, count, rules.least_ms)
    add(state, ms, rules)
    given_up = best and rules.race > 0 and statistics.beaten(state.samples, best, rules.race, theirs) or nil
    if given_up or enough(state, rules) then
      break
    end
  end
  return measure.summary(state.samples, rules, state.ramp, given_up)
end

--- The numbers of samples.
-- @tparam {number,...} samples in order
-- @tparam table rules
-- @tparam integer ramp how many at the start do not count
-- @tparam ?boolean given_up
-- @treturn table as of `measure.run`
function measure.summary(samples, rules, ramp, given_up)
  local counted = table.move(samples, ramp + 1, #samples, 1, {})
  local kept = measure.kept(counted, rules)
  local low, high = statistics.interval(counted)
  return {
    ms = measure.score(kept),
    median = statistics.median(kept),
    min = kept[1],
    low = low,
    high = high,
    samples = samples,
    ramp = ramp,
    kept = #kept,
    given_up = given_up,
  }
end

return measure
