local space = require "luhip.tune.space"
local support = require "spec.support"

local function texts(s)
  local list = {}
  for _, config in s:each() do
    local parts = {}
    for i, name in ipairs(s.names) do
      parts[i] = tostring(config[name])
    end
    list[#list + 1] = table.concat(parts, ",")
  end
  return list
end

local function refuse(kind, options, ...)
  support.assert_error_kind(kind, function()
    return space.new(options).count
  end, ...)
end

describe("a space", function()
  it("orders parameters by name, the last one fastest", function()
    local s = space.new { params = { Y = { 3, 1 }, X = { "a", "b" } } }
    assert.same({ "a,3", "a,1", "b,3", "b,1" }, texts(s))
    assert.equal(4, s.count)
    assert.equal(4, #s)
  end)

  it("keeps the order of a list of pairs", function()
    local s = space.new { params = { { "Y", { 1, 2 } }, { "X", { 5 } }, { "A", { true, false } } } }
    assert.same({ "Y", "X", "A" }, s.names)
    assert.same({ "1,5,true", "1,5,false", "2,5,true", "2,5,false" }, texts(s))
  end)

  it("leaves out what expressions and functions refuse", function()
    local s = space.new {
      params = { BX = { 8, 16, 32 }, BY = { 8, 16 } },
      where = {
        "BX * BY <= 256",
        function(p)
          return p.BX ~= p.BY
        end,
      },
    }
    assert.same({ "8,16", "16,8", "32,8" }, texts(s))
    assert.equal(6, s.product)
    assert.equal(3, s.count)
  end)

  it("takes a single constraint as it is", function()
    assert.equal(1, space.new({ params = { A = { 1, 2 } }, where = "A > 1" }).count)
    assert.equal(
      1,
      space.new({
        params = { A = { 1, 2 } },
        where = function(p)
          return p.A > 1
        end,
      }).count
    )
  end)

  it("gives the same configuration by position and by search", function()
    local s =
      space.new { params = { A = { 1, 2, 3 }, B = { 4, 5 }, C = { "x", "y" } }, where = "A != B - 3 or C == 'x'" }
    local n = 0
    for i, config in s:each() do
      n = n + 1
      assert.same(config, s:nth(i))
      assert.equal(i, s:index(config))
    end
    assert.equal(n, s.count)
    assert.is_nil(s:index { A = 1, B = 4, C = "y" })
    assert.is_nil(s:index { A = 9, B = 4, C = "y" })
  end)

  it("refuses positions and configurations that cannot be", function()
    local s = space.new { params = { A = { 1, 2 } } }
    support.assert_error_kind("range", function()
      s:nth(3)
    end, "1 to 2")
    support.assert_error_kind("range", function()
      s:nth(0)
    end)
    support.assert_error_kind("type", function()
      s:nth(1.5)
    end)
    support.assert_error_kind("argument", function()
      s:index {}
    end, "'A' is missing")
    support.assert_error_kind("argument", function()
      s:index { A = 1, a = 2 }
    end, "'a' is no parameter", "'A'")
  end)

  it("never builds the product: a huge one is indexed and cut down at once", function()
    local params, where = {}, {}
    for i = 1, 20 do
      params[i] = { ("P%02d"):format(i), { 0, 1, 2, 3, 4, 5, 6, 7 } }
      where[i] = ("P%02d == %d"):format(i, i % 8)
    end
    assert.equal(8 ^ 20, space.new({ params = params }).count)
    assert.equal(8, space.new({ params = params }):nth(8)["P20"] + 1)
    assert.equal(1, space.new({ params = params, where = where }).count)
  end)

  it("hands out tables that the caller may change", function()
    local s = space.new { params = { A = { 1, 2 } }, where = "A > 0" }
    for _, config in s:each() do
      config.A = 99
    end
    s:nth(1).A = 98
    assert.same({ "1", "2" }, texts(s))
  end)

  it("takes no notice of what a constraint function does to its argument", function()
    local s = space.new {
      params = { A = { 1, 2 } },
      where = {
        function(p)
          p.A = 50
          return true
        end,
        "A < 50",
      },
    }
    assert.same({ "1", "2" }, texts(s))
  end)

  it("counts a zero divisor as not satisfied, in expressions and in functions", function()
    local s = space.new {
      params = { X = { 0, 1, 2 }, Y = { 2, 3 } },
      where = {
        "Y % X == 0",
        function(p)
          return p.Y // (p.X - 1) >= 0
        end,
      },
    }
    assert.same({ "2,2" }, texts(s))
    local removals = s:removals()
    assert.equal(2, removals[1].undefined)
    assert.equal(3, removals[1].removed)
    assert.equal(2, removals[2].undefined)
    assert.equal(2, removals[2].removed)
  end)

  it("counts a zero modulus in a function as not satisfied", function()
    local s = space.new {
      params = { X = { 0, 1, 2 } },
      where = function(p)
        return 2 % p.X == 0
      end,
    }
    assert.same({ "1", "2" }, texts(s))
  end)

  it("names what is wrong with parameters", function()
    refuse("argument", { params = {} }, "at least one parameter")
    refuse("argument", { params = { BX = {} } }, "'BX' has no values")
    refuse("argument", { params = { BX = { 1, 2, 1 } } }, "'BX' has the value 1 twice")
    refuse("argument", { params = { BX = { 2, 2.0 } } }, "twice")
    refuse("argument", { params = { ["a-b"] = { 1 } } }, "'a-b' is no identifier")
    refuse("argument", { params = { BX = { 0 / 0 } } }, "'BX'")
    refuse("argument", { params = { BX = { x = 1 } } }, "'BX'")
    refuse("argument", { params = { { "A", { 1 } }, { "A", { 2 } } } }, "'A' is there twice")
    refuse("type", { params = { BX = 8 } }, "'BX'", "number")
    refuse("type", { params = { BX = { {} } } }, "'BX', value 1")
    refuse("type", { params = { BX = { 1, nil, 3 } } }, "'BX', value 2")
    refuse("type", { params = 5 }, "params")
    refuse("argument", { parms = {} }, "'parms'", "'params'")
  end)

  it("names what is wrong with constraints", function()
    refuse("argument", { params = { BX = { 1 } }, where = "BZ > 1" }, "'BZ > 1'", "'BX'")
    refuse("type", { params = { BX = { 1 } }, where = { 5 } }, "where, entry 1")
    refuse("argument", {
      params = { BX = { 1 } },
      where = function(p)
        return p.bx > 1
      end,
    }, "function #1", "'bx' is no parameter", "'BX'")
    refuse("argument", {
      params = { BX = { 1 } },
      where = function()
        error "odd"
      end,
    }, "odd")
  end)

  it("numbers the values of each parameter", function()
    local s = space.new { params = { A = { 5, 6, 7 }, B = { "x", "y" } }, where = "A != 6" }
    assert.same({ { name = "A", values = { 5, 6, 7 } }, { name = "B", values = { "x", "y" } } }, s.params)
    assert.same({ 3, 1 }, s:digits(3))
    assert.equal(3, s:index_digits { 3, 1 })
    assert.is_nil(s:index_digits { 2, 1 })
    assert.is_nil(s:index_digits { 4, 1 })
  end)

  it("draws without repeating, the same for the same seed", function()
    local s = space.new { params = { A = { 1, 2, 3, 4, 5 }, B = { 1, 2, 3 } }, where = "A != B" }
    local all = s:sample(100, 7)
    assert.equal(s.count, #all)
    table.sort(all)
    for i = 1, s.count do
      assert.equal(i, all[i])
    end
    assert.same(s:sample(5, 3), s:sample(5, 3))
    assert.not_same(s:sample(12, 3), s:sample(12, 4))
  end)

  it("knows neighbours of three kinds", function()
    local s = space.new { params = { A = { 1, 2, 3 }, B = { 1, 2, 3 } }, where = "A + B != 4" }
    local function configs(...)
      local list = {}
      for i, position in ipairs(s:neighbours(...)) do
        local c = s:nth(position)
        list[i] = c.A * 10 + c.B
      end
      return list
    end
    assert.same({ 11, 23 }, configs({ A = 2, B = 1 }))
    assert.same({ 11, 23 }, configs(s:index { A = 2, B = 1 }, "hamming"))
    assert.same({ 11, 12, 32 }, configs({ A = 2, B = 1 }, "adjacent"))
    assert.same({ 11 }, configs({ A = 2, B = 1 }, "strictly-adjacent"))
  end)
end)
