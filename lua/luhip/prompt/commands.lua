--- What the prompt does by itself: `:help`, `:doc`, `:time`, `:mem`, `:devices`, `:reset`.
--
-- A command is the first word of a line that begins with a colon, which no Lua statement does (a label has two).
-- Dependencies: luhip.core; the others when a command needs them.
-- @module luhip.prompt.commands

local core = require "luhip.core"
local nearest = require "luhip.nearest"

local commands = {}

commands.names = { "devices", "doc", "help", "mem", "reset", "time" }

local HELP = [[
An expression prints its values, a statement runs; what is not complete goes on in the next line.
  dev          the device, opened for you; luhip: the module
  :help        this
  :doc name    what a function does: :doc luhip.open, :doc dev:time
  :time code   runs code, waits for the device, prints how long it took
  :mem         memory of the device and of Lua
  :devices     what is here, and why what is here cannot be used
  :reset       forgets the globals that were made here, and opens the device anew
Tab completes names and, in strings, device ids. Ctrl-C ends what runs, Ctrl-D leaves.]]

local run = {}

function run.help()
  return HELP
end

function run.doc(_, name)
  if name == "" then
    return "a name is missing: :doc luhip.open"
  end
  return require("luhip.prompt.documentation").find(name)
end

function run.devices()
  return table.concat(require("luhip.device_list").lines(require("luhip").devices()), "\n")
end

local function seconds_text(seconds)
  if seconds >= 1 then
    return ("%.3f s"):format(seconds)
  end
  return seconds >= 1e-3 and ("%.3f ms"):format(seconds * 1e3) or ("%.1f us"):format(seconds * 1e6)
end

local function sync(session)
  local dev = session.device.opened()
  if dev then
    dev:sync()
  end
end

function run.time(session, code)
  if code == "" then
    return "code is missing: :time dev:sync()"
  end
  local chunk, why = session.load(code)
  if not chunk then
    error(why, 0)
  end
  sync(session)
  local started = core.monotime()
  local values = table.pack(chunk())
  sync(session)
  local took = core.monotime() - started
  session.print_values(values)
  return seconds_text(took)
end

function run.mem(session)
  local size = require("luhip.device_list").size_text
  local lines = { ("Lua   %s"):format(size(collectgarbage "count" * 1024)) }
  local dev = session.device.opened()
  if not dev then
    lines[2] = "dev   not opened yet"
    return table.concat(lines, "\n")
  end
  local memory = dev:memory()
  local limit = memory.limit
    and memory.limit > 0
    and memory.limit < math.maxinteger
    and ", limit " .. size(memory.limit)
  lines[2] = ("%s %s in use by %d buffer%s, %s reserved%s"):format(
    dev.id,
    size(memory.in_use):gsub("^%-$", "0 bytes"),
    memory.buffers,
    memory.buffers == 1 and "" or "s",
    size(memory.reserved):gsub("^%-$", "0 bytes"),
    limit or ""
  )
  lines[3] = ("pinned %s in use, %s reserved"):format(
    size(memory.pinned.in_use):gsub("^%-$", "0 bytes"),
    size(memory.pinned.reserved):gsub("^%-$", "0 bytes")
  )
  return table.concat(lines, "\n")
end

function run.reset(session)
  session.reset()
  return session.device.text()
end

--- Whether a line is a command.
-- @tparam string line
-- @treturn ?string its word, without the colon
-- @treturn ?string what follows it
function commands.parse(line)
  return line:match "^%s*:(%a[%w_]*)%s*(.-)%s*$"
end

--- Runs a command.
-- @tparam table session of luhip.repl
-- @tparam string name
-- @tparam string rest of the line
-- @treturn string what to print
-- @raise whatever the command's code raises; a string for a command that there is not
function commands.run(session, name, rest)
  if not run[name] then
    local near = nearest(name, commands.names)
    error(("no command ':%s'; %s"):format(name, near and "did you mean ':" .. near .. "'?" or ":help lists them"), 0)
  end
  return run[name](session, rest)
end

return commands
