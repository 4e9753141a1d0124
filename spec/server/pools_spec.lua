-- Pools of a device: layouts, reports, persistent mode, plans (J1-J9, B1).

local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"

local MIB <const> = 1 << 20

local function with_role(dev, role, pinned)
  local list = {}
  for _, p in ipairs(dev:memory_pools()) do
    if p.role == role and p.pinned == (pinned or false) then
      table.insert(list, p)
    end
  end
  return list
end

-- Every stream's figures, and all pools together, are what memory() says.
local function adds_up(dev)
  local m = dev:memory()
  local sums = { in_use = 0, padding = 0, reserved = 0, cached = 0, pinned = 0 }
  for _, p in ipairs(dev:memory_pools()) do
    if p.pinned then
      sums.pinned = sums.pinned + p.reserved
    else
      for _, key in ipairs { "in_use", "padding", "reserved", "cached" } do
        sums[key] = sums[key] + p[key]
      end
    end
  end
  assert.same(
    { m.in_use, m.padding, m.reserved, m.cached, m.pinned.reserved },
    { sums.in_use, sums.padding, sums.reserved, sums.cached, sums.pinned }
  )
  local streams = { in_use = 0, reserved = 0, pinned = 0 }
  for _, s in ipairs(m.streams) do
    streams.in_use, streams.reserved = streams.in_use + s.in_use, streams.reserved + s.reserved
    streams.pinned = streams.pinned + s.pinned.reserved
  end
  assert.same({ m.in_use, m.reserved, m.pinned.reserved }, { streams.in_use, streams.reserved, streams.pinned })
  return m
end

local layouts = {
  ["sub-slices"] = "sub-slices",
  exclusive = "exclusive",
  direct = "direct",
  list = {
    { kind = "sliced", page = 1 << 16, slice = 1 << 14, cap = 1 << 20 },
    { kind = "exclusive", page = 1 << 20 },
  },
}

support.each_device(function(id)
  for name, layout in pairs(layouts) do
    it("J3 J6 buffers work, and figures add up to zero in the end, with pools: " .. name, function()
      local dev = support.open(id, { pools = layout })
      local k = work.kernels(dev)
      math.randomseed(7)
      local live, streams = {}, { dev:stream(), dev:stream() }
      for round = 1, 200 do
        local i = math.random(24)
        if live[i] then
          local x, n, value = table.unpack(live[i])
          assert.same({ value, value }, { x:read(1, 1)[1], x:read(n, n)[1] })
          x:free()
          live[i] = nil
        else
          local n = math.random(5000)
          dev:with(streams[math.random(2)], function()
            local x = dev:buffer("f32", n, round)
            k.add:launch(work.over(n), x, n, 1)
            live[i] = { x, n, round + 1.0 }
          end)
        end
        if round % 20 == 0 then
          adds_up(dev)
        end
      end
      for _, entry in pairs(live) do
        entry[1]:free()
      end
      collectgarbage()
      collectgarbage()
      dev:sync()
      dev:memory_cleanup()
      local m = adds_up(dev)
      assert.same({ 0, 0, 0, 0, 0 }, { m.buffers, m.in_use, m.padding, m.reserved, m.cached })
      assert.same({ 0, 0 }, { m.pinned.in_use, m.pinned.reserved })
    end)
  end

  it("B1 J1 each stream has memory of its own", function()
    local dev = support.open(id)
    local s = dev:stream()
    local x = dev:buffer("u8", 1000, 1)
    local y = dev:with(s, function()
      return dev:buffer("u8", 3000, 2)
    end)
    local m = adds_up(dev)
    assert.equal(2, #m.streams)
    table.sort(m.streams, function(a, b)
      return a.in_use < b.in_use
    end)
    assert.same({ 1000, 3000 }, { m.streams[1].in_use, m.streams[2].in_use })
    assert.same({ 1, 2 }, { x:read()[1000], y:read()[3000] })
  end)

  it("B4 memory of a stream that was freed goes back when it is safe", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    local s = dev:stream()
    local x = dev:with(s, function()
      local x, gone = dev:buffer("f32", 4096, 1), dev:buffer("f32", 4096, 1)
      k.add:launch(work.over(4096), gone, 4096, 1)
      gone:free()
      return x
    end)
    s:free()
    assert.equal(1.0, x:read()[4096])
    dev:sync()
    dev:flush()
    assert.equal(16384, adds_up(dev).in_use)
    x:free()
    dev:memory_cleanup()
    assert.equal(0, adds_up(dev).reserved)
  end)

  it("J5 another layout holds for this stream and for those made from now on", function()
    local dev = support.open(id)
    local old = dev:stream()
    dev:with(old, function()
      dev:buffer("u8", 10, 1):free()
    end)
    local before = dev:pools()
    local list = { { kind = "sliced", page = 1 << 16, slice = 1 << 12 }, { kind = "direct", reclaim_at = 1 << 20 } }
    dev:install_pools(list)
    assert.same(list, dev:pools())
    local x, y = dev:buffer("u8", 100, 1), dev:buffer("u8", 200, 2)
    assert.same(
      { "sliced", 2, 1 << 16 },
      (function()
        local p = with_role(dev, "layout")
        for _, pool in ipairs(p) do
          if pool.live > 0 then
            return { pool.kind, pool.live, pool.reserved }
          end
        end
      end)()
    )
    dev:with(old, function()
      assert.same(before, dev:pools())
    end)
    dev:with(dev:stream(), function()
      assert.same(list, dev:pools())
    end)
    assert.same({ 1, 2 }, { x:read()[100], y:read()[200] })
  end)

  it("J5 with buffers living in the pools it is refused, naming bytes and holders, and nothing changes", function()
    local dev = support.open(id)
    local before = dev:pools()
    local x = dev:buffer("f32", { 16, 64 }, 1)
    local e = support.assert_error_kind("pools_in_use", function()
      dev:install_pools "exclusive"
    end, "4096 bytes", "1 buffer", "f32[16, 64]")
    assert.truthy(e)
    assert.same(before, dev:pools())
    assert.equal(1.0, x:read()[1])
    local found = false
    for _, holder in ipairs(dev:memory_report().holders) do
      found = found or (holder.what == "f32[16, 64]" and holder.bytes == 4096)
    end
    assert.is_true(found)
    x:free()
    dev:install_pools "exclusive"
    assert.equal("exclusive", dev:pools()[1].kind)
  end)

  it("J5 F4 it is refused while a capture is open, which goes on", function()
    local dev = support.open(id)
    local s = dev:stream()
    for _, step in ipairs { "prepare_capture", "begin_capture" } do
      s[step](s)
      support.assert_error_kind("capture", function()
        dev:install_pools "exclusive"
      end, "install_pools")
    end
    s:cancel_capture()
    dev:install_pools "exclusive"
  end)

  it("J5 what is no layout is refused, naming place and key", function()
    local dev = support.open(id)
    support.assert_error_kind("argument", function()
      dev:install_pools "slabs"
    end, "slabs", "sub-slices")
    support.assert_error_kind("argument", function()
      dev:install_pools {}
    end, "empty")
    support.assert_error_kind("argument", function()
      dev:install_pools { { kind = "sliced", page = 64, slices = 2 } }
    end, "pools[1]", "slices")
    support.assert_error_kind("type", function()
      dev:install_pools(5)
    end, "install_pools")
    for _, pools in ipairs { "slabs", {}, { { kind = "exclusive" } } } do
      local wanted = { device = id, pools = pools }
      dev:close()
      assert.is_false(pcall(luhip.open, wanted))
      dev = support.open(id)
    end
    support.assert_error_kind("options_conflict", function()
      luhip.open { device = id, pools = { { kind = "direct", cap = 12345 << 10 } } }
    end, "pools")
  end)

  it("J6 the report shows every pool, pinned ones too: its configuration, what it holds, and held at most", function()
    local dev = support.open(id, { pools = { { kind = "sliced", page = 64 << 10, slice = 8 << 10, cap = 1 << 20 } } })
    local x, y = dev:buffer("f32", 1000, 1), dev:buffer("u8", 100 << 10, 1)
    local report = dev:memory_report()
    local text = tostring(report)
    for _, part in ipairs {
      "2 buffers",
      "sliced 64 KiB / 8 KiB, cap 1 MiB",
      "direct (overflow)",
      "pinned",
      "f32[1000]",
      "u8[102400]",
      "100 KiB",
    } do
      assert(text:find(part, 1, true), part .. " is missing in\n" .. text)
    end
    x:free()
    dev:memory_cleanup()
    local pool = with_role(dev, "layout")[1]
    assert.same({ 0, 0, 1, 64 << 10 }, { pool.live, pool.pages, pool.peak_pages, pool.peak })
    assert.is_true(pool.largest >= 4000 and pool.largest < 4000 + dev.alignment)
    assert.equal(1, y:read()[1])
  end)

  it("J7 persistent mode nests as calls, also when one of them raises", function()
    local dev = support.open(id)
    local function persistent()
      local x = dev:buffer("u8", 5000, 1)
      local live = 0
      for _, p in ipairs(with_role(dev, "persistent")) do
        live = live + p.live
      end
      x:free()
      return live > 0
    end
    assert.is_false(persistent())
    assert.same({ true, "a", nil }, {
      dev:memory_mode("persistent", function(...)
        assert.is_true(persistent())
        dev:memory_mode("auto", function()
          assert.is_false(persistent())
        end)
        assert.is_false(pcall(dev.memory_mode, dev, "auto", error))
        return persistent(), ...
      end, "a", nil),
    })
    assert.is_false(persistent())
    dev:memory_mode "persistent"
    assert.is_true(persistent())
    dev:memory_mode "auto"
    assert.is_false(persistent())
    support.assert_error_kind("argument", function()
      dev:memory_mode "never"
    end, "never", "persistent", "auto")
    support.assert_error_kind("type", function()
      dev:memory_mode("auto", 5)
    end, "a function expected, not 5")
  end)

  it("J7 persistent mode is disabled or enforced when the device is opened", function()
    for policy, expected in pairs { disabled = false, enforced = true } do
      local dev = luhip.open { device = id, persistent = policy }
      dev:memory_mode "persistent"
      local x = dev:buffer("u8", 64, 1)
      assert.equal(expected, #with_role(dev, "persistent") > 0)
      support.assert_error_kind("options_conflict", function()
        luhip.open { device = id, persistent = policy == "disabled" and "enforced" or "disabled" }
      end, "persistent")
      x:free()
      dev:close()
    end
    support.assert_error_kind("argument", function()
      luhip.open { device = id, persistent = "sometimes" }
    end, "persistent", "sometimes", "enforced")
  end)

  it("J8 a limit holds with pages too, and a page that does not fit is no reason to refuse", function()
    local dev = support.open(id, { limit = MIB, pools = { { kind = "sliced", page = MIB // 2, slice = MIB // 4 } } })
    local a, b = dev:buffer("u8", 1000, 1), dev:buffer("u8", 300000, 2)
    for i = 1, 5 do
      local x = dev:buffer("u8", 200000, i)
      assert.equal(i, x:read()[200000])
      assert.is_true(dev:memory().reserved <= MIB)
      x:free()
    end
    assert.same({ 1, 2 }, { a:read()[1000], b:read()[300000] })
    local c = dev:buffer("u8", MIB)
    support.assert_error_kind("oom", function()
      c:fill(1)
    end, tostring(MIB), "limit", "in use", "cached")
  end)

  it("J2 what no pool accepts and the device cannot hold is too_big, naming the size", function()
    local dev = support.open(id, { pools = "sub-slices" })
    local x = dev:buffer("u8", 1 << 50)
    support.assert_error_kind("too_big", function()
      x:fill(1)
    end, tostring(1 << 50))
    local y = dev:buffer("u8", 4, 3)
    assert.equal(3, y:read()[4])
  end)

  it("J9 a plan finds out what a function needs, allocates nothing, and its layout serves just that", function()
    local dev = support.open(id, {
      pools = { { kind = "sliced", page = 1 << 16, slice = 1 << 14 }, { kind = "exclusive", page = MIB } },
    })
    local k = work.kernels(dev)
    local function run()
      local sum = 0
      for round = 1, 3 do
        local x, y <const> = dev:buffer("f32", 4000, round), dev:buffer("f32", 3000, 1)
        local z = dev:buffer("f32", 100000, 2)
        k.add:launch(work.over(4000), x, 4000, 1)
        sum = sum + x:read()[4000]
        x:free()
        y:free()
        z:free()
      end
      return sum
    end
    local layout, peak = dev:plan(run)
    assert.same({ 0, 0 }, { dev:memory().reserved, dev:memory().in_use })
    assert.same({ 9, 4 * (4000 + 3000 + 100000) }, { peak.buffers, peak.in_use })
    assert.same({ "sliced", 1 << 16, 1 << 16 }, { layout[1].kind, layout[1].page, layout[1].cap })
    assert.equal("exclusive", layout[2].kind)
    assert.is_true(layout[2].cap >= 400000 and layout[2].cap < 400000 + dev.alignment)
    dev:install_pools(layout)
    assert.equal(2.0 + 3.0 + 4.0, run())
    assert.equal(peak.reserved, dev:memory().reserved)
    assert.equal(0, #with_role(dev, "overflow"))
    for _, p in ipairs(with_role(dev, "layout")) do
      assert.is_false(p.capped)
    end
  end)

  it("J9 plans nest in nothing else: other coroutines allocate as ever, and errors leave the plan", function()
    local dev = support.open(id, { pools = "sub-slices" })
    local co = coroutine.wrap(function()
      local x = dev:buffer("u8", 64, 1)
      coroutine.yield(x:read()[1])
      return dev:buffer("u8", 64, 2):read()[1]
    end)
    assert.equal(1, co())
    support.assert_error_kind("range", function()
      dev:plan(function()
        dev:buffer("u8", 100)
        assert.equal(2, co())
        dev:buffer("u8", -1)
      end)
    end)
    assert.equal(3, dev:buffer("u8", 1, 3):read()[1])
    local late
    dev:plan(function()
      late = coroutine.wrap(function()
        coroutine.yield(dev:buffer("u8", 64).count)
        return dev:buffer("u8", 32).count -- it inherited the plan, which is over
      end)
      assert.equal(64, late())
    end)
    assert.equal(32, late())
    support.assert_error_kind("type", function()
      dev:plan(5)
    end, "plan")
    support.assert_error_kind("too_big", function()
      dev:plan(function()
        dev:buffer("u8", 1 << 50)
      end)
    end, "plan")
  end)

  it("J9 a plan's buffers may live on", function()
    local dev = support.open(id)
    local kept
    dev:plan(function()
      kept = dev:buffer("f32", 10, 5)
    end)
    assert.equal(10, kept.count)
    kept:fill(6)
    assert.equal(6.0, kept:read()[10])
  end)
end)

describe("the CPU device", function()
  support.scope()

  it("E6 keeps an allocation for each buffer, so that what leaves one is found out", function()
    local dev = support.open "cpu"
    assert.equal("direct", dev:pools()[1].kind)
    local wild = dev:kernel [[extern "C" __global__ void wild(float *y, int at) { y[at] = 1; }]]
    local a, b = dev:buffer("f32", 1024, 1), dev:buffer("f32", 1024, 1)
    wild:launch({ grid = 1, block = 1 }, a, 1024)
    support.assert_error_kind("fault", function()
      a:read()
    end, "'y'", "past the end")
    assert.equal(1.0, b:read()[1])
  end)

  it("E6 has no pools to choose in checked mode, where a buffer ends at a guard page", function()
    local dev = support.open("cpu", { checked = true })
    support.assert_error_kind("argument", function()
      dev:install_pools "sub-slices"
    end, "checked")
    local wild = dev:kernel [[extern "C" __global__ void wild(float *y, int at) { y[at] = 1; }]]
    local a = dev:buffer("f32", 100, 1)
    wild:launch({ grid = 1, block = 1 }, a, 100)
    support.assert_error_kind("fault", function()
      a:read()
    end, "'y'")
  end)

  it("J4 a page costs nothing before it is used", function()
    local function resident()
      for line in io.lines "/proc/self/status" do
        local kib = line:match "^VmRSS:%s+(%d+)"
        if kib then
          return tonumber(kib) // 1024
        end
      end
    end
    local dev = support.open("cpu", { pools = { { kind = "sliced", page = 512 * MIB, slice = MIB } } })
    local before = resident()
    local x = dev:buffer("f32", 1000, 1)
    assert.equal(512 * MIB, dev:memory().reserved)
    assert.is_true(resident() - before < 64)
    assert.equal(1.0, x:read()[1])
  end)
end)
