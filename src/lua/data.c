/*
 * data.c - many elements: what a script gives as data, as packed bytes, and packed bytes as tables.
 *
 * Data is a table (nested by shape, or flat), a byte string, a host array, a function of the 1-based flat index,
 * or one number for all. Tables are read raw: metamethods are not asked, which keeps a million elements quick
 * and leaves functions as the only kind of data that runs Lua code. In data for a complex type an innermost
 * pair of numbers is one element. Errors name the element by its place: "element [2][3]", or "[6]" of a flat table.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

/* A table being packed: where in it we are, for the message of what does not fit. */
struct pack {
  const luhip_layout *layout;
  unsigned char *out;
  size_t size;                  /* of one element */
  size_t place[LUHIP_MAX_DIMS]; /* 1-based */
};

/* "[2][3]" for the first n places. */
static void write_place(const struct pack *pack, int n, char *text, size_t length) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < n && used < length; i++)
    used += (size_t)snprintf(text + used, length - used, "[%zu]", pack->place[i]);
}

static int bad_element(lua_State *L, const struct pack *pack, int dims, luhip_dtype dtype, enum lb_fit fit) {
  char place[256], where[300];
  write_place(pack, dims, place, sizeof place);
  snprintf(where, sizeof where, "element %s", place);
  return lb_bad_element(L, lua_gettop(L), dtype, fit, where);
}

/* ---- tables ------------------------------------------------------------------------------------------------------------ */

/* A run of elements from the table on top into out; `dims` places are part of an element's name, the last one moves. */
static void pack_elements(lua_State *L, struct pack *pack, size_t n, int dims) {
  luhip_dtype dtype = pack->layout->dtype;
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    enum lb_fit fit = lb_to_element(L, -1, dtype, pack->out);
    if (fit != LB_FITS) {
      pack->place[dims - 1] = i + 1;
      bad_element(L, pack, dims, dtype, fit);
    }
    pack->out += pack->size;
    lua_pop(L, 1);
  }
}

static void pack_nested(lua_State *L, struct pack *pack, int dim) {
  const luhip_layout *layout = pack->layout;
  char place[256];
  lua_Unsigned n = lua_rawlen(L, -1);
  if (n != layout->shape[dim]) {
    write_place(pack, dim, place, sizeof place);
    lb_push_shape(L, layout);
    lb_raise(L, LUHIP_E_SHAPE, "%s%s has %I element%s where %s wants %I", dim ? "row " : "the table", place,
             (LUAI_UACINT)n, n == 1 ? "" : "s", lua_tostring(L, -1), (LUAI_UACINT)layout->shape[dim]);
  }
  if (dim == layout->ndim - 1) {
    pack_elements(L, pack, n, layout->ndim);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    pack->place[dim] = i + 1;
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    if (!lua_istable(L, -1)) {
      write_place(pack, dim + 1, place, sizeof place);
      lb_raise(L, LUHIP_E_SHAPE, "row %s is no table but %s", place, lb_type_name(L, -1));
    }
    pack_nested(L, pack, dim + 1);
    lua_pop(L, 1);
  }
}

/* Whether the table at idx starts with something that is one element. */
static bool starts_with_element(lua_State *L, int idx, luhip_dtype dtype) {
  unsigned char element[16];
  lua_rawgeti(L, idx, 1);
  bool is = !lua_istable(L, -1) || (lb_is_complex(dtype) && lb_to_element(L, -1, dtype, element) != LB_WRONG_TYPE);
  lua_pop(L, 1);
  return is;
}

/* A table for several dimensions is flat when it starts with an element. {1, 2} inside complex data may be an
   element or a row of two: it is a row where the shape says so. */
static bool is_flat(lua_State *L, int idx, const luhip_layout *layout) {
  if (layout->ndim == 1) return true;
  if (lua_rawlen(L, idx) == 0 || !starts_with_element(L, idx, layout->dtype)) return false;
  lua_rawgeti(L, idx, 1);
  bool row = lua_istable(L, -1) && lua_rawlen(L, idx) == layout->shape[0] && layout->ndim == 2 && layout->shape[1] == 2;
  lua_pop(L, 1);
  return !row;
}

static void pack_table(lua_State *L, int idx, const luhip_layout *layout, void *out) {
  struct pack pack = {.layout = layout, .out = out, .size = luhip_dtype_bytes(layout->dtype)};
  luaL_checkstack(L, 2 * LUHIP_MAX_DIMS, NULL);
  lua_pushvalue(L, idx);
  if (layout->count == 0 && lua_rawlen(L, idx) == 0) {
    lua_pop(L, 1);
    return;
  }
  if (!is_flat(L, idx, layout)) {
    pack_nested(L, &pack, 0);
  } else {
    lua_Unsigned n = lua_rawlen(L, idx);
    if (n != layout->count) {
      lb_push_shape(L, layout);
      lb_raise(L, LUHIP_E_SHAPE, "the table has %I element%s where %s wants %I", (LUAI_UACINT)n, n == 1 ? "" : "s",
               lua_tostring(L, -1), (LUAI_UACINT)layout->count);
    }
    pack_elements(L, &pack, n, 1);
  }
  lua_pop(L, 1);
}

/* ---- functions and single values ------------------------------------------------------------------------------------------- */

static void pack_function(lua_State *L, int idx, const luhip_layout *layout, void *out) {
  struct pack pack = {.layout = layout, .out = out, .size = luhip_dtype_bytes(layout->dtype)};
  luaL_checkstack(L, 4, NULL);
  for (size_t i = 0; i < layout->count; i++) {
    lua_pushvalue(L, idx);
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_call(L, 1, 1);
    enum lb_fit fit = lb_to_element(L, -1, layout->dtype, pack.out);
    if (fit != LB_FITS) {
      pack.place[0] = i + 1;
      bad_element(L, &pack, 1, layout->dtype, fit);
    }
    pack.out += pack.size;
    lua_pop(L, 1);
  }
}

static void pack_value(lua_State *L, int idx, const luhip_layout *layout, unsigned char *out) {
  unsigned char element[16];
  size_t size = luhip_dtype_bytes(layout->dtype);
  enum lb_fit fit = lb_to_element(L, idx, layout->dtype, element);
  if (fit != LB_FITS) lb_bad_element(L, idx, layout->dtype, fit, "the value");
  for (size_t i = 0; i < layout->count; i++) memcpy(out + i * size, element, size);
}

static void pack_data(lua_State *L, int idx, const luhip_layout *layout, void *out) {
  switch (lua_type(L, idx)) {
  case LUA_TTABLE:
    pack_table(L, idx, layout, out);
    break;
  case LUA_TFUNCTION:
    pack_function(L, idx, layout, out);
    break;
  case LUA_TNUMBER:
  case LUA_TBOOLEAN:
    pack_value(L, idx, layout, out);
    break;
  default:
    lb_raise(L, LUHIP_E_TYPE, "data: a table, byte string, host array, function or number expected, got %s",
             lb_type_name(L, idx));
  }
}

/* ---- shape and size of data -------------------------------------------------------------------------------------------------- */

static void table_shape(lua_State *L, int idx, luhip_layout *layout) {
  layout->ndim = 0;
  luaL_checkstack(L, 2, NULL);
  lua_pushvalue(L, idx);
  do {
    if (layout->ndim == LUHIP_MAX_DIMS) lb_raise(L, LUHIP_E_SHAPE, "tables nest deeper than %d", LUHIP_MAX_DIMS);
    layout->shape[layout->ndim++] = (size_t)lua_rawlen(L, -1);
    if (starts_with_element(L, lua_gettop(L), layout->dtype)) break;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  } while (lua_istable(L, -1));
  lua_pop(L, 1);
}

void lb_data_shape(lua_State *L, int idx, luhip_layout *layout) {
  const struct lb_array *array = lb_test(L, idx, LB_ARRAY);
  size_t size = luhip_dtype_bytes(layout->dtype);
  if (lua_istable(L, idx)) {
    table_shape(L, idx, layout);
  } else if (array) {
    luhip_dtype dtype = layout->dtype;
    *layout = *luhip_array_layout(lb_check_array(L, idx)->array);
    layout->dtype = dtype;
  } else if (lua_type(L, idx) == LUA_TSTRING) {
    size_t length = lua_rawlen(L, idx);
    if (length % size)
      lb_raise(L, LUHIP_E_SHAPE, "%I bytes are no whole number of %s elements", (LUAI_UACINT)length,
               luhip_dtype_name(layout->dtype));
    layout->ndim = 1;
    layout->shape[0] = length / size;
  } else {
    lb_argument(L, idx, LUHIP_E_TYPE, "data: a table, byte string or host array expected, got %s",
                lb_type_name(L, idx));
  }
  if (!lb_layout_pack(layout)) lb_raise(L, LUHIP_E_TOO_BIG, "the data is more than memory can address");
}

lua_Integer lb_data_count(lua_State *L, int idx, luhip_dtype dtype, const luhip_layout *inner) {
  size_t unit = inner ? inner->count : 1, n;
  const char *what = "elements";
  if (lua_istable(L, idx)) {
    n = (size_t)lua_rawlen(L, idx);
    if (inner && n > 0 && !starts_with_element(L, idx, dtype)) return (lua_Integer)n;
  } else if (lua_type(L, idx) == LUA_TSTRING) {
    n = lua_rawlen(L, idx);
    unit *= luhip_dtype_bytes(dtype);
    what = "bytes";
  } else if (lb_test(L, idx, LB_ARRAY)) {
    n = luhip_array_layout(lb_check_array(L, idx)->array)->count;
  } else {
    return -1;
  }
  if (unit == 0) return n == 0 ? 0 : -1;
  if (n % unit)
    lb_raise(L, LUHIP_E_SHAPE, "%I %s are no whole number of %s of %I", (LUAI_UACINT)n, what,
             inner ? "rows" : "elements", (LUAI_UACINT)unit);
  return (lua_Integer)(n / unit);
}

/* ---- sources of a write -------------------------------------------------------------------------------------------------------- */

static void string_source(lua_State *L, int idx, const luhip_layout *layout, luhip_source *source) {
  source->data = lua_tolstring(L, idx, &source->bytes);
  if (source->bytes == layout->bytes) return;
  lb_push_shape(L, layout);
  lb_raise(L, LUHIP_E_SHAPE, "a string of %I bytes where %s wants %I", (LUAI_UACINT)source->bytes, lua_tostring(L, -1),
           (LUAI_UACINT)layout->bytes);
}

void lb_array_source(lua_State *L, luhip_array *array, const luhip_layout *layout, luhip_source *source) {
  const luhip_layout *given = luhip_array_layout(array);
  if (given->dtype != layout->dtype || given->count != layout->count) {
    lb_push_shape(L, given);
    lb_push_shape(L, layout);
    lb_raise(L, given->dtype != layout->dtype ? LUHIP_E_TYPE : LUHIP_E_SHAPE, "a host array %s where %s is wanted",
             lua_tostring(L, -2), lua_tostring(L, -1));
  }
  source->array = array;
  source->data = luhip_array_data(array);
  source->bytes = given->bytes;
}

void lb_data_source(lua_State *L, int idx, struct lb_device *device, const luhip_layout *layout, luhip_source *source) {
  *source = (luhip_source){NULL, NULL, 0, NULL};
  if (lua_type(L, idx) == LUA_TSTRING) {
    string_source(L, idx, layout, source);
    lua_pushvalue(L, idx);
  } else if (lb_test(L, idx, LB_ARRAY)) {
    lb_array_source(L, lb_hold_array(L, lb_check_array(L, idx))->array, layout, source);
  } else {
    luhip_layout packed = *layout;
    lb_layout_pack(&packed);
    luhip_array *array = lb_push_array(L, device, &packed)->array;
    pack_data(L, idx, &packed, luhip_array_data(array));
    *source = (luhip_source){NULL, luhip_array_data(array), packed.bytes, array};
  }
}

/* ---- to tables --------------------------------------------------------------------------------------------------------------------- */

static const unsigned char *push_nested(lua_State *L, const luhip_layout *layout, int dim, const unsigned char *data) {
  size_t n = layout->shape[dim], size = luhip_dtype_bytes(layout->dtype);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    if (dim == layout->ndim - 1) {
      lb_push_element(L, layout->dtype, data);
      data += size;
    } else {
      data = push_nested(L, layout, dim + 1, data);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return data;
}

void lb_data_push(lua_State *L, const luhip_layout *layout, const void *data) {
  for (int i = 0; i < layout->ndim; i++)
    if (layout->shape[i] > INT_MAX)
      lb_raise(L, LUHIP_E_TOO_BIG, "a dimension of %I is too large for a table", (LUAI_UACINT)layout->shape[i]);
  luaL_checkstack(L, 2 * LUHIP_MAX_DIMS + 4, NULL);
  push_nested(L, layout, 0, data);
}
