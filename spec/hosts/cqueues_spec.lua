-- cqueues: coroutines of its loop, and threads with states of their own over one device.
local hosts = require "spec.hosts.support"

if not hosts.wanted then
  return
end

describe("cqueues", function()
  it("awaits reads while other coroutines run", function()
    hosts.run_script [[
      local cqueues, async, luhip = require "cqueues", require "luhip.async.cqueues", require "luhip"
      local dev = luhip.open()
      local slow = dev:kernel("extern \"C\" __global__ void slow(float *x, int n) {"
        .. " for (int i = 0; i < n; i++) x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1; }")
      local loop, done, ticks = cqueues.new(), 0, 0
      loop:wrap(function()
        while done < 3 do cqueues.sleep(0.001) ticks = ticks + 1 end
      end)
      for i = 1, 3 do
        loop:wrap(function()
          local stream, x = dev:stream(), dev:buffer("f32", 64, i)
          dev:with(stream, function() slow(1, 64)(x, 4000000) end)
          local array = async.await(x:read_async())
          assert(math.abs(array[64] - 2) < 1e-6)
          async.await(stream)
          done = done + 1
        end)
      end
      assert(loop:loop())
      assert(done == 3 and ticks > 0)
      print "ok"
    ]]
  end)

  it("threads share the device", function()
    hosts.run_script [[
      local thread = require "cqueues.thread"
      local luhip = require "luhip"
      local dev = luhip.open() -- stays open over all of it
      local threads = {}
      for i = 1, 4 do
        threads[i] = thread.start(function(con, by, path, cpath)
          package.path, package.cpath = path, cpath
          local dev = require("luhip").open()
          local k = dev:kernel("extern \"C\" __global__ void k(int *x, int by) { x[threadIdx.x] += by; }")
          local x = dev:buffer("i32", 32, 0)
          for _ = 1, 100 do k(1, 32)(x, math.tointeger(tonumber(by))) end
          assert(x:read()[32] == 100 * tonumber(by))
        end, tostring(i), package.path, package.cpath)
      end
      for i = 1, 4 do
        local ok, why = threads[i]:join()
        assert(ok and not why, why)
      end
      assert(dev:buffer("i32", 2, 3):read()[2] == 3)
      print "ok"
    ]]
  end)
end)
