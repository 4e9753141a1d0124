local core = require "luhip.core"
local support = require "spec.support"

local function refuse(text, ...)
  support.assert_error_kind("argument", function()
    core.json(text)
  end, ...)
end

describe("core.json", function()
  it("reads every kind of value", function()
    local value =
      core.json [[ {"a": [1, -2, 3.5, 1e3, true, false, null], "b": {"c": "x"}, "n": null, "e": {}, "l": []} ]]
    assert.same({ a = { 1, -2, 3.5, 1000.0, true, false, core.null }, b = { c = "x" }, e = {}, l = {} }, value)
    assert.equal("integer", math.type(value.a[1]))
    assert.equal("float", math.type(value.a[4]))
  end)

  it("reads numbers as Lua does", function()
    local state = 1
    local texts = {
      "0",
      "-0.0",
      "9223372036854775807",
      "9223372036854775808",
      "1e400",
      "0.1",
      "123456789012345678901234567890",
      "0.30000000000000004",
      "5e-324",
      "1.7976931348623157e308",
      "9007199254740993.0",
      "0.000001",
      "1E+2",
    }
    for i = 1, 3000 do
      state = state * 6364136223846793005 + 1442695040888963407
      local digits = ("%019d"):format(state >> 4 & 0x7fffffffffffffff):sub(1, state >> 60)
      texts[#texts + 1] = #digits > 1 and (i % 7 .. "." .. digits) or ("%d.%d"):format(i, i * i)
    end
    for _, text in ipairs(texts) do
      assert.equal(("%.17g"):format(tonumber(text)), ("%.17g"):format(core.json(text)), text)
    end
  end)

  it("reads strings with escapes", function()
    assert.equal('a"\\/\b\f\n\r\tz', core.json [["a\"\\\/\b\f\n\r\tz"]])
    assert.equal("\u{e9}\u{20ac}\u{1f600}", core.json [["\u00e9\u20AC\ud83d\ude00"]])
    assert.equal("\u{fffd}x", core.json [["\ud83dx"]])
    assert.equal("", core.json '""')
  end)

  it("reads what Python writes for what JSON has not", function()
    local list = core.json "[NaN, Infinity, -Infinity]"
    assert.is_true(list[1] ~= list[1])
    assert.same({ math.huge, -math.huge }, { list[2], list[3] })
  end)

  it("names where the text is wrong", function()
    refuse("", "ends too early")
    refuse("[1,\n 2,\n x]", "line 3, column 2")
    refuse("[1 2]", "',' or ']' expected")
    refuse("{1: 2}", "a name in quotes")
    refuse('{"a" 2}', "':' expected")
    refuse("[1] 2", "more text")
    refuse('"\\q"', "no such escape")
    refuse('"\\u12"', "four hexadecimal")
    refuse('["a', "ends too early")
    refuse("[1.2e]", "no value")
    refuse(("["):rep(300), "nested too deeply")
  end)

  it("keeps what is complete of a text that ends too early", function()
    local whole = '{"name": "x", "cache": {"a": {"time": 1.25, "times": [1, 2]}, "b": {"time": 22, "note": "y\\"z"}'
    for length = 1, #whole do
      local value, cut = core.json(whole:sub(1, length), 2)
      assert.is_true(cut)
      for key, record in pairs(value.cache or {}) do
        assert.same(key == "a" and { time = 1.25, times = { 1, 2 } } or { time = 22, note = 'y"z' }, record)
      end
    end
    assert.same(
      { a = { time = 1.25, times = { 1, 2 } }, b = { time = 22, note = 'y"z' } },
      core.json(whole .. ",", 2).cache
    )
    local _, cut = core.json(whole .. "}}", 2)
    assert.is_false(cut)
    assert.same({ { 1 }, { 2 } }, (core.json("[[1], [2], [3", 1)))
  end)
end)
