-- Rules G1 to G5: windows on streams, and what dev:profile makes of single operations.

local core = require "luhip.core"
local support = require "spec.support"
local work = require "spec.server.work"
local testing = core.testing

local N = 64
local FAR = 1 << 40 -- elements: no buffer is that far
local SLACK = 0.1 -- ms: what durations and places may be rounded by

support.each_device(function(id)
  local dev, k, x

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
    x = dev:buffer("f32", N, 1)
  end)

  local function add(buffer)
    k.add:launch(work.over(N), buffer or x, N, 1)
  end
  -- A buffer that carries a failure: of an allocation that no device can have.
  local function stale()
    local huge = support.beyond_memory(dev)
    local y = dev:buffer("u8", 4 * N, 1)
    y:copy(huge:slice(1, 4 * N))
    assert.is_nil((y:check()))
    return y:view "f32"
  end
  local function watches()
    return (testing.profiler_counts(dev))
  end

  -- Windows from now on are placed by one anchor, however slow this machine is.
  local function one_anchor()
    testing.anchor(dev)
    testing.profiler_age(dev, -1e6)
  end

  describe("windows", function()
    ---- G1 -----------------------------------------------------------------------------------------------------

    it("G1 a window opens and stops without waiting for the stream", function()
      local gate = work.gate(dev, k)
      gate:close(x)
      local w = dev:start_profile()
      add()
      local d = w:stop()
      assert.is_false(d:ready())
      assert.match("not known yet", tostring(d))
      gate:open()
      local ms = d:wait()
      assert.is_true(ms >= 0)
      assert.is_true(d:ready())
      assert.equal(ms, d:wait())
      assert.match("ms on " .. id, tostring(d), 1, true)
      assert.equal(2.0, x:read()[1])
    end)

    it("G1 a window is placed on the host's clock", function()
      local _, first = testing.anchor(dev)
      local before = 1e3 * core.monotime()
      local w = dev:start_profile()
      add()
      local d = w:stop()
      local ms = d:wait()
      local start, stop = d:span()
      local after = 1e3 * core.monotime()
      assert.is_true(math.abs(stop - start - ms) < SLACK)
      local _, second = testing.anchor(dev)
      local slack = math.max(first, second) + SLACK
      assert.is_true(start >= before - slack and stop <= after + slack)
    end)

    it("G1 the anchor is kept for a second and then taken again", function()
      local function users()
        return (select(3, testing.profiler_counts(dev)))
      end
      one_anchor()
      local taken = testing.anchor(dev)
      local a, b = dev:start_profile(), dev:start_profile()
      assert.equal(taken, testing.anchor(dev))
      assert.equal(2, users())
      testing.profiler_age(dev, 1e6 + 2000)
      assert.not_equal(taken, testing.anchor(dev))
      assert.equal(0, users())
      a:abandon()
      assert.is_true(b:stop():wait() >= 0)
    end)

    it("G1 a window is of one stream", function()
      local s = dev:stream()
      local gate = work.gate(dev, k)
      dev:with(s, function()
        gate:close()
      end)
      local other, current = dev:start_profile():stop(), nil
      dev:with(s, function()
        current = dev:start_profile()
      end)
      local named = dev:start_profile(s):stop()
      current = current:stop()
      assert.is_true(other:wait() >= 0) -- while s is held
      assert.is_false(current:ready())
      assert.is_false(named:ready())
      gate:open()
      assert.is_true(current:wait() >= 0)
      assert.is_true(named:wait() >= 0)
    end)

    ---- G2 -----------------------------------------------------------------------------------------------------

    it("G2 windows nest, and an outer one contains the inner ones", function()
      one_anchor()
      local outer = dev:start_profile()
      local inners = {}
      for i = 1, 3 do
        local w = dev:start_profile()
        add()
        inners[i] = w:stop()
      end
      local d = outer:stop()
      local sum, last = 0, nil
      local from, to = d:span()
      for _, inner in ipairs(inners) do
        local start, stop = inner:span()
        assert.is_true(start >= from - SLACK and stop <= to + SLACK)
        assert.is_true(not last or start >= last - SLACK)
        sum, last = sum + inner:wait(), stop
      end
      assert.is_true(sum <= d:wait() + SLACK)
    end)

    it("G2 windows overlap, and each is independent of how the others end", function()
      one_anchor()
      local a = dev:start_profile()
      add()
      local b = dev:start_profile()
      add()
      local c = dev:start_profile()
      local da = a:stop()
      add()
      c:abandon()
      local db = b:stop()
      assert.is_true(da:wait() >= 0)
      assert.is_true(db:wait() >= 0)
      assert.is_true((select(2, db:span())) >= (select(2, da:span())) - SLACK)
    end)

    it("G2 an empty window has a duration", function()
      assert.is_true(dev:start_profile():stop():wait() >= 0)
    end)

    ---- G3 -----------------------------------------------------------------------------------------------------

    it("G3 start and stop are refused while the stream records, which goes on; stop drops the window", function()
      local s = dev:stream()
      local w = dev:start_profile(s)
      s:prepare_capture()
      s:begin_capture()
      support.assert_error_kind("capture", function()
        dev:start_profile(s)
      end, "profile")
      support.assert_error_kind("capture", function()
        dev:profile(add)
      end, "profile")
      assert.is_true(dev:start_profile():stop():wait() >= 0) -- of another stream
      support.assert_error_kind("capture", function()
        w:stop()
      end)
      assert.equal(0, watches())
      dev:with(s, add)
      local g = s:end_capture()
      support.assert_error_kind("capture", function()
        w:stop()
      end)
      g:replay()
      assert.equal(2.0, x:read()[1])
      assert.is_true(dev:start_profile(s):stop():wait() >= 0)
    end)

    it("G3 a window that was stopped or abandoned cannot be stopped", function()
      local w = dev:start_profile()
      local d = w:stop()
      support.assert_error_kind("freed", function()
        w:stop()
      end, "stopped already")
      w:abandon() -- of no effect on the duration
      assert.is_true(d:wait() >= 0)
      w = dev:start_profile()
      w:abandon()
      w:abandon()
      support.assert_error_kind("freed", function()
        w:stop()
      end, "abandoned")
      w:free()
      w:abandon()
      support.assert_error_kind("freed", function()
        w:stop()
      end)
      d:free()
      support.assert_error_kind("freed", function()
        d:wait()
      end)
      support.assert_error_kind("type", function()
        dev:start_profile(x)
      end)
      support.assert_error_kind("type", function()
        w.stop(x)
      end)
    end)

    it("G3 a window that goes out of scope open is abandoned, collected too", function()
      do
        local w <close> = dev:start_profile()
        assert.equal(1, watches())
        assert.match("luhip.window", tostring(w))
      end
      assert.equal(0, watches())
      dev:start_profile()
      collectgarbage()
      collectgarbage()
      assert.equal(0, watches())
    end)

    it("G3 events are pooled", function()
      local first <close> = dev:start_profile():stop()
      first:span()
      local _, before = testing.profiler_counts(dev)
      for i = 1, 100 do
        local w = dev:start_profile()
        if i % 3 == 0 then
          w:abandon()
        else
          local d <close> = w:stop()
          d:wait()
          if i % 3 == 1 then
            d:span()
          end
        end
      end
      local open, after = testing.profiler_counts(dev)
      assert.equal(0, open)
      assert.equal(before, after)
    end)

    it("G3 a window of a stream that was freed is stopped there", function()
      local s = dev:stream()
      local w = dev:start_profile(s)
      dev:with(s, add)
      s:free()
      assert.is_true(w:stop():wait() >= 0)
    end)

    it("G3 a closed device ends open windows and knows the stopped ones", function()
      local open, d = dev:start_profile(), dev:start_profile():stop()
      dev:close()
      assert.is_true(d:wait() >= 0)
      support.assert_error_kind("freed", function()
        open:stop()
      end)
      open:abandon()
    end)

    ---- G4 -----------------------------------------------------------------------------------------------------

    it("G4 a skipped launch makes every open window worthless, on any stream", function()
      local y = stale()
      local s = dev:stream()
      local before = dev:start_profile():stop()
      local a, b = dev:start_profile(), dev:start_profile(s)
      k.accumulate:launch(work.over(N), y, x, N)
      support.assert_error_kind("oom", function()
        a:stop()
      end, "profile")
      support.assert_error_kind("oom", function()
        a:stop()
      end)
      support.assert_error_kind("oom", function()
        b:stop()
      end)
      assert.is_true(before:wait() >= 0)
      assert.equal(0, watches())
      assert.is_true(dev:start_profile():stop():wait() >= 0)
    end)

    it("G4 so does an operation that cannot have its memory", function()
      local w = dev:start_profile()
      local huge = support.beyond_memory(dev)
      pcall(huge.fill, huge, 0)
      support.assert_error_kind("oom", function()
        w:stop()
      end)
    end)

    it("D2 so does a lazy kernel that does not compile when it is launched, in a dry run too", function()
      local y = dev:buffer("f32", N, 1)
      local function broken()
        local lazy = dev:kernel('extern "C" __global__ void broken(float *x) { no such thing }', { lazy = true })
        lazy:launch({ grid = 1, block = 1 }, y)
      end
      local w = dev:start_profile()
      broken()
      y:fill(1)
      support.assert_error_kind("compile", function()
        w:stop()
      end, "profile")
      w = dev:start_profile()
      support.assert_error_kind("compile", function()
        dev:dry_run(broken)
      end)
      support.assert_error_kind("compile", function()
        w:stop()
      end)
      assert.equal(1.0, y:read()[1])
    end)

    it("D7 so does a stale launch in a recording", function()
      local y = stale()
      local s = dev:stream()
      s:prepare_capture()
      s:begin_capture()
      local w = dev:start_profile()
      dev:with(s, function()
        k.accumulate:launch(work.over(N), y, x, N)
      end)
      support.assert_error_kind("oom", function()
        w:stop()
      end)
      s:cancel_capture()
    end)

    it("G4 a window lets go of the failure", function()
      local before = testing.server_counts(dev).failures
      do
        local w <close> = dev:start_profile()
        stale()
        assert.is_truthy(w)
      end
      collectgarbage()
      collectgarbage()
      dev:sync()
      dev:flush()
      assert.equal(before, testing.server_counts(dev).failures)
    end)

    if id:match "^cpu" then
      it("G4 a fault inside the window is met by stop, or by wait when it is heard of later", function()
        local gate = work.gate(dev, k)
        local early = dev:start_profile():stop()
        gate:close(x)
        local w = dev:start_profile()
        k.wild:launch(work.over(N), x, N, FAR)
        local d = w:stop() -- nothing is known yet
        local later = dev:start_profile():stop()
        gate:open()
        support.assert_error_kind("fault", function()
          d:wait()
        end, "'wild'")
        support.assert_error_kind("fault", function()
          d:ready()
        end)
        assert.match("failed", tostring(d))
        assert.is_true(early:wait() >= 0)
        assert.is_true(later:wait() >= 0)
        w = dev:start_profile()
        k.wild:launch(work.over(N), x, N, FAR)
        dev:sync()
        support.assert_error_kind("fault", function()
          w:stop()
        end, "'wild'")
      end)

      it("G4 a fault from before the window counts where something inside reads from it", function()
        local gate = work.gate(dev, k)
        local y = dev:buffer("f32", N, 0)
        gate:close(x)
        k.wild:launch(work.over(N), x, N, FAR)
        local w = dev:start_profile()
        k.copy:launch(work.over(N), x, y, N)
        local d = w:stop()
        gate:open()
        support.assert_error_kind("fault", function()
          d:wait()
        end)
      end)
    end

    ---- G5 -----------------------------------------------------------------------------------------------------

    it("G5 a window whose events cannot be read is an error, and stays one", function()
      local w = dev:start_profile()
      local d
      testing.events_unreadable(dev, function()
        d = w:stop()
        support.assert_error_kind("driver", function()
          d:wait()
        end, "profile")
      end)
      support.assert_error_kind("driver", function()
        d:wait()
      end)
      support.assert_error_kind("driver", function()
        dev:profile(function()
          add()
          testing.events_unreadable(dev, function()
            for _ = 1, 1200 do -- more than are open at once
              add()
              dev:sync()
            end
          end)
        end)
      end)
      assert.is_true(dev:start_profile():stop():wait() >= 0)
    end)
  end)

  ---- dev:profile ----------------------------------------------------------------------------------------------

  describe("dev:profile", function()
    local function by_name(p)
      local rows = {}
      for _, row in ipairs(p:rows()) do
        rows[row.name] = row
      end
      return rows
    end

    it("counts the calls of each kernel and of the other operations", function()
      local y = dev:buffer("f32", N, 0)
      local p = dev:profile(function()
        for _ = 1, 5 do
          add()
        end
        k.set:launch(work.over(N), y, N, 3)
        y:copy(x)
        y:fill(2)
        y:write(y:read())
      end)
      local rows = by_name(p)
      assert.equal(10, p.count)
      assert.equal(5, rows.add.calls)
      for _, name in ipairs { "set", "copy", "fill", "write", "read" } do
        assert.equal(1, rows[name].calls, name)
        assert.equal(name == "set" and "launch" or name, rows[name].kind)
      end
      local shares, total = 0, 0
      for i, row in ipairs(p:rows()) do
        assert.is_true(row.min >= 0 and row.min <= row.mean and row.mean <= row.max and row.max <= row.total)
        assert.is_true(i == 1 or row.total <= p:rows()[i - 1].total)
        shares, total = shares + row.share, total + row.total
      end
      assert.is_true(math.abs(shares - 1) < 1e-9)
      assert.is_true(math.abs(total - p.ms) < 1e-9)
    end)

    it("prints a table, one line for each kernel", function()
      local text = tostring(dev:profile(function()
        add()
        add()
      end))
      assert.match("2 operations on " .. id, text, 1, true)
      assert.match("calls +total ms +mean ms +min ms +max ms +share +what", text)
      assert.match("\n +2 .* 100.0%%  add$", text)
      assert.match("^luhip.profile: 0 operations on [^\n]*$", tostring(dev:profile(function() end)))
    end)

    it("sees other streams, and nothing before or after", function()
      local s = dev:stream()
      add()
      local p = dev:profile(function()
        dev:with(s, add)
      end)
      add()
      assert.equal(1, by_name(p).add.calls)
    end)

    it("times a replay as one operation", function()
      local g = dev:capture(add)
      local p = dev:profile(function()
        g:replay()
        g:replay()
      end)
      assert.equal(2, by_name(p).replay.calls)
      assert.equal("replay", by_name(p).replay.kind)
    end)

    it("holds many operations with few events", function()
      local _, before = testing.profiler_counts(dev)
      local p = dev:profile(function()
        for i = 1, 5000 do
          add()
          if i % 50 == 0 then
            dev:sync()
          end
        end
      end)
      local _, after = testing.profiler_counts(dev)
      assert.equal(5000, by_name(p).add.calls)
      assert.is_true(after - before <= 2048 and after <= 2048, after)
    end)

    it("raises what the function raises, and is off afterwards", function()
      local ok, e = pcall(dev.profile, dev, function()
        error("mine", 0)
      end)
      assert.is_false(ok)
      assert.equal("mine", e)
      collectgarbage()
      collectgarbage()
      assert.equal(0, watches())
      assert.equal(1, dev:profile(add).count)
    end)

    it("raises when an operation failed or was skipped (G4)", function()
      local y, z = stale(), dev:buffer("f32", N, 0)
      support.assert_error_kind("oom", function()
        dev:profile(function()
          add()
          k.accumulate:launch(work.over(N), y, z, N)
        end)
      end)
      assert.equal(1, dev:profile(add).count)
    end)

    it("times launches with two events where the driver does not time them itself", function()
      testing.untimed_launches(dev, function()
        local p = dev:profile(function()
          add()
          add()
        end)
        assert.equal(2, by_name(p).add.calls)
        assert.is_true(p.ms >= 0)
      end)
      assert.equal(3.0, x:read()[1])
    end)

    if id:match "^cpu" then
      it("raises what a kernel did wrong", function()
        support.assert_error_kind("fault", function()
          dev:profile(function()
            k.wild:launch(work.over(N), x, N, FAR)
          end)
        end, "'wild'")
      end)
    end

    it("refuses a second one inside, and what is no function", function()
      support.assert_error_kind("argument", function()
        dev:profile(function()
          dev:profile(add)
        end)
      end, "already")
      support.assert_error_kind("type", function()
        dev:profile(3)
      end, "a function expected")
      assert.equal(1, dev:profile(add).count)
    end)

    it("contains windows and is contained by them", function()
      local outer, inner = dev:start_profile(), nil
      local p = dev:profile(function()
        local w = dev:start_profile()
        add()
        inner = w:stop()
      end)
      outer = outer:stop()
      assert.is_true(by_name(p).add.total <= inner:wait() + SLACK)
      assert.is_true(inner:wait() <= outer:wait() + SLACK)
    end)

    it("outlives its device", function()
      local p = dev:profile(add)
      dev:close()
      assert.match("add$", tostring(p))
      assert.equal(1, p:rows()[1].calls)
      p:trace(support.temporary_directory() .. "/out.json")
    end)

    it("G1 knows each operation by itself", function()
      local s = dev:stream()
      local p = dev:profile(function()
        add()
        dev:with(s, add)
        x:fill(2)
      end)
      local records = p:records()
      assert.equal(3, #records)
      assert.same({ "launch", "add" }, { records[1].kind, records[1].name })
      assert.same({ { 1, 1, 1 }, { 64, 1, 1 }, 0 }, { records[1].grid, records[1].block, records[1].shared })
      assert.same({ dev:streams()[1].id, s.id }, { records[1].stream, records[2].stream })
      assert.same({ "fill", x.bytes }, { records[3].kind, records[3].bytes })
      local sum = 0
      for _, record in ipairs(records) do
        assert.is_true(record.ms >= 0 and record.start > 0)
        sum = sum + record.ms
      end
      assert.is_true(math.abs(sum - p.ms) < 1e-9)
      assert.is_true(records[3].start >= records[1].start)
    end)

    ---- traces -------------------------------------------------------------------------------------------------

    it("writes a trace with a thread for each stream, whose operations follow each other", function()
      local path = support.temporary_directory() .. "/out.json"
      local s = dev:stream()
      local p = dev:profile(function()
        for _ = 1, 20 do
          add()
        end
        x:read()
        dev:with(s, add)
      end)
      p:trace(path)
      local data, _, failed = require("dkjson").decode(support.read_file(path))
      assert.is_nil(failed)
      local threads, ends, counts, launch = {}, {}, {}, nil
      for _, event in ipairs(data.traceEvents) do
        if event.ph == "M" and event.name == "thread_name" then
          threads[event.tid] = event.args.name
        elseif event.ph == "X" then
          assert.is_string(threads[event.tid])
          assert.is_true(event.dur >= 0)
          for field, kind in pairs { name = "string", cat = "string", ts = "number", pid = "number", args = "table" } do
            assert.equal(kind, type(event[field]), field)
          end
          local ts, dur = math.floor(1000 * event.ts + 0.5), math.floor(1000 * event.dur + 0.5) -- whole nanoseconds
          assert.is_true(ts >= (ends[event.tid] or 0))
          ends[event.tid] = ts + dur
          counts[event.tid] = (counts[event.tid] or 0) + 1
          launch = launch or event
        end
      end
      assert.equal("add", launch.name)
      assert.equal("launch", launch.cat)
      assert.same({ 1, 1, 1 }, launch.args.grid)
      assert.same({ 64, 1, 1 }, launch.args.block)
      local default = dev:streams()[1].id
      assert.same({ [default] = "default stream", [s.id] = "stream " .. s.id }, threads)
      assert.same({ [default] = 21, [s.id] = 1 }, counts)
    end)

    it("writes any kernel's name, and nothing at all, as JSON", function()
      local path = support.temporary_directory() .. "/out.json"
      local odd = dev:kernel("template <class T, int n> __global__ void odd(T *x) { x[0] = n; }", "odd<float, 4>")
      dev
        :profile(function()
          odd:launch({ grid = 1, block = 1 }, x)
        end)
        :trace(path)
      local data = assert(require("dkjson").decode(support.read_file(path)))
      assert.equal("odd<float, 4>", data.traceEvents[#data.traceEvents].name)
      dev:profile(function() end):trace(path)
      assert.is_table(require("dkjson").decode(support.read_file(path)))
    end)

    it("says why a trace cannot be written", function()
      local p = dev:profile(add)
      support.assert_error_kind("file", function()
        p:trace "/nowhere/at/all.json"
      end, "/nowhere/at/all.json")
      support.assert_error_kind("type", function()
        p:trace()
      end)
    end)
  end)
end)
