-- Scores strategies on recorded spaces: see scripts/bench-tune.

local core = require "luhip.core"
local runs = require "bench.tune.runs"
local score = require "bench.tune.score"
local strategies = require "luhip.tune.strategies"
local tune = require "luhip.tune"

local BUDGET = 200

-- Kernel Tuner 1.4.0 on 15 spaces of its benchmark hub, default hyperparameters, 200 evaluations, one core of an EPYC.
local KERNEL_TUNER = {
  { "simulated_annealing", 0.649, 0.281, 274 },
  { "adaptive_tabu_greywolf", 0.426, -0.350, 320 },
  { "hybrid_vndx", 0.364, 0.026, 3786 },
  { "genetic_algorithm", 0.339, 0.052, 337 },
  { "pso", 0.277, 0.053, 795 },
  { "diff_evo", 0.187, -0.216, 295 },
  { "firefly_algorithm", 0.186, -0.036, 783 },
  { "random_sample", -0.011, -0.168, 37 },
  { "ordered_greedy_mls", -0.199, -0.968, 214 },
  { "greedy_ils", -0.604, -1.328, 360 },
}

local function read_arguments(words)
  local o, paths, k = { seeds = 20 }, {}, 1
  while words[k] do
    local name = words[k]:match "^%-%-(%w+)$"
    if name == "seeds" or name == "strategies" then
      o[name] = words[k + 1]
      k = k + 1
    elseif name then
      io.stderr:write("bench-tune: no option ", words[k], "; there are --seeds and --strategies\n")
      os.exit(2)
    else
      paths[#paths + 1] = words[k]
    end
    k = k + 1
  end
  o.seeds = math.tointeger(tonumber(o.seeds)) or 20
  return o, paths
end

-- What a recorded configuration costs.
local function costs_of(recorded)
  local costs = {}
  for i = 1, recorded.space.count do
    local row = recorded:row(i)
    costs[i] = row.status == "ok" and row.ms or math.huge
  end
  return costs
end

local function load(path)
  local before = core.monotime()
  local recorded = tune.load_cache(path)
  local took = core.monotime() - before
  local name = path:match "([^/]*)$":gsub("%.gz$", ""):gsub("%.json$", "")
  print(
    ("%-40s %6d configurations, %5d failed, read in %4.0f ms"):format(
      name,
      recorded.space.count,
      recorded.space.count - recorded.worked,
      took * 1000
    )
  )
  return { name = name, recorded = recorded, baseline = score.baseline(costs_of(recorded), BUDGET) }
end

-- The best cost after each evaluation.
local function found(rows, worst)
  local list, best = {}, worst
  for k, row in ipairs(rows) do
    best = row.status == "ok" and math.min(best, row.ms) or best
    list[k] = best
  end
  return list
end

-- Mean P, mean P at the end, seconds of processor time per evaluation.
local function measure(space, strategy, seeds)
  local sum, ends, seconds, evaluations = 0, 0, 0, 0
  for seed = 1, seeds do
    local before = os.clock()
    local result = tune.simulate(space.recorded, { strategy = strategy, budget = BUDGET, seed = seed })
    seconds = seconds + os.clock() - before
    evaluations = evaluations + #result.rows
    local p, last = score.p(space.baseline, found(result.rows, space.baseline.worst), BUDGET)
    sum, ends = sum + p, ends + last
  end
  return sum / seeds, ends / seeds, seconds / evaluations
end

local function rate(spaces, strategy, seeds)
  local all, line = { name = strategy, mean = 0, worst = math.huge, last = 0, us = {} }, {}
  for k, space in ipairs(spaces) do
    local p, last, seconds = measure(space, strategy, seeds)
    all.mean, all.last = all.mean + p / #spaces, all.last + last / #spaces
    all.worst, all.us[k] = math.min(all.worst, p), seconds * 1e6
    line[k] = ("%7.3f"):format(p)
  end
  table.sort(all.us)
  local text = "%-24s %7.3f %7.3f %7.3f %8.1f   %s"
  print(text:format(strategy, all.mean, all.worst, all.last, all.us[(#all.us + 1) // 2], table.concat(line)))
  io.flush()
  return all
end

local function names_of(list)
  local names = {}
  for name in (list or ""):gmatch "[^,]+" do
    names[#names + 1] = name
  end
  if #names > 0 then
    return names
  end
  for _, name in ipairs(strategies.names()) do
    if name ~= "exhaustive" and name ~= "pareto" then
      names[#names + 1] = name
    end
  end
  return names
end

local function show_runs(space, ramp, seeds)
  local list = runs.of(space.recorded, ramp)
  if not list then
    return
  end
  local saved, loss, worst = runs.race(list, seeds)
  local text = ("%-40s %5s %7.1f %% %7.3f %% %7.3f %%"):format(
    space.name,
    ramp and "ramp" or "",
    saved * 100,
    loss * 100,
    worst * 100
  )
  for _, estimator in ipairs(runs.estimators) do
    text = ("%s %10.1f %%"):format(text, 100 * runs.wrong(list, estimator[2], 10 * seeds))
  end
  print(text)
  io.flush()
end

local function show_all_runs(spaces, seeds)
  print "\nRuns saved by giving up what cannot win, loss (mean, worst); picks of 300 that are more than 1 % off, by"
  print "the mean of 7 runs (Kernel Tuner), their median, the robust median of 9, that with five finalists run again"
  for _, space in ipairs(spaces) do
    show_runs(space, false, seeds)
    show_runs(space, true, seeds)
  end
end

local o, paths = read_arguments(arg)
local spaces = {}
for k, path in ipairs(paths) do
  spaces[k] = load(path)
end
print(("\n%d evaluations, %d seeds; P: 0 is random search, 1 the best from the start"):format(BUDGET, o.seeds))
print(("%-24s %7s %7s %7s %8s   %s"):format("strategy", "mean P", "worst", "at end", "us/eval", "P by space, as above"))
for _, name in ipairs(names_of(o.strategies)) do
  rate(spaces, name, o.seeds)
end
show_all_runs(spaces, o.seeds)
print "\nKernel Tuner 1.4.0, for comparison: its own 15 spaces, the same score"
for _, row in ipairs(KERNEL_TUNER) do
  print(("%-24s %7.3f %7.3f %7s %8.1f"):format(row[1], row[2], row[3], "", row[4]))
end
