-- Several Lua states in one process, states without memory, and the memory that the collector does not see.

local core = require "luhip.core"
local support = require "spec.support"

local testing = core.testing

-- A bit of everything, on the device whose id is the argument.
local EVERYTHING = [==[
  local core = require "luhip.core"
  local dev <close> = core.open(...)
  local x = dev:buffer("f32", 4, { 1, 2, 3, 4 })
  local m = dev:from("i32", { { 1, 2, 3 }, { 4, 5, 6 } })
  local t = m:transpose():contiguous():totable()
  assert(t[3][2] == 6 and m:columns(2, 3):contiguous():totable()[2][1] == 5)
  m:astype("f64"):read():map(function(v) return v + 1 end)
  local k = dev:kernel([[
    extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] += a * x[i];
    }
  ]], "axpy", { defines = { A = 1, B = 2.5 }, access = { axpy = { y = "inout" } }, headers = { ["a.h"] = "" } })
  local y = dev:buffer("f32", 4, 1)
  k:launch({ grid = 1, block = 4, touches = { x } }, 2.0, x, y, 4)
  local run = k:bind { grid = 1, block = 4 }
  run(2.0, x, y, 4)
  local s = dev:stream()
  dev:with(s, function()
    run(2.0, x, y, 4)
    coroutine.wrap(function() run(2.0, x, y, 4) end)()
  end)
  dev:dry_run(function() run(2.0, x, y, 4) return x:read() end)
  assert(y:totable()[4] == 33)
  local ok, e = pcall(x.slice, x, 5.5)
  assert(not ok and tostring(e) and #e.failures == 0)
  ok, e = pcall(k.launch, k, { grid = 1, block = 4 }, 2.0, x, nil, 4)
  assert(not ok and tostring(e))
  dev:write { { x, { 1, 2, 3, 4 } }, { y, "0123456789abcdef" }, { m, core.array("i32", { 2, 3 }) } }
  dev:read { x, y }
  local f = x:read_async()
  f:ready() f:fd() f:wait() f:free()
  dev:staging { 10, 20 }
  dev:resource(x)
  dev:streams()
  s:wait(s)
  s:record():wait()
  dev:sync { x, y }
  x:check()
  local _ = k.params, tostring(x), x.shape, dev.max_grid, dev:memory()
]==]

support.each_device(function(id)
  it("a state that runs and ends leaves nothing behind", function()
    local dev = support.open(id)
    local before = dev:memory()
    for _ = 1, 3 do
      local r = testing.state(EVERYTHING, 0, id)
      assert.is_true(r.ok, r.message)
      assert.equal(0, r.bytes)
    end
    dev:sync()
    dev:flush()
    assert.equal(before.buffers, dev:memory().buffers)
    assert.equal(before.pinned.in_use, dev:memory().pinned.in_use)
  end)

  it("every allocation of Lua may fail: an error, no leak, no crash", function()
    local dev = support.open(id)
    -- Finalisers are for the end of the state: Lua gives up one for which it finds no memory to call it.
    local code = "collectgarbage 'stop'\n" .. EVERYTHING
    local r = testing.state(code, 0, id) -- the kernel is in the cache now
    assert.is_true(r.ok, r.message)
    collectgarbage()
    dev:sync()
    dev:flush()
    local before, charged = dev:memory(), testing.charged()
    local libraries = testing.state("", 0).allocations
    local failures, last = 0, r.allocations + 40
    local step = support.every(31)
    for n = libraries // 2, last, step do
      r = testing.state(code, n, id)
      assert.equal(0, r.bytes, n)
      if not r.ok then
        failures = failures + 1
        assert.truthy(r.message:find("not enough memory", 1, true), r.message)
      end
    end
    assert.is_true(r.ok, r.message)
    assert.is_true(failures > 100 // step)
    collectgarbage()
    dev:sync()
    dev:flush()
    local after = dev:memory()
    assert.equal(before.buffers, after.buffers)
    assert.equal(before.in_use, after.in_use)
    assert.equal(before.pinned.in_use, after.pinned.in_use)
    assert.equal(charged, testing.charged())
  end)

  it("states in threads of their own share the device", function()
    for _, r in ipairs(testing.threads(EVERYTHING, 4, id)) do
      assert.is_true(r.ok, r.message)
      assert.equal(0, r.bytes)
    end
    local dev = support.open(id)
    assert.same({ 1 }, dev:from("i32", { 1 }):totable())
  end)

  it("a state that ends does not stop the others", function()
    local dev = support.open(id)
    local x = dev:buffer("i32", 4, 1)
    local r = testing.state(
      [[
      local core = require "luhip.core"
      dev = core.open(...)
      x = dev:buffer("i32", 4, 2)
      kept = { dev:stream(), x:read_async() }
    ]],
      0,
      id
    )
    assert.is_true(r.ok, r.message)
    assert.same({ 1, 1, 1, 1 }, x:totable())
  end)

  it("a device that is collected with work pending is closed later, by an open, a close or the end", function()
    local r = testing.state(
      [[
      local core = require "luhip.core"
      for i = 1, 3 do
        local dev = core.open(...)
        local x = dev:buffer("i32", 1 << 20, 0)
        local add = dev:kernel [=[
          extern "C" __global__ void add(int *x) { for (int i = 0; i < 1000; i++) x[threadIdx.x] += 1; }
        ]=]
        for _ = 1, 20 do add(1, 64)(x) end
        dev, x, add = nil
        collectgarbage()
        collectgarbage()
      end
    ]],
      0,
      id
    )
    assert.is_true(r.ok, r.message)
  end)

  it("memory that Lua does not see is counted, and its garbage collected at the soft limit", function()
    local dev = support.open(id)
    collectgarbage()
    collectgarbage()
    local base = testing.charged()
    local x = dev:buffer("u8", 1 << 20)
    assert.equal(base + (1 << 20), testing.charged())
    x:free()
    assert.equal(base, testing.charged())
    local limit = testing.soft_limit(base + (16 << 20))
    finally(function()
      testing.soft_limit(limit)
    end)
    collectgarbage "stop"
    local most = 0
    for _ = 1, 200 do
      dev:buffer("u8", 1 << 20)
      most = math.max(most, testing.charged() - base)
    end
    collectgarbage "restart"
    assert.is_true(most <= 17 << 20, most)
    assert.equal(base + (16 << 20), testing.soft_limit())
  end)

  it("the soft limit grows when what is counted is live", function()
    local dev = support.open(id)
    collectgarbage()
    collectgarbage()
    local base = testing.charged()
    local limit = testing.soft_limit(base + (4 << 20))
    finally(function()
      testing.soft_limit(limit)
    end)
    local live = {}
    for i = 1, 20 do
      live[i] = dev:buffer("u8", 1 << 20)
    end
    assert.is_true(testing.soft_limit() >= base + (20 << 20))
    assert.equal(20, #live)
  end)
end)
