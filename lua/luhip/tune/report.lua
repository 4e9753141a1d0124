--- What a tuning run looks like: a progress line while it runs, a table when it is done.
-- Dependencies: luhip.errors.
-- @module luhip.tune.report

local errors = require "luhip.errors"

local report = {}

local BEST = 10 -- rows of the table
local NEAR = 0.01 -- of the best: as good as it

-- Order of statuses in lists of failures.
report.statuses = { "constraint", "limits", "compile", "launch", "fault", "timeout", "verify", "objective" }

local MEANING = {
  constraint = "a constraint could not be evaluated",
  limits = "beyond the limits of the device or the kernel",
  compile = "does not compile",
  launch = "cannot be launched",
  fault = "faults",
  timeout = "does not end in time",
  verify = "wrong answer",
  objective = "the objective is no finite number",
}

--- Text of a number: four significant digits, no exponent for the usual.
-- @param value anything; what is no float is shown by tostring
-- @treturn string
function report.number(value)
  if math.type(value) ~= "float" then
    return tostring(value)
  end
  return value ~= value and "nan" or ("%.4g"):format(value) -- C's has the sign of a nan, which says nothing
end

--- Text of a configuration: "BX=16 BY=8".
-- @tparam table config
-- @tparam {string,...} names in order
-- @treturn string
function report.config(config, names)
  local parts = {}
  for _, name in ipairs(names) do
    if config[name] ~= nil then
      parts[#parts + 1] = ("%s=%s"):format(name, tostring(config[name]))
    end
  end
  return table.concat(parts, " ")
end

--- Lays out rows in columns two spaces apart; numbers to the right.
-- @tparam {table,...} rows of strings, the first one the heads
-- @tparam table left by column index: true for text, set to the left
-- @treturn {string,...} lines
function report.columns(rows, left)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      widths[i] = math.max(widths[i] or 0, utf8.len(cell) or #cell)
    end
  end
  local lines = {}
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      local space = (" "):rep(widths[i] - (utf8.len(cell) or #cell))
      cells[i] = left[i] and cell .. space or space .. cell
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return lines
end

-- ---- progress --------------------------------------------------------------------------------------------------

local function duration(seconds)
  if seconds < 60 then
    return ("%.0f s"):format(seconds)
  elseif seconds < 3600 then
    return ("%d min %02d s"):format(seconds // 60, math.floor(seconds % 60))
  end
  return ("%d h %02d min"):format(seconds // 3600, seconds % 3600 // 60)
end

-- How fast it goes, and how long it will take: until the configurations or the time are used up, whatever is first.
local function pace_text(state, total)
  local done = #state.rows - (state.session and state.session.reused or 0)
  local passed = state.host.clock() - state.started
  if done < 1 or passed <= 0 then
    return ""
  end
  local left = total and (total - #state.rows) * passed / done or math.huge
  if state.plan.budget.seconds then
    left = math.min(left, math.max(0, state.plan.budget.seconds - passed))
  end
  local rate = (", %s/s"):format(report.number(done / passed))
  return left < math.huge and ("%s, %s left"):format(rate, duration(left)) or rate
end

local function progress_text(state, failed)
  local plan = state.plan
  local total = state.total
  if total and plan.budget.configs then
    total = math.min(total, plan.budget.configs)
  end
  local text = ("%s: %d%s"):format(plan.name, #state.rows, total and "/" .. total or "") .. pace_text(state, total)
  if state.best then
    local value = state.best[plan.objective]
    local config = report.config(state.best.params, plan.space.names)
    text = ("%s, best %s %s (%s)"):format(text, report.number(value), plan.objective, config)
  end
  return failed > 0 and ("%s, %d failed"):format(text, failed) or text
end

--- Makes a live progress line.
-- @tparam file stream where it is drawn: a terminal
-- @tparam[opt=80] integer width columns of the terminal
-- @treturn function draws the state of a runner after a new row
-- @treturn function clears the line
function report.progress(stream, width)
  width = (width or 80) - 1
  local drawn, counted, failed = false, 0, 0
  local function draw(state)
    for i = counted + 1, #state.rows do
      failed = failed + (state.rows[i].status ~= "ok" and 1 or 0)
    end
    counted = #state.rows
    local text = progress_text(state, failed)
    if #text > width then
      text = text:sub(1, width - 3) .. "..."
    end
    stream:write("\r", text, "\27[K")
    stream:flush()
    drawn = true
  end
  local function clear()
    if drawn then
      stream:write "\r\27[K"
      stream:flush()
    end
  end
  return draw, clear
end

-- ---- the table -------------------------------------------------------------------------------------------------

local function ranked(result)
  local list = {}
  for i, row in ipairs(result.rows) do
    if row.status == "ok" then
      list[#list + 1] = { row = row, index = i, value = row[result.objective] }
    end
  end
  table.sort(list, function(a, b)
    if a.value ~= b.value then
      if result.higher then
        return a.value > b.value
      end
      return a.value < b.value
    end
    return a.index < b.index
  end)
  return list
end

local function near_best(list)
  local best, count = list[1].value, 0
  for _, entry in ipairs(list) do
    if math.abs(entry.value - best) <= NEAR * math.abs(best) then
      count = count + 1
    end
  end
  return count
end

local function best_table(result, list)
  local heads, left = {}, {}
  for i, name in ipairs(result.space.names) do
    heads[i] = name
  end
  local measures = { "ms" }
  for _, name in ipairs(result.metrics) do
    measures[#measures + 1] = name
  end
  for _, name in ipairs(measures) do
    heads[#heads + 1] = name == result.objective and name .. "*" or name
  end
  local rows = { heads }
  for i = 1, math.min(BEST, #list) do
    local row, cells = list[i].row, {}
    for c, name in ipairs(result.space.names) do
      cells[c] = tostring(row.params[name])
      left[c] = left[c] or type(row.params[name]) == "string"
    end
    for _, name in ipairs(measures) do
      cells[#cells + 1] = report.number(row[name])
    end
    rows[#rows + 1] = cells
  end
  return report.columns(rows, left)
end

local function first_with(result, status)
  for _, row in ipairs(result.rows) do
    if row.status == status then
      return row
    end
  end
end

local function failure_lines(result, lines)
  for _, status in ipairs(report.statuses) do
    local count = result.counts[status]
    if count then
      local row = first_with(result, status)
      lines[#lines + 1] = ("%d %s (%s), for example %s:"):format(
        count,
        status,
        MEANING[status],
        report.config(row.params, result.space.names)
      )
      lines[#lines + 1] = "  " .. errors.message(row.error)
    end
  end
end

-- Configurations that are no rows, since the device does not allow them.
local function limit_lines(result, lines)
  for _, removal in ipairs(result.space.removals and result.space:removals() or {}) do
    if removal.text:find "^device limit" and removal.removed > 0 then
      lines[#lines + 1] = ("%s left out: %s"):format(tostring(removal.removed), removal.text)
    end
  end
end

-- One whole log where nothing compiled: the table of reasons alone would not help.
local function log_lines(result, lines)
  local row = first_with(result, "compile")
  local log = row and row.error.log
  if log then
    lines[#lines + 1] = ("The compiler about %s:"):format(report.config(row.params, result.space.names))
    for line in log:gmatch "[^\n]+" do
      lines[#lines + 1] = "  " .. line
    end
  end
end

local STOPPED = {
  configs = "the budget of configurations is used up",
  seconds = "the budget of time is used up",
  strategy = "the strategy ended early",
  interrupted = "interrupted",
  poisoned = "the device did not survive a fault",
}

local function head_line(result)
  local of = result.total and result.total ~= #result.rows and (" of %d"):format(result.total) or ""
  local text = ("%s on %s: %d%s %s in %.1f s, %d ok"):format(
    result.name,
    result.device.id,
    #result.rows,
    of,
    #result.rows == 1 and of == "" and "configuration" or "configurations",
    result.seconds,
    result.counts.ok or 0
  )
  if (result.reused or 0) > 0 then
    text = ("%s, %d of them from the store"):format(text, result.reused)
  end
  return result.stopped and ("%s; stopped: %s"):format(text, STOPPED[result.stopped]) or text
end

-- Of several objectives: which rows no other beats in all of them.
local function front_lines(result, lines)
  if not result.pareto or #result.pareto == 0 then
    return
  end
  local names = {}
  for k, goal in ipairs(result.goals) do
    names[k] = goal.name
  end
  lines[#lines + 1] = ("%d that no other beats in all of %s:"):format(#result.pareto, table.concat(names, ", "))
  for k = 1, math.min(BEST, #result.pareto) do
    local row, parts = result.pareto[k], {}
    for i, name in ipairs(names) do
      parts[i] = ("%s %s"):format(name, report.number(row[name]))
    end
    lines[#lines + 1] = ("  %s: %s"):format(report.config(row.params, result.space.names), table.concat(parts, ", "))
  end
end

--- The whole report of a result.
-- @tparam table result
-- @treturn string the best rows, failures by reason, warnings; no newline at the end
function report.text(result)
  local lines = { head_line(result) }
  local list = ranked(result)
  if #list > 0 then
    for _, line in ipairs(best_table(result, list)) do
      lines[#lines + 1] = "  " .. line
    end
    local near = near_best(list)
    if near > 1 then
      lines[#lines + 1] = ("%d configurations are within %g %% of the best"):format(near, NEAR * 100)
    end
    if result.alike and #result.alike > 1 then
      lines[#lines + 1] = ("%d configurations are within the noise of the best"):format(#result.alike)
    end
    front_lines(result, lines)
    if not result.verified then
      lines[#lines + 1] = "No result was verified: no 'expect' was given"
    end
  else
    lines[#lines + 1] = "No configuration works"
  end
  failure_lines(result, lines)
  limit_lines(result, lines)
  if #list == 0 then
    log_lines(result, lines)
  end
  for _, warning in ipairs(result.warnings) do
    lines[#lines + 1] = "Warning: " .. warning
  end
  return table.concat(lines, "\n")
end

return report
