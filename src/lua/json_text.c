/*
 * json_text.c - core.json_text: Lua values into JSON on one line. Names are in order, so equal values give equal text.
 *
 * A table with elements is an array, any other an object of its string keys; core.null is null. Numbers read back as what
 * they were; NaN and infinities, which JSON has not, are null. The text grows in userdata, which the collector frees
 * whatever is raised; each state keeps one for short texts. No Lua code runs meanwhile, so nobody else has it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/json.h"

enum { DEPTH_LIMIT = 100, BOX = 2, FEW = 48, BOX_BYTES = 4096 };

static const char box_key; /* in the registry: the box that every call starts with */

struct out {
  lua_State *L;
  char *text; /* in the userdata at BOX */
  size_t length, capacity;
};

static char *room(struct out *o, size_t bytes) {
  if (o->capacity - o->length < bytes) {
    size_t capacity = o->capacity * 2 + bytes;
    char *text = lua_newuserdatauv(o->L, capacity, 0);
    if (o->length) memcpy(text, o->text, o->length);
    lua_replace(o->L, BOX);
    o->text = text;
    o->capacity = capacity;
  }
  return o->text + o->length;
}

static void add(struct out *o, const char *bytes, size_t n) {
  memcpy(room(o, n), bytes, n);
  o->length += n;
}

static void add_char(struct out *o, char c) {
  add(o, &c, 1);
}

static void add_string(struct out *o, const char *s, size_t n) {
  static const char hex[] = "0123456789abcdef";
  char *to = room(o, n * 6 + 2), *start = to;
  *to++ = '"';
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '"' || c == '\\') {
      *to++ = '\\';
      *to++ = (char)c;
    } else if (c < 0x20) {
      memcpy(to, "\\u00", 4);
      to[4] = hex[c >> 4];
      to[5] = hex[c & 15];
      to += 6;
    } else {
      *to++ = (char)c;
    }
  }
  *to++ = '"';
  o->length += (size_t)(to - start);
}

static char *write_digits(char *to, uint64_t n, int least) {
  char reversed[24];
  int count = 0;
  do reversed[count++] = (char)('0' + n % 10), n /= 10;
  while (n > 0 || count < least);
  while (count > 0) *to++ = reversed[--count];
  return to;
}

static void add_integer(struct out *o, lua_Integer n) {
  char *to = room(o, 24), *start = to;
  if (n < 0) *to++ = '-';
  to = write_digits(to, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 1);
  o->length += (size_t)(to - start);
}

/* What has nine decimals at most is written without printf: times mostly have. The quotient of two numbers that a double
   holds is what reading the decimals gives. */
static bool add_decimal(struct out *o, double x) {
  double scaled = fabs(x) * 1e9;
  if (!(scaled < 0x1p53) || scaled == 0) return false;
  uint64_t n = (uint64_t)llrint(scaled);
  if ((double)n / 1e9 != fabs(x)) return false;
  char *to = room(o, 40), *start = to;
  if (x < 0) *to++ = '-';
  to = write_digits(to, n / 1000000000, 1);
  *to++ = '.';
  to = write_digits(to, n % 1000000000, 9);
  while (to[-1] == '0' && to[-2] != '.') to--;
  o->length += (size_t)(to - start);
  return true;
}

static void add_float(struct out *o, double x) {
  if (!isfinite(x)) {
    add(o, "null", 4);
    return;
  }
  if (add_decimal(o, x)) return;
  char *to = room(o, 40);
  int n = snprintf(to, 36, "%.17g", x);
  if (!strpbrk(to, ".e")) n += snprintf(to + n, 4, ".0");
  o->length += (size_t)n;
}

static void add_value(struct out *o, int depth);

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_keys(const char **keys, size_t n) {
  if (n > 2 * FEW / 3) {
    qsort(keys, n, sizeof *keys, by_text);
    return;
  }
  for (size_t i = 1; i < n; i++) {
    const char *key = keys[i];
    size_t k = i;
    for (; k > 0 && strcmp(keys[k - 1], key) > 0; k--) keys[k] = keys[k - 1];
    keys[k] = key;
  }
}

/* The string keys of the table on top, in order: in `few` or on the Lua stack. The table keeps the strings. */
static const char **find_keys(struct out *o, const char **few, size_t *count) {
  size_t n = 0;
  int table = lua_gettop(o->L);
  for (lua_pushnil(o->L); lua_next(o->L, table); lua_pop(o->L, 1)) n++;
  const char **keys = n <= FEW ? few : lua_newuserdatauv(o->L, n * sizeof *keys, 0);
  *count = n;
  n = 0;
  for (lua_pushnil(o->L); lua_next(o->L, table); lua_pop(o->L, 1)) {
    if (lua_type(o->L, -2) != LUA_TSTRING)
      lb_raise(o->L, LUHIP_E_TYPE, "JSON: a table's keys are strings, or 1, 2, ... without a gap");
    keys[n++] = lua_tostring(o->L, -2);
  }
  sort_keys(keys, n);
  return keys;
}

static void add_object(struct out *o, int depth) {
  size_t n;
  int table = lua_gettop(o->L);
  const char *few[FEW], **keys = find_keys(o, few, &n);
  add_char(o, '{');
  for (size_t i = 0; i < n; i++) {
    if (i > 0) add_char(o, ',');
    lua_pushstring(o->L, keys[i]);
    add_string(o, keys[i], lua_rawlen(o->L, -1));
    lua_rawget(o->L, table);
    add_char(o, ':');
    add_value(o, depth);
  }
  add_char(o, '}');
  lua_settop(o->L, table);
}

static void add_table(struct out *o, int depth) {
  lua_Integer n = (lua_Integer)lua_rawlen(o->L, -1);
  if (depth == DEPTH_LIMIT) lb_raise(o->L, LUHIP_E_ARGUMENT, "JSON: tables nested too deeply");
  luaL_checkstack(o->L, 10, "JSON");
  if (n == 0) {
    add_object(o, depth + 1);
    return;
  }
  add_char(o, '[');
  for (lua_Integer i = 1; i <= n; i++) {
    if (i > 1) add_char(o, ',');
    lua_rawgeti(o->L, -1, i);
    add_value(o, depth + 1);
  }
  add_char(o, ']');
}

/* The value on top, which is popped. */
static void add_value(struct out *o, int depth) {
  size_t n;
  switch (lua_type(o->L, -1)) {
  case LUA_TBOOLEAN:
    if (lua_toboolean(o->L, -1))
      add(o, "true", 4);
    else
      add(o, "false", 5);
    break;
  case LUA_TNUMBER:
    if (lua_isinteger(o->L, -1))
      add_integer(o, lua_tointeger(o->L, -1));
    else
      add_float(o, lua_tonumber(o->L, -1));
    break;
  case LUA_TSTRING: {
    const char *s = lua_tolstring(o->L, -1, &n);
    add_string(o, s, n);
    break;
  }
  case LUA_TTABLE:
    add_table(o, depth);
    break;
  default:
    if (!lua_isnil(o->L, -1) && !lua_islightuserdata(o->L, -1))
      lb_raise(o->L, LUHIP_E_TYPE, "JSON: a %s cannot be written", lb_type_name(o->L, -1));
    add(o, "null", 4);
    break;
  }
  lua_pop(o->L, 1);
}

/* core.json_text(value) -> text */
int lb_json_text(lua_State *L) {
  struct out o = {.L = L};
  lua_settop(L, 1);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &box_key) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    lua_newuserdatauv(L, BOX_BYTES, 0);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &box_key);
  }
  o.text = lua_touserdata(L, BOX);
  o.capacity = BOX_BYTES;
  lua_pushvalue(L, 1);
  add_value(&o, 0);
  lua_pushlstring(L, o.text, o.length);
  return 1;
}
