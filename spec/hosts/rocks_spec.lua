-- luarocks builds the rock from this tree, without a network.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

describe("luarocks", function()
  it("makes a rock that lua5.4 loads", function()
    local folder = support.temporary_directory()
    local result = support.run(
      ("git clone -q . %s/source && cd %s/source && "):format(folder, folder)
        .. ("luarocks --lua-version 5.4 make --deps-mode none --tree %s/tree"):format(folder),
      { timeout = 600 }
    )
    assert.equal(0, result.code, result.stdout .. result.stderr)
    local env = {
      LUA_PATH_5_4 = ("%s/tree/share/lua/5.4/?.lua;%s/tree/share/lua/5.4/?/init.lua;;"):format(folder, folder),
      LUA_CPATH_5_4 = folder .. "/tree/lib/lua/5.4/?.so;;",
    }
    result = support.run(
      { "lua5.4", "-l", "luhip", "-e", "print(luhip.open('cpu:0').id)" },
      { env = env, directory = "/" }
    )
    assert.equal("cpu:0\n", result.stdout, result.stderr)
  end)
end)
