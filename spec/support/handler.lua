-- busted output: one character a spec while it runs, failures in full as they happen, then `N passed, N failed`
-- alone on its line (`, N skipped` follows where some were pending).
--
-- LUHIP_TEST_COUNTS names a file that takes "passed failed skipped" instead of that line, for a script that
-- adds up several runs, and FILE.current, which names the spec being run, in case the process dies of it.
-- LUHIP_TEST_RESULTS names a file to which "status<TAB>name" is added for each spec: see rules.lua.

local pretty = require "pl.pretty"

local marks = { success = ".", pending = "s" }

local function text_of(message)
  if type(message) == "string" then
    return message
  elseif message == nil then
    return "nil error"
  elseif getmetatable(message) and getmetatable(message).__tostring or type(message) == "userdata" then
    return tostring(message)
  end
  return pretty.write(message)
end

local function place(trace)
  return trace and trace.short_src and ("%s:%d: "):format(trace.short_src, trace.currentline or 0) or ""
end

local function report(title, entry, with_trace)
  io.write("\n", title, ": ", place(entry.element.trace), entry.name, "\n")
  io.write((text_of(entry.message):gsub("[^\n]+", "    %0")), "\n")
  local traceback = with_trace and entry.trace and entry.trace.traceback
  if traceback then
    io.write((traceback:gsub("^%s*", "", 1):gsub("[^\n]+", "    %0")), "\n")
  end
end

local function write_file(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text, "\n")
  file:close()
end

return function()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()
  local counts_file = os.getenv "LUHIP_TEST_COUNTS"
  local results = os.getenv "LUHIP_TEST_RESULTS" and assert(io.open(os.getenv "LUHIP_TEST_RESULTS", "a"))
  local column = 0

  local function mark(status)
    io.write(marks[status] or "?")
    column = (column + 1) % 100
    if column == 0 then
      io.write "\n"
    end
    io.flush()
  end

  -- A failure is shown when it happens: the process may not live to show it later.
  local function failed(list, with_trace)
    report("FAILED", list[#list], with_trace)
    column = 0
    io.write "\n"
    io.flush()
  end

  function handler.testStart(element)
    if counts_file then
      write_file(counts_file .. ".current", handler.getFullName(element))
    end
    return nil, true
  end

  function handler.testEnd(element, _, status)
    if results then
      results:write(status, "\t", (handler.getFullName(element):gsub("%s+", " ")), "\n")
      results:flush()
    end
    if status == "failure" then
      failed(handler.failures, false)
    elseif status ~= "error" then
      mark(status)
    end
    return nil, true
  end

  function handler.anyError()
    failed(handler.errors, true)
    return nil, true
  end

  -- A failed assertion in a setup is nobody's testEnd.
  function handler.anyFailure(element)
    if element.descriptor ~= "it" then
      handler.anyError()
    end
    return nil, true
  end

  function handler.suiteEnd()
    io.write "\n"
    for _, entry in ipairs(handler.pendings) do
      report("skipped", entry, false)
    end
    local passed, failures = handler.successesCount, handler.failuresCount + handler.errorsCount
    local skipped = handler.pendingsCount
    if counts_file then
      write_file(counts_file, ("%d %d %d"):format(passed, failures, skipped))
    else
      local tail = skipped > 0 and (", %d skipped"):format(skipped) or ""
      io.write(("\n%d passed, %d failed%s\n"):format(passed, failures, tail))
    end
    io.flush()
    return nil, true
  end

  busted.subscribe({ "test", "start" }, handler.testStart, { predicate = handler.cancelOnPending })
  busted.subscribe({ "test", "end" }, handler.testEnd, { predicate = handler.cancelOnPending })
  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  busted.subscribe({ "error" }, handler.anyError)
  busted.subscribe({ "failure" }, handler.anyFailure)

  return handler
end
