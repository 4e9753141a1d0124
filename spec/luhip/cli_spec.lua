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

  it("refuses what it does not know and what is not there yet", function()
    local r = luhip { "--wat" }
    assert.equal(2, r.code)
    assert.truthy(r.stderr:find("'--wat'", 1, true))
    for _, word in ipairs { "bench" } do
      r = luhip { word }
      assert.equal(2, r.code)
      assert.truthy(r.stderr:find("not available in this version", 1, true), r.stderr)
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
