--- Bayesian optimisation: a Gaussian process, and the candidate with the highest expected improvement (Mockus, 1978;
-- Jones, Schonlau and Welch, 1998).
--
-- Option `first` (8): how many configurations are drawn at random before the model speaks. The model and the pool of
-- candidates are C: see src/tune/explorer.h. Dependencies: luhip.tune.explore.
-- @module luhip.tune.strategies.bayesian

local explore = require "luhip.tune.explore"

return function(search, options)
  explore(search, options.first or 8, function()
    return nil
  end)
end
