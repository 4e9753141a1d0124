/*
 * heap.c - how often this thread has asked the heap for memory.
 *
 * In builds with internals the linker sends the library's own calls of malloc and the like here (CMakeLists.txt); those
 * of Lua and of the C library are not seen.
 *
 *   testing.heap_calls()   calls by the running thread since it began
 */
#include "testing/testing.h"

#include <lauxlib.h>
#include <stdlib.h>

static _Thread_local lua_Integer calls;

#define WRAPPED(name, parameters, arguments)                                                                           \
  void *__real_##name parameters;                                                                                      \
  void *__wrap_##name parameters;                                                                                      \
  void *__wrap_##name parameters {                                                                                     \
    calls++;                                                                                                           \
    return __real_##name arguments;                                                                                    \
  }

WRAPPED(malloc, (size_t bytes), (bytes))
WRAPPED(calloc, (size_t count, size_t bytes), (count, bytes))
WRAPPED(realloc, (void *block, size_t bytes), (block, bytes))
WRAPPED(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))

static int heap_calls(lua_State *L) {
  lua_pushinteger(L, calls);
  return 1;
}

void testing_open_heap(lua_State *L) {
  static const luaL_Reg functions[] = {{"heap_calls", heap_calls}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
