/*
 * stream.c - streams and events.
 *
 * dev:streams() makes new objects for streams that exist; two objects of one stream are equal.
 */
#include <string.h>

#include "lua/binding.h"

/* ---- objects ---------------------------------------------------------------------------------------------------------- */

struct lb_stream *lb_check_stream(lua_State *L, int idx) {
  struct lb_stream *stream = lb_check(L, idx, LB_STREAM);
  if (!stream->stream) lb_argument(L, idx, LUHIP_E_FREED, "the stream was freed");
  lb_owner(L, stream->owner);
  return stream;
}

static struct lb_event *check_event(lua_State *L, int idx) {
  struct lb_event *event = lb_check(L, idx, LB_EVENT);
  if (!event->event) lb_argument(L, idx, LUHIP_E_FREED, "the event was freed");
  lb_owner(L, event->owner);
  return event;
}

/* Pushes an empty object of the device at idx. */
static struct lb_stream *new_stream(lua_State *L, int idx, struct lb_device *owner) {
  struct lb_stream *stream = lb_new(L, LB_STREAM, sizeof *stream, 1);
  stream->owner = owner;
  lua_pushvalue(L, idx);
  lua_setiuservalue(L, -2, 1);
  return stream;
}

static int stream_release(lua_State *L) {
  struct lb_stream *stream = lb_check(L, 1, LB_STREAM);
  luhip_stream *native = stream->stream;
  stream->stream = NULL;
  luhip_stream_release(native);
  return 0;
}

/* For every object of the stream; collecting one of them is not the end of the stream. */
static int stream_free(lua_State *L) {
  struct lb_stream *stream = lb_check(L, 1, LB_STREAM);
  if (stream->stream) luhip_stream_free(stream->stream);
  return lb_logged(L, stream_release(L));
}

static int event_free(lua_State *L) {
  struct lb_event *event = lb_check(L, 1, LB_EVENT);
  luhip_event *native = event->event;
  event->event = NULL;
  luhip_event_release(native);
  return 0;
}

/* ---- of the device -------------------------------------------------------------------------------------------------------- */

/* dev:stream() */
int lb_device_stream(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  struct lb_stream *stream = new_stream(L, 1, device);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    status = luhip_stream_new(lb_owner(L, device), &stream->stream, &error);
  } while (lb_retry(L, device, status, &error, &tries));
  return status == LUHIP_OK ? lb_logged(L, 1) : lb_fail(L, status, error);
}

/* dev:streams() -> a list of those that exist */
int lb_device_streams(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  size_t n = luhip_device_streams(device->device, NULL, 0);
  lua_createtable(L, (int)n, 0);
  luhip_stream **list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  for (size_t i = 0; i < n; i++) { /* a home for each first */
    new_stream(L, 1, device);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  size_t found = luhip_device_streams(lb_owner(L, device), list, n);
  if (found > n) found = n;
  for (size_t i = 0; i < found; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    ((struct lb_stream *)lua_touserdata(L, -1))->stream = list[i];
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  for (size_t i = found; i < n; i++) {
    lua_pushnil(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Records on the stream object at idx, or the current stream for none; pushes the event. The device is at 1. */
static struct lb_event *push_record(lua_State *L, struct lb_device *device, int owner, const struct lb_stream *stream) {
  struct lb_event *event = lb_new(L, LB_EVENT, sizeof *event, 1);
  event->owner = device;
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  luhip_error *error = NULL;
  luhip_stream *native = stream ? stream->stream : lb_scope(L, lb_state(L), device).stream;
  if (stream && !native) lb_raise(L, LUHIP_E_FREED, "the stream was freed");
  luhip_status status = luhip_stream_record(lb_owner(L, device), native, &event->event, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  return event;
}

/* dev:record([stream]) -> event, on the current stream where none is given */
int lb_device_record(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  push_record(L, device, 1, lua_isnoneornil(L, 2) ? NULL : lb_check_stream(L, 2));
  return 1;
}

/* ---- streams --------------------------------------------------------------------------------------------------------------- */

static luhip_status wait_stream(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_stream *stream = object;
  return stream->stream ? luhip_stream_sync(stream->stream, wait, error) : LUHIP_E_FREED;
}

static int stream_sync(lua_State *L) {
  struct lb_stream *stream = lb_check_stream(L, 1);
  lb_no_more(L, 1);
  lb_wait(L, wait_stream, stream);
  return lb_logged(L, 0);
}

/* s:query() -> whether everything on it is done */
static int stream_query(lua_State *L) {
  lb_check_stream(L, 1);
  lb_no_more(L, 1);
  bool done = false;
  luhip_error *error = NULL;
  luhip_status status = luhip_stream_query(lb_check_stream(L, 1)->stream, &done, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushboolean(L, done);
  return 1;
}

/* s:record() -> event */
static int stream_record(lua_State *L) {
  struct lb_stream *stream = lb_check_stream(L, 1);
  lb_no_more(L, 1);
  lua_getiuservalue(L, 1, 1);
  push_record(L, stream->owner, lua_gettop(L), stream);
  return 1;
}

/* s:wait(event_or_stream): what comes later on s waits for it, on the device */
static int stream_wait(lua_State *L) {
  struct lb_stream *stream = lb_check_stream(L, 1);
  lb_no_more(L, 2);
  struct lb_event *event;
  if (lb_test(L, 2, LB_STREAM)) {
    struct lb_stream *other = lb_check_stream(L, 2);
    lua_settop(L, 2);
    lua_getiuservalue(L, 2, 1);
    event = push_record(L, other->owner, 3, other);
  } else if (lb_test(L, 2, LB_EVENT)) {
    event = check_event(L, 2);
  } else {
    return lb_argument(L, 2, LUHIP_E_TYPE, "an event or a stream expected, got %s", lb_type_name(L, 2));
  }
  luhip_error *error = NULL;
  luhip_status status =
      luhip_stream_wait_event(stream->owner->device, lb_check_stream(L, 1)->stream, event->event, &error);
  return status == LUHIP_OK ? 0 : lb_fail(L, status, error);
}

static int field_id(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)luhip_stream_id(lb_check_stream(L, 1)->stream));
  return 1;
}

static int stream_eq(lua_State *L) {
  const struct lb_stream *a = lb_test(L, 1, LB_STREAM), *b = lb_test(L, 2, LB_STREAM);
  lua_pushboolean(L, a && b && a->stream && b->stream && luhip_stream_id(a->stream) == luhip_stream_id(b->stream));
  return 1;
}

static int stream_tostring(lua_State *L) {
  const struct lb_stream *stream = lb_check(L, 1, LB_STREAM);
  if (stream->stream)
    lua_pushfstring(L, "luhip.stream: %I on %s", (LUAI_UACINT)luhip_stream_id(stream->stream), stream->owner->info.id);
  else
    lua_pushliteral(L, "luhip.stream (freed)");
  return 1;
}

/* ---- events ---------------------------------------------------------------------------------------------------------------- */

static luhip_status wait_event(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_event *event = object;
  return event->event ? luhip_event_wait(event->event, wait, error) : LUHIP_E_FREED;
}

static int event_wait(lua_State *L) {
  struct lb_event *event = check_event(L, 1);
  lb_no_more(L, 1);
  lb_wait(L, wait_event, event);
  return 0;
}

static int event_query(lua_State *L) {
  check_event(L, 1);
  lb_no_more(L, 1);
  bool done = false;
  luhip_error *error = NULL;
  luhip_status status = luhip_event_query(check_event(L, 1)->event, &done, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushboolean(L, done);
  return 1;
}

/* e:elapsed(later) -> ms */
static int event_elapsed(lua_State *L) {
  check_event(L, 1);
  lb_no_more(L, 2);
  double ms = 0;
  luhip_error *error = NULL;
  const struct lb_event *start = check_event(L, 1), *stop = check_event(L, 2);
  luhip_status status = luhip_event_elapsed(start->event, stop->event, &ms, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushnumber(L, ms);
  return 1;
}

static int event_tostring(lua_State *L) {
  const struct lb_event *event = lb_check(L, 1, LB_EVENT);
  if (event->event)
    lua_pushfstring(L, "luhip.event: on %s", event->owner->info.id);
  else
    lua_pushliteral(L, "luhip.event (freed)");
  return 1;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------------ */

void lb_open_stream(lua_State *L) {
  static const luaL_Reg methods[] = {{"sync", stream_sync}, {"query", stream_query}, {"record", stream_record},
                                     {"wait", stream_wait}, {"free", stream_free},   {NULL, NULL}};
  static const luaL_Reg fields[] = {{"id", field_id}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__tostring", stream_tostring},
                                  {"__eq", stream_eq},
                                  {"__close", stream_free},
                                  {"__gc", stream_release},
                                  {NULL, NULL}};
  lb_class_register(L, LB_STREAM, &(struct lb_class_functions){methods, fields, meta});
}

void lb_open_event(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"wait", event_wait}, {"query", event_query}, {"elapsed", event_elapsed}, {"free", event_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", event_tostring}, {"__close", event_free}, {"__gc", event_free}, {NULL, NULL}};
  lb_class_register(L, LB_EVENT, &(struct lb_class_functions){methods, NULL, meta});
}
