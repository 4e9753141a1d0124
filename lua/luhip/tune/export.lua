--- Writing tuning results for others: T4, CSV, and Kernel Tuner's cache.
--
-- All take records as luhip.tune.store keeps them. T4 is version 1.0.0 of the schemas that Kernel Tuner has: a results
-- file, and a metadata file. Dependencies: luhip.core, luhip.tune.store.
-- @module luhip.tune.export

local core = require "luhip.core"
local store = require "luhip.tune.store"

local export = {}

local function sorted_keys(map)
  local list = {}
  for key in pairs(map) do
    list[#list + 1] = tostring(key)
  end
  table.sort(list)
  return list
end

local function time_text(time)
  if type(time) == "number" then
    return os.date("!%Y-%m-%dT%H:%M:%SZ", time)
  end
  return type(time) == "string" and time or nil
end

-- ---- T4 ------------------------------------------------------------------------------------------------------------

local INVALIDITY = {
  ok = "correct",
  constraint = "constraints",
  limits = "constraints",
  compile = "compile",
  launch = "runtime",
  fault = "runtime",
  timeout = "timeout",
  verify = "correctness",
  objective = "runtime",
}

local function measurements_of(record)
  local list = {}
  if record.ms then
    list[1] = { name = "time", value = record.ms, unit = "ms" }
  end
  for _, name in ipairs(sorted_keys(record.metrics or {})) do
    local value = record.metrics[name]
    if (type(value) == "number" and value - value == 0) or type(value) == "string" then
      list[#list + 1] = { name = name, value = value, unit = "" }
    end
  end
  return #list > 0 and list or nil
end

local function t4_result(record)
  local objective = record.objective
  return {
    timestamp = time_text(record.time),
    configuration = record.params,
    objectives = { (objective == nil or objective == "ms") and "time" or objective },
    times = {
      compilation_time = record.compile_ms or 0,
      runtimes = record.samples,
      framework = 0,
      search_algorithm = 0,
      validation = 0,
    },
    invalidity = INVALIDITY[record.status] or "runtime",
    correctness = record.status == "ok" and 1 or 0,
    measurements = measurements_of(record),
  }
end

--- T4 results.
-- @tparam {table,...} records
-- @treturn string JSON, one result a line
function export.t4(records)
  local lines = {}
  for i, record in ipairs(records) do
    lines[i] = core.json_text(t4_result(record))
  end
  local results = table.concat(lines, ",\n")
  return ('{"schema_version":"1.0.0","metadata":{"timeunit":"milliseconds"},"results":[\n%s\n]}\n'):format(results)
end

--- What of records T4 results have no place for, so that rows of several kernels or devices cannot be told apart.
-- @tparam {table,...} records
-- @treturn {string,...} of "name", "device" and "problem" those that a record has
function export.t4_loses(records)
  local list = {}
  for _, field in ipairs { "name", "device", "problem" } do
    for _, record in ipairs(records) do
      local value = record[field]
      if value ~= nil and value ~= "" and (type(value) ~= "table" or next(value) ~= nil) then
        list[#list + 1] = field
        break
      end
    end
  end
  return list
end

local function first_line(command)
  local pipe = io.popen(command, "r")
  local line = pipe and pipe:read "l"
  if pipe then
    pipe:close()
  end
  return line
end

--- T4 metadata: where the results were measured.
-- @tparam {table,...} records
-- @treturn string JSON
function export.t4_metadata(records)
  local devices, seen = {}, {}
  for _, record in ipairs(records) do
    local id = ("%s\0%s\0%s"):format(tostring(record.device), tostring(record.driver), tostring(record.toolchain))
    if not seen[id] then
      seen[id] = true
      local text = tostring(record.device or "")
      devices[#devices + 1] = { device = text, driver = record.driver or "", toolchain = record.toolchain or "" }
    end
  end
  return core.json_text {
    schema_version = "1.0.0",
    metadata = {
      hardware = {
        hardware_description = #devices > 0 and devices or nil,
        operating_system = first_line "uname -sr" or "Linux",
      },
      environment = {
        device_query = devices[1] or {},
        requirements = { "luhip " .. core.version },
      },
    },
  } .. "\n"
end

-- ---- CSV -----------------------------------------------------------------------------------------------------------

local function cell(value)
  if value == nil then
    return ""
  end
  local text = tostring(value)
  if math.type(value) == "float" then
    for digits = 15, 17 do
      text = ("%." .. digits .. "g"):format(value)
      if tonumber(text) == value then
        break
      end
    end
  end
  if text:find '[",\r\n]' then
    text = '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

local FIXED = { "name", "device", "status", "ms", "median", "min", "compile_ms", "registers", "shared_bytes" }

local function names_in(records, field)
  local all = {}
  for _, record in ipairs(records) do
    for name in pairs(record[field] or {}) do
      all[name] = true
    end
  end
  return sorted_keys(all)
end

--- A table with a row for each record (RFC 4180, with a line of names): name, device, status and times; problem.*, the
-- parameters, metrics, error.
-- @tparam {table,...} records
-- @treturn string
function export.csv(records)
  local problems, params, metrics =
    names_in(records, "problem"), names_in(records, "params"), names_in(records, "metrics")
  local heads = table.move(FIXED, 1, #FIXED, 1, {})
  for _, name in ipairs(problems) do
    heads[#heads + 1] = cell("problem." .. name)
  end
  for _, names in ipairs { params, metrics, { "error" } } do
    for _, name in ipairs(names) do
      heads[#heads + 1] = cell(name)
    end
  end
  local lines = { table.concat(heads, ",") }
  for _, record in ipairs(records) do
    local cells = {}
    for i, name in ipairs(FIXED) do
      cells[i] = cell(record[name])
    end
    for _, group in ipairs { { problems, "problem" }, { params, "params" }, { metrics, "metrics" } } do
      for _, name in ipairs(group[1]) do
        cells[#cells + 1] = cell((record[group[2]] or {})[name])
      end
    end
    cells[#cells + 1] = cell(record.error and record.error.message)
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

-- ---- Kernel Tuner -------------------------------------------------------------------------------------------------

local CLASSES = { compile = "CompilationFailedConfig", limits = "InvalidConfig", constraint = "InvalidConfig" }

-- As Python's str has it, which the keys are made of.
local function python_text(value)
  if type(value) == "boolean" then
    return value and "True" or "False"
  end
  return tostring(value)
end

-- What it calls a device: luhip's rows tell more of it.
local function plain_device(text)
  return (text:gsub(" %([^()]*, %d+ units, %d+ GiB%)$", ""))
end

-- A record as it writes them. It adds these times up when it simulates.
local function kernel_tuner_entry(record, names)
  local entry, key, benchmark = {}, {}, 0
  for i, name in ipairs(names) do
    entry[name], key[i] = record.params[name], python_text(record.params[name])
  end
  for name, value in pairs(record.metrics or {}) do
    entry[name] = value
  end
  for _, sample in ipairs(record.samples or {}) do
    benchmark = benchmark + sample
  end
  entry.time = record.status == "ok" and record.ms or CLASSES[record.status] or "RuntimeFailedConfig"
  entry.times, entry.compile_time, entry.timestamp = record.samples, record.compile_ms or 0, time_text(record.time)
  entry.verification_time, entry.benchmark_time, entry.strategy_time, entry.framework_time = 0, benchmark, 0, 0
  return table.concat(key, ","), entry
end

-- The names of parameters, in order, and the values of each in order of appearance.
local function values_in(records)
  local names, values = names_in(records, "params"), {}
  for _, name in ipairs(names) do
    local seen = {}
    values[name] = {}
    for _, record in ipairs(records) do
      local value = record.params[name]
      if value ~= nil and not seen[value] then
        seen[value] = true
        table.insert(values[name], value)
      end
    end
  end
  return names, values
end

--- A Kernel Tuner cache of one kernel, device and problem: those of the first record; others are left out. It reads
-- such a cache when the tuning script lists its parameters in the same order, that of their names. It looks for the end
-- of a cache by its last three characters, so the records come last, each on a line, and two braces with a newline in
-- between.
-- @tparam {table,...} records
-- @treturn string JSON
-- @treturn integer how many records are in it
function export.kernel_tuner(records)
  local group = store.groups(records)[1] or { problem = {}, device = "", name = "kernel" }
  local chosen, size, lines, places = {}, {}, {}, {}
  for _, record in ipairs(records) do
    if store.same_place(record, group) then
      chosen[#chosen + 1] = record
    end
  end
  local names, values = values_in(chosen)
  for _, record in ipairs(chosen) do
    local key, entry = kernel_tuner_entry(record, names)
    places[key] = places[key] or #lines + 1
    lines[places[key]] = ("%s: %s"):format(core.json_text { key }:sub(2, -2), core.json_text(entry))
  end
  for i, axis in ipairs { "x", "y", "z" } do
    size[i] = group.problem[axis]
  end
  local head = core.json_text {
    device_name = plain_device(group.device),
    kernel_name = group.name,
    problem_size = #size > 0 and size or 0,
    tune_params_keys = names,
    tune_params = values,
    objective = "time",
  }
  return ('%s,\n"cache": {\n%s}\n}\n'):format(head:sub(1, -2), table.concat(lines, ",\n")), #lines
end

return export
