--- What a tuning run gives: the best row, all rows, and ways to keep them.
-- Dependencies: luhip.errors, luhip.whole_file, luhip.tune.{export,page,plot,report}; dkjson, when JSON is asked for.
-- @module luhip.tune.result

local errors = require "luhip.errors"
local export = require "luhip.tune.export"
local page = require "luhip.tune.page"
local plot = require "luhip.tune.plot"
local report = require "luhip.tune.report"
local whole_file = require "luhip.whole_file"

local result = {}

local Result = { __name = "luhip.tune.result" }
Result.__index = Result

function Result:__tostring()
  return report.text(self)
end

-- ---- JSON ------------------------------------------------------------------------------------------------------

local function dkjson()
  local ok, json = pcall(require, "dkjson")
  if not ok then
    errors.raise("not_found", "JSON needs dkjson, which is not installed; on Debian: apt-get install lua-dkjson")
  end
  return json
end

local ROW_KEYS = {
  "params",
  "status",
  "ms",
  "median",
  "min",
  "samples",
  "kept",
  "compile_ms",
  "registers",
  "shared_bytes",
}
local ROW_ORDER = table.move({ "metrics", "error" }, 1, 2, #ROW_KEYS + 1, table.move(ROW_KEYS, 1, #ROW_KEYS, 1, {}))

-- dkjson writes floats with 14 digits; this writes one so that it reads back as the same.
local Exact = {
  __tojson = function(self)
    return ("%.17g"):format(self.value)
  end,
}

-- A value as JSON can hold it: infinities and NaN, which it has not, become their text.
local function plain(value)
  local kind = math.type(value) or type(value)
  if kind == "float" then
    if value ~= value or value == math.huge or value == -math.huge then
      return tostring(value)
    elseif tonumber(tostring(value)) ~= value then
      return setmetatable({ value = value }, Exact)
    end
    return value
  elseif kind == "integer" or kind == "string" or kind == "boolean" or kind == "nil" then
    return value
  end
  return tostring(value)
end

-- A copy that is an object in JSON, even when it is empty.
local function object(map, order)
  local copy = {}
  for key, value in pairs(map) do
    copy[key] = plain(value)
  end
  return setmetatable(copy, { __jsontype = "object", __jsonorder = order })
end

-- A list of data that is a list in JSON, even when it is empty.
local function list(items)
  return setmetatable(table.move(items, 1, #items, 1, {}), { __jsontype = "array" })
end

-- The same of plain values.
local function values(items)
  local copy = {}
  for i, value in ipairs(items) do
    copy[i] = plain(value)
  end
  return list(copy)
end

local function row_data(self, row)
  local data = {}
  for _, key in ipairs(ROW_KEYS) do
    data[key] = type(row[key]) ~= "table" and plain(row[key]) or nil
  end
  data.samples = row.samples and values(row.samples)
  data.params = object(row.params, self.space.names)
  local metrics = {}
  for _, name in ipairs(self.metrics) do
    metrics[name] = row[name]
  end
  data.metrics = object(metrics, self.metrics)
  if row.error ~= nil then
    local failure = { kind = errors.kind(row.error), message = errors.message(row.error) }
    data.error = object(failure, { "kind", "message" })
  end
  return setmetatable(data, { __jsonorder = ROW_ORDER })
end

local function space_data(self)
  local params = {}
  for i, name in ipairs(self.space.names) do
    local param = { name = name, values = values(self.space:values(name)) }
    params[i] = setmetatable(param, { __jsonorder = { "name", "values" } })
  end
  local data = { params = list(params), product = self.space.product, count = self.total }
  return setmetatable(data, { __jsonorder = { "params", "product", "count" } })
end

local HEAD =
  { "format", "name", "device", "objective", "higher", "verified", "seconds", "stopped", "counts", "warnings" }

local function data_of(self)
  local rows = {}
  for i, row in ipairs(self.rows) do
    rows[i] = row_data(self, row)
  end
  local data = {
    format = "luhip.tune.result/1",
    name = self.name,
    device = object(self.device, { "id", "name", "arch" }),
    objective = self.objective,
    higher = self.higher,
    verified = self.verified,
    seconds = plain(self.seconds),
    stopped = self.stopped,
    counts = object(self.counts),
    warnings = values(self.warnings),
    space = space_data(self),
    best = self.best and row_data(self, self.best),
    rows = list(rows),
  }
  return setmetatable(data, { __jsonorder = HEAD })
end

--- The result as JSON.
-- @tparam[opt] string path also writes it there, whole or not at all
-- @treturn string the text: `format`, `name`, `device`, `objective`, `space`, `best`, `rows`, `counts`, `warnings`, ...
-- @raise kind "not_found" when dkjson is missing, "file" when the file cannot be written
function Result:json(path)
  if path ~= nil and type(path) ~= "string" then
    errors.raise("type", "json: a path expected, not a %s", type(path))
  end
  local text = dkjson().encode(data_of(self), { indent = true }) .. "\n"
  if path then
    whole_file.write(path, text, "cannot write %s")
  end
  return text
end

--- Writes the result as JSON.
-- @tparam string path
-- @raise as `json`
function Result:save_json(path)
  if type(path) ~= "string" then
    errors.raise("type", "save_json: a path expected, not a %s", type(path))
  end
  self:json(path)
end

-- Rows as records of a store, for export.
local function records_of(self)
  local records = {}
  for i, row in ipairs(self.rows) do
    local record =
      { name = self.name, device = self.device.name, problem = self.problem or {}, objective = self.objective }
    for _, key in ipairs(ROW_KEYS) do
      record[key] = row[key]
    end
    for _, name in ipairs(self.metrics) do
      record.metrics = record.metrics or {}
      record.metrics[name] = row[name]
    end
    record.time = row.time or os.time()
    record.error = row.error ~= nil and { message = errors.message(row.error) } or nil
    records[i] = record
  end
  return records
end

local function save(what, path, text)
  if type(path) ~= "string" then
    errors.raise("type", "%s: a path expected, not a %s", what, type(path))
  end
  whole_file.write(path, text, "cannot write %s")
end

--- Writes the rows as T4 results, version 1.0.0.
-- @tparam string path
-- @tparam[opt] string metadata where the T4 metadata goes
-- @raise kind "file"
function Result:save_t4(path, metadata)
  save("save_t4", path, export.t4(records_of(self)))
  if metadata ~= nil then
    save("save_t4", metadata, export.t4_metadata(records_of(self)))
  end
end

--- Writes the rows as CSV: see luhip.tune.export.
-- @tparam string path
-- @raise kind "file"
function Result:save_csv(path)
  save("save_csv", path, export.csv(records_of(self)))
end

--- Writes a picture: the configurations in order, and the best until then.
-- @tparam string path of an SVG file
-- @raise kind "file"
function Result:plot(path)
  save("plot", path, plot.svg(self))
end

--- Writes a page that shows the result in a browser, in one file that needs no other and no network: the best so far,
-- the distribution, how much parameters matter, a map of two of them, failures by reason, all rows; with filters.
-- @tparam string path of an HTML file
-- @raise kind "file"
function Result:report(path)
  save("report", path, page.text(self))
end

--- Makes a result of a finished runner.
-- @tparam table run from luhip.tune.runner
-- @treturn Result `best` (nil when nothing worked), `rows`, `counts` (rows by status), `name`, `device` ({id, name,
--   arch}), `objective`, `higher`, `goals` ({name, higher} by objective), `strategy` (its name), `metrics` (names),
--   `space`, `total`, `seconds`, `stopped`, `verified`, `warnings`, and with several objectives `pareto`, the rows
--   that no other beats in all. Where time is the objective, `alike`: the rows that the noise does not tell from the
--   best, fastest first; and `near`: those of them that were measured again in turn (`finals`, `final`)
function result.new(run)
  local plan = run.plan
  local counts, metrics = {}, {}
  for _, row in ipairs(run.rows) do
    counts[row.status] = (counts[row.status] or 0) + 1
  end
  for i, metric in ipairs(plan.metrics) do
    metrics[i] = metric.name
  end
  return setmetatable({
    best = run.best,
    rows = run.rows,
    counts = counts,
    name = plan.name,
    device = { id = plan.device.id, name = plan.device.name, arch = plan.device.arch },
    objective = plan.objective,
    goals = plan.goals,
    strategy = plan.strategy,
    higher = plan.higher,
    metrics = metrics,
    space = plan.space,
    total = run.total,
    seconds = run.seconds,
    stopped = run.stopped,
    verified = plan.expect ~= nil,
    warnings = run.warnings,
    problem = plan.problem,
    reused = run.reused,
    pareto = run.pareto,
    near = run.near,
    alike = run.alike,
  }, Result)
end

return result
