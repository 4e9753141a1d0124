--- Timing work on the device's own clock.
-- Dependencies: luhip.errors, luhip.tune.measure (for the median).
-- @module luhip.timing

local errors = require "luhip.errors"
local measure = require "luhip.tune.measure"

local timing = {}

--- Times what a function enqueues, by a window on the current stream, and waits for it.
-- Work that the function puts on other streams by name is not in the window, but when it fails that counts too.
-- @tparam device dev
-- @tparam function fn
-- @treturn number ms
-- @raise what fn raises; what any operation of the device failed with meanwhile, since the time is then worthless
function timing.once(dev, fn)
  local window <close> = dev:start_profile()
  fn()
  local duration <close> = window:stop()
  return duration:wait()
end

local OPTIONS = { warmup = 1, samples = 10 }

local function read_options(given)
  local options = { warmup = OPTIONS.warmup, samples = OPTIONS.samples }
  if given ~= nil and type(given) ~= "table" then
    errors.raise("type", "time: options: a table expected, not %s", errors.describe(given))
  end
  for key, value in pairs(given or {}) do
    if key == "buffers" then
      options.buffers = value
    elseif not OPTIONS[key] then
      errors.raise("argument", "time: unknown option '%s'; there are buffers, samples, warmup", tostring(key))
    else
      local n = math.tointeger(value)
      if not n or type(value) ~= "number" or n < (key == "samples" and 1 or 0) then
        errors.raise("argument", "time: %s: %s is not possible", key, tostring(value))
      end
      options[key] = n
    end
  end
  return options
end

--- Times a function on a device: `dev:time(fn, options)`.
-- The function is called `warmup` times, then once per sample; each sample is what it enqueued on the current stream,
-- measured by the device and waited for. An operation that faults, times out or is skipped makes the time worthless.
-- @tparam device dev
-- @tparam function fn enqueues the work
-- @tparam[opt] table options `warmup` (default 1), `samples` (default 10), `buffers`: tested after each call as
--   well, for what they carried before
-- @treturn number the median, in ms
-- @treturn {number,...} all samples, in order, in ms
-- @raise kinds "type" and "argument" for options; what fn raises; what an operation failed with; what the
--   buffers carry
function timing.time(dev, fn, options)
  errors.check_self(dev, "device", "time")
  errors.check_function(fn, "time")
  local o = read_options(options)
  local samples = {}
  for i = 1 - o.warmup, o.samples do
    samples[math.max(i, 0)] = timing.once(dev, fn)
    if o.buffers then
      dev:sync(o.buffers)
    end
  end
  samples[0] = nil
  return measure.median(samples), samples
end

return timing
