--- How good a search is: the score P, and the expectation of random search that it is measured by.
--
-- P is the mean over 50 points k of (E[k] - F[k]) / (E[k] - best): F[k] is the best cost after k evaluations, E[k] the
-- exact expectation of the best of k random draws without replacement, failures counting as the worst cost. Random
-- search scores 0, knowing the best from the start 1. Dependencies: none.

local score = {}

local POINTS = 50

--- The expectation of the best of k draws without replacement, for k = 1 to n.
-- @tparam {number,...} costs `math.huge` for failures
-- @tparam integer n
-- @treturn table `expected` (by k), `best`, `worst`
function score.baseline(costs, n)
  local sorted, worst = {}, -math.huge
  for i, cost in ipairs(costs) do
    sorted[i] = cost
    worst = cost < math.huge and math.max(worst, cost) or worst
  end
  for i, cost in ipairs(sorted) do
    sorted[i] = math.min(cost, worst)
  end
  table.sort(sorted)
  local expected, count = {}, #sorted
  for k = 1, math.min(n, count) do
    -- chance that the i-th best is the best of those drawn
    local chance, sum = k / count, 0
    for i = 1, count - k + 1 do
      sum = sum + chance * sorted[i]
      chance = chance * (count - k - i + 1) / (count - i)
      if chance < 1e-15 then
        break
      end
    end
    expected[k] = sum
  end
  return { expected = expected, best = sorted[1], worst = worst }
end

--- The score of one search.
-- @tparam table baseline
-- @tparam {number,...} found the best cost after each evaluation; where it ends early, the last one holds on
-- @tparam integer n the budget
-- @treturn number P
-- @treturn number P at the end of the budget
function score.p(baseline, found, n)
  local sum, points, last = 0, 0, 0
  for point = 1, POINTS do
    local k = math.max(1, n * point // POINTS)
    local expected = baseline.expected[k]
    local room = expected and expected - baseline.best or 0
    if room > 1e-9 * math.abs(baseline.best) then
      last = (expected - math.min(found[k] or found[#found], baseline.worst)) / room
      sum, points = sum + last, points + 1
    end
  end
  return points > 0 and sum / points or 0, last
end

return score
