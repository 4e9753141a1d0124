local fake = require "spec.tune.fake"
local options = require "luhip.tune.options"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local support = require "spec.support"

-- A kernel y[i] = 2 * x[i] of a script's device; `change` alters what each configuration does.
local function double(_, x, y)
  for i = 1, x.count do
    y.values[i] = 2 * x.values[i]
  end
end

local PARAMS = { { name = "x", kind = "in" }, { name = "y", kind = "out" } }

local function tune(script, given, progress)
  script.params = script.params or PARAMS
  script.run = script.run or double
  local device = fake.device(script)
  local x, y = fake.buffer { 1, 2, 3 }, fake.buffer { 0, 0, 0 }
  local all = {
    device = device,
    source = "text",
    kernel = "double",
    params = { A = { 1, 2, 3, 4 } },
    grid = 1,
    block = 32,
    args = { x, y },
    expect = { y = { 2, 4, 6 } },
  }
  for key, value in pairs(given or {}) do
    if value == "none" then
      value = nil
    end
    all[key] = value
  end
  local r = result.new(runner.run(options.read(all), fake.host(device, progress)))
  return r, device, x, y
end

local function statuses(r)
  local list = {}
  for i, row in ipairs(r.rows) do
    list[i] = row.status
  end
  return list
end

describe("a tuning run", function()
  it("tries every configuration in order and keeps the fastest", function()
    local r, device = tune {
      ms = function(defines)
        return ({ ["1"] = 4, ["2"] = 2, ["3"] = 1, ["4"] = 3 })[defines.A]
      end,
    }
    assert.same({ "ok", "ok", "ok", "ok" }, statuses(r))
    assert.same({ A = 3 }, r.best.params)
    assert.equal(1.0, r.best.ms)
    assert.is_true(r.verified)
    assert.is_nil(r.stopped)
    assert.equal(4, device.compiles)
    assert.equal(4, device.freed)
    for _, row in ipairs(r.rows) do
      assert.is_true(r.best.ms <= row.ms)
      assert.is_true(#row.samples >= 3)
    end
  end)

  it("makes parameters defines, beside those that are the same for all", function()
    local seen = {}
    local r, device = tune({
      compile = function(_, given)
        seen[#seen + 1] = given.defines
      end,
    }, {
      params = { I = { 7 }, F = { 0.5, 2.0 }, B = { true, false }, S = { "float" } },
      compile = { defines = { FIXED = 1 }, flags = { "-g" } },
      name = "twice",
      access = { y = "out" },
    })
    assert.equal(4, #r.rows)
    assert.same({ I = 7, F = 0.5, B = true, S = "float", FIXED = 1 }, seen[1])
    assert.same({ I = 7, F = 2.0, B = false, S = "float", FIXED = 1 }, seen[4])
    assert.same({ "-g" }, device.last.options.flags)
    assert.equal("twice.hip", device.last.options.name)
    assert.same({ double = { y = "out" } }, device.last.options.access)
  end)

  it("passes a template's name expression, which may depend on the configuration", function()
    local _, device = tune({}, {
      params = { N = { 8 } },
      kernel = function(p)
        return ("scale<float, %d>"):format(p.N)
      end,
    })
    assert.equal("scale<float, 8>", device.last.name)
    assert.same({ "scale<float, 8>" }, device.last.options.names)
  end)

  it("takes geometry as numbers, expressions, lists and functions", function()
    local _, device = tune({}, {
      params = { A = { 4 } },
      grid = function(p)
        return { p.A, 2 }
      end,
      block = { "A * 2", 3 },
      shared = "A * 100",
    })
    assert.same({ grid = { 4, 2, 1 }, block = { 8, 3, 1 }, shared = 400 }, device.config)
  end)

  it("calls functions among the arguments with the configuration", function()
    local given = {}
    tune({
      params = { PARAMS[1], PARAMS[2], { name = "n", kind = "value" } },
      run = function(_, x, y, n)
        given[n] = true
        double(nil, x, y)
      end,
    }, {
      params = { A = { 1, 2 } },
      args = {
        fake.buffer { 1, 2, 3 },
        fake.buffer { 0, 0, 0 },
        function(p)
          return p.A * 10
        end,
      },
    })
    assert.same({ [10] = true, [20] = true }, given)
  end)

  it("makes every kind of failure a row with its status and goes on", function()
    local script = { device = { max_threads = 64 } }
    function script.compile(defines)
      if defines.A == "2" then
        error(fake.error("compile", "no such thing as 'foo'"), 0)
      elseif defines.A == "3" then
        error(fake.error("timeout", "the compiler took too long"), 0)
      end
    end
    function script.run(defines, x, y)
      if defines.A == "4" then
        y.failure = fake.error("fault", "out of bounds")
      elseif defines.A == "5" then
        y.failure = fake.error("timeout", "does not end")
      elseif defines.A == "6" then
        error(fake.error("type", "argument 1"), 0)
      elseif defines.A == "8" then
        error(fake.error("limits", "too many registers"), 0)
      elseif defines.A ~= "7" then
        double(defines, x, y)
      end
    end
    local r, device = tune(script, {
      params = { A = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
      block = function(p)
        return p.A == 9 and 65 or 32
      end,
      metrics = {
        rate = function(row)
          if row.params.A == 10 then
            return 0 / 0
          elseif row.params.A == 11 then
            error "no rate"
          end
          return 1 / row.ms
        end,
      },
      objective = "rate",
      higher = true,
    })
    assert.same({
      "ok",
      "compile",
      "timeout",
      "fault",
      "timeout",
      "launch",
      "verify",
      "limits",
      "limits",
      "objective",
      "objective",
    }, statuses(r))
    assert.same({ A = 1 }, r.best.params)
    assert.equal(10, device.compiles)
    for i = 2, 11 do
      assert.is_string(r.rows[i].error.kind)
      assert.is_true(#r.rows[i].error.message > 0)
    end
    assert.truthy(r.rows[7].error.message:find("1 is nan, not 2", 1, true))
    assert.truthy(r.rows[9].error.message:find("65 threads", 1, true))
    assert.truthy(r.rows[11].error.message:find("no rate", 1, true))
    assert.same(
      { ok = 1, compile = 1, timeout = 2, fault = 1, launch = 1, verify = 1, limits = 2, objective = 2 },
      r.counts
    )
  end)

  it("has no winner when everything fails, and says why", function()
    local r = tune {
      compile = function()
        error(require("luhip.core").error("compile", "expected ';'", { log = "double.hip:1:2: expected ';'\n" }), 0)
      end,
    }
    assert.is_nil(r.best)
    assert.same({ "compile", "compile", "compile", "compile" }, statuses(r))
    local text = tostring(r)
    assert.truthy(text:find("No configuration works", 1, true))
    assert.truthy(text:find("4 compile", 1, true))
    assert.truthy(text:find("double.hip:1:2", 1, true))
  end)

  it("writes arguments back to their first content before every candidate and at the end", function()
    local r, _, x, y = tune({
      params = { { name = "x", kind = "in" }, { name = "y", kind = "inout" } },
      run = function(defines, x, y)
        for i = 1, x.count do
          y.values[i] = y.values[i] + 2 * x.values[i]
          x.values[i] = defines.A == "1" and 0 or x.values[i]
        end
      end,
    }, {})
    assert.same({ "ok", "ok", "ok", "ok" }, statuses(r))
    assert.same({ 1, 2, 3 }, x.values)
    assert.same({ 0, 0, 0 }, y.values)
  end)

  it("times an in-place kernel on its first content each time", function()
    local seen = {}
    tune({
      params = { { name = "x", kind = "in" }, { name = "y", kind = "inout" } },
      run = function(_, x, y)
        seen[y.values[1]] = true
        for i = 1, x.count do
          y.values[i] = y.values[i] + 2 * x.values[i]
        end
      end,
    }, { measure = { warmup = 2 } })
    assert.same({ [0] = true }, seen)
  end)

  it("gives no candidate what another one left", function()
    local r = tune({
      run = function(defines, x, y)
        local first, last = 1, 2
        if defines.A == "2" then
          first, last = 3, 3
        end
        for i = first, last do
          y.values[i] = 2 * x.values[i]
        end
      end,
    }, { params = { A = { 1, 2 } } })
    assert.same({ "verify", "verify" }, statuses(r))
  end)

  it("poisons an out argument that is right before any kernel ran", function()
    local r, _, _, y = tune({
      run = function(defines, x, y)
        if defines.A == "2" then
          double(defines, x, y)
        end
      end,
    }, { params = { A = { 1, 2 } }, args = { fake.buffer { 1, 2, 3 }, fake.buffer { 2, 4, 6 } } })
    assert.same({ "verify", "ok" }, statuses(r))
    assert.same({}, r.warnings)
    assert.same({ 0, 0, 0 }, y.values)
  end)

  it("warns where an inout argument is right before any kernel ran", function()
    local r = tune({
      params = { { name = "x", kind = "in" }, { name = "y", kind = "inout" } },
    }, { params = { A = { 1, 2 } }, args = { fake.buffer { 1, 2, 3 }, fake.buffer { 2, 4, 6 } } })
    assert.equal(1, #r.warnings)
    assert.truthy(r.warnings[1]:find("'y' holds the expected values", 1, true))
    assert.truthy(tostring(r):find("Warning: 'y'", 1, true))
  end)

  it("takes expectations by position, as buffers and as functions", function()
    local function ok(expect)
      local r = tune({}, { params = { A = { 1 } }, expect = expect })
      return r.rows[1].status, r.rows[1].error and r.rows[1].error.message
    end
    assert.equal("ok", ok { [2] = { 2, 4, 6 } })
    assert.equal("ok", ok { y = fake.buffer { 2, 4, 6 } })
    assert.equal("verify", ok { y = fake.buffer { 2, 4, 7 } })
    local config
    assert.equal(
      "ok",
      ok {
        y = function(values, p)
          config = p
          return values[3] == 6
        end,
      }
    )
    assert.same({ A = 1 }, config)
    assert.equal(
      "ok",
      ok(function(arrays)
        return arrays.y[1] == 2 * arrays.x[1] and arrays[2][3] == 6
      end)
    )
    local status, message = ok(function()
      return false, "not so"
    end)
    assert.same({ "verify", "not so" }, { status, message })
    status, message = ok(function() end)
    assert.equal("verify", status)
    assert.truthy(message:find("nil", 1, true))
    assert.equal("verify", (ok(function()
      error "assertion"
    end)))
  end)

  it("NaN in the output never wins", function()
    local r = tune({
      run = function(_, x, y)
        double(nil, x, y)
        y.values[2] = 0 / 0
      end,
    }, { tolerance = 1e30 })
    assert.is_nil(r.best)
    assert.same({ "verify", "verify", "verify", "verify" }, statuses(r))
  end)

  it("raises for an expectation that no candidate can meet", function()
    support.assert_error_kind("argument", function()
      tune({}, { expect = { z = { 1 } } })
    end, "no parameter 'z'")
    support.assert_error_kind("argument", function()
      tune({}, { expect = { [3] = { 1 } } })
    end, "no argument 3")
    support.assert_error_kind("shape", function()
      tune({}, { expect = { y = { 1, 2 } } })
    end, "2 values", "3")
    support.assert_error_kind("type", function()
      tune({}, { expect = { [2] = { 1 } }, args = { fake.buffer { 1 }, 5 } })
    end, "no buffer")
  end)

  it("refuses an empty grid, which would win without running", function()
    local r = tune({}, { grid = 0, expect = "none" })
    assert.same({ "limits", "limits", "limits", "limits" }, statuses(r))
    assert.is_nil(r.best)
  end)

  it("lets no objective win that is not finite, and says which it was", function()
    for _, higher in ipairs { true, false } do
      local r = tune({}, {
        metrics = {
          g = function(row)
            return ({ math.huge, -math.huge, 0 / 0, 5.0 })[row.params.A]
          end,
        },
        objective = "g",
        higher = higher,
      })
      assert.same({ "objective", "objective", "objective", "ok" }, statuses(r))
      assert.same({ A = 4 }, r.best.params)
      for i, text in ipairs { "inf", "-inf", "nan" } do
        assert.equal(("objective 'g' is %s, not a finite number"):format(text), r.rows[i].error.message)
      end
    end
  end)

  it("says so when nothing was verified", function()
    local r = tune({}, { expect = "none" })
    assert.is_false(r.verified)
    assert.truthy(tostring(r):find("No result was verified", 1, true))
  end)

  it("honours the budget, trying one configuration at least", function()
    local r = tune({}, { budget = { configs = 2 } })
    assert.equal(2, #r.rows)
    assert.equal("configs", r.stopped)
    r = tune({}, { budget = { configs = 100 } })
    assert.equal(4, #r.rows)
    assert.is_nil(r.stopped)
    r = tune({
      ms = function()
        return 400
      end,
    }, { budget = { seconds = 1e-9 } })
    assert.equal(1, #r.rows)
    assert.equal("seconds", r.stopped)
    r = tune({
      ms = function()
        return 400
      end,
    }, { budget = { seconds = 3 } })
    assert.equal(2, #r.rows)
  end)

  it("ends with what it has when it is interrupted", function()
    local r = tune {
      run = function(defines, x, y)
        if defines.A == "3" then
          error("script.lua:1: interrupted!", 0)
        end
        double(defines, x, y)
      end,
    }
    assert.equal("interrupted", r.stopped)
    assert.equal(2, #r.rows)
    assert.is_table(r.best)
  end)

  it("ends when the device did not survive a fault", function()
    local r = tune {
      run = function(defines, _, y)
        if defines.A == "2" then
          y.failure = fake.error("poisoned", "illegal address")
        else
          double(defines, _, y)
        end
      end,
    }
    assert.equal("poisoned", r.stopped)
    assert.same({ "ok", "fault" }, statuses(r))
  end)

  it("computes metrics from the row and ranks by any of them", function()
    local r = tune({
      ms = function(defines)
        return tonumber(defines.A)
      end,
    }, {
      metrics = {
        even = function(row)
          return row.params.A % 2 == 0 and 2 or 1
        end,
        half = function(row)
          return row.ms / 2
        end,
      },
      objective = "even",
      higher = true,
    })
    assert.same({ A = 2 }, r.best.params)
    assert.equal(2, r.best.even)
    assert.equal(0.5, r.rows[1].half)
  end)

  it("warns of an objective that is the same for all", function()
    local r = tune({}, {
      metrics = {
        zero = function()
          return 0
        end,
      },
      objective = "zero",
    })
    assert.truthy(r.warnings[1]:find("'zero' is the same for all 4", 1, true))
    assert.same({ A = 1 }, r.best.params)
  end)

  it("raises when the constraints leave nothing, saying what each removes", function()
    support.assert_error_kind("argument", function()
      tune({}, { where = { "A > 2", "A < 3" } })
    end, "no valid configuration", "'A > 2' removes 2", "'A < 3' removes 2")
  end)

  it("warns of constraints that divide by zero", function()
    local r = tune({}, { params = { A = { 0, 1 } }, where = "4 % A == 0" })
    assert.equal(1, #r.rows)
    assert.truthy(r.warnings[1]:find("'4 % A == 0' divides by zero in 1", 1, true))
  end)

  it("tells progress after each row", function()
    local seen = {}
    tune({}, {}, function(run, row)
      seen[#seen + 1] = ("%d/%d %s"):format(#run.rows, run.total, row.status)
    end)
    assert.same({ "1/4 ok", "2/4 ok", "3/4 ok", "4/4 ok" }, seen)
  end)

  it("brings a buffer that an earlier failure claims back only if it is an output", function()
    local function claimed()
      local y = fake.buffer { 0, 0, 0 }
      y.failure = fake.error("fault", "earlier")
      return { fake.buffer { 1, 2, 3 }, y }
    end
    local r = tune({}, { args = claimed(), access = { y = "out" } })
    assert.same({ "ok", "ok", "ok", "ok" }, statuses(r))
    support.assert_error_kind("fault", function()
      tune({}, { args = claimed() })
    end, "earlier")
  end)
end)

describe("Kernel Tuner's conventions", function()
  local function geometry(given)
    local defines = {}
    local r, device = tune({
      compile = function(text)
        defines[#defines + 1] = text
      end,
      run = function(_, x, y)
        double(nil, x, y)
      end,
    }, given)
    return r, device.config, defines
  end

  it("make block and grid of parameters and the problem's size", function()
    local _, config, defines = geometry {
      params = { block_size_x = { 32 }, block_size_y = { 4 }, tile = { 2 } },
      grid = "none",
      block = "none",
      problem_size = { 100, 30 },
      grid_div_x = { "block_size_x", "tile" },
    }
    assert.same({ 32, 4, 1 }, config.block)
    assert.same({ 2, 8, 1 }, config.grid)
    assert.equal("2", defines[1].grid_size_x)
    assert.equal("32", defines[1].block_size_x)
    assert.equal("1", defines[1].block_size_z)
    assert.equal("1", defines[1].kernel_tuner)
  end)

  it("take numbers, expressions, functions and empty lists", function()
    local function grid(more)
      local given = { params = { block_size_x = { 8 } }, grid = "none", block = "none" }
      for key, value in pairs(more) do
        given[key] = value
      end
      local _, config = geometry(given)
      return config.grid
    end
    assert.same({ 13, 1, 1 }, grid { problem_size = 100 })
    assert.same({ 100, 1, 1 }, grid { problem_size = 100, grid_div_x = {} })
    assert.same({ 34, 7, 1 }, grid { problem_size = { 100, "block_size_x - 1" }, grid_div_x = 3 })
    assert.same(
      { 5, 1, 1 },
      grid {
        problem_size = function(p)
          return p.block_size_x * 10
        end,
        grid_div_x = function(p)
          return p.block_size_x * 2
        end,
      }
    )
  end)

  it("are refused where they say nothing or too much", function()
    for _, case in ipairs {
      { { grid = "none" }, "'grid' is missing" },
      { { problem_size = 5 }, "not beside it" },
      { { block = "none" }, "'block' is missing" },
      { { grid = "none", problem_size = {} }, "one to three" },
      { { grid = "none", problem_size = 5, grid_div_x = "Q" }, "'Q' is no parameter" },
    } do
      support.assert_error_kind("argument", function()
        tune({}, case[1])
      end, case[2])
    end
  end)
end)

describe("device limits", function()
  it("are constraints that have a name", function()
    local r = tune({}, { params = { A = { 256, 512, 2048 }, B = { 1, 4 } }, block = { "A", "B" } })
    assert.equal(3, #r.rows)
    local removed = {}
    for _, removal in ipairs(r.space:removals()) do
      removed[#removed + 1] = removal.text .. " " .. removal.removed
    end
    local text = table.concat(removed, "\n")
    assert.truthy(
      text:find("device limit: the block's number of threads, (A) * (B), is at most 1024 on fake:0", 1, true),
      text
    )
    support.assert_error_kind("argument", function()
      tune({}, { params = { A = { 2048 } }, block = "A" })
    end, "no valid configuration", "device limit", "at most 1024")
  end)
end)

describe("a run with a store", function()
  support.scope()

  it("measures nothing twice, keeps failures, and reuses rows when values are added", function()
    local path = support.temporary_directory() .. "/x.tune"
    local measured = {}
    local function run(more)
      local given = { store = path, problem = { N = 1 } }
      for key, value in pairs(more or {}) do
        given[key] = value
      end
      measured = {}
      return tune({
        compile = function(defines)
          measured[#measured + 1] = defines.A
          if defines.A == "2" then
            error(fake.error("compile", "no"), 0)
          end
        end,
      }, given)
    end
    local first = run()
    assert.same({ "1", "2", "3", "4" }, measured)
    local second = run()
    assert.same({}, measured)
    assert.same(statuses(first), statuses(second))
    assert.same(first.best.params, second.best.params)
    assert.equal("compile", second.rows[2].error.kind)
    assert.is_true(second.rows[1].reused)
    run { params = { A = { 0, 1, 2, 3, 4 } } }
    assert.same({ "0" }, measured)
    local file <close> = assert(io.open(path, "a"))
    file:write "deadbeef {"
    file:flush()
    local warnings = table.concat(run().warnings, "\n")
    assert.truthy(warnings:find(path .. ": passed over: 1 damaged line", 1, true), warnings)
    assert.same({}, measured)
    for _, more in ipairs {
      { source = "other text" },
      { problem = { N = 2 } },
      { compile = { flags = { "-g" } } },
      { resume = false },
    } do
      run(more)
      assert.equal(4, #measured)
    end
  end)

  it("begins with what was best elsewhere, where the budget will not reach everything", function()
    local path = support.temporary_directory() .. "/x.tune"
    local function ms(defines)
      return defines.A == "3" and 1 or 2
    end
    tune({ ms = ms }, { store = path, problem = { N = 1 } })
    local r = tune({ ms = ms }, { store = path, problem = { N = 2 }, budget = { configs = 1 } })
    assert.same({ A = 3 }, r.rows[1].params)
    assert.is_nil(r.rows[1].reused)
  end)

  it("computes metrics again", function()
    local path = support.temporary_directory() .. "/x.tune"
    local function run(factor)
      return tune({}, {
        store = path,
        metrics = {
          speed = function(row)
            return factor / row.ms
          end,
        },
      })
    end
    assert.equal(run(1).rows[1].speed * 3, run(3).rows[1].speed)
  end)
end)

describe("a wrong number of arguments", function()
  it("ends the run with one error", function()
    support.assert_error_kind("argument", function()
      tune({}, { args = { fake.buffer { 1 } }, expect = "none" })
    end, "'double' has 2 parameters; 'args' has 1")
  end)
end)

describe("the final", function()
  -- Three configurations whose first times mislead, and one that is slow.
  local function ms_of()
    local calls = {}
    return function(defines)
      local n = (calls[defines.A] or 0) + 1
      calls[defines.A] = n
      if defines.A == "4" then
        return 5
      end
      local early = ({ ["1"] = 1.00, ["2"] = 1.01, ["3"] = 1.02 })[defines.A] * (1 + 0.02 * (n % 3))
      local late = ({ ["1"] = 1.3, ["2"] = 1.1, ["3"] = 1.2 })[defines.A]
      return n <= 12 and early or late
    end
  end

  it("measures what the noise does not tell apart again, in turn, and picks the lowest median", function()
    local r = tune({ ms = ms_of() }, { measure = { max_samples = 10, converge = 0, rounds = 5 } })
    assert.same({ A = 2 }, r.best.params)
    assert.equal(3, #r.near)
    for _, row in ipairs(r.near) do
      assert.equal(5, #row.finals)
      assert.is_true(row.final >= r.best.final)
    end
    assert.is_nil(r.rows[4].finals)
  end)

  it("is left out without noise, or when it is not wanted", function()
    local r, device = tune {}
    assert.is_nil(r.near)
    assert.equal(4, device.compiles)
    r = tune({ ms = ms_of() }, { measure = { max_samples = 10, converge = 0, rounds = 0 } })
    assert.is_nil(r.near)
    assert.same({ A = 1 }, r.best.params)
  end)
end)

describe("tolerances by output", function()
  local function three_off(_, x, y)
    for i = 1, x.count do
      y.values[i] = 2 * x.values[i] + 0.3
    end
  end

  it("are those of the output", function()
    assert.same({ "ok", "ok", "ok", "ok" }, statuses((tune({ run = three_off }, { tolerance = { y = 0.5 } }))))
    local r = tune({ run = three_off }, { tolerance = { y = { absolute = 0.2 } } })
    assert.same({ "verify", "verify", "verify", "verify" }, statuses(r))
  end)

  it("must be of an output that is expected", function()
    support.assert_error_kind("argument", function()
      tune({}, { tolerance = { z = 1 } })
    end, "'z'")
  end)
end)

describe("an output that is only written", function()
  it("passes in no part that was not written, even where it held what is expected", function()
    local r = tune({
      run = function(_, x, y)
        y.values[1] = 2 * x.values[1]
      end,
    }, { args = { fake.buffer { 1, 2, 3 }, fake.buffer { 0, 4, 6 } } })
    assert.same({ "verify", "verify", "verify", "verify" }, statuses(r))
    assert.truthy(r.rows[1].error.message:find("2 of 3 values differ", 1, true))
  end)
end)

describe("the options of a run", function()
  local function refuse(kind, given, ...)
    support.assert_error_kind(kind, function()
      tune({}, given)
    end, ...)
  end

  it("must be known", function()
    refuse("argument", { tolerence = 1 }, "'tolerence'", "'tolerance'")
    refuse("argument", { budget = { config = 1 } }, "'config'", "'configs'")
    refuse("argument", { measure = { warm = 1 } }, "'warm'")
    refuse("argument", { compile = { define = {} } }, "'define'", "'defines'")
  end)

  it("must be there", function()
    for _, key in ipairs { "device", "source", "grid", "block", "params" } do
      refuse("argument", { [key] = "none" }, ("'%s' is missing"):format(key))
    end
    refuse("argument", { kernel = "none", access = { y = "out" } }, "'access' needs 'kernel'")
  end)

  it("default names every parameter, and no other", function()
    refuse("argument", { default = { B = 1 } }, "tune: default: 'B' is no parameter")
    refuse("argument", { default = {} }, "tune: default: parameter 'A' is missing")
    refuse("argument", { params = { A = { 1 }, B = { 1 } }, default = { A = 7 } }, "default: parameter 'B' is missing")
  end)

  it("must be of the right kind", function()
    refuse("type", { source = 5 }, "source")
    refuse("argument", { store = "postgre://u@h/b" }, "tune: store: postgre://u@h/b: 'postgre://' is no scheme")
    refuse("type", { metrics = { a = 1 } }, "'a'")
    refuse(
      "type",
      { metrics = { function() end } },
      "tune: metrics: a table of named functions expected",
      "[1] has no name"
    )
    refuse("argument", { params = {}, block = "BLOCK" }, "'BLOCK' is no parameter; there are none")
    refuse("argument", { metrics = { ms = function() end } }, "'ms'")
    refuse("argument", { objective = "gflop" }, "'gflop' is no metric")
    refuse("argument", { budget = { configs = 0 } }, "configs")
    refuse("argument", { budget = { configs = 1.5 } }, "configs")
    refuse("argument", { budget = { seconds = 0 } }, "seconds")
    refuse("argument", { measure = { min_samples = 5, max_samples = 4 } }, "min_samples")
    refuse("type", { expect = { y = 5 } }, "expect")
    refuse("argument", { expect = {} }, "expect")
    refuse("argument", { tolerance = -1 }, "tolerance")
    refuse("argument", { tolerance = 1, expect = "none" }, "tolerance without expect")
    refuse("argument", { block = {} }, "block")
    refuse("argument", { block = "C * 2" }, "'C' is no parameter")
    refuse("argument", { compile = { defines = { A = 1 } } }, "'A' is a parameter")
    refuse("argument", { args = { fake.buffer { 1 }, nil, 3 } }, "entry 2 is nil")
    refuse("type", { space = {} }, "space")
  end)

  it("strategy is a name that is known", function()
    refuse("argument", { strategy = "genetik" }, "no strategy 'genetik', did you mean 'genetic'")
    assert.equal(4, #tune({}, { strategy = "auto" }).rows)
    assert.equal(4, #tune({}, { strategy = "exhaustive" }).rows)
  end)
end)
