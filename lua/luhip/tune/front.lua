--- Pareto fronts: what no other beats in every objective. Costs are lower-is-better vectors.
-- Dependencies: none.
-- @module luhip.tune.front

local front = {}

--- Whether one vector is at least as good everywhere and better somewhere.
-- @tparam {number,...} a
-- @tparam {number,...} b
-- @treturn boolean
function front.dominates(a, b)
  local better = false
  for k = 1, #a do
    if a[k] > b[k] then
      return false
    end
    better = better or a[k] < b[k]
  end
  return better
end

--- The members that no other dominates, in order; of equal ones the first.
-- @tparam {table,...} members each with a `vector`
-- @treturn {table,...}
function front.first(members)
  local list = {}
  for k, m in ipairs(members) do
    local beaten = false
    for other, o in ipairs(members) do
      local same = other < k and not front.dominates(m.vector, o.vector)
      for axis = 1, #m.vector do
        same = same and o.vector[axis] == m.vector[axis]
      end
      if same or front.dominates(o.vector, m.vector) then
        beaten = true
        break
      end
    end
    if not beaten then
      list[#list + 1] = m
    end
  end
  return list
end

-- Distance to the neighbours of the same rank, summed over objectives, each relative to its range.
local function crowd(members)
  for _, m in ipairs(members) do
    m.crowding = 0
  end
  for axis = 1, #members[1].vector do
    table.sort(members, function(a, b)
      if a.vector[axis] ~= b.vector[axis] then
        return a.vector[axis] < b.vector[axis]
      end
      return a.i < b.i
    end)
    local low, high = members[1], members[#members]
    local range = high.vector[axis] - low.vector[axis]
    low.crowding, high.crowding = math.huge, math.huge
    if range > 0 and range < math.huge then
      for k = 2, #members - 1 do
        local gap = members[k + 1].vector[axis] - members[k - 1].vector[axis]
        members[k].crowding = members[k].crowding + gap / range
      end
    end
  end
end

--- Ranks members: `rank` 1 is the front, 2 the front without that, and so on; `crowding` is larger where it is emptier.
-- @tparam {table,...} members each with a `vector` and an `i` that tells it from others
function front.rank(members)
  local left, rank = table.move(members, 1, #members, 1, {}), 0
  while #left > 0 do
    local first, rest = {}, {}
    rank = rank + 1
    for _, m in ipairs(left) do
      local beaten = false
      for _, o in ipairs(left) do
        beaten = beaten or front.dominates(o.vector, m.vector)
      end
      table.insert(beaten and rest or first, m)
    end
    for _, m in ipairs(first) do
      m.rank = rank
    end
    crowd(first)
    left = rest
  end
end

return front
