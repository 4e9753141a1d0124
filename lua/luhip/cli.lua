--- The `luhip` command: runs scripts, gives a prompt, and has commands.
--
-- Run as a program (lua5.4 cli.lua ARGUMENTS) it is the command; required, it gives `run`.
-- Dependencies: luhip, when a command needs it.
-- @module luhip.cli

local cli = {}

local USAGE = [[
usage: luhip                            a prompt: reads chunks and prints their values; `dev` and `luhip` are there
       luhip script.lua [arguments]     run a script; `arg` and `...` hold its arguments, as under lua
       luhip -i script.lua [arguments]  run it, then the prompt
       luhip -e 'code' [arguments]      run code, of several -e one after the other; `luhip` is there; -i goes before
       luhip - [arguments]              run what standard input holds
       luhip devices                    what is here, and why what is here cannot be used
       luhip doctor                     what is missing and how to get it, and which settings hold
       luhip compile --arch gfx90a file.hip  code objects, with no device (luhip compile --help)
       luhip tune script.lua            tuning under watch, kept and resumed (luhip tune --help)
       luhip bench [device]             luhip's overhead, measured here
       luhip completions bash|zsh|fish  completion of these words, for a shell to read
       luhip --version | --help

Exit code: the script's own where it gives one; 0: all went well; 1: a script or a command failed; 2: the words make no
sense; 130: Ctrl-C.
LUHIP_DEVICE=cpu|rocm:0|cuda:1 chooses the device that luhip.open() opens; docs/configuration.md has the other settings.
LUHIP_SIZE=N sets the size of the examples' problems. NO_COLOR=1: no colour at a terminal.
]]

--- What `--help` prints.
cli.usage = USAGE

local WRONG_USE, INTERRUPTED = 2, 130

local function complain(format, ...)
  io.stderr:write(require "luhip.colour"(2, "red", "luhip:"), " ", format:format(...), "\n")
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
local own_folder = own_path:match "^(.-)cli%.lua$"

-- The places, as a traceback spells them, of luhip's own Lua files among the running functions.
local function own_places()
  local places = {}
  for level = 3, math.huge do
    local info = debug.getinfo(level, "S")
    if not info then
      return places
    elseif info.source:sub(1, #own_folder + 1) == "@" .. own_folder then
      places[info.short_src] = true
    end
  end
end

-- Whether a line of a traceback is luhip's own: one of its files, a function of its core, what a file of it called in
-- C, and what is left of a call that it made last.
local function is_own(lines, i, own, hidden)
  local line = lines[i]
  if own[line:match "^\t(.-):%d+: in" or ""] or line:find("^\t%[C%]: in function 'luhip%.core%.") then
    return true
  elseif line:find "^\t%(%.%.%.tail calls" then
    return hidden
  end
  return line:find "^\t%[C%]: in" ~= nil and own[(lines[i + 1] or ""):match "^\t(.-):%d+: in" or ""] == true
end

-- The traceback down to the script's main chunk, without luhip's own functions.
local function traceback(e)
  local lines, own = {}, own_places()
  for line in debug.traceback(error_text(e), 2):gmatch "[^\n]*" do
    lines[#lines + 1] = line
  end
  local shown, hidden = {}, false
  for i, line in ipairs(lines) do
    local after = lines[i + 1] or ""
    if line:find("[C]: in function 'xpcall'", 1, true) and after:find(own_source, 1, true) then
      break
    end
    hidden = is_own(lines, i, own, hidden)
    if not hidden then
      shown[#shown + 1] = line
    end
  end
  return table.concat(shown, "\n")
end

-- Ctrl-C, as the interpreter or a wait of luhip has it.
local function is_interrupt(e)
  if type(e) == "string" then
    return e:find "interrupted!$" ~= nil
  end
  local core = package.loaded["luhip.core"]
  return core ~= nil and core.is_error(e) and e.kind == "interrupted"
end

-- Runs a loaded chunk; 0, or an exit code with the error on stderr.
local function run_chunk(chunk, message, arguments)
  if not chunk then
    complain("%s", message)
    return 1
  end
  local interrupted
  local ok, text = xpcall(chunk, function(e)
    interrupted = is_interrupt(e)
    return traceback(e)
  end, table.unpack(arguments))
  if not ok then
    complain("%s", interrupted and "interrupted" or text)
    return interrupted and INTERRUPTED or 1
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
  local missing = path ~= "-" and require "luhip.missing_path"(path, require("luhip.command_line").commands)
  if missing then
    complain("%s", missing)
    return 1
  end
  local chunk, message = loadfile(path ~= "-" and path or nil)
  return run_chunk(chunk, message, arguments)
end

-- One -e after the other, up to the first that fails; what follows them are the arguments of all.
local function run_code(words, at)
  local first, codes = at, {}
  while words[first] == "-e" do
    if not words[first + 1] then
      complain "-e needs code"
      return WRONG_USE
    end
    codes[#codes + 1] = words[first + 1]
    first = first + 2
  end
  local arguments = set_arg("-e", words, first)
  _G.luhip = require "luhip"
  local result = 0
  for _, code in ipairs(codes) do
    local chunk, message = load(code, "=(command line)")
    result = run_chunk(chunk, message, arguments)
    if result ~= 0 then
      break
    end
  end
  return result
end

-- ---- the prompt ------------------------------------------------------------------------------------------------

-- After a script or code, if there is one: its globals are there, and its failure is the exit code.
local function run_prompt(words, at)
  local first = words[at]
  if first and first:find "^%-." and first ~= "-e" then
    complain("-i: a script or -e expected, not '%s'", first)
    return WRONG_USE
  end
  local code = first == "-e" and run_code(words, at) or first and run_script(words, at) or 0
  if code == WRONG_USE then
    return code
  end
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

-- The table of overheads, which is measured by a script beside lua/ in a source tree. The device is opened here
-- too: one that cannot be is no error of that script.
local function run_bench(words)
  local script = own_folder:gsub("lua/luhip/$", "") .. "bench/overhead.lua"
  if not require("luhip.core").path_state(script) then
    complain "the benches are in luhip's source tree, not in what is installed: run scripts/luhip bench there"
    return 1
  end
  local ok, dev = pcall(require("luhip").open, words[2])
  if not ok then
    complain("bench: %s", require("luhip.errors").message(dev))
    return 1
  end
  return run_script({ script, dev.id }, 1)
end

local function run_completions(words)
  local command_line = require "luhip.command_line"
  local read, why = command_line.parse(words)
  if not read then
    complain("completions: %s", why)
    return WRONG_USE
  end
  io.stdout:write(command_line.completions(read.shell), "\n")
  return 0
end

local SIMPLE = {
  devices = run_devices,
  bench = run_bench,
  completions = run_completions,
  doctor = function()
    return require("luhip.doctor").run {}
  end,
}

local OPTIONS = { ["--version"] = run_version, ["-v"] = run_version, ["--help"] = run_help, ["-h"] = run_help }

-- A command without words of its own needs no argparse.
local function run_simple(words)
  if #words > 1 then
    local read, why = require("luhip.command_line").parse(words)
    if not read then
      complain("%s: %s%s", words[1], why, why:find "%?$" and "" or "; see luhip " .. words[1] .. " --help")
      return WRONG_USE
    end
  end
  return SIMPLE[words[1]](words)
end

local function run_option(words)
  local first = words[1]
  if first == "--" then
    complain "--: a script is missing"
    return WRONG_USE
  elseif not OPTIONS[first] then
    local near = require "luhip.nearest"(first, { "--help", "--version", "-e", "-i", "-h", "-v" })
    complain("unknown option '%s'; %s", first, near and "did you mean " .. near .. "?" or "see luhip --help")
    return WRONG_USE
  elseif #words > 1 then
    complain("'%s' takes no arguments", first)
    return WRONG_USE
  end
  return OPTIONS[first]()
end

--- Runs the command.
-- @tparam {string,...} words its arguments
-- @treturn integer the exit code: 0, 1 when a script failed, 2 when the arguments make no sense, 130 after Ctrl-C
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
  elseif first == "tune" then
    return require("luhip.tune.command").run(table.move(words, 2, #words, 1, {}), own_path)
  elseif SIMPLE[first] then
    return run_simple(words)
  elseif first:find "^%-." then
    return run_option(words)
  end
  return run_script(words, 1)
end

--- Runs the command and ends the process with its exit code, closing the state so that finalisers run.
-- @tparam {string,...} words
function cli.main(words)
  local ok, code = xpcall(function()
    require("luhip.core").hold_standard_files()
    return cli.run(words)
  end, error_text)
  if not ok then
    complain("%s", code)
    code = 1
  end
  if package.loaded["luhip.core"] and require("luhip.core").output_failed() then
    complain "standard output cannot be written"
    code = code == 0 and 1 or code
  end
  os.exit(code, true)
end

-- require passes the module's name; lua passes the command's words.
if ... == "luhip.cli" then
  return cli
end
cli.main { ... }
