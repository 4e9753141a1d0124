-- The example of embedding, built against an installed luhip: examples/embed.
local support = require "spec.support"

-- A sanitised library wants a sanitised program around it.
if support.sanitizer then
  return
end

describe("examples/embed", function()
  local prefix, env

  setup(function()
    prefix = support.temporary_directory()
    local result = support.run { "cmake", "--install", support.build, "--prefix", prefix }
    assert.equal(0, result.code, result.stderr)
    local lib = support.run("find . -name luhip.pc", { directory = prefix }).stdout:match "%./(.-)/pkgconfig"
    env = {
      PKG_CONFIG_PATH = prefix .. "/" .. lib .. "/pkgconfig",
      LD_LIBRARY_PATH = prefix .. "/" .. lib,
      LUA_PATH_5_4 = ("%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua"):format(prefix, prefix),
      LUA_CPATH_5_4 = "/nowhere/?.so",
      LUHIP_DEVICE = "cpu:0",
    }
    assert(os.execute(("cp examples/embed/* %s/"):format(prefix)))
  end)

  local function build_and_run(build, run)
    local result = support.run(build, { directory = prefix, env = env })
    assert.equal(0, result.code, result.stdout .. result.stderr)
    result = support.run(run, { directory = prefix, env = env })
    assert.equal("", result.stderr)
    assert.equal(0, result.code)
    assert.matches("the scripts made 196608 of 65536", result.stdout, 1, true)
    assert.matches("script 1 returned a sum of 98304, and left 0 bytes", result.stdout, 1, true)
    assert.matches("script 2 returned a sum of 98304, and left 0 bytes", result.stdout, 1, true)
  end

  it("shares a buffer between two states in two threads, by pkg-config and the shared library", function()
    build_and_run(
      "gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror host.c -o host "
        .. "$(pkg-config --cflags --libs luhip lua5.4) -pthread",
      "./host work.lua"
    )
  end)

  it("does so built by CMake with find_package", function()
    build_and_run(("cmake -S . -B b -DCMAKE_PREFIX_PATH=%s && cmake --build b"):format(prefix), "b/host work.lua")
  end)

  it("tells a script that wants more memory than it may have, and goes on", function()
    support.write_file(prefix .. "/greedy.lua", "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end")
    local result = support.run("./host greedy.lua", { directory = prefix, env = env })
    assert.equal(1, result.code)
    assert.matches("greedy.lua: not enough memory", result.stderr, 1, true)
  end)
end)
