--- Autotuning: sweep a kernel's parameters, check every result, time each, keep the best.
--
--    local tune = require "luhip.tune"
--    local result = tune {
--      device = dev, source = src, kernel = "matmul", access = { c = "out" },
--      params = { BX = { 8, 16, 32 }, BY = { 8, 16, 32 } },
--      where = { "BX * BY <= 1024" },
--      grid = function(p) return { luhip.cdiv(N, p.BX), luhip.cdiv(N, p.BY) } end,
--      block = { "BX", "BY" },
--      args = { a, b, c, N },
--      expect = { c = reference },
--    }
--    print(result)
--
-- Options:
--
-- * `device`, `source`, `grid`, `block`: required. `kernel` may be left out when the source has one. Source and kernel
--   may be functions of the configuration; a kernel with `<` is a template's name expression. Parameters become
--   defines: booleans as 1 and 0, text as it is.
-- * `params`, `where`: as in luhip.tune.space; or `space`, what `tune.space` made.
-- * `grid`, `block`: a number, an expression ("BX * 2"), a list of up to three of these, or a function of the
--   configuration. `shared`: bytes of dynamic shared memory, in the same ways; 0 by default.
-- * `args`: the launch arguments. Buffers are brought back to their first content before every candidate and at the
--   end; those that the kernel reads and writes before every sample too. A function among them is called with the
--   configuration and gives the argument.
-- * `access`: { parameter = "in" | "out" | "inout" }. An `out` buffer that already holds the expected values is
--   poisoned instead (NaN, or an unlikely integer).
-- * `expect`: by parameter name or position, a table, host array or buffer to compare with, or a
--   function(array, config) that returns true or false and a reason. Or one function(arrays, config), where arrays.c
--   reads parameter c. Without it nothing is verified.
-- * `tolerance`: see luhip.tune.verify.
-- * `metrics`: functions of the row, in order of their names; their values become fields of the row.
-- * `objective`: "ms" (default), "median", "min" or a metric; lower is better, unless `higher = true`.
-- * `budget`: { configs =, seconds = }, tested before each candidate; at least one is tried.
-- * `measure`: overrides of luhip.tune.measure's defaults.
-- * `compile`: `defines`, `include_dirs`, `headers`, `flags`, `name`, `cache` and `timeout` of dev:compile, the same
--   for every candidate.
-- * `strategy`: "auto" or "exhaustive", which are the same in this version.
-- * `progress`: false for none, a function(row, done, total), or nil: a live line when stderr is a terminal.
-- * `name`: for the report.
--
-- A candidate that fails is a row: `status` is "ok", or "constraint" (a constraint raised), "limits", "compile",
-- "launch", "fault", "timeout", "verify", "objective" (no number), and `error` says why. Configurations that `where`
-- removes are no rows. What a function for source, kernel, grid, block, shared or an argument raises ends the run, and
-- so does a kernel or a parameter of `access` that the first configuration's source does not have.
-- Dependencies: luhip.core and the modules beside this one.
-- @module luhip.tune

local core = require "luhip.core"
local errors = require "luhip.errors"
local log = require "luhip.tune.log"
local options = require "luhip.tune.options"
local report = require "luhip.tune.report"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local space = require "luhip.tune.space"
local t1 = require "luhip.tune.t1"
local timing = require "luhip.timing"

local tune = {}

-- ---- values ----------------------------------------------------------------------------------------------------

local function check_numbers(what, ...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      errors.raise("type", "tune.%s: argument %d: a number expected, not %s", what, i, tostring(value))
    end
  end
end

--- The powers of a base from first to last.
-- @tparam number base at least 2
-- @tparam number first more than 0
-- @tparam number last inclusive
-- @treturn {number,...} ascending; empty when there is none in between
-- @raise kinds "type" and "argument"
function tune.powers(base, first, last)
  check_numbers("powers", base, first, last)
  if base < 2 or first <= 0 then
    errors.raise("argument", "tune.powers: base >= 2 and first > 0 expected")
  end
  local list, value = {}, math.tointeger(base) and 1 or 1.0
  while value <= last and value > 0 do
    if value >= first then
      list[#list + 1] = value
    end
    value = value * (math.tointeger(base) or base)
  end
  return list
end

--- The numbers from first to last.
-- @tparam number first
-- @tparam number last inclusive
-- @tparam[opt=1] number step more than 0
-- @treturn {number,...} ascending; empty when last < first
-- @raise kinds "type" and "argument"
function tune.range(first, last, step)
  step = step == nil and 1 or step
  check_numbers("range", first, last, step)
  if step <= 0 then
    errors.raise("argument", "tune.range: step > 0 expected")
  end
  local list = {}
  for value = first, last, step do
    list[#list + 1] = value
  end
  return list
end

--- Makes a space: see luhip.tune.space.
-- @tparam table given `params` and `where`
-- @treturn Space
tune.space = space.new

--- Loads a T1 problem file as a space: see luhip.tune.t1.
-- @tparam string path
-- @treturn Space
-- @treturn table the decoded file
-- @raise kinds "file" and "argument", naming the file
tune.load_t1 = t1.load

-- ---- running ---------------------------------------------------------------------------------------------------

local function silent() end

local function progress_of(wanted)
  if type(wanted) == "function" then
    return function(run, row)
      wanted(row, #run.rows, run.total)
    end, silent
  elseif wanted == false or not core.isatty(2) then
    return silent, silent
  end
  return report.progress(io.stderr, tonumber(os.getenv "COLUMNS"))
end

local function sampler(device)
  return function(fn)
    return timing.once(device, fn)
  end
end

--- Runs a tuning: `tune { ... }`.
-- @tparam table given the options above
-- @treturn Result see luhip.tune.result
-- @raise kinds "argument", "type" and "shape" for options that cannot work for any candidate; buffers then hold their
--   first content
function tune.run(given)
  local plan = options.read(given)
  local draw, clear = progress_of(plan.progress)
  local function progress(run, row)
    log.row(row)
    draw(run, row)
  end
  log.begin(plan)
  local ok, run = pcall(runner.run, plan, { clock = core.monotime, sampler = sampler, progress = progress })
  clear()
  if not ok then
    error(run, 0)
  end
  local found = result.new(run)
  log.finish(plan, found)
  return found
end

local LATER = { "simulate", "load_cache", "best" }
for _, name in ipairs(LATER) do
  tune[name] = function()
    errors.raise("argument", "tune.%s is not available in this version", name)
  end
end

return setmetatable(tune, {
  __call = function(_, given)
    return tune.run(given)
  end,
})
