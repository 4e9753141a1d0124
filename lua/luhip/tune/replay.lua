--- A simulated run whose rows a store keeps, so that it can be ended at any time and gone on with: what the store has
-- comes out of it, with the seconds that it took, and a strategy with the same seed proposes the same again.
-- Dependencies: luhip.errors, luhip.tune.{recorded,store}.
-- @module luhip.tune.replay

local errors = require "luhip.errors"
local recorded = require "luhip.tune.recorded"
local store = require "luhip.tune.store"

local replay = {}

local Replay = {}
Replay.__index = Replay

local function record_of(self, row, seconds)
  local record = recorded.record(row, self.common)
  record.seconds = seconds
  if row.error then
    record.error = { kind = errors.kind(row.error) or "argument", message = errors.message(row.error) }
  end
  return record
end

local function row_of(record)
  local row = { params = {}, status = record.status, reused = true }
  for name, value in pairs(record.params) do
    row.params[name] = value
  end
  for name, value in pairs(record.metrics or {}) do
    row[name] = value
  end
  for _, name in ipairs(recorded.FIELDS) do
    row[name] = record[name]
  end
  if record.error then
    row.error = errors.new(record.error.kind, "%s", record.error.message)
  end
  return row
end

--- The outcome of a configuration: what the store has, or what was recorded, which the store has from then on.
-- @tparam integer i its position in the space
-- @treturn table row
-- @treturn number seconds
function Replay:row(i)
  local record = self.store:find(self.common.key, self.run.space:nth(i))
  if record then
    self.reused = self.reused + 1
    return row_of(record), record.seconds
  end
  local row, seconds = self.run:row(i)
  self.store:append(record_of(self, row, seconds))
  return row, seconds
end

--- Ends the use of the store.
function Replay:close()
  self.store:close()
end

--- Opens the store of a simulated run.
-- @tparam Recorded run
-- @tparam string path
-- @treturn Replay with `reused` (rows that came out of the store) and `store`
-- @raise kind "file"
function replay.open(run, path)
  local common = { name = run.name, device = run.device, problem = {}, source = "simulated" }
  common.key = store.key(common)
  return setmetatable({ run = run, store = store.open(path), common = common, reused = 0 }, Replay)
end

return replay
