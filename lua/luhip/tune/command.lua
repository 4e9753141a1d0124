--- `luhip tune`: runs a tuning script under watch; inspects, merges, converts and prunes stores.
-- Dependencies: luhip.core, luhip.errors, luhip.missing_path, luhip.whole_file,
-- luhip.tune.{export,import,outputs,ranks,report,store,supervisor,words}.
-- @module luhip.tune.command

local core = require "luhip.core"
local errors = require "luhip.errors"
local export = require "luhip.tune.export"
local import = require "luhip.tune.import"
local missing_path = require "luhip.missing_path"
local option_words = require "luhip.tune.words"
local outputs = require "luhip.tune.outputs"
local ranks = require "luhip.tune.ranks"
local report = require "luhip.tune.report"
local store = require "luhip.tune.store"
local supervisor = require "luhip.tune.supervisor"
local whole_file = require "luhip.whole_file"

local command = {}

local USAGE = [[
usage: luhip tune [options] script.lua [arguments]   run a script; its tuning runs obey the options, which may stand
                                                     behind it too; what follows a -- there is the script's own
         --budget N        stop after N seconds (60, 60s) or N configurations (200c); may be given twice
         --store FILE      where rows are kept: instead of the script's, or SCRIPT.tune where it has none
         --resume          what the store knows is not measured again, also where the script says resume = false
         --no-resume       everything is measured again; without either it is as the script says, by default resumed
         --hang N          a configuration that takes longer than N seconds ends its process (default 300)
         --worker URL      works at the runs of the script together with all who are given the same database:
                           postgres://user@host/base; the same command under srun, mpirun or ssh is one more worker
         --report FILE     a page of the result, in HTML; FILE-NAME of further runs of the script, as of --t4, --csv
         --t4 FILE         the rows as T4, a JSON format
         --csv FILE        the rows as CSV
       luhip tune inspect STORE...                   what is in there
       luhip tune merge OUT STORE...                 adds what OUT has not
       luhip tune convert [options] IN OUT           IN: a store, or JSON, gzipped or not: a Kernel Tuner cache, T4,
                                                     KTT's results, a result of luhip; OUT: .tune (a store, which is
                                                     added to), .json or .csv
         --format FORMAT   of a JSON file: t4 or kernel_tuner
         --name TEXT, --device TEXT   of rows that come from JSON
       luhip tune prune [options] STORE              keeps the best of each device and problem
         --keep N          how many of them (default 10)
         --failures        keeps what failed, too
]]

--- What `--help` prints.
command.usage = USAGE

local function complain(format, ...)
  io.stderr:write("luhip tune: ", format:format(...), "\n")
  return 2
end

-- ---- options ------------------------------------------------------------------------------------------------------

local function read_budget(texts)
  local budget = {}
  for _, text in ipairs(texts or {}) do
    local number, unit = text:match "^(%d+%.?%d*)%s*(%a*)$"
    number = tonumber(number)
    if not number or number <= 0 then
      return nil, ("--budget: '%s' is neither seconds (60) nor configurations (200c)"):format(text)
    elseif unit == "" or unit == "s" then
      budget.seconds = number
    elseif (unit == "c" or unit == "configs") and math.tointeger(number) then
      budget.configs = math.tointeger(number)
    else
      return nil, ("--budget: '%s' is neither seconds (60) nor configurations (200c)"):format(text)
    end
  end
  return budget
end

-- ---- running ------------------------------------------------------------------------------------------------------

local RUN = {
  budget = true,
  csv = true,
  hang = true,
  ["no-resume"] = false,
  report = true,
  resume = false,
  store = true,
  t4 = true,
  worker = true,
}
local HANG = 300

local function absolute(path)
  if path and store.has_scheme(path) then
    return path
  end
  return path and path:sub(1, 1) ~= "/" and core.working_folder and core.working_folder() .. "/" .. path or path
end

-- What the options say that is no path: budget, hang, resume, worker; or nil and what is wrong.
local function read_told(options)
  local budget, wrong = read_budget(options.budget)
  if not budget then
    return nil, wrong
  end
  local hang = options.hang and math.tointeger(tonumber(option_words.last(options, "hang")))
    or not options.hang and HANG
  local worker, afresh = option_words.last(options, "worker"), options["no-resume"] ~= nil
  if not hang or hang < 1 then
    return nil, ("--hang: '%s' is no number of seconds"):format(option_words.last(options, "hang"))
  elseif worker and not store.is_database(worker) then
    return nil, ("--worker: '%s' is no database (postgres://user@host/base)"):format(worker)
  elseif worker and options.store then
    return nil, "--worker names the store already; --store beside it says another"
  elseif options.store and store.wrong_scheme(option_words.last(options, "store")) then
    return nil, ("--store: %s"):format(store.wrong_scheme(option_words.last(options, "store")))
  elseif worker and afresh then
    return nil, "--worker goes on with what the database knows; --no-resume beside it says otherwise"
  elseif options.resume and afresh then
    return nil, "--resume and --no-resume say the opposite of each other"
  end
  local told = { budget = next(budget) and budget or nil, hang = hang, worker = worker ~= nil or nil }
  if worker or options.resume then
    told.resume = true
  elseif afresh then
    told.resume = false
  end
  told.store, told.device = worker, worker and ranks.device() or nil
  return told
end

-- Runs the script, and looks at what its runs told of themselves.
local function supervise(words, told)
  told.outcome = os.tmpname()
  local ok, code = pcall(supervisor.run, words, told)
  local tuned, unwritten = outputs.outcome(told.outcome)
  os.remove(told.outcome)
  if not ok then
    error(code, 0)
  elseif code == 0 and not tuned then
    complain("%s ran no tuning: it came to no tune { ... }", words[2])
    return 1
  end
  return code == 0 and unwritten and 1 or code
end

local function run_script(words, cli)
  local options, rest, before = option_words.read(words, RUN, true)
  if not options then
    return complain("%s", rest)
  elseif #rest == 0 then
    return complain "a script is missing; see luhip tune --help"
  end
  local script = rest[1]
  if script:find "^%-." then
    if before ~= 0 then
      return complain("%s", option_words.unknown(script, script, RUN))
    end
    script = "./" .. script
    rest[1] = script
  end
  local told, wrong = read_told(options)
  if not told then
    return complain("%s", wrong)
  end
  told.store = told.store or absolute(option_words.last(options, "store"))
  for _, name in ipairs(outputs.NAMES) do
    told[name] = absolute(option_words.last(options, name))
  end
  wrong = outputs.wrong(told)
  if wrong then
    return complain("%s", wrong)
  end
  local file, why = io.open(script, "r")
  if not file then
    complain("%s", missing_path(script) or "cannot open " .. why)
    return 1
  end
  file:close()
  told.default_store = absolute(script:match "([^/]+)$":gsub("%.lua$", "") .. ".tune")
  return supervise({ cli, table.unpack(rest) }, told)
end

-- ---- stores -------------------------------------------------------------------------------------------------------

local function open_to_read(path)
  local stored, why = store.read(path)
  if not stored then
    errors.raise("file", "cannot read %s", why)
  end
  return stored
end

-- Opens a store whose rows go elsewhere, and says what will not.
local function open_source(path)
  local stored = open_to_read(path)
  local passed = stored:passed_over()
  if passed then
    io.stderr:write("luhip tune: ", passed, "\n")
  end
  return stored
end

-- Whether a file is JSON, gzipped or not, by how it begins.
local function is_json(path)
  local file = not store.is_database(path) and io.open(path, "rb")
  local start = file and file:read(64) or ""
  if file then
    file:close()
  end
  return start:sub(1, 2) == "\31\139" or start:find "^%s*[{%[]" ~= nil
end

local function sorted(map)
  local names = {}
  for name in pairs(map) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function problem_text(problem)
  local parts = {}
  for i, name in ipairs(sorted(problem)) do
    parts[i] = ("%s=%s"):format(name, tostring(problem[name]))
  end
  return table.concat(parts, " ")
end

local function params_text(params)
  return problem_text(params)
end

local function counted(n, what)
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

local function inspect(given)
  local options, words = option_words.read(given, {})
  if not options or #words == 0 then
    return complain("inspect: %s", options and "a store is missing" or words)
  end
  for _, path in ipairs(words) do
    local stored = open_to_read(path)
    local lines = { { "name", "device", "problem", "ok", "failed", "best", "configuration" } }
    for _, group in ipairs(store.groups(stored:rows())) do
      local best = group.rows[1]
      lines[#lines + 1] = {
        tostring(group.name),
        group.device,
        problem_text(group.problem),
        tostring(#group.rows),
        tostring(group.failed),
        best and ("%s %s"):format(report.number(store.score(best)), best.objective or "ms") or "-",
        best and params_text(best.params) or "-",
      }
    end
    local later = stored.unknown > 0 and (", %d of a later version"):format(stored.unknown) or ""
    print(
      ("%s: %s, %s%s"):format(path, counted(stored.count, "record"), counted(stored.damaged, "damaged line"), later)
    )
    local left = { true, true, true, false, false, false, true }
    for _, line in ipairs(#lines > 1 and report.columns(lines, left) or {}) do
      print("  " .. line)
    end
    for _, name in ipairs(sorted(stored.defaults)) do
      print(("  the default of %s: %s"):format(name, problem_text(stored.defaults[name])))
    end
  end
  return 0
end

-- Appends the rows that the store has not, or has older.
local function add_rows(target, rows)
  local added = 0
  for _, row in ipairs(rows) do
    local known = target:find(row.key, row.params)
    local same = known
      and type(row.time) == type(known.time)
      and (type(row.time) == "number" or type(row.time) == "string")
    if not known or (same and row.time > known.time) then
      target:append(row)
      added = added + 1
    end
  end
  return added
end

local function merge(given)
  local options, words = option_words.read(given, {})
  if not options or #words < 2 then
    return complain("merge: %s", options and "OUT and at least one store expected" or words)
  end
  local sources = {}
  for i = 2, #words do
    sources[i - 1] = open_source(words[i])
  end
  local target, added = store.open(words[1]), 0
  for _, source in ipairs(sources) do
    added = added + add_rows(target, source:rows())
    for name, params in pairs(source.defaults) do
      if not target.defaults[name] then
        target:append { kind = "default", name = name, params = params }
      end
    end
  end
  target:close()
  print(("%s: %d rows added"):format(words[1], added))
  return 0
end

local CONVERT = { format = true, name = true, device = true }

local function write_json(path, rows, format)
  if format == "t4" then
    whole_file.write(path, export.t4(rows), "cannot write %s")
    return #rows
  end
  local text, count = export.kernel_tuner(rows)
  whole_file.write(path, text, "cannot write %s")
  return count
end

local function convert(words)
  local options, rest = option_words.read(words, CONVERT)
  if not options or #rest ~= 2 then
    return complain("convert: %s", options and "IN and OUT expected" or rest)
  end
  local from, to, format = rest[1], rest[2], option_words.last(options, "format") or "t4"
  local ending = store.is_database(to) and "tune" or to:match "[^/.]%.([^/.]*)$"
  if format ~= "t4" and format ~= "kernel_tuner" then
    return complain("convert: no format '%s'; there are t4 and kernel_tuner", format)
  elseif ending ~= "tune" and ending ~= "json" and ending ~= "csv" then
    return complain("convert: what '%s' is to be is told by its ending: .tune (a store), .json or .csv", to)
  elseif options.format and ending ~= "json" then
    return complain("convert: --format is of a JSON file, and '%s' is none", to)
  end
  local rows
  if is_json(from) then
    local read =
      import.read(from, { name = option_words.last(options, "name"), device = option_words.last(options, "device") })
    if read.lost then
      io.stderr:write(
        ("luhip tune: %s: it ends early, in the middle of a record; read is what is whole\n"):format(from)
      )
    end
    rows = read.rows
  elseif options.name or options.device then
    return complain "convert: --name and --device are of rows that come from JSON"
  else
    rows = open_source(from):rows()
  end
  local count, more = #rows, ""
  if ending == "csv" then
    whole_file.write(to, export.csv(rows), "cannot write %s")
  elseif ending == "json" then
    count = write_json(to, rows, format)
    local fields = format == "t4" and export.t4_loses(rows) or {}
    if #fields > 0 then
      more = (" without %s, for which T4 has no place"):format(table.concat(fields, ", "))
    elseif count < #rows then
      more = (", those of the first kernel, device and problem; other rows, left out: %d"):format(#rows - count)
    end
  else
    local target = store.open(to)
    more = (", %d of them added"):format(add_rows(target, rows))
    target:close()
  end
  print(("%s: %d rows%s"):format(to, count, more))
  return 0
end

-- The rows that stay, and how many there are.
local function choose(stored, keep, failures)
  local kept, rows = {}, stored:rows()
  for _, group in ipairs(store.groups(rows)) do
    table.move(group.rows, 1, math.min(keep, #group.rows), #kept + 1, kept)
  end
  for _, row in ipairs(failures and rows or {}) do
    if not store.score(row) then
      kept[#kept + 1] = row
    end
  end
  return kept, #rows
end

local function write_rows(fresh, stored, rows)
  local journal <close> = core.journal(fresh)
  for name, params in pairs(stored.defaults) do
    journal:append(core.json_text { kind = "default", name = name, params = params })
  end
  for _, row in ipairs(rows) do
    journal:append(core.json_text(row))
  end
  for _, i in ipairs(stored.strangers) do
    journal:append(stored.text:text(i))
  end
  journal:sync()
end

-- Replaces a store's file by one with these rows. Nobody appends meanwhile: who waits to, appends to the new file.
local function replace(stored, rows)
  local fresh = stored.path .. ".new"
  os.remove(fresh)
  local ok, failure = pcall(write_rows, fresh, stored, rows)
  if not ok then
    os.remove(fresh)
    error(failure, 0)
  end
  local renamed, why = os.rename(fresh, stored.path)
  if not renamed then
    os.remove(fresh)
    errors.raise("file", "cannot replace %s", why)
  end
end

local function prune(words)
  local options, rest = option_words.read(words, { keep = true, failures = false })
  if not options or #rest ~= 1 then
    return complain("prune: %s", options and "one store expected" or rest)
  end
  local keep, path = math.tointeger(tonumber(option_words.last(options, "keep") or 10)), rest[1]
  if not keep or keep < 1 then
    return complain("prune: --keep: '%s' is no number of rows", option_words.last(options, "keep"))
  elseif store.is_database(path) then
    return complain "prune: a store's file expected; a database is pruned in SQL"
  end
  open_to_read(path) -- which says so when there is none, where a journal would be made
  local journal <close> = core.journal(path)
  journal:lock()
  local stored = open_to_read(path)
  local kept, count = choose(stored, keep, option_words.last(options, "failures"))
  replace(stored, kept)
  print(("%s: %d of %d rows kept"):format(path, #kept, count))
  return 0
end

local COMMANDS = { inspect = inspect, merge = merge, convert = convert, prune = prune }

-- Whether the options are asked for, by a word that is not the script's own.
local function wants_help(words)
  for _, word in ipairs(words) do
    if word == "--" then
      return false
    elseif word == "--help" or word == "-h" then
      return true
    end
  end
  return false
end

--- Runs the command.
-- @tparam {string,...} words behind `luhip tune`
-- @tparam string cli the path of cli.lua
-- @treturn integer the exit code
function command.run(words, cli)
  local first = words[1]
  if not first or wants_help(words) then
    io[first and "stdout" or "stderr"]:write(USAGE)
    return first and 0 or 2
  end
  local run = COMMANDS[first]
  if not run then
    return run_script(words, cli)
  end
  local ok, code = pcall(run, table.move(words, 2, #words, 1, {}))
  if ok then
    return code
  elseif errors.kind(code) then
    io.stderr:write("luhip tune: ", errors.message(code), "\n")
    return 1
  end
  error(code, 0)
end

return command
