-- `luhip compile`: what its words mean. Compiling itself is spec/hip/rocm_spec.lua's.

local support = require "spec.support"
local command = require "luhip.compile_command"

local function usage(...)
  local ok, e = pcall(command.parse, { ... })
  assert.is_false(ok)
  return e.usage
end

describe("luhip compile", function()
  it("takes options before and after files, joined and apart", function()
    local o = command.parse {
      "a.hip",
      "--arch=gfx90a,gfx1030",
      "-DX=1",
      "-D",
      "Y",
      "-Iinclude",
      "b.hip",
      "--name",
      "k<int>",
      "-o",
      "out/%n.%a",
      "-O2",
      "--list",
    }
    assert.same({ "gfx90a", "gfx1030" }, o.archs)
    assert.same({ "a.hip", "b.hip" }, o.files)
    assert.same({ X = "1", Y = 1 }, o.defines)
    assert.same({ "include" }, o.include_dirs)
    assert.same({ "k<int>" }, o.names)
    assert.same({ "-O2" }, o.flags)
    assert.equal("out/%n.%a", o.output)
    assert.is_true(o.list)
  end)

  it("takes what follows -- for files", function()
    local o = command.parse { "--arch", "gfx90a", "a.hip", "--", "-DX.hip", "--list" }
    assert.same({ "a.hip", "-DX.hip", "--list" }, o.files)
    assert.is_nil(o.list)
  end)

  it("says what is missing or unknown, and names the nearest option", function()
    assert.matches("%-%-arch is missing", usage "a.hip")
    assert.matches("no file", usage("--arch", "gfx90a"))
    assert.matches("did you mean %-%-arch", usage("--ach", "gfx90a", "a.hip"))
    assert.matches("%-o needs a value", usage("--arch", "gfx90a", "a.hip", "-o"))
  end)

  it("writes each file for each architecture to a place of its own", function()
    local o = command.parse { "--arch", "gfx90a:xnack-,gfx906", "src/a.hip", "b.hip", "-o", "out/%a" }
    local places = {}
    for i, job in ipairs(command.outputs(o)) do
      places[i] = job.output
    end
    assert.same({ "out/gfx90a_xnack-/a.co", "out/gfx906/a.co", "out/gfx90a_xnack-/b.co", "out/gfx906/b.co" }, places)
    o = command.parse { "--arch", "gfx90a,gfx906", "a.hip", "-o", "one.co" }
    local ok, e = pcall(command.outputs, o)
    assert.is_false(ok)
    assert.equal(
      "a.hip for gfx906 and a.hip for gfx90a would both be written to one.co; put %a and %n into -o",
      e.usage
    )
    o = command.parse { "--arch", "gfx90a", "a.hip", "a.hip" }
    ok, e = pcall(command.outputs, o)
    assert.is_false(ok)
    assert.equal("a.hip for gfx90a is there twice", e.usage)
  end)

  it("ends with 2 for wrong use, 1 where nothing can be compiled, and the process lives", function()
    local function run(...)
      return support.run(
        { support.interpreter, support.root .. "/lua/luhip/cli.lua", "compile", ... },
        { env = support.environment() }
      )
    end
    local wrong = run("--arhc", "gfx90a")
    assert.equal(2, wrong.code)
    assert.matches("did you mean", wrong.stderr)
    local missing = run("--arch", "gfx90a", "/nonexistent/file.hip")
    assert.equal(1, missing.code)
    assert.matches("/nonexistent/file.hip", missing.stderr)
    assert.equal(0, run("--help").code)
  end)
end)
