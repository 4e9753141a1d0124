--- As much of Markdown as the guide uses, to HTML: headings, paragraphs, lists, tables, fenced code, rules, quotes;
--- inline code, links, bold and emphasis.
-- Dependencies: none.

local markdown = {}

--- Text that HTML would read as its own.
function markdown.escape(text)
  return (text:gsub('[&<>"]', { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

--- A heading's anchor.
function markdown.anchor(text)
  return (text:lower():gsub("`", ""):gsub("[^%w%s_-]", ""):gsub("%s+", "-"))
end

-- Links between pages lead to the pages that are made of them, which all lie in one folder.
local function target(link)
  if link:match "^%a+:" then
    return link
  end
  link = link:gsub("%.%./", ""):gsub("^docs/", ""):gsub("^guide/", "")
  return (link:gsub("^README%.md", "index.html"):gsub("%.md", ".html"))
end

local function inline(text)
  local kept = {}
  local function keep(html)
    kept[#kept + 1] = html
    return ("\0%d\0"):format(#kept)
  end
  text = text:gsub("`([^`]+)`", function(code)
    return keep("<code>" .. markdown.escape(code) .. "</code>")
  end)
  text = text:gsub("%[([^%]]+)%]%(([^)]+)%)", function(label, link)
    return keep(('<a href="%s">'):format(markdown.escape(target(link)))) .. label .. keep "</a>"
  end)
  text = markdown.escape(text)
  text = text:gsub("%*%*([^*]+)%*%*", "<b>%1</b>"):gsub("%f[%w*]%*([^*\n]+)%*%f[^%w*]", "<i>%1</i>")
  for _ = 1, 2 do -- code within a link's label
    text = text:gsub("%z(%d+)%z", function(n)
      return kept[tonumber(n)]
    end)
  end
  return text
end

--- The cells of a table's row, as they are written. A bar within code is no border.
-- @tparam string line
-- @treturn {string,...}
function markdown.cells(line)
  local list = {}
  line = line:gsub("`[^`]*`", function(code)
    return (code:gsub("|", "\1"))
  end)
  for cell in line:gsub("^%s*|", ""):gsub("|%s*$", ""):gmatch "[^|]*" do
    list[#list + 1] = (cell:match "^%s*(.-)%s*$":gsub("\1", "|"):gsub("\\|", "|"))
  end
  return list
end

local function row(line, tag)
  local html = {}
  for _, cell in ipairs(markdown.cells(line)) do
    html[#html + 1] = ("<%s>%s</%s>"):format(tag, inline(cell), tag)
  end
  return "<tr>" .. table.concat(html) .. "</tr>"
end

local Converter = {}
Converter.__index = Converter

function Converter:put(html)
  self.out[#self.out + 1] = html
end

function Converter:line()
  return self.lines[self.at]
end

function Converter:code()
  local language = self:line():match "^```(%w*)"
  local code = {}
  self.at = self.at + 1
  while self:line() and not self:line():match "^```%s*$" do
    code[#code + 1] = markdown.escape(self:line())
    self.at = self.at + 1
  end
  self.at = self.at + 1
  self:put(('<pre class="%s">%s</pre>'):format(language, table.concat(code, "\n")))
end

function Converter:table_rows()
  local html = { "<table>", row(self:line(), "th") }
  self.at = self.at + 2
  while self:line() and self:line():match "^|" do
    html[#html + 1] = row(self:line(), "td")
    self.at = self.at + 1
  end
  self:put(table.concat(html, "\n") .. "\n</table>")
end

-- Items, each with the lines that are indented below it.
function Converter:list(pattern, tag)
  local html = {}
  while self:line() and self:line():match(pattern) do
    local item = { (self:line():gsub(pattern, "")) }
    self.at = self.at + 1
    while self:line() and self:line():match "^%s+%S" do
      item[#item + 1] = self:line():match "^%s+(.*)$"
      self.at = self.at + 1
    end
    html[#html + 1] = "<li>" .. inline(table.concat(item, "\n")) .. "</li>"
    if self:line() == "" and (self.lines[self.at + 1] or ""):match(pattern) then
      self.at = self.at + 1
    end
  end
  self:put(("<%s>\n%s\n</%s>"):format(tag, table.concat(html, "\n"), tag))
end

function Converter:heading()
  local marks, text = self:line():match "^(#+)%s+(.-)%s*$"
  local level = #marks
  self.at = self.at + 1
  table.insert(self.headings, { level = level, text = text, anchor = markdown.anchor(text) })
  self:put(('<h%d id="%s">%s</h%d>'):format(level, markdown.anchor(text), inline(text), level))
end

function Converter:paragraph()
  local text = {}
  while self:line() and self:line():match "%S" and not self:line():match "^```" and not self:line():match "^#+ " do
    text[#text + 1] = self:line()
    self.at = self.at + 1
  end
  self:put("<p>" .. inline(table.concat(text, "\n")) .. "</p>")
end

--- Converts a text.
-- @tparam string text
-- @treturn string HTML, without a page around it
-- @treturn {table,...} headings: { level =, text =, anchor = }
function markdown.html(text)
  local self = setmetatable({ lines = {}, at = 1, out = {}, headings = {} }, Converter)
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    self.lines[#self.lines + 1] = line
  end
  while self:line() do
    local line = self:line()
    if not line:match "%S" then
      self.at = self.at + 1
    elseif line:match "^```" then
      self:code()
    elseif line:match "^#+ " then
      self:heading()
    elseif line:match "^|" and (self.lines[self.at + 1] or ""):match "^|[%s:|-]+$" then
      self:table_rows()
    elseif line:match "^[-*] " then
      self:list("^[-*] ", "ul")
    elseif line:match "^%d+%. " then
      self:list("^%d+%. ", "ol")
    elseif line:match "^    %S" then
      self:paragraph()
    else
      self:paragraph()
    end
  end
  return table.concat(self.out, "\n"), self.headings
end

return markdown
