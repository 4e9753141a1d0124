local support = require "spec.support"
local t1 = require "luhip.tune.t1"
local tune = require "luhip.tune"

support.scope()

local function space_of(values, conditions)
  local list = {}
  for i, value in ipairs(values) do
    list[i] = { Name = ("P%d"):format(i), Type = "int", Values = value }
  end
  return t1.space { ConfigurationSpace = { TuningParameters = list, Conditions = conditions } }
end

describe("T1 problems", function()
  it("have their values as lists of Python", function()
    local cases = {
      ["[1, 2, 4]"] = { 1, 2, 4 },
      ["[0.5, 1.0]"] = { 0.5, 1.0 },
      ["['a, b', \"c]\"]"] = { "a, b", "c]" },
      ["[True, False]"] = { true, false },
      ["[2**i for i in range(6)]"] = { 1, 2, 4, 8, 16, 32 },
      ["[i for i in range(1, 10+1, 3)]"] = { 1, 4, 7, 10 },
      ["[128+64*i for i in range(3)]"] = { 128, 192, 256 },
      ["[i for i in range(10) if i % 3 == 0]"] = { 0, 3, 6, 9 },
      ["[1, 2] + list(range(32, 65, 32))"] = { 1, 2, 32, 64 },
      ["[1] + [2 * i for i in range(1, 4)]"] = { 1, 2, 4, 6 },
      ["range(3, 0, -1)"] = { 3, 2, 1 },
      ["(7,)"] = { 7 },
    }
    for text, expected in pairs(cases) do
      assert.same(expected, space_of({ text }):values "P1", text)
    end
    assert.same({ 3, 5 }, space_of({ { 3, 5, 3 } }):values "P1")
  end)

  it("have conditions of Python", function()
    local s = space_of(
      { "[1, 2, 3]", "[1, 2, 3]" },
      { { Expression = "not (P1 == 1 and P2 != 1) and 2 <= P1 * P2 < 6" } }
    )
    assert.equal(3, s.count)
  end)

  it("name the parameter or the condition that cannot be read", function()
    for values, fragment in pairs {
      ["[os.exit()]"] = "unexpected '.'",
      ["5"] = "'5' is no list",
      ["[i for i in range(0, 5, 0)]"] = "no range",
      ["[x for i in range(3)]"] = "'x' is no parameter",
      ["[1/0]"] = "divides by zero",
    } do
      support.assert_error_kind("argument", function()
        space_of { values }
      end, "parameter 'P1'", fragment)
    end
    support.assert_error_kind("argument", function()
      space_of({ "[1]" }, { { Parameters = { "P1" } } })
    end, "Conditions, entry 1")
  end)

  it("are loaded from files", function()
    local path = support.temporary_directory() .. "/t1.json"
    local file = assert(io.open(path, "w"))
    file:write [[{"ConfigurationSpace": {"TuningParameters": [{"Name": "A", "Type": "int", "Values": "[1, 2]"}]},
      "KernelSpecification": {"KernelName": "k"}}]]
    file:close()
    local s, problem = tune.load_t1(path)
    assert.equal(2, s.count)
    assert.equal("k", problem.KernelSpecification.KernelName)
    support.assert_error_kind("file", function()
      tune.load_t1 "/nowhere/x.json"
    end, "/nowhere/x.json")
    file = assert(io.open(path, "w"))
    file:write "{"
    file:close()
    support.assert_error_kind("argument", function()
      tune.load_t1(path)
    end, path, "line 1")
  end)
end)
