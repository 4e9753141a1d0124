/*
 * array.c - host arrays.
 *
 * a[i] is the i-th element in row-major order, 1-based, whatever the shape. Reading just past the end gives nil,
 * so that ipairs(a) ends; any other index outside is an error. A pinned array may still be the source of a copy
 * to the device: whatever changes it waits for that copy first.
 */
#include <string.h>

#include "lua/binding.h"

/* ---- objects --------------------------------------------------------------------------------------------------------- */

struct lb_array *lb_check_array(lua_State *L, int idx) {
  struct lb_array *array = lb_check(L, idx, LB_ARRAY);
  if (!array->array) lb_argument(L, idx, LUHIP_E_FREED, "the array was freed");
  return array;
}

struct lb_array *lb_new_array(lua_State *L) {
  return lb_new(L, LB_ARRAY, sizeof(struct lb_array), 0);
}

struct lb_array *lb_hold_array(lua_State *L, const struct lb_array *array) {
  struct lb_array *held = lb_new_array(L);
  if (!array->array) lb_raise(L, LUHIP_E_FREED, "the array was freed");
  held->array = luhip_array_retain(array->array);
  held->pinned = array->pinned;
  return held;
}

struct lb_array *lb_push_array(lua_State *L, struct lb_device *device, const luhip_layout *layout) {
  struct lb_array *array = lb_new_array(L);
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  lb_charge(L, &array->charged, layout->bytes);
  if (device) {
    do {
      status = luhip_array_new_staging(lb_owner(L, device), layout->dtype, layout->ndim, layout->shape, &array->array,
                                       &error);
    } while (lb_retry(L, device, status, &error, &tries));
  } else {
    status = luhip_array_new(layout->dtype, layout->ndim, layout->shape, &array->array, &error);
  }
  if (status != LUHIP_OK) {
    lb_discharge(&array->charged);
    lb_fail(L, status, error);
  }
  array->pinned = luhip_array_is_pinned(array->array);
  return array;
}

static luhip_status wait_settled(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_array *array = object;
  return array->array ? luhip_array_settle(array->array, wait, error) : LUHIP_E_FREED;
}

void lb_settle(lua_State *L, struct lb_array *array) {
  if (array->pinned) lb_wait(L, wait_settled, array);
}

static int array_free(lua_State *L) {
  struct lb_array *array = lb_check(L, 1, LB_ARRAY);
  luhip_array *native = array->array;
  array->array = NULL;
  lb_discharge(&array->charged);
  luhip_array_release(native);
  return 0;
}

/* luhip.array(dtype, shape [, init]) */
int lb_array_new(lua_State *L) {
  lb_no_more(L, 3);
  luhip_layout layout = {0};
  lua_settop(L, 3);
  layout.dtype = lb_check_dtype(L, 1);
  lb_check_shape(L, 2, &layout);
  struct lb_array *array = lb_push_array(L, NULL, &layout);
  if (lua_isnil(L, 3)) return 1;
  luhip_source source;
  lb_data_source(L, 3, NULL, &layout, &source);
  memcpy(luhip_array_data(array->array), source.data, source.bytes);
  lua_settop(L, 4);
  return 1;
}

/* ---- elements ---------------------------------------------------------------------------------------------------------- */

/* The address of element i of a live array, or NULL when there is none. */
static void *element_at(luhip_array *array, lua_Integer i) {
  const luhip_layout *layout = luhip_array_layout(array);
  if (i < 1 || (lua_Unsigned)i > layout->count) return NULL;
  return (unsigned char *)luhip_array_data(array) + (size_t)(i - 1) * luhip_dtype_bytes(layout->dtype);
}

static int no_element(lua_State *L, luhip_array *array) {
  if (lua_type(L, 2) != LUA_TNUMBER)
    return lb_raise(L, LUHIP_E_TYPE, "an array has no element '%s'", luaL_tolstring(L, 2, NULL));
  return lb_raise(L, LUHIP_E_RANGE, "index %s is outside 1..%I", luaL_tolstring(L, 2, NULL),
                  (LUAI_UACINT)luhip_array_layout(array)->count);
}

/* Upvalue 1: the class's __index, for names. */
static int array_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) {
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
  }
  luhip_array *array = lb_check_array(L, 1)->array;
  int whole;
  lua_Integer i = lua_tointegerx(L, 2, &whole);
  const void *element = whole ? element_at(array, i) : NULL;
  const luhip_layout *layout = luhip_array_layout(array);
  if (element)
    lb_push_element(L, layout->dtype, element);
  else if (whole && i == (lua_Integer)layout->count + 1)
    lua_pushnil(L);
  else
    return no_element(L, array);
  return 1;
}

static int array_newindex(lua_State *L) {
  struct lb_array *array = lb_check_array(L, 1);
  int whole;
  lua_Integer i = lua_tointegerx(L, 2, &whole);
  if (lua_type(L, 2) != LUA_TNUMBER || !whole || !element_at(array->array, i)) return no_element(L, array->array);
  unsigned char element[16];
  luhip_dtype dtype = luhip_array_layout(array->array)->dtype;
  enum lb_fit fit = lb_to_element(L, 3, dtype, element);
  if (fit != LB_FITS) {
    lua_pushfstring(L, "element [%I]", (LUAI_UACINT)i);
    lb_bad_element(L, 3, dtype, fit, lua_tostring(L, -1));
  }
  lb_settle(L, array);
  memcpy(element_at(lb_check_array(L, 1)->array, i), element, luhip_dtype_bytes(dtype));
  return 0;
}

/* a:map(f): a[i] = f(a[i], i) for each element, in place. Returns the array. */
static int array_map(lua_State *L) {
  lb_settle(L, lb_check_array(L, 1));
  lb_check_function(L, 2, "f");
  const luhip_layout layout = *luhip_array_layout(lb_check_array(L, 1)->array);
  unsigned char element[16];
  for (size_t i = 1; i <= layout.count; i++) {
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    lb_push_element(L, layout.dtype, element_at(lb_check_array(L, 1)->array, (lua_Integer)i));
    lua_pushinteger(L, (lua_Integer)i);
    lua_call(L, 2, 1);
    enum lb_fit fit = lb_to_element(L, -1, layout.dtype, element);
    if (fit != LB_FITS) {
      lua_pushfstring(L, "element [%I]", (LUAI_UACINT)i);
      lb_bad_element(L, -2, layout.dtype, fit, lua_tostring(L, -1));
    }
    lb_settle(L, lb_check_array(L, 1)); /* f may have written the array to a device */
    memcpy(element_at(lb_check_array(L, 1)->array, (lua_Integer)i), element, luhip_dtype_bytes(layout.dtype));
  }
  lua_settop(L, 1);
  return 1;
}

/* a:write(data): all of it, as buffers take it. Returns the array. */
static int array_write(lua_State *L) {
  const luhip_layout layout = *luhip_array_layout(lb_check_array(L, 1)->array);
  luhip_source source;
  lua_settop(L, 2);
  lb_data_source(L, 2, NULL, &layout, &source);
  lb_settle(L, lb_check_array(L, 1));
  memmove(luhip_array_data(lb_check_array(L, 1)->array), source.data, source.bytes);
  lua_settop(L, 1);
  return 1;
}

static int array_totable(lua_State *L) {
  lb_check_array(L, 1);
  lb_no_more(L, 1);
  luhip_array *array = lb_hold_array(L, lb_check_array(L, 1))->array;
  lb_data_push(L, luhip_array_layout(array), luhip_array_data(array));
  return 1;
}

static int array_bytes_string(lua_State *L) {
  lb_check_array(L, 1);
  lb_no_more(L, 1);
  luhip_array *array = lb_hold_array(L, lb_check_array(L, 1))->array;
  lua_pushlstring(L, luhip_array_data(array), luhip_array_layout(array)->bytes);
  return 1;
}

/* ---- fields -------------------------------------------------------------------------------------------------------------- */

static int field_dtype(lua_State *L) {
  lua_pushstring(L, luhip_dtype_name(luhip_array_layout(lb_check_array(L, 1)->array)->dtype));
  return 1;
}

static int field_shape(lua_State *L) {
  const luhip_layout layout = *luhip_array_layout(lb_check_array(L, 1)->array);
  lb_push_sizes(L, layout.shape, layout.ndim);
  return 1;
}

static int field_count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)luhip_array_layout(lb_check_array(L, 1)->array)->count);
  return 1;
}

static int field_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)luhip_array_layout(lb_check_array(L, 1)->array)->bytes);
  return 1;
}

static int field_pinned(lua_State *L) {
  lua_pushboolean(L, lb_check_array(L, 1)->pinned);
  return 1;
}

static int array_tostring(lua_State *L) {
  const struct lb_array *array = lb_check(L, 1, LB_ARRAY);
  if (!array->array) {
    lua_pushliteral(L, "luhip.array (freed)");
    return 1;
  }
  luhip_layout layout = *luhip_array_layout(array->array);
  lua_pushfstring(L, "luhip.array: %s", lb_push_shape(L, &layout));
  return 1;
}

void lb_open_array(lua_State *L) {
  static const luaL_Reg methods[] = {{"map", array_map},         {"write", array_write},
                                     {"totable", array_totable}, {"bytes_string", array_bytes_string},
                                     {"free", array_free},       {NULL, NULL}};
  static const luaL_Reg fields[] = {{"dtype", field_dtype}, {"shape", field_shape},   {"count", field_count},
                                    {"bytes", field_bytes}, {"pinned", field_pinned}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__newindex", array_newindex}, {"__len", field_count},
                                  {"__tostring", array_tostring}, {"__close", array_free},
                                  {"__gc", array_free},           {NULL, NULL}};
  lb_class_register(L, LB_ARRAY, &(struct lb_class_functions){methods, fields, meta});
  lb_push_metatable(L, LB_ARRAY);
  lua_getfield(L, -1, "__index");
  lua_pushcclosure(L, array_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
