--- The default: a Gaussian process whose candidates are given the benefit of the doubt, less and less of it.
--
-- The next configuration is the one with the lowest confidence bound (Srinivas, Krause, Kakade and Seeger, 2010); how
-- many deviations below the prediction counts falls from `caution` (4) to `caution_end` (1.5) over the budget; where
-- time is a part of that, over 200 configurations at most, as nobody knows how many there will be. Where the budget
-- covers the whole space, it is the order of the space that decides, as nothing is to be gained by any other. With
-- several objectives it is the pareto strategy. Option `first` (4): configurations drawn at random before the model
-- speaks. Dependencies: luhip.tune.explore, luhip.tune.strategies.{exhaustive,pareto}.
-- @module luhip.tune.strategies.auto

local exhaustive = require "luhip.tune.strategies.exhaustive"
local explore = require "luhip.tune.explore"
local pareto = require "luhip.tune.strategies.pareto"

local TIMED = 200

return function(search, options)
  if search.limit >= search.count and not search.timed then
    return exhaustive(search)
  elseif search.objectives > 1 then
    return pareto(search, options)
  end
  local from, to = options.caution or 4, options.caution_end or 1.5
  local span = search.timed and math.min(search.limit, TIMED) or search.limit
  return explore(search, options.first or 4, function()
    return from + (to - from) * math.min(1, search.measured / span)
  end)
end
