/*
 * profile.c - the profiler's insides for specs: what it keeps, and a driver that cannot read its events.
 */
#include "testing/testing.h"

#include "lua/binding.h"
#include "server/server.h"

static luhip_device *enter(lua_State *L) {
  luhip_device *device = lb_check_device(L, 1)->device;
  if (!device_enter_quietly(device)) luaL_error(L, "the device cannot be entered");
  return device;
}

/* profiler_counts(dev) -> open or unsettled windows and traces, spare events, users of the newest anchor */
static int profiler_counts(lua_State *L) {
  luhip_device *device = enter(L);
  lua_Integer watches = 0, spare = device->nspare_events;
  const struct anchor *anchor = device->profiler.anchor;
  lua_Integer users = anchor ? anchor->refs - 1 : 0;
  for (const struct watch *watch = device->profiler.watches; watch; watch = watch->next) watches++;
  device_leave(device);
  lua_pushinteger(L, watches);
  lua_pushinteger(L, spare);
  lua_pushinteger(L, users);
  return 3;
}

/* anchor(dev) -> when the newest anchor was taken, how far off that can be; refreshed where that is due */
static int anchor(lua_State *L) {
  luhip_device *device = enter(L);
  do { /* a busy machine may need some time */
    device->profiler.tried_ms = 0;
    anchor_refresh(device);
  } while (!device->profiler.anchor || device->profiler.tried_ms > 0);
  double taken = device->profiler.anchor->host_ms, slack = device->profiler.anchor->slack_ms;
  device_leave(device);
  lua_pushnumber(L, taken);
  lua_pushnumber(L, slack);
  return 2;
}

/* profiler_age(dev, ms): the newest anchor was taken that much earlier */
static int profiler_age(lua_State *L) {
  double ms = luaL_checknumber(L, 2);
  luhip_device *device = enter(L);
  if (device->profiler.anchor) device->profiler.anchor->host_ms -= ms;
  device_leave(device);
  return 0;
}

static hip_error_t no_elapsed(float *ms, hip_event_t start, hip_event_t stop) {
  (void)ms;
  (void)start;
  (void)stop;
  return hip_ErrorUnknown;
}

/* Calls the function on top while the device has another table. */
static int call_with(lua_State *L, luhip_device *device, const struct hip_api *other) {
  const struct hip_api *real = device->api;
  device->api = other;
  device_leave(device);
  int rc = lua_pcall(L, 0, 0, 0);
  device->api = real;
  return rc == LUA_OK ? 0 : lua_error(L);
}

/* events_unreadable(dev, fn): calls fn while the driver cannot tell times */
static int events_unreadable(lua_State *L) {
  luhip_device *device = enter(L);
  struct hip_api other = *device->api;
  other.hipEventElapsedTime = no_elapsed;
  return call_with(L, device, &other);
}

/* untimed_launches(dev, fn): calls fn while the driver has no timed launches */
static int untimed_launches(lua_State *L) {
  luhip_device *device = enter(L);
  struct hip_api other = *device->api;
  other.hipxLaunchTimed = NULL;
  return call_with(L, device, &other);
}

void testing_open_profile(lua_State *L) {
  static const luaL_Reg functions[] = {{"profiler_counts", profiler_counts},   {"anchor", anchor},
                                       {"profiler_age", profiler_age},         {"events_unreadable", events_unreadable},
                                       {"untimed_launches", untimed_launches}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
