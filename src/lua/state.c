/*
 * state.c - what the binding keeps for one Lua state, and memory that the collector does not see.
 *
 * Devices.  Closing the last user of a device waits for its work, which __gc must not do. A device that is
 * collected is therefore only put on a list here; it is closed by the next open or close of a device, or at the
 * end of lua_close, where this object's own finaliser runs last: it was marked for finalisation first.
 *
 * Memory.  A buffer of a gigabyte is a few dozen bytes to Lua's collector, so the bytes of all buffers and host
 * arrays of the process are counted. When an allocation would take the count over this state's soft limit, the
 * state collects; if most of the memory turns out to be live, its limit grows, so that collections stay rare
 * however much is live. An allocation that fails for lack of memory is tried once more after a collection.
 */
#include <stdlib.h>

#include "lua/binding.h"

#define SOFT_LIMIT ((size_t)300 << 20) /* where every state starts */

static atomic_size_t charged_bytes; /* by all states of the process */
static const char state_key;

/* The state that this thread asked for last, told by its registry. A registry's address may come again once its state
   was closed: each close makes all threads look anew. */
static atomic_uint closes;
static _Thread_local struct {
  const void *registry;
  unsigned closes;
  struct lb_state *state;
} last;

static struct lb_state *look_up(lua_State *L, const void *registry, unsigned seen) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  struct lb_state *state = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!state || state->closed) return state; /* finalisers that run later may still ask */
  last.registry = registry;
  last.closes = seen;
  last.state = state;
  return state;
}

struct lb_state *lb_state(lua_State *L) {
  const void *registry = lua_topointer(L, LUA_REGISTRYINDEX);
  unsigned seen = atomic_load_explicit(&closes, memory_order_acquire);
  bool same = registry == last.registry && seen == last.closes;
  return same ? last.state : look_up(L, registry, seen);
}

/* ---- devices that were collected ------------------------------------------------------------------------------------------ */

void lb_state_part(struct lb_state *state) {
  while (state->parting) {
    struct lb_parting *parting = state->parting;
    state->parting = parting->next;
    luhip_device_close(parting->device);
    free(parting);
  }
}

static int state_gc(lua_State *L) {
  struct lb_state *state = lua_touserdata(L, 1);
  if (state != lb_state(L)) return 0;
  state->closed = true;
  atomic_fetch_add_explicit(&closes, 1, memory_order_release);
  lb_log_close(state);
  lb_state_part(state);
  return 0;
}

void lb_state_open(lua_State *L) {
  struct lb_state *state = lua_newuserdatauv(L, sizeof *state, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  *state = (struct lb_state){.main = lua_tothread(L, -1), .soft_limit = SOFT_LIMIT};
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "luhip.state");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

/* ---- memory --------------------------------------------------------------------------------------------------------------- */

void lb_charge(lua_State *L, size_t *slot, size_t bytes) {
  size_t before = atomic_fetch_add_explicit(&charged_bytes, bytes, memory_order_relaxed);
  *slot = bytes;
  struct lb_state *state = lb_state(L);
  if (before + bytes <= state->soft_limit) return;
  lua_gc(L, LUA_GCCOLLECT);
  size_t live = atomic_load_explicit(&charged_bytes, memory_order_relaxed);
  if (live > state->soft_limit / 5 * 4) state->soft_limit = live / 5 * 7;
}

void lb_discharge(size_t *slot) {
  if (!*slot) return;
  atomic_fetch_sub_explicit(&charged_bytes, *slot, memory_order_relaxed);
  *slot = 0;
}

size_t lb_charged(void) {
  return atomic_load_explicit(&charged_bytes, memory_order_relaxed);
}

/* Nothing here raises but a hook: lua_gc does not, and the objects of the operation lie on the stack. */
bool lb_retry_failed(lua_State *L, struct lb_device *owner, luhip_status status, luhip_error **error,
                     struct lb_tries *tries) {
  if (lb_tried(L, status, error, tries)) return true;
  bool garbage_helps = status == LUHIP_E_OOM || status == LUHIP_E_TOO_MANY_STREAMS || status == LUHIP_E_FILE;
  if (!garbage_helps || tries->count++ > 0) return false;
  luhip_error_release(*error);
  *error = NULL;
  lua_gc(L, LUA_GCCOLLECT);
  if (owner->device && status == LUHIP_E_OOM) luhip_device_memory_cleanup(owner->device, NULL);
  return true;
}
