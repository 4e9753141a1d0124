--- What tuning runs have found, kept in a file.
--
-- A store is a file of records that only grows (core.journal): one line each, complete and with a checksum, so that a
-- cut anywhere loses at most the record that was being written, and any number of processes may append. One store may
-- hold several kernels, devices and problems. Kinds of records:
--
-- * "row": one configuration and what became of it. Its key says what it was measured with: name, source, options, the
--   device's identity (name, arch, units, memory), driver, toolchain and problem. Parameter values are no part of the
--   key, so a parameter that gets more values loses nothing. The last row of a key and configuration counts.
-- * "start": a configuration is about to be tried. One that was started twice and never finished took the process
--   with it, and is not tried again.
-- * "end": it was not tried to its end after all, by no fault of its own (an interrupt).
-- * "default": the configuration that a run declared for where nothing is known.
--
-- Records survive the end of the process as soon as they are appended; the end of a run makes them survive the
-- machine's.
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file; luhip.tune.database, where a store is in one.
-- @module luhip.tune.store

local config = require "luhip.config"
local core = require "luhip.core"
local errors = require "luhip.errors"
local whole_file = require "luhip.whole_file"

local store = {}

local Store = { __name = "luhip.tune.store" }
Store.__index = Store

local CRASHES = 2 -- starts without an end after which a configuration is left alone

-- What a key is made of.
local KEY = { "name", "source", "options", "device", "driver", "toolchain", "problem" }

-- ---- keys and configurations ---------------------------------------------------------------------------------------

--- The text that stands for a configuration, whatever the order of its parameters.
-- @tparam table params
-- @treturn string
function store.config_text(params)
  for name, value in pairs(params) do
    if math.type(value) == "float" and math.tointeger(value) then
      local copy = {}
      for n, v in pairs(params) do
        copy[n] = math.type(v) == "float" and math.tointeger(v) or v
      end
      return core.json_text(copy), name
    end
  end
  return core.json_text(params)
end

--- The key of a row.
-- @tparam table fields `name`, `source`, `options`, `device`, `driver`, `toolchain`, `problem` (a table)
-- @treturn string 32 hexadecimal digits
function store.key(fields)
  local parts = {}
  for i, name in ipairs(KEY) do
    parts[i] = fields[name] == nil and "" or fields[name]
  end
  return core.hash(core.json_text(parts))
end

--- What a device is, for keys: two of one name that are partitioned differently are two.
-- @tparam table device
-- @treturn string "NAME (ARCH, 304 units, 192 GiB)"
function store.identity(device)
  local memory = device.memory_bytes
  local gib = memory and math.floor(memory / 2 ^ 30 + 0.5) or 0
  return ("%s (%s, %d units, %d GiB)"):format(device.name or "?", device.arch or "?", device.units or 0, gib)
end

-- ---- the file ------------------------------------------------------------------------------------------------------

local function well_formed(record)
  if type(record) ~= "table" or type(record.params) ~= "table" then
    return false
  elseif record.kind == "default" then
    return type(record.name) == "string"
  end
  return (record.kind == "row" or record.kind == "start" or record.kind == "end") and type(record.key) == "string"
end

local function take(self, record)
  if not well_formed(record) then
    self.unknown = self.unknown + 1
  elseif record.kind == "default" then
    self.defaults[record.name] = record.params
  else
    self.records[#self.records + 1] = record
  end
end

-- Brings the index up to date: what is known of each key and configuration. Records up to `since` are not looked at.
local function index(self)
  for i = math.max(self.indexed, self.since) + 1, #self.records do
    local record = self.records[i]
    local group = self.groups[record.key]
    if not group then
      group = { starts = {}, rows = {} }
      self.groups[record.key] = group
    end
    local id = store.config_text(record.params)
    if record.kind == "start" then
      group.starts[id] = (group.starts[id] or 0) + 1
    elseif record.kind == "end" then
      group.starts[id] = nil
    else
      group.starts[id], group.rows[id] = nil, record
    end
  end
  self.indexed = #self.records
end

--- Whether a store is in a database: postgres://user@host/base (luhip.tune.database).
-- @tparam string path
-- @treturn boolean
function store.is_database(path)
  return path:find "^postgres://" ~= nil or path:find "^postgresql://" ~= nil
end

--- Reads a store's file.
-- @tparam string path
-- @treturn ?Store nil when there is no such file
-- @treturn ?string why not
function store.read(path)
  if store.is_database(path) then
    return require("luhip.tune.database").read(path)
  end
  local text, why = whole_file.read(path)
  if not text then
    return nil, why
  end
  local self = setmetatable({ path = path, records = {}, groups = {}, defaults = {} }, Store)
  self.indexed, self.since, self.unknown = 0, 0, 0
  local records
  records, self.damaged = core.journal_records(text)
  for _, record in ipairs(records) do
    take(self, record)
  end
  return self
end

--- Opens a store to append to it; the file and its folder are made when they are missing.
-- @tparam string path
-- @treturn Store with `damaged` (lines that are no whole record), `unknown` (records of a later version) and `defaults`
--   (configurations by name)
-- @raise kind "file"
function store.open(path)
  if store.is_database(path) then
    return require("luhip.tune.database").open(path)
  end
  local folder = path:match "^(.*)/[^/]*$"
  if folder and folder ~= "" then
    core.make_folder(folder)
  end
  local journal = core.journal(path)
  local self, why = store.read(path)
  if not self then
    errors.raise("file", "cannot read %s", why)
  end
  self.journal = journal
  return self
end

--- Appends a record: in the file when this returns.
-- @tparam table record with `kind`
-- @raise kind "file"
function Store:append(record)
  self.journal:append(core.json_text(record))
  take(self, record)
end

--- Ends the use of the file, and makes what was appended survive the machine's end.
function Store:close()
  if self.journal then
    self.journal:sync()
    self.journal:close()
    self.journal = nil
  end
end

-- ---- looking up -----------------------------------------------------------------------------------------------------

--- The row of a configuration.
-- @tparam string key from `store.key`
-- @tparam table params
-- @treturn ?table the record
function Store:find(key, params)
  index(self)
  local group = self.groups[key]
  return group and group.rows[store.config_text(params)]
end

--- All rows.
-- @treturn {table,...} a new list: of each key and configuration the last one, in order of appearance
function Store:rows()
  local list, last = {}, {}
  for _, record in ipairs(self.records) do
    if record.kind == "row" then
      local id = record.key .. store.config_text(record.params)
      local at = last[id] or #list + 1
      list[at], last[id] = record, at
    end
  end
  return list
end

--- Whether a configuration was started so often without an end that it must have taken the process with it.
-- @tparam string key
-- @tparam table params
-- @treturn ?integer how often; nil for a configuration that may be tried
function Store:crashes(key, params)
  index(self)
  local group = self.groups[key]
  local starts = group and group.starts[store.config_text(params)]
  return starts and starts >= CRASHES and starts or nil
end

--- Whether one value of the objective is better than another.
-- @tparam table record whose `higher` says which way
-- @param a a number, or nil
-- @param b a number
-- @treturn boolean
local function better(record, a, b)
  if record.higher then
    return a > b
  end
  return a < b
end

--- The value that a row is ranked by.
-- @tparam table record
-- @treturn ?number nil for a failure
function store.score(record)
  if record.status ~= "ok" then
    return nil
  end
  local value = record.objective and record.objective ~= "ms" and (record.metrics or {})[record.objective]
    or record[record.objective or "ms"]
  return type(value) == "number" and value == value and value or nil
end

local function place_of(row)
  return core.json_text { row.name or "", row.device or "", row.problem or "" }
end

--- Whether a row has the name, device and problem of another row, or of a group.
-- @tparam table row
-- @tparam table other
-- @treturn boolean
function store.same_place(row, other)
  return place_of(row) == place_of(other)
end

--- Groups rows by device and problem: each group's rows that worked, best first.
-- @tparam {table,...} rows
-- @tparam[opt] string name only rows of this name
-- @treturn {table,...} { name =, device =, problem =, rows =, failed = }, in order of first appearance
function store.groups(rows, name)
  local groups, by = {}, {}
  for i, row in ipairs(rows) do
    if not name or row.name == name then
      local id = place_of(row)
      local group = by[id]
      if not group then
        group = {
          name = row.name,
          device = row.device or "",
          arch = row.arch or "",
          problem = row.problem or {},
          rows = {},
          failed = 0,
        }
        groups[#groups + 1], by[id] = group, group
      end
      if store.score(row) then
        group.rows[#group.rows + 1] = { row = row, score = store.score(row), at = i }
      else
        group.failed = group.failed + 1
      end
    end
  end
  for _, group in ipairs(groups) do
    table.sort(group.rows, function(a, b)
      if a.score ~= b.score then
        return better(a.row, a.score, b.score)
      end
      return a.at < b.at
    end)
    for i, entry in ipairs(group.rows) do
      group.rows[i] = entry.row
    end
  end
  return groups
end

-- ---- where stores are ---------------------------------------------------------------------------------------------

--- The user's own store of a name: in the folder of the setting tune.folder, or $XDG_DATA_HOME/luhip/tune, or
-- ~/.local/share/luhip/tune.
-- @tparam string name
-- @treturn string path
function store.own_path(name)
  local folder = config.config "tune.folder"
  if not folder then
    local data = os.getenv "XDG_DATA_HOME"
    if not data or data == "" then
      data = (os.getenv "HOME" or ".") .. "/.local/share"
    end
    folder = data .. "/luhip/tune"
  end
  return folder .. "/" .. name:gsub("[^%w._-]", "_") .. ".tune"
end

return store
