--- The files that `luhip tune` is asked for: `--report`, `--t4`, `--csv`.
--
-- The command looks whether they can be written before anything runs. The worker writes those of each run as it ends:
-- the first run's under the names that were given, further ones' with the run's name before the ending. A file that
-- cannot be written takes neither the others nor the script with it. What happened goes to the command through a
-- journal (`outcome`), for its exit code.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.tune.outputs

local core = require "luhip.core"
local errors = require "luhip.errors"

local outputs = {}

--- The options, in the order in which files are written.
outputs.NAMES = { "report", "t4", "csv" }

local METHOD = { report = "report", t4 = "save_t4", csv = "save_csv" }

-- ---- before -------------------------------------------------------------------------------------------------------

local function wrong_with(path)
  local there = core.path_state(path)
  if there and there.type == "folder" then
    return ("'%s' is a folder; a file's name expected"):format(path)
  elseif there and there.type ~= "file" then
    return nil -- a device or a pipe
  end
  local folder = path:match "^(.*)/[^/]*$"
  folder = folder == "" and "/" or folder or "."
  local state = core.path_state(folder)
  if not state then
    return ("cannot write %s: there is no folder %s"):format(path, folder)
  elseif state.type ~= "folder" then
    return ("cannot write %s: %s is no folder"):format(path, folder)
  elseif not state.writable then
    return ("cannot write %s: nothing can be written into the folder %s"):format(path, folder)
  end
  return nil
end

--- Looks for what will keep the files from being written.
-- @tparam table told paths by option
-- @treturn ?string a sentence that names the option; nil when all is well
function outputs.wrong(told)
  local by_path = {}
  for _, name in ipairs(outputs.NAMES) do
    local path = told[name]
    local wrong = path and wrong_with(path)
    if wrong then
      return ("--%s: %s"):format(name, wrong)
    elseif path and by_path[path] then
      return ("--%s: '%s' is the file of --%s already"):format(name, path, by_path[path])
    elseif path then
      by_path[path] = name
    end
  end
  return nil
end

-- ---- while a script runs ------------------------------------------------------------------------------------------

local runs, taken, journal = 0, {}, nil

local function tell(told, kind)
  if told and told.outcome then
    journal = journal or core.journal(told.outcome)
    journal:append(core.json_text { kind = kind })
  end
end

--- Notes that the script came to a run.
-- @tparam ?table told what this process was told, see luhip.tune.overrides
function outputs.begin(told)
  tell(told, "begin")
end

-- The first run's file, or one beside it that no run of this process has.
local function path_for(path, name)
  local there = core.path_state(path)
  if runs == 1 or (there and there.type ~= "file") then
    return path
  end
  local folder, file = path:match "^(.-)([^/]*)$"
  local stem, ending = file:match "^(.+)(%.[^.]*)$"
  local start = ("%s%s-%s"):format(folder, stem or file, (name:gsub("[^%w_.-]+", "_")))
  local chosen, n = start .. (ending or ""), runs
  while taken[chosen] do
    chosen, n = ("%s-%d%s"):format(start, n, ending or ""), n + 1
  end
  return chosen
end

local function say(name, text)
  io.stderr:write("luhip tune: --", name, ": ", text, "\n")
end

--- Writes the files of a run, each as far as it can, and says which on stderr.
-- @tparam Result made
-- @tparam table told what this process was told, see luhip.tune.overrides
function outputs.write(made, told)
  runs = runs + 1
  for _, name in ipairs(outputs.NAMES) do
    if told[name] then
      local path = path_for(told[name], tostring(made.name))
      taken[path] = true
      local ok, e = pcall(made[METHOD[name]], made, path)
      if ok then
        say(name, ("%s is that of '%s'"):format(path, tostring(made.name)))
      else
        say(name, errors.kind(e) and errors.message(e) or tostring(e))
        tell(told, "unwritten")
      end
    end
  end
end

-- ---- after --------------------------------------------------------------------------------------------------------

--- What became of the script's runs.
-- @tparam string path the journal
-- @treturn boolean whether there was one
-- @treturn boolean whether a file could not be written
function outputs.outcome(path)
  local records, seen = core.journal_records(path), {}
  for i = 1, records and #records or 0 do
    seen[records:get(i).kind] = true
  end
  return seen.begin == true, seen.unwritten == true
end

return outputs
