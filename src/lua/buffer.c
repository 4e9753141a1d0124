/*
 * buffer.c - device buffers: making them, their fields, writing, filling, copying and reading them.
 *
 * A buffer object keeps its native handle until it is collected, even when it was freed, so that a freed buffer
 * can still say what it was.
 */
#include <string.h>

#include "lua/binding.h"

/* ---- objects ----------------------------------------------------------------------------------------------------------- */

struct lb_buffer *lb_check_buffer(lua_State *L, int idx) {
  struct lb_buffer *buffer = lb_check(L, idx, LB_BUFFER);
  if (!buffer->buffer || luhip_buffer_is_freed(buffer->buffer))
    lb_argument(L, idx, LUHIP_E_FREED, "the buffer was freed");
  lb_owner(L, buffer->owner);
  return buffer;
}

struct lb_buffer *lb_new_buffer(lua_State *L, int device, struct lb_device *owner, int values) {
  device = lua_absindex(L, device);
  struct lb_buffer *buffer = lb_new(L, LB_BUFFER, sizeof *buffer, values);
  buffer->owner = owner;
  lua_pushvalue(L, device);
  lua_setiuservalue(L, -2, 1);
  return buffer;
}

/* The live buffer on top, which is entry i of a list. */
static luhip_buffer *list_entry(lua_State *L, const char *what, lua_Integer i) {
  const struct lb_buffer *buffer = lb_test(L, -1, LB_BUFFER);
  if (buffer && buffer->buffer && !luhip_buffer_is_freed(buffer->buffer)) return buffer->buffer;
  const char *type = lb_type_name(L, -1), *name = lb_push_function_name(L);
  if (buffer) lb_raise(L, LUHIP_E_FREED, "%s: %s: entry %I was freed", name, what, (LUAI_UACINT)i);
  lb_raise(L, LUHIP_E_TYPE, "%s: %s: entry %I is no buffer but %s", name, what, (LUAI_UACINT)i, type);
  return NULL;
}

luhip_buffer **lb_push_buffers(lua_State *L, int idx, const char *what, size_t *n) {
  bool list = lua_istable(L, idx);
  if (!list && !lb_test(L, idx, LB_BUFFER)) {
    const char *type = lb_type_name(L, idx), *name = lb_push_function_name(L);
    lb_raise(L, LUHIP_E_TYPE, "%s: %s: a list of buffers expected, got %s", name, what, type);
  }
  *n = list ? lb_check_list(L, idx, what) : 1;
  luhip_buffer **buffers = lua_newuserdatauv(L, (*n + 1) * sizeof *buffers, 0);
  for (size_t i = 0; i < *n; i++) {
    if (list)
      lua_rawgeti(L, idx, (lua_Integer)i + 1);
    else
      lua_pushvalue(L, idx);
    buffers[i] = list_entry(L, what, (lua_Integer)i + 1);
    lua_pop(L, 1); /* the list keeps it */
  }
  return buffers;
}

static int buffer_gc(lua_State *L) {
  struct lb_buffer *buffer = lb_check(L, 1, LB_BUFFER);
  luhip_buffer *native = buffer->buffer;
  buffer->buffer = NULL;
  lb_discharge(&buffer->charged);
  luhip_buffer_release(native);
  return 0;
}

/* free and __close: ends the use of the buffer; the handle goes with the object. */
static int buffer_free(lua_State *L) {
  struct lb_buffer *buffer = lb_check(L, 1, LB_BUFFER);
  lb_discharge(&buffer->charged);
  if (buffer->buffer) luhip_buffer_free(buffer->buffer);
  return lb_logged(L, 0);
}

/* ---- making ---------------------------------------------------------------------------------------------------------------- */

/* Within a plan, the new buffer is a part of it. */
static luhip_status add_to_plan(lua_State *L, const struct lb_state *state, const struct lb_device *device,
                                luhip_buffer *buffer, luhip_error **error) {
  struct lb_scope scope = lb_scope(L, state, device);
  return scope.plan ? luhip_plan_add(scope.plan, buffer, error) : LUHIP_OK;
}

struct lb_buffer *lb_push_buffer(lua_State *L, const luhip_layout *layout, lb_buffer_maker make) {
  const struct lb_state *state = lb_state(L);
  struct lb_device *device = lb_check_device(L, 1);
  struct lb_buffer *buffer = lb_new_buffer(L, 1, device, layout->record ? 3 : 1);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  lb_charge(L, &buffer->charged, layout->bytes);
  do {
    status = make(lb_owner(L, device), layout->dtype, layout->ndim, layout->shape, &buffer->buffer, &error);
  } while (lb_retry(L, device, status, &error, &tries));
  if (status == LUHIP_OK) status = add_to_plan(L, state, device, buffer->buffer, &error);
  if (status == LUHIP_OK) return buffer;
  lb_discharge(&buffer->charged);
  lb_fail(L, status, error);
  return NULL;
}

void lb_initialise(lua_State *L, int data) {
  struct lb_buffer *buffer = lb_check_buffer(L, -1);
  luhip_source source;
  if (lb_test(L, data, LB_ARRAY)) {
    lb_transfer_write_array(L, data, buffer->owner, buffer->buffer);
    return;
  }
  lb_records_data(L, lua_gettop(L), data, (lua_Integer)luhip_buffer_layout(buffer->buffer)->count);
  lb_data_source(L, data, buffer->owner, luhip_buffer_layout(buffer->buffer), &source);
  source.buffer = buffer->buffer;
  lb_transfer_write(L, buffer->owner, &source, 1);
  lua_pop(L, 1);
}

/* A number is one value for all: no bytes are made of it on the host. */
static void fill(lua_State *L, struct lb_buffer *buffer, int value) {
  unsigned char element[16];
  luhip_dtype dtype = luhip_buffer_layout(buffer->buffer)->dtype;
  enum lb_fit fit = lb_to_element(L, value, dtype, element);
  if (fit != LB_FITS) lb_bad_element(L, value, dtype, fit, "the value");
  lb_transfer_fill(L, buffer->owner, buffer->buffer, element);
}

static int make_buffer(lua_State *L, lb_buffer_maker make) {
  luhip_layout layout = {0};
  lb_check_device(L, 1);
  lua_settop(L, 4);
  layout.dtype = lb_check_dtype(L, 2);
  lb_check_shape(L, 3, &layout);
  struct lb_buffer *buffer = lb_push_buffer(L, &layout, make);
  int init = lua_type(L, 4);
  if (init == LUA_TNUMBER || init == LUA_TBOOLEAN)
    fill(L, buffer, 4);
  else if (init != LUA_TNIL)
    lb_initialise(L, 4);
  return lb_logged(L, 1);
}

/* dev:buffer(dtype, shape [, init]) and dev:pitched(dtype, shape [, init]) */
int lb_device_buffer(lua_State *L) {
  lb_no_more(L, 4);
  if (lb_is_struct(L, 2)) return lb_make_records(L);
  return make_buffer(L, luhip_buffer_new);
}
int lb_device_pitched(lua_State *L) {
  lb_no_more(L, 4);
  return make_buffer(L, luhip_buffer_new_pitched);
}

/* dev:from(dtype, data): the shape is the data's */
int lb_device_from(lua_State *L) {
  luhip_layout layout = {0};
  if (lb_is_struct(L, 2)) return lb_records_from(L);
  lb_check_device(L, 1);
  lua_settop(L, 3);
  layout.dtype = lb_check_dtype(L, 2);
  lb_data_shape(L, 3, &layout);
  lb_push_buffer(L, &layout, luhip_buffer_new);
  lb_initialise(L, 3);
  return lb_logged(L, 1);
}

/* ---- views -------------------------------------------------------------------------------------------------------------------- */

struct lb_buffer *lb_push_view(lua_State *L, int idx, const luhip_layout *layout) {
  idx = lua_absindex(L, idx);
  struct lb_buffer *buffer = lb_check_buffer(L, idx);
  lua_getiuservalue(L, idx, 1);
  struct lb_buffer *view = lb_new_buffer(L, -1, buffer->owner, 3);
  lua_remove(L, -2);
  lua_pushvalue(L, idx);
  lua_setiuservalue(L, -2, 2);
  if (layout->record) {
    lua_getiuservalue(L, idx, 3);
    lua_setiuservalue(L, -2, 3);
  }
  luhip_error *error = NULL;
  luhip_status status = luhip_buffer_view(buffer->buffer, layout, &view->buffer, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  return view;
}

luhip_layout lb_slice_layout(const luhip_layout *layout, size_t offset, size_t length) {
  luhip_layout slice = *layout;
  slice.shape[0] = length;
  if (length > 0) slice.offset += offset * (size_t)slice.strides[0] * luhip_dtype_bytes(slice.dtype);
  return slice;
}

/* Pushes the buffer at 1 itself, or the view of first, last at idx and idx + 1. */
static struct lb_buffer *push_range(lua_State *L, int idx) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  size_t offset, length;
  if (lua_isnoneornil(L, idx) && lua_isnoneornil(L, idx + 1)) {
    lua_pushvalue(L, 1);
    return buffer;
  }
  const luhip_layout *layout = luhip_buffer_layout(buffer->buffer);
  lb_check_range(L, idx, layout->shape[0], &offset, &length);
  luhip_layout slice = lb_slice_layout(layout, offset, length);
  struct lb_buffer *view = lb_push_view(L, 1, &slice);
  lua_toclose(L, -1); /* nobody else knows it: its share of the memory does not wait for the collector */
  return view;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

/* Pushes the view that data written from element or row `first` on covers. */
static struct lb_buffer *push_target(lua_State *L, struct lb_buffer *buffer) {
  const luhip_layout *layout = luhip_buffer_layout(buffer->buffer);
  luhip_layout row = {.dtype = layout->dtype, .ndim = layout->ndim - 1};
  lua_Integer first = lb_check_integer(L, 3, "first", 1, (lua_Integer)layout->shape[0] + 1);
  memcpy(row.shape, layout->shape + 1, sizeof row.shape - sizeof row.shape[0]);
  lb_layout_pack(&row);
  lua_Integer rest = (lua_Integer)layout->shape[0] - first + 1;
  lb_records_data(L, 1, 2, lua_isfunction(L, 2) ? rest * (lua_Integer)row.count : -1);
  lua_Integer n = lb_data_count(L, 2, layout->dtype, layout->ndim > 1 ? &row : NULL);
  if (n < 0) n = rest;
  if (n > rest)
    lb_argument(L, 2, LUHIP_E_RANGE, "%I %s from %I on do not fit in %I", (LUAI_UACINT)n,
                layout->ndim > 1 ? "rows" : "elements", (LUAI_UACINT)first, (LUAI_UACINT)layout->shape[0]);
  luhip_layout slice = lb_slice_layout(layout, (size_t)first - 1, (size_t)n);
  struct lb_buffer *view = lb_push_view(L, 1, &slice);
  lua_toclose(L, -1);
  return view;
}

/* m:write(data [, first]): without first the data fills the whole buffer exactly. Returns the buffer. */
static int buffer_write(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  lua_settop(L, 3);
  if (lua_isnil(L, 2)) lb_argument(L, 2, LUHIP_E_TYPE, "data expected, got nil");
  if (lua_isnil(L, 3))
    lua_pushvalue(L, 1);
  else
    buffer = push_target(L, buffer);
  bool number = lua_type(L, 2) == LUA_TNUMBER || lua_type(L, 2) == LUA_TBOOLEAN;
  if (number && !luhip_buffer_layout(buffer->buffer)->record)
    fill(L, buffer, 2);
  else
    lb_initialise(L, 2);
  lua_settop(L, 1);
  return lb_logged(L, 1);
}

/* Every struct the same: no single value that a fill could repeat. */
static void fill_records(lua_State *L, const luhip_layout *layout) {
  size_t n = layout->record ? layout->count / layout->record : 0, length;
  lb_records_data(L, 1, 2, (lua_Integer)layout->record);
  const char *one = lb_check_string(L, 2, "value", &length);
  if (length != layout->record)
    lb_argument(L, 2, LUHIP_E_SHAPE, "%I bytes for a struct of %I", (LUAI_UACINT)length, (LUAI_UACINT)layout->record);
  luaL_Buffer all;
  char *to = luaL_buffinitsize(L, &all, n * length);
  for (size_t i = 0; i < n; i++) memcpy(to + i * length, one, length);
  luaL_pushresultsize(&all, n * length);
  lua_replace(L, 2);
  lua_pushvalue(L, 1);
  lb_initialise(L, 2);
}

/* m:fill(value) */
static int buffer_fill(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  const luhip_layout layout = *luhip_buffer_layout(buffer->buffer);
  lua_settop(L, 2);
  if (layout.record)
    fill_records(L, &layout);
  else
    fill(L, buffer, 2);
  lua_settop(L, 1);
  return lb_logged(L, 1);
}

/* m:copy(source) */
static int buffer_copy(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1), *source = lb_check_buffer(L, 2);
  lb_transfer_copy(L, buffer->owner, buffer->buffer, source->buffer);
  lua_settop(L, 1);
  return lb_logged(L, 1);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

/* Reads first, last at idx of the buffer at 1, waits, and pushes the array. */
static struct lb_array *read_range(lua_State *L, int idx) {
  struct lb_buffer *buffer = push_range(L, idx);
  return lb_read(L, buffer->owner, buffer->buffer);
}

/* m:read([first, last]) -> array */
static int buffer_read(lua_State *L) {
  lb_no_more(L, 3);
  lua_settop(L, 3);
  read_range(L, 2);
  if (luhip_buffer_layout(lb_check_buffer(L, 1)->buffer)->record) lb_records_read(L, "__array");
  return lb_logged(L, 1);
}

/* m:read_async([first, last]) -> future */
static int buffer_read_async(lua_State *L) {
  lb_no_more(L, 3);
  lua_settop(L, 3);
  struct lb_buffer *buffer = push_range(L, 2);
  lua_getiuservalue(L, 1, 1);
  lb_push_read(L, -1, buffer->owner, &buffer->buffer, 1, true);
  return 1;
}

/* m:totable([first, last]) */
static int buffer_totable(lua_State *L) {
  lb_no_more(L, 3);
  lua_settop(L, 3);
  luhip_array *array = read_range(L, 2)->array;
  if (luhip_buffer_layout(lb_check_buffer(L, 1)->buffer)->record) {
    lb_records_read(L, "__totable");
    return 1;
  }
  lb_data_push(L, luhip_array_layout(array), luhip_array_data(array));
  return 1;
}

/* m:bytes_string([first, last]) */
static int buffer_bytes_string(lua_State *L) {
  lb_no_more(L, 3);
  lua_settop(L, 3);
  luhip_array *array = read_range(L, 2)->array;
  lua_pushlstring(L, luhip_array_data(array), luhip_array_layout(array)->bytes);
  return 1;
}

/* m:read_into(array) -> array */
static int buffer_read_into(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  const luhip_layout *layout = luhip_buffer_layout(buffer->buffer);
  const luhip_layout *given = luhip_array_layout(lb_check_array(L, 2)->array);
  if (given->dtype != layout->dtype || given->count != layout->count) {
    lb_push_shape(L, given);
    lb_push_shape(L, layout);
    lb_argument(L, 2, given->dtype != layout->dtype ? LUHIP_E_TYPE : LUHIP_E_SHAPE, "array %s for a buffer %s",
                lua_tostring(L, -2), lua_tostring(L, -1));
  }
  lua_settop(L, 2);
  lua_pushnil(L);
  luhip_array *from = read_range(L, 3)->array;
  lb_settle(L, lb_check_array(L, 2));
  luhip_array *into = lb_check_array(L, 2)->array; /* a hook may have run during the waits */
  memcpy(luhip_array_data(into), luhip_array_data(from), luhip_array_layout(from)->bytes);
  lua_settop(L, 2);
  return 1;
}

/* m:check() -> true | nil, error */
static int buffer_check(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  lb_no_more(L, 1);
  luhip_error *error = NULL;
  luhip_status status = luhip_device_check(lb_owner(L, buffer->owner), &buffer->buffer, 1, &error);
  if (status == LUHIP_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushnil(L);
  lb_push_error(L, status, error);
  return 2;
}

/* ---- fields --------------------------------------------------------------------------------------------------------------------- */

static const luhip_layout *layout_of(lua_State *L) {
  return luhip_buffer_layout(lb_check_buffer(L, 1)->buffer);
}

/* A struct is one element; its layout is the dtype. */
static luhip_layout shown_layout(lua_State *L) {
  luhip_layout layout = *layout_of(L);
  if (!layout.record) return layout;
  layout.ndim--;
  layout.count /= layout.record;
  for (int i = 0; i < layout.ndim; i++) layout.strides[i] /= (ptrdiff_t)layout.record;
  return layout;
}

static int field_dtype(lua_State *L) {
  if (layout_of(L)->record) {
    lua_getiuservalue(L, 1, 3);
    return 1;
  }
  lua_pushstring(L, luhip_dtype_name(layout_of(L)->dtype));
  return 1;
}

static int field_shape(lua_State *L) {
  luhip_layout layout = shown_layout(L);
  lb_push_sizes(L, layout.shape, layout.ndim);
  return 1;
}

static int field_strides(lua_State *L) {
  luhip_layout layout = shown_layout(L);
  lua_createtable(L, layout.ndim, 0);
  for (int i = 0; i < layout.ndim; i++) {
    lua_pushinteger(L, layout.strides[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int field_count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)shown_layout(L).count);
  return 1;
}

static int field_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)layout_of(L)->bytes);
  return 1;
}

static int field_device(lua_State *L) {
  lb_check_buffer(L, 1);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int field_is_contiguous(lua_State *L) {
  lua_pushboolean(L, luhip_buffer_is_contiguous(lb_check_buffer(L, 1)->buffer));
  return 1;
}

static int buffer_tostring(lua_State *L) {
  const struct lb_buffer *buffer = lb_check(L, 1, LB_BUFFER);
  if (!buffer->buffer) {
    lua_pushliteral(L, "luhip.buffer (freed)");
    return 1;
  }
  const luhip_layout *layout = luhip_buffer_layout(buffer->buffer);
  const char *shape = layout->record ? lb_push_records_shape(L, 1) : lb_push_shape(L, layout);
  bool freed = luhip_buffer_is_freed(buffer->buffer) || !buffer->owner->device;
  lua_pushfstring(L, "luhip.buffer: %s on %s%s", shape, buffer->owner->info.id, freed ? " (freed)" : "");
  return 1;
}

void lb_open_buffer(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"write", buffer_write},
      {"fill", buffer_fill},
      {"copy", buffer_copy},
      {"read", buffer_read},
      {"read_async", buffer_read_async},
      {"read_into", buffer_read_into},
      {"totable", buffer_totable},
      {"bytes_string", buffer_bytes_string},
      {"check", buffer_check},
      {"free", buffer_free},
      {NULL, NULL},
  };
  static const luaL_Reg fields[] = {
      {"dtype", field_dtype},
      {"shape", field_shape},
      {"strides", field_strides},
      {"count", field_count},
      {"bytes", field_bytes},
      {"device", field_device},
      {"is_contiguous", field_is_contiguous},
      {NULL, NULL},
  };
  static const luaL_Reg meta[] = {{"__len", field_count},
                                  {"__tostring", buffer_tostring},
                                  {"__close", buffer_free},
                                  {"__gc", buffer_gc},
                                  {NULL, NULL}};
  lb_class_register(L, LB_BUFFER, &(struct lb_class_functions){methods, fields, meta});
  lb_push_methods(L, LB_BUFFER);
  luaL_setfuncs(L, lb_view_methods, 0);
  lua_pop(L, 1);
}
