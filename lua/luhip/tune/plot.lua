--- A result as a picture: the configurations in order of their measurement, and the best until then, in SVG.
-- Dependencies: none.
-- @module luhip.tune.plot

local plot = {}

local WIDTH, HEIGHT = 860, 420
local LEFT, RIGHT, TOP, BOTTOM = 72, 840, 48, 372
local WIDE = 4 -- from this ratio of worst and best on the scale is logarithmic
local DOTS = 4000 -- at most

local STYLE = [[
<style>
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #5d6773; }
  .title { font-size: 16px; fill: #1b2026; } .ground { fill: #ffffff; } .grid { stroke: #e3e7eb; }
  .point { fill: #7f93ab; fill-opacity: .65; } .step { fill: none; stroke: #c2500c; stroke-width: 2; }
  .fail { stroke: #b3324b; }
  @media (prefers-color-scheme: dark) {
    text { fill: #98a3af; } .title { fill: #e6e9ed; } .ground { fill: #1a1f25; } .grid { stroke: #2e363f; }
    .point { fill: #66798f; } .step { stroke: #f29a4a; } .fail { stroke: #ef7f92; }
  }
</style>]]

local function escape(text)
  return (text:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }))
end

local function value_of(result, row)
  local value = row.status == "ok" and row[result.objective] or nil
  return type(value) == "number" and value - value == 0 and value or nil
end

local function bounds(result)
  local low, high = math.huge, -math.huge
  for _, row in ipairs(result.rows) do
    local value = value_of(result, row)
    low, high = math.min(low, value or low), math.max(high, value or high)
  end
  return low, high
end

-- What takes a value to its height, and whether it is by logarithms.
local function scale(low, high)
  local log = low > 0 and high / low > WIDE
  local from, to = log and math.log(low) or low, log and math.log(high) or high
  if from == to then
    from, to = from - (math.abs(from) * 0.1 + 1e-9), to + math.abs(to) * 0.1 + 1e-9
  end
  return function(value)
    return BOTTOM - 14 - ((log and math.log(value) or value) - from) / (to - from) * (BOTTOM - TOP - 26)
  end,
    log
end

-- Round numbers between two others: 1, 2, 5 times powers of ten.
local function ticks(low, high, log)
  local list = {}
  if log then
    for power = math.floor(math.log(low, 10)), math.ceil(math.log(high, 10)) do
      for _, digit in ipairs(high / low > 1000 and { 1 } or { 1, 2, 5 }) do
        list[#list + 1] = digit * 10.0 ^ power
      end
    end
  elseif high > low then
    local size = 10.0 ^ math.floor(math.log((high - low) / 4, 10))
    local step = (high - low) / 4 / size
    step = (step <= 1 and 1 or step <= 2 and 2 or step <= 5 and 5 or 10) * size
    for k = math.ceil(low / step), math.floor(high / step) do
      list[#list + 1] = k * step
    end
  else
    list[1] = low
  end
  return list
end

local function draw_axes(add, result, low, high, y, log)
  for _, value in ipairs(ticks(low, high, log)) do
    if value >= low and value <= high then
      add('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>', LEFT, RIGHT, y(value), y(value))
      add('<text x="%d" y="%.1f" text-anchor="end">%s</text>', LEFT - 8, y(value) + 4, ("%.4g"):format(value))
    end
  end
  add('<line class="grid" x1="%d" x2="%d" y1="%d" y2="%d"/>', LEFT, RIGHT, BOTTOM, BOTTOM)
  add('<text x="%d" y="%d">1</text>', LEFT, BOTTOM + 18)
  add('<text x="%d" y="%d" text-anchor="end">%d configurations</text>', RIGHT, BOTTOM + 18, #result.rows)
end

local function better(result, a, b)
  if result.higher then
    return a > b
  end
  return a < b
end

local function draw_rows(add, result, y)
  local best, path = nil, {}
  local every = math.ceil(#result.rows / DOTS)
  local function x(i)
    return LEFT + (i - 0.5) / #result.rows * (RIGHT - LEFT)
  end
  for i, row in ipairs(result.rows) do
    local value = value_of(result, row)
    if value and (best == nil or better(result, value, best)) then
      path[#path + 1] = (best and "H%.1fV%.1f" or "M%.1f %.1f"):format(x(i), y(value))
      best = value
    end
    if i % every == 0 and value then
      add('<circle class="point" cx="%.1f" cy="%.1f" r="2.6"/>', x(i), y(value))
    elseif i % every == 0 then
      add('<line class="fail" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>', x(i), x(i), BOTTOM - 6, BOTTOM)
    end
  end
  if best then
    add('<path class="step" d="%sH%d"/>', table.concat(path), RIGHT)
  end
end

--- The picture of a result.
-- @tparam Result result
-- @treturn string SVG: a dot for each configuration that worked, a tick for each that did not, a line for the best so
--   far; where the worst is far from the best, by logarithms
function plot.svg(result)
  local lines = {}
  local function add(format, ...)
    lines[#lines + 1] = format:format(...)
  end
  add(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">',
    WIDTH,
    HEIGHT,
    WIDTH,
    HEIGHT
  )
  lines[#lines + 1] = STYLE
  add('<rect class="ground" width="%d" height="%d"/>', WIDTH, HEIGHT)
  local low, high = bounds(result)
  local y, log
  if low <= high then
    y, log = scale(low, high)
    draw_axes(add, result, low, high, y, log)
  end
  local title = ("%s on %s: %s%s"):format(
    result.name,
    result.device.id,
    result.objective,
    log and " (logarithmic)" or ""
  )
  add('<text class="title" x="%d" y="26">%s</text>', LEFT, escape(low <= high and title or title .. ", nothing worked"))
  draw_rows(add, result, y)
  lines[#lines + 1] = "</svg>\n"
  return table.concat(lines, "\n")
end

return plot
