/*
 * process.c - for specs: running programs, and what of this process they find.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>

#include "base/spawn.h"
#include "testing/testing.h"

/* spawn({ program, arguments... }, timeout_ms, { "NAME=value", ... }) -> { ended=, code=, output= }, or nil and an
   errno */
static int test_spawn(lua_State *L) {
  static const char *const ends[] = {"exited", "killed", "timeout", "unknown"};
  const char *argv[16] = {NULL}, *envp[16] = {NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 3);
  for (lua_Integer i = 0; i < 15 && lua_rawgeti(L, 1, i + 1) == LUA_TSTRING; i++) argv[i] = lua_tostring(L, -1);
  for (lua_Integer i = 0; i < 15 && lua_istable(L, 3) && lua_rawgeti(L, 3, i + 1) == LUA_TSTRING; i++)
    envp[i] = lua_tostring(L, -1);
  struct spawn_request request = {
      .path = argv[0], .argv = argv, .envp = envp, .timeout_ms = (unsigned)luaL_optinteger(L, 2, 0)};
  struct spawn_result result;
  int error = spawn_run(&request, &result);
  if (error) {
    lua_pushnil(L);
    lua_pushinteger(L, error);
    return 2;
  }
  lua_newtable(L);
  lua_pushstring(L, ends[result.end]);
  lua_setfield(L, -2, "ended");
  lua_pushinteger(L, result.code);
  lua_setfield(L, -2, "code");
  lua_pushlstring(L, result.output, result.length);
  lua_setfield(L, -2, "output");
  free(result.output);
  return 1;
}

/* setenv(name, value or nil) -> the earlier value */
static int test_setenv(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_pushstring(L, getenv(name));
  if (lua_isnoneornil(L, 2))
    unsetenv(name);
  else
    setenv(name, luaL_checkstring(L, 2), 1);
  return 1;
}

static int test_ignore_sigchld(lua_State *L) {
  signal(SIGCHLD, lua_toboolean(L, 1) ? SIG_IGN : SIG_DFL);
  return 0;
}

/* in_child(fn): runs fn in a forked child; true when it raised nothing there, or false and how the child ended. */
static int test_in_child(lua_State *L) {
  int status = 0;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  testing_cpu_table(L);
  pid_t child = fork();
  if (child == 0) {
    lua_settop(L, 1);
    int failed = lua_pcall(L, 0, 0, 0);
    if (failed) {
      const char *message = lua_tostring(L, -1);
      dprintf(2, "in the child: %s\n", message ? message : "?");
    }
    coverage_write();
    _exit(failed ? 1 : 0);
  }
  if (child < 0) return luaL_error(L, "cannot fork");
  waitpid(child, &status, 0);
  lua_pushboolean(L, status == 0);
  lua_pushinteger(L, status);
  return 2;
}

void testing_open_process(lua_State *L) {
  static const luaL_Reg functions[] = {{"spawn", test_spawn},
                                       {"setenv", test_setenv},
                                       {"ignore_sigchld", test_ignore_sigchld},
                                       {"in_child", test_in_child},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
