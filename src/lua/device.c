/*
 * device.c - devices: listing, opening, their fields, waiting for them, closing them.
 *
 * Each luhip.open is a user of the server of its own, in an object of its own. Everything made from the object
 * keeps it alive, and ends with its close. A device that is collected is closed later (state.c).
 */
#include <stdlib.h>
#include <string.h>

#include "lua/binding.h"

struct lb_device *lb_check_device(lua_State *L, int idx) {
  struct lb_device *device = lb_check(L, idx, LB_DEVICE);
  if (!device->device) lb_argument(L, idx, LUHIP_E_FREED, "the device %s was closed", device->info.id);
  return device;
}

luhip_device *lb_owner(lua_State *L, const struct lb_device *owner) {
  if (!owner || !owner->device) lb_raise(L, LUHIP_E_FREED, "the device %s was closed", owner ? owner->info.id : "?");
  return owner->device;
}

/* ---- listing and opening ---------------------------------------------------------------------------------------------- */

static void set_string(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

/* luhip.devices() -> { {id=, backend=, name=, arch=, memory=, units=, reason=}, ... } */
static int core_devices(lua_State *L) {
  lb_no_more(L, 0);
  size_t n = luhip_devices(NULL, 0);
  luhip_device_info *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  size_t found = luhip_devices(list, n);
  if (found < n) n = found;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 7);
    set_string(L, "id", list[i].id);
    set_string(L, "backend", list[i].backend);
    set_string(L, "name", list[i].name);
    set_string(L, "arch", list[i].arch);
    lua_pushinteger(L, (lua_Integer)list[i].memory_bytes);
    lua_setfield(L, -2, "memory");
    lua_pushinteger(L, list[i].units);
    lua_setfield(L, -2, "units");
    if (list[i].reason[0]) set_string(L, "reason", list[i].reason);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Reads the option on top of the stack as a string. */
static const char *option_text(lua_State *L, const char *name) {
  if (lua_type(L, -1) != LUA_TSTRING)
    lb_raise(L, LUHIP_E_TYPE, "open: %s must be a string, got %s", name, lb_type_name(L, -1));
  return lua_tostring(L, -1);
}

static luhip_persistent_policy persistent_option(lua_State *L) {
  static const char *const names[] = {"auto", "disabled", "enforced"};
  const char *text = option_text(L, "persistent");
  for (int i = 0; i < 3; i++)
    if (strcmp(text, names[i]) == 0) return (luhip_persistent_policy)i;
  lb_raise(L, LUHIP_E_ARGUMENT, "open: persistent is \"%s\"; there are \"auto\", \"disabled\" and \"enforced\"", text);
  return LUHIP_PERSISTENT_AUTO;
}

/* A list of pools takes the place of the table's field in the stack slot `keep`, so that it stays. */
static void pools_option(lua_State *L, int keep, luhip_open_options *options) {
  if (lua_type(L, -1) == LUA_TSTRING) {
    options->preset = lua_tostring(L, -1);
    return;
  }
  options->pools = lb_push_pools(L, -1, "open: pools", &options->npools);
  lua_replace(L, keep);
}

/* Reads { device=, limit=, checked=, timeout=, pools=, persistent= }; gives the id, which the table keeps. */
static const char *open_options(lua_State *L, int idx, luhip_open_options *options) {
  static const char *const names[] = {"device", "limit", "checked", "timeout", "pools", "persistent", NULL};
  const char *id = NULL;
  lua_pushnil(L);
  int keep = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, idx); lua_settop(L, keep + 1)) {
    switch (lb_check_key(L, -2, names, "open")) {
    case 0:
      id = option_text(L, "device");
      break;
    case 1:
      options->memory_limit = (size_t)lb_to_integer(L, -1, "open: limit", 0, LUA_MAXINTEGER);
      break;
    case 2:
      if (!lua_isboolean(L, -1))
        lb_raise(L, LUHIP_E_TYPE, "open: checked must be a boolean, got %s", lb_type_name(L, -1));
      options->checked = lua_toboolean(L, -1);
      break;
    case 3:
      options->timeout_ms = (unsigned)lb_to_integer(L, -1, "open: timeout", 0, UINT32_MAX);
      break;
    case 4:
      pools_option(L, keep, options);
      break;
    default:
      options->persistent = persistent_option(L);
      break;
    }
  }
  return id;
}

/* Opens it. Where other options are in the way of it, and only forgotten devices of this state have those, these are
   closed first. */
static luhip_status open_native(lua_State *L, const char *id, const luhip_open_options *options, luhip_device **device,
                                luhip_error **error) {
  const luhip_status status = luhip_open(id, options, device, error);
  if (status != LUHIP_E_OPTIONS_CONFLICT) return status;
  lua_gc(L, LUA_GCCOLLECT);
  if (!lb_state(L)->parting) return status;
  lb_state_part(lb_state(L));
  luhip_error_release(*error);
  *error = NULL;
  return luhip_open(id, options, device, error);
}

struct lb_device *lb_push_device(lua_State *L, const char *id, const luhip_open_options *options) {
  struct lb_device *device = lb_new(L, LB_DEVICE, sizeof *device, 0);
  device->parting = calloc(1, sizeof *device->parting);
  if (!device->parting) lb_raise(L, LUHIP_E_MEMORY, "out of host memory");
  luhip_error *error = NULL;
  luhip_status status = open_native(L, id, options, &device->device, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  device->info = *luhip_device_get_info(device->device);
  lb_state_part(lb_state(L)); /* after the open, so that a server about to close is used again */
  return device;
}

/* luhip.open([id | options]) */
static int core_open(lua_State *L) {
  lb_no_more(L, 1);
  luhip_open_options options = {0};
  const char *id = NULL;
  lua_settop(L, 1);
  if (lua_istable(L, 1))
    id = open_options(L, 1, &options);
  else if (!lua_isnil(L, 1))
    id = lb_check_text(L, 1, "device");
  lb_push_device(L, id, &options);
  return lb_logged(L, 1);
}

/* device:toolchain() -> what names the compiler of its kernels */
static int device_toolchain(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  char text[512];
  luhip_error *error = NULL;
  luhip_status status = luhip_device_toolchain(device->device, text, sizeof text, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushstring(L, text);
  return 1;
}

/* ---- closing ------------------------------------------------------------------------------------------------------------- */

/* Waits for the work if it is the device's last user. */
static int device_end(lua_State *L) {
  struct lb_device *device = lb_check(L, 1, LB_DEVICE);
  luhip_device *native = device->device;
  device->device = NULL;
  if (native) luhip_device_close(native);
  lb_state_part(lb_state(L));
  return 0;
}

/* dev:close() */
static int device_close(lua_State *L) {
  const struct lb_device *device = lb_check(L, 1, LB_DEVICE);
  luhip_error *error = NULL;
  luhip_status status = device->device ? luhip_device_may_close(device->device, &error) : LUHIP_OK;
  return status == LUHIP_OK ? device_end(L) : lb_fail(L, status, error);
}

static int device_gc(lua_State *L) {
  struct lb_device *device = lb_check(L, 1, LB_DEVICE);
  struct lb_parting *parting = device->parting;
  struct lb_state *state = lb_state(L);
  device->parting = NULL;
  if (!device->device) {
    free(parting);
    return 0;
  }
  *parting = (struct lb_parting){device->device, state->parting};
  device->device = NULL;
  state->parting = parting;
  if (state->closed) lb_state_part(state);
  return 0;
}

/* ---- waiting and checking ---------------------------------------------------------------------------------------------------- */

struct sync {
  struct lb_device *device;
  luhip_buffer **buffers;
  size_t n;
};

static luhip_status wait_device(void *object, const luhip_wait *wait, luhip_error **error) {
  struct sync *sync = object;
  if (!sync->device->device) return LUHIP_E_FREED;
  return luhip_device_sync(sync->device->device, sync->buffers, sync->n, wait, error);
}

/* dev:sync([buffers]) */
static int device_sync(lua_State *L) {
  struct sync sync = {.device = lb_check_device(L, 1)};
  lb_no_more(L, 2);
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) sync.buffers = lb_push_buffers(L, 2, "buffers", &sync.n);
  lb_wait(L, wait_device, &sync);
  return lb_logged(L, 0);
}

/* dev:check(buffers) -> true | nil, error */
static int device_check(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  size_t n;
  luhip_buffer **buffers = lb_push_buffers(L, 2, "buffers", &n);
  luhip_error *error = NULL;
  luhip_status status = luhip_device_check(device->device, buffers, n, &error);
  if (status == LUHIP_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lb_push_error(L, status, error);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

static int device_flush(lua_State *L) {
  lb_check_device(L, 1);
  lb_no_more(L, 1);
  luhip_device_flush(lb_check_device(L, 1)->device);
  return lb_logged(L, 0);
}

/* ---- fields -------------------------------------------------------------------------------------------------------------------- */

static const luhip_device_info *info(lua_State *L) {
  return &lb_check_device(L, 1)->info;
}

#define STRING_FIELD(name)                                                                                             \
  static int field_##name(lua_State *L) {                                                                              \
    lua_pushstring(L, info(L)->name);                                                                                  \
    return 1;                                                                                                          \
  }
#define INTEGER_FIELD(name)                                                                                            \
  static int field_##name(lua_State *L) {                                                                              \
    lua_pushinteger(L, (lua_Integer)info(L)->name);                                                                    \
    return 1;                                                                                                          \
  }
#define TRIPLE_FIELD(name)                                                                                             \
  static int field_##name(lua_State *L) {                                                                              \
    const luhip_device_info *about = info(L);                                                                          \
    const size_t sizes[3] = {(size_t)about->name[0], (size_t)about->name[1], (size_t)about->name[2]};                  \
    lb_push_sizes(L, sizes, 3);                                                                                        \
    return 1;                                                                                                          \
  }
#define FIELDS(STRING, INTEGER, TRIPLE)                                                                                \
  STRING(id)                                                                                                           \
  STRING(backend)                                                                                                      \
  STRING(name)                                                                                                         \
  STRING(arch)                                                                                                         \
  INTEGER(warp_size)                                                                                                   \
  INTEGER(driver_version)                                                                                              \
  INTEGER(units)                                                                                                       \
  INTEGER(max_threads)                                                                                                 \
  INTEGER(shared_bytes)                                                                                                \
  INTEGER(cache_bytes)                                                                                                 \
  INTEGER(memory_bytes)                                                                                                \
  INTEGER(alignment)                                                                                                   \
  TRIPLE(max_block)                                                                                                    \
  TRIPLE(max_grid)
#define ENTRY(name) {#name, field_##name},

FIELDS(STRING_FIELD, INTEGER_FIELD, TRIPLE_FIELD)

static int field_integrated(lua_State *L) {
  lua_pushboolean(L, info(L)->integrated);
  return 1;
}

static luhip_open_options options(lua_State *L) {
  return luhip_device_get_options(lb_check_device(L, 1)->device);
}

static int field_checked(lua_State *L) {
  lua_pushboolean(L, options(L).checked);
  return 1;
}

static int field_timeout(lua_State *L) {
  lua_pushinteger(L, options(L).timeout_ms);
  return 1;
}

static int device_tostring(lua_State *L) {
  struct lb_device *device = lb_check(L, 1, LB_DEVICE);
  lua_pushfstring(L, "luhip.device: %s%s", device->info.id, device->device ? "" : " (closed)");
  return 1;
}

/* Two users of one server are the same device. */
static int device_eq(lua_State *L) {
  const struct lb_device *a = lb_test(L, 1, LB_DEVICE), *b = lb_test(L, 2, LB_DEVICE);
  lua_pushboolean(L, a && b && a->device && b->device && strcmp(a->info.id, b->info.id) == 0);
  return 1;
}

void lb_open_device(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"buffer", lb_device_buffer},
      {"from", lb_device_from},
      {"pitched", lb_device_pitched},
      {"read", lb_device_read},
      {"write", lb_device_write},
      {"staging", lb_device_staging},
      {"resource", lb_device_resource},
      {"compile", lb_device_compile},
      {"kernel", lb_device_kernel},
      {"stream", lb_device_stream},
      {"streams", lb_device_streams},
      {"record", lb_device_record},
      {"start_profile", lb_device_start_profile},
      {"with", lb_device_with},
      {"dry_run", lb_device_dry_run},
      {"sync", device_sync},
      {"check", device_check},
      {"flush", device_flush},
      {"toolchain", device_toolchain},
      {"close", device_close},
      {"free", device_close},
      {NULL, NULL},
  };
  static const luaL_Reg fields[] = {FIELDS(ENTRY, ENTRY, ENTRY){"integrated", field_integrated},
                                    {"checked", field_checked},
                                    {"timeout", field_timeout},
                                    {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", device_tostring}, {"__eq", device_eq}, {"__close", device_end}, {"__gc", device_gc}, {NULL, NULL}};
  lb_class_register(L, LB_DEVICE, &(struct lb_class_functions){methods, fields, meta});
  lb_push_methods(L, LB_DEVICE);
  luaL_setfuncs(L, lb_memory_methods, 0);
  lua_pop(L, 1);
}

const luaL_Reg lb_device_functions[] = {{"devices", core_devices}, {"open", core_open}, {NULL, NULL}};
