-- Values that go to another process and come back as what they were.
local core = require "luhip.core"
local luhip = require "luhip"
local support = require "spec.support"
local wire = require "luhip.tune.wire"

local function there(value)
  return wire.decode(wire.encode(value))
end

describe("a value for another process", function()
  support.scope()

  it("is the same there: numbers exactly and of their type, texts with any byte", function()
    for _, value in ipairs { 0, -1, math.maxinteger, math.mininteger, 0.1, 1.0, -1e300, math.huge, true, false } do
      assert.equal(value, there(value))
      assert.equal(math.type(value), math.type(there(value)))
    end
    assert.is_nil(there(nil))
    local nan, zero = there(0 / 0), there(-0.0)
    assert.is_true(nan ~= nan and 1 / zero == -math.huge)
    for _, value in ipairs { "", "a\0b\r\n\255", ("x"):rep(100000) } do
      assert.is_true(value == there(value))
    end
    assert.equal(luhip.null, there(luhip.null))
  end)

  it("is a table with all its keys", function()
    local holes = { 1, nil, 3 }
    for _, value in ipairs {
      {},
      { 1, 2, { "x" } },
      { a = { b = { true } } },
      { 1, 2, n = 5, [10] = 1 },
      { [0] = 1 },
      holes,
    } do
      assert.same(value, there(value))
    end
  end)

  it("is a host array, a layout, or what was read of structs", function()
    local array = there(core.array("f16", { 2, 3 }, { 1, 2, 3, 4, 5, 6 }))
    assert.same({ "f16", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } } }, { array.dtype, array.shape, array:totable() })
    local inner = luhip.struct("inner", { { "v", "float4" } })
    local layout = luhip.struct("outer", { { "id", "i32" }, { "in_", inner, 2 }, { "m", "f64", { 2, 2 } } })
    assert.equal(tostring(layout), tostring(there(layout)))
    local dev = support.open "cpu:0"
    local P = luhip.struct("P", { { "a", "f32" }, { "b", "i32" } })
    local read = there(dev:from(P, { { a = 1, b = 2 }, { a = 3, b = 4 } }):read())
    assert.equal(4, read[2].b)
    assert.same({ 2 }, read.shape)
  end)

  it("that cannot be moved is refused by name", function()
    local dev = support.open "cpu:0"
    support.assert_error_kind("type", function()
      wire.encode { { print } }
    end, "a function cannot be moved to another process")
    support.assert_error_kind("type", function()
      wire.encode(dev:buffer("f32", 1))
    end, "a luhip.buffer cannot be moved")
    support.assert_error_kind("type", function()
      wire.encode(setmetatable({}, {}))
    end, "with a metatable")
    support.assert_error_kind("argument", function()
      wire.decode "?"
    end, "byte 1")
  end)
end)
