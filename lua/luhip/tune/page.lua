--- A result as one page of HTML that needs nothing else: no network, no files beside it.
--
-- The rows are embedded as JSON, in which `<` is written as an escape, so that no text of theirs can end the element
-- that holds them; the script (luhip.tune.page_script) draws from that and puts texts in as texts only. A policy in the
-- page forbids it to load anything.
-- Dependencies: luhip.core, luhip.errors, luhip.tune.{importance,page_script,page_style,report}.
-- @module luhip.tune.page

local core = require "luhip.core"
local errors = require "luhip.errors"
local importance = require "luhip.tune.importance"
local report = require "luhip.tune.report"
local script = require "luhip.tune.page_script"
local style = require "luhip.tune.page_style"

local page = {}

-- What JSON can hold of a number: nothing for infinities and NaN.
local function finite(value)
  if type(value) == "number" and value - value ~= 0 then
    return nil
  end
  return value
end

-- By parameter the list of its values, and which one a value is. Rows may hold values that the space has no more.
local function axes_of(result)
  local axes = {}
  for p, name in ipairs(result.space.names) do
    local axis = { name = name, values = {}, at = {} }
    for i, value in ipairs(result.space:values(name)) do
      axis.values[i], axis.at[value] = value, i
    end
    axes[p] = axis
  end
  return axes
end

local function place(axis, value)
  if value == nil then
    value = "?"
  end
  if not axis.at[value] then
    axis.values[#axis.values + 1] = value
    axis.at[value] = #axis.values
  end
  return axis.at[value]
end

local function row_of(result, row, axes)
  local at, metrics = {}, {}
  for p, axis in ipairs(axes) do
    at[p] = place(axis, row.params[axis.name])
  end
  for _, name in ipairs(result.metrics) do
    local value = finite(row[name])
    metrics[name] = (type(value) == "number" or type(value) == "string") and value or nil
  end
  return {
    at = at,
    status = row.status,
    value = row.status == "ok" and finite(row[result.objective]) or nil,
    ms = finite(row.ms),
    compile_ms = finite(row.compile_ms),
    low = finite(row.low),
    high = finite(row.high),
    final = finite(row.final),
    place = row.place,
    samples = row.samples and #row.samples or nil,
    reused = row.reused or nil,
    metrics = next(metrics) and metrics or nil,
    error = row.error ~= nil and errors.message(row.error) or nil,
  }
end

local function shares_of(rows, axes)
  local values, places = {}, {}
  for _, row in ipairs(rows) do
    if row.value then
      values[#values + 1], places[#places + 1] = row.value, row.at
    end
  end
  return importance.single(values, places, #axes), importance.pairs(values, places, #axes)
end

local function data_of(result)
  local axes, rows, params = axes_of(result), {}, {}
  local best
  for i, row in ipairs(result.rows) do
    rows[i] = row_of(result, row, axes)
    best = row == result.best and i or best
  end
  local shares, pairings = shares_of(rows, axes)
  for p, axis in ipairs(axes) do
    params[p] = { name = axis.name, values = axis.values, share = shares[p] }
  end
  return {
    name = result.name,
    device = { id = result.device.id, name = result.device.name, arch = result.device.arch },
    problem = result.problem,
    objective = result.objective,
    higher = result.higher or nil,
    strategy = result.strategy,
    seconds = finite(result.seconds),
    stopped = result.stopped,
    total = finite(result.total),
    verified = result.verified or nil,
    reused = result.reused,
    warnings = result.warnings,
    metrics = result.metrics,
    statuses = report.statuses,
    params = params,
    pairs = pairings,
    near = result.near and #result.near or nil,
    best = best,
    rows = rows,
  }
end

local function escape(text)
  return (text:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }))
end

local PAGE = [[
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>$TITLE</title>
<style>
$STYLE</style>
</head>
<body>
<header><h1 id="title">$TITLE</h1><p id="subtitle"></p></header>
<section id="tiles" class="tiles"></section>
<section id="filters" class="card filters"></section>
<main>
<section class="card wide"><h2>Best so far</h2>
<p class="note" id="history-note"></p><div id="history" class="plot"></div></section>
<section class="card"><h2>Distribution</h2>
<p class="note" id="distribution-note"></p><div id="distribution" class="plot"></div></section>
<section class="card"><h2>Importance</h2><p class="note">Share of the variance of log(objective) that a parameter
alone explains (functional ANOVA main effect, &epsilon;&sup2;), and what pairs explain beyond that, over all that
worked.</p><div id="importance" class="plot"></div></section>
<section class="card"><h2>Two parameters</h2><div class="controls" id="heat-controls"></div>
<p class="note" id="heat-note"></p><div id="heat" class="plot"></div></section>
<section class="card"><h2>Failures</h2><div id="failures"></div></section>
<section class="card wide"><h2>Configurations</h2>
<div class="scroll"><table id="rows"></table></div><button id="more">More</button></section>
</main>
<div id="tip" hidden></div>
<noscript><p>This page draws with a script; the rows are in its source.</p></noscript>
<script type="application/json" id="data">$DATA</script>
<script>
$SCRIPT</script>
</body>
</html>
]]

--- The page of a result.
-- @tparam Result result
-- @treturn string HTML, in UTF-8
function page.text(result)
  local parts = {
    TITLE = escape(("%s on %s"):format(result.name, result.device.id)),
    STYLE = style,
    SCRIPT = script,
    DATA = core.json_text(data_of(result)):gsub("<", "\\u003c"),
  }
  return (PAGE:gsub("%$(%u+)", parts))
end

return page
