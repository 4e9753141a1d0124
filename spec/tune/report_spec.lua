local fake = require "spec.tune.fake"
local options = require "luhip.tune.options"
local report = require "luhip.tune.report"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local support = require "spec.support"

-- A stream that keeps what is written.
local function stream()
  local text = {}
  return {
    write = function(_, ...)
      for _, part in ipairs { ... } do
        text[#text + 1] = part
      end
    end,
    flush = function() end,
  }, function()
    local all = table.concat(text)
    text = {}
    return all
  end
end

local function run(given, progress)
  local device = fake.device {
    run = function() end,
    ms = function(defines)
      return tonumber(defines.A) * 0.125
    end,
    compile = function(defines)
      if defines.A == "3" then
        error(fake.error("compile", "expected ';'"), 0)
      end
    end,
  }
  local all = {
    name = "job",
    device = device,
    source = "text",
    params = { A = { 2, 3, 1 }, T = { "float" } },
    grid = 1,
    block = 1,
  }
  for key, value in pairs(given or {}) do
    all[key] = value
  end
  return runner.run(options.read(all), fake.host(device, progress))
end

describe("the progress line", function()
  it("shows how far it is, the best so far and failures, in one line that is redrawn", function()
    local out, taken = stream()
    local draw, clear = report.progress(out, 80)
    local lines = {}
    run({}, function(state, row)
      draw(state, row)
      lines[#lines + 1] = taken():gsub("[%d.]+/s", "N/s")
    end)
    assert.same({
      "\rjob: 1/3, N/s, 0 s left, best 0.25 ms (A=2 T=float)\27[K",
      "\rjob: 2/3, N/s, 0 s left, best 0.25 ms (A=2 T=float), 1 failed\27[K",
      "\rjob: 3/3, N/s, 0 s left, best 0.125 ms (A=1 T=float), 1 failed\27[K",
    }, lines)
    clear()
    assert.equal("\r\27[K", taken())
  end)

  it("says how fast it goes and how long it takes, by the configurations or by the time that is left", function()
    local out, taken = stream()
    local draw = report.progress(out, 200)
    local now = 10
    local state = {
      rows = { { status = "ok" }, { status = "ok" } },
      total = 1002,
      started = 0,
      host = {
        clock = function()
          return now
        end,
      },
      plan = { name = "job", budget = {}, objective = "ms", space = { names = {} } },
    }
    local function text()
      draw(state)
      return taken():match "^\r(.*)\27%[K$"
    end
    assert.equal("job: 2/1002, 0.2/s, 1 h 23 min left", text())
    state.plan.budget.configs = 20
    assert.equal("job: 2/20, 0.2/s, 1 min 30 s left", text())
    state.plan.budget.seconds = 25
    assert.equal("job: 2/20, 0.2/s, 15 s left", text())
    state.session = { reused = 1 } -- what came out of the store took no time
    assert.equal("job: 2/20, 0.1/s, 15 s left", text())
    state.total, state.plan.budget = nil, {}
    assert.equal("job: 2, 0.1/s", text())
    now = 0
    assert.equal("job: 2", text())
  end)

  it("fits the terminal", function()
    local out, taken = stream()
    local draw = report.progress(out, 20)
    run({ params = { A = { 1 } } }, draw)
    assert.truthy(taken():find "^\rjob: 1/1, [%d.]+/s?,?...\27%[K$")
  end)

  it("counts to the budget, and to nothing when nothing is known", function()
    local out, taken = stream()
    local draw, clear = report.progress(out)
    run({ budget = { configs = 1 } }, draw)
    assert.truthy(taken():find("1/1,", 1, true))
    clear()
    local unused, nothing = stream()
    select(2, report.progress(unused))()
    assert.equal("", nothing())
  end)
end)

describe("the report", function()
  it("ranks what works and lists failures by reason", function()
    local text = tostring(result.new(run {
      metrics = {
        rate = function(row)
          return 1 / row.ms
        end,
      },
    }))
    local lines = {}
    for line in text:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    assert.same({
      "job on fake:0: 3 configurations in 0.0 s, 2 ok",
      "  A  T        ms*  rate",
      "  1  float  0.125     8",
      "  2  float   0.25     4",
      "No result was verified: no 'expect' was given",
      "1 compile (does not compile), for example A=3 T=float:",
      "  expected ';'",
    }, lines)
  end)

  it("says what stopped the run", function()
    local text = tostring(result.new(run { budget = { configs = 2 } }))
    assert.truthy(text:find("job on fake:0: 2 of 3 configurations", 1, true), text)
    assert.truthy(text:find("stopped: the budget of configurations is used up", 1, true), text)
  end)

  it("counts configurations as good as the best", function()
    local text = tostring(result.new(run { params = { A = { 100, 100.5, 100.9, 102 } } }))
    assert.truthy(text:find("3 configurations are within 1 % of the best", 1, true), text)
  end)

  it("ranks downwards when higher is better", function()
    local r = result.new(run {
      metrics = {
        rate = function(row)
          return row.params.A
        end,
      },
      objective = "rate",
      higher = true,
    })
    assert.same({ A = 2, T = "float" }, r.best.params)
    local first = tostring(r):match "\n[^\n]*rate%*\n([^\n]*)"
    assert.truthy(first:find("^  2 "), first)
  end)

  it("lines up columns, text to the left and numbers to the right", function()
    assert.same(
      { "a      n", "ä      1", "long  22" },
      report.columns({ { "a", " n" }, { "ä", "1" }, { "long", "22" } }, { true })
    )
  end)
end)

describe("a result", function()
  it("is JSON with its parameters in order, numbers as numbers, NaN as text", function()
    local r = result.new(run {
      params = { { "T", { "float" } }, { "A", { 2, 3 } } },
      metrics = {
        odd = function()
          return 0 / 0
        end,
      },
    })
    local text = r:json()
    assert.truthy(text:find '"params":{%s*"T":"float",%s*"A":2%s*}', text)
    assert.truthy(text:find '^{%s*"format":"luhip.tune.result/1",%s*"name":"job"', text)
    local data = require("dkjson").decode(text)
    assert.equal("luhip.tune.result/1", data.format)
    assert.equal("integer", math.type(data.best.params.A))
    assert.equal("-nan", (data.best.metrics.odd:gsub("^nan$", "-nan")))
    assert.same({ kind = "compile", message = "expected ';'" }, data.rows[2].error)
    assert.same({ "T", "A" }, { data.space.params[1].name, data.space.params[2].name })
    assert.equal(2, data.space.count)
    assert.same({}, data.warnings)
    assert.is_nil(getmetatable(r.best.params))
  end)

  it("without a winner has no best in JSON", function()
    local data = require("dkjson").decode(result.new(run { params = { A = { 3 } } }):json())
    assert.is_nil(data.best)
    assert.equal(1, data.counts.compile)
  end)

  it("refuses a path that is none", function()
    local r = result.new(run())
    for _, name in ipairs { "plot", "report", "save_json" } do
      support.assert_error_kind("type", function()
        r[name](r)
      end, name, "a path expected")
      support.assert_error_kind("file", function()
        r[name](r, "/nowhere/at/all")
      end)
    end
  end)
end)
