--- Reading what `tune { ... }` is given: every key is known, every value is of the right kind, or an error says so
-- before anything is compiled. The result, a plan, is what the runner works from.
-- Dependencies: luhip.errors, luhip.nearest, luhip.tune.{cold,evaluator,geometry,inputs,measure,objectives,overrides,
-- reference,space,store,strategies}.
-- @module luhip.tune.options

local cold = require "luhip.tune.cold"
local errors = require "luhip.errors"
local evaluator = require "luhip.tune.evaluator"
local geometry = require "luhip.tune.geometry"
local inputs = require "luhip.tune.inputs"
local measure = require "luhip.tune.measure"
local nearest = require "luhip.nearest"
local objectives = require "luhip.tune.objectives"
local overrides = require "luhip.tune.overrides"
local reference = require "luhip.tune.reference"
local space = require "luhip.tune.space"
local store = require "luhip.tune.store"
local strategies = require "luhip.tune.strategies"

local options = {}

local read_store

-- Key to the types it may have.
local KEYS = {
  name = "string",
  device = "table userdata",
  source = "string function",
  kernel = "string function",
  access = "table",
  params = "table",
  where = "string function table",
  space = "table",
  grid = "number string function table",
  block = "number string function table",
  shared = "number string function",
  args = "table",
  expect = "table function",
  tolerance = "number table",
  reference = "table",
  cache = "string number",
  rotate = "number",
  metrics = "table",
  objective = "string table",
  higher = "boolean table",
  strategy = "string function table",
  seed = "number",
  budget = "table number",
  measure = "table",
  compile = "table",
  progress = "boolean function",
  problem = "table",
  problem_size = "number string table function",
  grid_div_x = "number string table function",
  grid_div_y = "number string table function",
  grid_div_z = "number string table function",
  default = "table",
  ahead = "number",
  store = "boolean string",
  resume = "boolean",
  isolate = "boolean",
  hang = "number",
}

-- Names of a row that no metric may take.
local ROW = {
  params = true,
  status = true,
  error = true,
  ms = true,
  median = true,
  min = true,
  samples = true,
  kept = true,
  low = true,
  high = true,
  ramp = true,
  given_up = true,
  final = true,
  finals = true,
  compile_ms = true,
  place = true,
  shared_bytes = true,
  registers = true,
}
local MEASURES = { ms = true, median = true, min = true }

local function sorted_keys(map)
  local list = {}
  for key in pairs(map) do
    list[#list + 1] = tostring(key)
  end
  table.sort(list)
  return list
end

local function unknown(where, key, known)
  local names = sorted_keys(known)
  local near = nearest(tostring(key), names)
  local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(names, ", ")
  errors.raise("argument", "%s: unknown key '%s'%s", where, tostring(key), hint)
end

local function check_keys(given)
  for key, value in pairs(given) do
    if not KEYS[key] then
      unknown("tune", key, KEYS)
    end
    local kind = type(value)
    if key == "device" and kind == "string" then
      errors.raise(
        "type",
        "tune: device: a device expected, as luhip.open '%s' gives it, not its id '%s'",
        value,
        value
      )
    elseif not (" " .. KEYS[key] .. " "):find(" " .. kind .. " ", 1, true) then
      errors.raise("type", "tune: %s: a %s expected, not a %s", key, KEYS[key]:gsub(" ", " or "), kind)
    end
  end
  for _, key in ipairs { "device", "source" } do
    if given[key] == nil then
      errors.raise("argument", "tune: '%s' is missing", key)
    end
  end
  if given.grid == nil and given.problem_size == nil then
    errors.raise("argument", "tune: 'grid' is missing, or 'problem_size', which it is computed from")
  elseif given.grid ~= nil and given.problem_size ~= nil then
    errors.raise("argument", "tune: 'problem_size' stands in place of 'grid', not beside it")
  end
  if given.access and not given.kernel then
    errors.raise("argument", "tune: 'access' needs 'kernel', the name of the kernel whose parameters it means")
  end
  if given.seed and not math.tointeger(given.seed) then
    errors.raise("argument", "tune: seed: a whole number expected, not %s", given.seed)
  end
end

-- The names of parameters, whatever is wrong with them otherwise: luhip.tune.space says that.
local function names_of(params)
  local names = {}
  for key, value in pairs(params) do
    names[#names + 1] = type(key) == "string" and key
      or type(value) == "table" and type(value[1]) == "string" and value[1]
  end
  return names
end

local function block_of(given, names)
  local block = given.block
  if block == nil then
    block = geometry.block_of(names)
  end
  if block == nil then
    errors.raise("argument", "tune: 'block' is missing, and no parameter is named block_size_x")
  end
  return block
end

-- The user's constraints, and those of the device.
local function with_limits(given, names)
  local where = {}
  if type(given.where) == "table" and not (given.where.name and given.where[1]) then
    table.move(given.where, 1, #given.where, 1, where)
  elseif given.where ~= nil then
    where[1] = given.where
  end
  if given.where ~= nil and #where == 0 then
    return given.where
  end
  local block = block_of(given, names)
  geometry.dims(block, names, "block") -- raises for what is none, before it is part of a constraint
  geometry.number(given.shared, names, "shared")
  local ok, limits = pcall(geometry.limits, block, given.shared, given.device)
  return ok and table.move(limits, 1, #limits, #where + 1, where) or where
end

local function read_space(given)
  if given.space ~= nil then
    if not space.is(given.space) then
      errors.raise("type", "tune: space: what tune.space makes expected")
    elseif given.params ~= nil or given.where ~= nil then
      errors.raise("argument", "tune: 'space' stands in place of 'params' and 'where', not beside them")
    end
    return given.space
  end
  if given.params == nil then
    errors.raise("argument", "tune: 'params' is missing")
  end
  return space.new { params = given.params, where = with_limits(given, names_of(given.params)) }
end

local function read_numbers(where, given, defaults, integers)
  local numbers = {}
  for key, value in pairs(defaults) do
    numbers[key] = value
  end
  for key, value in pairs(given or {}) do
    if integers[key] == nil then
      unknown(where, key, integers)
    elseif type(value) ~= "number" then
      errors.raise("type", "%s: %s: a number expected, not a %s", where, key, type(value))
    elseif value ~= value or value < 0 or (integers[key] and not math.tointeger(value)) then
      errors.raise("argument", "%s: %s: %s is not possible", where, key, value)
    end
    numbers[key] = integers[key] and math.tointeger(value) or value
  end
  return numbers
end

local MEASURE_INTEGERS = {
  warmup = true,
  min_samples = true,
  max_samples = true,
  keep = true,
  converged = true,
  drop = false,
  converge = false,
  race = false,
  precision = false,
  ramp = true,
  least_ms = false,
  finalists = true,
  rounds = true,
}

local function read_rules(given)
  local rules = read_numbers("tune: measure", given, measure.defaults, MEASURE_INTEGERS)
  if rules.min_samples < 1 or rules.max_samples < rules.min_samples then
    errors.raise("argument", "tune: measure: 1 <= min_samples <= max_samples expected")
  elseif rules.keep < 1 or rules.drop < 1 or rules.converged < 1 then
    errors.raise("argument", "tune: measure: keep, drop and converged are at least 1")
  elseif rules.race > 0 and rules.race < 1 then
    errors.raise("argument", "tune: measure: race is 0 or at least 1")
  end
  return rules
end

local function read_metrics(given)
  local metrics = {}
  for name in pairs(given or {}) do
    if type(name) ~= "string" then
      local wanted = "a table of named functions expected, { rate = function(row) ... end }"
      errors.raise("type", "tune: metrics: %s; what is at [%s] has no name", wanted, tostring(name))
    end
  end
  for _, name in ipairs(sorted_keys(given or {})) do
    local f = given[name]
    if type(f) ~= "function" then
      errors.raise("type", "tune: metrics: '%s': a function expected, not a %s", name, type(f))
    elseif ROW[name] then
      errors.raise("argument", "tune: metrics: '%s' is a name of every row; choose another", name)
    end
    metrics[#metrics + 1] = { name = name, compute = f }
  end
  return metrics
end

local function check_objective(goal, metrics)
  local objective = goal.name
  if MEASURES[objective] then
    return
  end
  local known = { "ms", "median", "min" }
  for _, metric in ipairs(metrics) do
    if metric.name == objective then
      return
    end
    known[#known + 1] = metric.name
  end
  local near = nearest(objective, known)
  local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(known, ", ")
  errors.raise("argument", "tune: objective '%s' is no metric%s", objective, hint)
end

-- The compiler's options that are the same for every configuration.
local COMPILE = {
  cache = "boolean",
  defines = "table",
  flags = "table",
  headers = "table",
  include_dirs = "table",
  name = "string",
  timeout = "number",
}

local function read_compile(given, plan)
  local compile = {}
  for key, value in pairs(given or {}) do
    if not COMPILE[key] then
      unknown("tune: compile", key, COMPILE)
    elseif type(value) ~= COMPILE[key] then
      errors.raise("type", "tune: compile: %s: a %s expected, not a %s", key, COMPILE[key], type(value))
    end
    compile[key] = value
  end
  for key in pairs(compile.defines or {}) do
    for _, name in ipairs(plan.space.names) do
      if name == key then
        errors.raise("argument", "tune: compile: defines: '%s' is a parameter", name)
      end
    end
  end
  compile.name = compile.name or (plan.name .. ".hip")
  return compile
end

local MOST_TURNS = 64

local function read_rotate(given)
  local n = given == nil and 1 or math.tointeger(given)
  if not n or n < 1 or n > MOST_TURNS then
    errors.raise("argument", "tune: rotate: a whole number from 1 to %d expected, not %s", MOST_TURNS, given)
  end
  return n
end

-- What a problem or a default configuration may hold.
local function check_values(what, map)
  for name, value in pairs(map) do
    local kind = type(value)
    if type(name) ~= "string" or (kind ~= "number" and kind ~= "string" and kind ~= "boolean") then
      errors.raise("type", "tune: %s: { name = number, text or boolean } expected", what)
    end
  end
end

-- { x =, y =, z = } of a problem_size that is numbers; nil for another.
local function problem_of_size(size)
  local list, problem = type(size) == "table" and size or { size }, {}
  for i, axis in ipairs { "x", "y", "z" } do
    if list[i] ~= nil and type(list[i]) ~= "number" then
      return nil
    end
    problem[axis] = list[i]
  end
  return next(problem) and problem or nil
end

-- What the command line says stands above the script.
local function obey(plan)
  local told = overrides.get()
  if not told then
    return
  end
  for key, value in pairs(told.budget or {}) do
    plan.budget[key] = value
  end
  plan.store = told.store or plan.store or told.default_store
  plan.worker, plan.hang = told.worker, told.hang or plan.hang
  if told.resume ~= nil then
    plan.resume = told.resume
  end
  plan.since = plan.resume == false and told.since and told.since[plan.store] or nil
end

function read_store(given, plan)
  if given.problem then
    check_values("problem", given.problem)
  end
  if given.default then
    check_values("default", given.default)
    plan.space:index_for("tune: default", given.default) -- raises for parameters that are not there, or missing
  end
  plan.problem = given.problem or problem_of_size(given.problem_size)
  plan.default, plan.resume = given.default, given.resume
  if given.store == true then
    plan.store = store.own_path(plan.name)
  elseif given.store == "" then
    errors.raise("argument", "tune: store: the path is empty")
  elseif given.store and store.wrong_scheme(given.store) then
    errors.raise("argument", "tune: store: %s", store.wrong_scheme(given.store))
  else
    plan.store = given.store or nil
  end
  obey(plan)
end

-- A device, or what stands for one.
local function is_device(value)
  return type(value) == "table" or getmetatable(value) == "luhip.device"
end

-- One device, or a list of them; the options with the first one in their place.
local function read_devices(given)
  local list = given.device
  if type(list) == "userdata" and not is_device(list) then
    errors.raise("type", "tune: device: a device expected, not %s", errors.describe(list))
  end
  if type(list) ~= "table" or (next(list) ~= nil and list[1] == nil) then
    return given, { list }
  elseif #list == 0 then
    errors.raise("argument", "tune: device: the list is empty")
  end
  local copy, seen = {}, {}
  for key, value in pairs(given) do
    copy[key] = value
  end
  for i, device in ipairs(list) do
    if not is_device(device) then
      errors.raise("type", "tune: device: entry %d: a device expected, not %s", i, errors.describe(device))
    elseif seen[device.id] then
      errors.raise("argument", "tune: device: %s is there twice", device.id)
    end
    seen[device.id] = true
  end
  copy.device = list[1]
  return copy, table.move(list, 1, #list, 1, {})
end

local HANG = 300

local function read_hang(given)
  if given ~= nil and not (given > 0 and given < math.huge) then
    errors.raise("argument", "tune: hang: more than 0 seconds expected, not %s", given)
  end
  return given or HANG
end

local AHEAD = 3

-- How many compilations run ahead. Not beside the CPU device unless that is wanted: they would take its time.
local function read_ahead(given, devices)
  if given == nil then
    local id = tostring(devices[1].id)
    return (id:find "^rocm" or id:find "^cuda") and AHEAD or 0
  elseif not math.tointeger(given) or given < 0 or given > 64 then
    errors.raise("argument", "tune: ahead: a whole number from 0 to 64 expected, not %s", given)
  end
  return math.tointeger(given)
end

--- Reads the options of a tuning run.
-- @tparam table given as api of `luhip.tune` says
-- @treturn table plan
-- @raise kinds "argument" and "type", naming the key
function options.read(given)
  if type(given) ~= "table" then
    errors.raise("type", "tune: a table expected, not a %s", type(given))
  end
  check_keys(given)
  local devices
  given, devices = read_devices(given)
  local plan = {
    devices = devices,
    ahead = read_ahead(given.ahead, devices),
    name = given.name or (type(given.kernel) == "string" and given.kernel) or "kernel",
    device = given.device,
    source = given.source,
    kernel = given.kernel,
    access = given.access,
    progress = given.progress,
    space = read_space(given),
    rules = read_rules(given.measure),
    budget = evaluator.budget(given.budget, "tune"),
    metrics = read_metrics(given.metrics),
    goals = objectives.read(given.objective, given.higher, "tune"),
    seed = given.seed and math.tointeger(given.seed) or 0,
    expect = inputs.expect(given.expect, given.reference ~= nil),
    tolerance = inputs.tolerance(given.tolerance, given.expect or given.reference),
    tolerance_given = given.tolerance,
    isolate = given.isolate,
    hang = read_hang(given.hang),
    reference = reference.read(given.reference, given),
    cold = cold.read(given.cache, given.device),
    rotate = read_rotate(given.rotate),
    args = inputs.args(given.args, given.device),
  }
  local names = plan.space.names
  local block = block_of(given, names)
  plan.grid = given.grid == nil and geometry.grid_of(given, names) or geometry.dims(given.grid, names, "grid")
  plan.block = geometry.dims(block, names, "block")
  plan.conventions = given.problem_size ~= nil
  plan.geometry = { given.grid or given.problem_size, block, given.shared or 0 }
  for i, key in ipairs { "grid_div_x", "grid_div_y", "grid_div_z" } do
    plan.geometry[3 + i] = given[key] == nil and "" or given[key]
  end
  plan.shared = geometry.number(given.shared, names, "shared")
  plan.objective, plan.higher = plan.goals[1].name, plan.goals[1].higher
  for _, goal in ipairs(plan.goals) do
    check_objective(goal, plan.metrics)
  end
  plan.strategy, plan.strategy_body, plan.strategy_options = strategies.read(given.strategy)
  read_store(given, plan)
  plan.compile = read_compile(given.compile, plan)
  return plan
end

return options
