/*
 * kernel.c - for the specs of the kernel layer: the scanner, ELF look-up, log parsing, hashing, half conversion, and
 * the caches.
 */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "base/hash.h"
#include "kernel/cache.h"
#include "kernel/diagnose.h"
#include "base/elf.h"
#include "kernel/half.h"
#include "kernel/names.h"
#include "kernel/scan.h"
#include "testing/testing.h"

static void set_string(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void set_boolean(lua_State *L, const char *key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, key);
}

static void push_kernel(lua_State *L, const struct scan_kernel *kernel) {
  lua_newtable(L);
  set_string(L, "name", kernel->name);
  set_string(L, "local_name", kernel->local);
  set_boolean(L, "template", kernel->is_template);
  set_boolean(L, "c_linkage", kernel->c_linkage);
  if (kernel->end != SCAN_NO_END) set_integer(L, "last", (lua_Integer)kernel->end); /* 1-based index of the brace */
  lua_newtable(L);
  for (size_t i = 0; i < kernel->nparams; i++) {
    lua_newtable(L);
    set_string(L, "name", kernel->params[i].name);
    set_string(L, "type", kernel->params[i].type);
    set_boolean(L, "out", kernel->params[i].out);
    set_boolean(L, "pack", kernel->params[i].pack);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "params");
}

/* kernel_scan(text) -> list of kernels, with `hidden`. */
static int test_scan(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  struct scan scan;
  scan_source(text, length, &scan);
  lua_newtable(L);
  for (size_t i = 0; i < scan.nkernels; i++) {
    push_kernel(L, &scan.kernels[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_boolean(L, "hidden", scan.hidden);
  scan_free(&scan);
  return 1;
}

/* kernel_elf_symbol(image, name) -> bytes or nil. The image is copied, so that a sanitiser sees its ends. */
static int test_elf_symbol(lua_State *L) {
  size_t length, size;
  const char *given = luaL_checklstring(L, 1, &length);
  const char *name = luaL_checkstring(L, 2);
  const unsigned char *data;
  char *image = malloc(length ? length : 1);
  if (!image) return luaL_error(L, "out of memory");
  memcpy(image, given, length);
  if (elf_symbol(image, length, name, &data, &size))
    lua_pushlstring(L, (const char *)data, size);
  else
    lua_pushnil(L);
  free(image);
  return 1;
}

/* kernel_parse_log(text) -> list of {file, line, column, severity (0 error, 1 warning, 2 note), text}. */
static int test_parse_log(lua_State *L) {
  struct diagnostics all;
  if (!diagnostics_parse(luaL_checkstring(L, 1), &all)) return luaL_error(L, "out of memory");
  lua_newtable(L);
  for (size_t i = 0; i < all.n; i++) {
    lua_newtable(L);
    set_string(L, "file", all.list[i].file);
    set_integer(L, "line", all.list[i].line);
    set_integer(L, "column", all.list[i].column);
    set_integer(L, "severity", all.list[i].severity);
    set_string(L, "text", all.list[i].text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  diagnostics_free(&all);
  return 1;
}

/* kernel_hash(bytes [, cut]) -> hexadecimal; added in two parts when cut is given. */
static int test_hash(lua_State *L) {
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  size_t cut = (size_t)luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, cut <= length, 2, "beyond the bytes");
  struct hash hash;
  uint8_t digest[HASH_BYTES];
  hash_start(&hash);
  hash_add(&hash, bytes, cut);
  hash_add(&hash, bytes + cut, length - cut);
  hash_finish(&hash, digest);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (int i = 0; i < HASH_BYTES; i++) {
    luaL_addchar(&text, "0123456789abcdef"[digest[i] >> 4]);
    luaL_addchar(&text, "0123456789abcdef"[digest[i] & 15]);
  }
  luaL_pushresult(&text);
  return 1;
}

/* kernel_half(number) -> bits of f16, bits of bf16. */
static int test_half(lua_State *L) {
  double number = luaL_checknumber(L, 1);
  lua_pushinteger(L, half_from_double(number));
  lua_pushinteger(L, bfloat16_from_double(number));
  return 2;
}

/* kernel_normal_name(expression) -> its even spelling, and whether it is valid. */
static int test_normal_name(lua_State *L) {
  const char *expression = luaL_checkstring(L, 1);
  char *normal = name_normal(expression);
  lua_pushstring(L, normal);
  lua_pushboolean(L, name_is_valid(expression));
  free(normal);
  return 2;
}

/* kernel_forget(): empties the memory cache, as a new process would have it. */
static int test_forget(lua_State *L) {
  (void)L;
  cache_clear();
  return 0;
}

/* kernel_setenv(name, value or nil) */
static int test_setenv(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (lua_isnoneornil(L, 2))
    unsetenv(name);
  else
    setenv(name, luaL_checkstring(L, 2), 1);
  return 0;
}

void testing_open_kernel(lua_State *L) {
  static const luaL_Reg functions[] = {{"kernel_scan", test_scan},
                                       {"kernel_elf_symbol", test_elf_symbol},
                                       {"kernel_parse_log", test_parse_log},
                                       {"kernel_hash", test_hash},
                                       {"kernel_half", test_half},
                                       {"kernel_normal_name", test_normal_name},
                                       {"kernel_forget", test_forget},
                                       {"kernel_setenv", test_setenv},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
