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
-- * `reference`: a kernel that is known to be right, { source =, kernel =, grid =, block =, shared =, params =,
--   defines = }, by default of the candidates' source and name. It runs once, with the same arguments; outputs are
--   compared with what it wrote: those that `expect` gives as `true`, or without `expect` all.
-- * `tolerance`: see luhip.tune.verify; or one for each output, { c = 1e-3, d = { absolute = 1 } }.
-- * `metrics`: functions of the row, in order of their names; their values become fields of the row.
-- * `objective`: "ms" (default), "median", "min" or a metric; lower is better, unless `higher = true`. Or a list of
--   several, with `higher = { gflops = true }`: then `result.pareto` has the rows that no other beats in all of them.
-- * `budget`: { configs =, seconds = }, or a number of configurations; tested before each candidate; at least one is
--   tried.
-- * `cache`: what a sample finds in the device's last-level cache: "hot" (default) what the launch before left there;
--   "cold" nothing of it; a number: that many bytes are written before each launch, if the device does not tell its
--   cache's size. `rotate`: that many copies of the buffers that the kernel only reads or only writes take turns, 1 by
--   default.
-- * `measure`: overrides of luhip.tune.measure's defaults.
-- * `compile`: `defines`, `include_dirs`, `headers`, `flags`, `name`, `cache` and `timeout` of dev:compile, the same
--   for every candidate.
-- * `problem`: { N = 4096 }: what tells one size from another in the store; by default `problem_size`, or the
-- arguments.
-- * `store`: a file in which every row is kept as soon as it is known, or true for the user's own (luhip.tune.store),
--   or a database, "postgres://user@host/base" (luhip.tune.database).
--   What is finished there for the same source, options, device, driver, compiler and problem is not measured again,
--   unless `resume = false`. `default`: a configuration for where nothing is known, kept for `tune.best`.
-- * In place of `block`: parameters named block_size_x, block_size_y, block_size_z. In place of `grid`: `problem_size`
--   (a number, expression, list of up to three of these, or function), over the product of `grid_div_x`, `grid_div_y`,
--   `grid_div_z` (numbers, expressions, functions, lists of these; by default block_size_x, ... where there is one),
--   rounded up, as Kernel Tuner has them; grid_size_x, ..., block_size_x, ... and kernel_tuner become defines too.
-- * What the device allows in threads, block and shared memory is a constraint like those of `where`, as far as `block`
--   and `shared` are numbers and expressions.
-- * `strategy`: how configurations are chosen, "auto" by default: a name of luhip.tune.strategies, { name, option =
--   value, ... }, or a function that yields configurations (see luhip.tune.search). Without a budget, auto tries all,
--   in the order of the space. `seed`: an integer; the same seed and the same costs give the same order.
-- * `ahead`: how many configurations that a strategy asked for at once are compiled in the background while one is
--   measured; 3, and 0 for the CPU device, whose time compilers would take. `device` may be a list of devices, which
--   share what is asked for at once: buffers among the arguments are copied to the others, rows have the id of their
--   device as `place`. The order in which a strategy hears of rows depends on neither.
-- * `isolate`: true: every configuration is tried in a process of its own, which may die or hang of it; false: none
--   is; nil: those are that come after one that the device did not survive. `hang`: seconds that a configuration may
--   take there, 300 by default. Functions are called here all the same; arguments and references have to be data.
-- * `progress`: false for none, a function(row, done, total), or nil: a live line when stderr is a terminal.
-- * `name`: for the report.
--
-- A candidate that fails is a row: `status` is "ok", or "constraint" (a constraint raised), "limits", "compile",
-- "launch", "fault", "timeout", "verify", "objective" (no number), and `error` says why. Configurations that `where`
-- removes are no rows. What a function for source, kernel, grid, block, shared or an argument raises ends the run, and
-- so does a kernel or a parameter of `access` that the first configuration's source does not have.
-- Dependencies: luhip.core and the modules beside this one.
-- @module luhip.tune

local best = require "luhip.tune.best"
local core = require "luhip.core"
local errors = require "luhip.errors"
local import = require "luhip.tune.import"
local log = require "luhip.tune.log"
local options = require "luhip.tune.options"
local outputs = require "luhip.tune.outputs"
local overrides = require "luhip.tune.overrides"
local recorded = require "luhip.tune.recorded"
local report = require "luhip.tune.report"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local simulate = require "luhip.tune.simulate"
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

-- With `pause`, others go on while the device works.
local function sampler(device, pause)
  if not pause then
    return function(fn)
      return timing.once(device, fn)
    end
  end
  return function(fn)
    local window <close> = device:start_profile()
    fn()
    local duration <close> = window:stop()
    while not duration:ready() do
      pause()
    end
    return duration:wait()
  end
end

-- What the command line asked for besides.
local function finish(made)
  local told = overrides.get()
  if not told then
    return made
  elseif made.stopped == "poisoned" then
    errors.raise(
      "poisoned",
      "the device did not survive a configuration; the process that watches goes on in a new one"
    )
  end
  outputs.write(made, told)
  return made
end

-- In a dry run nothing is computed: every configuration would be kept as one that gives wrong results.
local function refuse_dry_runs(devices)
  for _, device in ipairs(devices) do
    if type(device) == "userdata" and core.in_dry_run(device) then
      errors.raise("argument", "tune: not possible in a dry run or plan of %s, where no kernel runs", device.id)
    end
  end
end

--- Runs a tuning: `tune { ... }`.
-- @tparam table given the options above
-- @treturn Result see luhip.tune.result
-- @raise kinds "argument", "type" and "shape" for options that cannot work for any candidate; buffers then hold their
--   first content
function tune.run(given)
  outputs.begin(overrides.get())
  local plan = options.read(given)
  refuse_dry_runs(plan.devices)
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
  return finish(found)
end

--- Finds the stored winner: `tune.best("matmul", dev, { N = 4096 })`, see luhip.tune.best.
-- @function tune.best
-- @tparam string name
-- @tparam device device
-- @tparam[opt] table problem
-- @tparam[opt] table options
-- @treturn Best
-- @raise kind "not_found"
tune.best = best.find

--- Reads a Kernel Tuner cache or T4 results as records: see luhip.tune.import.
-- @function tune.import
-- @tparam string path
-- @tparam[opt] table given
-- @treturn table
-- @raise kinds "file" and "argument"
tune.import = import.read

--- Reads a recorded run, of Kernel Tuner, T4, KTT or luhip itself, plain or gzipped: see luhip.tune.recorded.
-- @tparam string path
-- @treturn Recorded
tune.load_cache = recorded.load

--- Replays a recorded run without a device: see luhip.tune.simulate.
-- @tparam Recorded run
-- @tparam[opt] table options `strategy`, `budget`, `seed`, `objective`, `higher`, `store`
-- @treturn Result
tune.simulate = simulate.run

return setmetatable(tune, {
  __call = function(_, given)
    return tune.run(given)
  end,
})
