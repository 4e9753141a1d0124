/*
 * options.c - the options of a compile, from a Lua table to the library's struct.
 *
 * The lists of the struct are allocated as Lua memory and strings stay where they are; an anchor table, which is
 * pushed, holds all of it until the compile is over. Pairs are sorted by name, so that equal options are equal to the compile cache whatever
 * order Lua's tables have.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/binding.h"

enum key { NAME, DEFINES, INCLUDE_DIRS, HEADERS, FLAGS, NAMES, ACCESS, CACHE, TIMEOUT, STRICT, LAZY, BACKGROUND };
static const char *const keys[] = {"name",  "defines", "include_dirs", "headers", "flags",      "names", "access",
                                   "cache", "timeout", "strict",       "lazy",    "background", NULL};

/* ---- what owns it ------------------------------------------------------------------------------------------------------- */

/* Keeps the value on top, which is popped, in the anchor table. */
static void keep(lua_State *L, int anchor) {
  lua_rawseti(L, anchor, (lua_Integer)lua_rawlen(L, anchor) + 1);
}

static void *keep_new(lua_State *L, int anchor, size_t n, size_t size) {
  void *memory = lua_newuserdatauv(L, (n + 1) * size, 0);
  keep(L, anchor);
  return memory;
}

static const char *keep_text(lua_State *L, int anchor, int idx, const char *what) {
  size_t length;
  if (lua_type(L, idx) != LUA_TSTRING)
    lb_raise(L, LUHIP_E_TYPE, "%s: a string expected, got %s", what, lb_type_name(L, idx));
  const char *text = lua_tolstring(L, idx, &length);
  if (strlen(text) != length) lb_raise(L, LUHIP_E_ARGUMENT, "%s: a string with a zero byte", what);
  lua_pushvalue(L, idx);
  keep(L, anchor);
  return text;
}

static void check_table(lua_State *L, int idx, const char *what) {
  if (!lua_istable(L, idx)) lb_raise(L, LUHIP_E_TYPE, "%s: a table expected, got %s", what, lb_type_name(L, idx));
}

/* A finaliser that ran since the table was counted may have changed it. */
static void check_room(lua_State *L, bool room, const char *what) {
  if (!room) lb_raise(L, LUHIP_E_ARGUMENT, "%s: the table changed while it was read", what);
}

static size_t count_keys(lua_State *L, int idx) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) n++;
  return n;
}

/* ---- lists and pairs ------------------------------------------------------------------------------------------------------ */

/* A string or a list of them at idx. */
static const char *const *read_list(lua_State *L, int anchor, int idx, const char *what, size_t *n) {
  bool single = lua_type(L, idx) == LUA_TSTRING;
  if (!single) check_table(L, idx, what);
  *n = single ? 1 : lb_check_list(L, idx, what);
  const char **list = keep_new(L, anchor, *n, sizeof *list);
  if (single) list[0] = keep_text(L, anchor, idx, what);
  for (size_t i = 0; !single && i < *n; i++) {
    lua_rawgeti(L, idx, (lua_Integer)i + 1);
    list[i] = keep_text(L, anchor, lua_gettop(L), what);
    lua_pop(L, 1);
  }
  return list;
}

/* The text that a define of this value has in C. */
static const char *define_text(lua_State *L, int anchor, int idx, const char *name) {
  char text[64];
  if (lua_isboolean(L, idx)) return lua_toboolean(L, idx) ? "1" : "0";
  if (lua_type(L, idx) == LUA_TSTRING) return keep_text(L, anchor, idx, "defines");
  if (lua_type(L, idx) != LUA_TNUMBER)
    lb_raise(L, LUHIP_E_TYPE, "defines: '%s' is a %s; a string, number or boolean expected", name,
             lb_type_name(L, idx));
  if (lua_isinteger(L, idx)) {
    snprintf(text, sizeof text, LUA_INTEGER_FMT, (LUAI_UACINT)lua_tointeger(L, idx));
  } else {
    double value = lua_tonumber(L, idx);
    if (!isfinite(value)) lb_raise(L, LUHIP_E_ARGUMENT, "defines: '%s' is %f, which C cannot write", name, value);
    snprintf(text, sizeof text, "%.17g", value);
    if (!strpbrk(text, ".e")) strcat(text, ".0"); /* stays a floating-point constant */
  }
  const char *kept = lua_pushstring(L, text);
  keep(L, anchor);
  return kept;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const luhip_text_pair *)a)->name, ((const luhip_text_pair *)b)->name);
}

static const luhip_text_pair *read_pairs(lua_State *L, int anchor, int idx, enum key key, size_t *n) {
  check_table(L, idx, keys[key]);
  *n = count_keys(L, idx);
  luhip_text_pair *pairs = keep_new(L, anchor, *n, sizeof *pairs);
  size_t i = 0;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), i++) {
    int value = lua_gettop(L);
    check_room(L, i < *n, keys[key]);
    pairs[i].name = keep_text(L, anchor, value - 1, keys[key]);
    if (!*pairs[i].name) lb_raise(L, LUHIP_E_ARGUMENT, "%s: an empty name", keys[key]);
    pairs[i].value =
        key == DEFINES ? define_text(L, anchor, value, pairs[i].name) : keep_text(L, anchor, value, keys[key]);
  }
  if (*n > 1) qsort(pairs, *n, sizeof *pairs, by_name);
  return pairs;
}

/* ---- access = { kernel = { parameter = "out" } } ------------------------------------------------------------------------------ */

static int by_kernel_and_parameter(const void *a, const void *b) {
  const luhip_access *x = a, *y = b;
  int order = strcmp(x->kernel, y->kernel);
  return order ? order : strcmp(x->parameter, y->parameter);
}

static size_t count_access(lua_State *L, int idx) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    check_table(L, lua_gettop(L), "access: an entry");
    n += count_keys(L, lua_gettop(L));
  }
  return n;
}

static const luhip_access *read_access(lua_State *L, int anchor, int idx, size_t *n) {
  check_table(L, idx, "access");
  *n = count_access(L, idx);
  luhip_access *list = keep_new(L, anchor, *n, sizeof *list);
  luhip_access *next = list;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    int table = lua_gettop(L);
    const char *kernel = keep_text(L, anchor, table - 1, "access");
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), next++) {
      check_room(L, next < list + *n, "access");
      next->kernel = kernel;
      next->parameter = keep_text(L, anchor, table + 1, "access");
      next->access = keep_text(L, anchor, table + 2, "access");
      if (strcmp(next->access, "in") != 0 && strcmp(next->access, "out") != 0 && strcmp(next->access, "inout") != 0)
        lb_raise(L, LUHIP_E_ARGUMENT, "access: '%s' of '%s' is '%s'; it can be in, out or inout", next->parameter,
                 kernel, next->access);
    }
  }
  if (*n > 1) qsort(list, *n, sizeof *list, by_kernel_and_parameter);
  return list;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------------ */

static bool read_boolean(lua_State *L, int idx, const char *what) {
  if (!lua_isboolean(L, idx)) lb_raise(L, LUHIP_E_TYPE, "%s: a boolean expected, got %s", what, lb_type_name(L, idx));
  return lua_toboolean(L, idx);
}

/* lazy, or background, which says more. */
static void read_when(lua_State *L, int idx, const char *what, enum lb_when value, enum lb_when *when) {
  if (!when) lb_raise(L, LUHIP_E_ARGUMENT, "%s is an option of dev:kernel, not of dev:compile", what);
  if (read_boolean(L, idx, what) && *when < value) *when = value;
}

static void read_option(lua_State *L, int anchor, enum key key, int idx, luhip_compile_options *options,
                        enum lb_when *when) {
  switch (key) {
  case NAME:
    options->name = keep_text(L, anchor, idx, "name");
    break;
  case DEFINES:
    options->defines = read_pairs(L, anchor, idx, key, &options->ndefines);
    break;
  case HEADERS:
    options->headers = read_pairs(L, anchor, idx, key, &options->nheaders);
    break;
  case INCLUDE_DIRS:
    options->include_dirs = read_list(L, anchor, idx, keys[key], &options->ninclude_dirs);
    break;
  case FLAGS:
    options->flags = read_list(L, anchor, idx, keys[key], &options->nflags);
    break;
  case NAMES:
    options->names = read_list(L, anchor, idx, keys[key], &options->nnames);
    break;
  case ACCESS:
    options->access = read_access(L, anchor, idx, &options->naccess);
    break;
  case CACHE:
    options->no_cache = !read_boolean(L, idx, "cache");
    break;
  case TIMEOUT:
    options->timeout_ms = (unsigned)lb_to_integer(L, idx, "timeout", 1, UINT32_MAX);
    break;
  case STRICT:
    options->strict = read_boolean(L, idx, "strict");
    break;
  case LAZY:
    read_when(L, idx, keys[key], LB_COMPILE_LAZY, when);
    break;
  case BACKGROUND:
    read_when(L, idx, keys[key], LB_COMPILE_BACKGROUND, when);
    break;
  }
}

/* A kernel asked for by a name expression is compiled without being listed in `names` too. */
static void add_name(lua_State *L, int anchor, const char *name, luhip_compile_options *options) {
  for (size_t i = 0; i < options->nnames; i++)
    if (strcmp(options->names[i], name) == 0) return;
  const char **names = keep_new(L, anchor, options->nnames + 1, sizeof *names);
  if (options->nnames) memcpy(names, options->names, options->nnames * sizeof *names);
  names[options->nnames++] = name;
  options->names = names;
}

void lb_compile_options(lua_State *L, int idx, const char *name, luhip_compile_options *options, enum lb_when *when) {
  *options = (luhip_compile_options){0};
  if (when) *when = LB_COMPILE_NOW;
  if (!lua_isnil(L, idx)) check_table(L, idx, "options");
  luaL_checkstack(L, 20, NULL);
  lua_newtable(L);
  int anchor = lua_gettop(L);
  if (!lua_isnil(L, idx)) {
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
      read_option(L, anchor, (enum key)lb_check_key(L, -2, keys, "options"), anchor + 2, options, when);
  }
  if (name && strchr(name, '<')) add_name(L, anchor, name, options);
}
