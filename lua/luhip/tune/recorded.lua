--- Recorded tuning runs: what others measured, as a space whose every configuration has a known outcome.
--
-- Read are Kernel Tuner's caches (also those that end too early), T4 results, KTT's results and luhip's own JSON, each
-- of them plain or gzipped. Times are brought to ms. What failed keeps its reason as the status of a row. Dependencies:
-- luhip.core, luhip.errors, luhip.tune.{import,space}.
-- @module luhip.tune.recorded

local core = require "luhip.core"
local errors = require "luhip.errors"
local import = require "luhip.tune.import"
local space = require "luhip.tune.space"

local recorded = {}

-- ---- the formats -----------------------------------------------------------------------------------------------
-- Each reader gives the parameters (lists of values by name, or nil where the file does not list them), their names in
-- order (or nil), a list of { config, row fields, seconds }, and where the latter two are made when they are asked for,
-- a function that adds them to an entry; such entries have `ok`.

-- A number that can be a time, or nil.
local function time(value)
  if type(value) == "number" and value > 0 and value < math.huge then
    return value
  end
  return nil
end

local function sum(...)
  local total = 0
  for k = 1, select("#", ...) do
    local value = select(k, ...)
    if type(value) == "number" and value == value and value < math.huge then
      total = total + value
    end
  end
  return total
end

-- Status of what Kernel Tuner writes in place of a time.
local KERNEL_TUNER = {
  InvalidConfig = "limits",
  CompilationFailedConfig = "compile",
  RuntimeFailedConfig = "launch",
}

local function times_of(list)
  return type(list) == "table" and time(list[1]) and list or nil
end

local function kernel_tuner(data)
  local entries, n, objective = {}, 0, type(data.objective) == "string" and data.objective or "time"
  for _, record in pairs(data.cache) do
    n = n + 1
    entries[n] = { record, ok = time(record[objective]) ~= nil }
  end
  local function fill(entry)
    local record = entry[1]
    local value = record[objective]
    local spent = sum(record.compile_time, record.verification_time, record.benchmark_time, record.framework_time)
    entry[2] = {
      status = time(value) and "ok" or KERNEL_TUNER[value] or "objective",
      ms = time(value),
      samples = times_of(record.times),
      compile_ms = time(record.compile_time),
    }
    entry[3] = spent / 1000
  end
  return data.tune_params, data.tune_params_keys, entries, fill
end

local T4 = {
  timeout = "timeout",
  compile = "compile",
  runtime = "launch",
  correctness = "verify",
  constraints = "constraint",
}

-- Factors to ms of the names for units that are met.
local UNITS = {
  seconds = 1000,
  s = 1000,
  milliseconds = 1,
  miliseconds = 1,
  ms = 1,
  microseconds = 1e-3,
  us = 1e-3,
  nanoseconds = 1e-6,
  ns = 1e-6,
}

local function unit(name)
  local factor = name == nil and 1 or UNITS[tostring(name):lower()]
  if not factor then
    errors.raise("argument", "'%s' is no unit of time that is known", tostring(name))
  end
  return factor
end

local function t4_measurement(result, factor)
  for _, m in ipairs(result.measurements or {}) do
    if m.name == "time" then
      return time(m.value) and m.value * (m.unit and UNITS[m.unit:lower()] or factor)
    end
  end
  return nil
end

local function t4(data)
  local factor, entries = unit(type(data.metadata) == "table" and data.metadata.timeunit or nil), {}
  for _, result in ipairs(data.results) do
    local times, ms = result.times or {}, t4_measurement(result, factor)
    local failed = T4[result.invalidity]
    local compile = times.compilation or times.compilation_time
    local row = {
      status = failed or ms and "ok" or "objective",
      ms = not failed and ms or nil,
      samples = times_of(times.runtimes),
      compile_ms = time(compile),
    }
    local spent = sum(compile, times.validation, times.framework, table.unpack(times.runtimes or {}))
    entries[#entries + 1] = { result.configuration, row, spent * factor / 1000 }
  end
  return nil, nil, entries
end

local KTT = {
  Ok = "ok",
  ComputationFailed = "launch",
  ValidationFailed = "verify",
  CompilationFailed = "compile",
  DeviceLimitsExceeded = "limits",
}

local function ktt(data)
  local factor, names, entries = unit(data.Metadata and data.Metadata.TimeUnit or "Microseconds"), {}, {}
  for k, pair in ipairs(data.Results[1] and data.Results[1].Configuration or {}) do
    names[k] = pair.Name
  end
  for _, result in ipairs(data.Results) do
    local config, ms = {}, time(result.TotalDuration)
    for _, pair in ipairs(result.Configuration) do
      config[pair.Name] = pair.Value
    end
    local status = KTT[result.Status] or "objective"
    local row = { status = status == "ok" and not ms and "objective" or status }
    row.ms = row.status == "ok" and ms * factor or nil
    entries[#entries + 1] = { config, row, sum(result.TotalDuration, result.TotalOverhead) * factor / 1000 }
  end
  return nil, names, entries
end

local OWN = { "status", "ms", "median", "min", "samples", "kept", "compile_ms", "registers", "shared_bytes" }

local function own(data)
  local params, names, entries = {}, {}, {}
  for k, param in ipairs(data.space.params) do
    params[param.name], names[k] = param.values, param.name
  end
  for _, row in ipairs(data.rows) do
    local fields, ms = {}, sum(row.compile_ms, table.unpack(row.samples or {}))
    for _, key in ipairs(OWN) do
      fields[key] = row[key]
    end
    for name, value in pairs(row.metrics or {}) do
      fields[name] = value
    end
    entries[#entries + 1] = { row.params, fields, ms / 1000 }
  end
  return params, names, entries
end

local function reader_of(data)
  if type(data) ~= "table" then
    return nil
  elseif type(data.cache) == "table" and type(data.tune_params_keys) == "table" then
    return kernel_tuner
  elseif type(data.results) == "table" then
    return t4
  elseif type(data.Results) == "table" then
    return ktt
  elseif data.format == "luhip.tune.result/1" then
    return own
  end
  return nil
end

-- ---- the space -------------------------------------------------------------------------------------------------

local function less(a, b)
  if type(a) == type(b) and type(a) ~= "boolean" then
    return a < b
  elseif type(a) == type(b) then
    return not a and b
  end
  return type(a) < type(b)
end

-- The values that are met, in order, for parameters that the file does not list.
local function met(names, entries)
  local params = {}
  for _, name in ipairs(names) do
    local there, list = {}, {}
    for _, entry in ipairs(entries) do
      local value = entry[1][name]
      if value ~= nil and not there[value] then
        there[value], list[#list + 1] = true, value
      end
    end
    table.sort(list, less)
    params[name] = list
  end
  return params
end

local function names_of(entries)
  local names = {}
  for name in pairs(entries[1][1]) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- The digits of all entries, one behind the other; entries with a value that is not listed are left out.
local function digits_of(names, params, entries)
  local position, flat, kept, n = {}, {}, {}, 0
  for k, name in ipairs(names) do
    position[k] = {}
    for digit, value in ipairs(params[name]) do
      position[k][value] = digit
    end
  end
  for _, entry in ipairs(entries) do
    local config, whole = entry[1], true
    for k = 1, #names do
      local digit = position[k][config[names[k]]]
      flat[n + k], whole = digit, whole and digit ~= nil
    end
    if whole then
      kept[#kept + 1], n = entry, n + #names
    end
  end
  for k = n + #names, n + 1, -1 do
    flat[k] = nil
  end
  return flat, kept
end

local function pairs_of(names, params)
  local list = {}
  for k, name in ipairs(names) do
    list[k] = { name, params[name] }
  end
  return list
end

local Recorded = { __name = "luhip.tune.recorded" }
Recorded.__index = Recorded

function Recorded:__tostring()
  local text = "luhip.tune.recorded: %s on %s, %d configurations, %d of them worked"
  return text:format(self.name, self.device, self.space.count, self.worked)
end

--- What was recorded of a configuration.
-- @tparam integer i its position in `space`
-- @treturn table a new row: `params`, `status`, and `ms`, `samples`, `compile_ms` and metrics where there are such
-- @treturn number seconds that it took to compile, check and measure
function Recorded:row(i)
  local entry, row = self.entries[i], {}
  if not entry[2] then
    self.fill(entry)
  end
  for key, value in pairs(entry[2]) do
    row[key] = value
  end
  row.params = self.space:nth(i)
  return row, entry[3]
end

--- Makes a recorded run of decoded data.
-- @tparam table data what a file of one of the formats holds
-- @tparam[opt="recorded data"] string what names it in messages
-- @treturn Recorded `space`, `name` (of the kernel), `device`, `worked` (how many configurations did), `skipped`
--   (records whose values are none of their parameters')
-- @raise kind "argument" for data that is none of this
function recorded.of(data, what)
  what = what or "recorded data"
  local read = reader_of(data)
  if not read then
    errors.raise("argument", "%s: neither a Kernel Tuner cache, T4, KTT results nor a result of luhip.tune", what)
  end
  local params, names, entries, fill = read(data)
  if #entries == 0 then
    errors.raise("argument", "%s: nothing was recorded", what)
  end
  names = names or names_of(entries)
  params = params or met(names, entries)
  local flat, kept = digits_of(names, params, entries)
  if #kept == 0 then
    errors.raise("argument", "%s: no record has a value for every parameter", what)
  end
  local made = space.listed(pairs_of(names, params), flat)
  local self = { space = made, entries = {}, worked = 0, skipped = #entries - #kept, fill = fill }
  local n, digits = #names, {}
  for k, entry in ipairs(kept) do
    local i = made:index_digits(table.move(flat, (k - 1) * n + 1, k * n, 1, digits))
    local ok = entry.ok
    if entry[2] then
      ok = entry[2].status == "ok"
    end
    self.worked = self.worked + (ok and 1 or 0)
    self.entries[i] = entry
  end
  local device = type(data.device) == "table" and data.device.name or data.Metadata and data.Metadata.Device
  self.device = device or (data.device_name ~= "" and data.device_name) or "a device without a name"
  self.name = data.kernel_name or data.name or "a kernel"
  return setmetatable(self, Recorded)
end

--- Reads a recorded run: `tune.load_cache(path)`.
-- @tparam string path of a file, plain or gzipped
-- @treturn Recorded
-- @raise kinds "type", "file" (one that cannot be read), "argument"
function recorded.load(path)
  if type(path) ~= "string" then
    errors.raise("type", "load_cache: a path expected, not a %s", type(path))
  end
  local made = recorded.of(core.json(import.text(path), 2), path)
  if made.name == "a kernel" then
    made.name = path:match "([^/]*)$"
  end
  return made
end

--- Whether a value is a recorded run.
-- @param value anything
-- @treturn boolean
function recorded.is(value)
  return getmetatable(value) == Recorded
end

return recorded
