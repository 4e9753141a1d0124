/*
 * heap.c - how often this thread has asked the heap for memory, and one such call that fails.
 *
 * In builds with internals the linker sends the library's own calls of malloc and the like here (CMakeLists.txt); those
 * of Lua and of the C library are not seen.
 *
 *   testing.heap_calls()        calls by the running thread since it began
 *   testing.heap_fail(n, more)  the running thread's nth call from now on finds no memory, and all after it where more is
 *                               true; 0: none does
 *   testing.heap_failed()       whether that call was made
 */
#include "testing/testing.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>

static _Thread_local lua_Integer calls, failing; /* the number of the call that fails, 0: none */
static _Thread_local bool all_after;

static bool finds_none(void) {
  calls++;
  return failing && (calls == failing || (all_after && calls > failing));
}

#define WRAPPED(type, name, parameters, arguments)                                                                     \
  type *__real_##name parameters;                                                                                      \
  type *__wrap_##name parameters;                                                                                      \
  type *__wrap_##name parameters {                                                                                     \
    return finds_none() ? NULL : __real_##name arguments;                                                              \
  }

WRAPPED(void, malloc, (size_t bytes), (bytes))
WRAPPED(void, calloc, (size_t count, size_t bytes), (count, bytes))
WRAPPED(void, realloc, (void *block, size_t bytes), (block, bytes))
WRAPPED(void, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
WRAPPED(char, strdup, (const char *text), (text))

static int heap_calls(lua_State *L) {
  lua_pushinteger(L, calls);
  return 1;
}

static int heap_fail(lua_State *L) {
  lua_Integer nth = luaL_checkinteger(L, 1);
  luaL_argcheck(L, nth >= 0, 1, "counts from 1");
  failing = nth ? calls + nth : 0;
  all_after = lua_toboolean(L, 2);
  return 0;
}

static int heap_failed(lua_State *L) {
  lua_pushboolean(L, failing && calls >= failing);
  return 1;
}

void testing_open_heap(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"heap_calls", heap_calls}, {"heap_fail", heap_fail}, {"heap_failed", heap_failed}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
