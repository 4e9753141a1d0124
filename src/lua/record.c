/*
 * record.c - buffers of structs.
 *
 * luhip.struct makes a layout in Lua: a table of a metatable that has __struct. A buffer of such structs is a u8
 * buffer whose last dimension is the bytes of one struct (luhip_layout's `record`), and keeps the layout as its user
 * value 3. Slices, copies and launches are those of any buffer; what turns Lua tables into bytes and back is the
 * layout's own: __data(layout, data, count) gives a byte string, __totable(layout, bytes, shape) nested tables and
 * __array(layout, bytes, shape) what read returns.
 */
#include <string.h>

#include "lua/binding.h"

bool lb_is_struct(lua_State *L, int idx) {
  if (!lua_istable(L, idx) || luaL_getmetafield(L, idx, "__struct") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

/* Bytes of one struct of the layout at idx. */
static size_t record_bytes(lua_State *L, int idx) {
  lua_getfield(L, idx, "bytes");
  lua_Integer bytes = lb_to_integer(L, -1, "the struct's bytes", 1, INT32_MAX);
  lua_pop(L, 1);
  return (size_t)bytes;
}

/* ---- making ------------------------------------------------------------------------------------------------------- */

/* The buffer on top, just made and nobody's yet, becomes one of structs of the layout at `type`. */
static void become_records(lua_State *L, int type, const luhip_layout *layout) {
  struct lb_buffer *buffer = lb_check_buffer(L, -1);
  luhip_buffer *plain = buffer->buffer, *records = NULL;
  luhip_error *error = NULL;
  luhip_status status = luhip_buffer_view(plain, layout, &records, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  buffer->buffer = records;
  luhip_buffer_release(plain);
  lua_pushvalue(L, type);
  lua_setiuservalue(L, -2, 3); /* it was made with room for it */
}

/* Pushes a new buffer of structs of the layout at 2; *layout has their shape. */
static void push_records(lua_State *L, luhip_layout *layout) {
  size_t bytes = record_bytes(L, 2);
  if (layout->ndim == LUHIP_MAX_DIMS)
    lb_argument(L, 3, LUHIP_E_SHAPE, "a buffer of structs has 1 to %d dimensions", LUHIP_MAX_DIMS - 1);
  layout->shape[layout->ndim++] = bytes;
  if (!lb_layout_pack(layout)) lb_argument(L, 3, LUHIP_E_TOO_BIG, "more than memory can address");
  layout->record = bytes;
  lb_push_buffer(L, layout, luhip_buffer_new);
  become_records(L, 2, layout);
}

/* dev:buffer(layout, shape [, init]) */
int lb_make_records(lua_State *L) {
  luhip_layout layout = {.dtype = LUHIP_U8};
  lb_check_device(L, 1);
  lua_settop(L, 4);
  lb_check_shape(L, 3, &layout);
  push_records(L, &layout);
  if (!lua_isnil(L, 4)) lb_initialise(L, 4);
  return 1;
}

/* dev:from(layout, data): as many structs as the data has */
int lb_records_from(lua_State *L) {
  luhip_layout layout = {.dtype = LUHIP_U8, .ndim = 1};
  lb_check_device(L, 1);
  lua_settop(L, 3);
  size_t bytes = record_bytes(L, 2), length;
  if (lua_type(L, 3) != LUA_TSTRING) {
    if (!lua_istable(L, 3))
      lb_argument(L, 3, LUHIP_E_TYPE, "data: a table or byte string expected, got %s", lb_type_name(L, 3));
    luaL_getmetafield(L, 2, "__data");
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 1);
    lua_replace(L, 3);
  }
  lb_check_string(L, 3, "data", &length);
  if (length % bytes)
    lb_argument(L, 3, LUHIP_E_SHAPE, "%I bytes are no whole number of structs of %I", (LUAI_UACINT)length,
                (LUAI_UACINT)bytes);
  layout.shape[0] = length / bytes;
  push_records(L, &layout);
  lb_initialise(L, 3);
  return 1;
}

/* m:view(layout): the bytes of the last dimension as structs; where they are just one, that dimension goes. */
int lb_view_records(lua_State *L) {
  luhip_layout layout = *luhip_buffer_layout(lb_check_buffer(L, 1)->buffer);
  lua_settop(L, 2);
  size_t bytes = record_bytes(L, 2), size = luhip_dtype_bytes(layout.dtype);
  int last = layout.ndim - 1;
  size_t row = layout.shape[last] * size;
  bool one = row == bytes && layout.ndim > 1;
  if ((layout.strides[last] != 1 && layout.shape[last] > 1) || row % bytes || (!one && layout.ndim == LUHIP_MAX_DIMS)) {
    const char *shape = lb_push_shape(L, &layout);
    lb_argument(L, 2, LUHIP_E_SHAPE, "the rows of %s are no whole number of packed structs of %I bytes", shape,
                (LUAI_UACINT)bytes);
  }
  for (int i = 0; i < last; i++) layout.strides[i] *= (ptrdiff_t)size;
  if (!one) {
    layout.shape[last] = row / bytes;
    layout.strides[last] = (ptrdiff_t)bytes;
    layout.ndim = ++last + 1;
  }
  layout.shape[last] = layout.record = bytes;
  layout.strides[last] = 1;
  layout.dtype = LUHIP_U8;
  lb_push_view(L, 1, &layout);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 3);
  return 1;
}

/* ---- data --------------------------------------------------------------------------------------------------------- */

/* Pushes a function of the struct layout of the buffer at idx, and the layout. */
static void push_function(lua_State *L, int idx, const char *name) {
  lua_getiuservalue(L, idx, 3);
  if (luaL_getmetafield(L, -1, name) == LUA_TNIL) lb_raise(L, LUHIP_E_TYPE, "the struct layout has no %s", name);
  lua_insert(L, -2);
}

void lb_records_data(lua_State *L, int buffer, int idx, lua_Integer count) {
  size_t bytes = luhip_buffer_layout(lb_check_buffer(L, buffer)->buffer)->record;
  if (!bytes || lua_type(L, idx) == LUA_TSTRING || lb_test(L, idx, LB_ARRAY)) return;
  luaL_checkstack(L, 5, NULL);
  push_function(L, buffer, "__data");
  lua_pushvalue(L, idx);
  if (count >= 0)
    lua_pushinteger(L, count / (lua_Integer)bytes);
  else
    lua_pushnil(L);
  lua_call(L, 3, 1);
  lua_replace(L, idx);
}

void lb_records_read(lua_State *L, const char *what) {
  luhip_array *array = lb_hold_array(L, lb_check_array(L, -1))->array;
  const luhip_layout *layout = luhip_array_layout(array);
  push_function(L, 1, what);
  lua_pushlstring(L, luhip_array_data(array), layout->bytes);
  lb_push_sizes(L, layout->shape, layout->ndim - 1);
  lua_call(L, 3, 1);
}

const char *lb_push_records_shape(lua_State *L, int idx) {
  const struct lb_buffer *buffer = lb_check(L, idx, LB_BUFFER);
  luhip_layout layout = *luhip_buffer_layout(buffer->buffer);
  const char *shape = strchr(lb_push_shape(L, &layout), '[');
  lua_getiuservalue(L, idx, 3);
  lua_getfield(L, -1, "name");
  const char *name = lua_tostring(L, -1);
  return lua_pushfstring(L, "%s%s", name ? name : "struct", shape);
}
