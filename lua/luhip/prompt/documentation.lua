--- What `:doc name` says: luhip.docs, and the nearest name where it knows none.
-- Dependencies: luhip.docs, luhip.nearest.
-- @module luhip.prompt.documentation

local docs = require "luhip.docs"
local nearest = require "luhip.nearest"
local objects = require "luhip.docs.objects"

local documentation = {}

-- Every name that has documentation, whole and without what it belongs to.
local function names()
  local list = {}
  for _, class in ipairs(objects.classes) do
    list[#list + 1] = class.name
    for _, method in ipairs(class.methods) do
      local name = method[1]:match "^[%w_]+"
      list[#list + 1] = class.name .. ":" .. name
      list[#list + 1] = name
    end
  end
  for _, module in ipairs(docs.modules) do
    list[#list + 1] = module
    for _, entry in ipairs((docs.module(module) or { functions = {} }).functions) do
      if docs.is_public(module, entry) then
        list[#list + 1] = entry.name
        list[#list + 1] = entry.name:match "[%w_]+$"
      end
    end
  end
  return list
end

--- Looks a name up.
-- @tparam string name "luhip.open", "dev:time", "buffer", "read"
-- @treturn string its documentation, or a sentence that it has none, with the nearest name
function documentation.find(name)
  name = name:gsub("^dev([.:])", "device%1")
  local texts = docs.find(name)
  if #texts > 0 then
    return (table.concat(texts, "\n\n"):gsub(" +\n", "\n"):gsub("%s+$", ""))
  end
  local near = nearest(name, names())
  return ("no documentation of '%s'%s"):format(name, near and "; did you mean '" .. near .. "'?" or "")
end

return documentation
