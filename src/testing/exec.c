/*
 * exec.c - what specs see of the CPU device's compile step, and a host that handles its own faults.
 */
#include <lauxlib.h>
#include <setjmp.h>
#include <signal.h>

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

/* ---- a host with a handler of its own ------------------------------------------------------------------------------ */

static sigjmp_buf host_jump;
static struct sigaction host_before;

static void host_handler(int signal) {
  (void)signal;
  siglongjmp(host_jump, 1);
}

/* host_handle(): installs a handler for bad addresses. host_handle(false): puts back what was there before. */
static int host_handle(lua_State *L) {
  bool off = lua_isboolean(L, 1) && !lua_toboolean(L, 1);
  struct sigaction action = {.sa_handler = host_handler};
  sigemptyset(&action.sa_mask);
  if (off)
    sigaction(SIGSEGV, &host_before, NULL);
  else
    sigaction(SIGSEGV, &action, &host_before);
  return 0;
}

/* host_fault() -> true when the host's handler got a fault of the host. UBSan must not see it first. */
__attribute__((no_sanitize("undefined"))) static int host_fault(lua_State *L) {
  int *volatile nowhere = NULL;
  volatile bool handled = false;
  if (sigsetjmp(host_jump, 1) == 0)
    *(volatile int *)nowhere = 1;
  else
    handled = true;
  lua_pushboolean(L, handled);
  return 1;
}

void testing_open_exec(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"cpu_command", command}, {"host_handle", host_handle}, {"host_fault", host_fault}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
