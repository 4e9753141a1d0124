/*
 * profile.c - windows on a stream, the durations they give, and traces.
 *
 * A window and its duration are two objects of one native profile. A trace is what dev:profile is made of
 * (luhip/profile.lua), which reads its records one at a time.
 */
#include "lua/binding.h"

struct lb_profile {
  luhip_profile *profile; /* NULL: freed */
  struct lb_device *owner;
};

struct lb_trace {
  luhip_trace *trace; /* NULL: freed */
  struct lb_device *owner;
};

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

static luhip_profile *check_profile(lua_State *L, enum lb_class which, const char *what) {
  struct lb_profile *object = lb_check(L, 1, which);
  if (!object->profile) lb_argument(L, 1, LUHIP_E_FREED, "the %s was freed", what);
  return object->profile;
}

/* dev:start_profile([stream]) -> window, on the current stream where none is given */
int lb_device_start_profile(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  struct lb_stream *stream = lua_isnoneornil(L, 2) ? NULL : lb_check_stream(L, 2);
  struct lb_profile *window = lb_new(L, LB_WINDOW, sizeof *window, 1);
  window->owner = device;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  luhip_error *error = NULL;
  luhip_stream *native = stream ? lb_check_stream(L, 2)->stream : lb_scope(L, lb_state(L), device).stream;
  luhip_status status = luhip_profile_start(lb_owner(L, device), native, &window->profile, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

/* w:stop() -> duration */
static int window_stop(lua_State *L) {
  check_profile(L, LB_WINDOW, "window");
  lb_no_more(L, 1);
  struct lb_profile *duration = lb_new(L, LB_DURATION, sizeof *duration, 1);
  lua_getiuservalue(L, 1, 1);
  lua_setiuservalue(L, -2, 1);
  luhip_error *error = NULL;
  luhip_profile *native = check_profile(L, LB_WINDOW, "window");
  luhip_status status = luhip_profile_stop(native, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  duration->profile = luhip_profile_retain(native);
  duration->owner = ((struct lb_profile *)lua_touserdata(L, 1))->owner;
  return 1;
}

/* w:abandon(): nothing happens to one that is not open */
static int window_abandon(lua_State *L) {
  luhip_profile_abandon(((struct lb_profile *)lb_check(L, 1, LB_WINDOW))->profile);
  return 0;
}

static int profile_release(lua_State *L, enum lb_class which) {
  struct lb_profile *object = lb_check(L, 1, which);
  luhip_profile *native = object->profile;
  object->profile = NULL;
  luhip_profile_release(native);
  return 0;
}

static int window_free(lua_State *L) {
  window_abandon(L);
  return profile_release(L, LB_WINDOW);
}

static int window_tostring(lua_State *L) {
  const struct lb_profile *window = lb_check(L, 1, LB_WINDOW);
  if (window->profile)
    lua_pushfstring(L, "luhip.window: on %s", window->owner->info.id);
  else
    lua_pushliteral(L, "luhip.window (freed)");
  return 1;
}

/* ---- durations --------------------------------------------------------------------------------------------------------- */

struct duration {
  struct lb_profile *object;
  double ms;
};

static luhip_status wait_duration(void *object, const luhip_wait *wait, luhip_error **error) {
  struct duration *duration = object;
  luhip_profile *profile = duration->object->profile;
  return profile ? luhip_profile_wait(profile, wait, &duration->ms, error) : LUHIP_E_FREED;
}

/* d:wait() -> ms */
static int duration_wait(lua_State *L) {
  check_profile(L, LB_DURATION, "duration");
  lb_no_more(L, 1);
  struct duration duration = {lua_touserdata(L, 1), 0};
  lb_wait(L, wait_duration, &duration);
  lua_pushnumber(L, duration.ms);
  return 1;
}

/* d:ready() -> boolean; raises when the window is worthless */
static int duration_ready(lua_State *L) {
  check_profile(L, LB_DURATION, "duration");
  lb_no_more(L, 1);
  bool ready = false;
  luhip_error *error = NULL;
  luhip_status status = luhip_profile_ready(check_profile(L, LB_DURATION, "duration"), &ready, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushboolean(L, ready);
  return 1;
}

/* d:span() -> start, stop: ms on the clock of core.monotime; waits */
static int duration_span(lua_State *L) {
  check_profile(L, LB_DURATION, "duration");
  lb_no_more(L, 1);
  struct duration duration = {lua_touserdata(L, 1), 0};
  lb_wait(L, wait_duration, &duration);
  double start = 0, stop = 0;
  luhip_error *error = NULL;
  luhip_status status = luhip_profile_span(check_profile(L, LB_DURATION, "duration"), &start, &stop, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushnumber(L, start);
  lua_pushnumber(L, stop);
  return 2;
}

static int duration_free(lua_State *L) {
  return profile_release(L, LB_DURATION);
}

static int duration_tostring(lua_State *L) {
  const struct lb_profile *duration = lb_check(L, 1, LB_DURATION);
  bool ready = false;
  double ms;
  if (!duration->profile)
    lua_pushliteral(L, "luhip.duration (freed)");
  else if (luhip_profile_ready(duration->profile, &ready, NULL) != LUHIP_OK)
    lua_pushliteral(L, "luhip.duration (failed)");
  else if (ready && luhip_profile_wait(duration->profile, NULL, &ms, NULL) == LUHIP_OK)
    lua_pushfstring(L, "luhip.duration: %f ms on %s", ms, duration->owner->info.id);
  else
    lua_pushfstring(L, "luhip.duration: not known yet on %s", duration->owner->info.id);
  return 1;
}

/* ---- traces ------------------------------------------------------------------------------------------------------------ */

static struct lb_trace *check_trace(lua_State *L) {
  struct lb_trace *object = lb_check(L, 1, LB_TRACE);
  if (!object->trace) lb_argument(L, 1, LUHIP_E_FREED, "the trace was freed");
  return object;
}

/* core.trace(device) -> trace, which is on */
static int core_trace(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  struct lb_trace *trace = lb_new(L, LB_TRACE, sizeof *trace, 1);
  trace->owner = device;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  luhip_error *error = NULL;
  luhip_status status = luhip_trace_start(lb_owner(L, device), &trace->trace, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

static int trace_stop(lua_State *L) {
  luhip_error *error = NULL;
  luhip_status status = luhip_trace_stop(check_trace(L)->trace, &error);
  return status == LUHIP_OK ? 0 : lb_fail(L, status, error);
}

static luhip_status wait_trace(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_trace *trace = object;
  return trace->trace ? luhip_trace_wait(trace->trace, wait, error) : LUHIP_E_FREED;
}

/* t:wait() -> how many records there are */
static int trace_wait(lua_State *L) {
  lb_wait(L, wait_trace, check_trace(L));
  lua_pushinteger(L, (lua_Integer)luhip_trace_records(check_trace(L)->trace, NULL));
  return 1;
}

static void set_triple(lua_State *L, const char *name, const uint32_t numbers[3]) {
  const size_t sizes[3] = {numbers[0], numbers[1], numbers[2]};
  lb_push_sizes(L, sizes, 3);
  lua_setfield(L, -2, name);
}

/* t:record(i) -> kind, name, stream id, start, ms */
static int trace_record(lua_State *L) {
  const luhip_trace_record *list;
  size_t count = luhip_trace_records(check_trace(L)->trace, &list);
  const luhip_trace_record *record = list + lb_check_integer(L, 2, "record", 1, (lua_Integer)count) - 1;
  lua_pushstring(L, record->kind);
  lua_pushstring(L, record->name);
  lua_pushinteger(L, (lua_Integer)record->stream);
  lua_pushnumber(L, record->start_ms);
  lua_pushnumber(L, record->ms);
  return 5;
}

/* t:details(i) -> { grid=, block=, shared= } of a launch, { bytes= } of others */
static int trace_details(lua_State *L) {
  const luhip_trace_record *list;
  size_t count = luhip_trace_records(check_trace(L)->trace, &list);
  const luhip_trace_record *record = list + lb_check_integer(L, 2, "record", 1, (lua_Integer)count) - 1;
  lua_createtable(L, 0, 3);
  if (record->block[0]) {
    set_triple(L, "grid", record->grid);
    set_triple(L, "block", record->block);
    lua_pushinteger(L, record->shared);
    lua_setfield(L, -2, "shared");
  } else if (record->bytes) {
    lua_pushinteger(L, (lua_Integer)record->bytes);
    lua_setfield(L, -2, "bytes");
  }
  return 1;
}

static int trace_close(lua_State *L) {
  struct lb_trace *object = lb_check(L, 1, LB_TRACE);
  if (object->trace) luhip_trace_stop(object->trace, NULL);
  return 0;
}

static int trace_free(lua_State *L) {
  struct lb_trace *object = lb_check(L, 1, LB_TRACE);
  luhip_trace *native = object->trace;
  object->trace = NULL;
  luhip_trace_release(native);
  return 0;
}

static int trace_tostring(lua_State *L) {
  const struct lb_trace *trace = lb_check(L, 1, LB_TRACE);
  if (trace->trace)
    lua_pushfstring(L, "luhip.trace: on %s", trace->owner->info.id);
  else
    lua_pushliteral(L, "luhip.trace (freed)");
  return 1;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------------ */

const luaL_Reg lb_trace_functions[] = {{"trace", core_trace}, {NULL, NULL}};

void lb_open_window(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"stop", window_stop}, {"abandon", window_abandon}, {"free", window_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", window_tostring}, {"__close", window_free}, {"__gc", window_free}, {NULL, NULL}};
  lb_class_register(L, LB_WINDOW, &(struct lb_class_functions){methods, NULL, meta});
}

void lb_open_duration(lua_State *L) {
  static const luaL_Reg methods[] = {{"wait", duration_wait},
                                     {"ready", duration_ready},
                                     {"span", duration_span},
                                     {"free", duration_free},
                                     {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", duration_tostring}, {"__close", duration_free}, {"__gc", duration_free}, {NULL, NULL}};
  lb_class_register(L, LB_DURATION, &(struct lb_class_functions){methods, NULL, meta});
}

void lb_open_trace(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", trace_stop},       {"wait", trace_wait}, {"record", trace_record},
                                     {"details", trace_details}, {"free", trace_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", trace_tostring}, {"__close", trace_close}, {"__gc", trace_free}, {NULL, NULL}};
  lb_class_register(L, LB_TRACE, &(struct lb_class_functions){methods, NULL, meta});
}
