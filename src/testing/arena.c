/*
 * arena.c - for specs of the CPU device: the arena, the limit of its memory, options and names of a compile.
 */
#include <lauxlib.h>

#include "cpu/arena.h"
#include "cpu/exec.h"
#include "cpu/image.h"
#include "cpu/limits.h"
#include "cpu/options.h"
#include "testing/testing.h"

static int test_arena(lua_State *L) {
  struct arena_stats stats;
  testing_cpu_table(L);
  cpu_arena_get_stats(&stats);
  lua_newtable(L);
  const struct {
    const char *name;
    size_t value;
  } fields[] = {{"live", stats.live},
                {"guarded", stats.guarded},
                {"cached", stats.cached},
                {"live_bytes", stats.live_bytes},
                {"cached_bytes", stats.cached_bytes},
                {"total", stats.total},
                {"base", stats.base}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    lua_pushinteger(L, (lua_Integer)fields[i].value);
    lua_setfield(L, -2, fields[i].name);
  }
  return 1;
}

static int test_nearest(lua_State *L) {
  uintptr_t base;
  size_t bytes;
  if (!cpu_arena_nearest((uintptr_t)luaL_checkinteger(L, 1), &base, &bytes)) return 0;
  lua_pushinteger(L, (lua_Integer)base);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 2;
}

/* memory_limit() -> bytes, or nil and the reason: what LUHIP_CPU_MEMORY says now. */
static int test_memory_limit(lua_State *L) {
  char reason[256] = "";
  size_t bytes = cpu_limits_memory(reason, sizeof reason);
  if (bytes) {
    lua_pushinteger(L, (lua_Integer)bytes);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

static int test_option_allowed(lua_State *L) {
  char why[512] = "";
  const char *options[8];
  int count = lua_gettop(L);
  for (int i = 0; i < count && i < 8; i++) options[i] = luaL_checkstring(L, i + 1);
  lua_pushboolean(L, cpu_options_allowed(options, (size_t)count, why, sizeof why));
  lua_pushstring(L, why);
  return 2;
}

static int test_plain_name(lua_State *L) {
  char plain[128];
  if (!cpu_image_plain_name(luaL_checkstring(L, 1), plain, sizeof plain)) return 0;
  lua_pushstring(L, plain);
  return 1;
}

void testing_open_arena(lua_State *L) {
  static const luaL_Reg functions[] = {{"cpu_arena", test_arena},
                                       {"cpu_nearest", test_nearest},
                                       {"cpu_memory_limit", test_memory_limit},
                                       {"cpu_option_allowed", test_option_allowed},
                                       {"cpu_plain_name", test_plain_name},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
