/*
 * memory_table.c - for specs: entries of a provider's table that the server does not use itself, called bare.
 */
#include "testing/testing.h"

#include <lauxlib.h>

#include "lua/binding.h"
#include "server/server.h"

static int answer(lua_State *L, luhip_device *device, const char *what, hip_error_t rc, lua_Integer value) {
  device_leave(device);
  if (rc != hip_Success) return luaL_error(L, "%s: %s", what, hip_error_name(rc));
  lua_pushinteger(L, value);
  return 1;
}

static luhip_device *enter(lua_State *L) {
  luhip_device *device = lb_check_device(L, 1)->device;
  if (!device_enter_quietly(device)) luaL_error(L, "the device cannot be entered");
  return device;
}

/* stream_ordered(dev, value): takes 4 bytes in the order of a stream, sets them, gives them back there, and returns what
   was read between; nil where there is no such memory. */
static int stream_ordered(lua_State *L) {
  int value = (int)luaL_checkinteger(L, 2), got = 0;
  luhip_device *device = enter(L);
  const struct hip_api *api = device->provider->load(NULL, 0);
  hip_stream_t stream = device->slots[DEFAULT_SLOT].handle;
  void *memory = NULL;
  if (!api->hipMallocAsync) {
    device_leave(device);
    return 0;
  }
  hip_error_t rc = api->hipMallocAsync(&memory, sizeof value, stream);
  if (rc == hip_Success) rc = api->hipMemsetD32Async(memory, value, 1, stream);
  if (rc == hip_Success) rc = api->hipMemcpyAsync(&got, memory, sizeof got, hip_MemcpyDeviceToHost, stream);
  if (rc == hip_Success) rc = api->hipFreeAsync(memory, stream);
  if (rc == hip_Success) rc = api->hipFreeAsync(NULL, stream);
  if (rc == hip_Success) rc = api->hipStreamSynchronize(stream);
  return answer(L, device, "stream-ordered memory", rc, got);
}

/* mapped(dev, value): the device sets 4 bytes of the host's, which are returned; nil where the host's memory cannot be
   mapped. */
static int mapped(lua_State *L) {
  int value = (int)luaL_checkinteger(L, 2), got = 0;
  luhip_device *device = enter(L);
  const struct hip_api *api = device->provider->load(NULL, 0);
  hip_stream_t stream = device->slots[DEFAULT_SLOT].handle;
  void *host = NULL, *there = NULL;
  if (!api->hipHostGetDevicePointer) {
    device_leave(device);
    return 0;
  }
  hip_error_t rc = api->hipHostMalloc(&host, sizeof value, hip_HostMallocMapped);
  if (rc == hip_Success) rc = api->hipHostGetDevicePointer(&there, host, 0);
  if (rc == hip_Success) rc = api->hipMemsetD32Async(there, value, 1, stream);
  if (rc == hip_Success) rc = api->hipStreamSynchronize(stream);
  if (rc == hip_Success) got = *(volatile int *)host;
  if (host) api->hipHostFree(host);
  return answer(L, device, "mapped memory", rc, got);
}

/* can_access_peer(dev, peer's ordinal) -> 0 or 1, or the error's name; nil where devices cannot reach each other */
static int can_access_peer(lua_State *L) {
  int peer = (int)luaL_checkinteger(L, 2), can = 0;
  luhip_device *device = enter(L);
  const struct hip_api *api = device->provider->load(NULL, 0);
  if (!api->hipDeviceCanAccessPeer) {
    device_leave(device);
    return 0;
  }
  hip_error_t rc = api->hipDeviceCanAccessPeer(&can, device->ordinal, peer);
  if (rc == hip_Success) return answer(L, device, "", rc, can);
  device_leave(device);
  lua_pushstring(L, hip_error_name(rc));
  return 1;
}

void testing_open_memory_table(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"stream_ordered", stream_ordered}, {"mapped", mapped}, {"can_access_peer", can_access_peer}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
