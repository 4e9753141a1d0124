/*
 * future.c - reads on their way.
 *
 * The arrays become Lua objects when the future was waited for, and are the same ones each time. Until then the
 * pinned memory under them is counted for the future. User values: the device, the result.
 */
#include "lua/binding.h"

static struct lb_future *check_future(lua_State *L, int idx) {
  struct lb_future *future = lb_check(L, idx, LB_FUTURE);
  if (!future->future && !future->dry) lb_argument(L, idx, LUHIP_E_FREED, "the future was freed");
  return future;
}

/* A dry run reads zeros: pushes them as the result. */
static void push_zeros(lua_State *L, luhip_buffer *const *buffers, size_t n, bool single) {
  if (!single) lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    luhip_layout layout = *luhip_buffer_layout(buffers[i]);
    lb_layout_pack(&layout);
    lb_push_array(L, NULL, &layout);
    if (!single) lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Starts the read on the current stream; raises. */
static void start(lua_State *L, struct lb_device *owner, luhip_buffer *const *buffers, size_t n,
                  luhip_future **future) {
  const struct lb_state *state = lb_state(L);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    luhip_stream *stream = lb_scope(L, state, owner).stream;
    luhip_device *native = lb_owner(L, owner);
    lb_try(L, state, &tries);
    status = luhip_read(native, stream, buffers, n, future, &error);
  } while (lb_retry(L, owner, status, &error, &tries));
  if (status != LUHIP_OK) lb_fail(L, status, error);
}

struct lb_future *lb_push_read(lua_State *L, int device, struct lb_device *owner, luhip_buffer *const *buffers,
                               size_t n, bool single) {
  size_t bytes = 0;
  device = lua_absindex(L, device);
  for (size_t i = 0; i < n; i++) bytes += luhip_buffer_layout(buffers[i])->bytes;
  struct lb_future *future = lb_new(L, LB_FUTURE, sizeof *future, 2);
  future->owner = owner;
  future->single = single;
  lua_pushvalue(L, device);
  lua_setiuservalue(L, -2, 1);
  if (lb_scope(L, lb_state(L), owner).dry) {
    push_zeros(L, buffers, n, single);
    lua_setiuservalue(L, -2, 2);
    future->dry = true;
    return future;
  }
  lb_charge(L, &future->charged, bytes);
  start(L, owner, buffers, n, &future->future);
  return future;
}

static luhip_status wait_future(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_future *future = object;
  return future->future ? luhip_future_wait(future->future, wait, error) : LUHIP_E_FREED;
}

/* ---- reading at once ------------------------------------------------------------------------------------------------- */

static const char reader_key;

/* Pushes the future that nobody else sees and that serves one read after the other. While it is in use (something that
   runs meanwhile may read too, or a read has raised) another one takes its place. */
static struct lb_future *push_reader(lua_State *L, struct lb_state *state) {
  if (state->reader && !state->reading) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &reader_key);
  } else {
    state->reader = lb_new(L, LB_FUTURE, sizeof *state->reader, 2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &reader_key);
  }
  state->reading = true;
  return state->reader;
}

/* What is read, and the array; moved from one to the other in the last step. */
struct taking {
  struct lb_future *reader;
  struct lb_array *array;
};

static luhip_status take(void *object, const luhip_wait *wait, luhip_error **error) {
  struct taking *taking = object;
  luhip_status status = luhip_future_take(taking->reader->future, wait, &taking->array->array, error);
  if (!status) taking->reader->future = NULL;
  return status;
}

/* The array's object is made while the device works. */
struct lb_array *lb_read(lua_State *L, struct lb_device *owner, luhip_buffer *buffer) {
  struct lb_state *state = lb_state(L);
  if (lb_scope(L, state, owner).dry) {
    push_zeros(L, &buffer, 1, true);
    return lb_check_array(L, -1);
  }
  struct taking taking = {.reader = push_reader(L, state)};
  start(L, owner, &buffer, 1, &taking.reader->future);
  struct lb_array *array = taking.array = lb_new_array(L);
  lb_charge(L, &array->charged, luhip_buffer_layout(buffer)->bytes);
  lb_wait(L, take, &taking);
  array->pinned = luhip_array_is_pinned(array->array);
  if (state->reader == taking.reader) state->reading = false;
  lua_remove(L, -2);
  return array;
}

/* ---- futures ----------------------------------------------------------------------------------------------------------- */

/* Pushes the i-th array of a future that was waited for. */
static void push_array(lua_State *L, int idx, size_t i) {
  struct lb_array *array = lb_new_array(L);
  array->array = luhip_array_retain(luhip_future_array(check_future(L, idx)->future, i));
  array->pinned = luhip_array_is_pinned(array->array);
  lb_charge(L, &array->charged, luhip_array_layout(array->array)->bytes);
}

void lb_future_result(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  struct lb_future *future = check_future(L, idx);
  if (lua_getiuservalue(L, idx, 2) != LUA_TNIL) return;
  lua_pop(L, 1);
  lb_wait(L, wait_future, future);
  lb_discharge(&future->charged);
  size_t n = luhip_future_count(check_future(L, idx)->future);
  if (!future->single) lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_array(L, idx, i);
    if (!future->single) lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, idx, 2);
}

/* f:wait() -> array */
static int future_wait(lua_State *L) {
  check_future(L, 1);
  lb_no_more(L, 1);
  lua_settop(L, 1);
  lb_future_result(L, 1);
  return 1;
}

/* f:ready() -> boolean; raises when the work failed */
static int future_ready(lua_State *L) {
  struct lb_future *future = check_future(L, 1);
  lb_no_more(L, 1);
  bool ready = true;
  luhip_error *error = NULL;
  luhip_status status = future->future ? luhip_future_ready(future->future, &ready, &error) : LUHIP_OK;
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushboolean(L, ready);
  return 1;
}

/* f:fd() -> a descriptor that becomes readable when the read is done; the future owns it */
static int future_fd(lua_State *L) {
  struct lb_future *future = check_future(L, 1);
  lb_no_more(L, 1);
  int fd = -1;
  luhip_error *error = NULL;
  if (!future->future) return lb_argument(L, 1, LUHIP_E_ARGUMENT, "a future of a dry run has no descriptor");
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    status = luhip_future_fd(check_future(L, 1)->future, &fd, &error);
  } while (lb_retry(L, future->owner, status, &error, &tries));
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushinteger(L, fd);
  return 1;
}

static int future_free(lua_State *L) {
  struct lb_future *future = lb_check(L, 1, LB_FUTURE);
  luhip_future *native = future->future;
  future->future = NULL;
  future->dry = false;
  lb_discharge(&future->charged);
  luhip_future_release(native);
  return 0;
}

static int future_tostring(lua_State *L) {
  struct lb_future *future = lb_check(L, 1, LB_FUTURE);
  if (future->future)
    lua_pushfstring(L, "luhip.future: of %d on %s", (int)luhip_future_count(future->future), future->owner->info.id);
  else
    lua_pushstring(L, future->dry ? "luhip.future: of a dry run" : "luhip.future (freed)");
  return 1;
}

void lb_open_future(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"wait", future_wait}, {"ready", future_ready}, {"fd", future_fd}, {"free", future_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", future_tostring}, {"__close", future_free}, {"__gc", future_free}, {NULL, NULL}};
  lb_class_register(L, LB_FUTURE, &(struct lb_class_functions){methods, NULL, meta});
}
