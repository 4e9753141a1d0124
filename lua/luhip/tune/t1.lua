--- Reading T1: the tuning problem files that Kernel Tuner, KTT and BAT share.
--
-- `ConfigurationSpace.TuningParameters` and its `Conditions` become a space. A parameter's `Values` are a list, or the
-- text of a Python list: [1, 2, 4], ['a', 'b'], [2**i for i in range(1, 9)], list(range(32, 257, 32)), and sums of
-- these. Nothing of it is run: the items are expressions of luhip.tune.expr.
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file, luhip.tune.{expr,space}.
-- @module luhip.tune.t1

local core = require "luhip.core"
local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"
local space = require "luhip.tune.space"
local whole_file = require "luhip.whole_file"

local t1 = {}

local CLOSING = { ["["] = "]", ["("] = ")", ["{"] = "}" }

-- ---- lists of Python ---------------------------------------------------------------------------------------------

local function trim(text)
  return text:match "^%s*(.-)%s*$"
end

-- Splits at a separator that is in no bracket and no quotes.
local function split(text, separator)
  local parts, stack, from, i = {}, {}, 1, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == "'" or c == '"' then
      i = text:find(c, i + 1, true) or #text
    elseif CLOSING[c] then
      stack[#stack + 1] = CLOSING[c]
    elseif c == stack[#stack] then
      stack[#stack] = nil
    elseif c == separator and #stack == 0 then
      parts[#parts + 1], from = trim(text:sub(from, i - 1)), i + 1
    end
    i = i + 1
  end
  parts[#parts + 1] = trim(text:sub(from))
  return parts
end

local function value_of(text, known, values)
  local value, undefined = expr.parse(text, known):eval(values)
  if value == nil then
    errors.raise("argument", "'%s' has no value%s", text, undefined and ", it divides by zero" or "")
  end
  return value
end

-- The numbers of "range(first, behind, step)" without the word.
local function range_of(text)
  local parts = split(text, ",")
  local numbers = {}
  for i, part in ipairs(parts) do
    numbers[i] = math.tointeger(value_of(part, {}, {}))
    if not numbers[i] then
      errors.raise("argument", "range: '%s' is no whole number", part)
    end
  end
  local first, behind, step = numbers[1], numbers[2], numbers[3] or 1
  if #parts == 1 then
    first, behind = 0, numbers[1]
  end
  if #parts > 3 or step == 0 then
    errors.raise("argument", "'range(%s)' is no range", text)
  end
  local list = {}
  for value = first, step > 0 and behind - 1 or behind + 1, step do
    list[#list + 1] = value
  end
  return list
end

local list_of

-- [item for name in list if condition], without the brackets; nil for another list.
local function comprehension(text)
  local item, name, source = text:match "^(.-)%s+for%s+([%a_][%w_]*)%s+in%s+(.+)$"
  if not item then
    return nil
  end
  local condition
  local before, after = source:match "^(.-)%s+if%s+(.+)$"
  if before then
    source, condition = before, after
  end
  local list = {}
  for _, value in ipairs(list_of(source)) do
    local values = { [name] = value }
    if not condition or expr.parse(condition, { name }):test(values) then
      list[#list + 1] = value_of(item, { name }, values)
    end
  end
  return list
end

local function term_of(text)
  local inside = text:match "^list%s*(%b())$"
  if inside then
    return list_of(inside:sub(2, -2))
  end
  inside = text:match "^range%s*(%b())$"
  if inside then
    return range_of(inside:sub(2, -2))
  end
  inside = text:match "^%[(.*)%]$" or text:match "^%((.*)%)$"
  if not inside then
    errors.raise("argument", "'%s' is no list", text)
  end
  local list = comprehension(trim(inside))
  if list then
    return list
  end
  list = {}
  for _, part in ipairs(split(inside, ",")) do
    if part ~= "" then -- behind a last comma
      list[#list + 1] = value_of(part, {}, {})
    end
  end
  return list
end

-- The text of a Python list as a list.
function list_of(text)
  local list = {}
  for _, term in ipairs(split(text, "+")) do
    for _, value in ipairs(term_of(term)) do
      list[#list + 1] = value
    end
  end
  return list
end

-- ---- the file ----------------------------------------------------------------------------------------------------

-- Values of files may be there twice; order is theirs.
local function distinct(list)
  local seen, result = {}, {}
  for _, value in ipairs(list) do
    if not seen[value] then
      seen[value], result[#result + 1] = true, value
    end
  end
  return result
end

local function parameter(entry, i)
  local name = type(entry) == "table" and entry.Name
  if type(name) ~= "string" then
    errors.raise("argument", "TuningParameters, entry %d: it has no Name", i)
  end
  local values = entry.Values
  if type(values) == "string" then
    local ok, list = pcall(list_of, values)
    if not ok then
      errors.raise("argument", "parameter '%s': Values: %s", name, errors.message(list) or tostring(list))
    end
    values = list
  elseif type(values) ~= "table" then
    errors.raise("argument", "parameter '%s': Values: a list or its text expected", name)
  end
  return { name, distinct(values) }
end

--- The space of a T1 problem.
-- @tparam table problem the decoded file
-- @treturn Space its parameters in the file's order
-- @raise kind "argument", naming the parameter or the condition
function t1.space(problem)
  local given = type(problem) == "table" and problem.ConfigurationSpace
  if type(given) ~= "table" or type(given.TuningParameters) ~= "table" then
    errors.raise("argument", "ConfigurationSpace.TuningParameters is missing")
  end
  local params, where = {}, {}
  for i, entry in ipairs(given.TuningParameters) do
    params[i] = parameter(entry, i)
  end
  for i, condition in ipairs(given.Conditions or {}) do
    where[i] = condition.Expression
    if type(where[i]) ~= "string" then
      errors.raise("argument", "Conditions, entry %d: it has no Expression", i)
    end
  end
  return space.new { params = params, where = where }
end

--- Loads a T1 problem: `tune.load_t1 "problem.json"`.
-- @tparam string path
-- @treturn Space
-- @treturn table the decoded file, with what else it holds (KernelSpecification, ...)
-- @raise kinds "file" and "argument", naming the file
function t1.load(path)
  if type(path) ~= "string" then
    errors.raise("type", "load_t1: a path expected, not a %s", type(path))
  end
  local text, why = whole_file.read(path)
  if not text then
    errors.raise("file", "cannot read %s", why)
  end
  local problem
  local ok, result = pcall(function()
    problem = core.json(text)
    return t1.space(problem)
  end)
  if ok then
    return result, problem
  elseif errors.kind(result) then
    errors.raise(errors.kind(result), "%s: %s", path, errors.message(result))
  end
  error(result, 0)
end

return t1
