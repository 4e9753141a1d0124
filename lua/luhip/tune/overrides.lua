--- What `luhip tune` tells the tuning runs of the script that it runs in a worker process.
--
-- The environment variable _LUHIP_TUNE holds it as JSON. Runs report back through a journal (`status`): which store
-- they opened, how they ended. A worker dies with the process that watches it, and a configuration that takes longer
-- than `hang` seconds ends the worker, since a driver that hangs cannot be asked to stop.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.tune.overrides

local core = require "luhip.core"
local errors = require "luhip.errors"

local overrides = {}

overrides.VARIABLE = "_LUHIP_TUNE"

local known

local function read()
  local text = os.getenv(overrides.VARIABLE)
  if not text or text == "" then
    return false
  end
  local given = core.json(text)
  if given.parent and not core.die_with(given.parent) then
    errors.raise("interrupted", "the process that watches this one is gone")
  end
  given.journal = given.status and core.journal(given.status)
  return given
end

--- What this process was told.
-- @treturn ?table `budget`, `store`, `default_store`, `resume` (nil: as the script says), `since` (records by store),
--   `hang`, `report`, `t4`, `csv`, `outcome` (see luhip.tune.outputs), `worker` (others who work at the same run share
--   the store); nil in a process of its own
function overrides.get()
  if known == nil then
    known = read()
  end
  return known or nil
end

--- Reports back.
-- @tparam table record with `kind`
function overrides.tell(record)
  local given = overrides.get()
  if given and given.journal then
    given.journal:append(core.json_text(record))
  end
end

local trying = 0 -- several devices try several at once

local function arm()
  local given = overrides.get()
  if given and given.hang then
    core.alarm(trying > 0 and given.hang or 0)
  end
end

--- A configuration is tried from now on: the process ends when that takes too long.
function overrides.begin()
  trying = trying + 1
  arm()
end

--- It was tried.
function overrides.done()
  trying = trying - 1
  arm()
end

return overrides
