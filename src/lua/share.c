/*
 * share.c - objects that a C host and a script have in common.
 *
 * A buffer of the host's becomes an object of the state's, with a reference of its own, and the other way round. Its
 * owner in the state is a device object, one for each device, found again by the device's address in a table with weak
 * values: so that the host's buffers keep the device open just as long as the script holds any of them.
 */
#include "lua/binding.h"

static const char devices_key;

/* The binding's functions work only in a state that this copy of the library was opened in. */
static void check_opened(lua_State *L) {
  luaL_checkstack(L, 10, NULL);
  if (!lb_state(L))
    luaL_error(L,
               "luhip was not opened in this state by the library that the host links: call luaopen_luhip_core first");
}

/* Pushes the table of device objects by device. */
static void push_devices(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &devices_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &devices_key);
}

static struct lb_device *push_device(lua_State *L, luhip_device *native) {
  push_devices(L);
  lua_rawgetp(L, -1, native);
  struct lb_device *device = lb_test(L, -1, LB_DEVICE);
  if (!device || device->device != native) {
    lua_pop(L, 1);
    if (!luhip_device_is_open(native)) lb_raise(L, LUHIP_E_FREED, "the device was closed");
    device = lb_push_device(L, luhip_device_get_info(native)->id, NULL);
    if (device->device != native) lb_raise(L, LUHIP_E_FREED, "the device was closed"); /* and opened anew, just now */
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, native);
  }
  lua_remove(L, -2);
  return device;
}

void luhip_lua_push_device(lua_State *L, luhip_device *native) {
  check_opened(L);
  if (!native)
    lua_pushnil(L);
  else
    push_device(L, native);
}

void luhip_lua_push_buffer(lua_State *L, luhip_buffer *native) {
  check_opened(L);
  if (!native) {
    lua_pushnil(L);
    return;
  }
  if (luhip_buffer_is_freed(native)) lb_raise(L, LUHIP_E_FREED, "the buffer was freed");
  struct lb_device *owner = push_device(L, luhip_buffer_device(native));
  struct lb_buffer *buffer = lb_new_buffer(L, -1, owner, 1);
  buffer->buffer = luhip_buffer_retain(native); /* its bytes are the host's, and no reason to collect */
  lua_remove(L, -2);
}

/* The two that ask neither push for long nor raise: a stack with no room left has no room for an argument either. */
luhip_device *luhip_lua_to_device(lua_State *L, int idx) {
  if (!lua_checkstack(L, 4)) return NULL;
  const struct lb_device *device = lb_test(L, idx, LB_DEVICE);
  return device ? device->device : NULL;
}

luhip_buffer *luhip_lua_to_buffer(lua_State *L, int idx) {
  if (!lua_checkstack(L, 4)) return NULL;
  const struct lb_buffer *buffer = lb_test(L, idx, LB_BUFFER);
  return buffer && buffer->buffer && !luhip_buffer_is_freed(buffer->buffer) ? buffer->buffer : NULL;
}
