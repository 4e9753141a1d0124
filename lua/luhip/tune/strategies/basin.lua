--- Basin hopping (Wales and Doye, 1997): hops between local minima, accepted like steps of annealing.
--
-- Minima are of strictly adjacent neighbours, so the way down is short. Options: `temperature` (0.05, in relative
-- cost), `hop` (3: digits drawn anew). Dependencies: none.
-- @module luhip.tune.strategies.basin

local function descend(search, here, cost)
  while true do
    local best, least = nil, cost
    for _, i in ipairs(search:neighbours(here, "strictly-adjacent")) do
      local new = search.costs[i] or search:evaluate(i)
      if new < least then
        best, least = i, new
      end
    end
    if not best then
      return here, cost
    end
    here, cost = best, least
  end
end

local function accepts(search, new, old, temperature)
  if new <= old or old == math.huge then
    return true
  end
  local worse = old == 0 and new or (new - old) / math.abs(old)
  return search.random:unit() < math.exp(-worse / temperature)
end

return function(search, options)
  local temperature, hop = options.temperature or 0.05, options.hop or 3
  local start = search:fresh()
  local here, cost = descend(search, start, (search:evaluate(start)))
  while true do
    local i = search:mutate(here, hop)
    if search.costs[i] ~= nil then
      i = search:fresh() or i
    end
    local there, new = descend(search, i, (search:evaluate(i)))
    if accepts(search, new, cost, temperature) then
      here, cost = there, new
    end
  end
end
