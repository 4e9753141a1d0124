--- What a strategy sees: the space by positions, what was measured, and a source of randomness.
--
-- A strategy is a function of a search, run as a coroutine. It yields what to measure next, a position of the space, a
-- configuration, or a list of either, and is resumed with what that cost: a number, lower is better, `math.huge` for
-- what failed (a list for a list), and the row or rows. It goes on until it is not resumed any more, or returns to end
-- the run.
--
--    local function climb(search)
--      local here = search:any()
--      local cost = search:evaluate(here) -- coroutine.yield(here), said shorter
--      while true do
--        for _, near in ipairs(search:neighbours(here)) do
--          local other = search:evaluate(near)
--          if other < cost then here, cost = near, other end
--        end
--        here = search:fresh() or search:any()
--        cost = search:evaluate(here)
--      end
--    end
--
-- Whatever was measured before costs nothing to ask for again. The budget is the evaluator's business.
-- Dependencies: luhip.tune.random.
-- @module luhip.tune.search

local random = require "luhip.tune.random"

local search = {}

local Search = {}
Search.__index = Search

local yield = coroutine.yield

--- Makes a search.
-- @tparam Space space
-- @tparam integer seed
-- @tparam table budget `configs` and `seconds`, either may be nil
-- @treturn Search `space`, `count`, `sizes` (values per parameter), `open` (the parameters with
--   more than one), `seed`, `random`, `limit` (how many configurations
--   may be measured, at most `count`), `timed` (whether time ends the run, too), `costs` and `vectors` (by position, of
--   what was measured), `order` (which one it was, by position), `measured` (how many), `objectives` (how many),
--   `width` (how many can
--   be measured at the same time), `best`
--   and `best_cost` (nil before anything worked)
function search.new(space, seed, budget)
  local sizes, open = {}, {}
  for i, param in ipairs(space.params) do
    sizes[i] = #param.values
    open[#open + 1] = sizes[i] > 1 and i or nil
  end
  return setmetatable({
    space = space,
    count = space.count,
    sizes = sizes,
    open = #open > 0 and open or { 1 },
    seed = seed,
    random = random.new(seed),
    limit = math.min(budget.configs or space.count, space.count),
    timed = budget.seconds ~= nil,
    costs = {},
    vectors = {},
    order = {},
    measured = 0,
    objectives = 1,
    width = 1,
  }, Search)
end

--- Notes what a configuration cost. For the evaluator.
-- @tparam integer i its position
-- @tparam number cost
-- @tparam ?{number,...} vector costs by objective, where there are several
function Search:note(i, cost, vector)
  if self.costs[i] == nil then
    self.measured = self.measured + 1
    self.order[i] = self.measured
  end
  self.costs[i], self.vectors[i] = cost, vector
  if cost < (self.best_cost or math.huge) then
    self.best, self.best_cost = i, cost
  end
end

--- Measures a configuration: yields it.
-- @tparam integer i position
-- @treturn number cost
-- @treturn table row
function Search.evaluate(_, i)
  return yield(i)
end

--- Measures several, which may be compiled side by side.
-- @tparam {integer,...} list positions
-- @treturn {number,...} costs
-- @treturn {table,...} rows
function Search.evaluate_all(_, list)
  return yield(list)
end

-- ---- configurations --------------------------------------------------------------------------------------------

--- Where each value of a configuration stands among its parameter's.
-- @tparam integer i position
-- @treturn {integer,...} digits
function Search:digits(i)
  return self.space:digits(i)
end

--- The position of a configuration by its digits.
-- @tparam {integer,...} digits
-- @treturn ?integer nil when it is not in the space
function Search:find(digits)
  return self.space:index_digits(digits)
end

--- Any configuration.
-- @treturn integer
function Search:any()
  return self.random:below(self.count)
end

local TRIES = 16
local MANY = 32 -- asked for at once

--- Any configuration that was not measured.
-- @tparam[opt] table pending positions that count as measured, as keys
-- @tparam[opt=0] integer count how many these are
-- @treturn ?integer nil when all were
function Search:fresh(pending, count)
  if self.measured + (count or 0) >= self.count then
    return nil
  end
  local function is_free(i)
    return self.costs[i] == nil and not (pending and pending[i])
  end
  local i
  for _ = 1, TRIES do
    i = self:any()
    if is_free(i) then
      return i
    end
  end
  repeat
    i = i % self.count + 1
  until is_free(i)
  return i
end

--- Measures everything that was not measured, in random order, several at once, to the end of the budget.
function Search:exhaust()
  repeat
    local list, pending = {}, {}
    for k = 1, MANY do
      local i = self:fresh(pending, k - 1)
      if not i then
        break
      end
      list[k], pending[i] = i, true
    end
    if #list > 0 then
      self:evaluate_all(list)
    end
  until #list == 0
end

--- A valid configuration near digits that may be none: more and more digits are drawn anew.
-- @tparam {integer,...} digits unchanged
-- @treturn integer position
function Search:repair(digits)
  local i = self:find(digits)
  local n, rng = #self.sizes, self.random
  for try = 1, 4 * TRIES do
    if i then
      return i
    end
    local other = table.move(digits, 1, n, 1, {})
    for _ = 1, 1 + try // TRIES do
      local axis = rng:pick(self.open)
      other[axis] = rng:below(self.sizes[axis])
    end
    i = self:find(other)
  end
  return i or self:any()
end

--- A configuration with some digits of another drawn anew.
-- @tparam integer i position
-- @tparam[opt=1] integer changes how many digits
-- @treturn integer position
function Search:mutate(i, changes)
  local digits, rng = self:digits(i), self.random
  for _ = 1, changes or 1 do
    local axis = rng:pick(self.open)
    digits[axis] = rng:below(self.sizes[axis])
  end
  return self:repair(digits)
end

--- A configuration with each digit from one of two.
-- @tparam integer a position
-- @tparam integer b position
-- @tparam[opt=0.5] number share of a's digits
-- @treturn integer position
function Search:cross(a, b, share)
  local digits, other, rng = self:digits(a), self:digits(b), self.random
  for axis = 1, #digits do
    if rng:unit() >= (share or 0.5) then
      digits[axis] = other[axis]
    end
  end
  return self:repair(digits)
end

--- The configuration at a point of the digits' space: rounded, kept within bounds, made valid.
-- @tparam {number,...} point
-- @treturn integer position
function Search:at(point)
  local digits = {}
  for axis, size in ipairs(self.sizes) do
    digits[axis] = math.max(1, math.min(size, math.floor(point[axis] + 0.5)))
  end
  return self:repair(digits)
end

--- Neighbours in random order.
-- @tparam integer i position
-- @tparam[opt="hamming"] string kind as of space:neighbours
-- @treturn {integer,...} positions
function Search:neighbours(i, kind)
  return self.random:shuffle(self.space:neighbours(i, kind))
end

--- Configurations spread over the space: a Latin hypercube (McKay, Beckman and Conover, 1979), each parameter's values
-- used equally often as far as constraints allow.
-- @tparam integer n how many
-- @treturn {integer,...} positions, none twice; fewer when the space is small
function Search:spread(n)
  local rng, columns = self.random, {}
  n = math.min(n, self.count)
  for axis, size in ipairs(self.sizes) do
    local column = {}
    for k = 1, n do
      column[k] = math.floor((k - rng:unit()) / n * size) + 1
    end
    columns[axis] = rng:shuffle(column)
  end
  local list, there = {}, {}
  for k = 1, n do
    local digits = {}
    for axis = 1, #columns do
      digits[axis] = columns[axis][k]
    end
    local i = self:repair(digits)
    if not there[i] then
      there[i], list[#list + 1] = true, i
    end
  end
  return list
end

return search
