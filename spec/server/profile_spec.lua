-- What dev:profile makes of single operations. Windows are in windows_spec.lua.

local core = require "luhip.core"
local support = require "spec.support"
local profiles = require "spec.server.profiles"
local work = require "spec.server.work"
local testing = core.testing

local N, FAR, SLACK = profiles.N, profiles.FAR, profiles.SLACK

support.each_device(function(id)
  local dev, k, x, add, stale, watches

  before_each(function()
    local p = profiles.on(id)
    dev, k, x, add, stale, watches = p.dev, p.k, p.x, p.add, p.stale, p.watches
  end)

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
