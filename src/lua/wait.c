/*
 * wait.c - waiting for the device without being deaf to the host.
 *
 * Under the stock interpreter Ctrl-C sets a hook from a signal handler, and the hook raises at the next
 * instruction. A wait in C runs none, so about every millisecond it looks whether the hook has changed. If so
 * the wait ends, an empty function is called to give the hook its chance, and if that did not raise the wait
 * goes on. A hook of the main thread does not run in a coroutine: then the wait ends as "interrupted", which
 * takes the coroutine back to where the hook runs.
 */
#include "lua/binding.h"

struct hooks {
  lua_State *L, *main;
  lua_Hook hook, main_hook;
  int mask, main_mask;
};

static void note_hooks(struct hooks *hooks) {
  hooks->hook = lua_gethook(hooks->L);
  hooks->mask = lua_gethookmask(hooks->L);
  hooks->main_hook = lua_gethook(hooks->main);
  hooks->main_mask = lua_gethookmask(hooks->main);
}

static bool own_hook_changed(const struct hooks *hooks) {
  return lua_gethookmask(hooks->L) != hooks->mask || lua_gethook(hooks->L) != hooks->hook;
}

static bool hooks_changed(void *user) {
  const struct hooks *hooks = user;
  return own_hook_changed(hooks) || lua_gethookmask(hooks->main) != hooks->main_mask ||
         lua_gethook(hooks->main) != hooks->main_hook;
}

static int nothing(lua_State *L) {
  (void)L;
  return 0;
}

luhip_status lb_wait_status(lua_State *L, lb_waiter waiter, void *object, luhip_error **error) {
  struct hooks hooks = {.L = L, .main = lb_state(L)->main};
  luhip_wait wait = {.interrupted = hooks_changed, .user = &hooks};
  for (;;) {
    note_hooks(&hooks);
    luhip_status status = waiter(object, &wait, error);
    if (status != LUHIP_E_INTERRUPTED || !own_hook_changed(&hooks)) return status;
    bool runs = (lua_gethookmask(L) & (LUA_MASKCALL | LUA_MASKRET)) != 0;
    if (lua_gethook(L) && !runs) return status;
    luhip_error_release(*error);
    *error = NULL;
    luaL_checkstack(L, 1, NULL);
    lua_pushcfunction(L, nothing);
    lua_call(L, 0, 0);
  }
}

void lb_wait(lua_State *L, lb_waiter waiter, void *object) {
  luhip_error *error = NULL;
  luhip_status status = lb_wait_status(L, waiter, object, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
}
