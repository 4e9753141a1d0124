-- J2: out of memory collects garbage and tries again, once; what fails then is claimed.

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local KIB = 1024

support.each_device(function(id)
  local dev, k

  before_each(function()
    dev = support.open(id, { limit = 1 << 20 })
    k = work.kernels(dev)
  end)

  -- Most of the limit is taken by buffers that nobody has any more.
  local function leave_garbage()
    for _ = 1, 3 do
      dev:buffer("u8", 256 * KIB, 0)
    end
  end

  local n = 128 * KIB -- f32: half of the limit
  local uses = {
    launch = function(x)
      k.set:launch(work.over(n), x, n, 1)
    end,
    ["bound launch"] = function(x)
      k.set:bind(work.over(n))(x, n, 1)
    end,
    fill = function(x)
      x:fill(1)
    end,
    write = function(x)
      x:write(string.pack("<f", 1):rep(n))
    end,
    ["write of a part"] = function(x)
      x:slice(n, n):write { 1 }
    end,
    copy = function(x)
      x:slice(n, n):copy(dev:buffer("f32", 1, 1))
    end,
    resource = function(x)
      dev:resource(x)
      x:slice(n, n):fill(1)
    end,
    ["launch that only reads it"] = function(x)
      local y = dev:buffer("f32", 1, 1)
      k.copy:launch({ grid = 1, block = 64 }, x, y, 1)
      y:read()
      x:slice(n, n):fill(1)
    end,
  }

  for name, use in pairs(uses) do
    it("J2 garbage makes room for a " .. name, function()
      collectgarbage()
      collectgarbage "stop"
      support.defer(function()
        collectgarbage "restart"
      end)
      local x = dev:buffer("f32", n)
      leave_garbage()
      use(x)
      assert.is_true(x:check())
      assert.equal(1.0, x:read()[n])
    end)
  end

  it("J2 a launch without memory for its output claims it when garbage was of no help, and raises nothing", function()
    local held = dev:buffer("u8", 768 * KIB, 0)
    local x, y = dev:buffer("f32", n), dev:buffer("f32", 8, 1)
    k.set:launch(work.over(n), x, n, 1)
    local e = support.assert_error_kind("oom", function()
      x:read()
    end, tostring(4 * n))
    assert.truthy(e.message:find "limit")
    assert.equal(1.0, y:read()[1])
    held:free()
    k.set:launch(work.over(n), x, n, 2)
    assert.equal(2.0, x:read()[n])
  end)

  it("J2 a read of what never had memory, and has none now, can be repeated", function()
    local held = dev:buffer("u8", 768 * KIB, 0)
    local x = dev:buffer("f32", n)
    support.assert_error_kind("oom", function()
      x:read()
    end)
    held:free()
    x:fill(3)
    assert.equal(3.0, x:read()[n])
  end)

  if testing then
    it("J2 what the driver refuses is asked for again when the cache was given back, and then reported", function()
      dev:close()
      dev = support.open(id, { pools = "direct" }) -- nothing but the cached one has its size
      dev:sync()
      dev:buffer("u8", 4096 * KIB, 0):free()
      dev:sync()
      local x = dev:buffer("f32", 700001)
      testing.driver_reset()
      testing.driver_fail { call = "hipMalloc", error = "hipErrorOutOfMemory" }
      x:fill(5)
      assert.equal(5.0, x:read()[1])
      assert.equal(1, testing.driver_struck())
      local y = dev:buffer("f32", 800001)
      testing.driver_fail { call = "hipMalloc", error = "hipErrorOutOfMemory", times = 100 }
      local e = support.assert_error_kind("oom", function()
        y:fill(1)
      end, "3200004")
      for _, word in ipairs { "in use", "cached", "limit", "f32[800001]" } do
        assert.truthy(e.message:find(word, 1, true), e.message)
      end
      testing.driver_reset()
      y:fill(6)
      assert.equal(6.0, y:read()[1])
      assert.equal(5.0, x:read()[1])
    end)
  end
end)
