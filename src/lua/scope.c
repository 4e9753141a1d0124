/*
 * scope.c - the current stream and the dry run, as scopes of the running coroutine (B6).
 *
 * A scope is an immutable frame: what it sets for one device, and the frame around it. A table with weak keys
 * maps each coroutine to its innermost frame; `with` and `dry_run` put a frame there for the time of a call. The
 * frame is also the call's to-be-closed value, so it is taken away however the call ends: a return, an error
 * (which is not caught, so a message handler sees the whole traceback), a coroutine.close. fn may yield.
 *
 * A coroutine inherits the frame of the one that creates it. Lua tells nobody that a coroutine was created, so
 * coroutine.create and coroutine.wrap are replaced by functions that call the real ones and note it. A coroutine
 * made past them (by C, or by a function that was kept from before luhip was loaded) inherits at its first use of
 * the device: the frame of the coroutine that resumed it. What was inherited stays.
 */
#include <string.h>

#include <lualib.h>

#include "lua/binding.h"

struct frame {
  const struct frame *outer; /* user value 1 keeps it */
  luhip_stream *stream;      /* own reference; NULL in a dry run */
  bool dry;
  const struct lb_plan *plan; /* of a dry run that is a plan; user value 2 keeps it, and it may be freed before */
  uint64_t order;             /* of entering, in this state */
  char device[sizeof((luhip_device_info *)0)->id];
};

static const char scopes_key; /* registry: coroutine -> frame, or false for none */

static void push_scopes(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scopes_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scopes_key);
}

/* Whether a coroutine has resumed another one and waits for it; then it is on the way to the running one. */
static bool is_resuming(lua_State *co) {
  lua_Debug ar;
  return lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar);
}

/* Pushes what a coroutine that was never seen before inherits: the frame entered last among the coroutines on the
   way to it, or false. The table of scopes is on top. */
static void push_inherited(lua_State *L) {
  int scopes = lua_gettop(L);
  uint64_t newest = 0;
  lua_pushboolean(L, 0);
  for (lua_pushnil(L); lua_next(L, scopes); lua_pop(L, 1)) {
    lua_State *co = lua_tothread(L, -2);
    const struct frame *frame = lb_test(L, -1, LB_SCOPE);
    if (!frame || co == L || frame->order <= newest || !is_resuming(co)) continue;
    newest = frame->order;
    lua_pushvalue(L, -1);
    lua_replace(L, scopes + 1);
  }
}

/* Pushes the running coroutine's frame, or false. */
static const struct frame *push_frame(lua_State *L) {
  luaL_checkstack(L, 10, NULL);
  push_scopes(L);
  lua_pushthread(L);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    push_inherited(L);
    lua_pushthread(L);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
  return lua_touserdata(L, -1);
}

/* ---- creation -------------------------------------------------------------------------------------------------------- */

/* The coroutine at idx was created by the running one. */
static void inherit(lua_State *L, int idx) {
  const struct lb_state *state = lb_state(L);
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 10, NULL);
  push_scopes(L);
  lua_pushvalue(L, idx);
  if (state->scopes == 0 && L == state->main)
    lua_pushboolean(L, 0);
  else
    push_frame(L);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Calls the function of Lua's that this stands for; a wrong argument is named here, by this one's name. */
static void call_real(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
}

static int scope_create(lua_State *L) {
  call_real(L);
  if (lua_isthread(L, 1)) inherit(L, 1);
  return 1;
}

/* What coroutine.wrap gives has the coroutine as its upvalue. */
static int scope_wrap(lua_State *L) {
  call_real(L);
  if (lua_iscfunction(L, 1) && lua_getupvalue(L, 1, 1)) {
    if (lua_isthread(L, 2)) inherit(L, 2);
    lua_settop(L, 1);
  }
  return 1;
}

/* Replaces a function of the table on top, once. */
static void replace(lua_State *L, const char *name, lua_CFunction function) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION || lua_tocfunction(L, -1) == function) {
    lua_pop(L, 1);
    return;
  }
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

static void watch_creation(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE) {
    replace(L, "create", scope_create);
    replace(L, "wrap", scope_wrap);
  }
  lua_pop(L, 2);
}

/* ---- asking ---------------------------------------------------------------------------------------------------------- */

/* The innermost frame that sets a stream for the device, and whether any makes it a dry run. */
struct lb_scope lb_scope_search(lua_State *L, const struct lb_device *device) {
  struct lb_scope scope = {NULL, false, NULL};
  const struct frame *frame = push_frame(L);
  lua_pop(L, 1); /* the table of scopes holds it, and what is around it */
  for (; frame; frame = frame->outer) {
    if (strcmp(frame->device, device->info.id) != 0) continue;
    if (frame->dry) scope.dry = true;
    if (!scope.plan && frame->plan) scope.plan = frame->plan->plan;
    if (!scope.stream) scope.stream = frame->stream;
  }
  return scope;
}

/* ---- entering and leaving -------------------------------------------------------------------------------------------- */

/* __close of the frame, in the coroutine that entered it. The entry exists, so that nothing is allocated. */
static int frame_close(lua_State *L) {
  lb_check(L, 1, LB_SCOPE);
  struct lb_state *state = lb_state(L);
  state->scopes--;
  push_scopes(L);
  lua_pushthread(L);
  if (lua_getiuservalue(L, 1, 1) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushboolean(L, 0);
  }
  lua_rawset(L, -3);
  return 0;
}

static int frame_gc(lua_State *L) {
  struct frame *frame = lb_check(L, 1, LB_SCOPE);
  luhip_stream *stream = frame->stream;
  frame->stream = NULL;
  luhip_stream_release(stream);
  return 0;
}

static int leave(lua_State *L, int status, lua_KContext frame) {
  (void)status;
  return lua_gettop(L) - (int)frame;
}

/* Calls the function at `fn` with what follows it, inside a new frame. */
static int enter(lua_State *L, const struct lb_device *device, luhip_stream *stream, int plan, int fn) {
  static atomic_uint_fast64_t orders;
  struct lb_state *state = lb_state(L);
  int nargs = lua_gettop(L) - fn;
  const struct frame *outer = push_frame(L);
  struct frame *frame = lb_new(L, LB_SCOPE, sizeof *frame, 2);
  lua_insert(L, -2);
  frame->outer = outer;
  frame->stream = luhip_stream_retain(stream);
  frame->dry = !stream;
  if (plan) {
    frame->plan = lb_check_plan(L, plan);
    lua_pushvalue(L, plan);
    lua_setiuservalue(L, -3, 2);
  }
  frame->order = atomic_fetch_add(&orders, 1) + 1;
  memcpy(frame->device, device->info.id, sizeof frame->device);
  if (!outer) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_setiuservalue(L, -2, 1);
  lua_insert(L, fn);
  state->scopes++; /* frame_close takes it back, also when lua_toclose fails */
  lua_toclose(L, fn);
  push_scopes(L);
  lua_pushthread(L);
  lua_pushvalue(L, fn);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  lua_callk(L, nargs, LUA_MULTRET, fn, leave);
  return leave(L, LUA_OK, fn);
}

/* dev:with(stream, fn, ...) -> what fn returns */
int lb_device_with(lua_State *L) {
  const struct lb_device *device = lb_check_device(L, 1);
  const struct lb_stream *stream = lb_check_stream(L, 2);
  lb_check_function(L, 3, "fn");
  if (strcmp(stream->owner->info.id, device->info.id) != 0)
    lb_argument(L, 2, LUHIP_E_ARGUMENT, "a stream of %s on %s", stream->owner->info.id, device->info.id);
  return enter(L, device, stream->stream, 0, 3);
}

/* dev:dry_run(fn, ...) -> what fn returns */
int lb_device_dry_run(lua_State *L) {
  const struct lb_device *device = lb_check_device(L, 1);
  lb_check_function(L, 2, "fn");
  return enter(L, device, NULL, 0, 2);
}

/* core.plan_run(dev, plan, fn, ...) -> what fn returns: a dry run whose buffers are added to the plan */
int lb_plan_run(lua_State *L) {
  const struct lb_device *device = lb_check_device(L, 1);
  lb_check_plan(L, 2);
  lb_check_function(L, 3, "fn");
  return enter(L, device, NULL, 2, 3);
}

/* core.in_dry_run(dev) -> whether the running coroutine is in a dry run of the device: nothing that it asks for runs */
int lb_in_dry_run(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lua_pushboolean(L, lb_scope(L, lb_state(L), device).dry);
  return 1;
}

void lb_open_scope(lua_State *L) {
  static const luaL_Reg meta[] = {{"__close", frame_close}, {"__gc", frame_gc}, {NULL, NULL}};
  lb_class_register(L, LB_SCOPE, &(struct lb_class_functions){NULL, NULL, meta});
  watch_creation(L);
}
