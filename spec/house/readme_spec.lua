-- The README's tour is one program: its Lua blocks, in order.
local support = require "spec.support"

describe("README", function()
  it("shows code that runs", function()
    local blocks = {}
    for block in support.read_file(support.root .. "/README.md"):gmatch "\n```lua\n(.-)\n```" do
      table.insert(blocks, block)
    end
    assert.is_true(#blocks >= 4)
    local result = support.lua(table.concat(blocks, "\n"), {
      env = { LUHIP_DEVICE = "cpu" },
      directory = support.temporary_directory(),
    })
    assert.equal("", result.stderr)
    assert.equal(0, result.code)
    assert.matches("axpy", result.stdout)
  end)

  it("names no environment variable that is no setting", function()
    local variables = {}
    for _, setting in ipairs(require("luhip.config").settings) do
      variables[setting.variable] = true
    end
    local readme = support.read_file(support.root .. "/README.md")
    local count = 0
    for name in readme:gmatch "`(LUHIP_[A-Z_]+)`" do
      assert.is_true(variables[name], name .. " is in the README and no setting")
      count = count + 1
    end
    assert.is_true(count > 3)
    -- All go through the table of settings.
    local read = support.run [[grep -rnE 'getenv *\(?"LUHIP_[A-Z_]+' src lua examples]]
    assert.equal("", read.stdout)
  end)

  it("lists every package that scripts/setup installs", function()
    local readme = support.read_file(support.root .. "/README.md")
    local listed = support.run { support.root .. "/scripts/setup", "--list" }
    local count = 0
    for package in listed.stdout:gmatch "%f[^\n\0]%S+%s+(%S+)[^\n]*" do
      assert.is_truthy(readme:find(package, 1, true), package .. " is not in the README")
      count = count + 1
    end
    assert.is_true(count > 10)
  end)
end)
