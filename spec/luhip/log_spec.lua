-- Loggers (L2): topics, levels, sinks.
local support = require "spec.support"

local SOURCE = [[extern "C" __global__ void one(float *x) { x[threadIdx.x] = 1; }
extern "C" __global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }
extern "C" __global__ void wild(float *x) { x[1ll << 40] = 1; }]]

support.each_device(function(id)
  local luhip = require "luhip"
  local lines

  local function start(levels)
    lines = {}
    levels.sink = function(topic, level, text)
      lines[#lines + 1] = ("%s %s %s"):format(topic, level, text)
    end
    luhip.config { log = levels }
    support.defer(function()
      luhip.config { log = { level = "off", sink = "stderr" } }
      for _, topic in ipairs { "compile", "memory", "streams", "launches", "tune" } do
        require("luhip.core").config_set("script", "log." .. topic, nil)
      end
    end)
  end

  local function count(pattern)
    local found = 0
    for _, line in ipairs(lines) do
      found = found + (line:find(pattern) and 1 or 0)
    end
    return found
  end

  it("L2 each topic has a level of its own, which changes at run time", function()
    local dev = support.open(id)
    start { level = "off", launches = "full" }
    local k = dev:kernel(SOURCE, "one")
    local x = dev:buffer("f32", 4)
    k:launch({ grid = 1, block = 4 }, x)
    assert.equal(1, count "^launches full kernel 'one' on")
    assert.equal(#lines, count "^launches ")
    luhip.config { log = { launches = "off", memory = "full" } }
    k:launch({ grid = 1, block = 4 }, x)
    dev:buffer("f32", 4, 0):free()
    assert.equal(1, count "^launches")
    assert.is_true(count "^memory full" >= 2)
    luhip.config { log = { memory = "off" } }
    local before = #lines
    dev:buffer("f32", 4, 0):free()
    assert.equal(before, #lines)
  end)

  it("L2 basic tells events, full tells everything", function()
    local dev = support.open(id)
    start { level = "basic" }
    local stream <close> = dev:stream()
    assert.equal("luhip.stream", tostring(stream):match "^[%w.]+")
    assert.equal(1, count "^streams basic stream %d+ of .* made")
    local k = dev:kernel(SOURCE .. "// basic", "one")
    assert.equal(1, count "^compile basic 'kernel.hip' for .* in [%d.]+ ms")
    k:launch({ grid = 1, block = 4 }, dev:buffer("f32", 4))
    assert.equal(0, count " full ")
    assert.is_false(pcall(dev.kernel, dev, "int x = ;"))
    assert.equal(1, count "^compile basic 'kernel.hip' for .* failed after .*: cannot compile")
    luhip.config { log = { level = "full" } }
    assert.is_false(pcall(dev.kernel, dev, "int y = ;", { defines = { A = 1 } }))
    assert.equal(1, count "^compile full 'kernel.hip': define A 1")
  end)

  it("L2 a sink is called when no lock is held, and may use the device", function()
    local dev = support.open(id)
    local k = dev:kernel(SOURCE, "one")
    local seen = 0
    start { launches = "full" }
    local x, y = dev:buffer("f32", 4), dev:buffer("f32", 4)
    luhip.config {
      log = {
        sink = function()
          seen = seen + 1
          if seen < 3 then
            k:launch({ grid = 1, block = 4 }, y) -- logs a line of its own
            assert.equal(1, y:read()[4])
          end
        end,
      },
    }
    k:launch({ grid = 1, block = 4 }, x)
    x:read()
    y:read()
    dev:sync()
    dev:sync()
    assert.equal(3, seen)
  end)

  it("L2 an error in a sink ends the sink, not the work", function()
    local code = [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      local calls = 0
      luhip.config { log = { level = "full", sink = function() calls = calls + 1 error "broken sink" end } }
      local x = dev:buffer("f32", 4, 2)
      print(x:read()[4], calls)
    ]]
    local result = support.lua(code, {}, id)
    assert.equal("2.0\t1\n", result.stdout, result.stderr)
    assert.matches("warning: the log sink raised an error.*broken sink", result.stderr)
  end)

  it("L2 lines go to stderr, or are added to a file", function()
    local folder = support.temporary_directory()
    local code = [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      dev:buffer("f32", 4, 2):read()
    ]]
    local result = support.lua(code, { env = { LUHIP_LOG_MEMORY = "full" } }, id)
    assert.matches("luhip: memory: %S+ buffer %d+ has its 16 bytes\n", result.stderr)
    assert.falsy(result.stderr:find("luhip: streams:", 1, true))
    support.write_file(folder .. "/log", "before\n")
    result = support.lua(code, { env = { LUHIP_LOG = "basic", LUHIP_LOG_SINK = folder .. "/log" } }, id)
    assert.equal("", result.stderr)
    assert.matches("^before\nluhip: streams: device .* opened", support.read_file(folder .. "/log"))
  end)

  it("L2 what is taken from the driver and given back is told, and what a plan makes up is not", function()
    local code = [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      dev:plan(function()
        dev:buffer("u8", 7 << 20, 0)
      end)
      io.stderr:write "planned\n"
      dev:buffer("u8", 5 << 20, 2):free()
      dev:sync()
      dev:memory_cleanup()
    ]]
    local result = support.lua(code, { env = { LUHIP_LOG_MEMORY = "basic", LUHIP_MEMORY_POOLS = "direct" } }, id)
    assert.matches("^planned\n", result.stderr)
    for _, done in ipairs { "taken from", "given back to" } do
      local line = ("luhip: memory: %s: 5242880 bytes of device memory %s the driver"):format(id, done)
      assert.truthy(result.stderr:find(line, 1, true), result.stderr)
    end
  end)

  it("L2 a file that cannot be opened is an error, and the old sink stays", function()
    start { level = "full" }
    support.assert_error_kind("config", function()
      luhip.config { log = { sink = "/nonexistent/folder/log" } }
    end, "log.sink", "/nonexistent/folder/log", "No such file")
    local dev = support.open(id)
    dev:buffer("f32", 4, 0):free()
    assert.is_true(#lines > 0)
  end)

  it("L2 a skipped launch is told at basic level", function()
    if id:match "^rocm" or id:match "^cuda" then
      pending "a fault ends the device"
    end
    local dev = support.open(id)
    local prog = dev:compile(SOURCE)
    local x, y = dev:buffer("f32", 4, 0), dev:buffer("f32", 4, 0)
    start { launches = "basic" }
    prog:kernel("wild"):launch({ grid = 1, block = 1 }, x)
    pcall(dev.sync, dev)
    prog:kernel("add"):launch({ grid = 1, block = 1 }, x, y)
    assert.equal(1, count "^launches basic kernel 'add' was skipped")
  end)

  it("L2 a tuning run tells its begin and end, at full every configuration", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, 0)
    local function run()
      return require "luhip.tune" {
        name = "logged",
        device = dev,
        source = SOURCE,
        kernel = "one",
        params = { P = { 1, 2 } },
        grid = function()
          return 1
        end,
        block = function()
          return 4
        end,
        args = { x },
        progress = false,
      }
    end
    start { tune = "basic" }
    run()
    assert.equal(1, count "^tune basic 'logged' on .* begins$")
    assert.equal(1, count "^tune basic 'logged' on .* ends after 2 configurations; best: P=[12] with [%d.e-]+ ms$")
    assert.equal(2, #lines)
    luhip.config { log = { tune = "full" } }
    run()
    assert.equal(2, count "^tune full P=[12]: ok [%d.e-]+ ms$")
  end)

  it("L2 a sink goes with its state", function()
    local code = [[
      local luhip = require "luhip"
      luhip.config { log = { level = "full", sink = function() end } }
      local dev = luhip.open(...)
      dev:buffer("f32", 4, 2):read()
      os.exit(true, true)
    ]]
    local result = support.lua(code, {}, id)
    assert.equal(0, result.code)
    assert.falsy(result.stderr:find("error", 1, true))
  end)
end)
