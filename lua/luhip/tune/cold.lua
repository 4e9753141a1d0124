--- Samples that begin with nothing of the arguments in the device's caches.
--
-- Before each launch that is timed, twice as many bytes as the last-level cache holds are written elsewhere: once over
-- is not enough where the replacement is not strictly by age. The cache's size is what the device tells
-- (`device.cache_bytes`: AMD's Infinity Cache where there is one, else the L2, or the host's own for the CPU device),
-- or a number of bytes. Dependencies: luhip.errors.
-- @module luhip.tune.cold

local errors = require "luhip.errors"

local cold = {}

local TIMES = 2

--- Reads what samples shall find in the caches.
-- @param given nil or "hot": what the launch before left there; "cold": nothing; or how many bytes are enough to
--   replace what is there
-- @tparam device device
-- @treturn ?integer bytes that are written before each launch; nil: none
-- @raise kinds "type" and "argument"
function cold.read(given, device)
  if given == nil or given == "hot" then
    return nil
  elseif type(given) == "number" then
    local bytes = math.tointeger(given)
    if not bytes or bytes < 1 then
      errors.raise("argument", "tune: cache: a whole number of bytes expected, not %s", given)
    end
    return bytes
  elseif given ~= "cold" then
    errors.raise("argument", 'tune: cache: "hot", "cold" or a number of bytes expected, not "%s"', given)
  end
  local bytes = device.cache_bytes or 0
  if bytes == 0 then
    errors.raise("argument", "tune: cache: %s does not tell how large its last-level cache is; give bytes", device.id)
  end
  return TIMES * bytes
end

--- Takes the memory that is written.
-- @tparam device device
-- @tparam integer bytes
-- @treturn buffer
-- @raise kind "memory" when the device has not that much
function cold.scratch(device, bytes)
  return device:buffer("u8", { bytes })
end

--- Times launches one by one, each of them cold.
-- @tparam buffer scratch
-- @tparam integer count how many
-- @tparam function ready is called before each
-- @tparam function sample times one
-- @treturn number ms of all together, without what happens in between
function cold.sample(scratch, count, ready, sample)
  local ms = 0
  for k = 1, count do
    ready()
    scratch:fill(k % 251)
    ms = ms + sample()
  end
  return ms
end

return cold
