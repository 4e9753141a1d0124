--- Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983): a walk over neighbours that goes uphill less and less.
--
-- Temperatures are in relative cost: at 0.1 a step to something ten per cent worse is taken with probability 1/e. They
-- fall geometrically from `hot` (0.1) to `cold` (0.005) over the budget, or over `steps` (200) and again where there is
-- none. A walk that is stuck, with every neighbour known, goes on from elsewhere. Dependencies: none.
-- @module luhip.tune.strategies.annealing

local function unknown_neighbour(search, here)
  for _, kind in ipairs { "hamming", "adjacent" } do
    for _, i in ipairs(search:neighbours(here, kind)) do
      if search.costs[i] == nil then
        return i
      end
    end
  end
  return nil
end

-- How much worse `new` is than `old`, relative to it.
local function worsening(new, old)
  if new == math.huge then
    return math.huge
  end
  return old == 0 and new or (new - old) / math.abs(old)
end

return function(search, options)
  local hot, cold, rng = options.hot or 0.1, options.cold or 0.005, search.random
  local steps = options.steps or (search.limit < search.count and search.limit or 200)
  local here = search:fresh()
  local cost, step = search:evaluate(here), 0
  while true do
    local temperature = hot * (cold / hot) ^ (step % steps / steps)
    local i = unknown_neighbour(search, here)
    if i then
      local new = search:evaluate(i)
      local worse = new <= cost and 0 or worsening(new, cost)
      if cost == math.huge or worse <= 0 or rng:unit() < math.exp(-worse / temperature) then
        here, cost = i, new
      end
    else
      here = search:fresh() or search:any()
      cost = search:evaluate(here)
    end
    step = step + 1
  end
end
