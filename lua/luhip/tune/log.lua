--- What a tuning run tells the logger `tune`: its begin and end at level basic, every configuration at full.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.tune.log

local core = require "luhip.core"
local errors = require "luhip.errors"

local log = {}

local function show(params)
  local names = {}
  for name in pairs(params or {}) do
    names[#names + 1] = tostring(name)
  end
  table.sort(names)
  for i, name in ipairs(names) do
    names[i] = ("%s=%s"):format(name, tostring(params[name]))
  end
  return table.concat(names, " ")
end

local function tell(level, format, ...)
  if core.log_on("tune", level) then
    core.log("tune", level, format:format(...))
  end
end

--- Tells of the begin of a run.
-- @tparam table plan its `name` and `device`
function log.begin(plan)
  tell("basic", "'%s' on %s begins", tostring(plan.name), plan.device.id)
end

--- Tells of one configuration.
-- @tparam table row of the result
function log.row(row)
  if not core.log_on("tune", "full") then
    return
  end
  local outcome = row.ms and ("%.6g ms"):format(row.ms) or row.error and errors.message(row.error) or ""
  core.log("tune", "full", ("%s: %s %s"):format(show(row.params), tostring(row.status), outcome))
end

--- Tells of the end of a run.
-- @tparam table plan as for `log.begin`
-- @tparam table result its `rows` and `best`
function log.finish(plan, result)
  local best = result.best
  tell(
    "basic",
    "'%s' on %s ends after %d configurations; %s",
    tostring(plan.name),
    plan.device.id,
    #result.rows,
    best and ("best: %s with %.6g ms"):format(show(best.params), best.ms) or "none worked"
  )
end

return log
