/*
 * transfer.c - moving data: one call of the library each, on the current stream of the device.
 *
 * In a dry run (scope.c) arguments are checked and nothing moves; what is read is zeros.
 */
#include <string.h>

#include "lua/binding.h"

/* ---- the calls ------------------------------------------------------------------------------------------------------------ */

/* array: where the array is that is the one source, looked into at each try, as a hook can free it; 0: none is. */
static void write_sources(lua_State *L, struct lb_device *owner, luhip_source *sources, size_t n, int array) {
  const struct lb_state *state = lb_state(L);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    if (array) lb_array_source(L, lb_check_array(L, array)->array, luhip_buffer_layout(sources->buffer), sources);
    struct lb_scope scope = lb_scope(L, state, owner);
    if (scope.dry) return;
    luhip_device *device = lb_owner(L, owner);
    lb_try(L, state, &tries);
    status = luhip_write(device, scope.stream, sources, n, &error);
  } while (lb_retry(L, owner, status, &error, &tries));
  if (status != LUHIP_OK) lb_fail(L, status, error);
}

void lb_transfer_write(lua_State *L, struct lb_device *owner, luhip_source *sources, size_t n) {
  write_sources(L, owner, sources, n, 0);
}

void lb_transfer_write_array(lua_State *L, int idx, struct lb_device *owner, luhip_buffer *buffer) {
  luhip_source source = {.buffer = buffer};
  write_sources(L, owner, &source, 1, idx);
}

void lb_transfer_fill(lua_State *L, struct lb_device *owner, luhip_buffer *buffer, const void *element) {
  const struct lb_state *state = lb_state(L);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    struct lb_scope scope = lb_scope(L, state, owner);
    if (scope.dry) return;
    lb_try(L, state, &tries);
    status = luhip_fill(buffer, scope.stream, element, &error);
  } while (lb_retry(L, owner, status, &error, &tries));
  if (status != LUHIP_OK) lb_fail(L, status, error);
}

/* Shapes and types are looked at here too, so that a dry run finds them. */
void lb_transfer_copy(lua_State *L, struct lb_device *owner, luhip_buffer *target, luhip_buffer *source) {
  const luhip_layout *to = luhip_buffer_layout(target), *from = luhip_buffer_layout(source);
  const struct lb_state *state = lb_state(L);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  if (to->dtype != from->dtype || to->count != from->count) {
    const char *source_shape = lb_push_shape(L, from), *target_shape = lb_push_shape(L, to);
    lb_raise(L, to->dtype != from->dtype ? LUHIP_E_TYPE : LUHIP_E_SHAPE, "a copy of %s into %s", source_shape,
             target_shape);
  }
  if (to->record && from->record && to->record != from->record)
    lb_raise(L, LUHIP_E_TYPE, "a copy of structs of %I bytes into structs of %I", (LUAI_UACINT)from->record,
             (LUAI_UACINT)to->record);
  do {
    struct lb_scope scope = lb_scope(L, state, owner);
    if (scope.dry) return;
    lb_try(L, state, &tries);
    status = luhip_copy(target, source, scope.stream, &error);
  } while (lb_retry(L, owner, status, &error, &tries));
  if (status != LUHIP_OK) lb_fail(L, status, error);
}

/* ---- several at once --------------------------------------------------------------------------------------------------------- */

/* dev:read { x, y } -> { array, array } */
int lb_device_read(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  size_t n;
  luhip_buffer **buffers = lb_push_buffers(L, 2, "buffers", &n);
  lb_push_read(L, 1, device, buffers, n, false);
  lb_future_result(L, -1);
  return 1;
}

/* One pair { buffer, data } of the list at 2: pushes what owns the data. */
static void read_pair(lua_State *L, lua_Integer i, struct lb_device *device, luhip_source *source) {
  int base = lua_gettop(L);
  lua_rawgeti(L, 2, i);
  if (!lua_istable(L, -1))
    lb_argument(L, 2, LUHIP_E_TYPE, "entry %I is no { buffer, data } but %s", (LUAI_UACINT)i, lb_type_name(L, -1));
  if (lb_check_list(L, -1, "an entry { buffer, data }") > 2)
    lb_argument(L, 2, LUHIP_E_ARGUMENT, "entry %I is { buffer, data } and more", (LUAI_UACINT)i);
  lua_rawgeti(L, -1, 1);
  const struct lb_buffer *buffer = lb_test(L, -1, LB_BUFFER);
  if (!buffer)
    lb_argument(L, 2, LUHIP_E_TYPE, "entry %I: a buffer expected, got %s", (LUAI_UACINT)i, lb_type_name(L, -1));
  if (luhip_buffer_is_freed(buffer->buffer))
    lb_argument(L, 2, LUHIP_E_FREED, "entry %I: the buffer was freed", (LUAI_UACINT)i);
  lua_rawgeti(L, -2, 2);
  lb_records_data(L, lua_gettop(L) - 1, lua_gettop(L), (lua_Integer)luhip_buffer_layout(buffer->buffer)->count);
  lb_data_source(L, lua_gettop(L), device, luhip_buffer_layout(buffer->buffer), source);
  source->buffer = buffer->buffer;
  lua_createtable(L, 2, 0); /* the buffer and its source are kept even if the script's own tables change */
  lua_insert(L, base + 1);
  lua_rawseti(L, base + 1, 1); /* the source */
  lua_pop(L, 1);
  lua_rawseti(L, base + 1, 2); /* the buffer */
  lua_settop(L, base + 1);
}

/* dev:write { {x, data}, {y, data} } */
int lb_device_write(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  if (!lua_istable(L, 2))
    lb_argument(L, 2, LUHIP_E_TYPE, "a list of { buffer, data } expected, got %s", lb_type_name(L, 2));
  lua_settop(L, 2);
  size_t n = lb_check_list(L, 2, "device:write");
  luhip_source *sources = lua_newuserdatauv(L, (n + 1) * sizeof *sources, 0);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    read_pair(L, (lua_Integer)i + 1, device, &sources[i]);
    lua_rawseti(L, 4, (lua_Integer)i + 1);
  }
  lb_transfer_write(L, device, sources, n);
  return 0;
}

/* dev:staging { bytes, bytes } -> { array of u8, ... } */
int lb_device_staging(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  if (!lua_istable(L, 2)) lb_argument(L, 2, LUHIP_E_TYPE, "a list of byte counts expected, got %s", lb_type_name(L, 2));
  size_t n = lb_check_list(L, 2, "device:staging");
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    luhip_layout layout = {.dtype = LUHIP_U8, .ndim = 1};
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    layout.shape[0] = (size_t)lb_to_integer(L, -1, "staging: bytes", 0, LUA_MAXINTEGER);
    lua_pop(L, 1);
    lb_layout_pack(&layout);
    lb_push_array(L, device, &layout);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- raw memory for neighbours in C --------------------------------------------------------------------------------------------- */

struct resource {
  luhip_buffer *buffer; /* NULL: freed */
  struct lb_device *owner;
  uint64_t pointer;
  size_t bytes;
  bool tried; /* it has failed for lack of memory once */
};

static luhip_status wait_resource(void *object, const luhip_wait *wait, luhip_error **error) {
  struct resource *resource = object;
  if (!resource->buffer) return LUHIP_E_FREED;
  luhip_host host = {.wait = *wait, .repeats = !resource->tried};
  luhip_set_host(&host);
  luhip_status status = luhip_buffer_resource(resource->buffer, wait, &resource->pointer, &resource->bytes, error);
  luhip_set_host(NULL);
  return status;
}

/* dev:resource(x) -> r: r.pointer, r.bytes; keeps the memory while held */
int lb_device_resource(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  struct lb_buffer *buffer = lb_check_buffer(L, 2);
  struct resource *resource = lb_new(L, LB_RESOURCE, sizeof *resource, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  resource->owner = device;
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  do {
    if (!resource->buffer) resource->buffer = luhip_buffer_retain(buffer->buffer);
    resource->tried = tries.count > 0;
    status = lb_wait_status(L, wait_resource, resource, &error);
  } while (lb_retry(L, device, status, &error, &tries));
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

static struct resource *check_resource(lua_State *L) {
  struct resource *resource = lb_check(L, 1, LB_RESOURCE);
  if (!resource->buffer) lb_argument(L, 1, LUHIP_E_FREED, "the resource was freed");
  lb_owner(L, resource->owner);
  return resource;
}

static int field_pointer(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_resource(L)->pointer);
  return 1;
}

static int field_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_resource(L)->bytes);
  return 1;
}

static int resource_free(lua_State *L) {
  struct resource *resource = lb_check(L, 1, LB_RESOURCE);
  luhip_buffer *buffer = resource->buffer;
  resource->buffer = NULL;
  luhip_buffer_release(buffer);
  return 0;
}

static int resource_tostring(lua_State *L) {
  struct resource *resource = lb_check(L, 1, LB_RESOURCE);
  if (resource->buffer)
    lua_pushfstring(L, "luhip.resource: %I bytes at %p", (LUAI_UACINT)resource->bytes,
                    (void *)(uintptr_t)resource->pointer);
  else
    lua_pushliteral(L, "luhip.resource (freed)");
  return 1;
}

void lb_open_resource(lua_State *L) {
  static const luaL_Reg methods[] = {{"free", resource_free}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"pointer", field_pointer}, {"bytes", field_bytes}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", resource_tostring}, {"__close", resource_free}, {"__gc", resource_free}, {NULL, NULL}};
  lb_class_register(L, LB_RESOURCE, &(struct lb_class_functions){methods, fields, meta});
}
