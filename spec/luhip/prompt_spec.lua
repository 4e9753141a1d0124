-- The prompt at a terminal: a pseudo-terminal into which these specs type.

local core = require "luhip.core"
local support = require "spec.support"
local terminal = require "spec.support.terminal"

local complete = require "luhip.prompt.complete"
local caret = require "luhip.prompt.caret"

local WELCOME = "luhip 0.1.0, dev is cpu:0; :help tells more\n"

describe("the prompt at a terminal", function()
  support.scope()
  local home

  before_each(function()
    home = support.temporary_directory()
  end)

  -- options: columns, env (false unsets); further words are the command's.
  local function start(options, ...)
    options = options or {}
    local env = support.environment {
      HOME = home,
      XDG_STATE_HOME = "",
      XDG_CONFIG_HOME = "",
      LUHIP_DEVICE = "cpu",
      TERM = "xterm",
      LC_ALL = "C.UTF-8",
    }
    local words = { "env" }
    for name, value in pairs(options.env or {}) do
      env[name] = value
    end
    for name, value in pairs(env) do
      if value then
        words[#words + 1] = name .. "=" .. value
      else
        table.insert(words, 2, "-u")
        table.insert(words, 3, name)
      end
    end
    table.move(
      { support.interpreter, support.root .. "/lua/luhip/cli.lua", ... },
      1,
      2 + select("#", ...),
      #words + 1,
      words
    )
    return terminal.start(words, { columns = options.columns, pending = pending })
  end

  local function leave(t)
    t:type "\4"
    assert.equal(0, t:finish())
  end

  local has_libedit = core.find_library { "libedit.so.2" } ~= nil

  -- A spec of what only an editor does.
  local function edited(name, body)
    it(name, function()
      if not has_libedit then
        pending "libedit is not installed"
      end
      body()
    end)
  end

  it("answers as the README shows", function()
    local session = support.read_file(support.root .. "/README.md"):match "\n```\n(luhip %S+, dev is .-)```"
    local shown, typed = "", {}
    for line in session:gmatch "[^\n]+" do
      typed[#typed + 1] = line:match "^>>? (.*)"
    end
    assert.is_true(#typed >= 5)
    local t = start()
    for _, line in ipairs(typed) do
      shown = shown .. t:expect "> " .. "> "
      t:type(line .. "\r")
      shown = shown .. t:expect(line) .. line
    end
    shown = shown .. t:expect "\n> "
    assert.equal(session, shown .. "\n")
    leave(t)
  end)

  it("Ctrl-C ends the line, a running chunk and a wait for the device, each time; Ctrl-D leaves", function()
    local t = start()
    t:expect "> "
    t:type "for i = 1, 2 do\r"
    t:expect ">> "
    t:type "\3"
    t:expect "\n> "
    for _ = 1, 2 do
      t:type "io.write('runs', '-now') io.flush() while true do end\r"
      t:expect "runs-now"
      t:type "\3"
      t:expect "interrupted\n> "
    end
    t:type 'k = dev:kernel[[extern "C" __global__ void spin(volatile int *x) { while (!*x) {} }]]\r'
    t:expect "\n> "
    t:type "x = dev:buffer('i32', 1, 0)\r"
    t:expect "\n> "
    t:type "io.write('waits', '-now') io.flush() k:launch({ grid = 1, block = 1 }, x) dev:sync()\r"
    t:expect "waits-now"
    t:type "\3"
    t:expect "interrupted\n> "
    t:type "6 * 7\r"
    t:expect "42\n> "
    t:type "os.exit(3)\r"
    assert.equal(3, t:finish())
  end)

  edited("edits lines, also with letters of more bytes", function()
    local t = start()
    t:expect "> "
    t:type "12\27[D+\r" -- between 1 and 2
    t:expect "\n3\n> "
    t:type "#'äöü', 'zürich'\r"
    t:expect "\n6\tzürich\n> "
    leave(t)
  end)

  edited("completes with Tab", function()
    local t = start()
    t:expect "> "
    t:type "luhip.vers\t\r"
    t:expect "0.1.0\n> "
    t:type "dev:memory_cl\t()\r"
    t:expect "\n> "
    t:type "dev:memory\t"
    t:expect "memory          memory_cleanup"
    t:expect "\n> dev:memory"
    t:type "\3"
    t:expect "\n> "
    leave(t)
  end)

  edited("remembers earlier sessions in a file of the user's alone", function()
    local t = start()
    t:expect "> "
    t:type "first = 'one'\r"
    t:expect "\n> "
    t:type "\r"
    t:expect "\n> "
    t:type "first, 2\r"
    t:expect "one\t2\n> "
    leave(t)
    local path = home .. "/.local/state/luhip/history"
    assert.equal("first = 'one'\nfirst, 2\n", support.read_file(path))
    assert.equal("600\n", support.run({ "stat", "-c", "%a", path }).stdout)

    t = start()
    t:expect "> "
    t:type "\27[A\27[A\r"
    t:expect "\n> "
    t:type "first\r"
    t:expect "one\n> "
    leave(t)
  end)

  it("does without a home, with one that cannot be written, and without lines to edit", function()
    support.write_file(home .. "/file", "")
    local odd = {
      { env = { HOME = false } },
      { env = { HOME = home .. "/file" } },
      { env = { XDG_STATE_HOME = "/proc/nothing" } },
      { env = { TERM = "dumb" } },
      { env = { TERM = false } },
      { env = { TERM = "no-such-terminal" } },
      { env = { LC_ALL = "no_SUCH" } },
      { columns = 1 },
      { columns = 5 },
      { columns = 0 },
    }
    for _, options in ipairs(odd) do
      local t = start(options)
      t:expect "> "
      t:type "'still' .. ' here'\r"
      t:expect "still here"
      t:expect "> "
      leave(t)
      assert.is_nil(t.all:find("attempt to", 1, true), t.all)
    end
  end)

  it("goes on when the window has become tiny, or large", function()
    local t = start()
    t:expect "> "
    for _, columns in ipairs { 3, 200 } do
      t:resize(columns, 2)
      t:type "1 + 1\r"
      t:expect "2\n"
      t:expect "> "
    end
    leave(t)
  end)

  it("goes on with the line after it was stopped and continued", function()
    local t = start()
    t:expect "> "
    t:type "20 +"
    t:expect "20 +"
    os.execute(("kill -STOP %d && kill -CONT %d"):format(t.process, t.process))
    t:type " 22\r"
    t:expect "\n42\n> "
    leave(t)
  end)

  it("has commands of its own", function()
    local t = start()
    assert.equal(WELCOME, t:expect "> ")
    for line, answer in pairs {
      [":help"] = "Ctrl-D leaves.",
      [":devices"] = "cpu:0",
      [":mem"] = "in use by 0 buffers",
      [":doc luhip.open"] = "Opens a device",
      [":doc dev:time"] = "Milliseconds on the device",
      [":doc opem"] = "did you mean 'open'?",
      [":tine 1"] = "no command ':tine'; did you mean ':time'?",
      [":time 'a value'"] = "a value\n",
      [":time error 'broken'"] = "broken",
      [":time ="] = "unexpected symbol",
    } do
      t:type(line .. "\r")
      t:expect(answer)
      t:expect "\n> "
    end
    t:type ":time dev:sync()\r"
    assert.matches("%d+%.%d+ [um]?s$", t:expect "\n> ")
    t:type "made, print, keep = 1, nil, dev\r"
    t:expect "\n> "
    t:type ":reset\r"
    t:expect "dev is cpu:0\n> "
    t:type "made, print ~= nil, keep, pcall(dev.sync, dev)\r"
    t:expect "nil\ttrue\tnil\ttrue\n> "
    leave(t)
  end)

  it("opens `dev` when it is first used, where that has to be looked for", function()
    local t = start { env = { LUHIP_DEVICE = "nothing:0" } }
    assert.equal("luhip 0.1.0, dev is opened when it is first used; :help tells more\n", t:expect "> ")
    t:type "dev\r"
    t:expect "nothing:0"
    t:expect "\n> "
    t:type "dev, luhip.version\r"
    t:expect "\n> "
    t:type "dev = 5\r"
    t:expect "\n> "
    t:type "dev\r"
    t:expect "5\n> "
    leave(t)
  end)

  it("keeps a script's own dev and metatable of the globals after -i", function()
    local path = home .. "/script.lua"
    support.write_file(path, "dev = 'mine' setmetatable(_G, { __index = function(_, k) return 'no ' .. k end })")
    local t = start(nil, "-i", path)
    t:expect "> "
    t:type "dev, nothing\r"
    t:expect "mine\tno nothing\n> "
    leave(t)
  end)
end)

describe("completion at the prompt", function()
  local commands = { "devices", "doc", "help" }

  local function words(text)
    return table.concat(complete.candidates(text, commands), " ")
  end

  it("knows globals, fields, methods, commands, and device ids in strings", function()
    assert.equal("tonumber tostring", words "x = to")
    assert.equal("rep reverse", words "print(string.re")
    assert.equal("devices doc", words ":d")
    assert.matches("cpu:0", words "luhip.open 'cp")
    assert.matches("cpu:0", words 'luhip.open { device = "cpu:')
    assert.equal("f32", words "dev:buffer('f32")
    assert.equal("", words "string.nothing.at.")
    assert.equal("", words "x = 12")
    assert.equal("", words "-- luhip.open 'never seen")
    assert.equal("while", words "whi")
  end)

  it("knows what luhip loads when it is asked for, and classes' methods and fields", function()
    _G.spec_value = { luhip = require "luhip", dev = require("luhip").open "cpu" }
    finally(function()
      _G.spec_value.dev:close()
      _G.spec_value = nil
    end)
    assert.equal("elementwise", words "spec_value.luhip.elem")
    assert.equal("memory_cleanup", words "spec_value.dev:memory_cl")
    assert.matches("warp_size", words "spec_value.dev.")
    assert.equal("id", words "spec_value.dev.id")
  end)

  it("calls nothing of the user's", function()
    _G.spec_value = setmetatable({}, {
      __index = function()
        error "called"
      end,
    })
    finally(function()
      _G.spec_value = nil
    end)
    assert.equal("", words "spec_value.x.y")
    assert.equal("", words "spec_value.")
  end)

  it("inserts what all candidates share, and lists them when there is nothing to insert", function()
    assert.same({ "ing." }, { (complete.tab("str", commands) or "") .. "." })
    assert.same({ nil, "devices  doc" }, { complete.tab(":d", commands) })
    assert.is_nil((complete.tab("string.nothing_at_all", commands)))
    assert.equal("  ", (complete.tab("", commands)))
  end)
end)

describe("the caret", function()
  local function at(code, text)
    local _, why = load(code, "=stdin")
    if not why then
      why = select(2, pcall(load(code, "=stdin")))
    end
    local shown = caret(text or why, { code }, 1)
    return shown and #shown:match "\n  ( *)%^$" + 1
  end

  it("stands below the token that does not fit, or the name that failed", function()
    assert.equal(5, at "x = = 1")
    assert.equal(10, at "x, y = 1 1")
    assert.equal(5, at "x = nosuch.field")
    assert.equal(8, at "string.nosuch()")
    assert.equal(7, at "('x'):nosuch()")
    assert.equal(3, at "  error 'no name in it'")
    assert.equal(8, at "x = 1 +")
    assert.equal(11, at "x = 'äö', = 1")
    assert.equal(
      11,
      at("print(dev.uints)", "stdin:1: a luhip.device has no field or method 'uints'; did you mean 'units'?")
    )
    assert.is_nil(at("x", "no place in it"))
    assert.is_nil(at("x", "stdin:9: a line that was not read"))
  end)

  it("is in the part of a long line that is shown", function()
    local code = ("x = 1; "):rep(40) .. "nosuch()"
    local shown = caret("stdin:1: attempt to call a nil value (global 'nosuch')", { code }, 1)
    local line, below = shown:match "^  ([^\n]*)\n  (.*)$"
    assert.is_true(#line <= 76)
    assert.equal("nosuch", line:sub(#below, #below + 5))
  end)
end)
