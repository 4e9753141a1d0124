--- luhip: a scriptable GPU runtime.
--
--    local luhip = require "luhip"
--    local dev = luhip.open()
--    local x = dev:from("f32", { 1, 2, 3 })
--
-- Loading it starts no device and sets no globals. Devices, buffers, kernels and streams are the core's (luhip.core);
-- this module is its face, and adds what is better said in Lua.
-- Dependencies: luhip.core.
-- @module luhip

local core = require "luhip.core"
local config = require "luhip.config"
local errors = require "luhip.errors"
local memory = require "luhip.memory"
local nearest = require "luhip.nearest"
local profile = require "luhip.profile"
local summary = require "luhip.summary"
local timing = require "luhip.timing"

local luhip = {}

--- The version: "0.1.0".
luhip.version = core.version

--- Lists the devices: `luhip.devices()`. Starts none.
-- @treturn {table,...} { id, backend, name, arch, memory, units, reason }; one that is installed but unusable has a
--   reason
function luhip.devices(...)
  errors.check_no_more("devices", ...)
  config.load()
  return core.devices()
end

-- The nearest id, or back end, of a device that can be used.
local function nearest_device(id)
  local known = {}
  for _, device in ipairs(core.devices()) do
    if not device.reason then
      known[#known + 1] = device.id
      known[#known + 1] = device.backend
    end
  end
  return nearest(id, known)
end

--- Opens a device: `luhip.open()`, `luhip.open "cpu"`, `luhip.open { device = "cpu", ... }`.
-- @param[opt] which an id, or options; by default the best present device, or LUHIP_DEVICE
-- @treturn device
-- @raise kind "no_device", with the reason
function luhip.open(which, ...)
  config.load()
  local ok, opened = pcall(core.open, which, ...)
  if ok then
    return opened
  elseif errors.kind(opened) == "no_device" then
    local id = type(which) == "table" and which.device or which or config.config "device"
    local near = type(id) == "string" and nearest_device(id)
    if near and near ~= id then
      errors.raise("no_device", "%s; did you mean '%s'?", opened.message, near)
    end
  end
  error(opened, 0)
end

--- Sets settings, `luhip.config { timeout = 5000 }`, or gives one, `luhip.config "timeout"`; see luhip.config.
luhip.config = config.config

--- Compiles for an architecture that need not be here: `luhip.compile { arch = "gfx90a", source = text }`.
-- @tparam table options `arch` and `source`, and what dev:compile takes (name, defines, include_dirs, names, ...)
-- @treturn image .code (the ELF image as a string), .log (warnings), .kernels (list of { name, lowered, params,
--   registers, scalar_registers, spills, shared_bytes, local_bytes, ... })
-- @raise kinds "compile", with diagnostics; "argument" for an architecture that the compiler does not know, with those
--   it knows; "not_found" where there is no hiprtc
function luhip.compile(options)
  if type(options) ~= "table" then
    errors.raise("type", "luhip.compile takes a table with arch and source, not a %s", type(options))
  end
  for _, key in ipairs { "arch", "source" } do
    local value = options[key]
    if value == nil then
      errors.raise("argument", "luhip.compile: '%s' is missing", key)
    elseif type(value) ~= "string" then
      errors.raise("type", "luhip.compile: %s: a string expected, not a %s", key, type(value))
    end
  end
  config.load()
  local rest = {}
  for key, value in pairs(options) do
    if key ~= "arch" and key ~= "source" then
      rest[key] = value
    end
  end
  return core.compile_for(options.arch, options.source, rest)
end

--- Forgets all compiled kernels, in memory and on disk: `luhip.clear_cache()`. What is loaded stays.
-- @treturn integer how many files were removed
-- @raise kind "cache" when the folder is not yours alone, or a file cannot be removed
function luhip.clear_cache(...)
  errors.check_no_more("clear_cache", ...)
  config.load()
  return core.clear_cache()
end

--- Makes a host array: `luhip.array("f32", 16)`.
-- @function luhip.array
-- @tparam string dtype
-- @param shape a number or a list of them
-- @treturn array zeroed
luhip.array = core.array

--- A null pointer argument of a kernel.
luhip.null = core.null

--- The names of element types.
luhip.dtypes = core.dtypes

--- The kinds of errors, a closed set; docs/errors.md has the cause and the cure of each.
luhip.error_kinds = core.error_kinds

--- Whether a value is an error object of luhip: with `kind`, `message`, and all of it by tostring.
-- @function luhip.is_error
-- @param value anything
-- @treturn boolean
luhip.is_error = core.is_error

--- Division that rounds up: how many blocks of b cover a elements.
-- @tparam integer a
-- @tparam integer b not 0
-- @treturn integer
-- @raise kinds "type" and "argument"
function luhip.cdiv(a, b)
  local x, y = math.tointeger(a), math.tointeger(b)
  if not x or not y or type(a) == "string" or type(b) == "string" then
    errors.raise("type", "cdiv: two whole numbers expected, not %s and %s", tostring(a), tostring(b))
  elseif y == 0 then
    errors.raise("argument", "cdiv: division by zero")
  end
  return -(-x // y)
end

--- Times a function on the device: `dev:time(fn, options)`; see luhip.timing.
core.methods.device.time = timing.time

--- Times every operation of a function: `dev:profile(fn)`; see luhip.profile.
core.methods.device.profile = profile.profile

--- What the pools of a device hold, persistent mode, and plans: see luhip.memory.
core.methods.device.memory_report = memory.report
core.methods.device.memory_mode = memory.mode
core.methods.device.plan = memory.plan

summary.install(core)

--- Waits for a future, event, stream or duration, and lets other coroutines run where there is a scheduler; see
--- luhip.async.
for _, class in ipairs { "future", "event", "stream", "duration" } do
  core.methods[class].await = function(object)
    return require("luhip.async").await(object)
  end
end

--- Writes a buffer to a file: `luhip.save("x.npy", x)`; see luhip.files.
-- @param ... path, buffer or array, options
function luhip.save(...)
  return require("luhip.files").save(...)
end

--- Reads a file into host memory: `luhip.load "x.npy"`; see luhip.files.
-- @param ... path, and what the format has no word for: type, shape
function luhip.load(...)
  return require("luhip.files").load(...)
end

-- Parts that are loaded when they are first asked for.
local PARTS = {
  async = "luhip.async",
  elementwise = "luhip.generate.elementwise",
  random = "luhip.generate.random",
  reduce = "luhip.generate.reduce",
  scan = "luhip.generate.scan",
  struct = "luhip.struct",
  tune = "luhip.tune",
}

return setmetatable(luhip, {
  parts = PARTS, -- for whoever lists the names
  __index = function(self, key)
    local part = PARTS[key]
    if part then
      local module = require(part)
      rawset(self, key, module)
      return module
    end
  end,
})
