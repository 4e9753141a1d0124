--- The source line of an error, with a caret below the place.
--
-- Lua's messages have a line and no column, so the column is found again: for what does not parse, the first of the
-- tokens named at which the text so far cannot be continued; for what failed, the name that the message gives.
-- Dependencies: none.
-- @module luhip.prompt.caret

local WIDTH = 76 -- of the part that is shown

-- Whether the text cannot become a chunk, whatever follows.
local function hopeless(text)
  local function fails(prefix)
    local chunk, why = load(prefix .. text, "=", "t")
    return not chunk and not why:find "<eof>$"
  end
  return fails "" and fails "return "
end

-- `before`: the chunk's lines above this one.
local function parse_column(line, token, before)
  if token == "<eof>" then
    return #line + 1
  end
  token = token:match "^'(.*)'$" or token
  local from = 1
  while true do
    local first, last = line:find(token, from, true)
    if not first then
      return nil
    elseif hopeless(before .. line:sub(1, last)) then
      return first
    end
    from = first + 1
  end
end

local function name_column(line, name)
  local from = 1
  while true do
    local first, last = line:find(name, from, true)
    if not first then
      return nil
    elseif not line:sub(first - 1, first - 1):find "[%w_]" and not line:sub(last + 1, last + 1):find "[%w_]" then
      return first
    end
    from = first + 1
  end
end

local function find_column(message, line, before)
  local token = message:match "near ('.*')$" or message:match "near (<eof>)$"
  if token then
    return parse_column(line, token, before)
  end
  local name = message:match "%(%a+ '([%w_]+)'%)"
    or message:match "to '[%w_.:]-([%w_]+)'"
    or message:match "no field or method '([%w_]+)'"
  return name and name_column(line, name)
end

-- At most WIDTH characters around the column, and the column in them.
local function cut(line, column)
  line = line:gsub("[%c]", " ")
  if #line <= WIDTH then
    return line, column
  end
  local first = math.max(1, math.min(column - WIDTH // 2, #line - WIDTH + 1))
  return line:sub(first, first + WIDTH - 1), column - first + 1
end

--- The line that a message is about, and a caret.
-- @tparam string text of the error: "stdin:3: ..."
-- @tparam {string,...} lines all that were read
-- @tparam integer first of the lines of the chunk that was read last
-- @treturn ?string two lines; nil where the message names none of these lines
local function caret(text, lines, first)
  local number, message = text:match "^stdin:(%d+): ([^\n]*)"
  number = math.tointeger(tonumber(number))
  local line = number and lines[number]
  if not line then
    return nil
  end
  local before = number > first and table.concat(lines, "\n", first, number - 1) .. "\n" or ""
  local column = find_column(message, line, before) or line:find "%S" or 1
  local shown, at = cut(line, column)
  local above = shown:sub(1, at - 1)
  return ("  %s\n  %s^"):format(shown, (" "):rep(utf8.len(above) or #above))
end

return caret
