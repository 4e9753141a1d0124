-- Configurations in a process of their own: from the start, or from when this process has lost its device. What happens
-- to a process is injected in all of them alike: a module stands before luhip.tune.trial and is a wrapper of it.
local store = require "luhip.tune.store"
local support = require "spec.support"

-- `at(config)` is called before a configuration is tried, wherever that is. `lose()` has the device lost from its next
-- wait on; `first(name)` is true once for all processes.
local WRAPPER = [[
local testing = require("luhip.core").testing
local trial = dofile "%s/lua/luhip/tune/trial.lua"
local run = trial.run
local function lose()
  testing.driver_fail { call = "hipStreamQuery", error = "hipErrorIllegalAddress", sticky = true }
end
local function first(name)
  return (os.execute("mkdir '%s/" .. name .. "' 2>/dev/null"))
end
local function log(text)
  local file = assert(io.open("%s/log", "a"))
  file:write(text, "\n")
  file:close()
end
local function at(config, self)
  %s
end
function trial.run(self, config, row)
  log(config.A)
  at(config, self)
  return run(self, config, row)
end
return trial
]]

-- Configurations 1 to 8, of which 7 is the best by its metric; `more` are further options.
local SCRIPT = [[
local luhip = require "luhip"
local tune = require "luhip.tune"
local dev = luhip.open { device = ..., timeout = 5000 }
local n = 64
local x, y = dev:buffer("f32", n, 3), dev:buffer("f32", n, 1)
local given = {
  name = "k", device = dev, kernel = "k", params = { A = tune.range(1, 8) }, grid = 1, block = 64,
  source = 'extern "C" __global__ void k(const float *x, float *y, int n) {\n'
    .. '  int i = threadIdx.x; if (i < n) y[i] = x[i] * (A == WRONG ? 3 : 2); }',
  compile = { defines = { WRONG = 0 } },
  args = { x, y, n }, access = { y = "out" }, measure = { max_samples = 3 }, progress = false,
  expect = { y = x:read():map(function(v) return 2 * v end) },
  metrics = { cost = function(row) return math.abs(row.params.A - 7) end }, objective = "cost",
}
for key, value in pairs { %s } do
  given[key] = value
end
if type(given.source) == "function" or given.plain then
  given.access, given.plain = nil, nil
end
local ok, r = pcall(tune, given)
if not ok then
  print("raised", luhip.is_error(r) and r.kind, luhip.is_error(r) and r.message or r)
  os.exit(0, true)
end
print(r.stopped, r.best and r.best.params.A, pcall(x.read, x))
for _, row in ipairs(r.rows) do
  print(row.params.A, row.status, row.error and row.error.message or "")
end
for _, warning in ipairs(r.warnings) do
  print("warning", warning)
end
print("y", pcall(y.read, y))
]]

support.each_device(function(id)
  local folder
  before_each(function()
    folder = support.temporary_directory()
    os.execute("mkdir -p " .. folder .. "/luhip/tune")
  end)

  -- Runs the script; gives its lines, and rows as "A status".
  local function run(at, more, options)
    support.write_file(folder .. "/luhip/tune/trial.lua", WRAPPER:format(support.root, folder, folder, at))
    support.write_file(folder .. "/script.lua", SCRIPT:format(more or ""))
    options = options or {}
    local command = options.command or { support.interpreter, "script.lua", id }
    local environment = support.environment()
    environment.LUA_PATH_5_4 = folder .. "/?.lua;" .. environment.LUA_PATH_5_4
    local result = support.run(command, { env = environment, directory = folder })
    assert.equal(0, result.code, result.stdout .. result.stderr)
    local rows = {}
    for a, status in result.stdout:gmatch "%f[^\n%z](%d+)\t(%l+)" do
      rows[#rows + 1] = a .. " " .. status
    end
    return result.stdout, rows
  end

  local function logged()
    local list = {}
    for line in support.read_file(folder .. "/log"):gmatch "%d+" do
      list[#list + 1] = math.tointeger(tonumber(line))
    end
    return list
  end

  local function statuses(failed)
    local list = {}
    for a = 1, 8 do
      list[a] = a .. " " .. (failed[a] or "ok")
    end
    return list
  end

  local function has(text, ...)
    for _, part in ipairs { ... } do
      assert.truthy(text:find(part, 1, true), text)
    end
  end

  it("a lost device is replaced by a process, exactly one configuration is blamed, and the sweep goes on", function()
    for _, at in ipairs { "if config.A == 3 then lose() end", "if config.A == 3 or config.A == 6 then lose() end" } do
      os.remove(folder .. "/log")
      local out, rows = run(at, "store = 'k.tune'")
      assert.same(statuses { [3] = "fault", [6] = at:find "6" and "fault" or nil }, rows)
      has(out, "nil\t7\tfalse", "hipErrorIllegalAddress", "warning\t" .. id .. " did not survive A=3")
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, logged())
      local kept = store.read(folder .. "/k.tune"):rows()
      assert.equal(8, #kept)
      os.remove(folder .. "/log")
      local again, same = run("", "store = 'k.tune'") -- a new process has its device, and finds everything there
      assert.same(rows, same)
      has(again, "nil\t7\ttrue")
      assert.is_nil(io.open(folder .. "/log"))
      os.remove(folder .. "/k.tune")
    end
  end)

  it("a device that is lost before a configuration did anything is nobody's fault", function()
    local out, rows = run [[
      if (config.A == 3 or config.A == 5) and first("lost" .. config.A) then
        lose()
        pcall(self.arguments.restore, self.arguments)
        pcall(self.plan.device.sync, self.plan.device)
      end]]
    assert.same(statuses {}, rows, out)
    assert.same({ 1, 2, 3, 3, 4, 5, 5, 6, 7, 8 }, logged())
    has(out, "nil\t7\tfalse")
  end)

  it("the finalists are measured again where the device is", function()
    local out = run("if config.A == 2 then lose() end", "objective = 'ms'")
    assert.is_nil(out:find("could not be measured again", 1, true), out)
  end)

  it("with isolate each configuration may take its process with it, and this one stays as it was", function()
    local out, rows = run(
      [[
      if config.A == 2 then
        os.execute "kill -KILL $PPID"
      elseif config.A == 4 then
        lose()
      elseif config.A == 6 then
        while true do end
      elseif config.A == 8 then
        os.exit(9)
      end]],
      "isolate = true, hang = 3, compile = { defines = { WRONG = 5 } }"
    )
    assert.same(statuses { [2] = "fault", [4] = "fault", [5] = "verify", [6] = "timeout", [8] = "fault" }, rows, out)
    has(out, "died of SIGKILL", "no end within 3 s", "ended by itself, code 9", "nil\t7\ttrue", "'y': 64 of 64 values")
    has(out, "y\ttrue\tluhip.array: f32[64]: 1, 1")
    assert.is_nil(out:find("warning", 1, true), out)
  end)

  it("checks, arguments and sources that are functions are asked here, for each configuration", function()
    local functions = [[
      isolate = true,
      kernel = function(p) return "k" .. p.A end,
      source = function(p)
        return ('extern "C" __global__ void k%d(const float *x, float *y, int n) { y[threadIdx.x] = x[0] * n; }')
          :format(p.A)
      end,
      compile = {},
      grid = function(p) return p.A end, block = function() return 64 end,
      args = { x, y, function(p) return p.A end },
    ]]
    local out, rows = run(
      "",
      functions .. "expect = { y = function(array, p) return array[64] == 3 * p.A and p.A ~= 2, 'it is two' end }"
    )
    assert.same(statuses { [2] = "verify" }, rows, out)
    has(out, "'y': it is two")
    local other, same = run(
      "",
      functions
        .. "expect = function(a, p) assert(p.A ~= 4, 'four') "
        .. "return a.y[1] == 3 * p.A and a[1][5] == 3 and a.n == p.A and p.A ~= 5 end"
    )
    assert.same(statuses { [4] = "verify", [5] = "verify" }, same, other)
    has(other, "four")
    for _, raised in ipairs {
      { "expect = function(a) return a.z end", "the kernel has no parameter 'z'" },
      { "expect = { z = { 1 } }", "the kernel has no parameter 'z'" },
      { "args = { x, y, 1, 2 }", "'args' has 4" },
      { "kernel = 'other'", "other" },
      { "grid = function() error 'mine' end", "mine" },
      { "args = { x, y, function() return dev:buffer('f32', 1) end }", "gives a buffer that is not there itself" },
    } do
      has(run("", "isolate = true, plain = true, " .. raised[1]), raised[2])
    end
  end)

  it("a reference kernel runs here, and what it left is what counts there", function()
    local out, rows = run(
      "",
      "isolate = true, expect = { y = true }, compile = { defines = { WRONG = 2 } }, "
        .. "reference = { grid = 1, block = 64, params = { A = 1 } }"
    )
    assert.same(statuses { [2] = "verify" }, rows, out)
  end)

  it("what kernels print there comes out", function()
    if not id:find "^cpu" then
      pending "printf of a GPU comes when its driver likes"
    end
    local source = [=[
      #include <stdio.h>
      extern "C" __global__ void k(const float *x, float *y, int n) {
        y[threadIdx.x] = 2 * x[threadIdx.x];
        if (threadIdx.x == 0) printf("kernel says %d\n", n);
      }]=]
    local out = run("", ("isolate = true, params = { A = { 7 } }, source = %q"):format(source))
    has(out, "kernel says 64")
  end)

  it("is told what the script has set", function()
    local out, rows = run(
      [[
      local core = require "luhip.core"
      if require("luhip").config "timeout" ~= 4321 or self.plan.device.timeout ~= 5000 then
        os.exit(1)
      end]],
      "isolate = (luhip.config { timeout = 4321 } or true)"
    )
    assert.same(statuses {}, rows, out)
  end)

  it("compiles ahead there as well, and a search is the same wherever its configurations are tried", function()
    local search = "strategy = 'annealing', seed = 4, budget = 6, ahead = 0, "
    local _, here = run("", search)
    local _, there = run("", search .. "isolate = true")
    assert.same(here, there)
    local out, rows = run("if config.A == 4 then lose() end", "isolate = true, ahead = 3")
    assert.same(statuses { [4] = "fault" }, rows, out)
    out, rows = run("if config.A == 4 then lose() end", "ahead = 3")
    assert.same(statuses { [4] = "fault" }, rows, out)
  end)

  it("several devices have a process each, and each its own when it is lost", function()
    if not id:find "^cpu" then
      pending "one device"
    end
    local two = "device = { dev, luhip.open 'cpu:0/64' }, "
    local out, rows =
      run("if config.A == 2 then lose() end if config.A == 5 then os.exit(9) end", two .. "isolate = true")
    assert.same(statuses { [2] = "fault", [5] = "fault" }, rows, out)
    has(out, "nil\t7\ttrue")
    -- every device of the process is lost at once: the other one maybe in the middle of something
    out, rows = run("if config.A == 2 and self.place == 'cpu:0' then lose() end", two .. "ahead = 2")
    local failed = 0
    for _, row in ipairs(rows) do
      failed = failed + (row:find "ok" and 0 or 1)
    end
    assert.is_true(#rows == 8 and failed <= 2, out)
    has(out, "2\tfault")
    has(out, "nil\t7\tfalse")
  end)

  it("ends with what was found where no other process can be had, and says how to go on", function()
    local out, rows = run("if config.A == 3 then lose() end", "isolate = false, store = 'k.tune'")
    assert.same({ "1 ok", "2 ok", "3 fault" }, rows)
    has(out, "poisoned\t2\tfalse")
    os.remove(folder .. "/k.tune")
    out, rows = run("if config.A == 3 then lose() package.path = '' package.cpath = '' end", "store = 'k.tune'")
    assert.same({ "1 ok", "2 ok", "3 fault" }, rows)
    has(out, "poisoned\t2", "no other process can try the rest", "before it was ready", "run the script again")
    local _, all = run("", "store = 'k.tune'")
    assert.same(statuses { [3] = "fault" }, all)
    out = run("", "isolate = true, plain = true, args = { x, y, coroutine.create(print) }")
    has(out, "raised\ttype\ttune: isolate: argument 3: a thread cannot be moved to another process")
  end)

  it("under luhip tune the script has a new process, or with isolate its configurations do", function()
    local command = { support.interpreter, support.root .. "/lua/luhip/cli.lua", "tune", "script.lua", id }
    for _, isolate in ipairs { "", "isolate = true" } do
      os.remove(folder .. "/log")
      os.remove(folder .. "/script.tune")
      local out, rows = run("if config.A == 3 and first 'lost' then lose() end", isolate, { command = command })
      assert.same(statuses { [3] = "fault" }, rows, out)
      has(out, "nil\t7\ttrue")
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, logged())
      os.execute("rm -rf " .. folder .. "/lost")
    end
  end)
end)
