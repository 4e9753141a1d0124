-- A device of Lua for the specs of the tuner: its kernels are functions, its clock says what the spec wants.

local core = require "luhip.core"

local fake = {}

local SCRIPT = [[
package.path = %q .. "/?.lua;" .. package.path
local core = require "luhip.core"
local fake = require "spec.tune.fake"
require("luhip.timing").once = function(_, fn)
  fn()
  return 1.0
end
local tune = require "luhip.tune"
local folder = %q
local function log(text)
  local file = assert(io.open(folder .. "/log", "a"))
  file:write(text, "\n")
  file:close()
end
]]

--- The text of a script of its own process that tunes on a device of Lua: `body`, which has core, fake, tune, folder,
--- and log, which writes a line into the file "log" of the folder.
function fake.script(folder, body)
  local root = require("spec.support").root
  return SCRIPT:format(root, folder) .. body
end

local Buffer = { __metatable = "luhip.buffer" }
Buffer.__index = Buffer

--- A buffer of f32 with these values.
function fake.buffer(values, dtype)
  return setmetatable({
    values = table.move(values, 1, #values, 1, {}),
    dtype = dtype or "f32",
    count = #values,
    shape = { #values },
    writes = 0,
  }, Buffer)
end

function Buffer:read()
  if self.failure then
    error(self.failure, 0)
  end
  return table.move(self.values, 1, #self.values, 1, {})
end

function Buffer:write(values)
  assert(#values == self.count)
  self.values, self.failure = table.move(values, 1, #values, 1, {}), nil
  self.writes = self.writes + 1
end

function Buffer:fill(value)
  self.failure = nil
  for i = 1, self.count do
    self.values[i] = value
  end
  self.writes = self.writes + 1
end

local Device = {}
Device.__index = Device

--- A device. script: `compile(defines, options)` may raise, the defines being text; `run(defines, args)` is the
--- kernel, may raise as a refused launch does; `params` of the kernel; `ms(defines)` the time of one launch; further
--- fields of the device.
function fake.device(script)
  local device = setmetatable({
    id = "fake:0",
    name = "fake",
    arch = "lua",
    max_threads = 1024,
    max_block = { 1024, 1024, 64 },
    max_grid = { 65535, 65535, 65535 },
    shared_bytes = 65536,
    script = script,
    now = 0, -- seconds
    compiles = 0,
    launches = 0,
    freed = 0,
  }, Device)
  for key, value in pairs(script.device or {}) do
    device[key] = value
  end
  return device
end

-- One that compiles in the background: it is ready when it was asked for the third time, and what is wrong with it
-- comes out of its first use.
local function in_background(device, source, name, options)
  local asked, kernel = 0, nil
  local lazy = {}
  function lazy.ready()
    asked = asked + 1
    return asked >= 3
  end
  function lazy.free()
    device.freed = device.freed + (kernel and 1 or 0)
  end
  device.early = (device.early or 0) + 1
  return setmetatable(lazy, {
    __index = function(_, key)
      if not kernel then
        local rest = {}
        for k, v in pairs(options) do
          rest[k] = v
        end
        rest.background = nil
        kernel = device:kernel(source, name, rest)
      end
      return kernel[key]
    end,
  })
end

function Device:buffer(dtype, shape)
  local values = {}
  for i = 1, shape[1] do
    values[i] = 0
  end
  self.buffers = (self.buffers or 0) + 1
  local buffer = fake.buffer(values, dtype)
  function buffer.free()
    self.buffers = self.buffers - 1
  end
  return buffer
end

function Device:kernel(source, name, options)
  if options.background then
    return in_background(self, source, name, options)
  end
  self.compiles = self.compiles + 1
  self.last = { source = source, name = name, options = options }
  local script, defines = self.script, {}
  for key, value in pairs(options.defines) do
    defines[key] = tostring(value)
  end
  if script.compile then
    script.compile(defines, options)
  end
  local device = self
  local kernel = { params = script.params or {}, shared_bytes = script.shared or 0, registers = 8, max_threads = 1024 }
  function kernel.bind(_, config)
    device.config = config
    local launcher = { free = function() end }
    return setmetatable(launcher, {
      __call = function(_, ...)
        device.launches = device.launches + 1
        device.elapsed = script.ms and script.ms(defines) or 1.0
        return script.run(defines, ...)
      end,
    })
  end
  function kernel.free()
    device.freed = device.freed + 1
  end
  return kernel
end

function Device.sync(_, buffers)
  assert(type(buffers) == "table")
  for _, buffer in ipairs(buffers) do
    if buffer.failure then
      error(buffer.failure, 0)
    end
  end
end

--- What the runner needs of its host: a clock that each sample moves on.
function fake.host(device, progress)
  return {
    clock = function()
      return device.now
    end,
    sampler = function()
      return function(fn)
        fn()
        device.now = device.now + device.elapsed / 1000
        return device.elapsed
      end
    end,
    progress = progress or function() end,
  }
end

--- An error object, as the core raises them.
function fake.error(kind, message)
  return core.error(kind, message)
end

return fake
