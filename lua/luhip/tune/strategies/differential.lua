--- Differential evolution (Storn and Price, 1997), best/1/bin over the digits.
--
-- Options: `population` (20), `weight` of the difference (0.7), `crossover` (0.8). Dependencies: none.
-- @module luhip.tune.strategies.differential

local function trial(search, points, best, own, weight, crossover)
  local rng = search.random
  local a, b = points[rng:below(#points)], points[rng:below(#points)]
  local point, forced = {}, rng:below(#own)
  for axis = 1, #own do
    local take = axis == forced or rng:unit() < crossover
    point[axis] = take and best[axis] + weight * (a[axis] - b[axis]) or own[axis]
  end
  return search:at(point)
end

local function best_of(costs)
  local best = 1
  for k, cost in ipairs(costs) do
    if cost < costs[best] then
      best = k
    end
  end
  return best
end

return function(search, options)
  local weight, crossover = options.weight or 0.7, options.crossover or 0.8
  local members = search:spread(options.population or 20)
  local costs, points = search:evaluate_all(members), {}
  for k, i in ipairs(members) do
    points[k] = search:digits(i)
  end
  while true do
    local best, trials = points[best_of(costs)], {}
    for k, own in ipairs(points) do
      local i = trial(search, points, best, own, weight, crossover)
      trials[k] = search.costs[i] == nil and i or search:mutate(i)
    end
    local new = search:evaluate_all(trials)
    for k, cost in ipairs(new) do
      if cost <= costs[k] then
        costs[k], points[k] = cost, search:digits(trials[k])
      end
    end
  end
end
