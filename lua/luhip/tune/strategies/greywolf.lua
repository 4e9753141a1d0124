--- Grey wolves with a tabu list: a pack drawn towards its three best (Mirjalili, Mirjalili and Lewis, 2014), never to
-- where one has been (Glover, 1986).
--
-- Each wolf's digits come from the three leaders or stay its own, more from the leaders as the budget is spent; what is
-- known is tabu and shaken until it is not. A wolf that has not improved for `patience` (6) moves starts elsewhere.
-- Option `pack` (8): how many wolves. Dependencies: none.
-- @module luhip.tune.strategies.greywolf

local function by_cost(a, b)
  if a.cost ~= b.cost then
    return a.cost < b.cost
  end
  return a.i < b.i
end

local function shaken(search, i)
  for changes = 1, 8 do
    if search.costs[i] == nil then
      return i
    end
    i = search:mutate(i, 1 + changes // 4)
  end
  return search.costs[i] == nil and i or search:fresh() or i
end

local function hunt(search, wolf, pack, pull)
  local digits, rng = search:digits(wolf.i), search.random
  local leaders = { search:digits(pack[1].i), search:digits(pack[2].i), search:digits(pack[3].i) }
  for axis = 1, #digits do
    if rng:unit() < pull then
      digits[axis] = leaders[rng:below(3)][axis]
    end
  end
  return shaken(search, search:repair(digits))
end

local function start(search)
  local i = search:fresh() or search:any()
  return { i = i, cost = search:evaluate(i), idle = 0 }
end

return function(search, options)
  local pack, patience = {}, options.patience or 6
  for k = 1, math.max(3, options.pack or 8) do
    pack[k] = start(search)
  end
  while true do
    table.sort(pack, by_cost)
    local pull = 0.3 + 0.5 * math.min(1, search.measured / search.limit)
    for k, wolf in ipairs(pack) do
      local i = hunt(search, wolf, pack, pull)
      local cost = search:evaluate(i)
      wolf.idle = wolf.idle + 1
      if cost <= wolf.cost then
        wolf.i, wolf.cost, wolf.idle = i, cost, 0
      elseif wolf.idle > patience and k > 3 then
        pack[k] = start(search)
      end
    end
  end
end
