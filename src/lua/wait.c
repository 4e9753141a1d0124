/*
 * wait.c - waiting for the device without being deaf to the host.
 *
 * Under the stock interpreter Ctrl-C sets a hook from a signal handler, and the hook raises at the next
 * instruction. A wait in C runs none, so about every millisecond it looks whether the hook has changed. If so
 * the wait ends, an empty function is called to give the hook its chance, and if that did not raise the wait
 * goes on. A hook of the main thread does not run in a coroutine: then the wait ends as "interrupted", which
 * takes the coroutine back to where the hook runs.
 *
 * Some calls wait inside, for room or for memory. They are told of this by luhip_set_host for as long as they run, which
 * is from lb_try to lb_retry: nothing in between may raise.
 */
#include "lua/binding.h"

static void note_hooks(struct lb_hooks *hooks) {
  hooks->hook = lua_gethook(hooks->L);
  hooks->mask = lua_gethookmask(hooks->L);
  hooks->main_hook = lua_gethook(hooks->main);
  hooks->main_mask = lua_gethookmask(hooks->main);
}

static bool own_hook_changed(const struct lb_hooks *hooks) {
  return lua_gethookmask(hooks->L) != hooks->mask || lua_gethook(hooks->L) != hooks->hook;
}

static bool hooks_changed(void *user) {
  const struct lb_hooks *hooks = user;
  return own_hook_changed(hooks) || lua_gethookmask(hooks->main) != hooks->main_mask ||
         lua_gethook(hooks->main) != hooks->main_hook;
}

static int nothing(lua_State *L) {
  (void)L;
  return 0;
}

/* The hook that has ended a wait gets its chance to raise. False: it is one of another coroutine, so the wait has ended
   for good. */
static bool hook_runs(lua_State *L, const struct lb_hooks *hooks) {
  if (!own_hook_changed(hooks)) return false;
  bool runs = (lua_gethookmask(L) & (LUA_MASKCALL | LUA_MASKRET)) != 0;
  return !lua_gethook(L) || runs;
}

static void call_nothing(lua_State *L) {
  luaL_checkstack(L, 1, NULL);
  lua_pushcfunction(L, nothing);
  lua_call(L, 0, 0);
}

void lb_try(lua_State *L, const struct lb_state *state, struct lb_tries *tries) {
  tries->hooks = (struct lb_hooks){.L = L, .main = state->main};
  note_hooks(&tries->hooks);
  tries->host = (luhip_host){.wait = {.interrupted = hooks_changed, .user = &tries->hooks}, .repeats = !tries->count};
  luhip_set_host(&tries->host);
}

bool lb_tried(lua_State *L, luhip_status status, luhip_error **error, struct lb_tries *tries) {
  luhip_set_host(NULL);
  if (status != LUHIP_E_INTERRUPTED || !tries->hooks.L || !hook_runs(L, &tries->hooks)) return false;
  luhip_error_release(*error);
  *error = NULL;
  call_nothing(L);
  return true;
}

luhip_status lb_wait_status(lua_State *L, lb_waiter waiter, void *object, luhip_error **error) {
  struct lb_hooks hooks = {.L = L, .main = lb_state(L)->main};
  luhip_wait wait = {.interrupted = hooks_changed, .user = &hooks};
  for (;;) {
    note_hooks(&hooks);
    luhip_status status = waiter(object, &wait, error);
    if (status != LUHIP_E_INTERRUPTED || !hook_runs(L, &hooks)) return status;
    luhip_error_release(*error);
    *error = NULL;
    call_nothing(L);
  }
}

void lb_wait(lua_State *L, lb_waiter waiter, void *object) {
  luhip_error *error = NULL;
  luhip_status status = lb_wait_status(L, waiter, object, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
}
