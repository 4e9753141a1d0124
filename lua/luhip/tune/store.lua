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
-- What is loaded stays text, and is found by kind, key and configuration; it becomes a table when somebody asks for it.
-- Records survive the end of the process as soon as they are appended; the end of a run makes them survive the
-- machine's.
-- Dependencies: luhip.config, luhip.core, luhip.errors; luhip.tune.database, where a store is in one.
-- @module luhip.tune.store

local config = require "luhip.config"
local core = require "luhip.core"
local errors = require "luhip.errors"

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

local KINDS = { row = true, start = true, ["end"] = true }

-- Takes a record that is known by what says what it is; `id` is the text of its configuration, or true for one that is
-- not known yet. False for what no record of this version is.
local function take(self, kind, key, id)
  if not KINDS[kind] or type(key) ~= "string" or not id then
    self.unknown = self.unknown + 1
    return false
  end
  local n = self.count + 1
  self.count, self.kinds[n], self.keys[n], self.ids[n] = n, kind, key, id
  return true
end

-- Takes what the file holds. Records stay text until they are asked for: only what finds them is read.
local function load(self, records)
  local columns, ids = records:columns { "kind", "key", "name" }, records:texts "params"
  local kinds, keys, names = columns[1], columns[2], columns[3]
  self.text, self.places, self.strangers = records, {}, {}
  for i = 1, #records do
    if kinds[i] == "default" and type(names[i]) == "string" and ids[i] then
      self.defaults[names[i]] = records:get(i).params
    elseif take(self, kinds[i], keys[i], ids[i]) then
      self.places[self.count], self.names[self.count] = i, names[i]
    else
      self.strangers[#self.strangers + 1] = i
    end
  end
end

-- The text of the configuration of record n.
local function id_of(self, n)
  local id = self.ids[n]
  if id == true then
    id = store.config_text(self:record(n).params)
    self.ids[n] = id
  end
  return id
end

-- Brings the index up to date: what is known of each key and configuration. Records up to `since` are not looked at.
local function index(self)
  for n = math.max(self.indexed, self.since) + 1, self.count do
    local group = self.groups[self.keys[n]]
    if not group then
      group = { starts = {}, rows = {} }
      self.groups[self.keys[n]] = group
    end
    local id, kind = id_of(self, n), self.kinds[n]
    if kind == "start" then
      group.starts[id] = (group.starts[id] or 0) + 1
    elseif kind == "end" then
      group.starts[id] = nil
    else
      group.starts[id], group.rows[id] = nil, n
    end
  end
  self.indexed = self.count
end

--- Whether a store is in a database: postgres://user@host/base (luhip.tune.database).
-- @tparam string path
-- @treturn boolean
function store.is_database(path)
  return path:find "^postgres://" ~= nil or path:find "^postgresql://" ~= nil
end

--- Whether a path names where a store is, like a database, and not a file.
-- @tparam string path
-- @treturn boolean
function store.has_scheme(path)
  return path:find "^%a[%w+.-]*://" ~= nil
end

--- What is wrong with a path whose scheme is of no place that stores can be in.
-- @tparam string path
-- @treturn ?string a sentence; nil for a file, and a database
function store.wrong_scheme(path)
  if not store.has_scheme(path) or store.is_database(path) then
    return nil
  end
  local known = "there are postgres://user@host/base, postgresql://user@host/base and paths of files"
  return ("%s: '%s' is no scheme that is known; %s"):format(path, path:match "^.-://", known)
end

--- Reads a store's file.
-- @tparam string path
-- @treturn ?Store nil when there is no such file
-- @treturn ?string why not
function store.read(path)
  if store.is_database(path) then
    return require("luhip.tune.database").read(path)
  end
  local wrong = store.wrong_scheme(path)
  if wrong then
    return nil, wrong
  end
  local records, damaged, foreign = core.journal_records(path)
  if not records then
    return nil, damaged
  elseif foreign then
    return nil, path .. ": it is no store of tuning runs, none of its lines is a record"
  end
  local self = setmetatable({ path = path, damaged = damaged, defaults = {}, groups = {}, made = {} }, Store)
  self.kinds, self.keys, self.ids, self.names = {}, {}, {}, {}
  self.count, self.indexed, self.since, self.unknown = 0, 0, 0, 0
  load(self, records)
  return self
end

local own_folder

-- Makes the folder that stores without a path of their own are in; another one is there, or its name is mistyped.
local function check_folder(path)
  local folder = path:match "^(.+)/[^/]*$"
  if not folder or core.folder_names(folder) then
    return
  elseif folder == own_folder() then
    core.make_folder(folder)
  else
    errors.raise("file", "cannot write %s: there is no folder %s", path, folder)
  end
end

--- Opens a store to append to it. The file is made when it is missing, its folder only where it is the user's own.
-- @tparam string path
-- @treturn Store with `count` (of its records), `damaged` (lines that are no whole record), `unknown` (records of a
--   later version) and `defaults` (configurations by name)
-- @raise kind "file"; "argument" for a scheme that is not known
function store.open(path)
  if store.is_database(path) then
    return require("luhip.tune.database").open(path)
  end
  local wrong = store.wrong_scheme(path)
  if wrong then
    errors.raise("argument", "cannot open %s", wrong)
  end
  check_folder(path)
  local journal = core.journal(path)
  local self, why = store.read(path)
  if not self then
    journal:close()
    errors.raise("file", "cannot open %s", why)
  end
  self.journal = journal
  return self
end

--- Appends a record: in the file when this returns.
-- @tparam table record with `kind`
-- @raise kind "file"
function Store:append(record)
  self.journal:append(core.json_text(record))
  if record.kind == "default" and type(record.name) == "string" and type(record.params) == "table" then
    self.defaults[record.name] = record.params
  elseif take(self, record.kind, record.key, type(record.params) == "table") then
    self.made[self.count], self.names[self.count] = record, record.name
  end
end

--- A record: a row, a start or an end; defaults are none.
-- @tparam integer n 1 to `count`
-- @treturn table the same one each time
function Store:record(n)
  local record = self.made[n]
  if not record then
    record = self.text:get(self.places[n])
    self.made[n] = record
  end
  return record
end

--- What of the file was passed over when it was loaded.
-- @treturn ?string a sentence; nil for nothing
function Store:passed_over()
  local parts = {}
  if self.damaged > 0 then
    parts[1] = self.damaged == 1 and "1 damaged line" or ("%d damaged lines"):format(self.damaged)
  end
  if self.unknown > 0 then
    parts[#parts + 1] = ("%d of a later version"):format(self.unknown)
  end
  return #parts > 0 and ("%s: passed over: %s"):format(self.path, table.concat(parts, ", ")) or nil
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
  local n = group and group.rows[store.config_text(params)]
  return n and self:record(n)
end

--- All rows.
-- @tparam[opt] string name only rows of this name
-- @treturn {table,...} a new list: of each key and configuration the last one, in order of appearance
function Store:rows(name)
  local list, places = {}, {}
  for n = 1, self.count do
    if self.kinds[n] == "row" and (not name or self.names[n] == name) then
      local key, id = self.keys[n], id_of(self, n)
      places[key] = places[key] or {}
      local at = places[key][id] or #list + 1
      list[at], places[key][id] = n, at
    end
  end
  for at, n in ipairs(list) do
    list[at] = self:record(n)
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

-- What a row has of an objective: a number, or nil.
local function value_of(record, objective)
  if record.status ~= "ok" then
    return nil
  end
  local metrics = type(record.metrics) == "table" and record.metrics or {}
  local value = record[objective or "ms"]
  if objective and objective ~= "ms" and metrics[objective] ~= nil then
    value = metrics[objective]
  end
  return type(value) == "number" and value - value == 0 and value or nil
end

--- The value that a row is ranked by.
-- @tparam table record
-- @treturn ?number nil for a failure
function store.score(record)
  return value_of(record, record.objective)
end

local function place_of(row)
  return core.json_text { row.name or "", row.device or "", row.problem or {} }
end

--- Whether a row has the name, device and problem of another row, or of a group.
-- @tparam table row
-- @tparam table other
-- @treturn boolean
function store.same_place(row, other)
  return place_of(row) == place_of(other)
end

-- Orders a group's rows, { row =, at = }: by what the one that appeared last was tuned for; those that have no value of
-- that, since they were tuned for something else, come behind the others.
local function rank(group)
  local last
  for _, entry in ipairs(group.rows) do
    last = (not last or entry.at > last.at) and entry or last
  end
  group.objective, group.higher = last and last.row.objective or "ms", last and last.row.higher or false
  for _, entry in ipairs(group.rows) do
    entry.score = value_of(entry.row, group.objective)
  end
  table.sort(group.rows, function(a, b)
    if a.score ~= b.score and a.score and b.score then
      return group.higher and a.score > b.score or not group.higher and a.score < b.score
    elseif (a.score == nil) ~= (b.score == nil) then
      return b.score == nil
    end
    return a.at < b.at
  end)
  for i, entry in ipairs(group.rows) do
    group.rows[i] = entry.row
  end
end

--- Groups rows by device and problem: each group's rows that worked, best first.
-- @tparam {table,...} rows
-- @tparam[opt] string name only rows of this name
-- @treturn {table,...} { name =, device =, problem =, rows =, failed =, objective =, higher = }, in order of first
--   appearance; the objective is what the row that appeared last was tuned for
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
        group.rows[#group.rows + 1] = { row = row, at = i }
      else
        group.failed = group.failed + 1
      end
    end
  end
  for _, group in ipairs(groups) do
    rank(group)
  end
  return groups
end

-- ---- where stores are ---------------------------------------------------------------------------------------------

function own_folder()
  local folder = config.config "tune.folder"
  if folder then
    return folder
  end
  local data = os.getenv "XDG_DATA_HOME"
  if not data or data == "" then
    data = (os.getenv "HOME" or ".") .. "/.local/share"
  end
  return data .. "/luhip/tune"
end

--- The user's own store of a name: in the folder of the setting tune.folder, or $XDG_DATA_HOME/luhip/tune, or
-- ~/.local/share/luhip/tune.
-- @tparam string name
-- @treturn string path
function store.own_path(name)
  return own_folder() .. "/" .. name:gsub("[^%w._-]", "_") .. ".tune"
end

return store
