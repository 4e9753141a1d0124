--- Running a tuning script in a worker process that may die of a configuration.
--
-- A kernel can take the process down, or leave a device that answers nothing any more. The script therefore runs in a
-- process of its own. When that ends by a signal, or says that its device did not survive, the configuration that was
-- being tried is blamed, once, in the store, and the script is run again: it takes what is finished out of the store
-- and goes on. A worker that is killed from outside (SIGKILL, which may be the system's lack of memory) leaves no blame
-- the first time; a configuration that was started twice without an end is.
-- Dependencies: luhip.core, luhip.tune.{failure,interpreter,overrides,report,store}.
-- @module luhip.tune.supervisor

local core = require "luhip.core"
local failure = require "luhip.tune.failure"
local interpreter = require "luhip.tune.interpreter"
local overrides = require "luhip.tune.overrides"
local report = require "luhip.tune.report"
local store = require "luhip.tune.store"

local supervisor = {}

local KILL, ALARM = 9, 14
local ENDING = { [1] = true, [2] = true, [3] = true, [15] = true } -- HUP, INT, QUIT, TERM: somebody wants us to end

local function say(format, ...)
  io.stderr:write("luhip tune: ", format:format(...), "\n")
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Runs the words in a process that this one waits for. The interpreter is the one that runs this.
local function run_worker(words, given)
  local command = { ("export %s=%s; exec"):format(overrides.VARIABLE, quote(core.json_text(given))) }
  if given.device then
    command[1] = ("export LUHIP_DEVICE=%s; %s"):format(quote(given.device), command[1])
  end
  command[2] = quote(interpreter())
  for _, word in ipairs(words) do
    command[#command + 1] = quote(word)
  end
  local _, how, code = os.execute(table.concat(command, " "))
  return how, code
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

-- The configuration that the worker started last and has no end.
local function unfinished(stored, opening)
  local open
  for n = opening.records + 1, stored.count do
    local record = stored:record(n)
    if record.kind == "start" and record.pid == opening.pid then
      open = record
    elseif open and record.key == open.key and store.config_text(record.params) == store.config_text(open.params) then
      open = nil
    end
  end
  return open
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
    local start = stored and unfinished(stored, opening)
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

local function poisoned(runs)
  for _, run in ipairs(runs) do
    if run.stopped == "poisoned" then
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

local function supervise(words, given)
  local first, seen, progress = {}, 0, -1
  while true do
    local how, code = run_worker(words, given)
    local opened, runs
    opened, runs, seen = read_status(given.status, seen)
    for path, opening in pairs(opened) do
      first[path] = first[path] or opening.records
    end
    if how == "exit" and not poisoned(runs) then
      return final_code(code, runs)
    elseif how == "signal" and ENDING[code] then
      return 128 + code
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
-- @treturn integer the exit code: the script's; 1 when a run found no winner or nothing can go on
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
