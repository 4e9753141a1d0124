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

#include "base/decimal.h"
#include "lua/json.h"

enum { DEPTH_LIMIT = 100, BOX = 2, FEW = 32, BOX_BYTES = 4096 };

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

/* How many of the first characters are written as they are: eight at a time, whose high bits tell of control characters, quotes
   and backslashes. */
static size_t plain_length(const char *s, size_t n) {
  const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word, quote, slash;
    memcpy(&word, s + i, 8);
    quote = word ^ ones * '"';
    slash = word ^ ones * '\\';
    if (((word - ones * 0x20) | (quote - ones) | (slash - ones)) & ~word & high) break;
  }
  while (i < n && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\') i++;
  return i;
}

static char *write_special(char *to, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  *to++ = '\\';
  if (c >= 0x20) {
    *to++ = (char)c;
    return to;
  }
  memcpy(to, "u00", 3);
  to[3] = hex[c >> 4];
  to[4] = hex[c & 15];
  return to + 5;
}

static void add_string(struct out *o, const char *s, size_t n) {
  char *to = room(o, n * 6 + 2), *start = to;
  *to++ = '"';
  while (n > 0) {
    size_t plain = plain_length(s, n);
    memcpy(to, s, plain);
    to += plain;
    s += plain;
    n -= plain;
    if (n == 0) break;
    to = write_special(to, (unsigned char)*s++);
    n--;
  }
  *to++ = '"';
  o->length += (size_t)(to - start);
}

enum { DIGITS = 20 }; /* of 64 bits */

/* The digits of n at the end of the space of DIGITS; where they begin. */
static const char *find_digits(uint64_t n, char digits[DIGITS]) {
  static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
                              "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
                              "888990919293949596979899";
  char *at = digits + DIGITS;
  for (; n >= 100; n /= 100) memcpy(at -= 2, pairs + 2 * (n % 100), 2);
  if (n >= 10)
    memcpy(at -= 2, pairs + 2 * n, 2);
  else
    *--at = (char)('0' + n);
  return at;
}

static void add_integer(struct out *o, lua_Integer n) {
  char digits[DIGITS];
  const char *from = find_digits(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, digits);
  if (n < 0) add_char(o, '-');
  add(o, from, (size_t)(digits + DIGITS - from));
}

/* n / 10^decimals, without zeros at its end but for one behind the point. */
static void write_decimal(struct out *o, bool negative, uint64_t n, int decimals) {
  char digits[DIGITS], *to = room(o, 64), *start = to;
  const char *from = find_digits(n, digits);
  int whole = (int)(digits + DIGITS - from) - decimals;
  if (negative) *to++ = '-';
  if (whole > 0) {
    memcpy(to, from, (size_t)whole);
    to += whole;
    from += whole;
  } else {
    *to++ = '0';
  }
  *to++ = '.';
  for (; whole < 0; whole++) *to++ = '0';
  memcpy(to, from, (size_t)(digits + DIGITS - from));
  to += digits + DIGITS - from;
  if (to[-1] == '.') *to++ = '0';
  while (to[-1] == '0' && to[-2] != '.') to--;
  o->length += (size_t)(to - start);
}

static void add_float(struct out *o, double x) {
  uint64_t digits;
  int decimals;
  if (!isfinite(x)) {
    add(o, "null", 4);
    return;
  }
  if (x != 0 && decimal_write(fabs(x), &digits, &decimals)) {
    write_decimal(o, x < 0, digits, decimals);
    return;
  }
  char *to = room(o, 40);
  int n = snprintf(to, 36, "%.17g", x);
  if (!strpbrk(to, ".e")) n += snprintf(to + n, 4, ".0");
  o->length += (size_t)n;
}

static void add_value(struct out *o, int depth);

/* A member: its name is kept by the Lua stack or the table, its value is on the stack, or in the table where that is 0. */
struct member {
  const char *name;
  size_t length;
  uint64_t start; /* of the name: numbers in the order of the texts */
  int value;
};

static bool comes_before(const struct member *a, const struct member *b) {
  return a->start != b->start ? a->start < b->start : strcmp(a->name, b->name) < 0;
}

static int by_name(const void *a, const void *b) {
  return comes_before(a, b) ? -1 : comes_before(b, a);
}

static void sort_members(struct member *members, size_t n) {
  if (n > FEW) {
    qsort(members, n, sizeof *members, by_name);
    return;
  }
  for (size_t i = 1; i < n; i++) {
    struct member member = members[i];
    size_t k = i;
    for (; k > 0 && comes_before(&member, &members[k - 1]); k--) members[k] = members[k - 1];
    members[k] = member;
  }
}

/* Of the name at idx. */
static struct member to_member(struct out *o, int idx, int value) {
  struct member member = {.value = value};
  if (lua_type(o->L, idx) != LUA_TSTRING)
    lb_raise(o->L, LUHIP_E_TYPE, "JSON: a table's keys are strings, or 1, 2, ... without a gap");
  member.name = lua_tolstring(o->L, idx, &member.length);
  for (size_t i = 0; i < 8 && i < member.length; i++)
    member.start |= (uint64_t)(unsigned char)member.name[i] << (56 - 8 * i);
  return member;
}

/* The members of the table at idx, unsorted: the first FEW with their values on the Lua stack, and how many there are. */
static size_t take_few(struct out *o, int idx, struct member few[FEW]) {
  size_t n = 0;
  luaL_checkstack(o->L, 2 * FEW + 10, "JSON");
  for (lua_pushnil(o->L); lua_next(o->L, idx);) {
    if (n++ < FEW) {
      few[n - 1] = to_member(o, -2, lua_gettop(o->L));
      lua_pushvalue(o->L, -2);
    } else {
      lua_pop(o->L, 1);
    }
  }
  return n;
}

/* All of them. */
static struct member *take_many(struct out *o, int idx, size_t count) {
  struct member *members = lua_newuserdatauv(o->L, count * sizeof *members, 0);
  size_t n = 0;
  for (lua_pushnil(o->L); lua_next(o->L, idx); lua_pop(o->L, 1)) members[n++] = to_member(o, -2, 0);
  return members;
}

static void push_member(struct out *o, int table, const struct member *member) {
  if (member->value) {
    lua_pushvalue(o->L, member->value);
    return;
  }
  lua_pushlstring(o->L, member->name, member->length);
  lua_rawget(o->L, table);
}

/* The table on top. */
static void add_object(struct out *o, int depth) {
  int table = lua_gettop(o->L);
  struct member few[FEW], *members = few;
  size_t n = take_few(o, table, few);
  if (n > FEW) {
    lua_settop(o->L, table);
    members = take_many(o, table, n);
  }
  sort_members(members, n);
  add_char(o, '{');
  for (size_t i = 0; i < n; i++) {
    if (i > 0) add_char(o, ',');
    add_string(o, members[i].name, members[i].length);
    add_char(o, ':');
    push_member(o, table, &members[i]);
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
