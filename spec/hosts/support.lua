-- What the specs of hosts share. They install packages and start servers, so they run when asked for:
-- scripts/test --hosts.
local support = require "spec.support"

local hosts = {}

hosts.wanted = os.getenv "LUHIP_TEST_HOSTS" == "1" and not support.sanitizer

local prefix

--- luhip installed under a prefix of its own; gives the prefix. Once for a file.
function hosts.prefix()
  if not prefix then
    prefix = support.temporary_directory()
    local result = support.run { "cmake", "--install", support.build, "--prefix", prefix }
    assert(result.code == 0, result.stderr)
  end
  return prefix
end

--- The environment in which a program finds it.
function hosts.environment()
  local p = hosts.prefix()
  return {
    LUA_PATH_5_4 = ("%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua;;"):format(p, p),
    LUA_CPATH_5_4 = p .. "/lib/lua/5.4/?.so;;",
    LUHIP_DEVICE = "cpu:0",
  }
end

--- Two lines of Lua that do the same for a host that has no environment of ours.
function hosts.preamble()
  local p = hosts.prefix()
  return ("package.path = '%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua;' .. package.path\n"):format(p, p)
    .. ("package.cpath = '%s/lib/lua/5.4/?.so;' .. package.cpath\n"):format(p)
end

--- Runs a Lua script under lua5.4 with luhip installed; its output must end in "ok".
function hosts.run_script(text)
  local path = support.temporary_directory() .. "/script.lua"
  support.write_file(path, text)
  local result = support.run({ "/usr/bin/lua5.4", path }, { env = hosts.environment() })
  assert(result.code == 0 and result.stdout:match "ok\n$", result.stdout .. result.stderr)
  return result
end

return hosts
