-- The prompt: `luhip` without arguments.

local support = require "spec.support"
local repl = require "luhip.repl"

local function luhip(input, ...)
  return support.run(
    { support.interpreter, support.root .. "/lua/luhip/cli.lua", ... },
    { env = support.environment(), stdin = input }
  )
end

local INTERRUPT = 'io.popen("kill -INT $PPID"):close() '

describe("the prompt", function()
  support.scope()

  it("prints the values of expressions and survives errors", function()
    local r = luhip '1 + 1\nerror("boom")\n"still here"\nnil, 2\nlocal x = 1\nx\n'
    assert.equal("2\nstill here\nnil\t2\nnil\n", r.stdout)
    assert.matches("boom", r.stderr)
    assert.equal(0, r.code)
  end)

  it("continues what is not complete on the next line", function()
    assert.equal("3\n10\n20\n", luhip("1 +\n2\nfor i = 1, 2 do\n  print(10 * i)\nend\n").stdout)
    local r = luhip "x = (\n"
    assert.equal("", r.stdout)
    assert.matches("<eof>", r.stderr)
    assert.equal(1, r.code)
  end)

  it("has luhip, keeps globals, and shows tables as constructors", function()
    assert.equal('0.1.0\n{ 1, 2, a = { b = "x" } }\n', luhip('luhip.version\nt = {1, 2, a = {b = "x"}}\nt\n').stdout)
    assert.equal(
      "{ {...}, 2 }",
      repl.describe((function()
        local t = { 0, 2 }
        t[1] = t
        return t
      end)())
    )
    assert.equal("{}", repl.describe {})
    assert.matches("more", repl.describe(table.pack(("x"):rep(100):byte(1, -1))))
  end)

  it("ends with the code of its last chunk where input is no terminal", function()
    assert.equal(1, luhip("1\nerror 'x'\n").code)
    assert.equal(1, luhip("x = = 1\n").code)
    assert.equal(0, luhip("").code)
    assert.equal(3, luhip("os.exit(3)\n").code)
  end)

  it("B7 Ctrl-C ends what runs, every time, and not the process", function()
    local r = luhip(INTERRUPT .. "while true do end\n1\n" .. INTERRUPT .. "while true do end\n2\n")
    assert.equal("1\n2\n", r.stdout)
    assert.equal("interrupted\ninterrupted\n", r.stderr)
    assert.equal(0, r.code)
  end)

  it("values whose tostring fails, and errors that are no strings, do no harm", function()
    local r = luhip 'setmetatable({}, { __tostring = function() error "odd" end })\nerror({})\nerror()\n"after"\n'
    assert.equal("after\n", r.stdout)
    assert.matches("odd", r.stderr)
    assert.equal(0, r.code)
  end)

  it("after -i and a script, has the script's globals and its failure as the code", function()
    local path = support.temporary_directory() .. "/script.lua"
    support.write_file(path, "value = 41 + #arg")
    assert.equal("42\n", luhip("value\n", "-i", path, "one").stdout)
    support.write_file(path, "value = 7 error 'late'")
    local r = luhip("value\n", "-i", path)
    assert.equal("7\n", r.stdout)
    assert.equal(1, r.code)
  end)

  it("at a terminal, prompts for each line and for more of a chunk", function()
    local input, output, errors = io.tmpfile(), io.tmpfile(), io.tmpfile()
    input:write "1 +\n1\nbad bad\n"
    input:seek "set"
    assert.equal(0, repl.run { input = input, output = output, errors = errors, interactive = true })
    output:seek "set"
    errors:seek "set"
    assert.matches("^luhip [^\n]*:help[^\n]*\n> >> 2\n> > \n$", output:read "a")
    assert.matches("stdin:3:", errors:read "a")
  end)
end)
