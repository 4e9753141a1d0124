-- Rules F9 to F12: replaying, freeing, changing arguments.

local luhip = require "luhip"
local support = require "spec.support"
local captures = require "spec.server.captures"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

support.each_device(function(id)
  describe("replays", function()
    local dev, k, n, add, first, stale, each_kind
    before_each(function()
      local c = captures.on(id)
      dev, k, n, add, first, stale, each_kind = c.dev, c.k, c.n, c.add, c.first, c.stale, c.each_kind
    end)

    ---- F9 ---------------------------------------------------------------------------------------------------

    it("F9 a replay comes after others' use of what it reads and writes, and before what comes later", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 0)
        local g = capture(function()
          k.copy:launch(work.over(n), x, y, n)
        end)
        local gate, s, t = work.gate(dev, k), dev:stream(), dev:stream()
        dev:with(s, function()
          gate:close(x)
          x:fill(3)
        end)
        g:replay(t)
        assert.is_false(t:query())
        local z = dev:buffer("f32", n)
        z:copy(y)
        gate:open()
        assert.equal(3, first(z))
      end)
    end)

    it("F9 a stale input skips the replay, as it does a launch", function()
      each_kind(function(capture)
        local x, y, z = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
        local g = capture(function()
          k.copy:launch(work.over(n), x, y, n)
          z:fill(2)
        end)
        y:fill(1)
        z:fill(1)
        x:copy(stale())
        g:replay() -- raises nothing
        local e = support.assert_error_kind("oom", function()
          y:read()
        end, "skipped", "'x'")
        assert.equal(1, #e.failures)
        assert.is_nil((z:check()))
        x:fill(6)
        g:replay()
        assert.equal(6, first(y))
        assert.equal(2, first(z))
      end)
    end)

    it("F9 what a graph writes before it reads is no input", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
        local g = capture(function()
          k.set:launch(work.over(n), x, n, 4)
          k.copy:launch(work.over(n), x, y, n)
        end)
        x:copy(stale())
        g:replay()
        assert.equal(4, first(y))
        assert.is_true(x:check())
      end)
    end)

    it("F9 a fault of a node claims what the graph writes and names the kernel and the argument", function()
      if not id:match "^cpu" then
        return
      end
      each_kind(function(capture)
        local x, y, z = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
        local by = dev:buffer("f32", n, 1)
        local g = capture(function()
          y:fill(3)
          k.add:launch(work.over(n), by, n, 1)
          k.wild:launch({ grid = 1, block = 1 }, x, 0, 0)
        end)
        g:update(2, x, 1, 1 << 40)
        z:fill(1)
        g:replay()
        local e = support.assert_error_kind("fault", function()
          x:read()
        end, "wild")
        assert.truthy(tostring(e):find("kernel 'wild'", 1, true))
        support.assert_error_kind("fault", function()
          y:read()
        end, "wild")
        assert.is_nil((by:check()))
        assert.equal(1, first(z))
        by:fill(0)
        x:fill(0)
        g:update(2, x, 0, 0)
        g:replay()
        assert.equal(3, first(y))
      end)
    end)

    it("F9 a replay that the driver refuses is returned to the caller and claims what it would have written", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
        local g = capture(function()
          add(x, 1)
        end)
        local call = g.kind == "driver" and "hipGraphLaunch" or "hipModuleLaunchKernel"
        testing.driver_fail { call = call, error = "hipErrorInvalidConfiguration" }
        support.assert_error_kind("launch", function()
          g:replay()
        end, "replay of a graph", "hipErrorInvalidConfiguration")
        support.assert_error_kind("launch", function()
          x:read()
        end, "replay of a graph")
        add(y, 1)
        assert.equal(2, first(y))
        g:free()
      end)
    end)

    it("F12 a graph that the driver does not take when its arguments have changed is replayed as a list", function()
      for _, call in ipairs {
        "hipStreamBeginCapture",
        "hipStreamEndCapture",
        "hipGraphGetNodes",
        "hipModuleLaunchKernel",
      } do
        local x = dev:buffer("f32", n, 1)
        local g = dev:capture(function()
          add(x, 1)
        end)
        if g.kind == "driver" then
          testing.driver_fail { call = call, error = "hipErrorStreamCaptureUnsupported" }
          g:update(1, x, n, 5)
          x:fill(0)
          g:replay()
          assert.equal("list", g.kind)
          assert.equal(5, first(x))
        end
        g:free()
      end
    end)

    it("F9 on any stream, in order with launches before and after it", function()
      each_kind(function(capture)
        local x, s = dev:buffer("f32", n, 0), dev:stream()
        local g = capture(function()
          add(x, 1)
        end)
        x:fill(0)
        for _ = 1, 100 do
          g:replay()
          g:replay(s)
          dev:with(s, function()
            add(x, 1)
            g:replay()
          end)
        end
        assert.equal(400, first(x))
      end)
    end)

    ---- F10 --------------------------------------------------------------------------------------------------

    it("F10 freeing waits for the replays, twice is nothing, and a freed graph is an error", function()
      each_kind(function(capture)
        local x = dev:buffer("f32", n, 0)
        local g = capture(function()
          add(x, 1)
        end)
        x:fill(0)
        for _ = 1, 10 do
          g:replay()
        end
        g:free()
        assert.is_true(dev:stream():query())
        g:free()
        for _, fn in ipairs {
          function()
            g:replay()
          end,
          function()
            g:update(1, x, n, 1)
          end,
          function()
            g:nodes()
          end,
          function()
            return g.kind
          end,
        } do
          support.assert_error_kind("freed", fn)
        end
        assert.equal(10, first(x))
        assert.equal("luhip.graph (freed)", tostring(g))
      end)
    end)

    it("F10 where the wait fails, what the graph writes is claimed, and nothing else", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 0), dev:buffer("f32", n, 1)
        local g = capture(function()
          k.copy:launch(work.over(n), y, x, n)
        end)
        g:replay()
        testing.driver_fail { call = "hipStreamQuery", error = "hipErrorUnknown", times = 1000 }
        g:free()
        testing.driver_reset()
        support.assert_error_kind("driver", function()
          x:read()
        end, "hipErrorUnknown")
        assert.equal(1, first(y))
        x:fill(3)
        assert.equal(3, first(x))
        support.assert_error_kind("freed", function()
          g:replay()
        end)
      end)
    end)

    it("F10 collecting a graph does not wait, and its replays run to their end", function()
      each_kind(function(capture)
        local x, gate, s = dev:buffer("f32", n, 0), work.gate(dev, k), dev:stream()
        local g = capture(function()
          add(x, 1)
        end)
        x:fill(0)
        dev:with(s, function()
          gate:close()
          g:replay()
        end)
        g = nil -- luacheck: ignore
        collectgarbage()
        assert.is_false(s:query())
        gate:open()
        assert.equal(1, first(x))
      end)
      dev:sync()
      dev:flush()
      assert.equal(0, testing.graph_counts(dev).graphs)
    end)

    it("F10 a graph outlives its device as a husk", function()
      local x = dev:buffer("f32", n, 0)
      local g = dev:capture(function()
        add(x, 1)
      end)
      g:replay()
      dev:close()
      support.assert_error_kind("freed", function()
        g:replay()
      end)
      g:free()
    end)

    ---- F11 --------------------------------------------------------------------------------------------------

    it("F11 arguments are changed between replays, with the checks of a launch", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 0), dev:buffer("f32", n, 0)
        local g = capture(function()
          x:fill(0)
          add(x, 1)
          add(x, 2)
        end)
        g:update(2, x, n, 10)
        g:replay()
        assert.equal(11, first(x))
        g:update(1, y, n, 5)
        y:fill(1)
        g:replay()
        assert.equal(10, first(x))
        assert.equal(6, first(y))
        support.assert_error_kind("range", function()
          g:update(3, x, n, 1)
        end, "launch 3")
        support.assert_error_kind("range", function()
          g:update(0, x, n, 1)
        end)
        support.assert_error_kind("argument", function()
          g:update(1, x, n)
        end, "add")
        support.assert_error_kind("type", function()
          g:update(1, dev:buffer("i32", n, 0), n, 1)
        end, "'x'")
        support.assert_error_kind("type", function()
          g:update(1, x, 1.5, 1)
        end, "'n'")
        local freed = dev:buffer("f32", n, 0)
        freed:free()
        support.assert_error_kind("freed", function()
          g:update(1, freed, n, 1)
        end, "'x'")
        g:replay() -- as before the refused ones
        assert.equal(10, first(x))
        assert.equal(11, first(y))
      end)
    end)

    it("F11 the graph owns what it was updated with, and what it had is let go", function()
      each_kind(function(capture)
        local x = dev:buffer("f32", n, 1)
        local g = capture(function()
          add(x, 1)
        end)
        do
          local y = dev:buffer("f32", n, 1)
          g:update(1, y, n, 1)
        end
        x:free()
        collectgarbage()
        for _ = 1, 10 do
          g:replay()
        end
        -- a stale input is one of the new arguments
        local z = stale()
        g:update(1, z, n, 1)
        g:replay()
        assert.is_nil((z:check()))
        g:free()
      end)
    end)

    it("F11 a buffer may give way to a null pointer, and come back in another place", function()
      each_kind(function(capture)
        local either = dev:kernel [[
          extern "C" __global__ void either(float *a, float *b) {
            if (a) a[0] += 1;
            if (b) b[0] += 10;
          }
        ]]
        local x = dev:buffer("f32", n, 0)
        local g = capture(function()
          either:launch({ grid = 1, block = 1 }, x, luhip.null)
        end)
        g:update(1, luhip.null, x)
        assert.same({ luhip.null, "f32[64]" }, g:nodes()[1].args)
        x:fill(0)
        g:replay()
        assert.equal(10, first(x))
        g:update(1, luhip.null, luhip.null)
        g:replay()
        assert.equal(10, first(x))
      end)
    end)

    it("F11 nothing leaks over thousands of updates", function()
      each_kind(function(capture)
        local x, y = dev:buffer("f32", n, 0), dev:buffer("f32", n, 0)
        local g = capture(function()
          for _ = 1, 32 do
            add(x, 1)
          end
        end)
        local function updates(count)
          for i = 1, count do
            g:update(i % 32 + 1, i % 2 == 0 and x or y, n, i % 7)
            if i % 10 == 0 then
              g:replay()
            end
          end
          dev:sync()
          dev:flush()
          collectgarbage()
        end
        updates(200)
        local memory, counts, server = dev:memory(), testing.graph_counts(dev), testing.server_counts(dev)
        updates(2000)
        local after = dev:memory()
        for _, name in ipairs { "buffers", "in_use", "reserved" } do
          assert.equal(memory[name], after[name], name)
        end
        assert.same(memory.pinned, after.pinned)
        assert.same(counts, testing.graph_counts(dev))
        assert.equal(server.allocations, testing.server_counts(dev).allocations)
        assert.equal(server.failures, testing.server_counts(dev).failures)
        g:free()
      end)
    end)

    ---- F12 --------------------------------------------------------------------------------------------------

    it("F12 a graph says how it is replayed, and both ways do the same", function()
      local results = {}
      each_kind(function(capture)
        local m = dev:pitched("f32", { 5, 7 })
        local x, y = dev:buffer("f64", 100, 0), dev:buffer("c128", 10)
        local g = capture(function()
          m:fill(2)
          m:columns(2, 4):fill(3)
          x:fill(0.1)
          y:fill { 1, 2 }
          x:slice(1, 3):write { 7, 8, 9 }
          x:slice(50, 52):copy(x:slice(1, 3))
          m:row(2):write { 1, 2, 3, 4, 5, 6, 7 }
        end)
        m:fill(0)
        x:fill(0)
        y:fill { 0, 0 }
        g:replay()
        table.insert(results, { m:totable(), x:totable(), y:totable() })
      end)
      assert.same({ 2, 3, 3, 3, 2, 2, 2 }, results[1][1][1])
      assert.same({ 1, 2, 3, 4, 5, 6, 7 }, results[1][1][2])
      assert.equal(9, results[1][2][52])
      assert.equal(0.1, results[1][2][100])
      assert.same({ 1, 2 }, results[1][3][10])
      assert.same(results[1], results[2])
    end)
  end)
end)
