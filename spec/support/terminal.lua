-- A program at a pseudo-terminal, for the specs of the prompt. Nothing here depends on speed: one waits for text.
--
--   local t = terminal.start({ "env", "A=b", "program" }, { columns = 80, pending = pending })
--   t:expect "> "          -- waits until the text has come, behind what was expected before; gives what is before it
--   t:type "1 + 1\r"
--   local code = t:finish() -- what is left to read is in t.rest

local support = require "spec.support"

local terminal = {}
terminal.__index = terminal

local PATIENCE = 30000 -- ms

local function testing()
  return require("luhip.core").testing
end

function terminal.start(words, options)
  options = options or {}
  local fd, process = testing().pty_start(words, options.columns or 80, options.rows or 24)
  if not fd then
    options.pending(("there are no pseudo-terminals here: %s"):format(process)) -- a chroot without /dev/pts
  end
  local self = setmetatable({ fd = fd, process = process, all = "", at = 1 }, terminal)
  support.defer(function()
    self:stop()
  end)
  return self
end

function terminal:type(text)
  assert(testing().pty_write(self.fd, text))
end

function terminal:resize(columns, rows)
  assert(testing().pty_resize(self.fd, columns, rows))
end

-- What escapes do to the cursor's place is not followed, only left out.
local function plain(text)
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\27[=>]", ""):gsub("\r", ""):gsub("\7", ""))
end

-- Reads once; false when nothing comes any more.
function terminal:more(ms)
  local text = testing().pty_read(self.fd, ms)
  self.all = self.all .. (text or "")
  return text ~= nil and text ~= ""
end

function terminal:expect(text)
  while true do
    local seen = plain(self.all)
    local first, last = seen:find(text, self.at, true)
    if first then
      local before = seen:sub(self.at, first - 1)
      self.at = last + 1
      return before
    elseif not self:more(PATIENCE) then
      error(("%q did not come; seen: %s"):format(text, seen:sub(self.at)), 2)
    end
  end
end

function terminal:finish()
  while self:more(PATIENCE) do
  end
  self.rest = plain(self.all):sub(self.at)
  return self:stop()
end

function terminal:stop()
  if not self.fd then
    return self.code
  end
  local fd = self.fd
  self.fd = nil
  self.code = testing().pty_end(fd, self.process, PATIENCE)
  return self.code
end

return terminal
