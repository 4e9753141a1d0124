local core = require "luhip.core"
local fake = require "spec.tune.fake"
local store = require "luhip.tune.store"
local support = require "spec.support"

support.scope()

-- A tuning script for a device of Lua. `behaviour` is Lua code run at each launch: `defines.A` is the configuration,
-- `log` a function that writes a line into the file "log" beside the script.
local BODY = [[
local x, y = fake.buffer { 1 }, fake.buffer { 0 }
local device = fake.device {
  params = { { name = "x", kind = "in" }, { name = "y", kind = "out" } },
  compile = function(defines)
    log(defines.A)
  end,
  run = function(defines, x, y)
    %s
    y.values[1] = 2 * x.values[1]
  end,
}
local result = tune {
  name = "k", device = device, source = "text", kernel = "k", params = { A = { 1, 2, 3, 4, 5, 6, 7, 8 } },
  grid = 1, block = 1, args = { x, y }, expect = { y = { 2 } }, problem = { N = 1 },
}
print(result)
print("done", #result.rows, result.counts.ok or 0)
]]

local function script(behaviour)
  local folder = support.temporary_directory()
  local path = folder .. "/work.lua"
  support.write_file(path, fake.script(folder, BODY:format(behaviour)))
  return path, folder
end

local function luhip(words, folder, options)
  -- whoever runs the specs may ignore them, as nohup does
  local command = { "env", "--default-signal=HUP,INT,TERM", support.interpreter }
  table.move({ support.root .. "/lua/luhip/cli.lua", "tune" }, 1, 2, #command + 1, command)
  table.move(words, 1, #words, #command + 1, command)
  options = options or {}
  options.env, options.directory = support.environment(), folder
  return support.run(command, options)
end

local function logged(folder)
  local counts = {}
  for line in io.lines(folder .. "/log") do
    counts[line] = (counts[line] or 0) + 1
  end
  return counts
end

describe("luhip tune", function()
  it("runs a script whose rows are kept, and does not measure them again but with --no-resume", function()
    local path, folder = script ""
    local first = luhip({ path }, folder)
    assert.equal(0, first.code, first.stderr)
    assert.truthy(first.stdout:find("done\t8\t8", 1, true))
    assert.equal(8, #store.read(folder .. "/work.tune"):rows())
    for _, words in ipairs { { path }, { "--resume", path } } do
      local again = luhip(words, folder)
      assert.truthy(again.stdout:find("done\t8\t8", 1, true))
    end
    for _, count in pairs(logged(folder)) do
      assert.equal(1, count)
    end
    luhip({ "--no-resume", path }, folder)
    assert.equal(2, logged(folder)["1"])
  end)

  it("leaves resume as the script has it, unless it is told", function()
    local path, folder = script ""
    local text = support.read_file(path):gsub('name = "k"', 'resume = false, store = "own.tune", name = "k"', 1)
    support.write_file(path, text)
    for times, words in ipairs { { path }, { path }, { "--resume", path } } do
      assert.equal(0, luhip(words, folder).code)
      assert.equal(math.min(times, 2), logged(folder)["1"])
    end
    assert.equal(8, #store.read(folder .. "/own.tune"):rows())
    support.write_file(path, (text:gsub("resume = false, ", "")))
    assert.equal(0, luhip({ path }, folder).code)
    assert.equal(2, logged(folder)["1"], "a script whose store has all rows")
  end)

  it("loses nothing of a run that resumes nothing when its process dies", function()
    local path, folder = script [[
      if defines.A == "3" then
        os.execute("kill -ABRT " .. core.pid())
      end]]
    for times = 1, 2 do
      local result = luhip({ "--no-resume", path }, folder)
      assert.truthy(result.stdout:find("done\t8\t7", 1, true), result.stdout)
      for a, count in pairs(logged(folder)) do
        assert.equal(times, count, a)
      end
    end
  end)

  it("tells its own words from the script's", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/-w.lua", 'print("words", ...)')
    support.write_file(folder .. "/w.lua", 'print("words", ...)')
    local function run(code, text, ...)
      local result = luhip({ ... }, folder)
      assert.equal(code, result.code, result.stderr)
      assert.truthy((result.stdout .. result.stderr):find(text, 1, true), result.stdout .. result.stderr)
      return result
    end
    for _, word in ipairs { "--help", "-h" } do
      assert.is_nil(run(0, "usage: luhip tune", "w.lua", word).stdout:find("words", 1, true))
      run(0, "usage: luhip tune", "inspect", word)
    end
    for word, option in pairs { ["--budgit"] = "budget", ["--reportt=x"] = "report", ["--csb"] = "csv" } do
      local result = run(2, ("did you mean --%s?"):format(option), "w.lua", word, "5")
      assert.truthy(result.stderr:find(("unknown option '%s'"):format(word), 1, true))
      assert.equal("", result.stdout)
    end
    run(2, "--resume takes no value", "--resume=5", "w.lua")
    -- none of these tunes, which is a failure for another reason
    run(1, "words\t--cpu\t--size=3\t-x\n", "w.lua", "--cpu", "--size=3", "-x")
    run(1, "words\ta\t--help\t--budgit\t--\n", "w.lua", "a", "--budget", "5", "--", "--help", "--budgit", "--")
    run(1, "words\t--budget\n", "--", "w.lua", "--budget")
    run(1, "words\t1\n", "--", "-w.lua", "1")
    run(2, "a script is missing", "--")
  end)

  it("says that a script ran no tuning", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/n.lua", "")
    local result = luhip({ "n.lua", "--report", "n.html" }, folder)
    assert.equal(1, result.code)
    assert.equal("luhip tune: n.lua ran no tuning: it came to no tune { ... }\n", result.stderr)
  end)

  it("looks at the places of its files before anything runs", function()
    local path, folder = script ""
    for option, place in pairs { report = "nowhere/x.html", csv = "work.lua/x.csv", t4 = "." } do
      local result = luhip({ path, "--" .. option, place }, folder)
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find("^luhip tune: %-%-" .. option .. ": [^\n]+folder[^\n]*\n$"), result.stderr)
    end
    local result = luhip({ path, "--csv", "x", "--t4", "x" }, folder)
    assert.truthy(result.stderr:find("is the file of --t4 already", 1, true), result.stderr)
    assert.is_nil(io.open(folder .. "/log"))
  end)

  it("writes the other files and the result when one cannot be written in the end", function()
    local path, folder = script ""
    local out = folder .. "/out"
    assert(os.execute("mkdir " .. out))
    local text = support.read_file(path):gsub("local result = tune", ("os.remove(%q)\n%%0"):format(out), 1)
    support.write_file(path, text)
    local result = luhip({ path, "--report", "out/x.html", "--csv", "x.csv" }, folder)
    assert.equal(1, result.code)
    assert.truthy(result.stdout:find("done\t8\t8", 1, true), result.stdout)
    assert.truthy(result.stderr:find("luhip tune: --report: cannot write ", 1, true), result.stderr)
    assert.is_nil(result.stderr:find("traceback", 1, true))
    assert.truthy(support.read_file(folder .. "/x.csv"))
  end)

  it("gives each run of a script files of its own, and says which", function()
    local path, folder = script ""
    local text = support.read_file(path)
    local run = text:match "local result = (tune %b{})"
    for _, name in ipairs { "second", "a/b", "second" } do
      text = text .. "\n" .. run:gsub('name = "k"', ("name = %q"):format(name), 1)
    end
    support.write_file(path, text)
    local result = luhip({ path, "--report", "x.html", "--csv=x", "--t4", "/dev/null" }, folder)
    assert.equal(0, result.code, result.stderr)
    for _, name in ipairs { "x.html", "x-second.html", "x-a_b.html", "x-second-4.html", "x", "x-second", "x-a_b" } do
      assert.truthy(support.read_file(folder .. "/" .. name), name)
      assert.truthy(result.stderr:find("/" .. name .. " ", 1, true), result.stderr)
    end
  end)

  it("loses and repeats nothing when it is killed in the middle and resumed", function()
    local path, folder = script 'os.execute "sleep 0.05"'
    local tuned = folder .. "/work.tune"
    local pid_file = folder .. "/pid"
    local launch = ("%s %s tune --resume %s >/dev/null 2>&1 & echo $! > %s"):format(
      support.quote(support.interpreter),
      support.quote(support.root .. "/lua/luhip/cli.lua"),
      support.quote(path),
      support.quote(pid_file)
    )
    support.run(launch, { env = support.environment(), directory = folder })
    local pid, finished = support.read_file(pid_file):match "%d+", 0
    while finished < 2 do
      local stored = store.read(tuned)
      finished = stored and #stored:rows() or 0
      os.execute "sleep 0.02"
    end
    os.execute(("kill -9 %s 2>/dev/null"):format(pid))
    -- the worker dies with it: nobody writes any more
    repeat
      local before = #support.read_file(tuned)
      os.execute "sleep 0.3"
    until #support.read_file(tuned) == before
    local kept = #store.read(tuned):rows()
    local result = luhip({ "--resume", path }, folder)
    assert.truthy(result.stdout:find("done\t8\t8", 1, true), result.stderr)
    local rows = {}
    local stored = store.read(tuned)
    for n = 1, stored.count do
      local record = stored:record(n)
      if record.kind == "row" then
        rows[record.params.A] = (rows[record.params.A] or 0) + 1
      end
    end
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 1 }, rows)
    local twice = 0
    for _, count in pairs(logged(folder)) do
      twice = twice + count - 1
    end
    assert.is_true(twice <= 1, "only what was in flight is tried again")
    assert.is_true(kept >= 2)
  end)

  it("blames exactly the configuration that takes the process down, and goes on", function()
    local path, folder = script [[
      if defines.A == "3" then
        os.execute("kill -ABRT " .. core.pid())
      end]]
    local result = luhip({ path }, folder)
    assert.equal(0, result.code, result.stderr)
    assert.truthy(result.stdout:find("done\t8\t7", 1, true), result.stdout)
    assert.truthy(result.stderr:find("SIGABRT while it tried A=3", 1, true), result.stderr)
    local failed = {}
    for _, row in ipairs(store.read(folder .. "/work.tune"):rows()) do
      if row.status ~= "ok" then
        failed[#failed + 1] = row.params.A
        assert.equal("fault", row.status)
        assert.truthy(row.error.message:find("SIGABRT", 1, true))
      end
    end
    assert.same({ 3 }, failed)
    for a, count in pairs(logged(folder)) do
      assert.equal(1, count, a)
    end
  end)

  it("blames no configuration when somebody ends it, and says which signal that was", function()
    local behaviour = [[
      local told = io.open(%q)
      if defines.A == "3" and told then
        told:close()
        local ours, parent = core.pid(), require("luhip.tune.overrides").get().parent
        -- not os.execute, which ignores SIGINT meanwhile
        io.popen(("kill -%%s %%s"):format("%s", ("%s"):gsub("ours", ours):gsub("parent", parent))):close()
        while true do end
      end]]
    local function check(name, signal, whom)
      local flag = support.temporary_directory() .. "/told"
      local path, folder = script(behaviour:format(flag, name, whom))
      support.write_file(flag, "")
      for _ = 1, 3 do
        local ended = luhip({ "--resume", path }, folder)
        assert.equal(signal, ended.signal, ended.stderr)
        local rows = store.read(folder .. "/work.tune"):rows()
        assert.equal(2, #rows, name .. " to " .. whom)
      end
      assert.equal(3, logged(folder)["3"])
      os.remove(flag)
      local result = luhip({ "--resume", path }, folder)
      assert.equal(0, result.code, result.stderr)
      assert.truthy(result.stdout:find("done\t8\t8", 1, true), result.stdout)
    end
    check("TERM", 15, "ours")
    check("TERM", 15, "parent")
    check("TERM", 15, "parent ours")
    check("HUP", 1, "ours")
    check("HUP", 1, "parent")
    check("INT", 2, "parent ours")
  end)

  it("replaces a device that did not survive", function()
    local path, folder = script [[
      if defines.A == "3" or defines.A == "6" then
        error(fake.error("poisoned", "the context is gone"), 0)
      end]]
    local result = luhip({ path }, folder)
    assert.equal(0, result.code, result.stderr)
    assert.truthy(result.stdout:find("done\t8\t6", 1, true), result.stdout)
    for a, count in pairs(logged(folder)) do
      assert.equal(1, count, a)
    end
  end)

  it("ends a configuration that hangs", function()
    local path, folder = script [[
      if defines.A == "2" then
        os.execute "sleep 60"
      end]]
    local result = luhip({ "--hang", "1", path }, folder)
    assert.equal(0, result.code, result.stderr)
    local row = store.read(folder .. "/work.tune"):rows()[2]
    assert.equal("timeout", row.status)
    assert.equal(2, row.params.A)
  end)

  it("ends with an error when nothing works", function()
    local path, folder = script "y.values[1] = 0; do return end"
    local result = luhip({ path }, folder)
    assert.equal(1, result.code)
    assert.truthy(result.stdout:find("8 verify", 1, true), result.stdout)
    support.assert_error_kind("not_found", function()
      require("luhip.tune").best("k", { name = "fake" }, { N = 1 }, { store = folder .. "/work.tune" })
    end, "'k'")
  end)

  it("obeys its budget", function()
    local path, folder = script ""
    local result = luhip({ "--budget", "3c", path }, folder)
    assert.truthy(result.stdout:find("done\t3\t3", 1, true), result.stdout)
  end)

  it("inspects, merges, converts and prunes stores", function()
    local path, folder = script ""
    luhip({ path }, folder)
    local tuned = folder .. "/work.tune"
    local shown = luhip({ "inspect", tuned }, folder)
    assert.truthy(shown.stdout:find("k +fake.*N=1 +8 +0"), shown.stdout)
    assert.equal(0, luhip({ "merge", folder .. "/all.tune", tuned, tuned }, folder).code)
    assert.equal(8, #store.read(folder .. "/all.tune"):rows())
    assert.equal(0, luhip({ "convert", tuned, "t4.json" }, folder).code)
    assert.equal(8, #core.json(support.read_file(folder .. "/t4.json")).results)
    assert.equal(0, luhip({ "convert", tuned, "rows.csv" }, folder).code)
    assert.equal(0, luhip({ "convert", "--format", "kernel_tuner", tuned, "kt.json" }, folder).code)
    assert.equal(0, luhip({ "convert", "--device", "other", "kt.json", "all.tune" }, folder).code)
    assert.equal(16, #store.read(folder .. "/all.tune"):rows())
    assert.equal(0, luhip({ "prune", "all.tune", "--keep", "2" }, folder).code)
    assert.equal(4, #store.read(folder .. "/all.tune"):rows())
  end)

  it("tells what a conversion loses", function()
    local folder = support.temporary_directory()
    local cache = '{"kernel_name": "k", "device_name": "d", "problem_size": 8, "tune_params_keys": ["A"], "cache": {\n'
    local entry = '"%d": {"A": %d, "time": 1.5},\n'
    support.write_file(folder .. "/open.json", cache .. entry:format(1, 1) .. entry:format(2, 2))
    support.write_file(folder .. "/cut.json", cache .. entry:format(1, 1) .. entry:format(2, 2):sub(1, 12))
    local open = luhip({ "convert", "open.json", "t4.json" }, folder)
    assert.equal("", open.stderr)
    assert.equal("t4.json: 2 rows without name, device, problem, for which T4 has no place\n", open.stdout)
    local cut = luhip({ "convert", "cut.json", "cut.csv" }, folder)
    assert.equal("luhip tune: cut.json: it ends early, in the middle of a record; read is what is whole\n", cut.stderr)
    assert.equal(0, cut.code)
  end)

  it("refuses a scheme that it does not know, wherever a store is named", function()
    local path, folder = script ""
    local url = "postgre://u@h/b"
    local s = store.open(folder .. "/a.tune")
    s:close()
    local words =
      { { "--store", url, path }, { "inspect", url }, { "merge", url, "a.tune" }, { "merge", "b.tune", url } }
    words[#words + 1] = { "convert", "a.tune", url .. ".tune" }
    for _, given in ipairs(words) do
      local result = luhip(given, folder)
      assert.is_true(result.code ~= 0)
      assert.truthy(
        result.stderr:find("'postgre://' is no scheme that is known; there are postgres://", 1, true),
        result.stderr
      )
    end
    assert.is_nil(core.folder_names(folder .. "/postgre:"))
  end)

  it("leaves nothing behind when there is no room for what prune writes", function()
    local folder = support.temporary_directory()
    local s = store.open(folder .. "/a.tune")
    for i = 1, 9 do
      s:append { kind = "row", key = "k", name = ("n"):rep(1000), params = { A = i }, status = "ok", ms = i }
    end
    s:close()
    local before = support.read_file(folder .. "/a.tune")
    local limited = { "sh", "-c", 'trap "" XFSZ; ulimit -f 2; exec "$@"', "sh", support.interpreter }
    table.move({ support.root .. "/lua/luhip/cli.lua", "tune", "prune", "a.tune" }, 1, 4, #limited + 1, limited)
    local result = support.run(limited, { env = support.environment(), directory = folder })
    assert.equal(1, result.code)
    assert.equal("luhip tune: cannot append a record to a.tune.new: File too large\n", result.stderr)
    assert.is_nil(io.open(folder .. "/a.tune.new"))
    assert.equal(before, support.read_file(folder .. "/a.tune"))
  end)

  it("says what it left out, and refuses to guess", function()
    local folder = support.temporary_directory()
    local s = store.open(folder .. "/a.tune")
    for i, name in ipairs { "k", "k", "other" } do
      s:append { kind = "row", key = name, name = name, params = { A = i, B = true }, status = "ok", ms = i, time = i }
    end
    s:append { kind = "later", key = "x", params = {} }
    s:append { kind = "default", name = "k", params = { A = 7 } }
    s:close()
    local function run(code, words, ...)
      local result = luhip(words, folder)
      assert.equal(code, result.code, result.stderr)
      for _, text in ipairs { ... } do
        assert.truthy((result.stdout .. result.stderr):find(text, 1, true), result.stdout .. result.stderr)
      end
    end
    run(0, { "inspect", "a.tune" }, "3 records, 0 damaged lines, 1 of a later version", "1 ms", "default of k: A=7")
    local file = assert(io.open(folder .. "/a.tune", "a"))
    file:write "deadbeef {"
    file:close()
    run(0, { "inspect", "a.tune" }, "3 records, 1 damaged line, 1 of a later version")
    run(0, { "merge", "c.tune", "a.tune" }, "a.tune: passed over: 1 damaged line, 1 of a later version", "3 rows added")
    run(0, { "convert", "--format", "kernel_tuner", "a.tune", "kt.json" }, "2 rows, those of the first", "left out: 1")
    assert.truthy(support.read_file(folder .. "/kt.json"):find('"1,True"', 1, true), "keys as Python has them")
    run(0, { "convert", "kt.json", "b.tune" }, "2 rows, 2 of them added")
    run(0, { "convert", "kt.json", "b.tune" }, "2 rows, 0 of them added")
    os.rename(folder .. "/kt.json", folder .. "/kt")
    run(0, { "convert", "kt", "b.tune" }, "2 rows, 0 of them added")
    for _, to in ipairs { "o.xyz", "o", ".tune", "x.tune/o" } do
      run(2, { "convert", "a.tune", to }, ("'%s'"):format(to), ".tune (a store), .json or .csv")
    end
    run(2, { "convert", "--format", "t4", "a.tune", "o.csv" }, "--format is of a JSON file")
    run(2, { "convert", "--name", "n", "a.tune", "o.csv" }, "--name and --device are of rows that come from JSON")
    run(1, { "merge", "nowhere/o.tune", "a.tune" }, "there is no folder nowhere")
    run(1, { "convert", "a.tune", "nowhere/o.tune" }, "there is no folder nowhere")
    assert.is_nil(io.open(folder .. "/nowhere"))
    run(0, { "convert", "a.tune", "o.csv" }, "3 rows")
    local csv = support.read_file(folder .. "/o.csv")
    for _, words in ipairs { { "inspect", "o.csv" }, { "merge", "m.tune", "o.csv" }, { "merge", "o.csv", "a.tune" } } do
      run(1, words, "o.csv: it is no store of tuning runs")
    end
    assert.equal(csv, support.read_file(folder .. "/o.csv"))
    run(0, { "prune", "a.tune", "--keep", "1" }, "2 of 3 rows kept")
    run(0, { "inspect", "a.tune" }, "2 records, 0 damaged lines, 1 of a later version", "default of k: A=7")
    run(2, { "prune", "postgres://x/y" }, "a store's file expected")
  end)

  it("names what is wrong with its arguments", function()
    local folder = support.temporary_directory()
    for text, words in pairs {
      ["a script is missing"] = { "--resume" },
      ["neither seconds"] = { "--budget", "x", "nowhere.lua" },
      ["unknown option '--bugdet'"] = { "--bugdet", "5", "nowhere.lua" },
      ["--store needs a value"] = { "--store" },
      ["--worker: 'x.tune' is no database"] = { "--worker", "x.tune", "x" },
      ["--worker names the store already"] = { "--worker", "postgres://x/y", "--store", "z", "x" },
      ["OUT and at least one store"] = { "merge", "x" },
    } do
      support.write_file(folder .. "/x", "")
      local result = luhip(text:find "neither" and { "--budget", "x", "x" } or words, folder)
      assert.equal(2, result.code, text)
      assert.truthy(result.stderr:find(text, 1, true), result.stderr)
    end
    local result = luhip({ "inspect", "nowhere.tune" }, folder)
    assert.equal(1, result.code)
    assert.truthy(result.stderr:find("nowhere.tune", 1, true))
    result = luhip({ "nowhere.lua" }, folder)
    assert.equal(1, result.code)
    assert.truthy(result.stderr:find("cannot open nowhere.lua", 1, true))
  end)

  it("says of a folder that it is one, once", function()
    local folder = support.temporary_directory()
    for _, words in ipairs { { "inspect", folder }, { "convert", folder, folder .. "/x.csv" } } do
      local result = luhip(words, folder)
      assert.equal(1, result.code)
      assert.equal(("luhip tune: cannot read %s: Is a directory\n"):format(folder), result.stderr)
    end
    support.assert_error_kind("file", function()
      require("luhip.tune").load_t1(folder)
    end, folder .. ": Is a directory")
  end)
end)
