--- The documentation of Lua modules, read from their own comments (LDoc's marks: @tparam, @treturn, @raise).
-- Dependencies: none.
-- @module luhip.docs.comments

local comments = {}

-- "[opt=3] integer n how many": what follows @tparam; @param has no type.
local function parse_parameter(text, typed)
  local optional, rest = text:match "^%[([^%]]*)%]%s*(.*)$"
  rest = rest or text
  local kind
  if typed then
    local group = rest:match "^%b{}" or rest:match "^%S+"
    kind, rest = group, rest:sub(#group + 1):match "^%s*(.*)$"
  end
  local name, said = rest:match "^(%S+)%s*(.*)$"
  return {
    name = name or rest,
    type = kind or "any",
    optional = optional ~= nil,
    default = optional and optional:match "^opt=(.*)$",
    text = said or "",
  }
end

local function parse_return(text, typed)
  text = text:gsub("^%[[^%]]*%]%s*", "")
  if not typed then
    return { type = "any", text = text }
  end
  local kind = text:match "^%b{}" or text:match "^%S+" or "any"
  return { type = kind, text = text:sub(#kind + 1):match "^%s*(.*)$" }
end

local MARKS = {
  param = function(entry, text)
    table.insert(entry.params, parse_parameter(text, false))
  end,
  tparam = function(entry, text)
    table.insert(entry.params, parse_parameter(text, true))
  end,
  ["return"] = function(entry, text)
    table.insert(entry.returns, parse_return(text, false))
  end,
  treturn = function(entry, text)
    table.insert(entry.returns, parse_return(text, true))
  end,
  raise = function(entry, text)
    entry.raises = text
  end,
  ["function"] = function(entry, text)
    entry.name = text
  end,
  module = function(entry, text)
    entry.module = text
  end,
}

-- A block of comment lines as an entry: the text before the first mark, and the marks, which may go on over lines.
local function parse_block(lines)
  local entry, text, mark, value = { params = {}, returns = {} }, {}, nil, nil
  local function finish()
    if mark and MARKS[mark] then
      MARKS[mark](entry, value)
    end
    mark = nil
  end
  for _, line in ipairs(lines) do
    local next_mark, rest = line:match "^@(%w+)%s*(.*)$"
    if not next_mark then
      next_mark, rest = line:match "^@(%w+)(%b[].*)$"
    end
    if next_mark then
      finish()
      mark, value = next_mark, rest
    elseif mark then
      value = value .. " " .. line:match "^%s*(.*)$"
    else
      text[#text + 1] = line
    end
  end
  finish()
  entry.text = table.concat(text, "\n"):match "^%s*(.-)%s*$"
  return entry
end

-- `...` that nobody is told of is there to be refused (luhip.errors.check_no_more).
local function without_more(entry, arguments)
  for _, parameter in ipairs(entry.params) do
    if parameter.name == "..." then
      return arguments
    end
  end
  return arguments and (arguments:gsub(",?%s*%.%.%.%)$", ")"))
end

local function name_of(entry, line)
  local name, arguments = line:match "^function%s+([%w_.:]+)%s*(%b())"
  if not name then
    name = line:match "^([%w_.]+)%s*="
  end
  if not name then
    name, arguments = line:match "^local function%s+([%w_]+)%s*(%b())"
    entry.is_local = name ~= nil
  end
  entry.name = entry.name or name
  entry.arguments = without_more(entry, arguments)
  return entry
end

--- Reads a module's text.
-- @tparam string source
-- @treturn table { module =, text =, functions = { { name =, text =, params =, returns =, raises = }, ... } }
function comments.parse(source)
  local about = { functions = {} }
  local block, first
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    local begun = line:match "^%-%-%-%s?(.*)$"
    local more = block and line:match "^%-%-%s?(.*)$"
    if begun and not (block and line:match "^%-%-%-%-") then
      block = block or {}
      block[#block + 1] = begun
    elseif more then
      block[#block + 1] = more
    elseif block then
      local entry = name_of(parse_block(block), line)
      block = nil
      if not first then
        first, about.module, about.text = true, entry.module, entry.text
      elseif entry.name then
        table.insert(about.functions, entry)
      end
    end
  end
  return about
end

return comments
