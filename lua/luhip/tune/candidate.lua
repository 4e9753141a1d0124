--- One configuration up to its kernel: its shape, its options, its compilation, now or ahead of its turn.
-- Dependencies: luhip.errors, luhip.tune.{callback,fleet,geometry}.
-- @module luhip.tune.candidate

local callback = require "luhip.tune.callback"
local errors = require "luhip.errors"
local fleet = require "luhip.tune.fleet"
local geometry = require "luhip.tune.geometry"

local candidate = {}

local function of_config(value, config)
  if type(value) == "function" then
    return callback.call(value, config)
  end
  return value
end

-- What Kernel Tuner defines besides the parameters.
local function define_conventions(defines, shape)
  defines.kernel_tuner = 1
  for i, axis in ipairs { "x", "y", "z" } do
    defines["grid_size_" .. axis] = shape.grid[i]
    defines["block_size_" .. axis] = shape.block[i]
  end
end

local function compile_options(plan, kernel, config, shape)
  local options = {}
  for key, value in pairs(plan.compile) do
    options[key] = value
  end
  options.defines = {}
  if plan.conventions then
    define_conventions(options.defines, shape)
  end
  for name, value in pairs(plan.compile.defines or {}) do
    options.defines[name] = value
  end
  for name, value in pairs(config) do
    options.defines[name] = value
  end
  if kernel and kernel:find("<", 1, true) then
    options.names = { kernel }
  end
  if plan.access then
    options.access = { [kernel] = plan.access }
  end
  return options
end

--- Grid, block and shared memory of a configuration.
-- @tparam table plan
-- @tparam table config
-- @treturn table `grid`, `block`, `shared`
-- @raise kind "limits" for what the device does not allow
function candidate.shape(plan, config)
  local shape = { grid = plan.grid(config), block = plan.block(config), shared = plan.shared(config) }
  geometry.check(plan.device, shape)
  return shape
end

-- Kinds of errors that the first compilation ends with when what is asked of it is wrong, not what is compiled.
local NO_CANDIDATE = { argument = true, not_found = true, type = true }

--- Compiles a configuration, or takes what was compiled ahead; `held` of the runner has the kernel then.
-- @tparam Runner self or a lane of it
-- @tparam table config
-- @tparam table row gets `compile_ms`, `registers`, `shared_bytes`
-- @tparam table shape from `candidate.shape`
-- @treturn kernel
-- @raise what the compiler says
function candidate.compile(self, config, row, shape)
  local plan = self.plan
  local kernel = of_config(plan.kernel, config)
  local source = of_config(plan.source, config)
  local before = self.host.clock()
  local early, took = fleet.take(self)
  if early then
    self.held[#self.held + 1] = early
    row.registers, row.shared_bytes = early.registers, early.shared_bytes -- what it failed with is raised here
    row.compile_ms = took()
    return early
  end
  local ok, object =
    pcall(plan.device.kernel, plan.device, source, kernel, compile_options(plan, kernel, config, shape))
  local first = not self.compiled and source == plan.source and kernel == plan.kernel
  self.compiled = true
  if not ok then
    self.hopeless = first and NO_CANDIDATE[errors.kind(object)]
    error(object, 0)
  end
  row.compile_ms = (self.host.clock() - before) * 1000
  row.registers, row.shared_bytes = object.registers, object.shared_bytes
  self.held[#self.held + 1] = object
  return object
end

--- A kernel that is compiled in the background, for when its turn comes.
-- @tparam table self a lane
-- @tparam table config
-- @treturn kernel
function candidate.start(self, config)
  local plan = self.plan
  local kernel, source = of_config(plan.kernel, config), of_config(plan.source, config)
  local shape = candidate.shape(plan, config)
  local options = compile_options(plan, kernel, config, shape)
  options.background = true
  return plan.device:kernel(source, kernel, options)
end

--- Whether the kernel, as it was compiled, can be launched in that shape.
-- @tparam device device
-- @tparam kernel kernel
-- @tparam table shape
-- @raise kind "limits"
function candidate.check(device, kernel, shape)
  local threads = shape.block[1] * shape.block[2] * shape.block[3]
  if kernel.max_threads and kernel.max_threads > 0 and threads > kernel.max_threads then
    errors.raise("limits", "block has %d threads; this kernel allows %d", threads, kernel.max_threads)
  end
  local shared = (kernel.shared_bytes or 0) + shape.shared
  if device.shared_bytes and shared > device.shared_bytes then
    errors.raise("limits", "%d bytes of shared memory; the device allows %d", shared, device.shared_bytes)
  end
end

return candidate
