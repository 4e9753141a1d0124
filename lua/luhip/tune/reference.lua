--- A kernel that is known to be right, in place of values that are: it runs once, before the first candidate, with the
-- same arguments, and what it leaves in them is what candidates are compared with.
--
-- Its parameters are those of the candidates, by position. Dependencies: luhip.errors, luhip.nearest,
-- luhip.tune.geometry.
-- @module luhip.tune.reference

local errors = require "luhip.errors"
local geometry = require "luhip.tune.geometry"
local nearest = require "luhip.nearest"

local reference = {}

local KEYS = {
  source = "string",
  kernel = "string",
  grid = "number table function",
  block = "number table function",
  shared = "number function",
  params = "table",
  defines = "table",
}
local NAMES = { "block", "defines", "grid", "kernel", "params", "shared", "source" }

local function check(given)
  for key, value in pairs(given) do
    if not KEYS[key] then
      local near = nearest(tostring(key), NAMES)
      local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(NAMES, ", ")
      errors.raise("argument", "tune: reference: unknown key '%s'%s", tostring(key), hint)
    elseif not (" " .. KEYS[key] .. " "):find(" " .. type(value) .. " ", 1, true) then
      local kinds = KEYS[key]:gsub(" ", " or ")
      errors.raise("type", "tune: reference: %s: a %s expected, not a %s", key, kinds, type(value))
    end
  end
  for _, key in ipairs { "grid", "block" } do
    if given[key] == nil then
      errors.raise("argument", "tune: reference: '%s' is missing", key)
    end
  end
end

--- Reads `reference` of the options of a run.
-- @tparam ?table given `grid` and `block` (numbers, lists of up to three, or functions of `params`), and optionally
--   `source` and `kernel` (by default the candidates', where these are texts), `shared` (bytes), `params` (a
--   configuration: its values become defines, and functions among the arguments are called with it) and `defines`
-- @tparam table options `source`, `kernel`
-- @treturn ?table nil where there is none
-- @raise kinds "type" and "argument"
function reference.read(given, options)
  if given == nil then
    return nil
  end
  check(given)
  local source = given.source or options.source
  if type(source) ~= "string" then
    errors.raise("argument", "tune: reference: 'source' is missing, and that of the candidates is a function")
  end
  local kernel = given.kernel
  if kernel == nil and given.source == nil and type(options.kernel) == "string" then
    kernel = options.kernel
  end
  return {
    source = source,
    kernel = kernel,
    params = given.params or {},
    defines = given.defines or {},
    grid = geometry.dims(given.grid, {}, "reference: grid"),
    block = geometry.dims(given.block, {}, "reference: block"),
    shared = geometry.number(given.shared, {}, "reference: shared"),
  }
end

local function options_of(plan, wanted)
  local options, defines = {}, {}
  for key, value in pairs(plan.compile) do
    options[key] = value
  end
  for _, map in ipairs { plan.compile.defines or {}, wanted.params, wanted.defines } do
    for name, value in pairs(map) do
      defines[name] = value
    end
  end
  options.defines, options.name = defines, "reference.hip"
  options.names = wanted.kernel and wanted.kernel:find("<", 1, true) and { wanted.kernel } or nil
  return options
end

-- What has to be freed comes into `held`.
local function launch(plan, arguments, held)
  local wanted = plan.reference
  local kernel = plan.device:kernel(wanted.source, wanted.kernel, options_of(plan, wanted))
  held[1] = kernel
  if #kernel.params ~= plan.args.n then
    errors.raise("argument", "the kernel has %d parameters; 'args' has %d", #kernel.params, plan.args.n)
  end
  local shape = {
    grid = wanted.grid(wanted.params),
    block = wanted.block(wanted.params),
    shared = wanted.shared(wanted.params),
  }
  geometry.check(plan.device, shape)
  local launcher = kernel:bind(shape)
  held[2] = launcher
  launcher(table.unpack(arguments:list(wanted.params), 1, plan.args.n))
  plan.device:sync(arguments.buffers)
  return kernel.params -- a table of its own, which outlives the kernel
end

--- Runs it.
-- @tparam table plan with `reference`, `device`, `compile` and `args`
-- @tparam Arguments arguments whose buffers hold what it left in them afterwards
-- @treturn {table,...} its parameters
-- @raise what went wrong, saying that it was the reference
function reference.run(plan, arguments)
  local held = {}
  local ok, params = pcall(launch, plan, arguments, held)
  for i = #held, 1, -1 do
    held[i]:free()
  end
  if ok then
    return params
  elseif not errors.kind(params) or errors.kind(params) == "interrupted" then
    error(params, 0)
  end
  errors.raise(errors.kind(params), "tune: reference: %s", errors.message(params))
end

return reference
