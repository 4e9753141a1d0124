-- Objects that a C host and a script have in common: luhip_lua_push_buffer and its like.
local core = require "luhip.core"
local support = require "spec.support"

local testing = core.testing

support.each_device(function(id)
  it("a shared buffer is the same memory, with the same claims, and lives until both have let go", function()
    collectgarbage()
    local dev = support.open(id)
    local before = dev:memory().buffers
    local y
    do
      local x = dev:buffer("i32", 8, 1)
      y = testing.share(x)
      assert.is_false(rawequal(x, y))
      y:fill(5)
      assert.same({ 5, 5, 5, 5, 5, 5, 5, 5 }, x:totable())
      assert.same({ 8 }, y.shape)
    end
    collectgarbage()
    assert.equal(5, y:read()[8])
    assert.equal(before + 1, dev:memory().buffers)
  end)

  it("a free by one is a free for both", function()
    collectgarbage()
    local dev = support.open(id)
    local before = dev:memory().buffers
    local x = dev:buffer("i32", 8, 1)
    local y = testing.share(x)
    y:free()
    support.assert_error_kind("freed", function()
      x:read()
    end)
    assert.is_nil(testing.share(x))
    assert.equal(before, dev:memory().buffers)
  end)

  it("objects of one device share one device object, which closes the device when it goes", function()
    local dev = support.open(id)
    local a, b = testing.share(dev), testing.share(dev)
    assert.is_true(rawequal(a, b))
    assert.is_true(a == dev)
    local x = testing.share(dev:buffer("i32", 4, 7))
    dev:close()
    assert.equal(7, x:read()[1]) -- the shared object is a user of the device too
    a:close()
    support.assert_error_kind("freed", function()
      x:read()
    end)
  end)

  it("anything else is nil", function()
    local dev = support.open(id)
    dev:close()
    for _, value in ipairs { dev, 1, "x", {}, core.array("f32", 2), io.stdout } do
      assert.is_nil(testing.share(value))
    end
    assert.is_nil(testing.share(nil))
  end)
end)
