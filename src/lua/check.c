/*
 * check.c - arguments that are not objects: whole numbers, strings, element types, shapes, ranges, option keys.
 *
 * Lua would take "10" for a number and cut nothing off 3.0; here strings are no numbers, 3.0 is 3, and 3.5 is an
 * error that says so. A value of the wrong type is kind "type", a number with a fraction "argument", one outside
 * its limits "range".
 */
#include <string.h>

#include "base/nearest.h"
#include "lua/binding.h"

/* ---- whole numbers ---------------------------------------------------------------------------------------------------- */

/* Pushes what is wrong with the number at idx and gives its kind, or LUHIP_OK. */
static luhip_status judge_integer(lua_State *L, int idx, const char *what, lua_Integer min, lua_Integer max,
                                  lua_Integer *value) {
  if (lua_type(L, idx) != LUA_TNUMBER) {
    lua_pushfstring(L, "%s must be a whole number, got %s", what, lb_type_name(L, idx));
    return LUHIP_E_TYPE;
  }
  int whole;
  *value = lua_tointegerx(L, idx, &whole);
  lua_Number number = lua_tonumber(L, idx);
  if (whole && *value >= min && *value <= max) return LUHIP_OK;
  if (whole) {
    if (*value < min)
      lua_pushfstring(L, "%s must be at least %I, got %I", what, (LUAI_UACINT)min, (LUAI_UACINT)*value);
    else
      lua_pushfstring(L, "%s must be at most %I, got %I", what, (LUAI_UACINT)max, (LUAI_UACINT)*value);
    return LUHIP_E_RANGE;
  }
  lua_pushfstring(L, "%s must be a whole number, got %f", what, number);
  /* Beyond the integers there are no fractions: such a number is too large. NaN is neither. */
  return number >= 9007199254740992.0 || number <= -9007199254740992.0 ? LUHIP_E_RANGE : LUHIP_E_ARGUMENT;
}

lua_Integer lb_check_integer(lua_State *L, int idx, const char *what, lua_Integer min, lua_Integer max) {
  lua_Integer value = 0;
  luhip_status status = judge_integer(L, idx, what, min, max, &value);
  if (status != LUHIP_OK) lb_argument(L, idx, status, "%s", lua_tostring(L, -1));
  return value;
}

lua_Integer lb_to_integer(lua_State *L, int idx, const char *what, lua_Integer min, lua_Integer max) {
  lua_Integer value = 0;
  luhip_status status = judge_integer(L, idx, what, min, max, &value);
  if (status != LUHIP_OK) lb_raise(L, status, "%s", lua_tostring(L, -1));
  return value;
}

/* ---- strings and functions ---------------------------------------------------------------------------------------------- */

const char *lb_check_string(lua_State *L, int idx, const char *what, size_t *length) {
  if (lua_type(L, idx) != LUA_TSTRING)
    lb_argument(L, idx, LUHIP_E_TYPE, "%s: a string expected, got %s", what, lb_type_name(L, idx));
  return lua_tolstring(L, idx, length);
}

const char *lb_check_text(lua_State *L, int idx, const char *what) {
  size_t length;
  const char *text = lb_check_string(L, idx, what, &length);
  if (strlen(text) != length) lb_argument(L, idx, LUHIP_E_ARGUMENT, "%s contains a zero byte", what);
  return text;
}

void lb_check_function(lua_State *L, int idx, const char *what) {
  if (lua_isfunction(L, idx)) return;
  if (luaL_getmetafield(L, idx, "__call") == LUA_TNIL)
    lb_argument(L, idx, LUHIP_E_TYPE, "%s: a function expected, got %s", what, lb_type_name(L, idx));
  lua_pop(L, 1);
}

/* ---- what is too much --------------------------------------------------------------------------------------------------- */

int lb_unexpected(lua_State *L, int idx) {
  return lb_argument(L, idx, LUHIP_E_ARGUMENT, "nothing expected here, got %s", lb_type_name(L, idx));
}

size_t lb_check_list(lua_State *L, int idx, const char *what) {
  size_t n = (size_t)lua_rawlen(L, idx), found = 0;
  idx = lua_absindex(L, idx);
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), found++) {
    if (lua_isinteger(L, -2)) continue;
    lua_pushvalue(L, -2);
    lb_raise(L, LUHIP_E_ARGUMENT, "%s: a list expected, and it has the key '%s'", what, luaL_tolstring(L, -1, NULL));
  }
  if (found != n) lb_raise(L, LUHIP_E_ARGUMENT, "%s: the list has gaps", what);
  return n;
}

/* ---- names and their neighbours --------------------------------------------------------------------------------------------- */

const char *lb_push_names(lua_State *L, const char *const *names) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (int i = 0; names[i]; i++) {
    if (i) luaL_addstring(&text, ", ");
    luaL_addstring(&text, names[i]);
  }
  luaL_pushresult(&text);
  return lua_tostring(L, -1);
}

int lb_check_key(lua_State *L, int idx, const char *const *names, const char *what) {
  if (lua_type(L, idx) != LUA_TSTRING)
    return lb_raise(L, LUHIP_E_ARGUMENT, "%s: a key of type %s; keys are names such as '%s'", what,
                    lb_type_name(L, idx), names[0]);
  const char *key = lua_tostring(L, idx);
  for (int i = 0; names[i]; i++)
    if (strcmp(key, names[i]) == 0) return i;
  const char *other = nearest_name(key, names);
  if (other) return lb_raise(L, LUHIP_E_ARGUMENT, "%s: unknown key '%s'; did you mean '%s'?", what, key, other);
  return lb_raise(L, LUHIP_E_ARGUMENT, "%s: unknown key '%s'; there are %s", what, key, lb_push_names(L, names));
}

luhip_dtype lb_check_dtype(lua_State *L, int idx) {
  static const char *const names[] = {
#define X(NAME, name, bytes) name,
      LUHIP_DTYPES(X)
#undef X
          NULL};
  luhip_dtype dtype = LUHIP_U8;
  const char *text = lb_check_string(L, idx, "dtype", NULL);
  if (luhip_dtype_parse(text, &dtype)) return dtype;
  lb_argument(L, idx, LUHIP_E_ARGUMENT, "'%s' is no element type; there are %s", text, lb_push_names(L, names));
  return dtype;
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------------------- */

bool lb_layout_pack(luhip_layout *layout) {
  size_t count = 1, stride = 1;
  bool fits = true;
  for (int i = layout->ndim - 1; i >= 0; i--) {
    layout->strides[i] = (ptrdiff_t)stride;
    fits = !__builtin_mul_overflow(stride, layout->shape[i] ? layout->shape[i] : 1, &stride) && stride <= PTRDIFF_MAX &&
           fits;
    count *= layout->shape[i]; /* zero, or no more than stride */
  }
  layout->offset = 0;
  layout->count = count;
  return !__builtin_mul_overflow(count, luhip_dtype_bytes(layout->dtype), &layout->bytes) &&
         layout->bytes <= PTRDIFF_MAX && fits;
}

void lb_check_shape(lua_State *L, int idx, luhip_layout *layout) {
  if (lua_type(L, idx) == LUA_TNUMBER) {
    layout->ndim = 1;
    layout->shape[0] = (size_t)lb_check_integer(L, idx, "shape", 0, LUA_MAXINTEGER);
  } else if (lua_istable(L, idx)) {
    lua_Unsigned n = lb_check_list(L, idx, "shape");
    if (n < 1 || n > LUHIP_MAX_DIMS)
      lb_argument(L, idx, LUHIP_E_SHAPE, "a shape has 1 to %d dimensions, not %I", LUHIP_MAX_DIMS, (LUAI_UACINT)n);
    layout->ndim = (int)n;
    for (int i = 0; i < layout->ndim; i++) {
      char what[32];
      lua_rawgeti(L, idx, i + 1);
      lua_Integer size = 0;
      strcpy(what, "dimension 1 of the shape");
      what[10] = (char)('1' + i);
      luhip_status status = judge_integer(L, -1, what, 0, LUA_MAXINTEGER, &size);
      if (status != LUHIP_OK) lb_argument(L, idx, status, "%s", lua_tostring(L, -1));
      layout->shape[i] = (size_t)size;
      lua_pop(L, 1);
    }
  } else {
    lb_argument(L, idx, LUHIP_E_TYPE, "shape: a number or a list of numbers expected, got %s", lb_type_name(L, idx));
  }
  if (!lb_layout_pack(layout)) {
    lb_push_shape(L, layout);
    lb_argument(L, idx, LUHIP_E_TOO_BIG, "%s is more than memory can address", lua_tostring(L, -1));
  }
}

void lb_check_range(lua_State *L, int idx, size_t count, size_t *offset, size_t *length) {
  lua_Integer n = (lua_Integer)count;
  lua_Integer first = lua_isnoneornil(L, idx) ? 1 : lb_check_integer(L, idx, "first", 1, n + 1);
  lua_Integer last = lua_isnoneornil(L, idx + 1) ? n : lb_check_integer(L, idx + 1, "last", first - 1, n);
  *offset = (size_t)(first - 1);
  *length = (size_t)(last - first + 1);
}

/* Pushes "512, 256". */
static void push_joined(lua_State *L, const luhip_layout *layout) {
  luaL_Buffer text;
  int n = layout->ndim - (layout->record ? 1 : 0); /* a struct is one element */
  luaL_buffinit(L, &text);
  for (int i = 0; i < n; i++) {
    if (i) luaL_addstring(&text, ", ");
    lua_pushinteger(L, (lua_Integer)layout->shape[i]);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
}

const char *lb_push_shape(lua_State *L, const luhip_layout *layout) {
  push_joined(L, layout);
  if (layout->record)
    lua_pushfstring(L, "struct of %I bytes[%s]", (LUAI_UACINT)layout->record, lua_tostring(L, -1));
  else
    lua_pushfstring(L, "%s[%s]", luhip_dtype_name(layout->dtype), lua_tostring(L, -1));
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

void lb_push_sizes(lua_State *L, const size_t *sizes, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)sizes[i]);
    lua_rawseti(L, -2, i + 1);
  }
}
