/*
 * host.c - a small Lua interpreter for sanitised builds: `lua [-e code] [script [args]]`.
 *
 * A sanitiser's runtime has to be in the program before anything else. Preloading it would put it into every
 * child process too, the kernel compiler among them; linking it into the interpreter does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static int with_traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

static void push_args(lua_State *L, int argc, char **argv, int script) {
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

static int run(lua_State *L, int status, int argc, char **argv, int first) {
  if (status == LUA_OK) {
    int base = lua_gettop(L);
    lua_pushcfunction(L, with_traceback);
    lua_insert(L, base);
    int n = 0;
    for (int i = first; i < argc; i++, n++) lua_pushstring(L, argv[i]);
    status = lua_pcall(L, n, 0, base);
  }
  if (status != LUA_OK) fprintf(stderr, "lua: %s\n", luaL_tolstring(L, -1, NULL));
  return status;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (!L) return EXIT_FAILURE;
  luaL_openlibs(L);
  int status = LUA_OK;
  int i = 1;
  push_args(L, argc, argv, 0);
  for (; status == LUA_OK && i + 1 < argc && strcmp(argv[i], "-e") == 0; i += 2)
    status = run(L, luaL_loadstring(L, argv[i + 1]), argc, argv, argc);
  if (status == LUA_OK && i < argc) {
    push_args(L, argc, argv, i);
    status = run(L, luaL_loadfile(L, argv[i]), argc, argv, i + 1);
  }
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
