--- The prompt: reads chunks, runs them, prints their values.
--
-- A line is an expression whose values are printed, or a statement; what is not complete is continued on the next
-- line. Errors and Ctrl-C return to the prompt. Where input is no terminal, no prompt is printed.
-- Dependencies: luhip.core.
-- @module luhip.repl

local core = require "luhip.core"

local repl = {}

-- ---- values ----------------------------------------------------------------------------------------------------

local MAX_ITEMS, MAX_DEPTH = 20, 3
local show

local function show_key(key, depth, seen)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then
    return key
  end
  return "[" .. show(key, depth, seen) .. "]"
end

-- The keys after the list part, in an order that is always the same: numbers, strings, then others by their text.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b)
    local ta, tb = type(a), type(b)
    if ta ~= tb then
      return ta < tb
    elseif ta == "number" or ta == "string" then
      return a < b
    end
    return tostring(a) < tostring(b)
  end)
  return keys
end

local function show_table(t, depth, seen)
  if seen[t] or depth > MAX_DEPTH then
    return "{...}"
  end
  seen[t] = true
  local parts, n = {}, rawlen(t)
  for i = 1, math.min(n, MAX_ITEMS) do
    parts[#parts + 1] = show(rawget(t, i), depth + 1, seen)
  end
  if n > MAX_ITEMS then
    parts[#parts + 1] = ("... %d more"):format(n - MAX_ITEMS)
  end
  local keys = other_keys(t, n)
  for i = 1, math.min(#keys, MAX_ITEMS) do
    parts[#parts + 1] = show_key(keys[i], depth + 1, seen) .. " = " .. show(rawget(t, keys[i]), depth + 1, seen)
  end
  if #keys > MAX_ITEMS then
    parts[#parts + 1] = ("... %d more keys"):format(#keys - MAX_ITEMS)
  end
  seen[t] = nil
  return #parts > 0 and "{ " .. table.concat(parts, ", ") .. " }" or "{}"
end

function show(value, depth, seen)
  if type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n")
  end
  local meta = debug.getmetatable(value)
  if type(value) ~= "table" or (type(meta) == "table" and rawget(meta, "__tostring")) then
    return tostring(value)
  end
  return show_table(value, depth, seen)
end

--- A value as the prompt prints it: a string as it is, a table as a constructor cut to a readable size, anything else
-- by tostring.
-- @param value anything
-- @treturn string
function repl.describe(value)
  if type(value) == "string" then
    return value
  end
  return (show(value, 1, {}))
end

-- ---- chunks ----------------------------------------------------------------------------------------------------

--- Turns text into a function: an expression gives its values.
-- @tparam string text
-- @tparam string name of the chunk, in messages
-- @treturn ?function nil when it does not parse
-- @treturn ?string why
-- @treturn boolean whether more lines may complete it
function repl.load(text, name)
  local value, no_value = load("return " .. text, name, "t")
  if value then
    return value, nil, false
  end
  local chunk, why = load(text, name, "t")
  local more = not chunk and (why:find "<eof>$" or no_value:find "<eof>$") ~= nil
  return chunk, more and no_value:find "<eof>$" and no_value or why, more
end

local function error_text(e)
  local ok, text = pcall(tostring, e)
  return ok and text or ("(error object is a %s value)"):format(type(e))
end

-- ---- the loop --------------------------------------------------------------------------------------------------

local function is_interrupt(e)
  return core.is_error(e) and e.kind == "interrupted"
end

-- One line from the input: the text, false when it was interrupted, nil at its end.
local function read_line(session, prompt)
  if session.interactive then
    session.output:write(prompt)
    session.output:flush()
  end
  local ok, line = core.interruptible(session.input.read, session.input, "L")
  if not ok then
    if not is_interrupt(line) then
      error(line, 0)
    end
    session.output:write "\n"
    return false
  end
  return line
end

-- A whole chunk: the function, or nil and why it does not parse; false when it was interrupted, "end" at the end.
local function read_chunk(session)
  local text = read_line(session, "> ")
  if not text then
    return text == nil and "end"
  end
  while true do
    local chunk, why, more = repl.load(text, "=stdin")
    if chunk or not more then
      return chunk, why
    end
    local line = read_line(session, ">> ")
    if line == nil then
      return nil, why
    elseif not line then
      return false
    end
    text = text .. line
  end
end

local function print_values(session, values)
  local parts = {}
  for i = 1, values.n do
    parts[i] = repl.describe(values[i])
  end
  if values.n > 0 then
    session.output:write(table.concat(parts, "\t"), "\n")
  end
  session.output:flush()
end

local function complain(session, text)
  session.output:flush()
  session.errors:write(text, "\n")
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

--- Reads and runs chunks until the input ends.
-- @tparam[opt] table session input, output, errors (files; the standard ones by default), interactive (whether to print
--   prompts; by default whether standard input is a terminal)
-- @treturn integer exit code: 0; 1 when input is no terminal and its last chunk failed, as a shell has it
function repl.run(session)
  session = session or {}
  session.input = session.input or io.stdin
  session.output = session.output or io.stdout
  session.errors = session.errors or io.stderr
  if session.interactive == nil then
    session.interactive = core.isatty(0)
  end
  local well = true
  while true do
    local chunk, why = read_chunk(session)
    if chunk == "end" then
      break
    elseif chunk then
      well = run_chunk(session, chunk)
    elseif why then
      complain(session, why)
      well = false
    end
  end
  if session.interactive then
    session.output:write "\n"
  end
  return (well or session.interactive) and 0 or 1
end

return repl
