-- What the specs of windows and of dev:profile share.
--
--   local p = profiles.on(id) -- in a before_each: opens the device
--   p.dev, p.k, p.x           -- the device, the kernels of work.lua, a buffer of ones

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local profiles = {
  N = 64, -- elements of a buffer
  FAR = 1 << 40, -- elements: no buffer is that far
  SLACK = 0.1, -- ms: what durations and places may be rounded by
}

function profiles.on(id)
  local N, dev = profiles.N, support.open(id)
  local k, x = work.kernels(dev), dev:buffer("f32", profiles.N, 1)
  local p = { dev = dev, k = k, x = x }

  function p.add(buffer)
    k.add:launch(work.over(N), buffer or x, N, 1)
  end

  --- A buffer that carries a failure.
  function p.stale()
    return work.stale(dev, N)
  end

  --- How many windows are open, or not read yet.
  function p.watches()
    return (testing.profiler_counts(dev))
  end

  return p
end

return profiles
