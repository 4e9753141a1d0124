-- Rule F13: dev:capture(fn), and many captures. Steps by hand are in capture_spec.lua.

local luhip = require "luhip"
local support = require "spec.support"
local captures = require "spec.server.captures"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

support.each_device(function(id)
  describe("captures", function()
    local dev, k, n, add, first
    before_each(function()
      local c = captures.on(id)
      dev, k, n, add, first = c.dev, c.k, c.n, c.add, c.first
    end)

    ---- F13 --------------------------------------------------------------------------------------------------

    it("F13 capture(fn) runs fn once for real, and records it; without a warm-up it only records", function()
      local x, calls = dev:buffer("f32", n, 0), 0
      local function fn()
        calls = calls + 1
        add(x, 1)
      end
      local g = dev:capture(fn)
      assert.equal(2, calls)
      assert.equal(1, first(x))
      g:replay()
      assert.equal(2, first(x))
      g = dev:capture(fn, { warmup = false })
      assert.equal(3, calls)
      assert.equal(2, first(x))
      g:replay()
      assert.equal(3, first(x))
      assert.equal("none", dev:stream():capture_state())
    end)

    it("F13 an error inside cancels the capture and is the one that comes out", function()
      local s, x = dev:stream(), dev:buffer("f32", n, 1)
      for _, at in ipairs { 1, 2 } do
        local calls, thrown = 0, {}
        local ok, e = pcall(dev.capture, dev, function()
          calls = calls + 1
          add(x, 1)
          if calls == at then
            error(thrown)
          end
        end, { stream = s })
        assert.is_false(ok)
        assert.equal(thrown, e)
        assert.equal("none", s:capture_state())
      end
      assert.equal(3, first(x)) -- the warm-ups alone
      local e = support.assert_error_kind("capture", function()
        dev:capture(function()
          x:read()
        end, { warmup = false })
      end, "read")
      assert.is_true(luhip.is_error(e))
      assert.equal(0, testing.graph_counts(dev).captures)
      support.assert_error_kind("type", function()
        dev:capture(1)
      end)
      support.assert_error_kind("argument", function()
        dev:capture(function() end, { strem = s })
      end, "strem")
    end)

    it("F13 a coroutine that is closed inside fn ends the capture", function()
      local s = dev:stream()
      local co = coroutine.create(function()
        dev:capture(function()
          coroutine.yield()
        end, { stream = s })
      end)
      assert(coroutine.resume(co))
      assert.equal("prepared", s:capture_state())
      assert(coroutine.resume(co))
      assert.equal("recording", s:capture_state())
      assert(coroutine.close(co))
      assert.equal("none", s:capture_state())
    end)

    it("F13 the captured stream is the current one inside fn", function()
      local s, x = dev:stream(), dev:buffer("f32", n, 0)
      local g = dev:capture(function()
        add(x, 1)
      end, { stream = s })
      assert.equal(1, #g)
      dev:with(s, function()
        assert.equal(1, #dev:capture(function()
          assert.equal("recording", s:capture_state() == "prepared" and "recording" or s:capture_state())
          add(x, 1)
        end))
      end)
    end)

    it("F13 captures on different streams are open at once", function()
      local s, t = dev:stream(), dev:stream()
      local x, y = dev:buffer("f32", n, 0), dev:buffer("f32", n, 0)
      for _, stream in ipairs { s, t } do
        stream:prepare_capture()
      end
      s:begin_capture()
      t:begin_capture()
      for i = 1, 4 do
        dev:with(i % 2 == 0 and s or t, function()
          add(i % 2 == 0 and x or y, i)
        end)
      end
      local g, h = s:end_capture(), t:end_capture()
      assert.same({ 2, 2 }, { #g, #h })
      g:replay()
      h:replay()
      assert.same({ 6, 4 }, { first(x), first(y) })
    end)

    ---- known cases ------------------------------------------------------------------------------------------

    it("F13 threads capture and replay on one device at once", function()
      local results = testing.threads(
        [[
          local id = ...
          local dev = require("luhip").open(id)
          local k = dev:kernel "extern \"C\" __global__ void inc(int *x) { x[0] += 1; }"
          local x, s = dev:buffer("i32", 1, 0), dev:stream()
          for i = 1, 20 do
            local g = dev:capture(function()
              k:launch({ grid = 1, block = 1 }, x)
              k:launch({ grid = 1, block = 1 }, x)
            end, { stream = s })
            g:update(1, x)
            g:replay()
            if i % 2 == 0 then g:free() end
          end
          assert(x:read()[1] == 80)
          x, s = nil, nil
          collectgarbage()
          dev:close()
        ]],
        3,
        id
      )
      for _, r in ipairs(results) do
        assert.is_true(r.ok, r.message)
      end
    end)

    it("a kernel that was never launched before is in the graph", function()
      local fresh = dev:kernel(work.source .. "// never launched\n", "accumulate", { lazy = true })
      local x, y = dev:buffer("f32", n, 2), dev:buffer("f32", n, 1)
      local g = dev:capture(function()
        fresh:launch(work.over(n), x, y, n)
      end, { warmup = false })
      assert.equal(1, #g)
      g:replay()
      assert.equal(3, first(y))
    end)

    it("a thousand captures, replayed and freed, leave nothing", function()
      local x = dev:buffer("f32", n, 0)
      local function cycles(count)
        for _ = 1, count do
          local g = dev:capture(function()
            local t = dev:buffer("f32", n, 1)
            k.accumulate:launch(work.over(n), t, x, n)
            t:free()
          end, { warmup = count == 20 })
          g:replay()
          g:free()
        end
        dev:sync()
        collectgarbage()
      end
      cycles(20)
      local before, counts = dev:memory(), testing.server_counts(dev)
      cycles(1000)
      local after = dev:memory()
      assert.equal(before.reserved, after.reserved)
      assert.equal(before.buffers, after.buffers)
      assert.equal(counts.allocations, testing.server_counts(dev).allocations)
      assert.equal(0, testing.graph_counts(dev).graphs)
      assert.equal(1040, first(x))
    end)
  end)
end)
