-- Settings (L1): the layers, the two files and what is refused in them, the environment, the script.
local support = require "spec.support"

describe("configuration", function()
  support.scope()

  -- Runs code in a folder below `base`, whose home holds the user's file. Files by their place below the folder.
  local function run(code, files, env)
    local folder = support.temporary_directory()
    support.run("mkdir -p home/luhip work/deep/deeper", { directory = folder })
    for name, text in pairs(files or {}) do
      support.write_file(folder .. "/" .. name, text)
      support.run({ "chmod", "600", name }, { directory = folder })
    end
    local all = { XDG_CONFIG_HOME = folder .. "/home" }
    for name, value in pairs(env or {}) do
      all[name] = value
    end
    local chunk = "local luhip = require 'luhip'\nlocal function try(...) local ok, e = pcall(...) "
      .. "if ok then return 'ok' end return luhip.is_error(e) and e.kind or 'raw', tostring(e) end\n"
      .. code
    local result = support.lua(chunk, { env = all, directory = folder .. "/work/deep/deeper" })
    assert.equal(0, result.code, result.stderr)
    return result.stdout, result.stderr, folder
  end

  it("L1 takes each layer in front of the one below it", function()
    local show = [[
      print(luhip.config "timeout")
      print(luhip.config "streaming.max_streams")
      print(luhip.config "cache.enabled")
      luhip.config { timeout = 5 }
      print(luhip.config "timeout")
      print(luhip.config "memory.limit")
    ]]
    local text, errors, folder = run(show, {
      ["home/luhip/config.lua"] = "{ timeout = 1, cache = { enabled = false }, streaming = { max_streams = 3 } }",
      ["work/luhip.conf.lua"] = "-- mine\n{ timeout = 2, streaming = { max_streams = 4 } }",
    }, { LUHIP_TIMEOUT = "3" })
    assert.equal("", errors)
    assert.equal(
      table.concat({
        "3\tenvironment\tLUHIP_TIMEOUT",
        ("4\tproject\t%s/work/luhip.conf.lua: streaming.max_streams"):format(folder),
        ("false\tuser\t%s/home/luhip/config.lua: cache.enabled"):format(folder),
        "5\tscript\tsetting 'timeout'",
        "0\tdefault\t",
        "",
      }, "\n"),
      text
    )
  end)

  it("L1 takes the nearest project file alone, and `return` before the table", function()
    local text = run("print(luhip.config 'timeout', (luhip.config 'size'))", {
      ["work/luhip.conf.lua"] = "{ timeout = 2, size = 9 }",
      ["work/deep/luhip.conf.lua"] = "-- returns nothing else\nreturn { timeout = 60 * 1000 }",
    })
    assert.matches("^60000\tnil", text)
  end)

  it("L1 reports a wrong key with its file, and the nearest right one", function()
    for _, case in ipairs {
      { "{ timout = 3 }", "timout", "did you mean 'timeout'" },
      { "{ cpu = { thread = 3 } }", "cpu.thread is", "did you mean 'cpu.threads'" },
      { "{ cpus = { threads = 3 } }", "cpus is", "did you mean 'cpu'" },
      { "{ 'timeout' }", "1 is no setting", "keys are names" },
      { "{ colour = 'red' }", "colour", "luhip doctor" },
    } do
      local text, _, folder = run("print(try(luhip.open, 'cpu'))", { ["home/luhip/config.lua"] = case[1] })
      assert.matches("^config\t", text)
      for _, fragment in ipairs { folder .. "/home/luhip/config.lua: ", case[2], case[3] } do
        assert.truthy(text:find(fragment, 1, true), fragment .. " is not in: " .. text)
      end
    end
  end)

  it("L1 refuses a key that is given twice, in its section and whole", function()
    for _, case in ipairs {
      { "{ timeout = 5, cpu = { threads = 2 }, ['cpu.threads'] = 3 }", "cpu.threads" },
      { "{ log = { level = 'off' }, ['log.level'] = 'off' }", "log.level" },
    } do
      local text, _, folder = run("print(try(luhip.open, 'cpu'))", { ["home/luhip/config.lua"] = case[1] })
      assert.matches("^config\t", text)
      for _, fragment in ipairs { folder .. "/home/luhip/config.lua: ", case[2] .. " is given twice" } do
        assert.truthy(text:find(fragment, 1, true), fragment .. " is not in: " .. text)
      end
      local script = ("print(try(luhip.config, %s)) print(luhip.config 'timeout')"):format(case[1])
      text = run(script, {})
      assert.matches("^config\t[^\n]*setting '" .. case[2] .. "' is given twice", text)
      assert.truthy(text:find("10000\tdefault", 1, true), text)
    end
  end)

  it("L1 reports a wrong type or value with file, key and what is wanted", function()
    for _, case in ipairs {
      { "{ timeout = '3' }", "timeout is a string", "milliseconds" },
      { "{ timeout = 1.5 }", "timeout is 1.5", "whole number" },
      { "{ timeout = -1 }", "timeout is '-1'", "number of milliseconds" },
      { "{ cpu = 3 }", "cpu is a number", "a table of settings" },
      { "{ cpu = { threads = 0 } }", "cpu.threads is '0'", "1 or more" },
      { "{ cpu = { memory = '4Q' } }", "cpu.memory is '4Q'", "K, M, G or T" },
      { "{ cache = { enabled = 'off' } }", "cache.enabled is a string", "true or false" },
      { "{ log = { tune = 'loud' } }", "log.tune is 'loud'", "off, basic or full" },
      { "{ streaming = { max_streams = 129 } }", "max_streams is '129'", "from 1 to 128" },
      { "{ log = { sink = print } }", "log.sink is a nil", "a string" },
      { "{ device = 'a\\0b' }", "device", "zero byte" },
    } do
      local text, _, folder = run("print(try(luhip.devices))", { ["work/luhip.conf.lua"] = case[1] })
      if case[3] ~= "a string" then -- a name without a value is not there at all
        assert.matches("^config\t", text, 1, false, case[1])
        for _, fragment in ipairs { folder .. "/work/luhip.conf.lua: ", case[2], case[3] } do
          assert.truthy(text:find(fragment, 1, true), fragment .. " is not in: " .. text)
        end
      end
    end
  end)

  it("L1 changes nothing when one of several settings is wrong", function()
    local text = run [[
      print(try(luhip.config, { timeout = 7, cache = { enabled = 7 } }))
      print(luhip.config "timeout")
      print(try(luhip.config, { timeout = 7, streaming = { max_streams = 1000 } }))
      print(luhip.config "timeout")
    ]]
    assert.matches("\n10000\tdefault\t\n.*\n10000\tdefault\t\n", text)
  end)

  it("L1 evaluates files without an environment, within limits, and nothing but a table", function()
    for _, case in ipairs {
      { "{ timeout = os.time() }", "os" },
      { "{ timeout = (function() while true do end end)() }", "too long" },
      { "{ device = (function() local s = 'x' while true do s = s .. s end end)() }", "too much memory" },
      { "{ device = ('x'):rep(1 << 40) }", "config.lua" },
      { "5", "one table" },
      { "{}, {}", "one table" },
      { "", "config.lua" },
      { "{ timeout = ", "config.lua:1" },
      { "\27Lua", "config.lua" },
      { "x = 1 return {}", "config.lua:1" },
    } do
      local text = run("print(try(luhip.open, 'cpu')) print(('x'):rep(2))", { ["home/luhip/config.lua"] = case[1] })
      local first, last = text:match "^(.-)\n([^\n]*)\n$"
      assert.matches("^config\t", first, 1, false, case[1])
      assert.truthy(first:find(case[2], 1, true), first)
      assert.equal("xx", last)
    end
  end)

  it("L1 refuses a project file that others may write, with a warning", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/luhip.conf.lua", "{ timeout = 1 }")
    local code = "print((require 'luhip'.config 'timeout'))"
    local env = { XDG_CONFIG_HOME = folder .. "/none" }
    for mode, value in pairs { ["620"] = "10000\n", ["602"] = "10000\n", ["644"] = "1\n" } do
      support.run({ "chmod", mode, "luhip.conf.lua" }, { directory = folder })
      local result = support.lua(code, { directory = folder, env = env })
      assert.equal(value, result.stdout)
      local warned = result.stderr:find(folder .. "/luhip.conf.lua is not read: it must be a file of yours", 1, true)
      assert.equal(value == "10000\n", warned ~= nil, result.stderr)
    end
    support.run({ "ln", "-s", "luhip.conf.lua", "other" }, { directory = folder })
  end)

  it("L1 refuses a project file of another user, with a warning", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/luhip.conf.lua", "{ timeout = 1 }")
    local changed = support.run({ "chown", "65534", "luhip.conf.lua" }, { directory = folder })
    if changed.code ~= 0 then
      pending "only root can give a file away"
    end
    local env = { XDG_CONFIG_HOME = folder .. "/none" }
    local result = support.lua("print((require 'luhip'.config 'timeout'))", { directory = folder, env = env })
    assert.equal("10000\n", result.stdout)
    assert.matches("luhip.conf.lua is not read", result.stderr, 1, true)
  end)

  it("L1 does not wait for a project file that is a pipe", function()
    local folder = support.temporary_directory()
    support.run({ "mkfifo", "-m", "600", "luhip.conf.lua" }, { directory = folder })
    local env = { XDG_CONFIG_HOME = folder .. "/none" }
    local code = "print((require 'luhip'.config 'timeout'))"
    local result = support.lua(code, { directory = folder, env = env, timeout = 20 })
    assert.equal("10000\n", result.stdout)
  end)

  it("L1 lets no project file name what is run or written", function()
    for _, setting in ipairs(require("luhip.config").settings) do
      if setting.own then
        local section, key = setting.key:match "^(.*)%.(.*)$"
        local file = ("{ %s = { %s = 'x' } }"):format(section, key)
        local text = run("print(try(luhip.open, 'cpu'))", { ["work/luhip.conf.lua"] = file })
        assert.matches("^config\t", text)
        assert.truthy(text:find(setting.key .. " cannot be set there", 1, true), text)
        assert.truthy(text:find(setting.variable, 1, true), text)
      end
    end
  end)

  it("L1 refuses a wrong variable of the environment, and warns of one that is none", function()
    for name, value in pairs {
      LUHIP_TIMEOUT = "soon",
      LUHIP_CACHE = "offf",
      LUHIP_LOG = "loud",
      LUHIP_CPU_THREADS = "none",
      LUHIP_CPU_CHECKED = "2",
      LUHIP_MEMORY_LIMIT = "all",
      LUHIP_MAX_STREAMS = "0",
      LUHIP_SIZE = "big",
    } do
      local text = run("print(try(luhip.open, 'cpu'))", nil, { [name] = value })
      assert.truthy(
        text:find(("config\t.-: ?%s is '%s', which is not "):format(name, value)) or text:find(name, 1, true)
      )
      assert.matches("^config\t", text)
    end
    local text, errors = run("print(try(luhip.open, 'cpu'))", nil, { LUHIP_TIMOUT = "3" })
    assert.equal("ok\n", text)
    assert.matches(
      "warning: the environment variable LUHIP_TIMOUT means nothing to luhip; did you mean LUHIP_TIMEOUT",
      errors
    )
  end)

  it("L1 an empty variable is none", function()
    local text = run("print(luhip.config 'timeout') print(try(luhip.open, 'cpu'))", nil, { LUHIP_TIMEOUT = "" })
    assert.equal("10000\tdefault\t\nok\n", text)
  end)

  it("L1 settings reach what they are for", function()
    local text = run [[
      luhip.config { device = "cpu:0/64", streaming = { max_streams = 1 }, cpu = { threads = 2, memory = "64M" },
        memory = { limit = "32M" }, ["compile.timeout"] = 1000 }
      local dev = luhip.open()
      print(dev.id, dev:memory().limit, dev.memory_bytes)
      local s = dev:stream()
      print(try(dev.stream, dev))
      local other = luhip.open "cpu:0/64"
      luhip.config { cpu = { threads = 2 } }
      dev:buffer("f32", 1, 0):read()
      print(try(luhip.config, { cpu = { memory = "128M" } }))
    ]]
    local lines = {}
    for line in text:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    assert.equal("cpu:0/64\t33554432\t67108864", lines[1])
    assert.matches("^too_many_streams.*1 streams.*streaming.max_streams is 1", lines[2])
    assert.matches("^config.*cpu.memory.*comes too late", lines[3])
  end)

  it("J7 L1 pools and the persistent mode of a device can be asked for by settings", function()
    local text = run(
      [[
      local function roles(dev)
        local x = dev:buffer("u8", 100, 1)
        for _, pool in ipairs(dev:memory_pools()) do
          if pool.live > 0 and not pool.pinned then
            io.write(pool.kind, " ", pool.role, "\n")
          end
        end
        x:free()
      end
      luhip.config { device = "cpu:0" }
      print(luhip.config "memory.pools", luhip.config "memory.persistent")
      for _, policy in ipairs { "auto", "disabled", "enforced" } do
        luhip.config { memory = { persistent = policy } }
        local dev = luhip.open()
        roles(dev)
        dev:memory_mode "persistent"
        roles(dev)
        dev:close()
      end
      local dev = luhip.open { persistent = "disabled" } -- says more than the setting
      roles(dev)
      dev:close()
      print(try(luhip.config, { memory = { persistent = "sometimes" } }))
      print(try(luhip.config, { memory = { pools = "many" } }))
    ]],
      nil,
      { LUHIP_MEMORY_POOLS = "exclusive" }
    )
    local lines = {}
    for line in text:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    assert.equal("exclusive\tauto\tdefault\t", lines[1])
    assert.same({
      "exclusive layout",
      "persistent persistent",
      "exclusive layout",
      "exclusive layout",
      "persistent persistent",
      "persistent persistent",
      "exclusive layout",
    }, table.move(lines, 2, 8, 1, {}))
    assert.matches("^config.*memory.persistent' is 'sometimes'.*auto, disabled or enforced", lines[9])
    assert.matches("^config.*memory.pools' is 'many'.*sub%-slices, exclusive or direct", lines[10])
  end)

  it("L1 the checked mode can be asked for by a setting", function()
    local text = run(
      [[
      local dev = luhip.open "cpu"
      local k = dev:kernel 'extern "C" __global__ void f(char *x) { x[48] = 1; }'
      local x = dev:buffer("u8", 20)
      k:launch({ grid = 1, block = 1 }, x)
      print(try(x.read, x))
    ]],
      nil,
      { LUHIP_CPU_CHECKED = "1" }
    )
    assert.matches("^fault", text)
  end)

  it("L1 asks for a key that exists", function()
    local luhip = require "luhip"
    support.assert_error_kind("config", function()
      luhip.config "timeouts"
    end, "'timeouts' is no setting", "did you mean 'timeout'")
    support.assert_error_kind("type", function()
      luhip.config(3)
    end, "not a number")
  end)
end)

describe("docs/configuration.md", function()
  it("lists every setting as the table has it", function()
    local text = support.read_file(support.root .. "/docs/configuration.md")
    local count = 0
    for _ in text:gmatch "\n| `" do
      count = count + 1
    end
    local settings = require("luhip.config").settings
    assert.equal(#settings, count)
    for _, setting in ipairs(settings) do
      local standard = setting.standard ~= "" and ("`%s`"):format(setting.standard) or ""
      local row = ("| `%s` | `%s` | %s | %s | %s |"):format(
        setting.key,
        setting.variable,
        setting.type .. (setting.own and " \\*" or ""),
        standard,
        setting.meaning
      )
      assert.truthy(text:find(row, 1, true), "docs/configuration.md lacks the row:\n" .. row)
    end
  end)
end)
