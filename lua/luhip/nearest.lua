--- The nearest known word to a misspelt one, for messages.
-- Dependencies: none.
-- @module luhip.nearest

local min = math.min

-- Edit distance (insert, delete, replace) without regard to case.
local function distance(a, b)
  a, b = a:lower(), b:lower()
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

--- Finds the candidate that a misspelt word most likely means.
-- @tparam string word what was written
-- @tparam {string,...} candidates what exists; the first of equally near ones wins
-- @treturn ?string the candidate, or nil when none is near enough to be worth naming: a third of the word or two of its
--   letters may differ, but not all of them
local function nearest(word, candidates)
  local best, best_distance
  for _, candidate in ipairs(candidates) do
    local d = distance(word, candidate)
    if not best or d < best_distance then
      best, best_distance = candidate, d
    end
  end
  local _, letters = word:gsub("%w", "")
  if best and best_distance <= math.max(2, #word // 3) and best_distance < letters then
    return best
  end
  return nil
end

return nearest
