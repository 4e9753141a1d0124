--- Every configuration, in the order of the space. No options. Dependencies: none.
-- @module luhip.tune.strategies.exhaustive

local MANY = 256 -- asked for at once: compilers run ahead, and devices share them

return function(search)
  local list = {}
  for i = 1, search.count do
    list[#list + 1] = search.costs[i] == nil and i or nil
    if #list == MANY or (i == search.count and #list > 0) then
      search:evaluate_all(list)
      list = {}
    end
  end
end
