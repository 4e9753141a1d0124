-- What the specs of captures and replays share.
--
--   local c = captures.on(id) -- in a before_each: opens the device
--   c.dev, c.k, c.n           -- the device, the kernels of work.lua, elements of a buffer

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local captures = {}

function captures.on(id)
  local dev, n = support.open(id), 64
  local k = work.kernels(dev)
  local c = { dev = dev, k = k, n = n }

  function c.add(x, v)
    k.add:launch(work.over(n), x, n, v)
  end

  function c.first(x)
    return x:read(1, 1)[1]
  end

  --- fn is refused as not possible in this state of a capture.
  function c.refused(fragment, fn)
    return support.assert_error_kind("capture", fn, fragment)
  end

  --- A buffer that carries a failure.
  function c.stale()
    return work.stale(dev, n)
  end

  --- A stream that records, and has recorded what fn does.
  function c.recording(fn)
    local s = dev:stream()
    s:prepare_capture()
    s:begin_capture()
    if fn then
      dev:with(s, fn)
    end
    return s
  end

  --- For both ways in which a graph is replayed: fn is given what makes a graph of a function.
  function c.each_kind(fn)
    for _, kind in ipairs { "driver", "list" } do
      fn(function(recorded)
        local g = dev:capture(recorded)
        if kind == "list" then
          testing.graph_to_list(g)
        end
        assert(g.kind == kind or not id:match "^cpu", g.kind)
        return g
      end)
    end
  end

  return c
end

return captures
