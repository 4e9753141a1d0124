--- Iterated local search (Lourenco, Martin and Stuetzle, 2003): downhill to a local minimum, a kick, downhill again.
--
-- Neighbours are tried in random order and the first better one is taken. A new minimum is kept when it is not worse by
-- more than `accept` (0.02, relative). Option `kick` (2): how many digits are drawn anew. Dependencies: none.
-- @module luhip.tune.strategies.local

local function descend(search, here, cost)
  local moved = true
  while moved do
    moved = false
    for _, i in ipairs(search:neighbours(here)) do
      local new = search.costs[i] or search:evaluate(i)
      if new < cost then
        here, cost, moved = i, new, true
        break
      end
    end
  end
  return here, cost
end

return function(search, options)
  local kick, accept = options.kick or 2, options.accept or 0.02
  local start = search:fresh()
  local here, cost = descend(search, start, search:evaluate(start))
  while true do
    local i = search:mutate(here, kick)
    if search.costs[i] ~= nil then
      i = search:fresh() or i
    end
    local new
    i, new = descend(search, i, (search:evaluate(i)))
    if new <= cost + accept * math.abs(cost) or cost == math.huge then
      here, cost = i, new
    end
  end
end
