--- luhip(1): docs/command.md, what `--help` of the command and of its commands says, and the table of settings.
-- Dependencies: markdown, luhip.cli, luhip.compile_command, luhip.tune.command.

local markdown = require "docs.generate.markdown"

local manual = {}

-- ---- roff ------------------------------------------------------------------------------------------------------

-- Text that roff would read as its own; quotes and hyphens stay what they are.
local function plain(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("'", "\\(aq"):gsub("`", "\\(ga"):gsub("^%.", "\\&."))
end

-- A sentence of Markdown: code is bold, emphasis italic, a link its label.
local function inline(text)
  local kept = {}
  text = text:gsub("`([^`]+)`", function(code)
    kept[#kept + 1] = "\\fB" .. plain(code) .. "\\fR"
    return ("\0%d\0"):format(#kept)
  end)
  text = text:gsub("%[([^%]]+)%]%([^)]+%)", "%1"):gsub("\\([*|])", "%1"):gsub("%*%*([^*]+)%*%*", "%1")
  return (plain(text):gsub("%z(%d+)%z", function(n)
    return kept[tonumber(n)]
  end))
end

local function item(out, head, text)
  out[#out + 1] = ".TP\n" .. head .. "\n" .. text
end

-- ---- Markdown --------------------------------------------------------------------------------------------------

-- The rows of the table that begins at line `at`, without its head; and the line behind it.
local function read_table(lines, at)
  local rows = {}
  at = at + 2
  while (lines[at] or ""):find "^|" do
    rows[#rows + 1] = markdown.cells(lines[at])
    at = at + 1
  end
  return rows, at
end

local function split(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

-- A page with headings, paragraphs and tables of two columns; its title is left out.
local function add_page(out, text)
  local lines, at, fresh = split(text), 1, true
  while lines[at] do
    local line = lines[at]
    local heading = line:match "^## (.*)$"
    if heading then
      out[#out + 1] = ".SH " .. plain(heading):upper()
    elseif line:find "^|" then
      local rows
      rows, at = read_table(lines, at)
      for _, row in ipairs(rows) do
        item(out, inline(row[1]), inline(row[2]))
      end
      at = at - 1
    elseif line:find "%S" and not line:find "^# " then
      out[#out + 1] = (fresh and not out[#out]:find "^%.SH" and ".PP\n" or "") .. inline(line)
    end
    fresh = not line:find "%S" or line:find "^|" ~= nil
    at = at + 1
  end
end

-- ---- what --help says ------------------------------------------------------------------------------------------

-- { left, right } of each line that has two columns; what is indented further goes on with the one before.
local function columns(usage)
  local rows = {}
  for _, line in ipairs(split(usage)) do
    local before, left, right = line:gsub("^usage:", "      "):match "^(%s+)(%S.-)%s%s+(%S.*)$"
    if left and #before < 12 then
      rows[#rows + 1] = { left, right }
    elseif rows[1] and line:find "^            " then
      rows[#rows][2] = rows[#rows][2] .. "\n" .. line:match "^%s*(.*)$"
    end
  end
  return rows
end

local function add_synopsis(out, usage)
  out[#out + 1] = ".SH SYNOPSIS\n.nf"
  for line in usage:gmatch "[^\n]+" do
    local words = (line .. "  "):gsub("^usage:", "      "):match "^       (luhip.-)%s%s"
    out[#out + 1] = words and plain(words)
  end
  out[#out + 1] = ".fi"
end

local function add_usage(out, heading, usage)
  out[#out + 1] = ".SH " .. heading
  for _, row in ipairs(columns(usage)) do
    item(out, "\\fB" .. plain(row[1]) .. "\\fR", plain(row[2]))
  end
end

-- ---- settings --------------------------------------------------------------------------------------------------

local function add_settings(out, text)
  local lines = split(text)
  out[#out + 1] = ".SH ENVIRONMENT\nEach variable is a setting of a file as well, by the key behind it."
  for at, line in ipairs(lines) do
    for _, row in ipairs(line:find "^| key | variable |" and read_table(lines, at) or {}) do
      local built_in = row[4] ~= "" and ("; built in: %s"):format(row[4]) or ""
      item(out, inline(("%s (%s)"):format(row[2], row[1])), inline(row[5] .. built_in))
    end
  end
end

--- luhip(1).
-- @tparam string version
-- @tparam string command the text of docs/command.md
-- @tparam string configuration the text of docs/configuration.md
-- @treturn string roff
function manual.page(version, command, configuration)
  local out = {
    ('.TH LUHIP 1 "" "luhip %s" "User commands"'):format(version),
    ".SH NAME\nluhip \\- runs Lua scripts that drive GPUs",
  }
  add_synopsis(out, require("luhip.cli").usage)
  add_page(out, command)
  add_usage(out, "LUHIP COMPILE", require("luhip.compile_command").usage)
  add_usage(out, "LUHIP TUNE", require("luhip.tune.command").usage)
  add_settings(out, configuration)
  out[#out + 1] = ".SH FILES"
  item(out, "\\fI~/.config/luhip/config.lua\\fR", "your settings")
  item(out, "\\fIluhip.conf.lua\\fR", "a project\\(aqs settings, from the working directory upwards")
  item(out, "\\fI~/.cache/luhip\\fR", "compiled kernels")
  out[#out + 1] = ".SH SEE ALSO\n.BR luhip (3lua),\n.BR lua5.4 (1)"
  return table.concat(out, "\n") .. "\n"
end

return manual
