--- Makes the site, the manual pages and the annotations: `lua5.4 docs/generate/main.lua SITE_FOLDER`.
-- Dependencies: manual, markdown, reference, luhip.

local core = require "luhip.core"
local manual = require "docs.generate.manual"
local markdown = require "docs.generate.markdown"
local reference = require "docs.generate.reference"

local folder = assert(arg[1], "where to?")

local STYLE = [[
:root { --text: #1c1e21; --back: #fff; --soft: #f3f4f6; --line: #d8dbe0; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6eb; --back: #16181c; --soft: #22252b; --line: #3a3f47; --link: #8ab4f8; }
}
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back); }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
nav { position: fixed; top: 0; bottom: 0; width: 15rem; overflow: auto; padding: 1rem; box-sizing: border-box;
  background: var(--soft); border-right: 1px solid var(--line); }
nav a { display: block; padding: .15rem 0; } nav b { display: block; margin: .8rem 0 .2rem; }
main { margin-left: 15rem; padding: 1rem 2rem 4rem; max-width: 60rem; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .7rem 1rem; overflow: auto; }
code, pre { font: .88em/1.45 ui-monospace, monospace; } dt { margin-top: 1.2rem; } dd { margin-left: 1.5rem; }
dt code { font-weight: 600; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow: auto; } td, th { border: 1px solid var(--line);
  padding: .3rem .6rem; text-align: left; vertical-align: top; }
dd > table td { border: 0; padding: .1rem .8rem .1rem 0; }
@media (max-width: 50rem) { nav { position: static; width: auto; } main { margin: 0; padding: 1rem; } }
]]

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  assert(core.write_file(path, text))
end

-- The pages in their order: the README, the guide, pages of docs/, the reference.
local function list_pages()
  local pages = { { file = "README.md", page = "index.html" } }
  for _, name in ipairs { "CONTRIBUTING", "CHANGELOG" } do
    pages[#pages + 1] = { file = name .. ".md", page = name .. ".html" }
  end
  local list = io.popen "ls docs/guide/*.md docs/*.md 2>/dev/null"
  for path in list:lines() do
    pages[#pages + 1] = { file = path, page = path:match "([^/]+)%.md$" .. ".html", guide = path:match "/guide/" }
  end
  list:close()
  for _, page in ipairs(pages) do
    page.text = read(page.file)
    page.html, page.headings = markdown.html(page.text)
    page.title = page.headings[1] and page.headings[1].text or page.page
  end
  pages[#pages + 1] = { page = "reference.html", html = reference.html(), title = "Reference", headings = {} }
  return pages
end

local function navigation(pages)
  local html = { '<nav><a href="index.html"><b>luhip</b></a><b>Guide</b>' }
  for _, guide in ipairs { true, false } do
    for _, page in ipairs(pages) do
      if page.file ~= "README.md" and (page.guide ~= nil) == guide then
        html[#html + 1] = ('<a href="%s">%s</a>'):format(page.page, markdown.escape(page.title))
      end
    end
    html[#html + 1] = guide and "<b>Pages</b>" or "</nav>"
  end
  return table.concat(html, "\n")
end

local PAGE = [[
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s - luhip</title><style>%s</style></head><body>
%s
<main>
%s
</main></body></html>
]]

assert(core.make_folder(folder))
local pages = list_pages()
local nav = navigation(pages)
for _, page in ipairs(pages) do
  write(folder .. "/" .. page.page, PAGE:format(markdown.escape(page.title), STYLE, nav, page.html))
end
write("docs/meta/luhip.lua", reference.meta())
write("docs/luhip.3lua", reference.man(core.version))
write("docs/luhip.1", manual.page(core.version, read "docs/command.md", read "docs/configuration.md"))
print(("%d pages in %s"):format(#pages, folder))
