/*
 * error.c - error objects.
 *
 * One class for two origins. An error of the library holds its native error and reads every field from it; one
 * that the binding or a Lua module makes holds a table of fields (user value 1), where `kind` and `message`
 * always are. A raised error also remembers where in the Lua code it happened, as `position`; tostring puts it
 * in front.
 */
#include <string.h>

#include "lua/binding.h"

struct lb_error {
  luhip_error *error;  /* NULL: the fields are in the user value */
  luhip_status status; /* for a library error that came without an object */
};

/* ---- making -------------------------------------------------------------------------------------------------------- */

static const char OWN_SOURCES[] = "luhip.own_sources";

/* core.own_sources(prefix or nil): how luhip's own Lua files begin; no user has anything to look for there. */
int lb_own_sources(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_isnil(L, 1)) luaL_checkstring(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, OWN_SOURCES);
  return 0;
}

/* Pushes "file.lua:12: " for the innermost Lua function that is the user's, or "". */
static void push_position(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, OWN_SOURCES);
  const char *own = lua_tostring(L, -1); /* stays in the registry */
  size_t length = own ? strlen(own) : 0;
  lua_pop(L, 1);
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || (length && strncmp(ar.source, own, length) == 0)) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

/* Replaces the message on top by an error object. */
static void wrap_message(lua_State *L, const char *kind) {
  lb_new(L, LB_ERROR, sizeof(struct lb_error), 1);
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  lua_setiuservalue(L, -2, 1);
  lua_remove(L, -2);
}

/* Sets a field of the object on top. The value is popped. */
static void set_extra(lua_State *L, const char *name) {
  if (lua_getiuservalue(L, -2, 1) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, -4, 1);
  }
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

int lb_throw(lua_State *L) {
  luaL_checkstack(L, 8, NULL);
  push_position(L);
  set_extra(L, "position");
  return lua_error(L);
}

int lb_raise(lua_State *L, luhip_status kind, const char *format, ...) {
  luaL_checkstack(L, 16, NULL);
  va_list list;
  va_start(list, format);
  lua_pushvfstring(L, format, list);
  va_end(list);
  wrap_message(L, luhip_error_kind_name(kind));
  return lb_throw(L);
}

int lb_argument(lua_State *L, int idx, luhip_status kind, const char *format, ...) {
  luaL_checkstack(L, 16, NULL);
  lua_Debug ar;
  const bool meta = lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && strcmp(ar.namewhat, "metamethod") == 0;
  const char *name = lb_push_function_name(L);
  bool method = strchr(name, ':') != NULL, bare = meta;
  if (meta) { /* x.shape, #x: no function that the user has called */
    lua_pushliteral(L, "");
  } else if (method && idx == 1) {
    bare = kind != LUHIP_E_TYPE; /* an object of the right class, in the wrong state */
    lua_pushfstring(L, bare ? "%s: " : "calling '%s' on a bad object (", name);
  } else {
    lua_pushfstring(L, "bad argument #%d to '%s' (", method ? idx - 1 : idx, name);
  }
  va_list list;
  va_start(list, format);
  lua_pushvfstring(L, format, list);
  va_end(list);
  lua_pushstring(L, bare ? "" : ")");
  lua_concat(L, 3);
  wrap_message(L, luhip_error_kind_name(kind));
  return lb_throw(L);
}

struct native {
  luhip_status status;
  luhip_error *error;
};

static int make_native(lua_State *L) {
  struct native *native = lua_touserdata(L, 1);
  struct lb_error *object = lb_new(L, LB_ERROR, sizeof *object, 1);
  object->status = native->status;
  object->error = native->error;
  native->error = NULL;
  return 1;
}

/* The native error has no owner until its object exists, so that is made in protected mode. */
void lb_push_error(lua_State *L, luhip_status status, luhip_error *error) {
  struct native native = {status, error};
  lua_pushcfunction(L, make_native);
  lua_pushlightuserdata(L, &native);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  luhip_error_release(native.error);
  lua_error(L);
}

int lb_fail(lua_State *L, luhip_status status, luhip_error *error) {
  if (!lua_checkstack(L, 16)) {
    luhip_error_release(error);
    return luaL_error(L, "stack overflow");
  }
  lb_push_error(L, status, error);
  lb_logged(L, 0);
  return lb_throw(L);
}

luhip_error *lb_native_error(lua_State *L, int idx) {
  return ((const struct lb_error *)lb_check(L, idx, LB_ERROR))->error;
}

/* core.error(kind, message [, fields]): makes, does not raise. */
int lb_make_error(lua_State *L) {
  const char *kind = lb_check_string(L, 1, "kind", NULL);
  lb_check_string(L, 2, "message", NULL);
  int status = LUHIP_OK + 1;
  while (status < LUHIP_STATUS_COUNT && strcmp(kind, luhip_error_kind_name((luhip_status)status)) != 0) status++;
  if (status == LUHIP_STATUS_COUNT) lb_argument(L, 1, LUHIP_E_ARGUMENT, "'%s' is no kind of error", kind);
  bool fields = !lua_isnoneornil(L, 3);
  if (fields && !lua_istable(L, 3))
    lb_argument(L, 3, LUHIP_E_TYPE, "fields: a table expected, got %s", lb_type_name(L, 3));
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  wrap_message(L, kind);
  if (!fields) return 1;
  lua_getiuservalue(L, 4, 1);
  for (lua_pushnil(L); lua_next(L, 3);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 5);
  }
  lua_pushvalue(L, 1); /* these two are not to be replaced */
  lua_setfield(L, 5, "kind");
  lua_pushvalue(L, 2);
  lua_setfield(L, 5, "message");
  lua_settop(L, 4);
  return 1;
}

int lb_is_error(lua_State *L) {
  lua_pushboolean(L, lb_test(L, 1, LB_ERROR) != NULL);
  return 1;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static void push_borrowed(lua_State *L, const luhip_error *error) {
  luhip_error *own = luhip_error_retain((luhip_error *)(uintptr_t)error);
  lb_push_error(L, luhip_error_kind(own), own);
}

static int push_failures(lua_State *L, const luhip_error *error) {
  size_t n = error ? luhip_error_failures(error) : 0;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_borrowed(L, luhip_error_failure(error, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int push_diagnostics(lua_State *L, const luhip_error *error) {
  const luhip_diagnostic *list = NULL;
  size_t n = error ? luhip_error_diagnostics(error, &list) : 0;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    lua_pushstring(L, list[i].file);
    lua_setfield(L, -2, "file");
    lua_pushinteger(L, list[i].line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, list[i].column);
    lua_setfield(L, -2, "column");
    lua_pushstring(L, list[i].severity);
    lua_setfield(L, -2, "severity");
    lua_pushstring(L, list[i].text);
    lua_setfield(L, -2, "text");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int push_skips(lua_State *L, const luhip_error *error, bool total_only) {
  uint64_t total = 0;
  size_t n = error ? luhip_error_skips(error, &total) : 0;
  if (total_only) {
    lua_pushinteger(L, (lua_Integer)total);
    return 1;
  }
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, luhip_error_skip(error, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* 0-based, as the kernel counts them; nil when any is unknown. */
static int push_triple(lua_State *L, const int32_t triple[3]) {
  if (triple[0] < 0 || triple[1] < 0 || triple[2] < 0) return 0;
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, triple[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int push_where(lua_State *L, const luhip_error *error, const char *key) {
  const char *kernel = NULL;
  int32_t block[3] = {-1, -1, -1}, thread[3] = {-1, -1, -1};
  if (!error || !luhip_error_where(error, &kernel, block, thread)) return 0;
  if (strcmp(key, "block") == 0) return push_triple(L, block);
  if (strcmp(key, "thread") == 0) return push_triple(L, thread);
  if (!kernel || !*kernel) return 0;
  lua_pushstring(L, kernel);
  return 1;
}

static int push_native(lua_State *L, const struct lb_error *object, const char *key) {
  const luhip_error *error = object->error;
  if (strcmp(key, "kind") == 0)
    lua_pushstring(L, luhip_error_kind_name(object->status));
  else if (strcmp(key, "message") == 0)
    lua_pushstring(L, error ? luhip_error_message(error) : luhip_error_kind_name(object->status));
  else if (strcmp(key, "log") == 0 && error && *luhip_error_log(error))
    lua_pushstring(L, luhip_error_log(error));
  else if (strcmp(key, "cause") == 0 && error && luhip_error_cause(error))
    push_borrowed(L, luhip_error_cause(error));
  else
    return push_where(L, error, key);
  return 1;
}

/* __index: the fields given by Lua first, then what the native error knows; lists are there for every error. */
static int error_index(lua_State *L) {
  struct lb_error *object = lb_check(L, 1, LB_ERROR);
  lua_settop(L, 2);
  lb_push_methods(L, LB_ERROR);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  lua_settop(L, 2);
  if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  }
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  if (strcmp(key, "failures") == 0) return push_failures(L, object->error);
  if (strcmp(key, "diagnostics") == 0) return push_diagnostics(L, object->error);
  if (strcmp(key, "skips") == 0) return push_skips(L, object->error, false);
  if (strcmp(key, "skipped") == 0) return push_skips(L, object->error, true);
  return object->error || object->status != LUHIP_OK ? push_native(L, object, key) : 0;
}

static int error_tostring(lua_State *L) {
  struct lb_error *object = lb_check(L, 1, LB_ERROR);
  lua_settop(L, 1);
  bool fields = lua_getiuservalue(L, 1, 1) == LUA_TTABLE;
  if (!fields || lua_getfield(L, 2, "position") != LUA_TSTRING) {
    lua_settop(L, 2);
    lua_pushliteral(L, "");
  }
  if (object->error) {
    lua_pushstring(L, luhip_error_full(object->error));
  } else if (object->status != LUHIP_OK) {
    lua_pushstring(L, luhip_error_kind_name(object->status));
  } else if (!fields || lua_getfield(L, 2, "message") != LUA_TSTRING) {
    lua_settop(L, 3);
    lua_pushliteral(L, "luhip.error");
  }
  if (fields && lua_getfield(L, 2, "cause") != LUA_TNIL) {
    lua_pushliteral(L, "\n  caused by: ");
    luaL_tolstring(L, -2, NULL);
    lua_remove(L, -3);
  } else {
    lua_settop(L, 4);
  }
  lua_concat(L, lua_gettop(L) - 2);
  return 1;
}

static int error_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static int error_gc(lua_State *L) {
  struct lb_error *object = lb_check(L, 1, LB_ERROR);
  luhip_error *error = object->error;
  object->error = NULL;
  luhip_error_release(error);
  return 0;
}

void lb_open_error(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", error_index},
                                  {"__tostring", error_tostring},
                                  {"__concat", error_concat},
                                  {"__gc", error_gc},
                                  {NULL, NULL}};
  lb_class_register(L, LB_ERROR, &(struct lb_class_functions){NULL, NULL, meta});
}
