--- Reading what other tuners recorded: Kernel Tuner's caches and T4 results, KTT's results and results of luhip.tune as
-- JSON, as records of luhip.tune.store.
--
-- Files may be compressed (.gz), and may end too early, as a Kernel Tuner cache does while it is written: what is
-- complete is read. Such records say nothing of source and options, so they never stand in for a measurement; they are
-- what searches begin with, and what `tune.best` chooses from.
-- Dependencies: luhip.core, luhip.errors, luhip.tune.{recorded,store}.
-- @module luhip.tune.import

local core = require "luhip.core"
local errors = require "luhip.errors"
local recorded = require "luhip.tune.recorded"
local store = require "luhip.tune.store"

local import = {}

-- ---- files -------------------------------------------------------------------------------------------------------

--- The text of a file, decompressed when it is gzipped.
-- @tparam string path
-- @treturn string
-- @raise kind "file"
function import.text(path)
  local text, why = core.read_text(path)
  if not text then
    errors.raise("file", "cannot read %s", why)
  end
  return text
end

-- What names a run whose file does not.
local function file_name(path)
  return (path:match "([^/]+)$":gsub("%.gz$", ""):gsub("%.json$", ""))
end

-- ---- Kernel Tuner --------------------------------------------------------------------------------------------------

-- What it writes in place of a time.
local FAILURES = {
  CompilationFailedConfig = "compile",
  RuntimeFailedConfig = "launch",
  InvalidConfig = "limits",
}
-- Fields of a record that are neither parameters nor metrics.
local OWN = { time = true, times = true, compile_time = true, verification_time = true, benchmark_time = true }
for _, name in ipairs { "strategy_time", "framework_time", "timestamp" } do
  OWN[name] = true
end

local function problem_of(size)
  local list, problem = type(size) == "table" and size or { size }, {}
  for i, axis in ipairs { "x", "y", "z" } do
    local value = list[i]
    if type(value) == "number" or type(value) == "string" then
      problem[axis] = value
    end
  end
  return problem
end

local function is_time(value)
  return type(value) == "number" and value == value and value > 0 and value < math.huge
end

local function times_of(list)
  local times = {}
  for _, value in ipairs(type(list) == "table" and list or {}) do
    if is_time(value) then
      times[#times + 1] = value
    end
  end
  return #times > 0 and times or nil
end

-- Says what a time that is no time means.
local function judge(record, time)
  if is_time(time) then
    record.status, record.ms = "ok", time
    return
  end
  record.status = FAILURES[time] or (type(time) == "string" and time:find "Failed" and "launch") or "objective"
  local said = type(time) == "string" and time
    or ("the time is %s"):format(time == core.null and "null" or tostring(time))
  record.error = { kind = record.status == "compile" and "compile" or "driver", message = said }
end

local function kernel_tuner_record(entry, names, common)
  local record = { kind = "row", params = {}, time = entry.timestamp, objective = "ms" }
  for name, value in pairs(common) do
    record[name] = value
  end
  for name, value in pairs(entry) do
    if names[name] then
      record.params[name] = value
    elseif not OWN[name] and type(value) == "number" then
      record.metrics = record.metrics or {}
      record.metrics[name] = value
    end
  end
  judge(record, entry.time)
  record.samples, record.compile_ms = times_of(entry.times), is_time(entry.compile_time) and entry.compile_time or nil
  return record
end

local function read_kernel_tuner(data)
  local keys, values = data.tune_params_keys, data.tune_params or {}
  if type(keys) ~= "table" or type(data.cache) ~= "table" then
    errors.raise("argument", "a Kernel Tuner cache has 'tune_params_keys' and 'cache'")
  end
  local result = { format = "kernel_tuner", params = {}, rows = {}, objective = "ms" }
  result.name, result.device = data.kernel_name or "kernel", data.device_name or ""
  result.problem = problem_of(data.problem_size)
  local names = {}
  for i, name in ipairs(keys) do
    names[name], result.params[i] = true, { name = name, values = values[name] or {} }
  end
  local common = { name = result.name, device = result.device, problem = result.problem, source = "imported" }
  common.key = store.key(common)
  local order = {}
  for key in pairs(data.cache) do
    order[#order + 1] = key
  end
  table.sort(order)
  for i, key in ipairs(order) do
    result.rows[i] = kernel_tuner_record(data.cache[key], names, common)
  end
  return result
end

-- ---- T4 ------------------------------------------------------------------------------------------------------------

local STATUS = {
  correct = "ok",
  compile = "compile",
  runtime = "launch",
  timeout = "timeout",
  correctness = "verify",
  constraints = "constraint",
}

-- ms per unit. Files of the benchmark hub spell it "miliseconds".
local function unit_of(text)
  text = type(text) == "string" and text:lower() or ""
  if text:find "^mic" or text == "us" or text == "µs" then
    return 1e-3
  elseif text:find "^n" then
    return 1e-6
  elseif text == "s" or text:find "^sec" then
    return 1e3
  end
  return 1
end

-- In ms. A unit below is divided, which is exact where multiplying by a decimal fraction is not.
local function in_ms(value, unit)
  return unit < 1 and value / math.floor(1 / unit + 0.5) or value * unit
end

local function scale(list, unit)
  for i = 1, unit ~= 1 and list and #list or 0 do
    list[i] = in_ms(list[i], unit)
  end
  return list
end

local function t4_measurements(record, entry, unit)
  local objective = type(entry.objectives) == "table" and entry.objectives[1] or "time"
  local time
  for _, measurement in ipairs(entry.measurements or {}) do
    local value, name = measurement.value, measurement.name
    if name == "time" or (name == objective and time == nil) then
      local own = measurement.unit ~= "" and measurement.unit ~= nil and unit_of(measurement.unit) or unit
      time = type(value) == "number" and in_ms(value, own) or value
    elseif type(value) == "number" and type(name) == "string" then
      record.metrics = record.metrics or {}
      record.metrics[name] = value
    end
  end
  return time
end

local function mean(list)
  local sum = 0
  for _, value in ipairs(list) do
    sum = sum + value
  end
  return sum / #list
end

local function t4_record(entry, common, unit)
  local record = { kind = "row", params = entry.configuration or {}, time = entry.timestamp, objective = "ms" }
  for name, value in pairs(common) do
    record[name] = value
  end
  local times = entry.times or {}
  local time = t4_measurements(record, entry, unit)
  record.samples = scale(times_of(times.runtimes), unit)
  local compiled = times.compilation_time or times.compilation
  record.compile_ms = is_time(compiled) and in_ms(compiled, unit) or nil
  record.status = STATUS[entry.invalidity] or "launch"
  if record.status == "ok" then
    judge(record, is_time(time) and time or record.samples and mean(record.samples) or time)
  else
    record.error = { kind = "driver", message = "invalidity: " .. tostring(entry.invalidity) }
  end
  return record
end

-- The values that appear, ascending where they are numbers, else in order of appearance.
local function params_of(rows)
  local names, lists, seen = {}, {}, {}
  for _, row in ipairs(rows) do
    for name, value in pairs(row.params) do
      if not lists[name] then
        names[#names + 1], lists[name], seen[name] = name, {}, {}
      end
      if not seen[name][value] then
        seen[name][value] = true
        table.insert(lists[name], value)
      end
    end
  end
  table.sort(names)
  local params = {}
  for i, name in ipairs(names) do
    pcall(table.sort, lists[name])
    params[i] = { name = name, values = lists[name] }
  end
  return params
end

local function read_t4(data, name)
  local metadata = type(data.metadata) == "table" and data.metadata or {}
  local result = { format = "t4", rows = {}, name = name, device = "", problem = {}, objective = "ms" }
  local common = { name = name, device = "", problem = {}, source = "imported" }
  common.key = store.key(common)
  local unit = unit_of(metadata.timeunit)
  for _, entry in ipairs(data.results) do
    if type(entry) == "table" and type(entry.configuration) == "table" then
      result.rows[#result.rows + 1] = t4_record(entry, common, unit)
    end
  end
  result.params = params_of(result.rows)
  return result
end

-- ---- what recorded runs are read of besides ------------------------------------------------------------------------

local function recorded_record(row, common)
  local record = recorded.record(row, common)
  if row.status ~= "ok" then
    record.error = { kind = row.status == "compile" and "compile" or "driver", message = "recorded as " .. row.status }
  end
  return record
end

local function read_recorded(data, path)
  local run = recorded.of(data, path)
  local result = { format = "recorded", rows = {}, params = run.space.params, problem = {}, objective = "ms" }
  result.name = run.name ~= recorded.NO_NAME and run.name or file_name(path)
  result.device = run.device ~= recorded.NO_DEVICE and run.device or ""
  local common = { name = result.name, device = result.device, problem = result.problem, source = "imported" }
  common.key = store.key(common)
  for i = 1, run.space.count do
    result.rows[i] = recorded_record(run:row(i), common)
  end
  return result
end

-- ---- all -----------------------------------------------------------------------------------------------------------

local function override(result, given)
  for _, field in ipairs { "name", "device", "problem" } do
    if given[field] then
      result[field] = given[field]
    end
  end
  local key = store.key { name = result.name, device = result.device, problem = result.problem, source = "imported" }
  for _, row in ipairs(result.rows) do
    row.name, row.device, row.problem, row.key = result.name, result.device, result.problem, key
  end
end

-- Whether a text that was cut is a Kernel Tuner cache with whole records, which lacks its last braces only.
local function is_open_cache(text)
  local whole = text:gsub("%s+$", ""):gsub(",$", "")
  for _, braces in ipairs { "}}", "}" } do
    local ok, data, cut = pcall(core.json, whole .. braces, 2)
    if ok and not cut and type(data) == "table" and data.cache ~= nil then
      return true
    end
  end
  return false
end

--- Reads a Kernel Tuner cache, T4 results, or what else `tune.load_cache` reads.
-- @tparam string path
-- @tparam[opt] table given `name`, `device`, `problem`: in place of what the file says, or does not say
-- @treturn table `format` ("kernel_tuner", "t4" or "recorded"), `name`, `device`, `problem`,
--   `params` ({ name =, values = }, ...), `rows` (records of luhip.tune.store), `cut` (whether the file ended too
--   early), `lost` (whether it ended in the middle of a record: a Kernel Tuner cache that is still open ends behind
--   one)
-- @raise kinds "file" and "argument", naming the file
function import.read(path, given)
  local text = import.text(path)
  local ok, result = pcall(function()
    local data, cut = core.json(text, 2)
    local read
    if type(data) == "table" and type(data.results) == "table" then
      read = read_t4(data, file_name(path))
    elseif type(data) == "table" and data.cache ~= nil then
      read = read_kernel_tuner(data)
    else
      read = read_recorded(data, path)
    end
    read.cut, read.lost = cut, cut and not is_open_cache(text)
    return read
  end)
  if not ok then
    local said = errors.message(result)
    errors.raise("argument", "%s%s", said:sub(1, #path) == path and "" or path .. ": ", said)
  end
  if given and (given.name or given.device or given.problem) then
    override(result, given)
  end
  return result
end

return import
