-- B2, B3: every way in which two streams can meet on one piece of memory, with the first one held by a gate. That the
-- order matters, and would be missed, is shown too: the same with the driver's waits dropped comes out wrong.

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

if not testing then
  return
end

local N = 64
local M = 16 * N -- elements of what is freed: its bytes are a multiple of every device's alignment
local zeros = ("\0"):rep(4 * N)

support.each_device(function(id)
  local dev, k, gate, a, b

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
    gate = work.gate(dev, k)
    a, b = dev:stream(), dev:stream()
  end)

  local function on(stream, fn)
    return dev:with(stream, fn)
  end

  local function recorded(fn)
    return dev:capture(fn, { warmup = false })
  end

  -- Memory of b that a uses, and that b frees and is given again: the driver has none but that. Of two buffers that
  -- fill a page, a uses the second; both are freed, and what comes then lies on both.
  local function freed(pool, count, mode)
    local function address_of(x)
      local resource <close> = dev:resource(x)
      return resource.pointer
    end
    return function()
      local y, list = dev:buffer("f32", N, 0), {}
      on(b, function()
        dev:install_pools { pool }
        dev:memory_mode(mode or "auto")
        for i = 1, count or 1 do
          list[i] = dev:buffer("f32", M, 1)
        end
      end)
      local last = list[#list]
      local address, z = address_of(list[1]), nil
      return {
        first = function()
          gate:close(y)
          k.copy:launch(work.over(N), last, y, N)
        end,
        second = function()
          testing.driver_fail { call = "hipMalloc", error = "hipErrorOutOfMemory", times = 100 }
          for _, x in ipairs(list) do
            x:free()
          end
          z = dev:buffer("f32", M * #list)
          z:fill(9)
        end,
        right = function()
          assert.equal(address, address_of(z))
          return y:read()[N] == 1
        end,
      }
    end
  end

  -- Behind a gate: 5 is written to x; x is copied to y.
  local function writes(x)
    return function()
      gate:close(x)
      k.set:launch(work.over(N), x, N, 5)
    end
  end
  local function copies(x, y)
    return function()
      gate:close(y)
      k.copy:launch(work.over(N), x, y, N)
    end
  end
  -- Whether each buffer ends with the value behind it.
  local function ends_with(...)
    local expected = { ... }
    return function()
      for i = 1, #expected, 2 do
        if expected[i]:read()[N] ~= expected[i + 1] then
          return false
        end
      end
      return true
    end
  end

  -- What `first` does on one stream behind a gate, `second` does on the other; `right` says whether it came out right.
  -- The second is copies and fills alone, which need no room on the processors that the gate may hold.
  local hazards = {
    ["a read after a write"] = function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
      return {
        first = writes(x),
        second = function()
          y:copy(x)
        end,
        right = ends_with(y, 5),
      }
    end,
    ["a write after a read"] = function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
      return {
        first = copies(x, y),
        second = function()
          x:fill(7)
        end,
        right = ends_with(y, 1, x, 7),
      }
    end,
    ["a write after a write"] = function()
      local x = dev:buffer("f32", N, 1)
      return {
        first = writes(x),
        second = function()
          x:write(zeros)
        end,
        right = function()
          return x:read()[N] == 0
        end,
      }
    end,
    ["use of memory that was freed"] = freed { kind = "direct" },
    ["use of a slice that was freed"] = freed { kind = "sliced", page = 4 * M, slice = 4 * M },
    ["use of memory that was freed, of two buffers"] = freed({ kind = "sliced", page = 8 * M, slice = 8 * M }, 2),
    ["use of memory that was freed, in persistent mode"] = freed({ kind = "direct" }, 1, "persistent"),
    ["a replay that reads"] = function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
      local g = recorded(function()
        y:copy(x)
      end)
      return {
        first = writes(x),
        second = function()
          g:replay()
        end,
        right = ends_with(y, 5),
      }
    end,
    ["a replay that writes"] = function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
      local g = recorded(function()
        x:fill(7)
      end)
      return {
        first = copies(x, y),
        second = function()
          g:replay()
        end,
        right = ends_with(y, 1, x, 7),
      }
    end,
    ["what comes after a replay"] = function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
      local g = recorded(function()
        k.set:launch(work.over(N), x, N, 5)
      end)
      return {
        first = function()
          gate:close(x)
          g:replay()
        end,
        second = function()
          y:copy(x)
        end,
        right = ends_with(y, 5),
      }
    end,
  }

  -- Runs it; with `drop` no stream waits for another, and the second is over before the gate opens.
  local function run(hazard, drop)
    local h = hazard()
    dev:sync()
    on(a, h.first)
    if drop then
      testing.driver_fail { call = "hipStreamWaitEvent", error = "hipSuccess", times = 1000 }
    end
    on(b, h.second)
    if drop then
      b:sync()
    end
    testing.driver_reset()
    gate:open()
    dev:sync()
    return h.right()
  end

  for name, hazard in pairs(hazards) do
    it(("B2 B3 %s is in order"):format(name), function()
      assert.is_true(run(hazard, false))
    end)

    it(("B2 B3 %s would come out wrong without the waits"):format(name), function()
      assert.is_false(run(hazard, true))
    end)
  end

  it("B2 records one event per origin stream, not per buffer, and none when already in order", function()
    local xs, ys, zs = {}, {}, {}
    for i = 1, 3 do
      xs[i], ys[i], zs[i] = dev:buffer("f32", N, 0), dev:buffer("f32", N, 0), dev:buffer("f32", N, 0)
    end
    dev:sync()
    local c = dev:stream()
    local function count(fn)
      testing.driver_reset()
      fn()
      local calls = testing.driver_calls()
      return { calls.hipEventRecord, calls.hipStreamWaitEvent }
    end
    on(a, function()
      gate:close()
      for _, x in ipairs(xs) do
        x:fill(1)
      end
    end)
    on(b, function()
      gate:close()
      for _, y in ipairs(ys) do
        y:fill(2)
      end
    end)
    local function sum(i)
      return function()
        on(c, function()
          k.sum:launch(work.over(N), xs[i], ys[i], zs[i], N)
        end)
      end
    end
    assert.same({ 2, 2 }, count(sum(3))) -- both streams, once
    assert.same({ 0, 0 }, count(sum(1))) -- earlier positions of both
    assert.same({ 0, 0 }, count(sum(3))) -- its own
    on(a, function()
      xs[2]:fill(3)
    end)
    assert.same({ 1, 1 }, count(sum(2))) -- one of them went on
    gate:open()
    dev:sync()
    assert.same({ 0, 0 }, count(sum(2))) -- everything has passed
    assert.equal(5.0, zs[2]:read()[N])
  end)
end)
