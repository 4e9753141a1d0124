-- Memory: lazy (A4), limits, caching, figures.

local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local TIB = 1 << 40

support.each_device(function(id)
  local function figures(dev)
    local m = dev:memory()
    assert.is_true(m.in_use + m.padding <= m.reserved)
    return m
  end

  it("A4 a buffer takes no memory before it is used", function()
    local dev = support.open(id, { pools = "direct" })
    local x = dev:buffer("f32", 1000)
    assert.same({ 1, 0, 0 }, { figures(dev).buffers, figures(dev).in_use, figures(dev).reserved })
    x:fill(1)
    local m = figures(dev)
    assert.equal(4000, m.in_use)
    assert.equal(m.reserved, m.in_use + m.padding)
  end)

  -- Where memory is cut out of pages, a buffer that is larger than the device has no pool that accepts it.
  local causes = {
    direct = { "oom", "in use", "cached", "limit" },
    ["sub-slices"] = { "too_big", "no pool", "accepts it", "in all" },
  }
  local function cannot_have_memory(pools)
    local dev = support.open(id, { pools = pools })
    local kind, cause = causes[pools][1], table.pack(table.unpack(causes[pools], 2))
    local k = work.kernels(dev)
    local big, small = dev:buffer("u8", TIB), dev:buffer("f32", 1, 4)
    assert.is_true(big:check())
    support.assert_error_kind(kind, function()
      big:fill(0)
    end, tostring(TIB), table.unpack(cause))
    local ok, e = big:check()
    assert.same({ nil, kind }, { ok, e.kind })
    assert.equal(4.0, small:read()[1])
    support.assert_error_kind(kind, function()
      big:slice(1, 8):read()
    end, tostring(TIB))
    -- A launch does not raise: what it would have written carries the failure.
    local f = dev:buffer("f32", TIB // 4)
    k.copy:launch({ grid = 1, block = 1 }, f, small, 1)
    support.assert_error_kind(kind, function()
      small:read()
    end, tostring(TIB))
    small:fill(8)
    assert.equal(8.0, small:read()[1])
    dev:sync()
  end

  for pools in pairs(causes) do
    local name = "A4 a buffer that cannot have memory fails at its use, naming size and cause, and nothing else does: "
    it(name .. pools, function()
      cannot_have_memory(pools)
    end)
  end

  it("A4 what does not fit in size_t is too_big", function()
    local dev = support.open(id)
    support.assert_error_kind("too_big", function()
      dev:buffer("f64", { 1 << 40, 1 << 40 })
    end)
  end)

  it("J8 a limit holds, with what is cached released before it is hit", function()
    local dev = support.open(id, { limit = 1 << 20 })
    for round = 1, 20 do
      local x = dev:buffer("u8", 600000 + 1024 * round, round)
      assert.equal(round, x:read()[1])
      x:free()
      assert.is_true(dev:memory().reserved <= 1 << 20)
    end
    local a = dev:buffer("u8", 800000, 1)
    local b = dev:buffer("u8", 800000)
    support.assert_error_kind("oom", function()
      b:fill(1)
    end, "limit", tostring(1 << 20), "800000")
    a:free()
    b:fill(2) -- there is room now, and a write repairs
    assert.equal(2, b:read()[800000])
  end)

  it("B3 memory is used again, for the same size", function()
    local dev = support.open(id, { pools = "direct" })
    local k = work.kernels(dev)
    for i = 1, 200 do
      local x = dev:buffer("f32", 5000, i)
      k.add:launch(work.over(5000), x, 5000, 1)
      assert.equal(i + 1.0, x:read()[5000])
      x:free()
    end
    assert.is_true(dev:memory().reserved < 10 * 5000 * 4)
  end)

  it("J6 figures add up, and to zero when all is freed and cleaned", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    math.randomseed(3)
    local live, bytes = {}, 0
    for _ = 1, 300 do
      local i = math.random(20)
      if live[i] then
        bytes = bytes - live[i].bytes
        live[i]:free()
        live[i] = nil
      else
        local n = math.random(0, 3000)
        live[i] = dev:buffer("f32", n, 1)
        k.add:launch(work.over(n), live[i], n, 1)
        bytes = bytes + 4 * n
      end
      assert.equal(bytes, figures(dev).in_use)
    end
    for _, x in pairs(live) do
      x:free()
    end
    collectgarbage()
    collectgarbage()
    dev:sync()
    dev:memory_cleanup()
    local m = dev:memory()
    assert.same({ 0, 0, 0, 0 }, { m.buffers, m.in_use, m.padding, m.reserved })
    assert.same({ 0, 0 }, { m.pinned.in_use, m.pinned.reserved })
    if testing then
      local counts = testing.server_counts(dev)
      assert.same({ 0, 0 }, { counts.allocations, counts.inflight })
    end
  end)

  it("J6 cleanup touches only what is free", function()
    local dev = support.open(id, { pools = "direct" })
    local x, y = dev:buffer("f32", 1000, 1), dev:buffer("f32", 2000, 2)
    y:free()
    dev:memory_cleanup()
    assert.equal(4000, figures(dev).in_use)
    assert.equal(figures(dev).in_use + figures(dev).padding, figures(dev).reserved)
    assert.equal(1.0, x:read()[1000])
  end)

  it("J6 memory freed while its user is pending is cleaned when that has passed", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    local x = dev:buffer("f32", 1 << 16, 0)
    for _ = 1, 50 do
      k.add:launch(work.over(1 << 16), x, 1 << 16, 1)
    end
    x:free()
    dev:memory_cleanup()
    assert.equal(0, dev:memory().reserved)
  end)

  it("A4 fails with the figures of the moment, again and again, and changes none", function()
    local dev = support.open(id)
    local keep = dev:buffer("f32", 1000, 1)
    local before = dev:memory()
    for _ = 1, 10 do
      local big = dev:buffer("u8", TIB)
      assert.is_false(pcall(big.fill, big, 0))
      big:free()
    end
    local after = dev:memory()
    assert.same({ before.buffers, before.in_use, before.reserved }, { after.buffers, after.in_use, after.reserved })
    assert.equal(1.0, keep:read()[1])
    if testing then
      assert.equal(0, testing.server_counts(dev).failures)
    end
  end)

  it("K4 a module goes with its last kernel, when that has run", function()
    local dev = support.open(id)
    if not testing then
      return
    end
    local x = dev:buffer("f32", 64, 0)
    local function launch()
      local add = work.kernels(dev).add
      collectgarbage()
      collectgarbage()
      assert.equal(1, testing.server_counts(dev).programs)
      add:launch({ grid = 1, block = 64 }, x, 64, 2)
    end
    launch()
    collectgarbage()
    collectgarbage()
    assert.equal(2.0, x:read()[64])
    dev:sync()
    dev:flush()
    assert.equal(0, testing.server_counts(dev).programs)
  end)

  it("K4 a module global is a buffer, the same each time, and keeps its module", function()
    local dev = support.open(id)
    local program = dev:compile([[
      __device__ int table[4] = { 1, 2, 3, 4 };
      __constant__ float factor = 2.5f;
      extern "C" __global__ void look(LUHIP_OUT int *out) { out[threadIdx.x] = table[threadIdx.x] * (int)(factor * 2); }
    ]])
    local table_, again = program:global("table", "i32"), program:global("table", "i32")
    local look = program:kernel "look"
    local out = dev:buffer("i32", 4, 0)
    assert.same({ 1, 2, 3, 4 }, table_:read():totable())
    table_:write { 10, 20, 30, 40 }
    look:launch({ grid = 1, block = 4, touches = { again } }, out)
    assert.same({ 50, 100, 150, 200 }, out:read():totable())
    program:global("factor", "f32"):write { 0.5 }
    look:launch({ grid = 1, block = 4 }, out)
    assert.same({ 10, 20, 30, 40 }, out:read():totable())
    support.assert_error_kind("not_found", function()
      program:global "nothing"
    end, "nothing")
    support.assert_error_kind("shape", function()
      program:global("factor", "f64")
    end)
    local before = dev:memory().buffers
    again:free()
    assert.equal(before, dev:memory().buffers)
    assert.same({ 10, 20, 30, 40 }, table_:read():totable())
  end)

  it("K4 a buffer on a module global keeps the module", function()
    local dev = support.open(id)
    local function global()
      return dev:compile("__device__ int table[2] = { 5, 6 };"):global("table", "i32")
    end
    local table_ = global()
    collectgarbage()
    collectgarbage()
    assert.same({ 5, 6 }, table_:read():totable())
    table_:write { 7, 8 }
    table_:free()
    dev:sync()
  end)
end)

describe("memory of a device that is never used", function()
  it("is none", function()
    local dev = luhip.open "cpu"
    assert.equal(0, dev:memory().reserved)
    dev:close()
  end)
end)
