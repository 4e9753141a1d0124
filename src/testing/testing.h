/*
 * testing.h - the internals that specs reach from Lua, as `require "luhip.core".testing`.
 *
 * Present in builds with -DLUHIP_TESTING=ON only. Each area has a file src/testing/<area>.c that adds its
 * functions to the table on top of the stack.
 */
#ifndef LUHIP_TESTING_TESTING_H
#define LUHIP_TESTING_TESTING_H

#include <lua.h>

#define TESTING_AREAS(X)                                                                                               \
  X(cpu)                                                                                                               \
  X(exec)                                                                                                              \
  X(host)                                                                                                              \
  X(arena)                                                                                                             \
  X(process)                                                                                                           \
  X(memory)                                                                                                            \
  X(kernel)                                                                                                            \
  X(server)                                                                                                            \
  X(profile)                                                                                                           \
  X(figures)                                                                                                           \
  X(lua)                                                                                                               \
  X(graph)                                                                                                             \
  X(driver)                                                                                                            \
  X(heap)                                                                                                              \
  X(pty)                                                                                                               \
  X(misuse)                                                                                                            \
  X(memory_table)

/* Pushes a new table with the functions of every area. */
void testing_open(lua_State *L);

struct hip_api;
/* The driver table of the CPU device, loaded; raises where it cannot be. */
const struct hip_api *testing_cpu_table(lua_State *L);

/* Before an _exit of a build that counts lines; nothing in others. */
void coverage_write(void);

/* Weak, so that an area may have nothing to show. */
#define X(area) __attribute__((weak)) void testing_open_##area(lua_State *L);
TESTING_AREAS(X)
#undef X

#endif
