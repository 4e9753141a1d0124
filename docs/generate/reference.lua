--- The reference: one model of everything documented, as HTML, as a manual page and as annotations for LuaLS.
-- Dependencies: luhip.docs, markdown.

local docs = require "luhip.docs"
local markdown = require "docs.generate.markdown"
local objects = require "luhip.docs.objects"

local reference = {}
local escape = markdown.escape

-- ---- HTML ------------------------------------------------------------------------------------------------------

-- Backquotes are code; blank lines end paragraphs; what is indented is an example.
local function prose(text)
  local html, example = {}, nil
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    if line:match "^%s%s+%S" or (example and line == "") then
      example = example or {}
      example[#example + 1] = line
    else
      if example then
        html[#html + 1] = "<pre>" .. escape(table.concat(example, "\n"):gsub("%s+$", "")) .. "</pre>"
        example = nil
      end
      html[#html + 1] = line == "" and "</p><p>" or escape(line):gsub("`([^`]+)`", "<code>%1</code>")
    end
  end
  if example then
    html[#html + 1] = "<pre>" .. escape((table.concat(example, "\n"):gsub("%s+$", ""))) .. "</pre>"
  end
  return "<p>" .. table.concat(html, "\n") .. "</p>"
end

local function entry_html(id, head, text, details)
  return ('<dt id="%s"><code>%s</code></dt><dd>%s%s</dd>'):format(escape(id), escape(head), prose(text), details or "")
end

local function class_html(class)
  local html = { ('<h2 id="%s">luhip.%s</h2>'):format(class.name, class.name), prose(class.text), "<dl>" }
  for _, method in ipairs(class.methods) do
    local name = method[1]:match "^[%w_]+"
    local raises = method.raises and ("<p>Raises: %s.</p>"):format(escape(method.raises)) or ""
    html[#html + 1] = entry_html(class.name .. "." .. name, class.name .. ":" .. method[1], method[2], raises)
  end
  for _, field in ipairs(class.fields) do
    local name = field[1]:match "^[%w_]+"
    html[#html + 1] = entry_html(class.name .. "." .. name, class.name .. "." .. field[1], field[2])
  end
  html[#html + 1] = "</dl>"
  return table.concat(html, "\n")
end

local function public_functions(name)
  local list = {}
  for _, entry in ipairs(docs.module(name).functions) do
    if docs.is_public(name, entry) then
      list[#list + 1] = entry
    end
  end
  return list
end

-- "luhip.npy.save" for a function that its module calls npy.save.
local function full_name(module, entry)
  local short = entry.name:match "[%w_]+$"
  if module == "luhip" or entry.is_local then
    return "luhip." .. short
  end
  return module .. "." .. short
end

local function function_html(module, entry)
  local details = {}
  if #entry.params > 0 or #entry.returns > 0 then
    details[#details + 1] = "<table>"
    for _, parameter in ipairs(entry.params) do
      details[#details + 1] = ("<tr><td><code>%s</code></td><td><code>%s</code>%s</td><td>%s</td></tr>"):format(
        escape(parameter.name),
        escape(parameter.type),
        parameter.optional and ", optional" or "",
        (escape(parameter.text):gsub("`([^`]+)`", "<code>%1</code>"))
      )
    end
    for _, result in ipairs(entry.returns) do
      details[#details + 1] = ("<tr><td>gives</td><td><code>%s</code></td><td>%s</td></tr>"):format(
        escape(result.type),
        (escape(result.text):gsub("`([^`]+)`", "<code>%1</code>"))
      )
    end
    details[#details + 1] = "</table>"
  end
  if entry.raises then
    details[#details + 1] = ("<p>Raises: %s.</p>"):format(escape(entry.raises))
  end
  local name = full_name(module, entry)
  return entry_html(name, name .. (entry.arguments or ""), entry.text, table.concat(details, "\n"))
end

local function module_html(name)
  local about = docs.module(name)
  local text = about.text:gsub("\nDependencies:.*$", "") -- of its file, which is no reader's concern
  local html = { ('<h2 id="%s">%s</h2>'):format(name, name), prose(text) }
  html[#html + 1] = "<dl>"
  for _, entry in ipairs(public_functions(name)) do
    html[#html + 1] = function_html(name, entry)
  end
  html[#html + 1] = "</dl>"
  return table.concat(html, "\n")
end

--- The reference's page, without what surrounds every page.
-- @treturn string HTML
function reference.html()
  local html = { "<h1>Reference</h1>", "<p>Objects: " }
  for _, class in ipairs(objects.classes) do
    html[#html + 1] = ('<a href="#%s">%s</a>'):format(class.name, class.name)
  end
  html[#html + 1] = "</p><p>Modules: "
  for _, name in ipairs(docs.modules) do
    html[#html + 1] = ('<a href="#%s">%s</a>'):format(name, name)
  end
  html[#html + 1] = "</p>"
  for _, alias in ipairs(objects.aliases) do
    html[#html + 1] = ("<p><code>%s</code>: %s <code>%s</code></p>"):format(
      alias[1],
      escape(alias[3]),
      escape(alias[2])
    )
  end
  for _, name in ipairs(docs.modules) do
    html[#html + 1] = module_html(name)
  end
  for _, class in ipairs(objects.classes) do
    html[#html + 1] = class_html(class)
  end
  return table.concat(html, "\n")
end

-- ---- the manual page -------------------------------------------------------------------------------------------

local function roff(text)
  return (
    text
      :gsub("\\", "\\e")
      :gsub("`([^`\n]+)`", "\\fB%1\\fR")
      :gsub("%-", "\\-")
      :gsub("\n(['.])", "\n\\&%1")
      :gsub("^(['.])", "\\&%1")
      :gsub("\n%s*\n", "\n.PP\n")
  )
end

local function roff_entry(out, head, text, raises)
  out[#out + 1] = ".TP\n.B " .. roff(head) .. "\n" .. roff((text:gsub("\n%s*\n", "\n"):gsub("\n%s+", "\n")))
  if raises then
    out[#out + 1] = ".br\nRaises: " .. roff(raises) .. "."
  end
end

--- luhip(3lua).
-- @tparam string version
-- @treturn string roff
function reference.man(version)
  local out = {
    ('.TH LUHIP 3lua "" "luhip %s" "Lua modules"'):format(version),
    ".SH NAME\nluhip \\- a GPU runtime that Lua scripts drive",
    '.SH SYNOPSIS\n.nf\nlocal luhip = require "luhip"\nlocal dev = luhip.open()\n.fi',
  }
  for _, name in ipairs(docs.modules) do
    local about = docs.module(name)
    out[#out + 1] = (".SH %s\n%s"):format(name:upper(), roff(about.text:match "^(.-)\n" or about.text))
    for _, entry in ipairs(public_functions(name)) do
      roff_entry(out, full_name(name, entry) .. (entry.arguments or ""), entry.text, entry.raises)
    end
  end
  for _, class in ipairs(objects.classes) do
    out[#out + 1] = (".SH OBJECTS: %s\n%s"):format(class.name:upper(), roff(class.text))
    for _, method in ipairs(class.methods) do
      roff_entry(out, class.name .. ":" .. method[1], method[2], method.raises)
    end
    for _, field in ipairs(class.fields) do
      roff_entry(out, class.name .. "." .. field[1], field[2])
    end
  end
  out[#out + 1] = ".SH SEE ALSO\n.BR lua5.4 (1)"
  return table.concat(out, "\n") .. "\n"
end

-- ---- annotations -----------------------------------------------------------------------------------------------

-- LDoc's types as LuaLS writes them.
local TYPES = { int = "integer", bool = "boolean", ["function"] = "function", buffer = "luhip.buffer" }

local function lua_type(kind)
  local known = {}
  for _, class in ipairs(objects.classes) do
    known[class.name] = "luhip." .. class.name
  end
  local optional = kind:match "^%?(.*)$"
  local inner = optional or kind
  if inner:match "^{" then
    local key, value = inner:match "^{%[(%w+)%]%s*=%s*([%w_]+)}$"
    local element = inner:match "^{([%w_]+),%.%.%.}$"
    inner = key and ("table<%s, %s>"):format(key, lua_type(value)) or element and lua_type(element) .. "[]" or "table"
  else
    inner = TYPES[inner] or known[inner] or inner
    local plain = { string = 1, number = 1, integer = 1, boolean = 1, table = 1, any = 1, thread = 1, ["nil"] = 1 }
    if not plain[inner] and inner ~= "function" and not inner:match "^luhip%." then
      inner = "any"
    end
  end
  return optional and inner .. "?" or inner
end

local function meta_text(out, text)
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    out[#out + 1] = ("--- %s"):format(line):gsub("%s+$", "")
  end
end

local function meta_class(out, class)
  out[#out + 1] = ""
  meta_text(out, class.text)
  out[#out + 1] = "---@class luhip." .. class.name
  for _, field in ipairs(class.fields) do
    local name, kind = field[1]:match "^([%w_]+):%s*(.*)$"
    out[#out + 1] = ("---@field %s %s %s"):format(name, kind, field[2])
  end
  out[#out + 1] = ("local %s = {}"):format(class.name)
  for _, method in ipairs(class.methods) do
    local signature, names = docs.signature(method[1]), {}
    out[#out + 1] = ""
    meta_text(out, method[2] .. (method.raises and " Raises: " .. method.raises .. "." or ""))
    for k, parameter in ipairs(signature.params) do
      names[k] = parameter.name
      out[#out + 1] = ("---@param %s%s %s"):format(parameter.name, parameter.optional and "?" or "", parameter.type)
    end
    for _, result in ipairs(signature.returns) do
      out[#out + 1] = "---@return " .. result
    end
    out[#out + 1] = ("function %s:%s(%s) end"):format(class.name, signature.name, table.concat(names, ", "))
  end
end

local function meta_function(out, owner, entry)
  local short, names = entry.name:match "[%w_]+$", {}
  out[#out + 1] = ""
  meta_text(out, entry.text)
  for k, parameter in ipairs(entry.params) do
    names[k] = parameter.name
    out[#out + 1] = ("---@param %s%s %s %s")
      :format(parameter.name, parameter.optional and "?" or "", lua_type(parameter.type), parameter.text)
      :gsub("%s+$", "")
  end
  for _, result in ipairs(entry.returns) do
    out[#out + 1] = "---@return " .. lua_type(result.type)
  end
  out[#out + 1] = ("function %s.%s(%s) end"):format(owner, short, table.concat(names, ", "))
end

--- Annotations for the Lua language server.
-- @treturn string Lua
function reference.meta()
  local out = { "---@meta luhip", "-- Made by scripts/docs of lua/luhip/docs; not to be edited.", "" }
  for _, alias in ipairs(objects.aliases) do
    meta_text(out, alias[3])
    out[#out + 1] = ("---@alias %s %s"):format(alias[1], alias[2])
  end
  for _, class in ipairs(objects.classes) do
    meta_class(out, class)
  end
  out[#out + 1] = "\n---@class luhip\nlocal luhip = {}"
  for _, name in ipairs(docs.modules) do
    for _, entry in ipairs(public_functions(name)) do
      if name == "luhip" or entry.is_local then
        meta_function(out, "luhip", entry)
      end
    end
  end
  out[#out + 1] = "\nreturn luhip"
  return table.concat(out, "\n") .. "\n"
end

return reference
