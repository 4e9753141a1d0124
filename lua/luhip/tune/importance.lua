--- How much each parameter matters, by what was measured.
--
-- The share of the variance of log(objective) that a parameter alone explains: the main effect of a functional analysis
-- of variance, as in Hutter, Hoos, Leyton-Brown: An efficient approach for assessing hyperparameter importance (ICML
-- 2014), of the measured configurations themselves and not of a model of them. The share is epsilon squared (Kelley: An
-- unbiased correlation ratio measure, PNAS 21, 1935), which takes off what as many groups explain by chance; it is not
-- let below 0. For two parameters it is what both together explain beyond their sum. A search that prefers good
-- configurations does not see the space evenly, so these are shares of what was measured.
-- Dependencies: none.
-- @module luhip.tune.importance

local importance = {}

local WORK = 4000000 -- rows times pairs: beyond that, every so many rows are looked at

-- Epsilon squared of groups: `key` gives the group of row i.
local function explained(values, step, key)
  local sums, counts, n, total, squares, groups = {}, {}, 0, 0, 0, 0
  for i = 1, #values, step do
    local k, v = key(i), values[i]
    if not counts[k] then
      counts[k], sums[k], groups = 0, 0, groups + 1
    end
    counts[k], sums[k] = counts[k] + 1, sums[k] + v
    n, total, squares = n + 1, total + v, squares + v * v
  end
  local all = squares - total * total / n
  if n <= groups or groups < 2 or all <= 1e-12 * squares then
    return 0
  end
  local between = -total * total / n
  for k, count in pairs(counts) do
    between = between + sums[k] * sums[k] / count
  end
  local noise = math.max(0, all - between) / (n - groups)
  return math.max(0, math.min(1, (between - (groups - 1) * noise) / all))
end

-- Logarithms where all values are positive, less their mean: sums of squares of what is left lose nothing.
local function centred(values)
  local list, log, mean = {}, true, 0
  for _, value in ipairs(values) do
    log = log and value > 0
  end
  for i, value in ipairs(values) do
    list[i] = log and math.log(value) or value
    mean = mean + list[i] / #values
  end
  for i = 1, #list do
    list[i] = list[i] - mean
  end
  return list
end

--- The shares of single parameters.
-- @tparam {number,...} values the objective of each row
-- @tparam {table,...} places by row: for each parameter which of its values, an integer from 1
-- @tparam integer count parameters
-- @treturn {number,...} by parameter, 0 to 1
function importance.single(values, places, count)
  local y, shares = centred(values), {}
  for p = 1, count do
    shares[p] = explained(y, 1, function(i)
      return places[i][p]
    end)
  end
  return shares
end

--- What pairs explain beyond the sum of their two.
-- @tparam {number,...} values as of `single`
-- @tparam {table,...} places
-- @tparam integer count
-- @treturn {table,...} { first, second, share } of all pairs with a share above 0, the largest first
function importance.pairs(values, places, count)
  local y, found = centred(values), {}
  local step = math.max(1, math.ceil(#values * count * (count - 1) / 2 / WORK))
  local alone = {}
  for p = 1, count do
    alone[p] = explained(y, step, function(i)
      return places[i][p]
    end)
  end
  for a = 1, count do
    for b = a + 1, count do
      local both = explained(y, step, function(i)
        return places[i][a] << 24 | places[i][b]
      end)
      local share = both - alone[a] - alone[b]
      found[#found + 1] = share > 0 and { a, b, share } or nil
    end
  end
  table.sort(found, function(one, other)
    return one[3] > other[3]
  end)
  return found
end

return importance
