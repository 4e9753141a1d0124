--- A tuning run and its store: what was finished before is not measured again, what is measured is kept.
--
-- The key of a row says what the numbers depend on: the source as this configuration has it, with the files that it
-- includes from `include_dirs` and `headers`; the options of the compiler; grid, block and shared memory; the device,
-- its driver and compiler; the problem. A function among these stands for its code.
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file, luhip.tune.store.
-- @module luhip.tune.session

local core = require "luhip.core"
local errors = require "luhip.errors"
local store = require "luhip.tune.store"
local whole_file = require "luhip.whole_file"

local session = {}

local Session = {}
Session.__index = Session

-- ---- what the key is made of ---------------------------------------------------------------------------------------

-- A value that JSON can hold: functions by their code, what is no data by its text.
local function plain(value)
  local kind = type(value)
  if kind == "function" then
    local ok, code = pcall(string.dump, value, true)
    return "function " .. (ok and core.hash(code) or "of C")
  elseif kind == "table" then
    local copy = {}
    for key, item in pairs(value) do
      copy[math.type(key) == "integer" and #value > 0 and key or tostring(key)] = plain(item)
    end
    return copy
  elseif kind == "number" or kind == "boolean" or kind == "string" then
    return value
  end
  return tostring(value)
end

-- Adds what the text includes and can be found in the folders, each file once.
local function add_includes(text, folders, parts, seen)
  for name in text:gmatch '#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]' do
    for _, folder in ipairs(seen[name] and {} or folders) do
      local content = whole_file.read(folder .. "/" .. name)
      if content then
        seen[name] = true
        parts[#parts + 1] = { name, core.hash(content) }
        add_includes(content, folders, parts, seen)
        break
      end
    end
  end
end

local function hash_source(self, source)
  if not self.sources[source] then
    local parts = { source }
    add_includes(source, self.plan.compile.include_dirs or {}, parts, {})
    self.sources[source] = core.hash(core.json_text(parts))
  end
  return self.sources[source]
end

local function hash_options(plan)
  local options = { geometry = plain(plan.geometry or {}), access = plain(plan.access or {}) }
  options.cold, options.rotate = plan.cold, (plan.rotate or 1) > 1 and plan.rotate or nil
  for key, value in pairs(plan.compile) do
    if key ~= "name" and key ~= "cache" and key ~= "timeout" then
      options[key] = plain(value)
    end
  end
  if type(plan.kernel) == "function" then
    options.kernel = plain(plan.kernel)
  end
  return core.hash(core.json_text { options, type(plan.kernel) == "string" and plan.kernel or "" })
end

local function shape_text(buffer)
  local sizes = {}
  for i, size in ipairs(buffer.shape or {}) do
    sizes[i] = tostring(size)
  end
  return ("%s[%s]"):format(tostring(buffer.dtype), table.concat(sizes, ", "))
end

-- A problem that was not told is what the arguments are.
local function problem_of(plan)
  if plan.problem then
    return plan.problem
  end
  local problem = {}
  for i = 1, plan.args.n do
    local value, name = plan.args[i], ("arg%d"):format(i)
    if type(value) == "number" or type(value) == "boolean" or type(value) == "string" then
      problem[name] = value
    elseif getmetatable(value) == "luhip.buffer" then
      problem[name] = shape_text(value)
    end
  end
  return problem
end

local function toolchain_of(device)
  local ok, name = pcall(function()
    return device:toolchain()
  end)
  return ok and name or ""
end

-- ---- keys -----------------------------------------------------------------------------------------------------------

-- The source of a configuration; what a function raises is met again, and told, when the configuration is compiled.
local function source_of(self, config)
  local source = self.plan.source
  if type(source) == "function" then
    local ok, text = pcall(source, config)
    return ok and type(text) == "string" and text or ""
  end
  return source
end

local function fields_of(self, config)
  local source = hash_source(self, source_of(self, config))
  local fields = self.fields[source]
  if not fields then
    fields = { source = source }
    for name, value in pairs(self.common) do
      fields[name] = value
    end
    fields.key = store.key(fields)
    self.fields[source] = fields
  end
  return fields
end

-- ---- rows and records ---------------------------------------------------------------------------------------------

local COPIED = { "ms", "median", "min", "kept", "compile_ms", "registers", "shared_bytes" }

local function record_of(self, row)
  local record = { kind = "row", params = row.params, status = row.status, time = os.time() }
  for name, value in pairs(fields_of(self, row.params)) do
    record[name] = value
  end
  for _, name in ipairs(COPIED) do
    record[name] = row[name]
  end
  record.samples = row.samples and #row.samples > 0 and row.samples or nil
  for _, metric in ipairs(self.plan.metrics) do
    local value = row[metric.name]
    if type(value) == "number" or type(value) == "boolean" or type(value) == "string" then
      record.metrics = record.metrics or {}
      record.metrics[metric.name] = value
    end
  end
  record.objective, record.higher = self.plan.objective, self.plan.higher or nil
  if row.error ~= nil then
    record.error = { kind = errors.kind(row.error) or "argument", message = errors.message(row.error) }
  end
  return record
end

--- The row of a record.
-- @tparam table record
-- @treturn table its row: `params`, `status`, times, `error`
function session.row(record)
  local row = { params = {}, status = record.status, reused = true }
  for name, value in pairs(record.params) do
    row.params[name] = value
  end
  for _, name in ipairs(COPIED) do
    row[name] = record[name]
  end
  row.samples = record.samples
  if record.error then
    local ok, e = pcall(errors.new, record.error.kind, "%s", record.error.message)
    row.error = ok and e or errors.new("argument", "%s", record.error.message)
  end
  return row
end

-- ---- the run ------------------------------------------------------------------------------------------------------

--- What is known of a configuration from before.
-- @tparam table config
-- @treturn ?table its row, with `reused`; nil when it is to be measured
function Session:finished(config)
  if not self.resume then
    return nil
  end
  local key = fields_of(self, config).key
  local record = self.store:find(key, config)
  if record then
    self.reused = self.reused + 1
    return session.row(record)
  end
  local crashes = self.store:crashes(key, config)
  if crashes then
    local row = { params = config, status = "fault" }
    row.error = errors.new("fault", "the process ended %d times while this configuration was tried", crashes)
    self:keep(row)
    return row
  end
  return nil
end

local function mark(self, kind, config)
  local fields = fields_of(self, config)
  self.store:append { kind = kind, name = fields.name, key = fields.key, params = config, pid = core.pid() }
end

--- Says that a configuration is about to be tried.
-- @tparam table config
function Session:start(config)
  mark(self, "start", config)
end

--- Says that it was not tried to its end, by no fault of its own.
-- @tparam table config
function Session:abandon(config)
  mark(self, "end", config)
end

--- Keeps what became of a configuration.
-- @tparam table row
function Session:keep(row)
  self.store:append(record_of(self, row))
end

--- Ends the claim of a configuration in a shared run, whose row may have been there before.
-- @tparam table config
function Session:end_claim(config)
  self.store:finish(fields_of(self, config).key, config)
end

--- Ends the use of the store.
function Session:close()
  self.store:close()
end

local function is_own(self, group)
  local own = self.common
  return group.device == own.device and core.json_text(group.problem) == core.json_text(own.problem or {})
end

--- The best configurations of other devices and problems, for a search to begin with.
-- @tparam integer each how many of each device and problem
-- @treturn {integer,...} positions in the space, none twice
function Session:warm(each)
  local list, seen, groups = {}, {}, store.groups(self.store:rows(self.plan.name))
  for rank = 1, each do
    for _, group in ipairs(groups) do
      local row = not is_own(self, group) and group.rows[rank]
      local ok, i = pcall(self.plan.space.index, self.plan.space, row and row.params or {})
      if row and ok and i and not seen[i] then
        seen[i], list[#list + 1] = true, i
      end
    end
  end
  return list
end

--- Opens the store of a run.
-- @tparam table plan from luhip.tune.options, with `store` (a path), `resume`, `problem`
-- @treturn Session with `reused`: how many configurations needed no measurement
-- @raise kind "file"
function session.open(plan)
  local self = setmetatable({ plan = plan, sources = {}, fields = {}, reused = 0 }, Session)
  self.store = store.open(plan.store)
  self.store.since = plan.since or 0
  self.resume = plan.resume ~= false or plan.since ~= nil
  self.common = {
    name = plan.name,
    options = hash_options(plan),
    device = store.identity(plan.device),
    arch = plan.device.arch,
    driver = plan.device.driver_version and tostring(plan.device.driver_version) or "",
    toolchain = toolchain_of(plan.device),
    problem = problem_of(plan),
  }
  if plan.default then
    self.store:append { kind = "default", name = plan.name, params = plan.default }
  end
  return self
end

return session
