--- Every configuration, in the order of the space. No options. Dependencies: none.
-- @module luhip.tune.strategies.exhaustive

return function(search)
  for i = 1, search.count do
    if search.costs[i] == nil then
      search:evaluate(i)
    end
  end
end
