-- luv: futures in the event loop, and a pool of threads with states of their own.
local hosts = require "spec.hosts.support"

if not hosts.wanted then
  return
end

describe("luv", function()
  it("awaits reads in coroutines while the loop goes on", function()
    hosts.run_script [[
      local uv, async, luhip = require "luv", require "luhip.async.luv", require "luhip"
      local dev = luhip.open()
      local slow = dev:kernel("extern \"C\" __global__ void slow(float *x, int n) {"
        .. " for (int i = 0; i < n; i++) x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1; }")
      local ticks, done = 0, 0
      local timer = uv.new_timer()
      timer:start(1, 1, function() ticks = ticks + 1 end)
      for i = 1, 3 do
        async.spawn(function()
          local stream, x = dev:stream(), dev:buffer("f32", 64, i)
          dev:with(stream, function() slow(1, 64)(x, 4000000) end)
          local array = x:read_async():await()
          assert(math.abs(array[64] - 2) < 1e-6)
          stream:await()
          stream:record():await()
          done = done + 1
          if done == 3 then timer:close() end
        end)
      end
      assert(done == 0)
      uv.run()
      assert(done == 3 and ticks > 0, ticks)
      print "ok"
    ]]
  end)

  it("an error of the work comes out of the await", function()
    hosts.run_script [[
      local uv, async, luhip = require "luv", require "luhip.async.luv", require "luhip"
      local dev = luhip.open()
      local add = dev:kernel("extern \"C\" __global__ void add(int *x) { x[threadIdx.x] += 1; }")
      local kind
      local co = coroutine.create(function()
        local x = dev:buffer("i32", 4, 0)
        add:launch({ grid = dev:buffer("u32", 3, { 1, 1 << 30, 1 }), block = 4 }, x)
        local ok, e = pcall(function() return async.await(x:read_async()) end)
        kind = e.kind
      end)
      assert(coroutine.resume(co))
      uv.run()
      assert(kind == "limits", kind)
      print "ok"
    ]]
  end)

  it("serves a pool of threads, each with a state of its own", function()
    hosts.run_script [[
      local uv = require "luv"
      local sum, n = 0, 0
      local work = uv.new_work(function(i)
        local luhip = require "luhip"
        local dev = luhip.open()
        local k = dev:kernel("extern \"C\" __global__ void k(int *x, int by) { x[threadIdx.x] += by; }")
        local x = dev:buffer("i32", 32, 1)
        k(1, 32)(x, math.tointeger(i))
        local result = x:read()[32]
        dev:close()
        return tostring(result)
      end, function(result)
        sum, n = sum + tonumber(result), n + 1
      end)
      for i = 1, 40 do work:queue(i) end
      uv.run()
      assert(n == 40 and sum == 40 + 820, sum)
      print "ok"
    ]]
  end)
end)
