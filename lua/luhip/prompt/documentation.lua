--- What `:doc name` says: from luhip.docs where that is there, else from the comments of luhip's Lua files.
--
-- luhip.docs is a table of names ("luhip.open", "device:buffer") to a text, or to { signature =, text = }.
-- Dependencies: luhip.core.
-- @module luhip.prompt.documentation

local core = require "luhip.core"
local nearest = require "luhip.nearest"

local documentation = {}

-- Which files' functions have a name of their own for users: the module, and how they call it.
local MODULES = {
  { "luhip", "luhip" },
  { "luhip.async", "async" },
  { "luhip.config", "config" },
  { "luhip.files", "files" },
  { "luhip.generate.elementwise", "elementwise" },
  { "luhip.generate.random", "random" },
  { "luhip.generate.reduce", "reduce" },
  { "luhip.generate.scan", "scan" },
  { "luhip.picture", "picture" },
  { "luhip.profile", "profile" },
  { "luhip.struct", "struct" },
  { "luhip.timing", "timing" },
  { "luhip.tune", "tune" },
  { "luhip.tune.best", "best" },
}

-- ---- from comments -----------------------------------------------------------------------------------------------

-- What the line behind a comment declares: "luhip.open", "device:time"; nil: nothing that has a name.
local function declared(line)
  local class, method = line:match "^core%.methods%.(%w+)%.([%w_]+) ="
  if class then
    return class .. ":" .. method
  end
  return line:match "^function ([%w_]+[.:][%w_]+)"
    or line:match "^local function ([%w_]+)"
    or line:match "^([%w_]+%.[%w_]+) ="
end

local function read_file(entries, path, module)
  local file = path and io.open(path, "r")
  if not file then
    return
  end
  local block
  for line in file:lines() do
    local first, more = line:match "^%-%-%- ?(.*)", line:match "^%-%- ?(.*)"
    if first and not first:find "^%-" then
      block = block and block .. "\n" .. first or first
    elseif block and more then
      block = block .. "\n" .. more
    elseif block then
      local name = declared(line)
      if name then
        local short = name:match "[.:]?([%w_]+)$"
        local full = name:find ":" and name or module == "luhip" and name or ("%s.%s"):format(module, short)
        entries[full] = entries[full]
          or { signature = line:match "%b()" and full .. line:match "%b()" or full, text = block }
      elseif block:find "@module" and not entries[module] then
        entries[module] = { text = block }
      end
      block = nil
    end
  end
  file:close()
end

local function from_comments()
  local entries = {}
  for _, module in ipairs(MODULES) do
    read_file(entries, package.searchpath(module[1], package.path), module[2])
  end
  return entries
end

local known

local function all()
  if not known then
    known = from_comments()
    local ok, docs = pcall(require, "luhip.docs")
    for name, entry in pairs(ok and type(docs) == "table" and docs or {}) do
      if type(name) == "string" and (type(entry) == "string" or type(entry) == "table") then
        known[name] = type(entry) == "string" and { text = entry } or entry
      end
    end
  end
  return known
end

-- ---- looking up --------------------------------------------------------------------------------------------------

-- "@tparam string x text" in words: "x (string): text".
local function readable(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do
    line = line
      :gsub("^@tparam%S* (%S+) (%S+)", "  %2 (%1)")
      :gsub("^@param%S* ", "  ")
      :gsub("^@treturn (%S+)", "  -> %1")
      :gsub("^@return", "  ->")
      :gsub("^@raise", "  raises")
    if not line:find "^@" then
      lines[#lines + 1] = line
    end
  end
  return (table.concat(lines, "\n"):gsub("%s+$", ""))
end

local function show(name, entry)
  local head = entry.signature or name
  return head .. "\n" .. readable(entry.text or entry.summary or "")
end

-- "dev:time" and "device.time" as "device:time"; the classes are what the prompt's `dev` and a user's names stand for.
local function spellings(name)
  local owner, member = name:match "^([%w_]+)[.:]([%w_]+)$"
  if not owner then
    return { name, "luhip." .. name }
  end
  owner = owner == "dev" and "device" or owner
  return { owner .. "." .. member, owner .. ":" .. member, "luhip." .. owner .. "." .. member }
end

local function sorted_names(entries)
  local names = {}
  for name in pairs(entries) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- Every class that has a method of this name, so that `:doc slice` need not say whose.
local function classes_with(member)
  local found = {}
  for class, methods in pairs(core.methods) do
    if rawget(methods, member) then
      found[#found + 1] = class .. ":" .. member
    end
  end
  table.sort(found)
  return found
end

-- The nearest of the names, whole or without what is before the last point.
local function near_name(name, names)
  local words, full = {}, {}
  for _, one in ipairs(names) do
    for _, word in ipairs { one, one:match "[%w_]+$" } do
      words[#words + 1] = word
      full[word] = full[word] or one
    end
  end
  local near = nearest(name, words)
  return near and full[near]
end

--- Looks a name up.
-- @tparam string name "luhip.open", "dev:time", "tune.best", "time"
-- @treturn string its documentation, or a sentence that it has none, with the nearest name
function documentation.find(name)
  local entries = all()
  for _, spelling in ipairs(spellings(name)) do
    if entries[spelling] then
      return show(spelling, entries[spelling])
    end
  end
  local texts, names = {}, sorted_names(entries)
  for _, full in ipairs(names) do
    if full:match "[.:]([%w_]+)$" == name then
      texts[#texts + 1] = show(full, entries[full])
    end
  end
  if #texts > 0 then
    return table.concat(texts, "\n\n")
  end
  local methods = classes_with(name:match "[%w_]+$" or "")
  if #methods > 0 then
    return ("%s: a method; its page is in the reference"):format(table.concat(methods, ", "))
  end
  local near = near_name(name, names)
  return ("no documentation of '%s'%s"):format(name, near and "; did you mean '" .. near .. "'?" or "")
end

--- The names that have one.
-- @treturn {string,...} sorted
function documentation.names()
  return sorted_names(all())
end

return documentation
