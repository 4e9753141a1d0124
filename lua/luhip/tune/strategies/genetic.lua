--- A genetic algorithm (Holland, 1975): parents by tournament, uniform crossover, mutation, the best survive.
--
-- Options: `population` (20), `mutation` (chance of a child to be mutated, 0.3), `elite` (how many survive, 2).
-- Dependencies: none.
-- @module luhip.tune.strategies.genetic

local function tournament(search, population, costs)
  local a, b = search.random:below(#population), search.random:below(#population)
  return population[costs[a] <= costs[b] and a or b]
end

local function child(search, population, costs, mutation)
  local i = search:cross(tournament(search, population, costs), tournament(search, population, costs))
  if search.costs[i] ~= nil or search.random:unit() < mutation then
    i = search:mutate(i)
  end
  return i
end

-- The positions in order of their costs.
local function ranked(population, costs)
  local order = {}
  for k in ipairs(population) do
    order[k] = k
  end
  table.sort(order, function(a, b)
    if costs[a] ~= costs[b] then
      return costs[a] < costs[b]
    end
    return a < b
  end)
  return order
end

return function(search, options)
  local size, elite = options.population or 20, options.elite or 2
  local population = search:spread(size)
  local costs = search:evaluate_all(population)
  while true do
    local order, children = ranked(population, costs), {}
    for k = 1, math.min(elite, #order) do
      children[k] = population[order[k]]
    end
    while #children < size do
      children[#children + 1] = child(search, population, costs, options.mutation or 0.3)
    end
    population, costs = children, search:evaluate_all(children)
  end
end
