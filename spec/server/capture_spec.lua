-- Rules F1 to F8: recording, step by step. F9 to F12 are in replay_spec.lua, F13 in capture_call_spec.lua.

local luhip = require "luhip"
local support = require "spec.support"
local captures = require "spec.server.captures"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

support.each_device(function(id)
  describe("captures", function()
    local dev, k, n, add, first, refused, stale, recording
    before_each(function()
      local c = captures.on(id)
      dev, k, n, add, first, refused, stale, recording =
        c.dev, c.k, c.n, c.add, c.first, c.refused, c.stale, c.recording
    end)

    ---- F1 ---------------------------------------------------------------------------------------------------

    it("F1 a stream goes none, prepared, recording, none; other steps are errors that change nothing", function()
      local s = dev:stream()
      assert.equal("none", s:capture_state())
      refused("begin_capture", function()
        s:begin_capture()
      end)
      refused("end_capture", function()
        s:end_capture()
      end)
      assert.equal("none", s:capture_state())
      s:prepare_capture()
      assert.equal("prepared", s:capture_state())
      refused("prepare_capture", function()
        s:prepare_capture()
      end)
      refused("end_capture", function()
        s:end_capture()
      end)
      assert.equal("prepared", s:capture_state())
      s:begin_capture()
      assert.equal("recording", s:capture_state())
      refused("prepare_capture", function()
        s:prepare_capture()
      end)
      refused("begin_capture", function()
        s:begin_capture()
      end)
      assert.equal("recording", s:capture_state())
      local g = s:end_capture()
      assert.equal(0, #g)
      assert.equal("none", s:capture_state())
      g:replay()
    end)

    it("F1 cancel unwinds from any state, and the stream is usable again", function()
      local s, x = dev:stream(), dev:buffer("f32", n, 1)
      s:cancel_capture()
      s:prepare_capture()
      s:cancel_capture()
      assert.equal("none", s:capture_state())
      s:prepare_capture()
      s:begin_capture()
      dev:with(s, function()
        add(x, 5)
      end)
      s:cancel_capture()
      assert.equal("none", s:capture_state())
      dev:with(s, function()
        add(x, 1)
      end)
      assert.equal(2, first(x))
      assert.same({ graphs = 0, captures = 0, recordings = 0, trash = 0 }, testing.graph_counts(dev))
    end)

    it("F1 a stream that is freed, or a device that is closed by force, ends its capture", function()
      local x = dev:buffer("f32", n, 1)
      local s = recording(function()
        add(x, 5)
      end)
      s:free()
      assert.equal(0, testing.graph_counts(dev).recordings)
      recording()
      collectgarbage()
      assert.equal(0, testing.graph_counts(dev).recordings)
      if id == "cpu:0" then -- a device of which another is there to be closed
        local other <close> = luhip.open "cpu:0/64"
        local t = other:stream()
        t:prepare_capture()
        t:begin_capture()
      end
      assert.equal(1, first(x))
    end)

    ---- F2, F3 -----------------------------------------------------------------------------------------------

    it("F2 a prepared stream runs its work", function()
      local s, x = dev:stream(), dev:buffer("f32", n, 1)
      s:prepare_capture()
      dev:with(s, function()
        add(x, 1)
      end)
      assert.equal(2, first(x))
      s:cancel_capture()
    end)

    it("F2 memory of the warm-up serves the recording, also when it was freed in between", function()
      local s, out = dev:stream(), dev:buffer("f32", 999, 0)
      local function step()
        for i = 1, 3 do
          local temporary = dev:buffer("f32", 999, i)
          out:copy(temporary)
          temporary:free()
        end
      end
      s:prepare_capture()
      dev:with(s, step)
      s:begin_capture()
      dev:with(s, step)
      local g = s:end_capture()
      assert.equal(6, #g)
      out:fill(0)
      g:replay()
      assert.equal(3, first(out))
    end)

    it("F3 what the warm-up keeps gets a counterpart for the recording", function()
      local kept
      local g = dev:capture(function()
        kept = dev:buffer("f32", 1234, 7)
      end)
      assert.equal(1, #g)
      g:replay()
      assert.equal(7, first(kept))
    end)

    it("F3 the memory of a warm-up goes back to the pool", function()
      collectgarbage()
      local before = dev:memory()
      for _ = 1, 20 do
        local g = dev:capture(function()
          local temporary = dev:buffer("f32", 5000, 1)
          temporary:fill(2)
        end)
        g:replay()
        g:free()
      end
      collectgarbage()
      dev:sync()
      dev:memory_cleanup()
      local after = dev:memory()
      assert.equal(before.in_use, after.in_use)
      assert.equal(before.buffers, after.buffers)
      assert.is_true(after.reserved <= before.reserved)
    end)

    ---- F4 ---------------------------------------------------------------------------------------------------

    it("F4 what cannot be recorded is refused by name, and the recording goes on undamaged", function()
      local x, grid = dev:buffer("f32", n, 1), dev:buffer("u32", 3, 1)
      local beyond = support.beyond_memory(dev) -- more than any page has left
      local other = dev:capture(function()
        add(x, 100)
      end)
      x:fill(1)
      local s = recording(function()
        add(x, 1)
      end)
      dev:with(s, function()
        refused("read", function()
          x:read()
        end)
        refused("read", function()
          x:read_async()
        end)
        refused("sync", function()
          s:sync()
        end)
        refused("sync", function()
          dev:sync()
        end)
        refused("a grid from a buffer", function()
          k.add:launch({ grid = grid, block = 64 }, x, n, 1)
        end)
        refused("replay", function()
          other:replay()
        end)
        refused("record", function()
          s:record()
        end)
        refused("wait", function()
          s:wait(dev:stream())
        end)
        refused("new device memory", function()
          beyond:fill(1)
        end)
        refused("memory_cleanup", function()
          dev:memory_cleanup()
        end)
        refused("close", function()
          dev:close()
        end)
        add(x, 1)
      end)
      local g = s:end_capture()
      assert.equal(2, #g)
      g:replay()
      assert.equal(3, first(x))
    end)

    it("F4 finalisers do not call the driver while a stream records", function()
      local program = dev:compile(work.source .. "// another one\n", { name = "gone.hip" })
      local held = { dev:capture(function()
        dev:buffer("f32", n, 1)
      end) }
      local s = recording()
      program:free()
      table.remove(held)
      collectgarbage()
      if id:match "^cpu" then
        assert.is_true(testing.graph_counts(dev).trash > 0)
      end
      s:end_capture()
      assert.equal(0, testing.graph_counts(dev).trash)
    end)

    it("F4 other streams work as ever while one records", function()
      local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
      local s = recording(function()
        add(x, 1)
      end)
      add(y, 1)
      assert.equal(2, first(y))
      local z = dev:buffer("f32", 4321, 3)
      assert.equal(3, first(z))
      local t = dev:stream()
      dev:with(t, function()
        add(y, 1)
        add(x, 5)
      end)
      t:sync()
      assert.equal(3, first(y))
      local g = s:end_capture()
      assert.equal(6, first(x))
      g:replay()
      assert.equal(7, first(x))
    end)

    it("F4 another thread's waits do not disturb a recording, nor are they disturbed", function()
      local x = dev:buffer("f32", n, 0)
      local s = recording(function()
        add(x, 1)
      end)
      local results = testing.threads(
        [[
          local id = ...
          local dev = require("luhip").open(id)
          local y = dev:buffer("f32", 8, 3)
          dev:sync()
          local e = dev:record()
          e:wait()
          assert(y:read()[1] == 3)
          y = nil
          collectgarbage()
          dev:close()
        ]],
        3,
        id
      )
      for _, r in ipairs(results) do
        assert.is_true(r.ok, r.message)
      end
      add(x, 100)
      local g = s:end_capture()
      assert.equal(1, #g)
      g:replay()
      assert.equal(101, first(x))
    end)

    ---- F5, F7 -----------------------------------------------------------------------------------------------

    it("F5 a skipped operation dooms the window: end refuses and names it, and the stream works on", function()
      local bad, y = stale(), dev:buffer("f32", n, 1)
      local s = recording(function()
        add(y, 1)
        k.copy:launch(work.over(n), bad, y, n)
        add(y, 1)
      end)
      assert.is_true(y:check()) -- F8: not before the end
      refused("launch of kernel 'copy'", function()
        s:end_capture()
      end)
      assert.equal("none", s:capture_state())
      dev:with(s, function()
        y:fill(4)
        add(y, 1)
      end)
      assert.equal(5, first(y))
    end)

    it("F5 what the recording itself repairs is not stale", function()
      local bad, y = stale(), dev:buffer("f32", n, 0)
      local g = dev:capture(function()
        bad:slice(1, n // 2):fill(2)
        bad:slice(n // 2 + 1, n):fill(2)
        k.copy:launch(work.over(n), bad, y, n)
      end, { warmup = false })
      g:replay()
      assert.equal(2, first(y))
      assert.is_true(bad:check())
    end)

    it("F7 a refused end claims what the recorded operations would have written, and no more", function()
      local bad, x, y, z = stale(), dev:buffer("f32", n, 1), dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
      local s = recording(function()
        x:slice(1, 8):fill(3)
        k.copy:launch(work.over(n), bad, y, n)
      end)
      refused("copy", function()
        s:end_capture()
      end)
      assert.is_true(z:check())
      assert.is_true(x:slice(9, n):check())
      support.assert_error_kind("capture", function()
        x:read()
      end, "copy")
      support.assert_error_kind("capture", function()
        y:read()
      end, "copy")
      x:fill(1)
      assert.equal(1, first(x))
    end)

    it("F5 a kernel that does not compile in time dooms the window", function()
      local lazy = dev:kernel('extern "C" __global__ void broken(float *x) { no such thing }', { lazy = true })
      local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
      local s = recording(function()
        lazy:launch({ grid = 1, block = 1 }, x)
        k.copy:launch(work.over(n), x, y, n)
      end)
      assert.is_true(x:check()) -- until then nothing is claimed
      refused("end_capture", function()
        s:end_capture()
      end, "broken", "cannot compile")
      support.assert_error_kind("capture", function()
        x:read()
      end, "cannot compile")
      assert.is_nil((y:check()))
      s = recording(function()
        lazy:launch({ grid = 1, block = 1 }, y)
      end)
      s:cancel_capture()
      x:fill(2)
      y:fill(2)
      assert.equal(2, first(x))
      assert.equal(2, first(y))
    end)

    ---- F6 ---------------------------------------------------------------------------------------------------

    it("F6 a graph owns its buffers, kernels and host bytes", function()
      local y = dev:buffer("f32", n, 0)
      local g
      do
        local program = dev:compile(work.source .. "// of the graph\n", { name = "own.hip" })
        local copy = program:kernel "copy"
        local x = dev:buffer("f32", n, 1)
        local host = luhip.array("f32", n)
        for i = 1, n do
          host[i] = 5
        end
        g = dev:capture(function()
          x:write(host)
          copy:launch(work.over(n), x, y, n)
        end)
        for i = 1, n do
          host[i] = 9
        end
        x:fill(0)
        x:free()
        copy:free()
        program:free()
      end
      collectgarbage()
      dev:memory_cleanup()
      for _ = 1, 50 do -- would take the memory if it were free
        dev:buffer("f32", n, 8)
      end
      y:fill(0)
      g:replay()
      assert.equal(5, first(y))
      local live = dev:memory().buffers
      g:free()
      collectgarbage()
      assert.is_true(dev:memory().buffers < live)
      assert.equal(5, first(y))
    end)

    it("F6 a pinned array written in a recording may be changed at once", function()
      local array, x = dev:staging({ 4 * n })[1], dev:buffer("u8", 4 * n, 0)
      for i = 1, #array do
        array[i] = 3
      end
      local s = recording(function()
        x:write(array)
      end)
      array[1] = 77
      local g = s:end_capture()
      array[1] = 78
      g:replay()
      assert.equal(3, x:read()[1])
    end)

    it("F6 lists its nodes", function()
      local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 1)
      local g = dev:capture(function()
        x:write(luhip.array("f32", n))
        x:fill(1.5)
        y:copy(x)
        k.add:launch({ grid = { 2, 3 }, block = 32 }, y, 0, 2.5)
        add(y:slice(1, 4), 1)
      end)
      local nodes = g:nodes()
      assert.equal(5, #g)
      assert.same({ "write", "fill", "copy", "kernel", "kernel" }, {
        nodes[1].kind,
        nodes[2].kind,
        nodes[3].kind,
        nodes[4].kind,
        nodes[5].kind,
      })
      assert.equal(4 * n, nodes[1].bytes)
      assert.same({
        kind = "kernel",
        kernel = "add",
        launch = 1,
        grid = { 2, 3, 1 },
        block = { 32, 1, 1 },
        shared = 0,
        args = { "f32[64]", 0, 2.5 },
      }, nodes[4])
      assert.equal(2, nodes[5].launch)
      assert.equal("f32[4]", nodes[5].args[1])
      local dot = g:dot()
      assert.truthy(dot:find("digraph", 1, true))
      assert.truthy(dot:find("n4 -> n5", 1, true))
      assert.truthy(dot:find("add", 1, true))
      assert.truthy(tostring(g):find("5 operations", 1, true))
    end)

    ---- F8 ---------------------------------------------------------------------------------------------------

    it("F8 recorded work does not run, claims nothing, releases nothing, and waits for nobody", function()
      local x, bad = dev:buffer("f32", n, 1), stale()
      local gate = work.gate(dev, k)
      local t = dev:stream()
      dev:with(t, function()
        gate:close(x)
      end)
      local s = recording(function()
        add(x, 1) -- behind the gate if it ran
        bad:fill(2)
      end)
      assert.is_true(s:query())
      assert.is_nil((bad:check()))
      local g = s:end_capture()
      assert.is_nil((bad:check()))
      gate:open()
      assert.equal(1, first(x))
      g:replay()
      assert.equal(2, first(x))
      assert.is_true(bad:check())
    end)
  end)
end)
