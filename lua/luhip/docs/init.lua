--- What luhip's own documentation says: for the prompt, and for the scripts that make the reference of it.
-- Dependencies: luhip.docs.objects, luhip.docs.comments.
-- @module luhip.docs

local comments = require "luhip.docs.comments"
local objects = require "luhip.docs.objects"

local docs = {}

--- Modules whose functions users call, in the order of the reference.
docs.modules = {
  "luhip",
  "luhip.struct",
  "luhip.generate.elementwise",
  "luhip.generate.reduce",
  "luhip.generate.scan",
  "luhip.generate.random",
  "luhip.files",
  "luhip.npy",
  "luhip.picture",
  "luhip.png",
  "luhip.async",
  "luhip.async.luv",
  "luhip.async.cqueues",
  "luhip.timing",
  "luhip.profile",
  "luhip.memory",
  "luhip.config",
  "luhip.tune",
}

local parsed = {}

--- Whether a documented function of a module is one that users call: not a local one, but for the function that the
--- module itself is.
function docs.is_public(module, entry)
  return not entry.is_local or entry.name == module:match "[%w_]+$"
end

--- A module's documentation.
-- @tparam string name "luhip.npy"
-- @treturn ?table as luhip.docs.comments gives it; nil when there is no such module
function docs.module(name)
  if parsed[name] == nil then
    local path = package.searchpath(name, package.path)
    local file = path and io.open(path)
    parsed[name] = file and comments.parse(file:read "a") or false
    if file then
      file:close()
    end
  end
  return parsed[name] or nil
end

-- Cuts a text at its commas, but for those within brackets.
local function split(text)
  local pieces, depth, piece = {}, 0, ""
  for c in (text .. ","):gmatch "." do
    if c == "," and depth == 0 then
      if piece:match "%S" then
        pieces[#pieces + 1] = piece:match "^%s*(.-)%s*$"
      end
      piece = ""
    else
      depth = depth + (c:match "[%({%[]" and 1 or c:match "[%)}%]]" and -1 or 0)
      piece = piece .. c
    end
  end
  return pieces
end

--- Splits "name(a: integer, b?: string): luhip.buffer" into its parts.
-- @tparam string signature
-- @treturn table { name =, params = { { name =, type =, optional = } }, returns = { "luhip.buffer" } }
function docs.signature(signature)
  local name, rest = signature:match "^([%w_]+)(.*)$"
  local list = rest:match "^%b()"
  local result = { name = name, params = {}, returns = split(rest:sub(#list + 1):match "^:%s*(.*)$" or "") }
  for _, piece in ipairs(split(list:sub(2, -2))) do
    local parameter, optional, kind = piece:match "^([%w_.]+)(%??):%s*(.*)$"
    if parameter then
      table.insert(result.params, { name = parameter, optional = optional == "?", type = kind })
    end
  end
  return result
end

local function describe_method(class, method)
  local text = ("%s:%s\n  %s"):format(class.name, method[1], method[2])
  return method.raises and ("%s\n  Raises: %s."):format(text, method.raises) or text
end

local function describe_class(class)
  local lines = { ("luhip.%s: %s"):format(class.name, class.text) }
  for _, method in ipairs(class.methods) do
    lines[#lines + 1] = ("  :%s"):format(method[1])
  end
  for _, field in ipairs(class.fields) do
    lines[#lines + 1] = ("  .%s    %s"):format(field[1], field[2])
  end
  return table.concat(lines, "\n")
end

local function describe_function(entry)
  local lines = { ("%s%s"):format(entry.name, entry.arguments or ""), "  " .. entry.text:gsub("\n", "\n  ") }
  for _, parameter in ipairs(entry.params) do
    lines[#lines + 1] = ("  %s (%s%s) %s"):format(
      parameter.name,
      parameter.type,
      parameter.optional and ", optional" or "",
      parameter.text
    )
  end
  for _, result in ipairs(entry.returns) do
    lines[#lines + 1] = ("  gives %s %s"):format(result.type, result.text)
  end
  return table.concat(lines, "\n")
end

-- "read" and "buffer:read" and "luhip.buffer.read" name the same.
local function find_object(word, found)
  local class_name, member = word:match "^([%w_]+)[.:]([%w_]+)$"
  for _, class in ipairs(objects.classes) do
    if word == class.name then
      table.insert(found, describe_class(class))
    end
    for _, method in ipairs(class.methods) do
      local name = method[1]:match "^[%w_]+"
      if name == word or (class.name == class_name and name == member) then
        table.insert(found, describe_method(class, method))
      end
    end
    for _, field in ipairs(class.fields) do
      local name = field[1]:match "^[%w_]+"
      if class.name == class_name and name == member then
        table.insert(found, ("%s.%s\n  %s"):format(class.name, field[1], field[2]))
      end
    end
  end
end

local function find_function(word, found)
  for _, name in ipairs(docs.modules) do
    local about = docs.module(name)
    if about and (name == word or name == "luhip." .. word) then
      table.insert(found, ("%s\n%s"):format(name, about.text))
    end
    for _, entry in ipairs(about and about.functions or {}) do
      local short = entry.name:match "[%w_]+$"
      if
        docs.is_public(name, entry)
        and (entry.name == word or "luhip." .. word == entry.name or "luhip." .. entry.name == word or short == word)
      then
        table.insert(found, describe_function(entry))
      end
    end
  end
end

--- Everything that is known under a name: "buffer", "buffer:read", "read", "luhip.open", "npy".
-- @tparam string word
-- @treturn {string,...} texts; none when the name is unknown
function docs.find(word)
  local found = {}
  word = word:gsub("^luhip%.([%w_]+[.:][%w_]+)$", function(rest)
    return docs.module("luhip." .. rest:match "^[%w_]+") and "luhip." .. rest or rest
  end)
  find_object(word, found)
  find_function(word, found)
  return found
end

return docs
