-- What `cmake --install` gives to Lua, to C with pkg-config, and to CMake.
local support = require "spec.support"

-- A sanitised library wants a sanitised program around it.
if support.sanitizer then
  return
end

describe("installed luhip", function()
  local prefix

  setup(function()
    prefix = support.temporary_directory()
    local result = support.run { "cmake", "--install", support.build, "--prefix", prefix }
    assert.equal(0, result.code, result.stderr)
  end)

  local program = [[
    #include <luhip.h>
    #include <stdio.h>

    int main(void) {
      luhip_device_info devices[8];
      size_t n = luhip_devices(devices, 8);
      for (size_t i = 0; i < n && i < 8; i++) puts(devices[i].id);
      return 0;
    }
  ]]

  it("is found by Lua under its prefix", function()
    local env = {
      LUA_PATH_5_4 = ("%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua"):format(prefix, prefix),
      LUA_CPATH_5_4 = prefix .. "/lib/lua/5.4/?.so",
    }
    local script = prefix .. "/devices.lua"
    support.write_file(script, "for _, d in ipairs(require 'luhip'.devices()) do print(d.id) end")
    local result = support.run({ support.interpreter, script }, { env = env, directory = "/" })
    assert.equal("", result.stderr)
    assert.matches("cpu:0\n", result.stdout, 1, true)
  end)

  it("has a command that finds its files wherever the tree lies", function()
    local moved = support.temporary_directory() .. "/else where"
    assert(os.execute(("cp -a %s '%s'"):format(prefix, moved)))
    local result = support.run({ moved .. "/bin/luhip", "-e", "print(luhip.version)" }, { directory = "/" })
    assert.equal("", result.stderr)
    assert.matches("^%d+%.%d+%.%d+\n$", result.stdout)
  end)

  it("completes the command's words in bash, and has files for zsh and fish", function()
    local script = [[PATH="$0/bin:$PATH"; . "$0/share/bash-completion/completions/luhip" && complete -p luhip]]
    local result = support.run { "bash", "-c", script, prefix }
    assert.matches("-F _luhip", result.stdout, 1, true)
    assert.equal("", result.stderr)
    for _, path in ipairs { "zsh/site-functions/_luhip", "fish/vendor_completions.d/luhip.fish" } do
      assert.matches("luhip completions", support.read_file(prefix .. "/share/" .. path), 1, true)
    end
  end)

  it("has manual pages", function()
    for _, path in ipairs { "man1/luhip.1", "man3/luhip.3lua" } do
      assert.matches("^%.TH LUHIP ", support.read_file(prefix .. "/share/man/" .. path))
    end
  end)

  it("is removed by the target uninstall", function()
    local other = support.temporary_directory() .. "/prefix"
    local result = support.run { "cmake", "--install", support.build, "--prefix", other }
    assert.equal(0, result.code, result.stderr)
    support.write_file(other .. "/share/kept", "not luhip's")
    result = support.run { "cmake", "-P", support.build .. "/uninstall.cmake" }
    assert.equal(0, result.code, result.stderr)
    assert.equal(other .. "/share/kept\n", support.run(("find %s -type f -o -type l"):format(other)).stdout)
    assert.equal("", support.run(("find %s -name luhip"):format(other)).stdout)
  end)

  it("serves a C program by pkg-config, and needs no Lua there", function()
    support.write_file(prefix .. "/program.c", program)
    local lib = support.run("find . -name luhip.pc", { directory = prefix }).stdout:match "%./(.-)/pkgconfig"
    local build = "gcc -Wall -Werror program.c -o program $(pkg-config --cflags --libs luhip) && ./program"
    local env = { PKG_CONFIG_PATH = prefix .. "/" .. lib .. "/pkgconfig", LD_LIBRARY_PATH = prefix .. "/" .. lib }
    local result = support.run(build, { directory = prefix, env = env })
    assert.equal("", result.stderr)
    assert.matches("cpu:0\n", result.stdout, 1, true)
  end)

  it("serves a CMake project by find_package, shared and static", function()
    local project = support.temporary_directory()
    support.write_file(project .. "/program.c", program)
    support.write_file(
      project .. "/CMakeLists.txt",
      [[
        cmake_minimum_required(VERSION 3.21)
        project(program C)
        find_package(luhip 0.1 REQUIRED)
        add_executable(with_shared program.c)
        target_link_libraries(with_shared luhip::luhip)
        add_executable(with_static program.c)
        target_link_libraries(with_static luhip::luhip_static)
      ]]
    )
    local build = "cmake -S . -B b -DCMAKE_PREFIX_PATH="
      .. prefix
      .. " && cmake --build b && b/with_shared && b/with_static"
    local result = support.run(build, { directory = project })
    assert.equal(0, result.code, result.stdout .. result.stderr)
    assert.matches("cpu:0.*cpu:0", result.stdout)
  end)
end)

describe("luhip/core.so", function()
  local module = support.build .. "/luhip/core.so"

  it("exports luaopen_* and nothing else", function()
    local names = support.run { "nm", "-D", "--defined-only", "--format=posix", module }
    local found = {}
    for name in names.stdout:gmatch "%f[^\n\0](%S+)" do
      assert.matches("^luaopen_luhip", name)
      found[name] = true
    end
    assert.is_true(found.luaopen_luhip_core)
  end)

  it("is not linked with liblua and is never unmapped", function()
    local dynamic = support.run { "readelf", "-d", module }
    assert.is_nil(dynamic.stdout:find("liblua", 1, true))
    assert.matches("NODELETE", dynamic.stdout, 1, true)
  end)
end)
