local support = require "spec.support"

local function luhip(words, options)
  options = options or {}
  options.env = support.environment(options.env)
  return support.run({ support.interpreter, support.root .. "/lua/luhip/cli.lua", table.unpack(words) }, options)
end

describe("the command", function()
  support.scope()

  local function script(text)
    local path = support.temporary_directory() .. "/script.lua"
    support.write_file(path, text)
    return path
  end

  it("runs a script with its arguments, as lua does", function()
    local path = script "print(arg[0], #arg, arg[1], arg[2], ..., arg[-1])"
    local r = luhip { path, "a b", "-e" }
    assert.equal(0, r.code, r.stderr)
    assert.equal(("%s\t2\ta b\t-e\ta b\tluhip\n"):format(path), r.stdout)
  end)

  it("shows an error with a traceback of the script alone, and gives 1", function()
    local path = script "local function f()\n  error 'broken'\nend\nlocal function g()\n  f()\nend\ng()\n"
    local r = luhip { path }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("script.lua:2: broken", 1, true), r.stderr)
    assert.truthy(r.stderr:find("script.lua:5:", 1, true), r.stderr)
    assert.truthy(r.stderr:find("in main chunk", 1, true), r.stderr)
    assert.is_nil(r.stderr:find("cli.lua", 1, true), r.stderr)
    assert.is_nil(r.stderr:find("xpcall", 1, true), r.stderr)
    assert.equal("", r.stdout)
  end)

  it("shows error objects of luhip whole", function()
    local r = luhip { script "require('luhip').open 'nothing:0'" }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("nothing:0", 1, true), r.stderr)
    assert.truthy(r.stderr:find("script.lua:1", 1, true), r.stderr)
    assert.equal(1, luhip({ script "error {}" }).code)
    assert.equal(1, luhip({ script "error()" }).code)
  end)

  it("names a script that is missing or does not parse", function()
    local r = luhip { "/no/such/script.lua" }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("/no/such/script.lua", 1, true), r.stderr)
    r = luhip { script "x = = 1" }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("script.lua:1:", 1, true), r.stderr)
  end)

  it("runs code and standard input", function()
    local r = luhip { "-e", "print(luhip.version, ...)", "x" }
    assert.equal("0.1.0\tx\n", r.stdout, r.stderr)
    r = luhip({ "-", "y" }, { stdin = "print('in', ...)" })
    assert.equal("in\ty\n", r.stdout, r.stderr)
    assert.equal(2, luhip({ "-e" }).code)
    r = luhip { "-e", "error 'no'" }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("(command line):1: no", 1, true), r.stderr)
  end)

  it("gives the script's own exit code", function()
    assert.equal(7, luhip({ "-e", "os.exit(7)" }).code)
    assert.equal(0, luhip({ "-e", "os.exit(true, true)" }).code)
  end)

  it("closes the state at the end, so that finalisers run", function()
    local r = luhip { "-e", "keep = setmetatable({}, { __gc = function() print 'closed' end })" }
    assert.equal("closed\n", r.stdout)
  end)

  it("prints its version and its help", function()
    assert.equal("luhip 0.1.0\n", luhip({ "--version" }).stdout)
    local help = luhip { "--help" }
    assert.equal(0, help.code)
    assert.truthy(help.stdout:find("usage: luhip", 1, true))
  end)

  it("lists the devices", function()
    local r = luhip { "devices" }
    assert.equal(0, r.code, r.stderr)
    assert.truthy(r.stdout:find "^id +name +arch +memory")
    assert.truthy(r.stdout:find("\ncpu:0", 1, true), r.stdout)
    assert.equal(2, luhip({ "devices", "extra" }).code)
  end)

  it("refuses what it does not know, and names the nearest", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/saxpy.lua", "")
    for words, part in pairs {
      [{ "--hlp" }] = "did you mean --help?",
      [{ "--wat" }] = "'--wat'; see luhip --help",
      [{ "--version", "more" }] = "takes no arguments",
      [{ "devices", "--hepl" }] = "did you mean '--help'?",
      [{ "devices", "extra" }] = "too many arguments",
      [{ "doctor", "extra" }] = "too many arguments",
      [{ "tune", "--bugdet", "5", "x.lua" }] = "did you mean --budget?",
      [{ "completions" }] = "missing argument 'shell'",
      [{ "completions", "sh" }] = "bash",
    } do
      local r = luhip(words)
      assert.equal(2, r.code, part)
      assert.truthy(r.stderr:find(part, 1, true), r.stderr)
      assert.equal("", r.stdout)
    end
    for words, part in pairs {
      [{ "devcies" }] = "did you mean 'luhip devices'?",
      [{ folder .. "/saxpi.lua" }] = ("did you mean %s/saxpy.lua?"):format(folder),
      [{ "compile", "--arch", "gfx90a", folder .. "/saxpy.lau" }] = ("did you mean %s/saxpy.lua?"):format(folder),
      [{ folder .. "/none/x.lua" }] = "there is no such file",
      [{ "-e", "luhip.open 'cpi'" }] = "did you mean 'cpu'?",
      [{ "-e", "luhip.open { device = 'pcu:0' }" }] = "did you mean 'cpu:0'?",
    } do
      local r = luhip(words, { env = { LUHIP_DEVICE = "cpu" } })
      assert.equal(1, r.code, part)
      assert.truthy(r.stderr:find(part, 1, true), r.stderr)
    end
  end)

  it("says in one line on standard error what is wrong with a file or a device", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/zero.hip", "int a;\nint b\0;\n")
    local function check(code, words)
      local r = luhip(words, { env = { LUHIP_DEVICE = "cpu" } })
      assert.equal(code, r.code, r.stderr)
      assert.equal("", r.stdout)
      local line = r.stderr:match "^luhip[^\n]*\n$"
      assert.truthy(line, r.stderr)
      return line
    end
    for part, words in pairs {
      ["script|cannot open '': an empty word"] = { "" },
      ["--|cannot open '': an empty word"] = { "--", "" },
      ["-i|cannot open '': an empty word"] = { "-i", "" },
      ["compile|cannot open '': an empty word"] = { "compile", "--arch", "gfx90a", "" },
      ["tune|cannot open '': an empty word"] = { "tune", "" },
      ["folder|Is a directory"] = { folder },
      ["compile a folder|Is a directory"] = { "compile", "--arch", "gfx90a", folder },
      ["compile zeros|/zero.hip has a zero byte in line 2"] = { "compile", "--arch", "gfx90a", folder .. "/zero.hip" },
      ["tune a folder|Is a directory"] = { "tune", folder },
      ["tune nothing|there is no such file"] = { "tune", folder .. "/none.lua" },
    } do
      assert.truthy(check(1, words):find(part:match "|(.*)", 1, true), part)
    end
    assert.matches("^luhip: bench: no device 'nodev'", check(1, { "bench", "nodev" }))
    for part, words in pairs {
      ["--: a script is missing"] = { "--" },
      ["unknown option '-x'; see luhip --help"] = { "-x" },
      ["bench: too many arguments"] = { "bench", "cpu:0", "x" },
      ["unknown option '-x'; see luhip tune --help"] = { "tune", "-x" },
      ["inspect: unknown option '--x'"] = { "tune", "inspect", "--x", "a.tune" },
      ["merge: unknown option '--x'"] = { "tune", "merge", "--x", "a.tune", "b.tune" },
      ["--list takes no value, and was given '3'"] = { "compile", "--list=3" },
      ["--arch: ',' names no architecture"] = { "compile", "--arch", "," },
    } do
      assert.truthy(check(2, words):find(part, 1, true), part)
    end
    local r = luhip { "tune" }
    assert.same({ 2, "" }, { r.code, r.stdout })
    assert.matches("^usage: luhip tune", r.stderr)
  end)

  it("has help for every command, and words that shells complete", function()
    local help = luhip({ "--help" }).stdout
    for _, command in ipairs(require("luhip.command_line").commands) do
      assert.truthy(help:find("luhip " .. command, 1, true), command)
      local r = luhip { command, "--help" }
      assert.equal(0, r.code, r.stderr)
      assert.matches("[Uu]sage: luhip " .. command, r.stdout)
      assert.equal("", r.stderr)
    end
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local r = luhip { "completions", shell }
      assert.equal(0, r.code, r.stderr)
      for _, word in ipairs { "devices", "doctor", "compile", "tune", "bench", "completions", "arch", "budget" } do
        assert.truthy(r.stdout:find(word, 1, true), word)
      end
    end
  end)

  it("does without argparse but for options of commands, and says how to get it", function()
    local root = support.root
    local env = { LUA_PATH_5_4 = ("%s/lua/?.lua;%s/lua/?/init.lua"):format(root, root) }
    assert.equal(0, luhip({ "devices" }, { env = env }).code)
    for _, words in ipairs { { "devices", "--help" }, { "completions", "bash" } } do
      local r = luhip(words, { env = env })
      assert.equal(2, r.code)
      assert.truthy(r.stderr:find("apt-get install lua-argparse", 1, true), r.stderr)
    end
  end)

  it("completes the options that compile and tune have", function()
    local parser = require("luhip.command_line").parser()
    for _, command in ipairs { "compile", "tune" } do
      local help = luhip({ command, "--help" }).stdout
      local count = 0
      for _, one in ipairs(parser._commands) do
        for _, option in ipairs(one._name == command and one._options or {}) do
          local name = option._aliases[#option._aliases]
          if name ~= "--help" then
            assert.truthy(help:find(name, 1, true), name)
            count = count + 1
          end
        end
      end
      assert.is_true(count > 5)
    end
  end)

  it("says where the benches are where it has none", function()
    local lua = support.temporary_directory() .. "/lua"
    support.run { "mkdir", lua }
    support.run { "cp", "-r", support.root .. "/lua/luhip", lua }
    local r = support.run({ support.interpreter, lua .. "/luhip/cli.lua", "bench" }, { env = support.environment() })
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("source tree", 1, true), r.stderr)
  end)

  it("does not mind a reader that goes, or no standard output, and says when it cannot write", function()
    local command = ("%s %s/lua/luhip/cli.lua "):format(support.interpreter, support.root)
    local function shell(text)
      return support.run({ "bash", "-c", text }, { env = support.environment() })
    end
    local long = command .. "-e 'for i = 1, 100000 do print(i) end' "
    local r = shell(long .. "| head -1")
    assert.equal("1\n", r.stdout)
    assert.equal("", r.stderr)
    r = shell("trap '' PIPE; " .. long .. "| head -1") -- writes fail instead
    assert.equal("1\n", r.stdout)
    assert.equal("", r.stderr)
    r = shell(command .. "devices >&-")
    assert.equal(0, r.code)
    assert.equal("", r.stderr)
    r = shell(command .. '-e \'print(io.open("/dev/null", "w"))\' <&- >&- 2>&-')
    assert.equal(0, r.code)
    r = shell(command .. "--version >/dev/full")
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("cannot be written", 1, true), r.stderr)
  end)

  it("gives 130 after Ctrl-C", function()
    for _, sanitizer in ipairs { "address", "thread" } do
      support.not_under(sanitizer, pending, "its interpreter does not handle Ctrl-C")
    end
    local interrupt = 'io.popen("kill -INT $PPID"):close() '
    local r = luhip { script(interrupt .. "while true do end") }
    assert.equal(2, r.signal) -- support.run takes 130 for a signal, as shells do
    assert.equal("luhip: interrupted\n", r.stderr)
  end)

  it("shows no file of luhip's own in tracebacks", function()
    local r = luhip { script "local luhip = require 'luhip'\nlocal function f()\n  luhip.cdiv(1, 0)\nend\nf()\n" }
    assert.equal(1, r.code)
    assert.truthy(r.stderr:find("script.lua:3: cdiv: division by zero", 1, true), r.stderr)
    assert.truthy(r.stderr:find("script.lua:5: in main chunk", 1, true), r.stderr)
    assert.is_nil(r.stderr:find("luhip/", 1, true), r.stderr)
  end)

  it("shows no function of luhip's own in tracebacks", function()
    local r = luhip(
      { script "local luhip = require 'luhip'\nprint(luhip.config 'size')\n" },
      { env = { LUHIP_SIZE = "abc" } }
    )
    assert.equal(1, r.code)
    local shown = r.stderr:match "stack traceback:\n(.*)"
    assert.matches("^\t[^\n]*script.lua:2: in main chunk\n*$", shown)
    r = luhip { script "local luhip = require 'luhip'\nluhip.open 'nodev'\n" }
    assert.matches("^\t[^\n]*script.lua:2: in main chunk\n*$", r.stderr:match "stack traceback:\n(.*)")
  end)

  it("runs several -e one after the other, up to one that fails, and -i before them", function()
    local r = luhip { "-e", "x = 1", "-e", "print(x, ...)", "a" }
    assert.same({ 0, "1\ta\n" }, { r.code, r.stdout })
    r = luhip { "-e", "error 'no'", "-e", "print 'never'" }
    assert.same({ 1, "" }, { r.code, r.stdout })
    assert.equal(2, luhip({ "-e", "x = 1", "-e" }).code)
    r = luhip({ "-i", "-e", "x = 41" }, { stdin = "x + 1\n" })
    assert.same({ 0, "42\n" }, { r.code, r.stdout })
    r = luhip { "-i", "--bogus" }
    assert.equal(2, r.code)
    assert.truthy(r.stderr:find("-i: a script or -e expected, not '--bogus'", 1, true), r.stderr)
  end)

  it("has colour at a terminal alone, and not under NO_COLOR", function()
    local terminal = require "spec.support.terminal"
    assert.is_nil(luhip({ "--wat" }, { env = { TERM = "xterm" } }).stderr:find("\27", 1, true))
    for variable, coloured in pairs { ["NO_COLOR="] = true, ["NO_COLOR=1"] = false, ["TERM=dumb"] = false } do
      local words = { "env", "TERM=xterm", variable }
      for name, value in pairs(support.environment()) do
        words[#words + 1] = name .. "=" .. value
      end
      words =
        table.move({ support.interpreter, support.root .. "/lua/luhip/cli.lua", "--wat" }, 1, 3, #words + 1, words)
      local t = terminal.start(words, { pending = pending })
      t:expect "see luhip"
      assert.equal(2, t:finish())
      assert.equal(coloured, t.all:find("\27[31m", 1, true) ~= nil, variable)
    end
  end)

  it("is also a module that leaves arguments alone", function()
    local cli = require "luhip.cli"
    local lines = cli.device_lines {
      { id = "cpu:0", name = "A name", arch = "x", memory = 2 ^ 30, units = 2 },
      { id = "rocm", backend = "rocm", reason = "no GPU" },
    }
    assert.same({
      "id     name    arch  memory  units",
      "cpu:0  A name  x      1 GiB      2",
      "rocm  cannot be used: no GPU",
    }, lines)
    assert.same({ "no devices" }, cli.device_lines {})
  end)
end)
