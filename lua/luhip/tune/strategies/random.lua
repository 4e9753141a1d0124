--- Configurations at random, none twice. No options. Dependencies: none.
-- @module luhip.tune.strategies.random

return function(search)
  for i in search.fresh, search do
    search:evaluate(i)
  end
end
