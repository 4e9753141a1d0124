-- What reads recorded runs and stores: texts of files, and records that become tables when they are asked for.
local core = require "luhip.core"
local recorded = require "luhip.tune.recorded"
local store = require "luhip.tune.store"
local support = require "spec.support"

support.scope()

local function written(text, name)
  local path = support.temporary_directory() .. "/" .. (name or "x")
  support.write_file(path, text)
  return path
end

local function gzipped(text, name)
  local path = written(text, name)
  assert.equal(0, support.run({ "gzip", "-9", path }).code)
  return support.read_file(path .. ".gz")
end

-- Numbers that look random, the same each time.
local function dice(seed)
  local state = seed
  return function(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
end

describe("core.read_text", function()
  local text = ("one two three, "):rep(30) .. "\0\255\n"
  local path

  local function read(bytes)
    support.write_file(path, bytes)
    return core.read_text(path)
  end

  before_each(function()
    path = written ""
  end)

  it("gives files as they are, and gzipped ones decompressed", function()
    for _, bytes in ipairs { "", "\31", "\31\139", "x", text, text:rep(20000) } do
      assert.is_true(read(bytes) == bytes)
    end
    for _, bytes in ipairs { "", "x", text, text:rep(20000) } do
      assert.is_true(read(gzipped(bytes)) == bytes)
    end
  end)

  it("takes members that follow each other, and leaves out what is none", function()
    local one, two = gzipped "one", gzipped "two"
    assert.equal("onetwo", read(one .. two))
    assert.equal("onetwo", read(one .. two .. ("\0"):rep(700)))
    assert.equal("one", read(one .. "junk"))
  end)

  it("refuses a gzipped file that ends too early, wherever it does", function()
    local whole = gzipped(text)
    for length = 3, #whole - 1, support.every(9) do
      local got, why = read(whole:sub(1, length))
      assert.is_nil(got, length)
      assert.equal(path .. ": it is damaged, or ends too early", why)
    end
    local twice = whole .. whole
    for _, length in ipairs { #whole + 3, #whole + 20, #twice - 1 } do
      assert.is_nil((read(twice:sub(1, length))))
    end
  end)

  it("never takes a gzipped file with another byte for another text", function()
    local whole, roll = gzipped(text), dice(1)
    for at = 3, #whole, support.every(9) do
      local other = whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 1 << (roll(8) - 1)) .. whole:sub(at + 1)
      local got = read(other)
      assert.is_true(got == nil or got == text, at)
    end
  end)

  it("says why a file cannot be read", function()
    local folder = support.temporary_directory()
    assert.same({ nil, folder .. ": Is a directory" }, { core.read_text(folder) })
    assert.same({ nil, "/nowhere/x: No such file or directory" }, { core.read_text "/nowhere/x" })
    assert.same({ nil, "/nowhere/x: No such file or directory" }, { core.json_records("/nowhere/x", "cache") })
    assert.same({ nil, "/nowhere/x: No such file or directory" }, { core.journal_records "/nowhere/x" })
  end)
end)

local CACHE = [==[{"device_name": "D", "n": [1, {"cache": {"a": 1}}], "tune_params_keys": ["x", "flag"],
"tune_params": {"x": [1, 2, 3], "flag": ["a", "b\"", true]}, "cache": {
"aaa": {"x": 1, "flag": "a", "time": 1.5e0, "times": [1.25, -2, 3E2, [], [{}]], "u\u0041": null},
"bb\\b": {"flag": "b\"", "x":2, "time": "RuntimeFailedConfig", "o": {"p": {"x": 9, "q": "}]\""}}},
"null": null,
"ccc" : { "time" : NaN, "x": 3 , "flag": true, "compile_time": 2.5, "\u0078x": 7, "deep": [[["]"]]] },
"ddd": {},
"eee": {"time": 2.5, "x": -0, "flag": "é", "big": 12345678901234567890, "whole": 9223372036854775807}
}, "after": 1}]==]

describe("core.json_records", function()
  it("finds what core.json reads, and gives it when it is asked for", function()
    local value, cut = core.json_records(written(CACHE), "cache")
    local whole = core.json(CACHE)
    assert.is_false(cut)
    assert.equal(5, #value.cache)
    assert.equal(1, value.after)
    assert.same(whole.n, value.n)
    for i, name in ipairs { "aaa", "bb\\b", "ccc", "ddd", "eee" } do
      local record = value.cache:get(i)
      if name == "ccc" then
        assert.is_true(record.time ~= record.time)
        record.time, whole.cache.ccc.time = nil, nil
      end
      assert.same(whole.cache[name], record)
    end
    support.assert_error_kind("range", function()
      value.cache:get(6)
    end)
  end)

  it("gives members as lists", function()
    local records = core.json_records(written(CACHE), "cache").cache
    local names = { "x", "time", "flag", "o", "uA", "xx", "big", "whole", "nothing" }
    local columns = records:columns(names)
    assert.equal(#names, #columns)
    for k, name in ipairs(names) do
      for i = 1, #records do
        local wanted, got = records:get(i)[name], columns[k][i]
        if wanted == wanted then
          assert.same(wanted, got, name .. i)
        else
          assert.is_true(got ~= got)
        end
      end
    end
    assert.equal(7, columns[6][3])
    assert.equal("float", math.type(columns[7][5]))
    assert.same({}, records:columns {})
    support.assert_error_kind("type", function()
      records:columns { 1 }
    end)
  end)

  it("agrees with core.json about every text", function()
    local path, roll = written "", dice(7)
    local function agree(text)
      support.write_file(path, text)
      local ok, value, cut = pcall(core.json, text, 2)
      local found, other, early = pcall(core.json_records, path, "cache")
      assert.equal(ok, found, text)
      if not ok then
        assert.equal(tostring(value):match "JSON.*", tostring(other):match "JSON.*", text)
        return
      end
      assert.equal(cut, early, text)
      if type(value) ~= "table" or type(value.cache) ~= "table" or type(other.cache) ~= "userdata" then
        return
      end
      local expected, got = {}, {}
      for _, record in pairs(value.cache) do
        expected[#expected + 1] = core.json_text { record }
      end
      for i = 1, #other.cache do
        got[i] = core.json_text { other.cache:get(i) }
      end
      table.sort(expected)
      table.sort(got)
      assert.same(expected, got, text)
    end
    for length = 0, #CACHE, support.every(7) * 2 - 1 do
      agree(CACHE:sub(1, length))
    end
    local bytes = '{}[],:"\\-+.0e1nNtfI \n\0x'
    for _ = 1, 800 // support.every(50) do
      local at, k = roll(#CACHE), roll(#bytes)
      agree(CACHE:sub(1, at - 1) .. bytes:sub(k, k) .. CACHE:sub(at + 1))
    end
    agree('{"cache": [1, 2]}')
    agree('{"cache": {"a": ' .. ("["):rep(250) .. ("]"):rep(250) .. "}}")
    agree('{"cache": {"a": {"x": ' .. ("1"):rep(500) .. '.5, "y": 01, "z": 1., "w": .5}}}')
    agree "[1]"
    agree '"cache"'
  end)

  it("gives texts of objects that are what core.json_text writes", function()
    local objects = {
      '{"a":1,"b":"x y","c":true}',
      "{}",
      '{"a":-12,"aa":0}',
      '{"b":1,"a":2}',
      '{"a": 1}',
      '{ "a":1}',
      '{"a":1 }',
      '{"a":1.0}',
      '{"a":1e3}',
      '{"a":-0}',
      '{"a":01}',
      '{"a":1,"a":2}',
      '{"a":null}',
      '{"a":{"b":1}}',
      '{"a":[1]}',
      '{"a":"\\u0041"}',
      '{"a":"\t"}',
      '{"\\u0061":1}',
      '{"a":1234567890123456789}',
      "[1]",
    }
    local lines = {}
    for i, object in ipairs(objects) do
      lines[i] = ('"r%02d":{"q":[{"p":1}],"p":%s}'):format(i, object)
    end
    lines[#lines + 1] = '"s":{"p":5},"t":{"q":1},"u":7'
    local path = written('{"cache":{' .. table.concat(lines, ",") .. "}}")
    local texts = core.json_records(path, "cache").cache:texts "p"
    for i, object in ipairs(objects) do
      assert.equal(i <= 3 and object or true, texts[i])
      assert.is_true(texts[i] == true or texts[i] == core.json_text(core.json(object)))
    end
    assert.same({ false, false, false }, table.move(texts, #objects + 1, #objects + 3, 1, {}))
  end)
end)

describe("core.journal_records", function()
  local RECORD = '{"kind":"row","key":"k","name":"n","params":{"A":1},"status":"ok","ms":1.5}'

  it("reads lines with either checksum", function()
    local text = "6f228d04 " .. RECORD .. "\nb7aa47566ae2fe70 " .. RECORD .. "\n\n6f228d05 " .. RECORD .. "\nx"
    local path = written(text)
    local records, damaged = core.journal_records(path)
    assert.equal(2, #records)
    assert.equal(2, damaged)
    assert.same(core.json(RECORD), records:get(1))
    assert.same(core.json(RECORD), records:get(2))
    local s = store.read(path)
    assert.equal(2, s.count)
    assert.equal(1, #s:rows())
    assert.equal(1.5, s:find("k", { A = 1 }).ms)
  end)

  it("takes a line that holds no JSON for damaged, and reads on", function()
    local path = written ""
    local journal = core.journal(path)
    for _, line in ipairs { RECORD, '{"a":', "", "no", '{"a":1}}', RECORD, "[", "5" } do
      journal:append(line)
    end
    journal:close()
    local records, damaged = core.journal_records(path)
    assert.equal(3, #records)
    assert.equal(5, damaged)
    assert.equal(5, records:get(3))
    local s = store.read(path)
    assert.same({ 2, 1, 5 }, { s.count, s.unknown, s.damaged })
  end)

  it("is empty for an empty file", function()
    local records, damaged = core.journal_records(written "")
    assert.same({ 0, 0 }, { #records, damaged })
  end)
end)

describe("a store that is loaded", function()
  it("finds configurations however their text was written", function()
    local path = written ""
    local journal = core.journal(path)
    for i, params in ipairs { '{"B":2,"A":1}', '{ "A":2.0 }', '{"A":"\\u0041"}', '{"A":{"x":[1]}}', '{"A":0.5}' } do
      journal:append(
        ('{"kind":"row","key":"k","name":"n","params":%s,"ms":%d,"extra":{"y":[%d]}}'):format(params, i, i)
      )
    end
    journal:close()
    local s = store.open(path)
    for i, params in ipairs { { A = 1, B = 2 }, { A = 2 }, { A = "A" }, { A = { x = { 1 } } }, { A = 0.5 } } do
      local row = s:find("k", params)
      assert.equal(i, row.ms)
      assert.same({ y = { i } }, row.extra, "what is not known is kept")
      assert.equal(row, s:find("k", params), "it is made once")
    end
    s:append { kind = "row", key = "k", name = "n", params = { A = 2 }, ms = 9 }
    s:append { kind = "row", key = "l", name = "other", params = { A = 2 }, ms = 10 }
    assert.equal(9, s:find("k", { A = 2.0 }).ms)
    assert.equal(6, #s:rows())
    assert.equal(9, s:rows("n")[2].ms)
    assert.equal(5, #s:rows "n")
    assert.equal(1, #s:rows "other")
    s:close()
  end)
end)

describe("a recorded run", function()
  local function row_texts(run)
    local list = {}
    for i = 1, run.space.count do
      local row, seconds = run:row(i)
      row.error = row.error and tostring(row.error)
      list[i] = core.json_text { row, seconds }
    end
    return list
  end

  local function cache(n)
    local lines = {}
    for i = 1, n do
      lines[i] = ('"%d": {"x": %d, "y": "%s", "time": %s, "times": [%d.5, 1.0], "compile_time": %d, "w": 1}'):format(
        i,
        i % 5,
        i % 2 == 0 and "p" or "q",
        i % 4 == 0 and '"CompilationFailedConfig"' or i .. ".25",
        i,
        i
      )
    end
    return '{"device_name": "D", "kernel_name": "k", "tune_params_keys": ["x", "y"], '
      .. '"tune_params": {"x": [0, 1, 2, 3], "y": ["p", "q"]}, "cache": {\n'
      .. table.concat(lines, ",\n")
  end

  it("is the same from a file as from what the file holds, plain, gzipped and cut", function()
    local whole = cache(9) .. "}}\n"
    for length = #cache(1), #whole, support.every(3) do
      local text = whole:sub(1, length)
      local path = written(text, "c.json")
      local run, other = recorded.load(path), recorded.of(core.json(text, 2), path)
      assert.same(row_texts(other), row_texts(run))
      assert.same(
        { other.worked, other.skipped, other.name, other.device },
        { run.worked, run.skipped, run.name, run.device }
      )
    end
    local path = support.temporary_directory() .. "/c.json.gz"
    support.write_file(path, gzipped(whole))
    local run = recorded.load(path)
    assert.same(row_texts(recorded.of(core.json(whole), path)), row_texts(run))
    assert.same({ 2, 7 }, { run.skipped, run.space.count })
  end)

  it("names the file that holds none", function()
    for text, said in pairs {
      ["{"] = "neither a Kernel Tuner cache",
      ["{]"] = "JSON, line 1, column 2",
      ['{"cache": {}, "tune_params_keys": []}'] = "nothing was recorded",
      ['{"cache": {"a": {"x": 9}}, "tune_params_keys": ["x"], "tune_params": {"x": [1]}}'] = "no record has a value",
      ['{"cache": null, "tune_params_keys": ["x"]}'] = "neither a Kernel Tuner cache",
    } do
      local path = written(text)
      support.assert_error_kind("argument", function()
        recorded.load(path)
      end, path, said)
    end
  end)
end)

describe("a simulated run with a store", function()
  local path

  local function simulated(options)
    local r = require("luhip.tune").simulate(recorded.load(path), options)
    local list = {}
    for i, row in ipairs(r.rows) do
      local copy = {}
      for name, value in pairs(row) do
        copy[name] = name == "error" and tostring(value) or value
      end
      copy.reused = nil
      list[i] = core.json_text(copy)
    end
    return list, r
  end

  before_each(function()
    local lines = {}
    for i = 0, 199 do
      local time = i % 7 == 0 and '"CompilationFailedConfig"' or (i * 31 % 200 + 1) .. ".25"
      local record = '"%d": {"x": %d, "y": %d, "time": %s, "times": [%d.5, 1.0], "compile_time": %d, "w": %d}'
      lines[#lines + 1] = record:format(i, i % 20, i // 20, time, i, i, i)
    end
    local values = {}
    for i = 0, 19 do
      values[i + 1] = tostring(i)
    end
    local head =
      '{"kernel_name": "k", "tune_params_keys": ["x", "y"], "tune_params": {"x": [%s], "y": [%s]}, "cache": {%s}}'
    local list = table.concat(values, ",")
    path = written(head:format(list, list, table.concat(lines, ",")), "c.json")
  end)

  it("that was killed gives the same as one that was not", function()
    for _, strategy in ipairs { "auto", "genetic", "annealing" } do
      local kept = support.temporary_directory() .. "/k.tune"
      local script = kept .. ".lua"
      support.write_file(
        script,
        [[
          local core, tune = require "luhip.core", require "luhip.tune"
          local run, count = tune.load_cache(arg[1]), 0
          local row = run.row
          function run:row(i)
            count = count + 1
            if count == 40 then
              os.execute("kill -9 " .. core.pid())
            end
            return row(self, i)
          end
          tune.simulate(run, { strategy = arg[3], seed = 5, budget = 90, store = arg[2] })
        ]]
      )
      local words = {}
      for i, word in ipairs { support.interpreter, script, path, kept, strategy } do
        words[i] = support.quote(word)
      end
      local child = { "sh", "-c", table.concat(words, " ") .. " || exit 7" } -- whose stderr is taken
      assert.equal(7, support.run(child, { env = support.environment() }).code)
      local finished = #store.read(kept):rows()
      assert.is_true(finished > 20 and finished < 40)
      local expected, whole = simulated { strategy = strategy, seed = 5, budget = 90 }
      local got, resumed = simulated { strategy = strategy, seed = 5, budget = 90, store = kept }
      assert.same(expected, got)
      assert.same({ whole.seconds, whole.stopped }, { resumed.seconds, resumed.stopped })
      assert.same(whole.best.params, resumed.best.params)
      assert.equal(finished, resumed.reused)
      assert.equal(#expected, #store.read(kept):rows())
    end
  end)

  it("names what is no store", function()
    support.assert_error_kind("type", function()
      simulated { store = 5 }
    end, "tune.simulate: store: a path expected, not a number")
    support.assert_error_kind("file", function()
      simulated { store = path }
    end, path, "no store")
  end)
end)
