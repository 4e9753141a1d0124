--- Several objectives at once: NSGA-II (Deb, Pratap, Agarwal and Meyarivan, 2002).
--
-- Parents are chosen by rank of non-domination, then by how empty their surroundings are; parents and children together
-- are cut back to the population in the same order. Options: `population` (24), `mutation` (0.3).
-- Dependencies: luhip.tune.front.
-- @module luhip.tune.strategies.pareto

local front = require "luhip.tune.front"

local function member(search, i)
  return { i = i, vector = search.vectors[i] or { search.costs[i] } }
end

local function better(a, b)
  if a.rank ~= b.rank then
    return a.rank < b.rank
  elseif a.crowding ~= b.crowding then
    return a.crowding > b.crowding
  end
  return a.i < b.i
end

local function select(search, members)
  local a, b = search.random:pick(members), search.random:pick(members)
  return better(a, b) and a.i or b.i
end

local function children(search, members, n, mutation)
  local list = {}
  for k = 1, n do
    local i = search:cross(select(search, members), select(search, members))
    if search.costs[i] ~= nil or search.random:unit() < mutation then
      i = search:mutate(i)
    end
    list[k] = i
  end
  return list
end

-- The best of these, none twice, ranked.
local function survive(search, list, size)
  local members, there = {}, {}
  for _, i in ipairs(list) do
    if not there[i] then
      there[i], members[#members + 1] = true, member(search, i)
    end
  end
  front.rank(members)
  table.sort(members, better)
  for k = #members, size + 1, -1 do
    members[k] = nil
  end
  return members
end

return function(search, options)
  local size = options.population or 24
  local list = search:spread(size)
  search:evaluate_all(list)
  while true do
    local members = survive(search, list, size)
    local new = children(search, members, size, options.mutation or 0.3)
    search:evaluate_all(new)
    list = new
    for _, m in ipairs(members) do
      list[#list + 1] = m.i
    end
  end
end
