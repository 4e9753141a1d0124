/*
 * exec.c - what specs see of the CPU device's compile step.
 */
#include <lauxlib.h>

#include "cpu/command_line.h"
#include "testing/testing.h"

/* cpu_command(warp) -> the words of the compiler's command line, up to what differs from source to source. */
static int command(lua_State *L) {
  unsigned warp = (unsigned)luaL_checkinteger(L, 1);
  struct toolchain toolchain;
  char reason[256];
  if (!cpu_toolchain_find(&toolchain, reason, sizeof reason)) return luaL_error(L, "%s", reason);
  struct command_line line = {.items = NULL};
  cpu_line_begin(&line, &toolchain, warp);
  lua_createtable(L, (int)line.count, 0);
  for (size_t i = 0; i < line.count; i++) {
    lua_pushstring(L, line.items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  cpu_line_free(&line);
  return 1;
}

void testing_open_exec(lua_State *L) {
  lua_pushcfunction(L, command);
  lua_setfield(L, -2, "cpu_command");
}
