local expr = require "luhip.tune.expr"
local support = require "spec.support"

local P = { BX = 16, BY = 8, TK = 4, T = "float", S = 0, F = 2.5 }
local NAMES = { "BX", "BY", "TK", "T", "S", "F" }

local function eval(text)
  return expr.parse(text, NAMES):eval(P)
end

describe("expressions over parameters", function()
  it("compute as Lua and Python do", function()
    assert.equal(128, eval "BX * BY")
    assert.equal(14, eval "2 + 3 * 4")
    assert.equal(20, eval "(2 + 3) * 4")
    assert.equal(-4, eval "-2 ** 2")
    assert.equal(0.25, eval "2 ** -2")
    assert.equal(512, eval "2 ** 3 ** 2")
    assert.equal(3, eval "10 - 4 - 3")
    assert.equal(2.5, eval "10 / 4")
    assert.equal(2, eval "10 // 4")
    assert.equal(-3, eval "-5 // 2")
    assert.equal(1, eval "-5 % 2")
    assert.equal(255, eval "0xff")
    assert.equal(1500.0, eval "1.5e3")
    assert.equal(-16, eval "-BX")
  end)

  it("keep integers integers", function()
    assert.equal("integer", math.type(eval "BX * BY + 2 ** 3"))
    assert.equal("integer", math.type(eval "cdiv(BX, 3)"))
  end)

  it("compare, also in chains", function()
    assert.is_true(eval "BX * BY <= 1024")
    assert.is_true(eval "4 <= TK < BY < BX")
    assert.is_false(eval "4 < TK < BY")
    assert.is_true(eval "BX != BY")
    assert.is_true(eval "BX ~= BY")
    assert.is_true(eval "T == 'float'")
    assert.is_true(eval 'T == "float" and F == 2.5')
  end)

  it("test membership", function()
    assert.is_true(eval "BX in (8, 16)")
    assert.is_false(eval "BX in [8, 32]")
    assert.is_true(eval "T not in ('double', 'half')")
    assert.is_false(eval "BX in ()")
  end)

  it("combine conditions in three spellings, 0 being false", function()
    for _, text in ipairs { "not S and BX > 8", "!S && BX > 8", "S or BX > 8", "S || BX > 8", "not not BX" } do
      assert.is_true(expr.parse(text, NAMES):test(P), text)
    end
    assert.is_false(expr.parse("S", NAMES):test(P))
    assert.is_false(expr.parse("BX and S", NAMES):test(P))
    assert.is_false(expr.parse("nil", NAMES):test(P))
  end)

  it("short-circuit, so that a guard protects what follows", function()
    assert.is_false(eval "S ~= 0 and BX % S == 0")
    assert.is_true(eval "S == 0 or BX % S == 0")
  end)

  it("are undefined where a divisor is zero, and then not satisfied", function()
    for _, text in ipairs { "BX % S == 0", "BX // S == 0", "BX / S > 0", "cdiv(BX, S) == 1", "not (BX % S)" } do
      local ok, undefined = expr.parse(text, NAMES):test(P)
      assert.is_false(ok, text)
      assert.equal("undefined", undefined, text)
    end
  end)

  it("know their functions and no others", function()
    assert.equal(16, eval "max(BX, BY, TK)")
    assert.equal(2, eval "min(BX, 2)")
    assert.equal(3, eval "abs(-3)")
    assert.equal(2, eval "floor(F)")
    assert.equal(3, eval "ceil(F)")
    assert.equal(3, eval "cdiv(9, 4)")
    support.assert_error_kind("argument", function()
      expr.parse("os(1)", NAMES)
    end, "no function 'os'")
    support.assert_error_kind("argument", function()
      expr.parse("cdiv(1)", NAMES)
    end, "cdiv takes 2")
  end)

  it("name an unknown parameter and the nearest one", function()
    support.assert_error_kind("argument", function()
      expr.parse("blocksize_x > 1", { "block_size_x", "tile" })
    end, "blocksize_x > 1", "'blocksize_x' is no parameter", "'block_size_x'")
  end)

  it("list the parameters they use", function()
    assert.same({ "TK", "BX" }, expr.parse("TK < BX and TK > 1", NAMES).names)
  end)

  it("refuse what languages read differently", function()
    for _, text in ipairs { "not BX == 1", "!BX + 1", "not BX in (1, 2)", "BX ^ 2" } do
      support.assert_error_kind("argument", function()
        expr.parse(text, NAMES)
      end, text)
    end
  end)

  it("refuse what is no expression, with the column", function()
    local wrong = {
      [""] = "column 1",
      ["BX >"] = "column 5",
      ["BX 2"] = "unexpected '2'",
      ["(BX"] = "')' expected",
      ["BX)"] = "unexpected ')'",
      ["BX = 2"] = "unexpected '='",
      ["1x > 2"] = "'1x' is not a number",
      ["BX; os.exit()"] = "unexpected ';'",
      ["BX.y"] = "unexpected '.'",
      ["BX['y']"] = "unexpected '['",
      ["'open"] = "unexpected",
      ["BX not 3"] = "'in' expected",
      ["BX in 3"] = "a list expected",
      ["function() end"] = "no function",
    }
    for text, fragment in pairs(wrong) do
      support.assert_error_kind("argument", function()
        expr.parse(text, NAMES)
      end, fragment)
    end
  end)

  it("are shown around the place that is meant, where they are long", function()
    local parts = {}
    for i = 1, 60 do
      parts[i] = ("(BX * BY <= %d)"):format(i)
    end
    local text = table.concat(parts, " or ")
    for _, case in ipairs {
      { "BZ == 1 or " .. text, "'BZ == 1 or (BX * BY <= 1) or", " ...', column 1: 'BZ' is no parameter" },
      { text .. " or BZ == 1", "'... ", "(BX * BY <= 60) or BZ == 1', column " .. #text + 5 .. ": 'BZ' is" },
      { text:gsub("<= 30%)", "<= 3x)", 1), "'... ", "(BX * BY <= 3x) or (BX * BY <= 31)", " ...', column" },
      { ("x"):rep(300), "'xxxx", "xxx ...', column 1: 'xxx" },
    } do
      local message = support.assert_error_kind("argument", function()
        expr.parse(case[1], NAMES)
      end).message
      for i = 2, #case do
        local part = case[i]
        assert.truthy(type(part) ~= "string" or message:find(part, 1, true), message)
      end
      assert.is_true(#message:match "^expression '(.-)', column" <= 108, message)
    end
    local long = ("BX > 100 and "):rep(30) .. "BX > 100"
    local e = support.assert_error_kind("argument", function()
      require("luhip.tune").space { params = { BX = { 1, 2 } }, where = { long } }
    end, "'BX > 100 and BX > 100", " ...' removes 2")
    assert.is_true(#e.message < 220, e.message)
  end)

  it("end a nesting without end with an error", function()
    support.assert_error_kind("argument", function()
      expr.parse(("("):rep(5000) .. "1" .. (")"):rep(5000), NAMES)
    end, "nested too deeply")
    support.assert_error_kind("argument", function()
      expr.parse(("-"):rep(5000) .. "1", NAMES)
    end, "nested too deeply")
  end)

  it("name themselves when values do not fit an operator", function()
    support.assert_error_kind("type", function()
      eval "BX < T"
    end, "'BX < T'")
    support.assert_error_kind("type", function()
      eval "T * 2 == 4"
    end, "'T * 2 == 4'")
  end)
end)
