--- The prompt: reads chunks, runs them, prints their values.
--
-- A line is an expression whose values are printed, or a statement; what is not complete is continued on the next
-- line. Errors and Ctrl-C return to the prompt. At a terminal lines are edited and kept from session to session; where
-- input is no terminal, no prompt is printed. Lines are numbered over the whole session, so that "stdin:7:" is one
-- place, even in a function that was made long before.
-- Dependencies: luhip.core, luhip.prompt.*.
-- @module luhip.repl

local core = require "luhip.core"
local describe = require "luhip.prompt.show"

local repl = {}

repl.describe = describe

-- ---- chunks ----------------------------------------------------------------------------------------------------

--- Turns text into a function: an expression gives its values.
-- @tparam string text
-- @tparam string name of the chunk, in messages
-- @tparam[opt=1] integer line of the text's first line, in messages
-- @treturn ?function nil when it does not parse
-- @treturn ?string why
-- @treturn boolean whether more lines may complete it
function repl.load(text, name, line)
  local before = ("\n"):rep((line or 1) - 1)
  local value, no_value = load(before .. "return " .. text, name, "t")
  if value then
    return value, nil, false
  end
  local chunk, why = load(before .. text, name, "t")
  local more = not chunk and (why:find "<eof>$" or no_value:find "<eof>$") ~= nil
  return chunk, more and no_value:find "<eof>$" and no_value or why, more
end

local function error_text(e)
  local ok, text = pcall(tostring, e)
  return ok and text or ("(error object is a %s value)"):format(type(e))
end

local function is_interrupt(e)
  return core.is_error(e) and e.kind == "interrupted"
end

-- ---- lines -----------------------------------------------------------------------------------------------------

local function plain_line(session, prompt)
  if session.interactive then
    session.output:write(prompt)
    session.output:flush()
  end
  if session.interactive and session.input == io.stdin and core.isatty(0) then
    core.await_input()
  end
  local line = session.input:read "L"
  return line and line:gsub("\n$", "")
end

-- One line from the input: the text, false when it was interrupted, nil at its end.
local function read_line(session, prompt)
  local ok, line
  if session.editor then
    session.output:flush()
    ok, line = core.interruptible(session.editor.read, session.editor, prompt)
  else
    ok, line = core.interruptible(plain_line, session, prompt)
  end
  if not ok then
    if not is_interrupt(line) then
      error(line, 0)
    end
    session.output:write "\n"
    return false
  elseif line then
    table.insert(session.lines, line)
    if session.editor and line:find "%S" then
      session.editor:remember(line)
      require("luhip.prompt.history").add(line)
    end
  end
  return line
end

-- A whole chunk: the function or { command, rest }, or nil and why it does not parse; false when it was interrupted,
-- "end" at the end.
local function read_chunk(session)
  local text = read_line(session, "> ")
  session.first = #session.lines
  if not text then
    return text == nil and "end"
  end
  local name, rest = require("luhip.prompt.commands").parse(text)
  if name then
    return { name, rest }
  end
  while true do
    local chunk, why, more = repl.load(text, "=stdin", session.first)
    if chunk or not more then
      return chunk, why
    end
    local line = read_line(session, ">> ")
    if line == nil then
      return nil, why
    elseif not line then
      return false
    end
    text = text .. "\n" .. line
  end
end

-- ---- running ---------------------------------------------------------------------------------------------------

local function print_values(session, values)
  local parts = {}
  for i = 1, values.n do
    parts[i] = describe(values[i])
  end
  if values.n > 0 then
    session.output:write(table.concat(parts, "\t"), "\n")
  end
  session.output:flush()
end

local function complain(session, text)
  text = text:gsub("\n+$", "")
  local place = require "luhip.prompt.caret"(text, session.lines, session.first)
  session.output:flush()
  local red = session.errors == io.stderr and require "luhip.colour"(2, "red", text) or text
  session.errors:write(red, "\n", place and place .. "\n" or "")
  session.errors:flush()
end

-- Runs one chunk; whether it went well.
local function run_chunk(session, chunk)
  local results = table.pack(core.interruptible(chunk))
  if not results[1] then
    complain(session, is_interrupt(results[2]) and "interrupted" or error_text(results[2]))
    return false
  end
  local values = table.pack(table.unpack(results, 2, results.n))
  local ok, e = core.interruptible(print_values, session, values)
  if not ok then
    complain(session, error_text(e))
  end
  return ok
end

local function run_command(session, command)
  return run_chunk(session, function()
    return require("luhip.prompt.commands").run(session, table.unpack(command))
  end)
end

-- ---- the session -------------------------------------------------------------------------------------------------

-- Gives the global environment a `dev` that is opened when it is first asked for; a global of a script's comes first.
local function offer_device(session)
  if rawget(_G, "dev") ~= nil or getmetatable(_G) ~= nil then
    return
  end
  setmetatable(_G, {
    lazy = "dev",
    __index = function(_, key)
      return key == "dev" and session.device.open() or nil
    end,
  })
end

-- Lines are edited only where that is possible: input and output are this process's terminal.
local function start_editor(session)
  if not session.interactive or session.input ~= io.stdin or session.output ~= io.stdout then
    return
  end
  session.editor = core.editor(function(text)
    return require("luhip.prompt.complete").tab(text, require("luhip.prompt.commands").names)
  end)
  for _, line in ipairs(session.editor and require("luhip.prompt.history").load() or {}) do
    session.editor:remember(line)
  end
end

local function snapshot()
  local globals = {}
  for key, value in next, _G do
    globals[key] = value
  end
  return globals
end

-- What `:reset` does: the globals of the start, and no device.
local function restore(session)
  session.device.close()
  local keys = snapshot()
  for key in pairs(keys) do
    rawset(_G, key, session.globals[key])
  end
  for key, value in pairs(session.globals) do
    rawset(_G, key, value)
  end
  collectgarbage()
end

local function start(session)
  session = session or {}
  session.input = session.input or io.stdin
  session.output = session.output or io.stdout
  session.errors = session.errors or io.stderr
  if session.interactive == nil then
    session.interactive = core.isatty(0)
  end
  session.lines, session.first = {}, 1
  session.device = require "luhip.prompt.device"()
  session.load = function(code)
    return repl.load(code, "=code")
  end
  session.print_values = function(values)
    print_values(session, values)
  end
  session.reset = function()
    restore(session)
  end
  offer_device(session)
  session.globals = snapshot()
  if session.interactive then
    session.output:write(("luhip %s, %s; :help tells more\n"):format(core.version, session.device.text()))
  end
  start_editor(session)
  core.hold_interrupts(session.interactive)
  return session
end

--- Reads and runs chunks until the input ends.
-- @tparam[opt] table session input, output, errors (files; the standard ones by default), interactive (whether to print
--   prompts; by default whether standard input is a terminal)
-- @treturn integer exit code: 0; 1 when input is no terminal and its last chunk failed, as a shell has it
function repl.run(session)
  session = start(session)
  local well = true
  while true do
    local chunk, why = read_chunk(session)
    if chunk == "end" then
      break
    elseif type(chunk) == "table" then
      well = run_command(session, chunk)
    elseif chunk then
      well = run_chunk(session, chunk)
    elseif why then
      complain(session, why)
      well = false
    end
  end
  core.hold_interrupts(false)
  if session.interactive then
    session.output:write "\n"
  end
  if session.editor then
    session.editor:free()
  end
  return (well or session.interactive) and 0 or 1
end

return repl
