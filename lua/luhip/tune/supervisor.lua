--- Running a tuning script in a worker process that may die of a configuration.
--
-- A kernel can take the process down, or leave a device that answers nothing any more. The script therefore runs in a
-- process of its own. When that ends by a signal, or says that its device did not survive, the configuration that was
-- being tried is blamed, once, in the store, and the script is run again: it takes what is finished out of the store
-- and goes on. A worker that is killed from outside (SIGKILL, which may be the system's lack of memory) leaves no blame
-- the first time; a configuration that was started twice without an end is. Who asks the worker or this process to end
-- (Ctrl-C, SIGTERM, SIGHUP) ends both, and no configuration is to blame: what was tried then gets its end in the store.
-- Dependencies: luhip.core, luhip.tune.{failure,interpreter,overrides,report,store}.
-- @module luhip.tune.supervisor

local core = require "luhip.core"
local failure = require "luhip.tune.failure"
local interpreter = require "luhip.tune.interpreter"
local overrides = require "luhip.tune.overrides"
local report = require "luhip.tune.report"
local store = require "luhip.tune.store"

local supervisor = {}

local INTERRUPT, KILL, ALARM = 2, 9, 14
local ENDING = { [1] = true, [2] = true, [3] = true, [15] = true } -- HUP, INT, QUIT, TERM: somebody wants us to end

local function say(format, ...)
  io.stderr:write("luhip tune: ", format:format(...), "\n")
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Runs the words in a process that this one waits for. The interpreter is the one that runs this. How it ended, and the
-- signal that asked this process to end meanwhile.
local function run_worker(words, given)
  local command = { ("export %s=%s; exec"):format(overrides.VARIABLE, quote(core.json_text(given))) }
  if given.device then
    command[1] = ("export LUHIP_DEVICE=%s; %s"):format(quote(given.device), command[1])
  end
  command[2] = quote(interpreter())
  for _, word in ipairs(words) do
    command[#command + 1] = quote(word)
  end
  return core.watch(table.concat(command, " "))
end

-- What the worker reported: stores with the number of records they had, and how its runs ended.
local function read_status(path, from)
  local opened, runs = {}, {}
  local records = core.journal_records(path)
  local count = records and #records or 0
  for i = from + 1, count do
    local record = records:get(i)
    if record.kind == "open" then
      opened[record.store] = opened[record.store] or record
    elseif record.kind == "run" then
      runs[#runs + 1] = record
    end
  end
  return opened, runs, count
end

-- The configurations that the worker started and that have no end, in order: several devices try several at once.
local function unfinished(stored, opening)
  local open = {}
  for n = opening.records + 1, stored.count do
    local record = stored:record(n)
    for i = #open, 1, -1 do
      if record.key == open[i].key and store.config_text(record.params) == store.config_text(open[i].params) then
        table.remove(open, i)
      end
    end
    if record.kind == "start" and record.pid == opening.pid then
      open[#open + 1] = record
    end
  end
  return open
end

-- Ends what the worker was trying when somebody ended it: nothing is to blame for that. Claims in a database end with
-- their connection.
local function abandon(opened)
  for path, opening in pairs(opened) do
    local stored = not store.is_database(path) and store.read(path)
    local open = stored and unfinished(stored, opening) or {}
    local s = #open > 0 and store.open(path)
    for _, start in ipairs(open) do
      s:append { kind = "end", name = start.name, key = start.key, params = start.params, pid = start.pid }
    end
    if s then
      s:close()
    end
  end
end

-- A row for it, like those of its key.
local function blame(path, start, status, message)
  local s = store.open(path)
  local row = { kind = "row", name = start.name, key = start.key, params = start.params, time = os.time() }
  for n = 1, s.count do
    local record = s:record(n)
    if record.kind == "row" and record.key == start.key then
      for _, field in ipairs { "device", "arch", "driver", "toolchain", "source", "options", "problem" } do
        row[field] = record[field]
      end
      break
    end
  end
  row.status, row.error = status, { kind = status, message = message }
  s:append(row)
  s:close()
end

local function config_of(start)
  local names = {}
  for name in pairs(start.params) do
    names[#names + 1] = name
  end
  table.sort(names)
  return report.config(start.params, names)
end

-- Blames what the dead worker was doing; true when there was something.
local function find_blame(opened, code, hang)
  for path, opening in pairs(opened) do
    local stored = store.read(path)
    local open = stored and unfinished(stored, opening) or {}
    local start = open[#open]
    if start and code == KILL then
      say("the worker process was killed while it tried %s; it is tried once more", config_of(start))
      return true
    elseif start then
      local status = code == ALARM and "timeout" or "fault"
      local message = code == ALARM and ("no end within %d s"):format(hang)
        or ("the worker process died of %s"):format(failure.signal(code))
      blame(path, start, status, message)
      say("%s while it tried %s; going on with a new process", message, config_of(start))
      return true
    elseif store.is_database(path) then
      say("the worker process died of %s; another has what it tried; going on with a new process", failure.signal(code))
      return true
    end
  end
  return false
end

local function has_stopped(runs, why)
  for _, run in ipairs(runs) do
    if run.stopped == why then
      return true
    end
  end
  return false
end

local function records_in(opened)
  local count = 0
  for path in pairs(opened) do
    local stored = store.read(path)
    count = count + (stored and (stored.progress or stored.count) or 0)
  end
  return count
end

-- The exit code of a script that ended by itself: a run without a winner is a failure too.
local function final_code(code, runs)
  for _, run in ipairs(runs) do
    if not run.best then
      return math.max(code, 1)
    end
  end
  return code
end

-- The signal by which somebody ended the worker or wants us to end; nil where nobody did.
local function ending(how, code, asked, runs)
  if asked or how == "signal" and ENDING[code] then
    return asked or code
  end
  return has_stopped(runs, "interrupted") and INTERRUPT or nil
end

local function supervise(words, given)
  local first, seen, progress = {}, 0, -1
  while true do
    local how, code, asked = run_worker(words, given)
    local opened, runs
    opened, runs, seen = read_status(given.status, seen)
    for path, opening in pairs(opened) do
      first[path] = first[path] or opening.records
    end
    local signal = ending(how, code, asked, runs)
    if signal then
      abandon(opened)
      return 128 + signal
    elseif how == "exit" and not has_stopped(runs, "poisoned") then
      return final_code(code, runs)
    end
    if how == "exit" then
      say "the device did not survive a configuration; going on with a new process"
    elseif not find_blame(opened, code, given.hang) then
      say("the worker process died of %s outside of a configuration", failure.signal(code))
      return 1
    end
    local now = records_in(opened)
    if now <= progress then
      say "no progress since the last new process; giving up"
      return 1
    end
    progress = now
    given.since = given.resume and nil or first
  end
end

--- Runs a script's tuning under watch.
-- @tparam {string,...} words the command line behind the interpreter: cli.lua, the script, its arguments
-- @tparam table given what the runs are told, see luhip.tune.overrides
-- @treturn integer the exit code: the script's; 1 when a run found no winner or nothing can go on; 128 and the
--   signal's number when a signal asked to end (130: Ctrl-C)
function supervisor.run(words, given)
  given.status, given.parent = os.tmpname(), core.pid()
  if given.device then
    say("this worker takes %s", given.device)
  end
  local ok, code = pcall(supervise, words, given)
  os.remove(given.status)
  if not ok then
    error(code, 0)
  end
  return code
end

return supervisor
