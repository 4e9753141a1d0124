--- A device's memory: reports, persistent mode, plans.
--
--    print(dev:memory_report())
--    dev:memory_mode("persistent", function() step(x, y) end)
--    dev:install_pools(dev:plan(function() run_once() end))
--
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.memory

local core = require "luhip.core"
local errors = require "luhip.errors"

local memory = {}

-- ---- sizes -----------------------------------------------------------------------------------------------------

local UNITS = { "KiB", "MiB", "GiB", "TiB" }

-- "0", "512 B", "1.5 MiB"
local function size(bytes)
  if bytes < 1024 then
    return bytes == 0 and "0" or ("%d B"):format(bytes)
  end
  local value, unit = bytes / 1024, 1
  while value >= 1024 and UNITS[unit + 1] do
    value, unit = value / 1024, unit + 1
  end
  return (value == math.floor(value) and "%d %s" or "%.1f %s"):format(
    value == math.floor(value) and math.tointeger(value) or value,
    UNITS[unit]
  )
end

-- "sliced 64 MiB / 8 MiB, cap 128 MiB"
local function configuration(pool)
  local parts = { pool.kind }
  if pool.page then
    parts[1] = parts[1] .. " " .. size(pool.page) .. (pool.slice and " / " .. size(pool.slice) or "")
  end
  if pool.cap then
    table.insert(parts, "cap " .. size(pool.cap) .. (pool.capped and " (was full)" or ""))
  end
  if pool.reclaim_at then
    table.insert(parts, "reclaim at " .. size(pool.reclaim_at))
  end
  return table.concat(parts, ", ")
end

-- ---- the report ------------------------------------------------------------------------------------------------

local Report = { __name = "luhip.memory_report" }
Report.__index = errors.strict(Report, "luhip.memory_report", { "device", "memory", "pools", "holders" })

local HOLDERS = 10

local function columns(lines, rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      widths[i] = math.max(widths[i] or 0, #cell)
    end
  end
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = i == 1 and cell .. (" "):rep(widths[i] - #cell) or (" "):rep(widths[i] - #cell) .. cell
    end
    table.insert(lines, "  " .. table.concat(cells, "  "))
  end
end

local function pools_of(report, stream, pinned)
  local rows = { { pinned and "pinned" or "device", "live", "in use", "padding", "held", "pages", "most", "largest" } }
  for _, pool in ipairs(report.pools) do
    if pool.stream == stream and pool.pinned == pinned then
      local name = configuration(pool)
      table.insert(rows, {
        pool.role == "layout" and name or ("%s (%s)"):format(name, pool.role),
        tostring(pool.live),
        size(pool.in_use),
        size(pool.padding),
        size(pool.reserved),
        tostring(pool.pages),
        ("%d, %s"):format(pool.peak_pages, size(pool.peak)),
        size(pool.largest),
      })
    end
  end
  return rows
end

local function add_holders(lines, report)
  local list = report.holders
  if #list == 0 then
    return
  end
  table.insert(lines, ("held by %d buffer%s, the largest first:"):format(#list, #list == 1 and "" or "s"))
  local rows = {}
  for i = 1, math.min(#list, HOLDERS) do
    local holder = list[i]
    table.insert(rows, { holder.what, size(holder.bytes), "stream " .. holder.stream, holder.role })
  end
  columns(lines, rows)
  if #list > HOLDERS then
    table.insert(lines, ("  and %d more"):format(#list - HOLDERS))
  end
end

function Report:__tostring()
  local m = self.memory
  local lines = {
    ("luhip.memory_report of %s: %d buffer%s, in use %s, padding %s, held %s of which %s cached, limit %s"):format(
      self.device,
      m.buffers,
      m.buffers == 1 and "" or "s",
      size(m.in_use),
      size(m.padding),
      size(m.reserved),
      size(m.cached),
      m.limit == 0 and "none" or size(m.limit)
    ),
    ("pinned: in use %s, padding %s, held %s"):format(
      size(m.pinned.in_use),
      size(m.pinned.padding),
      size(m.pinned.reserved)
    ),
  }
  for _, stream in ipairs(m.streams) do
    table.insert(lines, stream.stream == 0 and "a stream that was freed" or ("stream %d"):format(stream.stream))
    columns(lines, pools_of(self, stream.stream, false))
    local pinned = pools_of(self, stream.stream, true)
    if #pinned > 1 then
      columns(lines, pinned)
    end
  end
  add_holders(lines, self)
  return table.concat(lines, "\n")
end

--- What the pools of all streams hold, and who has it: `print(dev:memory_report())`.
-- @treturn report .memory (what dev:memory gives), .pools (list of { stream, pinned, role, kind, page, slice, cap,
--   reclaim_at, live, in_use, padding, reserved, cached, pages, peak_pages, peak, largest, capped }) and .holders
--   (list of { id, stream, role, bytes, padding, what }, the largest first); print shows all of it
function memory.report(dev)
  errors.check_self(dev, "device", "memory_report")
  local report = { device = dev.id, memory = dev:memory(), pools = dev:memory_pools(), holders = dev:memory_holders() }
  table.sort(report.holders, function(a, b)
    if a.bytes ~= b.bytes then
      return a.bytes > b.bytes
    end
    return a.id < b.id
  end)
  return setmetatable(report, Report)
end

-- ---- persistent mode -------------------------------------------------------------------------------------------

local Window = { __name = "luhip.memory_window" }

local function close(window)
  core.memory_window_close(window.device, window.id)
end
Window.__close = close
Window.__gc = close

--- Persistent mode of the current stream: `dev:memory_mode("persistent", fn, ...)`.
-- What buffers take meanwhile comes from the stream's persistent pool, in exact sizes, and is kept for the next time.
-- Calls nest: the innermost says the mode. Without fn the mode holds from now on, outside of all such calls.
-- @tparam string mode "persistent" or "auto"
-- @tparam[opt] function fn
-- @param ... its arguments
-- @return what fn returns
-- @raise kinds "argument" and "type"
function memory.mode(dev, mode, fn, ...)
  errors.check_self(dev, "device", "memory_mode")
  if fn == nil then
    return core.memory_mode(dev, mode)
  end
  errors.check_function(fn, "memory_mode")
  local _ <close> = setmetatable({ device = dev, id = core.memory_window(dev, mode) }, Window)
  return fn(...)
end

-- ---- plans -----------------------------------------------------------------------------------------------------

--- Finds out how much memory a function needs: `dev:install_pools(dev:plan(fn))`.
-- fn runs as in dev:dry_run: launches are checked, nothing runs and nothing is allocated. Buffers that it makes are
-- placed in the pools of the current stream as if there were memory. The layout has the pools that were used, each with
-- a cap of the most that it held.
-- @tparam function fn
-- @param ... its arguments
-- @treturn layout for dev:install_pools
-- @treturn table { reserved, in_use, buffers }: the most bytes held and in use, how many buffers were made
-- @raise what fn raises; kinds "oom" and "too_big" where the device could not hold it
function memory.plan(dev, fn, ...)
  errors.check_self(dev, "device", "plan")
  errors.check_function(fn, "plan")
  local plan <close> = core.plan(dev)
  core.plan_run(dev, plan, fn, ...)
  local reserved, in_use, buffers = plan:peak()
  return plan:layout(), { reserved = reserved, in_use = in_use, buffers = buffers }
end

return memory
