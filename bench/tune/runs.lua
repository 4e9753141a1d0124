--- What few runs tell, replayed on recorded times: stopping bad configurations early, and picking the winner.
--
-- A configuration's true time is the median of all its recorded runs. With a ramp, the runs of the fastest quarter are
-- multiplied by 4.06, 3.05, 1.22, 1.12: what an AMD W6600 showed after idling while the next kernel compiled.
-- Dependencies: luhip.tune.{random,statistics}.

local random = require "luhip.tune.random"
local statistics = require "luhip.tune.statistics"

local runs = {}

local RAMP = { 4.06, 3.05, 1.22, 1.12 }
local MARGIN = 1.1

--- The recorded runs of a space.
-- @param recorded
-- @tparam boolean ramp whether the fastest quarter gets one
-- @treturn ?{table,...} { samples =, truth = }, fastest first; nil when fewer than 16 runs each were recorded
function runs.of(recorded, ramp)
  local list = {}
  for i = 1, recorded.space.count do
    local row = recorded:row(i)
    if row.status == "ok" and row.samples and #row.samples >= 16 then
      list[#list + 1] = { samples = row.samples, truth = statistics.median(row.samples), i = i }
    end
  end
  if #list < 300 then
    return nil
  end
  table.sort(list, function(a, b)
    if a.truth ~= b.truth then
      return a.truth < b.truth
    end
    return a.i < b.i
  end)
  for k = 1, ramp and #list // 4 or 0 do
    local samples = table.move(list[k].samples, 1, #list[k].samples, 1, {})
    for n, factor in ipairs(RAMP) do
      samples[n] = samples[n] * factor
    end
    list[k].samples = samples
  end
  return list
end

local function draw(list, n, rng)
  local taken = rng:shuffle(table.move(list, 1, #list, 1, {}))
  return table.move(taken, 1, math.min(n, #taken), 1, {})
end

local function least_truth(list)
  local least = math.huge
  for _, config in ipairs(list) do
    least = math.min(least, config.truth)
  end
  return least
end

-- Runs configurations one after the other, each until it cannot win; runs used, and the one chosen.
local function race(list)
  local used, best, incumbent = 0, nil, math.huge
  for _, config in ipairs(list) do
    local samples, beaten = {}, false
    while #samples < #config.samples and not beaten do
      samples[#samples + 1] = config.samples[#samples + 1]
      beaten = statistics.beaten(samples, incumbent, MARGIN, best and best.samples)
    end
    used = used + #samples
    local value = not beaten and statistics.robust(samples) or math.huge
    if value < incumbent then
      best, incumbent = config, value
    end
  end
  return used, best
end

--- Share of runs saved by giving up what cannot win, and how much worse than the best the choice is.
-- @tparam {table,...} list
-- @tparam integer seeds
-- @treturn number saved, 0 to 1
-- @treturn number loss, mean
-- @treturn number loss, worst
function runs.race(list, seeds)
  local saved, loss, worst = 0, 0, 0
  for seed = 1, seeds do
    local drawn, all = draw(list, 400, random.new(seed)), 0
    for _, config in ipairs(drawn) do
      all = all + #config.samples
    end
    local used, best = race(drawn)
    local off = best.truth / least_truth(drawn) - 1
    saved, loss, worst = saved + (1 - used / all) / seeds, loss + off / seeds, math.max(worst, off)
  end
  return saved, loss, worst
end

local function first(samples, n)
  return table.move(samples, 1, n, 1, {})
end

local function pick(list, value)
  local best, least = nil, math.huge
  for _, config in ipairs(list) do
    local v = value(config)
    if v < least then
      best, least = config, v
    end
  end
  return best, least
end

local function mean(samples)
  return (statistics.spread(samples))
end

-- The estimators: each picks one of a list.
runs.estimators = {
  {
    "mean of 7",
    function(list)
      return pick(list, function(c)
        return mean(first(c.samples, 7))
      end)
    end,
  },
  {
    "median of 7",
    function(list)
      return pick(list, function(c)
        return statistics.median(first(c.samples, 7))
      end)
    end,
  },
  {
    "robust of 9",
    function(list)
      return pick(list, function(c)
        return statistics.robust(first(c.samples, 9))
      end)
    end,
  },
  {
    "and 5 finalists again",
    function(list)
      local function nine(c)
        return statistics.robust(first(c.samples, 9))
      end
      local order = table.move(list, 1, #list, 1, {})
      table.sort(order, function(a, b)
        local x, y = nine(a), nine(b)
        if x ~= y then
          return x < y
        end
        return a.i < b.i
      end)
      return pick(first(order, 5), function(c)
        return statistics.median(table.move(c.samples, 10, 16, 1, {}))
      end)
    end,
  },
}

--- Share of trials in which an estimator's pick of 300 is more than 1 % off the best of them.
-- @tparam {table,...} list
-- @tparam function choose
-- @tparam integer trials
-- @treturn number 0 to 1
function runs.wrong(list, choose, trials)
  local wrong = 0
  for seed = 1, trials do
    local drawn = draw(list, 300, random.new(seed))
    wrong = wrong + (choose(drawn).truth > 1.01 * least_truth(drawn) and 1 or 0)
  end
  return wrong / trials
end

return runs
