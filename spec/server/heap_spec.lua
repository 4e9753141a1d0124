-- The host's heap fails: at every single call that an operation makes, once, and from there on. Nothing crashes or
-- leaks, what is raised is an error of ours that says so, and the same operation works when there is memory again.

local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

if not testing then
  return
end

support.each_device(function(id)
  local n = 16
  local dev, k, x, y

  before_each(function()
    testing.driver_allow(true) -- where a pinned block cannot be noted the host's own memory serves
    support.defer(function()
      testing.driver_allow(false)
    end)
    dev = support.open(id)
    k = work.kernels(dev)
    for _, name in ipairs { "add", "copy", "shift" } do
      assert(k[name])
    end
    x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 2)
    dev:sync()
  end)

  -- What an operation without memory may say: that there is none, or what was lost for it.
  local kinds = { memory = true, oom = true }

  -- fn does its work and returns what must be `expected`; again() puts things as they were before it. Every stride-th
  -- call fails, where a run takes long.
  local function sweep(expected, fn, again, stride)
    again = again or function() end
    local function counted()
      local before = testing.heap_calls()
      assert.equal(expected, fn())
      return testing.heap_calls() - before
    end
    counted()
    again()
    local made = counted()
    again()
    local struck = 0
    for _, more in ipairs { false, true } do
      for nth = 1, made, (stride or 1) * support.every(7) do
        testing.heap_fail(nth, more)
        local ok, result = pcall(fn)
        local failed = testing.heap_failed()
        testing.heap_fail(0)
        struck = struck + (failed and 1 or 0)
        local where = ("call %d of %d%s: "):format(nth, made, more and " and all after it" or "")
        if ok then
          assert(result == expected, where .. tostring(result))
        else
          assert(failed, where .. "failed by itself: " .. tostring(result))
          assert(
            luhip.is_error(result) and (kinds[result.kind] or result.message:find "memory"),
            where .. (luhip.is_error(result) and result.kind or "no error of ours") .. ": " .. tostring(result)
          )
        end
        again()
        ok, result = pcall(fn)
        assert(ok and result == expected, where .. "afterwards: " .. tostring(result))
        again()
      end
    end
    assert(made == 0 or struck > 0, "no call failed")
  end

  it("E1 J2 buffers, and what is in them", function()
    sweep(7, function()
      local b <close> = dev:buffer("f32", n, 7)
      return b:read()[n]
    end)
    sweep(5, function()
      local b <close> = dev:buffer("f32", { 4, 4 })
      b:fill(0)
      b:slice(2, 3):write { { 5, 5, 5, 5 }, { 5, 5, 5, 5 } }
      return b:totable()[3][4]
    end)
    sweep(0.1, function()
      local b <close> = dev:buffer("f64", n, 0.1) -- by copies of a pattern
      return b:read()[n]
    end)
    sweep(9, function()
      local b <close> = dev:pitched("i32", { 3, 5 }, 9)
      local c <close> = dev:buffer("i32", { 3, 5 }, 0)
      c:copy(b)
      return c:totable()[3][5]
    end)
  end)

  it("E1 J2 arrays of the host, views, and reads that come later", function()
    sweep(3, function()
      local a <close> = luhip.array("i16", { 2, 3 })
      a:write(string.pack("<h", 3):rep(6))
      return a:totable()[2][3]
    end)
    sweep(2, function()
      local future <close> = y:read_async()
      return future:wait()[n]
    end)
    sweep(3, function()
      local both = dev:read { x, y }
      return both[1][1] + both[2][1]
    end)
    sweep(6, function()
      local a = dev:staging({ 4 * n })[1]
      a:write(string.pack("<f", 6):rep(n))
      x:view("u8"):write(a)
      local value = x:read()[n]
      x:fill(1)
      return value
    end, function()
      x:fill(1)
    end)
  end)

  it("E1 J2 launches, over streams and with tables", function()
    sweep(3, function()
      k.copy:launch(work.over(n), y, x, n)
      k.add:launch(work.over(n), x, n, 1)
      return x:read()[n]
    end)
    local v = 0
    sweep(4, function()
      v = v + 1 -- a table that is not known yet
      x:fill(3 - v)
      k.shift:launch(work.over(n), { v, 1 }, x, n)
      return x:read()[n]
    end)
    sweep(2, function()
      local s <close> = dev:stream()
      dev:with(s, function()
        x:copy(y)
      end)
      return x:read()[n]
    end)
  end)

  it("E1 J2 captures and replays", function()
    k.shift:launch(work.over(n), { 1, 1 }, x, n) -- the table is known from here on
    sweep(5, function()
      y:fill(2)
      local g <close> = dev:capture(function()
        k.copy:launch(work.over(n), y, x, n)
        k.add:launch(work.over(n), x, n, 1)
        k.shift:launch(work.over(n), { 1, 1 }, x, n)
        y:fill(1)
      end, { warmup = false })
      g:replay()
      return x:read()[n]
    end)
  end)

  it("E1 J2 profiles, traces, events and reports", function()
    sweep(true, function()
      local w <close> = dev:start_profile()
      x:fill(1)
      local d <close> = w:stop()
      d:wait()
      return d:wait() >= 0
    end)
    sweep(true, function()
      local p = dev:profile(function()
        k.add:launch(work.over(n), x, n, 1)
        y:fill(2)
      end)
      return #p:records() == 2
    end)
    sweep(true, function()
      local a, b = dev:record(), dev:record()
      b:wait()
      return a:elapsed(b) >= 0
    end)
    sweep(true, function()
      return type(dev:memory()) == "table" and #dev:streams() > 0
    end)
  end)

  it("E1 J2 devices, and programs that are compiled", function()
    sweep(true, function()
      local other <close> = luhip.open(id)
      return other:buffer("f32", 4, 1):read()[4] == 1
    end)
    local source = 'extern "C" __global__ void five(int *p) { *p = FIVE; }\n'
    sweep(5, function()
      local p <close> = dev:compile(source, { name = "five.hip", defines = { FIVE = 5 }, flags = { "-O1" } })
      local b <close> = dev:buffer("i32", 1, 0)
      p:kernel("five"):launch({ grid = 1, block = 1 }, b)
      return b:read()[1]
    end, nil, 5)
    sweep(true, function()
      return not pcall(dev.compile, dev, "__global__ void broken(int *p) { *p = none; }\n", { name = "broken.hip" })
    end, nil, 20)
  end)

  it("D1 D7 a failure is not lost because the host has no memory to tell it", function()
    local huge = dev:buffer("u8", 1 << 50)
    local b = dev:buffer("u8", 4, 0)
    b:copy(huge:slice(1, 4))
    sweep(true, function()
      local clean, e = b:check()
      return not clean and luhip.is_error(e)
    end)
    sweep(true, function()
      local ok, e = pcall(b.read, b)
      return not ok and luhip.is_error(e)
    end)
    -- Nor is a launch run on what is stale.
    x:copy(dev:buffer("u8", 1 << 50):slice(1, 4 * n):view "f32")
    sweep(true, function()
      y:fill(2)
      k.copy:launch(work.over(n), x, y, n)
      return not y:check()
    end)
  end)
end)
