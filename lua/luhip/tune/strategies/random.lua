--- Configurations at random, none twice. No options. Dependencies: none.
-- @module luhip.tune.strategies.random

return function(search)
  search:exhaust()
end
