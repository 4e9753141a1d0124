/*
 * class.c - the classes of the binding.
 *
 * A class has a metatable, kept in the registry under the address of its slot below (and under its name, where
 * luaL_checkudata of a host finds it), a table of methods and a table of fields. Both tables are upvalues of
 * __index: a method is found by one raw look-up, a field by a second one that gives the getter. The method
 * tables are shown to Lua as core.methods, so that modules may add to them. A name that is neither is an error and
 * not nil: it is misspelt. (Errors have an __index of their own, in which it is nil: handlers ask any error for
 * fields that other libraries' have.)
 *
 * An object is told by a tag behind it: the address of its class's slot, which nobody else's userdata ends in. That takes
 * a fraction of what a look at its metatable would.
 *
 * Metatables are protected (getmetatable gives the class's name), and every function tests the type of its
 * object, because Lua code may reach a metamethod through the debug library.
 */
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "lua/binding.h"

static const char *const class_names[LB_CLASS_COUNT] = {
#define X(NAME, name) "luhip." #name,
    LB_CLASSES(X)
#undef X
};

/* Registry keys: the address of [class][0] is the metatable's, of [class][1] the method table's. */
const char lb_class_keys[LB_CLASS_COUNT][2];

void lb_push_metatable(lua_State *L, enum lb_class which) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lb_class_keys[which][0]);
}
void lb_push_methods(lua_State *L, enum lb_class which) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lb_class_keys[which][1]);
}

/* ---- names that there are not -------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum { MAX_NAMES = 64 };

/* The names in the table at idx, sorted, NULL behind the last. Pushes what keeps them: a finaliser may change the table. */
static void list_names(lua_State *L, int idx, const char *names[MAX_NAMES + 1]) {
  size_t n = 0;
  lua_newtable(L);
  lua_pushvalue(L, idx);
  for (lua_pushnil(L); lua_next(L, -2);) {
    if (lua_type(L, -2) == LUA_TSTRING && n < MAX_NAMES) {
      names[n++] = lua_tostring(L, -2);
      lua_pushvalue(L, -2);
      lua_rawseti(L, -5, (lua_Integer)n);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  qsort(names, n, sizeof *names, by_text);
  names[n] = NULL;
}

/* Upvalues as of class_index. */
static int no_member(lua_State *L) {
  const char *methods[MAX_NAMES + 1], *fields[MAX_NAMES + 1];
  const char *type = lb_type_name(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING)
    return lb_raise(L, LUHIP_E_TYPE, "a %s has no elements to be indexed by a %s%s", type, lb_type_name(L, 2),
                    lb_test(L, 1, LB_BUFFER) ? "; its read() gives an array, which has" : "");
  const char *name = lua_tostring(L, 2);
  list_names(L, lua_upvalueindex(1), methods);
  list_names(L, lua_upvalueindex(2), fields);
  const char *other = nearest_name(name, fields);
  if (!other) other = nearest_name(name, methods);
  if (other)
    return lb_raise(L, LUHIP_E_ARGUMENT, "a %s has no field or method '%s'; did you mean '%s'?", type, name, other);
  const char *list = lb_push_names(L, fields[0] ? fields : methods);
  return lb_raise(L, LUHIP_E_ARGUMENT, "a %s has no field or method '%s'; its %s are %s", type, name,
                  fields[0] ? "fields" : "methods", list);
}

/* ---- registering --------------------------------------------------------------------------------------------------- */

/* Upvalues: methods, fields. */
static int class_index(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) == LUA_TNIL) return no_member(L);
  lua_CFunction getter = lua_tocfunction(L, -1);
  lua_settop(L, 2);
  return getter(L);
}

/* Assigning to a field, where a class does not take it. */
static int class_newindex(lua_State *L) {
  const char *type = lb_type_name(L, 1);
  if (lua_type(L, 2) == LUA_TSTRING)
    return lb_raise(L, LUHIP_E_TYPE, "field '%s' of a %s cannot be set", lua_tostring(L, 2), type);
  return lb_raise(L, LUHIP_E_TYPE, "a %s cannot be assigned to by a key that is a %s", type, lb_type_name(L, 2));
}

void lb_class_register(lua_State *L, enum lb_class which, const struct lb_class_functions *functions) {
  luaL_newmetatable(L, class_names[which]); /* sets __name */
  lua_pushstring(L, class_names[which]);
  lua_setfield(L, -2, "__metatable");
  lua_newtable(L);
  if (functions->methods) luaL_setfuncs(L, functions->methods, 0);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lb_class_keys[which][1]);
  lua_newtable(L);
  if (functions->fields) luaL_setfuncs(L, functions->fields, 0);
  lua_pushcclosure(L, class_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, class_newindex);
  lua_setfield(L, -2, "__newindex");
  if (functions->meta) luaL_setfuncs(L, functions->meta, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lb_class_keys[which][0]);
}

void *lb_new(lua_State *L, enum lb_class which, size_t size, int values) {
  struct lb_class_tag tag = {lb_class_keys[which]};
  size = (size + _Alignof(struct lb_class_tag) - 1) / _Alignof(struct lb_class_tag) * _Alignof(struct lb_class_tag);
  unsigned char *object = lua_newuserdatauv(L, size + sizeof tag, values);
  for (size_t i = 0; i < size; i++) object[i] = 0;
  memcpy(object + size, &tag, sizeof tag);
  lb_push_metatable(L, which);
  lua_setmetatable(L, -2);
  return object;
}

void *lb_check(lua_State *L, int idx, enum lb_class which) {
  void *object = lb_test(L, idx, which);
  if (!object) lb_argument(L, idx, LUHIP_E_TYPE, "%s expected, got %s", class_names[which], lb_type_name(L, idx));
  return object;
}

const char *lb_type_name(lua_State *L, int idx) {
  if (lua_isnone(L, idx)) return "no value";
  if (lua_type(L, idx) != LUA_TUSERDATA || !lua_getmetatable(L, idx)) return luaL_typename(L, idx);
  for (int which = 0; which < LB_CLASS_COUNT; which++) {
    lb_push_metatable(L, (enum lb_class)which);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    if (!same) continue;
    lua_pop(L, 1);
    return class_names[which];
  }
  lua_pushliteral(L, "__name");
  const char *name = lua_rawget(L, -2) == LUA_TSTRING ? lua_tostring(L, -1) : "userdata"; /* the metatable keeps it */
  lua_pop(L, 2);
  return name;
}

/* Whether the table on top holds the function at idx; pushes the key if so. */
static bool find_function(lua_State *L, int idx) {
  int table = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    if (!lua_rawequal(L, -1, idx) || lua_type(L, -2) != LUA_TSTRING) continue;
    lua_pop(L, 1);
    return true;
  }
  return false;
}

/* The name comes from the tables of functions and not from the caller's code, so that pcall(x.slice, x) has one too. */
const char *lb_push_function_name(lua_State *L) {
  lua_Debug ar;
  luaL_checkstack(L, 8, NULL);
  if (!lua_getstack(L, 0, &ar) || !lua_getinfo(L, "nf", &ar)) return lua_pushliteral(L, "?");
  int function = lua_gettop(L);
  for (int which = 0; which < LB_CLASS_COUNT; which++) {
    lb_push_methods(L, (enum lb_class)which);
    if (lua_istable(L, -1) && find_function(L, function)) {
      lua_pushfstring(L, "%s:%s", class_names[which] + sizeof "luhip." - 1, lua_tostring(L, -1));
      lua_replace(L, function);
      lua_settop(L, function);
      return lua_tostring(L, function);
    }
    lua_settop(L, function);
  }
  if (luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) && lua_getfield(L, -1, "luhip.core") == LUA_TTABLE &&
      find_function(L, function))
    lua_pushfstring(L, "luhip.%s", lua_tostring(L, -1));
  else
    lua_pushstring(L, ar.name ? ar.name : "?");
  lua_replace(L, function);
  lua_settop(L, function);
  return lua_tostring(L, function);
}
