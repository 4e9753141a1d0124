-- E. Claims, as reads, checks and syncs meet them; faults of kernels; and all of it against a model.

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local N = 64
local FAR = 1 << 40 -- elements: no buffer is that far

support.each_device(function(id)
  if not id:match "^cpu" then
    return -- a fault is the end of a process or a context there
  end
  local dev, k

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
  end)

  local function over(kernel, ...)
    kernel:launch(work.over(N), ...)
  end

  local function kinds(e)
    local list = {}
    for i, failure in ipairs(e.failures) do
      list[i] = failure.kind
    end
    return list
  end

  it("E6 a fault claims what its launch writes, and the device goes on", function()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2)
    over(k.wild, x, N, FAR)
    local e = support.assert_error_kind("fault", function()
      x:read()
    end, "'wild'", "block (0,0,0)")
    assert.same({ "fault" }, kinds(e))
    assert.equal(2.0, y:read()[1])
    over(k.add, y, N, 1)
    assert.equal(3.0, y:read()[1])
    over(k.set, x, N, 4)
    assert.equal(4.0, x:read()[1])
  end)

  it("E6 names the kernel, the buffer by its parameter, and how far beside it", function()
    dev:close()
    dev = support.open(id, { checked = true })
    k = work.kernels(dev)
    local x = dev:buffer("f32", 1000, 1)
    k.wild:launch({ grid = 1, block = 1 }, x, 1, 1003)
    local e = support.assert_error_kind("fault", function()
      x:read()
    end, "kernel 'wild' wrote 12 bytes past the end of 'x' (argument 1, f32[1000], 4000 bytes)", "block (0,0,0)")
    assert.is_truthy(e)
    x:fill(1)
    k.wild:launch({ grid = 1, block = 1 }, x, 1, -64) -- the start need not lie at the guard page itself
    support.assert_error_kind("fault", function()
      x:read()
    end, "256 bytes before the start of 'x'")
    x:fill(1)
    k.wild:launch({ grid = 1, block = 1 }, x, 1, 1000)
    support.assert_error_kind("fault", function()
      x:read()
    end, "just past the end of 'x'")
    k.wild:launch({ grid = 1, block = 1 }, x:slice(1, 500), 1, 1001)
    support.assert_error_kind("fault", function()
      x:slice(1, 500):read()
    end, "4 bytes past the end of 'x'", "a view of f32[1000]")
    x:fill(1)
    assert.equal(1.0, x:read()[1000])
  end)

  it("E6 a fault is met by a read that was under way, also by one of something derived", function()
    local gate = work.gate(dev, k)
    local x, y, z = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2), dev:buffer("f32", N, 3)
    gate:close(x)
    over(k.wild, x, N, FAR)
    over(k.copy, x, y, N)
    local stale, clean = y:read_async(), z:read_async()
    over(k.set, y, N, 9) -- later, and good again
    local repaired = y:read_async()
    gate:open()
    support.assert_error_kind("fault", function()
      stale:wait()
    end, "'wild'")
    support.assert_error_kind("fault", function()
      stale:wait() -- the same again
    end, "'wild'")
    assert.equal(3.0, clean:wait()[1])
    assert.equal(9.0, repaired:wait()[1])
    assert.is_true(y:check())
    assert.is_nil((x:check()))
  end)

  it("E6 a late fault reaches through buffers that were freed meanwhile", function()
    local gate = work.gate(dev, k)
    local x, t, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2), dev:buffer("f32", N, 3)
    gate:close(x)
    over(k.wild, x, N, FAR)
    over(k.copy, x, t, N)
    over(k.copy, t, y, N)
    x:free()
    t:free()
    local u = dev:buffer("f32", N, 5) -- where one of them lay, perhaps
    gate:open()
    dev:sync()
    local _, e = y:check()
    assert.equal("fault", e.kind)
    assert.equal(5.0, u:read()[1])
    y:fill(1)
    if testing then
      dev:flush()
      assert.equal(0, testing.server_counts(dev).failures)
    end
  end)

  it("E2 a fault claims the bytes of the view, not of the buffer", function()
    local x = dev:buffer("f32", 4 * N, 1)
    local middle = x:slice(N + 1, 2 * N)
    over(k.wild, middle, N, FAR)
    dev:sync()
    assert.is_nil((x:check()))
    assert.is_nil((middle:check()))
    assert.equal(1.0, x:slice(1, N):read()[N])
    assert.equal(1.0, x:slice(2 * N + 1, 4 * N):read()[1])
    middle:slice(1, N // 2):fill(6)
    assert.equal(6.0, middle:slice(1, N // 2):read()[1])
    assert.is_nil((middle:check()))
    middle:slice(N // 2 + 1, N):fill(7)
    assert.is_true(x:check())
    assert.equal(7.0, x:read()[2 * N])
  end)

  it("E3 is not released by reading, checking, syncing, flushing or reporting", function()
    local x = dev:buffer("f32", N, 1)
    over(k.wild, x, N, FAR)
    dev:sync()
    for _ = 1, 3 do
      assert.is_false(pcall(x.read, x))
      assert.is_nil((x:check()))
      assert.is_nil((dev:check { x }))
      support.assert_error_kind("fault", function()
        dev:sync { x }
      end)
      dev:sync()
      dev:flush()
      assert.is_true(#tostring(x) > 0)
    end
  end)

  it("E3 is released by a write, a fill, a copy, and a launch over the range", function()
    local good = dev:buffer("f32", N, 8)
    for _, repair in ipairs {
      function(x)
        x:write(("\0"):rep(4 * N))
      end,
      function(x)
        x:fill(1)
      end,
      function(x)
        x:copy(good)
      end,
      function(x)
        over(k.copy, good, x, N)
      end,
    } do
      local x = dev:buffer("f32", N, 1)
      over(k.wild, x, N, FAR)
      dev:sync()
      assert.is_nil((x:check()))
      repair(x)
      assert.is_true(x:check())
      x:read()
    end
  end)

  it("E1 a failure lives as long as a buffer carries it", function()
    if not testing then
      return
    end
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    over(k.wild, x, N, FAR)
    dev:sync()
    over(k.copy, x, y, N)
    assert.equal(1, testing.server_counts(dev).failures)
    x:free()
    local _, e = y:check()
    assert.equal("fault", e.kind)
    assert.equal(1, testing.server_counts(dev).failures)
    y:fill(0)
    dev:sync()
    assert.equal(0, testing.server_counts(dev).failures)
  end)

  it("E2 failing in a loop grows nothing", function()
    if not testing then
      return
    end
    local x, y, z = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    for _ = 1, 30 do
      over(k.wild, x, N, FAR)
      over(k.wild, y, N, FAR)
      dev:sync()
      for _ = 1, 5 do
        over(k.sum, x, y, z, N)
      end
    end
    dev:sync()
    -- x's, y's, and that z has both
    assert.equal(3, testing.server_counts(dev).failures)
    assert.equal(0, testing.server_counts(dev).inflight)
  end)

  it("E4 chains that share no buffer do not meet, whatever streams they use", function()
    local a, b = dev:stream(), dev:stream()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    local u, v = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    for round = 1, 20 do
      dev:with(round % 2 == 0 and a or b, function()
        over(k.wild, x, N, FAR)
        over(k.accumulate, x, y, N)
        over(k.accumulate, u, v, N)
      end)
    end
    assert.equal(21.0, v:read()[1])
    assert.is_nil((y:check()))
    assert.is_true(u:check())
  end)

  it("E5 lists each failure once, with how many carry it and the launches in between", function()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    local z, w = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    over(k.wild, x, N, FAR)
    dev:sync()
    over(k.copy, x, y, N)
    over(k.copy, y, z, N)
    over(k.accumulate, x, w, N)
    local e = support.assert_error_kind("fault", function()
      dev:read { z, z, y }
    end, "carried by 4 buffers", "'wild'")
    assert.equal(1, #e.failures)
    local _, chain = z:check()
    local text, skipped = tostring(chain), 0
    for _ in text:gmatch "was skipped" do
      skipped = skipped + 1
    end
    assert.equal(2, skipped) -- not the one that leads to w
    assert.is_nil(text:find("'accumulate'", 1, true))
  end)

  it("E7 check is the claim test alone; sync with buffers tests before and after it waits", function()
    local gate = work.gate(dev, k)
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    gate:close(x)
    over(k.wild, x, N, FAR)
    assert.is_true(dev:check { x, y }) -- it has not happened yet
    gate:open()
    support.assert_error_kind("fault", function()
      dev:sync { y, x }
    end)
    assert.is_nil((dev:check { x, y }))
    dev:sync { y }
    support.assert_error_kind("fault", function()
      dev:resource(x)
    end)
    assert.is_true(dev:resource(y).pointer ~= 0)
  end)

  -- Everything is enqueued behind a gate, so that all faults are late; then claims must be what they would be had
  -- every operation been known to fail when it was made. Bytes are counted in units of a quarter buffer.
  it("E6 late faults leave the same claims as a model that knew them at once", function()
    math.randomseed(11)
    local quarter = N // 4
    for round = 1, 25 do
      local gate = work.gate(dev, k)
      local streams, buffers, model, sources = {}, {}, {}, {}
      for i = 1, 3 do
        streams[i] = dev:stream()
      end
      for i = 1, 4 do
        buffers[i], model[i] = dev:buffer("f32", N, i), { {}, {}, {}, {} }
      end
      -- What faults writes through a buffer that is nothing but written, so that it never reads what is stale.
      for i = 1, 4 do
        dev:with(streams[i % 3 + 1], function()
          gate:close(buffers[i])
        end)
      end
      local faults = 0
      local function merge(into, from)
        for name in pairs(from) do
          into[name] = true
        end
      end
      for _ = 1, 30 do
        local a, b = math.random(4), math.random(4)
        local first = math.random(4)
        local last = math.random(first, 4)
        local function part(i)
          return buffers[i]:slice((first - 1) * quarter + 1, last * quarter)
        end
        local n = (last - first + 1) * quarter
        dev:with(streams[math.random(3)], function()
          local what = math.random(6)
          if what == 1 then
            faults = faults + 1
            k.wild:launch({ grid = 1, block = 64 }, part(a), n, FAR + faults * 1000)
            for q = first, last do
              model[a][q] = { [faults] = true }
            end
          elseif what == 2 then
            part(a):fill(1)
            for q = first, last do
              model[a][q] = {}
            end
          elseif what == 3 and a ~= b then
            part(a):copy(part(b))
            local all = {}
            for q = first, last do
              merge(all, model[b][q])
            end
            for q = first, last do
              model[a][q] = all
            end
          elseif what == 4 and a ~= b then
            k.copy:launch(work.over(n), part(a), part(b), n)
            local all = {}
            for q = first, last do
              merge(all, model[a][q])
            end
            for q = first, last do
              model[b][q] = all
            end
          elseif what == 5 and a ~= b then
            k.accumulate:launch(work.over(n), part(a), part(b), n)
            local all = {}
            for q = first, last do
              merge(all, model[a][q])
              merge(all, model[b][q])
            end
            for q = first, last do
              model[b][q] = all
            end
          elseif what == 6 then
            sources[#sources + 1] = { future = part(a):read_async(), expected = {} }
            for q = first, last do
              merge(sources[#sources].expected, model[a][q])
            end
          end
        end)
      end
      gate:open()
      dev:sync()
      local function count(set)
        local n = 0
        for _ in pairs(set) do
          n = n + 1
        end
        return n
      end
      for i = 1, 4 do
        for q = 1, 4 do
          local ok, e = buffers[i]:slice((q - 1) * quarter + 1, q * quarter):check()
          assert.same({ round, i, q, count(model[i][q]) }, { round, i, q, ok and 0 or #e.failures })
        end
      end
      for i, source in ipairs(sources) do
        local ok, e = pcall(source.future.wait, source.future)
        assert.same({ round, i, count(source.expected) }, { round, i, ok and 0 or #e.failures })
      end
      for i = 1, 4 do
        buffers[i]:free()
      end
      for i = 1, 3 do
        streams[i]:free()
      end
    end
    if testing then
      collectgarbage()
      dev:sync()
      assert.same({ 0, 0 }, { testing.server_counts(dev).failures, testing.server_counts(dev).inflight })
    end
  end)
end)
