/*
 * interrupt.c - Ctrl-C that ends what runs and not the process: core.interruptible.
 *
 * The stock interpreter catches one SIGINT and restores the default, so a second one ends it. A prompt needs every
 * one. As there, the handler only sets a hook; the hook raises at the next instruction, and waits of the library see
 * it too (wait.c). A read from a terminal ends with EINTR, since the handler is installed without SA_RESTART.
 *
 * One call at a time in the process has the handler; calls inside it (and other states meanwhile) run plainly.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lua/binding.h"

static lua_State *_Atomic target; /* who is interrupted; NULL: nobody */
static volatile sig_atomic_t caught;

static void interrupt(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  caught = 0;
  lb_raise(L, LUHIP_E_INTERRUPTED, "interrupted");
}

static void on_signal(int number) {
  (void)number;
  lua_State *L = atomic_load(&target);
  caught = 1;
  if (L) lua_sethook(L, interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

bool lb_interrupted(void) {
  return caught != 0;
}

/* core.hold_interrupts(hold): from true to false, Ctrl-C outside core.interruptible does nothing; for a prompt, which a
   second Ctrl-C must not end while it still answers the first */
int lb_hold_interrupts(lua_State *L) {
  static struct sigaction before;
  static bool held;
  bool hold = lua_toboolean(L, 1);
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  if (hold && !held) sigaction(SIGINT, &action, &before);
  if (!hold && held) sigaction(SIGINT, &before, NULL);
  held = hold;
  return 0;
}

/* core.interruptible(f, ...) -> true and f's results, or false and the error: as pcall, and SIGINT is the error of
   kind "interrupted". */
int lb_interruptible(lua_State *L) {
  lb_check_function(L, 1, "f");
  lua_State *nobody = NULL;
  bool ours = atomic_compare_exchange_strong(&target, &nobody, L);
  struct sigaction action = {.sa_handler = on_signal}, before;
  sigemptyset(&action.sa_mask);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  caught = 0;
  if (ours) sigaction(SIGINT, &action, &before);
  int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  if (!ours) goto done;
  sigaction(SIGINT, &before, NULL);
  atomic_store(&target, NULL);
  if (lua_gethook(L) == interrupt) lua_sethook(L, NULL, 0, 0);
  if (caught && status == LUA_OK) { /* it came while a C function ran that did not mind, as a read does */
    lua_settop(L, 0);
    lua_pushboolean(L, 0);
    lb_push_error(L, LUHIP_E_INTERRUPTED, NULL);
    return 2;
  }
done:
  if (status == LUA_OK) return lua_gettop(L);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}
