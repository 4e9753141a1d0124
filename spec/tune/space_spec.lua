local core = require "luhip.core"
local space = require "luhip.tune.space"
local support = require "spec.support"
local tune = require "luhip.tune"

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
    assert.is_nil(s:index_digits { 257, 1 }) -- which is 1 in the byte that a row has for it
  end)

  it("find rows of any length, and none that is not there", function()
    for _, case in ipairs { { 3, 2 }, { 7, 2 }, { 8, 2 }, { 9, 2 }, { 11, 2 }, { 4, 300 }, { 5, 300 } } do
      local axes, wide, params, sum = case[1], case[2], {}, {}
      for k = 1, axes do
        params[k], sum[k] = { "P" .. k, tune.range(1, k == 1 and wide or 2) }, "P" .. k
      end
      local s = space.new { params = params, where = "(" .. table.concat(sum, "+") .. ") % 2 == 0" }
      assert.equal(wide * 2 ^ (axes - 2), s.count)
      for i = 1, s.count do
        local digits = s:digits(i)
        assert.equal(i, s:index_digits(digits))
        digits[axes] = 3 - digits[axes]
        assert.is_nil(s:index_digits(digits))
      end
    end
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

  it("is refused when nothing is satisfiable, with what each constraint removes", function()
    refuse("argument", {
      params = { A = { 1, 2, 3 }, B = { 1, 2 } },
      where = { "A > 1", "B % 2 == 2", "A / 0 > 1" },
    }, "no valid configuration: of 6", "'A > 1' removes 2", "'A / 0 > 1' removes 4", "divides by zero")
    refuse("argument", {
      params = { A = { 1, 2, 3 }, B = { 1, 2 } },
      where = { "A > 1", "A + B > 5" },
    }, "of 6", "'A > 1' removes 2", "'A + B > 5' removes 4")
    refuse("argument", {
      params = { A = { 1, 2 } },
      where = function(p)
        return p.A.x > 1
      end,
    }, "function #1", "removes 2", "attempt to index a number")
  end)

  it("counts a constraint that cannot be evaluated as not satisfied, with one warning", function()
    local s = space.new {
      params = { A = { 1, 2, "x" }, B = { 1, 2 } },
      where = {
        "A < 3",
        function(p)
          if p.B == 2 then
            error "no B of 2"
          end
          return true
        end,
      },
    }
    assert.same({ "1,1", "2,1" }, texts(s))
    assert.equal(2, #s.warnings)
    assert.truthy(s.warnings[1]:find("'A < 3' fails in 1 test, which counts as not", 1, true))
    assert.truthy(s.warnings[1]:find("attempt to compare string with number", 1, true))
    assert.truthy(s.warnings[2]:find("no B of 2", 1, true))
    assert.equal(1, s:removals()[2].failed)
  end)

  it("gives constraints names", function()
    local s = space.new { params = { A = { 1, 2 } }, where = { { name = "small", "A < 2" } } }
    assert.equal("small", s:removals()[1].text)
    refuse("type", { params = { A = { 1 } }, where = { { "A < 2" } } }, "where, entry 1")
  end)

  it("calls a function once for each combination of what it reads", function()
    local calls, counting = 0, false
    local s
    local function small(p)
      calls = calls + (counting and 1 or 0)
      return p.B + p.D < 5
    end
    local params = {}
    for i, name in ipairs { "A", "B", "C", "D" } do
      params[i] = { name, { 1, 2, 3, 4 } }
    end
    s = space.new { params = params, where = small }
    assert.equal(6 * 16, s.count)
    calls, counting = 0, true
    space.new { params = params, where = small }
    -- 16 combinations, besides the trials that find out what it reads
    assert.is_true(calls <= 16 + 1 + 4 * 3 + 64)
  end)

  it("enlarges a group when a function turns out to read more", function()
    local params, hidden = {}, {}
    for i = 1, 7 do
      params[i] = { ("P%02d"):format(i), { 0, 1, 2, 3 } }
      hidden[i] = "P" .. ("%02d"):format(i)
    end
    -- P01 is read for one combination of the others in thousands
    local s = space.new {
      params = params,
      where = {
        function(p)
          for i = 2, 7 do
            if p[hidden[i]] ~= i % 4 then
              return i > 4 and true or i == 2
            end
          end
          return p.P01 == 3
        end,
      },
    }
    local count = 0
    for i = 2, 7 do
      count = count + ((i > 4 or i == 2) and 3 * 4 ^ (7 - i) * 4 or 0)
    end
    assert.equal(count + 1, s.count)
    local c = {}
    for i = 2, 7 do
      c[hidden[i]] = i % 4
    end
    c.P01 = 3
    assert.truthy(s:index(c))
    c.P01 = 2
    assert.is_nil(s:index(c))
  end)

  it("lets a function go through all parameters", function()
    local s = space.new {
      params = { A = { 1, 2 }, B = { 1, 2 }, C = { 7 } },
      where = function(p)
        local sum = 0
        for _, value in pairs(p) do
          sum = sum + value
        end
        return sum == 10
      end,
    }
    assert.same({ "1,2,7", "2,1,7" }, texts(s))
  end)

  it("has the same configurations as the product filtered one by one", function()
    local state = 7
    local function random(n)
      state = state * 6364136223846793005 + 1442695040888963407
      return (state >> 33) % n + 1
    end
    local forms =
      { "%s * %s <= 9", "%s %% %s == 0", "%s + 1 != %s", "not (%s > 2 and %s > 2)", "%s < 4 or %s in (1, 3)" }
    for _ = 1, 30 do
      local params, names, where = {}, {}, {}
      for i = 1, 6 do
        names[i], params[i] = ("P%d"):format(i), { ("P%d"):format(i), {} }
        for v = 1, random(4) do
          params[i][2][v] = v
        end
      end
      for i = 1, random(4) do
        where[i] = forms[random(#forms)]:format(names[random(6)], names[random(6)])
      end
      local expected = 0
      for _, config in space.new({ params = params }):each() do
        local valid = true
        for _, w in ipairs(where) do
          valid = valid and require("luhip.tune.expr").parse(w, names):test(config)
        end
        expected = expected + (valid and 1 or 0)
      end
      local ok, s = pcall(space.new, { params = params, where = where })
      assert.equal(expected, ok and s.count or 0)
      for i = 1, ok and s.count or 0 do
        assert.equal(i, s:index(s:nth(i)))
        assert.equal(i, s:index_digits(s:digits(i)))
      end
    end
  end)

  it("has the same configurations where constraints read many parameters", function()
    local params, names = {}, {}
    for i = 1, 6 do
      names[i], params[i] = ("P%d"):format(i), { ("P%d"):format(i), { 0, 1, 2.5, 3, 4 } }
    end
    local expr = require "luhip.tune.expr"
    for _, where in ipairs {
      { "P1 * P2 + P3 * P4 <= P5 * P6 + 1" },
      { "(P1 + P2) % (P3 + P4) == 0 or P5 > P6", "P1 * P2 * P3 * P4 * P5 * P6 != 6" },
      {
        "P1 + P2 + P3 + P4 + P5 + P6 >= 12 and max(P1, P3, P5) - min(P2, P4, P6) > 1",
        "P2 == 0 or (P1 + P3 + P5) / P2 < 3",
      },
      {
        "(P1 and P2) == (P3 and P4) and (P5 or P6) <= abs(P1 - P2) + floor(P3) + ceil(P4)",
        "not (P1 > P6 and P2 > P5)",
      },
      { "P1 ** P2 - P3 // (P4 + 1) != cdiv(P5 + P6, P1 + 1) and -P2 <= P6" },
    } do
      local parsed, expected = {}, {}
      for i, w in ipairs(where) do
        parsed[i] = expr.parse(w, names)
      end
      for _, config in space.new({ params = params }):each() do
        local valid = true
        for _, w in ipairs(parsed) do
          valid = valid and w:test(config)
        end
        expected[#expected + 1] = valid and config or nil
      end
      local s = space.new { params = params, where = where }
      assert.equal(#expected, s.count, where[1])
      for i = 1, s.count, 97 do
        assert.same(expected[i], s:nth(i))
      end
    end
  end)

  it("uses rows again where a parameter is not read below it, and counts what they leave out", function()
    local s = space.new {
      params = {
        { "A", { 1, 2, 3, 4, 5, 6 } },
        { "B", { 1, 2, 3 } },
        { "C", { 1, 2, 3, 4 } },
        { "D", { 1, 2 } },
        { "E", { 1, 2, 3 } },
      },
      where = {
        "A % B == 0",
        "A * C > 3",
        function(p)
          return p.A + p.E ~= 4
        end,
      },
    }
    local expected, removed = {}, { 0, 0, 0 }
    for a = 1, 6 do
      for b = 1, 3 do
        for c = 1, 4 do
          for d = 1, 2 do
            for e = 1, 3 do
              local first = a % b ~= 0 and 1 or a * c <= 3 and 2 or a + e == 4 and 3 or nil
              if first then
                removed[first] = removed[first] + 1
              else
                expected[#expected + 1] = { A = a, B = b, C = c, D = d, E = e }
              end
            end
          end
        end
      end
    end
    local found = {}
    for i, config in s:each() do
      found[i] = config
      assert.equal(i, s:index(config))
    end
    assert.equal(#expected, #found)
    for _, config in ipairs(expected) do
      assert.truthy(s:index(config))
    end
    for i, removal in ipairs(s:removals()) do
      assert.equal(removed[i], removal.removed, removal.text)
    end
  end)

  it("is the same however often its enumeration is interrupted", function()
    local expr = require "luhip.tune.expr"
    local names, lists = { "A", "B", "C" }, { { 1, 2, 3, 4 }, { 1, 2, 3, 4 }, { 1, 2, 3 } }
    local function built(nodes)
      local engine, turns, digits = core.space(names, lists, 1000), 0, {}
      engine:expression(expr.parse("A * B + C > 6").code, { 1, 2, 3 })
      engine:asked { 2, 3 }
      repeat
        local what = engine:build(nodes, digits)
        turns = turns + 1
        if what == "ask" then
          engine:answer(digits[2] ~= digits[3])
        end
      until what == "done"
      local list = {}
      for i = 1, engine.count do
        list[i] = table.concat(engine:digits(i), ",")
      end
      return list, turns
    end
    local once, few = built(1000000)
    local often, many = built(1)
    assert.same(once, often)
    assert.is_true(many > few)
    assert.is_true(#once > 0)
  end)

  it("can be interrupted while it is enumerated", function()
    local params = {}
    for i = 1, 12 do
      params[i] = { ("P%02d"):format(i), { 1, 2, 3, 4, 5, 6, 7, 8 } }
    end
    local all = "P01 + P02 + P03 + P04 + P05 + P06 + P07 + P08 + P09 + P10 + P11 + P12 == 7"
    local co = coroutine.create(function()
      space.new { params = params, where = all, progress = false }
    end)
    debug.sethook(co, function()
      if debug.getinfo(2, "n").name == "enumerate" then
        error("interrupted!", 0)
      end
    end, "", 5)
    local ok, e = coroutine.resume(co)
    assert.is_false(ok)
    assert.equal("interrupted!", e)
  end)

  it("refuses more rows than allowed, naming what ties them together", function()
    local options = { params = { A = tune.range(1, 30), B = tune.range(1, 30) }, where = "A + B > 3", most = 100 }
    refuse("too_big", options, "100", "'A + B > 3'")
    local params = {}
    for i = 1, 70 do
      params[i] = { ("P%d"):format(i), { 1, 2 } }
    end
    refuse("too_big", { params = params }, "2^62")
  end)

  it("counts and draws from 10^12 free configurations", function()
    local params = {}
    for i = 1, 12 do
      params[i] = { ("P%02d"):format(i), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } }
    end
    local s = space.new { params = params }
    assert.equal(10 ^ 12, s.count)
    local seen, high = {}, 0
    for _, i in ipairs(s:sample(1000, 5)) do
      assert.is_nil(seen[i])
      seen[i] = true
      high = high + (i > s.count // 2 and 1 or 0)
      assert.equal(i, s:index(s:nth(i)))
    end
    assert.is_true(high > 400 and high < 600)
  end)

  it("holds digits of parameters with many values", function()
    local s =
      space.new { params = { A = tune.range(1, 70000), B = tune.range(1, 300) }, where = { "A % 700 == 0", "B > 290" } }
    assert.equal(100 * 10, s.count)
    assert.same({ A = 1400, B = 293 }, s:nth(13))
    assert.equal(13, s:index { A = 1400, B = 293 })
    assert.same({ 3, 11, 12, 14, 15, 16, 17, 18, 19, 20, 23 }, { table.unpack(s:neighbours(13), 1, 11) })
  end)

  it("refuses neighbours and samples that cannot be", function()
    local s = space.new { params = { A = { 1, 2 }, B = { 1, 2 } } }
    for _, case in ipairs {
      { "argument", "neighbours", 1, "near" },
      { "range", "neighbours", 9 },
      { "range", "neighbours", { A = 3, B = 1 } },
      { "argument", "neighbours", { A = 1 } },
      { "range", "neighbours", { 1, 7 } },
      { "type", "sample", "x" },
      { "range", "sample", -1 },
      { "type", "sample", 1, 0.5 },
    } do
      support.assert_error_kind(case[1], function()
        s[case[2]](s, case[3], case[4])
      end)
    end
    assert.same({}, s:sample(0))
  end)

  it("has an engine that refuses what is no code, no parameter and no digit", function()
    local names, lists = { "A", "B" }, { { 1, 2 }, { 1, 2, 3 } }
    local parsed = require("luhip.tune.expr").parse "A < B"
    for _, case in ipairs {
      { "argument", core.expression, {}, { n = 0 }, {} },
      { "argument", core.expression, { "const", 1, 0 }, { 5, n = 1 }, {} },
      { "argument", core.expression, { "param", 0, 0 }, { n = 0 }, {} },
      { "argument", core.expression, { "add", 0, 0 }, { n = 0 }, {} },
      { "argument", core.expression, { "nonsense", 0, 0 }, { n = 0 }, {} },
      { "argument", core.space, names, { {}, { 1 } }, 10 },
      { "range", core.space, names, lists, 0 },
    } do
      support.assert_error_kind(case[1], function()
        case[2](table.unpack(case, 3))
      end)
    end
    local engine = core.space(names, lists, 100)
    support.assert_error_kind("range", function()
      engine:expression(parsed.code, { 1, 3 })
    end)
    support.assert_error_kind("argument", function()
      engine:expression(parsed.code, { 1 })
    end)
    support.assert_error_kind("argument", function()
      engine:asked {}
    end)
    support.assert_error_kind("argument", function()
      engine:config(1)
    end, "not built")
    engine:expression(parsed.code, { 1, 2 })
    assert.equal("done", engine:build(100, {}))
    support.assert_error_kind("argument", function()
      engine:asked { 1 }
    end, "built already")
    support.assert_error_kind("range", function()
      engine:config(99)
    end)
    assert.is_nil(engine:find { 1, 9 })
    engine:free()
    support.assert_error_kind("freed", function()
      engine:find { 1, 1 }
    end)
  end)
end)
