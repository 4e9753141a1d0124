local core = require "luhip.core"
local export = require "luhip.tune.export"
local import = require "luhip.tune.import"
local store = require "luhip.tune.store"
local support = require "spec.support"

support.scope()

local CACHE = [[{
"device_name": "NVIDIA X", "kernel_name": "add", "problem_size": [4096, 64],
"tune_params_keys": ["block_size_x", "flag"], "tune_params": {"block_size_x": [32, 64], "flag": ["a", "b"]},
"cache": {
"32,a": {"block_size_x": 32, "flag": "a", "time": 1.5, "times": [1.4, 1.6], "compile_time": 200.5, "GFLOP/s": 12.5,
  "strategy_time": 0, "timestamp": "2023-12-22 09:54:05+00:00"},
"64,a": {"block_size_x": 64, "flag": "a", "time": "CompilationFailedConfig"},
"32,b": {"block_size_x": 32, "flag": "b", "time": "RuntimeFailedConfig", "times": []},
"64,b": {"block_size_x": 64, "flag": "b", "time": 0.0}
]]

local function written(text, name)
  local path = support.temporary_directory() .. "/" .. (name or "cache.json")
  support.write_file(path, text)
  return path
end

local function by_config(rows)
  local map = {}
  for _, row in ipairs(rows) do
    map[row.params.block_size_x .. row.params.flag] = row
  end
  return map
end

describe("imports", function()
  it("read Kernel Tuner's caches, failures included", function()
    local read = import.read(written(CACHE .. "}}"))
    assert.equal("kernel_tuner", read.format)
    assert.equal("add", read.name)
    assert.equal("NVIDIA X", read.device)
    assert.same({ x = 4096, y = 64 }, read.problem)
    assert.same(
      { { name = "block_size_x", values = { 32, 64 } }, { name = "flag", values = { "a", "b" } } },
      read.params
    )
    local rows = by_config(read.rows)
    assert.equal("ok", rows["32a"].status)
    assert.equal(1.5, rows["32a"].ms)
    assert.same({ 1.4, 1.6 }, rows["32a"].samples)
    assert.equal(200.5, rows["32a"].compile_ms)
    assert.same({ ["GFLOP/s"] = 12.5 }, rows["32a"].metrics)
    assert.equal("compile", rows["64a"].status)
    assert.equal("launch", rows["32b"].status)
    assert.equal("objective", rows["64b"].status)
    assert.is_false(read.cut)
  end)

  it("read caches that were cut", function()
    for cut = 1, 80, 7 do
      local read = import.read(written(CACHE:sub(1, -cut)))
      assert.is_true(read.cut)
      assert.is_true(#read.rows >= 2)
    end
    assert.equal(4, #import.read(written(CACHE .. ",")).rows)
  end)

  it("tell a cache that is open, behind a whole record, from one that was cut in the middle of one", function()
    local head = CACHE:match '^.-"cache": {'
    for _, whole in ipairs { CACHE, CACHE .. ",", CACHE .. ",\n", CACHE .. "}", head, head .. "\n" } do
      local read = import.read(written(whole))
      assert.is_true(read.cut)
      assert.is_false(read.lost, whole:sub(-30))
    end
    assert.is_false(import.read(written(CACHE .. "}}")).lost)
    for _, more in ipairs {
      ', "1',
      ', "1,a": {',
      ', "1,a": {"time": 1.5,',
      ', "1,a": {"env": {"a": 1},',
      ', "1,a": {"env": {"a": 1}',
    } do
      local read = import.read(written(CACHE .. more))
      assert.is_true(read.lost, more)
      assert.is_true(#read.rows >= 4)
    end
  end)

  it("read T4, compressed too", function()
    local text = [[{"schema_version": "1.0.0", "metadata": {"timeunit": "microseconds"}, "results": [
      {"configuration": {"block_size_x": 32, "flag": "a"}, "times": {"compilation": 1000, "runtimes": [1400, 1600]},
       "invalidity": "correct", "correctness": 1, "objectives": ["time"],
       "measurements": [{"name": "time", "value": 1500, "unit": ""}, {"name": "watts", "value": 3, "unit": "W"}]},
      {"configuration": {"block_size_x": 64, "flag": "a"}, "times": {}, "invalidity": "timeout", "correctness": 0}]}]]
    local path = written(text, "k.json")
    assert.equal(0, support.run({ "gzip", path }).code)
    local read = import.read(path .. ".gz", { device = "D" })
    assert.equal("k", read.name)
    local rows = by_config(read.rows)
    assert.equal(1.5, rows["32a"].ms)
    assert.same({ 1.4, 1.6 }, rows["32a"].samples)
    assert.equal(1, rows["32a"].compile_ms)
    assert.same({ watts = 3 }, rows["32a"].metrics)
    assert.equal("timeout", rows["64a"].status)
    assert.equal("D", rows["64a"].device)
  end)

  it("read KTT's results, and those of luhip.tune as JSON", function()
    local path = written(
      [[{"Metadata": {"Device": "D", "TimeUnit": "Microseconds"}, "Results": [
        {"Configuration": [{"Name": "X", "Value": 1}], "Status": "Ok", "TotalDuration": 1500, "TotalOverhead": 1},
        {"Configuration": [{"Name": "X", "Value": 2}], "Status": "CompilationFailed"}]}]],
      "conv.json"
    )
    local read = import.read(path)
    assert.same({ "recorded", "conv", "D" }, { read.format, read.name, read.device })
    assert.same({ { name = "X", values = { 1, 2 } } }, read.params)
    assert.same({ { X = 1 }, "ok", 1.5 }, { read.rows[1].params, read.rows[1].status, read.rows[1].ms })
    assert.same({ { X = 2 }, "compile" }, { read.rows[2].params, read.rows[2].status })
    read = import.read(written [[{"format": "luhip.tune.result/1", "name": "k", "device": {"name": "E"},
      "space": {"params": [{"name": "X", "values": [1, 2]}]},
      "rows": [{"params": {"X": 2}, "status": "ok", "ms": 2.5, "samples": [2.5], "metrics": {"gflops": 3}}]}]])
    assert.same({ "recorded", "k", "E", 1 }, { read.format, read.name, read.device, #read.rows })
    assert.same({ gflops = 3 }, read.rows[1].metrics)
    assert.same({ 2.5 }, read.rows[1].samples)
    assert.equal(store.key(read.rows[1]), read.rows[1].key)
  end)

  it("name the file that they cannot read", function()
    support.assert_error_kind("file", function()
      import.read "/nowhere/x.json"
    end, "/nowhere/x.json")
    local path = written "[1, 2]"
    support.assert_error_kind("argument", function()
      import.read(path)
    end, path, "neither")
  end)
end)

-- Enough of JSON Schema for T4: type, enum, required, properties, items, pattern.
local TYPES = {
  object = function(v)
    return type(v) == "table" and #v == 0
  end,
  array = function(v)
    return type(v) == "table" and (#v > 0 or next(v) == nil)
  end,
  number = function(v)
    return type(v) == "number"
  end,
  string = function(v)
    return type(v) == "string"
  end,
}
local ENUM = { timeout = true, compile = true, runtime = true, correctness = true, constraints = true, correct = true }

describe("exports", function()
  local records = import.read
  local function rows()
    return records(written(CACHE .. "}}")).rows
  end

  it("write T4 1.0.0", function()
    local data = core.json(export.t4(rows()))
    assert.truthy(data.schema_version:find "^%d+%.%d+%.%d+$")
    assert.equal(4, #data.results)
    for _, result in ipairs(data.results) do
      assert.is_true(TYPES.object(result.configuration))
      assert.is_true(TYPES.object(result.times))
      assert.is_true(TYPES.number(result.times.compilation_time))
      assert.is_true(result.times.runtimes == nil or TYPES.array(result.times.runtimes))
      assert.is_true(ENUM[result.invalidity] or false)
      assert.is_true(TYPES.number(result.correctness))
      assert.is_true(TYPES.array(result.objectives))
      for _, measurement in ipairs(result.measurements or {}) do
        assert.is_true(TYPES.string(measurement.name))
        assert.is_true(TYPES.string(measurement.unit))
      end
    end
    local metadata = core.json(export.t4_metadata(rows())).metadata
    assert.is_true(TYPES.array(metadata.hardware.hardware_description))
    assert.is_true(TYPES.string(metadata.hardware.operating_system))
    assert.is_true(TYPES.object(metadata.environment.device_query))
    assert.is_true(TYPES.array(metadata.environment.requirements))
  end)

  it("read back as what they were", function()
    local before = by_config(rows())
    for name, text in pairs { ["a.json"] = export.t4(rows()), ["b.json"] = export.kernel_tuner(rows()) } do
      for config, row in pairs(by_config(import.read(written(text, name)).rows)) do
        assert.equal(before[config].status == "objective" and "launch" or before[config].status, row.status)
        assert.equal(before[config].status == "ok" and before[config].ms or nil, row.ms)
        assert.same(before[config].samples, row.samples)
      end
    end
  end)

  it("write caches that Kernel Tuner can read, and go on with", function()
    local all = rows()
    for _, row in ipairs(all) do
      row.device = "NVIDIA X (sm_90, 132 units, 141 GiB)"
    end
    local text, count = export.kernel_tuner(all)
    assert.equal(4, count)
    local whole = text:gsub("%s+$", "")
    assert.equal("}\n}", whole:sub(-3)) -- or it would add two more braces
    local data = core.json(whole)
    assert.equal("NVIDIA X", data.device_name)
    for key, entry in pairs(data.cache) do
      assert.equal(key, ("%s,%s"):format(entry.block_size_x, entry.flag))
      for _, name in ipairs { "compile_time", "verification_time", "benchmark_time" } do
        assert.equal("number", type(entry[name])) -- which a simulation sums
      end
    end
    assert.near(3.0, data.cache["32,a"].benchmark_time, 1e-9)
    local more = import.read(written(whole:sub(1, -4) .. ',"128,a": {"block_size_x": 128, "flag": "a", "time": 3.5},'))
    assert.equal(5, #more.rows)
    assert.is_true(more.cut)
    assert.same({}, core.json(export.kernel_tuner {}).cache)
  end)

  it("write CSV", function()
    local records_ = rows()
    records_[1].error = { kind = "x", message = 'a "quoted", text' }
    local text = export.csv(records_)
    local head = text:match "^[^\r]*"
    assert.equal(
      "name,device,status,ms,median,min,compile_ms,registers,shared_bytes,"
        .. "problem.x,problem.y,block_size_x,flag,GFLOP/s,error",
      head
    )
    assert.truthy(text:find('"a ""quoted"", text"', 1, true))
    local _, lines = text:gsub("\r\n", "")
    assert.equal(5, lines)
  end)

  it("go through a store unchanged", function()
    local s = store.open(support.temporary_directory() .. "/x.tune")
    for _, row in ipairs(rows()) do
      s:append(row)
    end
    s:close()
    assert.same(by_config(rows()), by_config(store.read(s.path):rows()))
  end)
end)
