-- D8 and C2: what a launch or a write that fails leaves behind, and what one that succeeds takes away.
local support = require "spec.support"
local work = require "spec.server.work"

local fails = support.assert_error_kind
local testing = require("luhip.core").testing

support.each_device(function(id)
  local dev, k
  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
    testing.driver_reset()
    support.defer(testing.driver_reset)
  end)

  -- A buffer that carries a failure: its first write fails.
  local function stale(n)
    local x = dev:buffer("f32", n, 1)
    dev:sync()
    testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidValue" }
    k.set:launch(work.over(n), x, n, 2)
    testing.driver_reset()
    assert.is_nil((x:check()))
    return x
  end

  it("D8 a launch that the driver refuses claims what it would have written, and nothing else", function()
    local x, y, z = dev:buffer("f32", 8, 1), dev:buffer("f32", 8, 2), dev:buffer("f32", 8, 3)
    dev:sync()
    testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidValue" }
    k.sum:launch(work.over(8), x, y, z, 8) -- does not raise
    testing.driver_reset()
    local e = fails("launch", function()
      z:read()
    end, "'sum'", "hipErrorInvalidValue")
    assert.is_nil(e.message:find("provisional", 1, true)) -- the real error, not the one in between
    assert.same({ 1, 2 }, { x:read()[8], y:read()[8] })
    k.sum:launch(work.over(8), x, y, z, 8) -- only written: a launch that succeeds makes it clean
    assert.equal(3, z:read()[8])
    assert.is_true(z:check())
  end)

  it("D8 a launch that fails before it is enqueued claims all that it writes, whatever it fails of", function()
    for _, error_name in ipairs { "hipErrorInvalidValue", "hipErrorUnknown", "hipErrorOutOfMemory" } do
      local x, y = dev:buffer("f32", 8, 1), dev:buffer("f32", 8, 2)
      dev:sync()
      testing.driver_fail { call = "hipModuleLaunchKernel", error = error_name, times = 4 }
      k.accumulate:launch(work.over(8), x, y, 8)
      testing.driver_reset()
      assert.is_true(x:check())
      local ok, e = y:check()
      assert.is_nil(ok)
      assert.truthy(tostring(e):find(error_name, 1, true))
      y:fill(5) -- writing it again repairs it
      k.accumulate:launch(work.over(8), x, y, 8)
      assert.equal(6, y:read()[1])
    end
  end)

  it("D8 memory that cannot be had claims what the launch would have written", function()
    local x, y = dev:buffer("f32", 8, 1), dev:buffer("f32", 8)
    dev:sync()
    local huge = support.beyond_memory(dev):view "f32"
    k.accumulate:launch(work.over(8), huge, y, 8)
    fails("oom", function()
      y:read()
    end)
    k.copy:launch(work.over(8), x, y, 8)
    assert.equal(1, y:read()[8])
  end)

  it("C2 a short write makes clean just the bytes that it wrote", function()
    local x = stale(16)
    x:write({ 7, 8, 9 }, 5)
    assert.same({ 7, 8, 9 }, x:read(5, 7):totable())
    for _, range in ipairs { { 1, 4 }, { 4, 5 }, { 7, 8 }, { 8, 16 }, { 1, 16 } } do
      fails("launch", function()
        x:read(range[1], range[2])
      end)
    end
    x:slice(1, 4):fill(0)
    assert.equal(7, x:read(1, 7)[5])
    x:write({ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 8)
    assert.is_true(x:check())
    assert.equal(9, x:read()[7])
  end)

  it("C2 of several writes each is a scope of its own", function()
    local a, b, c = stale(8), stale(8), stale(8)
    testing.driver_fail { call = "hipMemcpyAsync", error = "hipErrorInvalidValue", nth = 2 }
    local ok = pcall(dev.write, dev, {
      { a, { 1, 2, 3, 4, 5, 6, 7, 8 } },
      { b:slice(1, 4), { 1, 2, 3, 4 } },
      { c, { 8, 7, 6, 5, 4, 3, 2, 1 } },
    })
    local struck = testing.driver_struck()
    testing.driver_reset()
    assert.equal(struck == 0, ok)
    assert.equal(8, a:read()[8])
    assert.equal(1, c:read()[8])
    assert.is_nil((b:slice(5, 8):check())) -- nobody wrote these
    if struck > 0 then
      local _, e = b:slice(1, 4):check()
      assert.truthy(tostring(e):find("hipErrorInvalidValue", 1, true))
    else
      assert.is_true((b:slice(1, 4):check()))
    end
  end)
end)
