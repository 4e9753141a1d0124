--- Values as the prompt prints them.
--
-- A string is printed as it is, a table as a constructor cut to a readable size, anything else by tostring, which
-- gives a summary of buffers, kernels, graphs and results.
-- Dependencies: none.
-- @module luhip.prompt.show

local MAX_ITEMS, MAX_DEPTH = 20, 3
local show

local function show_key(key, depth, seen)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then
    return key
  end
  return "[" .. show(key, depth, seen) .. "]"
end

-- The keys after the list part, in an order that is always the same: numbers, strings, then others by their text.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b)
    local ta, tb = type(a), type(b)
    if ta ~= tb then
      return ta < tb
    elseif ta == "number" or ta == "string" then
      return a < b
    end
    return tostring(a) < tostring(b)
  end)
  return keys
end

local function show_table(t, depth, seen)
  if seen[t] or depth > MAX_DEPTH then
    return "{...}"
  end
  seen[t] = true
  local parts, n = {}, rawlen(t)
  for i = 1, math.min(n, MAX_ITEMS) do
    parts[#parts + 1] = show(rawget(t, i), depth + 1, seen)
  end
  if n > MAX_ITEMS then
    parts[#parts + 1] = ("... %d more"):format(n - MAX_ITEMS)
  end
  local keys = other_keys(t, n)
  for i = 1, math.min(#keys, MAX_ITEMS) do
    parts[#parts + 1] = show_key(keys[i], depth + 1, seen) .. " = " .. show(rawget(t, keys[i]), depth + 1, seen)
  end
  if #keys > MAX_ITEMS then
    parts[#parts + 1] = ("... %d more keys"):format(#keys - MAX_ITEMS)
  end
  seen[t] = nil
  return #parts > 0 and "{ " .. table.concat(parts, ", ") .. " }" or "{}"
end

function show(value, depth, seen)
  if type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n")
  end
  local meta = debug.getmetatable(value)
  if type(value) ~= "table" or (type(meta) == "table" and rawget(meta, "__tostring")) then
    return tostring(value)
  end
  return show_table(value, depth, seen)
end

--- A value as the prompt prints it.
-- @param value anything
-- @treturn string
local function describe(value)
  if type(value) == "string" then
    return value
  end
  return (show(value, 1, {}))
end

return describe
