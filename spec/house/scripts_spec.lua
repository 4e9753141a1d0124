-- The scripts themselves: what scripts/test counts, and that scripts/luhip is transparent.
local support = require "spec.support"

-- They run the release and test builds; a sanitised run has nothing to add.
if support.sanitizer then
  return
end

local function fixture(name)
  local result = support.run({ "scripts/test", "--quick", "spec/support/fixtures/" .. name .. ".lua" }, {
    env = { LUHIP_TEST_COUNTS = false, LUHIP_TEST_RESULTS = false, LUHIP_COLLECTOR = false },
  })
  return result.stdout:match "\n([^\n]*)\n$", result
end

describe("scripts/test", function()
  it("counts passes, failures, errors and skips", function()
    local line, result = fixture "mixed"
    assert.equal("1 passed, 3 failed, 1 skipped", line)
    assert.equal(1, result.code)
  end)

  it("fails on an error in a finaliser", function()
    local line, result = fixture "finaliser"
    assert.equal("1 passed, 1 failed", line)
    assert.equal(1, result.code)
    assert.matches("an error in a finaliser", result.stdout, 1, true)
  end)

  it("fails, naming the spec, when the process dies", function()
    local line, result = fixture "dies"
    assert.equal("0 passed, 1 failed", line)
    assert.equal(1, result.code)
    assert.matches("the one that kills", result.stdout, 1, true)
  end)

  it("fails when a file does not load", function()
    local line, result = fixture "broken"
    assert.equal("0 passed, 1 failed", line)
    assert.equal(1, result.code)
  end)
end)

describe("scripts/luhip", function()
  local function luhip(code, options, ...)
    local directory = support.temporary_directory()
    support.write_file(directory .. "/script.lua", code)
    options.directory = directory
    return support.run({ support.root .. "/scripts/luhip", "script.lua", ... }, options)
  end

  it("runs a script in the caller's directory with its arguments and standard input", function()
    local result = luhip("print(io.open 'script.lua' ~= nil, ..., io.read 'a')", { stdin = "text" }, "a b")
    assert.equal("true\ta b\ttext\n", result.stdout)
    assert.equal(0, result.code)
  end)

  it("gives the script's exit status", function()
    assert.equal(7, luhip("os.exit(7)", {}).code)
    local failed = luhip("error 'no reason'", {})
    assert.equal(1, failed.code)
    assert.matches("no reason", failed.stderr, 1, true)
  end)

  it("works through a symbolic link", function()
    local directory = support.temporary_directory()
    local link = directory .. "/luhip"
    support.run { "ln", "-s", support.root .. "/scripts/luhip", link }
    local result = support.run { link, "devices" }
    assert.matches("cpu:0", result.stdout, 1, true)
    assert.equal(0, result.code)
  end)
end)

describe("scripts/setup", function()
  it("refuses an unknown group and names those that exist", function()
    local result = support.run { "scripts/setup", "tests" }
    assert.equal(2, result.code)
    assert.matches("build, run, test, check, hosts, bench and valgrind", result.stderr, 1, true)
  end)
end)
