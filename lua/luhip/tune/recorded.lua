--- Recorded tuning runs: what others measured, as a space whose every configuration has a known outcome.
--
-- Read are Kernel Tuner's caches (also those that end too early), T4 results, KTT's results and luhip's own JSON, each
-- of them plain or gzipped. Times are brought to ms. What failed keeps its reason as the status of a row. The records
-- of a Kernel Tuner cache, the largest of these, become tables when their row is asked for (core.json_records).
-- Dependencies: luhip.core, luhip.errors, luhip.tune.space.
-- @module luhip.tune.recorded

local core = require "luhip.core"
local errors = require "luhip.errors"
local space = require "luhip.tune.space"

-- What runs and devices are called whose files do not name them.
local recorded = { NO_NAME = "a kernel", NO_DEVICE = "a device without a name" }

-- ---- the formats -----------------------------------------------------------------------------------------------
-- Each reader gives a table: `params` (lists of values by name, or nil where the file does not list them), `names` (in
-- order, or nil), `count` (of entries), `columns` (a function of names, gives each name's values by entry), `ok` (a
-- function of an entry's number: whether it worked) and `entry` (likewise: its row and the seconds that it took).

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
    if type(value) == "number" and value - value == 0 then
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

-- What the other readers make: a list of { config, row, seconds }.
local function of_entries(params, names, entries)
  local read = { params = params, names = names, count = #entries }
  function read.columns(wanted)
    local columns = {}
    for k, name in ipairs(wanted) do
      local column = {}
      for i, entry in ipairs(entries) do
        column[i] = entry[1][name]
      end
      columns[k] = column
    end
    return columns
  end
  function read.ok(i)
    return entries[i][2].status == "ok"
  end
  function read.entry(i)
    return entries[i][2], entries[i][3]
  end
  if not names then
    read.names = {}
    for name in pairs(entries[1] and entries[1][1] or {}) do
      table.insert(read.names, name)
    end
    table.sort(read.names)
  end
  return read
end

-- The records of a cache that was decoded whole, as core.json_records gives them.
local Decoded = {}
Decoded.__index = Decoded

function Decoded:get(i)
  return self[i]
end

function Decoded:columns(names)
  local columns = {}
  for k, name in ipairs(names) do
    columns[k] = {}
    for i, record in ipairs(self) do
      columns[k][i] = record[name]
    end
  end
  return columns
end

local function decoded(cache)
  local list = setmetatable({}, Decoded)
  for _, record in pairs(cache) do
    list[#list + 1] = type(record) == "table" and record or {}
  end
  return list
end

-- Fields of a record that are no metrics.
local COSTS = { "compile_time", "verification_time", "benchmark_time", "framework_time" }
local TIMES = { time = true, strategy_time = true, total_time = true }
for _, name in ipairs(COSTS) do
  TIMES[name] = true
end

local function kernel_tuner(data)
  local objective = type(data.objective) == "string" and data.objective or "time"
  local records = type(data.cache) == "table" and decoded(data.cache) or data.cache
  local read = { params = data.tune_params, names = data.tune_params_keys, count = #records }
  local values, field
  function read.columns(names)
    local wanted = table.move(names, 1, #names, 1, { [#names + 1] = "time" })
    local columns = records:columns(wanted)
    values, field = table.remove(columns), "time"
    if next(values) == nil and objective ~= "time" then
      values, field = records:columns({ objective })[1], objective
    end
    return columns
  end
  function read.ok(i)
    return time(values[i]) ~= nil
  end
  function read.entry(i)
    local record, row, spent = records:get(i), {}, 0
    local value = record[field]
    for _, name in ipairs(COSTS) do
      spent = sum(spent, record[name])
    end
    for name, metric in pairs(record) do
      if type(metric) == "number" and not TIMES[name] and not read.params[name] then
        row[name] = metric
      end
    end
    row.status = time(value) and "ok" or KERNEL_TUNER[value] or "objective"
    row.ms, row.samples, row.compile_ms = time(value), times_of(record.times), time(record.compile_time)
    row.why = row.status ~= "ok" and tostring(value) or nil
    return row, spent / 1000
  end
  return read
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
      why = failed and result.invalidity or not ms and "no time" or nil,
    }
    local spent = sum(compile, times.validation, times.framework, table.unpack(times.runtimes or {}))
    entries[#entries + 1] = { result.configuration, row, spent * factor / 1000 }
  end
  return of_entries(nil, nil, entries)
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
    row.why = row.status ~= "ok" and tostring(result.Status) or nil
    entries[#entries + 1] = { config, row, sum(result.TotalDuration, result.TotalOverhead) * factor / 1000 }
  end
  return of_entries(nil, names, entries)
end

-- What a row has beside its parameters, status, error and metrics, as a record of a store has it.
recorded.FIELDS = { "ms", "median", "min", "samples", "kept", "compile_ms", "registers", "shared_bytes" }

local function own(data)
  local params, names, entries = {}, {}, {}
  for k, param in ipairs(data.space.params) do
    params[param.name], names[k] = param.values, param.name
  end
  for _, row in ipairs(data.rows) do
    local fields, ms = { status = row.status }, sum(row.compile_ms, table.unpack(row.samples or {}))
    for _, key in ipairs(recorded.FIELDS) do
      fields[key] = row[key]
    end
    for name, value in pairs(row.metrics or {}) do
      fields[name] = value
    end
    fields.error = type(row.error) == "table" and row.error or nil
    entries[#entries + 1] = { row.params, fields, ms / 1000 }
  end
  return of_entries(params, names, entries)
end

local function reader_of(data)
  if type(data) ~= "table" then
    return nil
  elseif
    (type(data.cache) == "table" or type(data.cache) == "userdata")
    and data.cache ~= core.null
    and type(data.tune_params_keys) == "table"
  then
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
local function met(names, columns, count)
  local params = {}
  for k, name in ipairs(names) do
    local column, there, list = columns[k], {}, {}
    for i = 1, count do
      local value = column[i]
      if value ~= nil and not there[value] then
        there[value], list[#list + 1] = true, value
      end
    end
    table.sort(list, less)
    params[name] = list
  end
  return params
end

-- The digits of all entries, one behind the other, and the entries that these are of: those with a value that is not
-- listed are left out.
local function digits_of(names, params, columns, count)
  local positions, flat, kept, n = {}, {}, {}, 0
  for k, name in ipairs(names) do
    positions[k] = {}
    for digit, value in ipairs(params[name] or {}) do
      positions[k][value] = digit
    end
  end
  for i = 1, count do
    local whole = true
    for k = 1, #names do
      local digit = positions[k][columns[k][i]]
      flat[n + k], whole = digit, whole and digit ~= nil
    end
    if whole then
      kept[#kept + 1], n = i, n + #names
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

-- Kinds of errors that say as much as a status does.
local KINDS = { compile = true, limits = true, verify = true, timeout = true, fault = true }

-- The row with what it failed with as an error, as rows of other runs have it.
local function with_error(row)
  local told = row.error
  if row.status ~= "ok" then
    local kind = told and told.kind or KINDS[row.status] and row.status or "argument"
    local message = told and told.message or ("recorded as '%s'"):format(row.why or row.status)
    local ok, e = pcall(errors.new, kind, "%s", tostring(message))
    row.error = ok and e or errors.new("argument", "%s", tostring(message))
  end
  row.why = nil
  return row
end

--- What was recorded of a configuration.
-- @tparam integer i its position in `space`
-- @treturn table a new row: `params`, `status`, and `ms`, `samples`, `compile_ms`, metrics and `error` where there are
--   such
-- @treturn number seconds that it took to compile, check and measure
function Recorded:row(i)
  local known = self.rows[i]
  if not known then
    known = { self.read.entry(self.entries[i]) }
    with_error(known[1])
    self.rows[i] = known
  end
  local first = known[1]
  -- Fields that most rows have make the table as large as it will be.
  local row = { params = self.space:nth(i), status = first.status, ms = first.ms, samples = first.samples }
  for key, value in pairs(first) do
    row[key] = value
  end
  return row, known[2]
end

local NO_METRIC = { params = true, status = true, error = true }
for _, name in ipairs(recorded.FIELDS) do
  NO_METRIC[name] = true
end

--- A row as a record of luhip.tune.store, but for its error.
-- @tparam table row of a recorded run
-- @tparam table common fields that all records of the run have
-- @treturn table
function recorded.record(row, common)
  local record = { kind = "row", params = row.params, status = row.status, objective = "ms" }
  for name, value in pairs(common) do
    record[name] = value
  end
  for _, name in ipairs(recorded.FIELDS) do
    record[name] = row[name]
  end
  for name, value in pairs(row) do
    if not NO_METRIC[name] and type(value) == "number" then
      record.metrics = record.metrics or {}
      record.metrics[name] = value
    end
  end
  return record
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
  local run = read(data)
  if run.count == 0 then
    errors.raise("argument", "%s: nothing was recorded", what)
  end
  local columns = run.columns(run.names)
  local params = run.params or met(run.names, columns, run.count)
  local flat, kept = digits_of(run.names, params, columns, run.count)
  if #kept == 0 then
    errors.raise("argument", "%s: no record has a value for every parameter", what)
  end
  local made, positions = space.listed(pairs_of(run.names, params), flat)
  local self = { space = made, read = run, entries = {}, rows = {}, worked = 0, skipped = run.count - #kept }
  for k, i in ipairs(kept) do
    self.entries[positions[k]] = i
  end
  for _, i in ipairs(self.entries) do
    self.worked = self.worked + (run.ok(i) and 1 or 0)
  end
  local device = type(data.device) == "table" and data.device.name or data.Metadata and data.Metadata.Device
  self.device = device or (data.device_name ~= "" and data.device_name) or recorded.NO_DEVICE
  self.name = data.kernel_name or data.name or recorded.NO_NAME
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
  local ok, data, cut = pcall(core.json_records, path, "cache")
  if not ok then
    errors.raise("argument", "%s: %s", path, errors.message(data))
  elseif data == nil then
    errors.raise("file", "cannot read %s", cut)
  end
  local made = recorded.of(data, path)
  if made.name == recorded.NO_NAME then
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
