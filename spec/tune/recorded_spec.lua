local recorded = require "luhip.tune.recorded"
local support = require "spec.support"
local tune = require "luhip.tune"

local FIXTURE = "spec/tune/fixtures/recorded.json"

local function write(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

local function load(text)
  local path <close> = setmetatable({ write(text) }, {
    __close = function(p)
      os.remove(p[1])
    end,
  })
  return tune.load_cache(path[1])
end

local CACHE = [[
{"device_name": "", "kernel_name": "add", "problem_size": 100, "tune_params_keys": ["B", "A"],
 "tune_params": {"A": [4, 2], "B": [true, false]}, "objective": "time",
 "cache": {
 "True,4": {"B": true, "A": 4, "time": 2.5, "times": [2.4, 2.6], "compile_time": 1500.0, "benchmark_time": 250,
   "GFLOP/s": 31.5, "strategy_time": 3},
 "True,2": {"B": true, "A": 2, "time": "CompilationFailedConfig", "compile_time": 500},
 "False,4": {"B": false, "A": 4, "time": "RuntimeFailedConfig"},
 "False,2": {"B": false, "A": 2, "time": 1.25]]

describe("recorded runs", function()
  it("of Kernel Tuner are read, with the order of their parameters and values", function()
    local run = load(CACHE .. "}}}")
    assert.equal(4, run.space.count)
    assert.same({ "B", "A" }, run.space.names)
    assert.same({ 4, 2 }, run.space:values "A")
    assert.equal("add", run.name)
    local row, seconds = run:row(run.space:index { A = 4, B = true })
    assert.same({ A = 4, B = true }, row.params)
    assert.same({ "ok", 2.5, 1500.0, { 2.4, 2.6 } }, { row.status, row.ms, row.compile_ms, row.samples })
    assert.near(1.75, seconds, 1e-12)
    assert.same({ 31.5, nil, nil }, { row["GFLOP/s"], row.strategy_time, row.A })
    assert.equal("compile", run:row(run.space:index { A = 2, B = true }).status)
    assert.equal("launch", run:row(run.space:index { A = 4, B = false }).status)
  end)

  it("of Kernel Tuner have their times in ms, whatever they were tuned for", function()
    local text = CACHE:gsub('"objective": "time"', '"objective": "GFLOP/s"')
    local run = load(text .. "}}}")
    assert.equal(2.5, run:row(run.space:index { A = 4, B = true }).ms)
    run = load((text:gsub('"time": [^,}%]]+', '"GFLOP/s": 7.5')) .. "}}}")
    assert.equal(7.5, run:row(run.space:index { A = 2, B = false }).ms)
  end)

  it("of Kernel Tuner may end too early", function()
    assert.equal(4, load(CACHE .. "},\n").space.count)
    assert.equal(3, load(CACHE:sub(1, -20)).space.count)
  end)

  it("of T4 are read in their unit, with their reasons for failures", function()
    local run = load [[{"metadata": {"timeunit": "seconds"}, "results": [
      {"configuration": {"X": 1}, "times": {"compilation": 2.0, "runtimes": [0.5]}, "invalidity": "correct",
       "measurements": [{"name": "time", "value": 0.5}]},
      {"configuration": {"X": 2}, "times": {}, "invalidity": "timeout", "measurements": []},
      {"configuration": {"X": 3}, "times": {}, "invalidity": "correctness", "measurements": []}]}]]
    local row, seconds = run:row(run.space:index { X = 1 })
    assert.same({ "ok", 500.0, 2.5 }, { row.status, row.ms, seconds })
    assert.equal("timeout", run:row(2).status)
    assert.equal("verify", run:row(3).status)
  end)

  it("of KTT are read", function()
    local run = load [[{"Metadata": {"Device": "dev", "TimeUnit": "Microseconds"}, "Results": [
      {"Configuration": [{"Name": "A", "Value": 1}], "Status": "Ok", "TotalDuration": 2000.0, "TotalOverhead": 1000.0},
      {"Configuration": [{"Name": "A", "Value": 2}], "Status": "ComputationFailed", "TotalDuration": 0}]}]]
    local row, seconds = run:row(1)
    assert.same({ "ok", 2.0, 0.003, "dev" }, { row.status, row.ms, seconds, run.device })
    assert.equal("launch", run:row(2).status)
  end)

  it("times that are none are no times", function()
    local run = load [[{"tune_params_keys": ["A"], "tune_params": {"A": [1, 2, 3, 4]}, "cache": {
      "1": {"A": 1, "time": 0.0}, "2": {"A": 2, "time": NaN},
      "3": {"A": 3, "time": null}, "4": {"A": 4, "time": 1e20}}}]]
    for i = 1, 3 do
      assert.equal("objective", run:row(i).status)
    end
    assert.equal("ok", run:row(4).status)
  end)

  it("records with other values than those listed are left out and counted", function()
    local run = load [[{"tune_params_keys": ["A"], "tune_params": {"A": [1, 2]}, "cache": {
      "1": {"A": 1, "time": 1.5}, "7": {"A": 7, "time": 2.5}, "x": {"time": 2.5}}}]]
    assert.equal(1, run.space.count)
    assert.equal(2, run.skipped)
  end)

  it("that are gzipped are read, damaged ones refused", function()
    local path = os.tmpname()
    assert(os.execute("gzip -c " .. FIXTURE .. " > " .. path))
    local plain, packed = tune.load_cache(FIXTURE), tune.load_cache(path)
    assert.equal(plain.space.count, packed.space.count)
    assert.same(plain:row(3), packed:row(3))
    local file = assert(io.open(path, "rb"))
    local bytes = file:read "a"
    file:close()
    file = assert(io.open(path, "wb"))
    file:write(bytes:sub(1, #bytes // 2))
    file:close()
    support.assert_error_kind("file", function()
      tune.load_cache(path)
    end, "ends too early")
    os.remove(path)
  end)

  it("that are none are refused by name", function()
    support.assert_error_kind("type", function()
      tune.load_cache(5)
    end, "path")
    support.assert_error_kind("file", function()
      tune.load_cache "/nowhere/at/all.json"
    end, "nowhere")
    support.assert_error_kind("argument", function()
      load '{"a": 1}'
    end, "neither a Kernel Tuner cache")
    support.assert_error_kind("argument", function()
      load '{"results": []}'
    end, "nothing was recorded")
    support.assert_error_kind("type", function()
      tune.simulate({}, {})
    end, "load_cache")
  end)

  it("know their space's neighbours and positions", function()
    local run = tune.load_cache(FIXTURE)
    assert.is_true(recorded.is(run))
    assert.is_true(run.worked > 50)
    for i = 1, run.space.count do
      assert.equal(i, run.space:index(run:row(i).params))
    end
    assert.is_true(#run.space:neighbours(1) > 0)
  end)
end)

describe("simulation", function()
  local run = tune.load_cache(FIXTURE)

  it("gives the same result for the same seed, to the last digit", function()
    local a = tune.simulate(run, { budget = 80, seed = 5 })
    local b = tune.simulate(tune.load_cache(FIXTURE), { budget = 80, seed = 5 })
    for i, row in ipairs(a.rows) do
      row.error, b.rows[i].error = tostring(row.error), tostring(b.rows[i].error)
    end
    assert.same(a.rows, b.rows)
    assert.equal(a.seconds, b.seconds)
    assert.equal(a.best.ms, b.best.ms)
  end)

  it("lets no value win that is not finite", function()
    for _, text in ipairs { "Infinity", "-Infinity", "NaN" } do
      local odd = load((CACHE:gsub("31.5", text)) .. ', "GFLOP/s": 7.5}}}')
      for _, higher in ipairs { true, false } do
        local r = tune.simulate(odd, { objective = "GFLOP/s", higher = higher, strategy = "exhaustive", budget = 100 })
        assert.equal(7.5, r.best and r.best["GFLOP/s"], text)
      end
    end
  end)

  it("refuses an objective that was not recorded, naming those that were", function()
    for given, hint in pairs {
      nothing = "'nothing' was not recorded; there are compile_ms, ms",
      mss = "did you mean 'ms'?",
    } do
      support.assert_error_kind("argument", function()
        tune.simulate(run, { objective = given, budget = 5 })
      end, hint)
      support.assert_error_kind("argument", function()
        tune.simulate(run, { objective = { "ms", given }, budget = 5 })
      end, hint)
    end
    assert.equal("compile_ms", tune.simulate(run, { objective = "compile_ms", budget = 5 }).objective)
  end)

  it("tells of each failure how it was recorded", function()
    local r = tune.simulate(run, { strategy = "exhaustive" })
    for _, row in ipairs(r.rows) do
      assert.equal(row.status ~= "ok", row.error ~= nil)
      assert.is_nil(row.why)
    end
    assert.truthy(tostring(r):find("recorded as 'CompilationFailedConfig'", 1, true), tostring(r))
    local own = load(
      '{"format": "luhip.tune.result/1", "space": {"params": [{"name": "A", "values": [1, 2]}]}, "rows": ['
        .. '{"params": {"A": 1}, "status": "ok", "ms": 1}, {"params": {"A": 2}, "status": "verify",'
        .. ' "error": {"kind": "verify", "message": "y differs"}}]}'
    )
    local failed = own:row(own.space:index { A = 2 })
    assert.same({ "verify", "verify", "y differs" }, { failed.status, failed.error.kind, failed.error.message })
  end)

  it("counts failures as evaluations", function()
    local r = tune.simulate(run, { strategy = "exhaustive" })
    assert.equal(run.space.count, #r.rows)
    assert.equal(run.worked, r.counts.ok)
    assert.is_nil(r.stopped)
    local least = math.huge
    for _, row in ipairs(r.rows) do
      least = math.min(least, row.ms or math.huge)
    end
    assert.equal(least, r.best.ms)
  end)

  it("takes the seconds that were recorded", function()
    local r = tune.simulate(run, { strategy = "random", budget = 10 })
    local ms = 0
    for _, row in ipairs(r.rows) do
      ms = ms + (row.compile_ms or 0)
    end
    assert.near(ms / 1000, r.seconds, 1e-9)
  end)

  it("refuses options that it does not know", function()
    support.assert_error_kind("argument", function()
      tune.simulate(run, { buget = 5 })
    end, "'buget'", "'budget'")
    support.assert_error_kind("type", function()
      tune.simulate(run, { seed = 1.5 })
    end, "seed")
  end)
end)
