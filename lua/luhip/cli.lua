--- The `luhip` command: runs scripts, lists devices.
--
-- Run as a program (lua5.4 cli.lua ARGUMENTS) it is the command; required, it gives `run`.
-- Dependencies: luhip, when a command needs it.
-- @module luhip.cli

local cli = {}

local USAGE = [[
usage: luhip                           read chunks and print their values; `luhip` is there
       luhip script.lua [arguments]    run a script; `arg` and `...` hold its arguments, as under lua
       luhip -i script.lua [arguments] run it, then read chunks
       luhip -e 'code' [arguments]     run code; `luhip` is there
       luhip - [arguments]             run what standard input holds
       luhip devices                   what is here, and why what is here cannot be used
       luhip doctor                    what is missing and how to get it, and which settings hold
       luhip compile --arch gfx90a file.hip     code objects, with no device (luhip compile --help)
       luhip tune script.lua           tuning under watch, kept and resumed (luhip tune --help)
       luhip --version | --help

LUHIP_DEVICE=cpu|rocm:0|cuda:1 chooses the device that luhip.open() opens.
LUHIP_SIZE=N sets the size of the examples' problems.
]]

-- Commands that a later version has; a script of the name still runs as ./name.
local LATER = { bench = true }

local function complain(format, ...)
  io.stderr:write("luhip: ", format:format(...), "\n")
end

-- ---- scripts ---------------------------------------------------------------------------------------------------

local function error_text(e)
  if type(e) == "string" or type(e) == "number" then
    return tostring(e)
  end
  local meta = debug.getmetatable(e)
  if type(meta) == "table" and meta.__tostring then
    return tostring(e)
  end
  return ("(error object is a %s value)"):format(type(e))
end

local own_source = debug.getinfo(1, "S").short_src
local own_path = debug.getinfo(1, "S").source:sub(2)

-- The traceback down to the script's main chunk, without the frames of this file below it.
local function traceback(e)
  local lines = {}
  for line in debug.traceback(error_text(e), 2):gmatch "[^\n]*" do
    lines[#lines + 1] = line
  end
  local last = #lines
  for i = 1, #lines - 1 do
    if lines[i]:find("[C]: in function 'xpcall'", 1, true) and lines[i + 1]:find(own_source, 1, true) then
      last = i - 1
      break
    end
  end
  return table.concat(lines, "\n", 1, last)
end

-- Runs a loaded chunk; 0, or 1 with the error on stderr.
local function run_chunk(chunk, message, arguments)
  if not chunk then
    complain("%s", message)
    return 1
  end
  local ok, text = xpcall(chunk, traceback, table.unpack(arguments))
  if not ok then
    complain("%s", text)
    return 1
  end
  return 0
end

-- `arg` as lua sets it: the script at 0, its arguments from 1 on, the command at -1.
local function set_arg(script, words, first)
  local arguments = table.move(words, first, #words, 1, {})
  local table_of = table.move(arguments, 1, #arguments, 1, { [0] = script, [-1] = "luhip" })
  _G.arg = table_of
  return arguments
end

local function run_script(words, at)
  local path = words[at]
  local arguments = set_arg(path, words, at + 1)
  local chunk, message = loadfile(path ~= "-" and path or nil)
  return run_chunk(chunk, message, arguments)
end

local function run_code(words, at)
  local code = words[at + 1]
  if not code then
    complain "-e needs code"
    return 2
  end
  local arguments = set_arg("-e", words, at + 2)
  _G.luhip = require "luhip"
  local chunk, message = load(code, "=(command line)")
  return run_chunk(chunk, message, arguments)
end

-- ---- the prompt ------------------------------------------------------------------------------------------------

-- After a script, if there is one: its globals are there, and its failure is the exit code.
local function run_prompt(words, at)
  local code = words[at] and run_script(words, at) or 0
  rawset(_G, "luhip", rawget(_G, "luhip") or require "luhip")
  return math.max(code, require("luhip.repl").run())
end

-- ---- devices ---------------------------------------------------------------------------------------------------

--- The lines of `luhip devices`; see luhip.device_list.
function cli.device_lines(devices)
  return require("luhip.device_list").lines(devices)
end

local function run_devices()
  for _, line in ipairs(cli.device_lines(require("luhip").devices())) do
    print(line)
  end
  return 0
end

-- ---- the command -----------------------------------------------------------------------------------------------

local function run_version()
  print("luhip " .. require("luhip").version)
  return 0
end

local function run_help()
  io.stdout:write(USAGE)
  return 0
end

local COMMANDS = {
  devices = run_devices,
  ["--version"] = run_version,
  ["-v"] = run_version,
  ["--help"] = run_help,
  ["-h"] = run_help,
}

--- Runs the command.
-- @tparam {string,...} words its arguments
-- @treturn integer the exit code: 0, 1 when a script failed, 2 when the arguments make no sense
function cli.run(words)
  local first = words[1]
  if not first then
    return run_prompt(words, 1)
  elseif first == "-i" then
    return run_prompt(words, 2)
  elseif first == "-e" then
    return run_code(words, 1)
  elseif first == "--" and words[2] then
    return run_script(words, 2)
  elseif first == "compile" then
    return require("luhip.compile_command").run(table.move(words, 2, #words, 1, {}))
  elseif first == "doctor" then
    return require("luhip.doctor").run(table.move(words, 2, #words, 1, {}))
  elseif first == "tune" then
    return require("luhip.tune.command").run(table.move(words, 2, #words, 1, {}), own_path)
  elseif COMMANDS[first] then
    if #words > 1 then
      complain("'%s' takes no arguments", first)
      return 2
    end
    return COMMANDS[first]()
  elseif LATER[first] then
    complain("'%s' is not available in this version; see luhip --help", first)
    return 2
  elseif first:find "^%-." then
    complain("unknown option '%s'; see luhip --help", first)
    return 2
  end
  return run_script(words, 1)
end

--- Runs the command and ends the process with its exit code, closing the state so that finalisers run.
-- @tparam {string,...} words
function cli.main(words)
  local ok, code = xpcall(cli.run, error_text, words)
  if not ok then
    complain("%s", code)
    code = 1
  end
  io.stdout:flush()
  os.exit(code, true)
end

-- require passes the module's name; lua passes the command's words.
if ... == "luhip.cli" then
  return cli
end
cli.main { ... }
