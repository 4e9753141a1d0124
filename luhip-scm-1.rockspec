rockspec_format = "3.0"
package = "luhip"
version = "scm-1"
source = { url = "." }
description = {
  summary = "A Lua-scriptable GPU runtime over HIP",
  detailed = "Compiles HIP C++ kernels at run time, launches and tunes them from Lua, on a GPU or on the CPU.",
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LIBDIR = "$(LIBDIR)",
    LUADIR = "$(LUADIR)",
    LUHIP_MODULE_ONLY = "ON",
  },
  install = { bin = { luhip = "lua/luhip/cli.lua" } },
}
test = { type = "command", command = "scripts/test" }
