--- Search guided by a model of what was measured; the model and its candidates are C (src/tune/explorer.h).
-- Where several devices share a run, as many are asked for at once: the best by what is known so far.
-- Dependencies: luhip.core.
-- @module luhip.tune.explore

local core = require "luhip.core"

--- Runs the search to the end of the budget.
-- @tparam Search search
-- @tparam integer first how many configurations are drawn at random before the model speaks
-- @tparam function caution gives how many deviations an uncertain candidate is given; nil: expected improvement decides
return function(search, first, caution)
  local explorer <close> = core.explorer(search.space._engine, search.seed, first)
  local known = {}
  for i in pairs(search.costs) do
    known[#known + 1] = i
  end
  table.sort(known)
  for _, i in ipairs(known) do
    explorer:tell(i, search.costs[i])
  end
  -- Draws depend on no cost: all at once, so that they can be compiled and measured side by side.
  local drawn = {}
  while #drawn < first - #known do
    local i = explorer:next(caution())
    if not i then
      break
    end
    drawn[#drawn + 1] = i
  end
  if #drawn > 0 then
    for k, cost in ipairs((search:evaluate_all(drawn))) do
      explorer:tell(drawn[k], cost)
    end
  end
  while search.width > 1 do
    local list = {}
    for k = 1, search.width do
      list[k] = explorer:next(caution())
    end
    if #list == 0 then
      return
    end
    for k, cost in ipairs((search:evaluate_all(list))) do
      explorer:tell(list[k], cost)
    end
  end
  for i in
    function()
      return explorer:next(caution())
    end
  do
    explorer:tell(i, (search:evaluate(i)))
  end
end
