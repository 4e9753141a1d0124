--- What the Tab key completes at the prompt: globals, fields, methods, commands, and device ids in strings.
--
-- Only what is there is looked at: nothing is called, and a table's own __index only where it is a table. The fields of
-- luhip's objects are those that are documented.
-- Dependencies: luhip.core, luhip.docs.objects.
-- @module luhip.prompt.complete

local core = require "luhip.core"

local complete = {}

local KEYWORDS = {
  "and",
  "break",
  "do",
  "else",
  "elseif",
  "end",
  "false",
  "for",
  "function",
  "goto",
  "if",
  "in",
  "local",
  "nil",
  "not",
  "or",
  "repeat",
  "return",
  "then",
  "true",
  "until",
  "while",
}

-- ---- the names of a value ----------------------------------------------------------------------------------------

-- Adds the names among a table's keys, and of the tables that its __index leads to.
local function add_keys(names, t, deep)
  for _ = 1, 8 do
    if type(t) ~= "table" then
      return
    end
    for key in next, t do
      if type(key) == "string" and key:find "^[%a_][%w_]*$" then
        names[key] = true
      end
    end
    local meta = debug.getmetatable(t)
    if type(meta) ~= "table" then
      return
    end
    add_keys(names, rawget(meta, "parts"), false)
    t = deep and rawget(meta, "__index")
  end
end

local function class_of(value)
  local meta = debug.getmetatable(value)
  for class, its in pairs(core.metatables) do
    if meta == its then
      return class
    end
  end
end

local function fields_of(class)
  local fields = {}
  for _, described in ipairs(require("luhip.docs.objects").classes) do
    for _, field in ipairs(described.name == class and described.fields or {}) do
      fields[field[1]:match "^[%w_]+"] = true
    end
  end
  return fields
end

local function names_of(value, separator)
  local names = {}
  local class = type(value) == "userdata" and class_of(value)
  if class then
    add_keys(names, separator == ":" and core.methods[class] or fields_of(class), false)
  elseif type(value) == "string" then
    add_keys(names, string, false)
  else
    add_keys(names, value, true)
    if type(value) == "userdata" then
      local meta = debug.getmetatable(value)
      add_keys(names, type(meta) == "table" and rawget(meta, "__index"), true)
    end
  end
  return names
end

-- A field without calling anything of the user's: luhip's own objects, and the fields of tables.
local function field(value, key)
  for _ = 1, 8 do
    if type(value) == "userdata" and class_of(value) then
      local ok, found = pcall(function()
        return value[key]
      end)
      return ok and found or nil
    elseif type(value) ~= "table" then
      return nil
    end
    local found = rawget(value, key)
    if found ~= nil then
      return found
    end
    local meta = debug.getmetatable(value)
    if type(meta) == "table" and (rawget(meta, "parts") or rawget(meta, "lazy")) then -- luhip, and the prompt's globals
      return value[key]
    end
    value = type(meta) == "table" and rawget(meta, "__index") or nil
  end
end

-- ---- candidates --------------------------------------------------------------------------------------------------

local function sorted(names, prefix)
  local list = {}
  for name in pairs(names) do
    if name:sub(1, #prefix) == prefix then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

local function globals(prefix)
  local names = {}
  add_keys(names, _G, true)
  local meta = getmetatable(_G)
  if type(meta) == "table" and meta.lazy then
    names[meta.lazy] = true
  end
  for _, word in ipairs(KEYWORDS) do
    names[word] = true
  end
  return sorted(names, prefix)
end

-- Whether the text ends inside a string, and what is in it so far.
local function open_string(text)
  local quote, from
  local i = 1
  while i <= #text do
    local c = text:sub(i, i)
    if quote and c == "\\" then
      i = i + 1
    elseif quote then
      quote = c ~= quote and quote or nil
    elseif c == '"' or c == "'" then
      quote, from = c, i + 1
    elseif text:find("^%-%-", i) then
      return nil
    end
    i = i + 1
  end
  return quote and text:sub(from)
end

local function strings(prefix)
  local names = {}
  for _, device in ipairs(require("luhip").devices()) do
    names[device.id] = true
  end
  for _, dtype in ipairs(core.dtypes) do
    names[dtype] = true
  end
  return sorted(names, prefix)
end

--- The words that the last word of a text may become.
-- @tparam string text of the line, to the cursor
-- @tparam {string,...} commands the prompt's, without their colon
-- @treturn {string,...} candidates, sorted
-- @treturn string the last word, which all of them begin with
function complete.candidates(text, commands)
  local command = text:match "^%s*:(%a*)$"
  if command then
    local names = {}
    for _, name in ipairs(commands) do
      names[name] = true
    end
    return sorted(names, command), command
  end
  text = text:gsub("^%s*:%a+%s", "")
  local inside = open_string(text)
  if inside then
    return strings(inside), inside
  end
  local path, separator, word = text:match "([%a_][%w_.]*)([.:])([%w_]*)$"
  if not path then
    word = text:match "[%w_]*$"
    local number = word:find "^%d" or (word == "" and text:find "[^%s]")
    return number and {} or globals(word), word
  end
  local value
  for key in path:gmatch "[^.]+" do
    value = field(value == nil and _G or value, key)
    if value == nil then
      return {}, word
    end
  end
  return sorted(names_of(value, separator), word), word
end

local function common_prefix(words)
  local prefix = words[1]
  for _, word in ipairs(words) do
    while word:sub(1, #prefix) ~= prefix do
      prefix = prefix:sub(1, -2)
    end
  end
  return prefix
end

-- Words in columns of a width that a narrow terminal has too.
local function columns(words)
  local widest = 1
  for _, word in ipairs(words) do
    widest = math.max(widest, #word + 2)
  end
  local of_line, lines = math.max(1, 76 // widest), {}
  for i = 1, #words, of_line do
    local line = table.concat(words, "\0", i, math.min(i + of_line - 1, #words))
    local padded = line:gsub("%Z+", function(one)
      return one .. (" "):rep(widest - #one)
    end)
    lines[#lines + 1] = padded:gsub("%z", ""):gsub(" +$", "")
  end
  return table.concat(lines, "\n")
end

--- What an editor does at the Tab key.
-- @tparam string text of the line, to the cursor
-- @tparam {string,...} commands the prompt's
-- @treturn ?string what to insert
-- @treturn ?string what to show below the line
function complete.tab(text, commands)
  if not text:find "%S" then
    return "  "
  end
  local words, word = complete.candidates(text, commands)
  if #words == 0 then
    return nil
  end
  local insert = common_prefix(words):sub(#word + 1)
  if insert ~= "" or #words == 1 then
    return insert
  end
  return nil, columns(words)
end

return complete
