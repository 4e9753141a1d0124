--- A Latin hypercube: as many configurations as the budget has, spread over the space; then others at random.
-- Option `points`: how many, where the budget does not say. Dependencies: none.
-- @module luhip.tune.strategies.latin

return function(search, options)
  search:evaluate_all(search:spread(options.points or math.min(search.limit, 100)))
  search:exhaust()
end
