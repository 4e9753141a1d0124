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
    assert.equal("1 passed, 3 failed", line)
    assert.matches("\n1 skipped\n", result.stdout, 1, true)
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

describe("scripts/test --rules", function()
  local function index(lines)
    local results = support.temporary_directory() .. "/results"
    support.write_file(results, table.concat(lines, "\n") .. "\n")
    return support.run { "/usr/bin/lua5.4", "spec/support/rules.lua", results }
  end

  -- A passing spec of every rule and repair on a device.
  local function complete(device, lines)
    for _, rule in ipairs(dofile "spec/rules.lua") do
      local id = rule[1] == "M" and "M:" or rule[1]
      for _, part in ipairs(rule.repair or { "holds" }) do
        table.insert(lines, ("success\ton %s %s %s"):format(device, id, part))
      end
    end
    return lines
  end

  it("is content when every rule has a passing spec on every device", function()
    local result = index(complete("cuda:0", complete("cpu:0", {})))
    assert.equal(0, result.code, result.stdout .. result.stderr)
    assert.matches("rules on cpu:0, cuda:0; 0 missing", result.stdout, 1, true)
  end)

  it("names rules that only failed, were skipped, or ran on another device, and repairs without a spec", function()
    local lines = complete("cpu:0", complete("cuda:0", {}))
    for i, line in ipairs(lines) do
      lines[i] = line
        :gsub("^success(\ton cpu:0 A1 )", "failure%1")
        :gsub("^success(\ton cpu:0 A2 )", "pending%1")
        :gsub("^(success\ton )cuda:0( A3 )", "%1cpu:0%2")
        :gsub("^(success\ton cpu:0 F6 ).*", "%1something else")
    end
    local result = index(lines)
    assert.equal(1, result.code)
    for _, wanted in ipairs {
      "A1 has no passing spec on cpu:0",
      "A2 has no passing spec on cpu:0",
      "A3 has no passing spec on cuda:0",
      "F6 has no passing spec of its repair on cpu:0",
      "4 missing",
    } do
      assert.truthy(result.stdout:find(wanted, 1, true), wanted .. "\n" .. result.stdout)
    end
  end)

  it("counts a spec without a device for all of them, cpu:0/64 for cpu:0, and nothing where nothing ran", function()
    local lines = complete("cpu:0/64", {})
    for i, line in ipairs(lines) do
      lines[i] = line:gsub("on cpu:0/64 (K2 )", "%1")
    end
    assert.equal(0, index(lines).code)
    assert.equal(1, index({}).code)
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
