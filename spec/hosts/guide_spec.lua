-- What the guide's page on embedding shows for other hosts runs in them.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

describe("docs/guide/13-embedding.md", function()
  local blocks = {}
  for block in support.read_file(support.root .. "/docs/guide/13-embedding.md"):gmatch "\n```text\n(.-)\n```" do
    local host = block:match 'require "(luv)"' or block:match 'require "(cqueues)"'
    if host then
      blocks[host] = block
    end
  end

  for _, host in ipairs { "luv", "cqueues" } do
    it("shows code that runs in " .. host, function()
      local result = hosts.run_script(assert(blocks[host]) .. '\nprint "ok"\n')
      assert.equal("3.0\nok\n", result.stdout)
    end)
  end
end)
