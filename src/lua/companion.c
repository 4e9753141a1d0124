/*
 * companion.c - core.companion: a program that runs beside this process and talks with it. See base/companion.h.
 */
#include "base/companion.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/tune.h"

struct lb_companion {
  struct companion *companion;
  char *message; /* on its way to Lua */
};

static struct lb_companion *check_companion(lua_State *L) {
  struct lb_companion *c = lb_check(L, 1, LB_COMPANION);
  if (!c->companion) lb_argument(L, 1, LUHIP_E_FREED, "the companion was freed");
  return c;
}

/* ---- starting -------------------------------------------------------------------------------------------------- */

static bool is_set_anew(lua_State *L, int idx, const char *entry) {
  const char *equals = strchr(entry, '=');
  if (!equals) return false;
  lua_pushlstring(L, entry, (size_t)(equals - entry));
  bool there = lua_rawget(L, idx) != LUA_TNIL;
  lua_pop(L, 1);
  return there;
}

/* Pushes what owns a list of strings that ends with NULL; `count` is how many there may be. */
static const char **push_list(lua_State *L, size_t count) {
  return lua_newuserdatauv(L, (count + 1) * sizeof(char *), 0);
}

static const char **push_words(lua_State *L, int idx) {
  luaL_checktype(L, idx, LUA_TTABLE);
  size_t n = lua_rawlen(L, idx);
  if (n == 0) lb_argument(L, idx, LUHIP_E_ARGUMENT, "a program is missing");
  const char **words = push_list(L, n);
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, idx, (lua_Integer)i + 1) != LUA_TSTRING)
      lb_argument(L, idx, LUHIP_E_TYPE, "word %d is no string", (int)i + 1);
    words[i] = lua_tostring(L, -1); /* the list keeps it */
    lua_pop(L, 1);
  }
  words[n] = NULL;
  return words;
}

/* Ours, but for what the table at idx sets. Its entries are kept in a table that is pushed too. */
static const char **push_environment(lua_State *L, int idx) {
  luaL_checktype(L, idx, LUA_TTABLE);
  size_t most = 0, n = 0;
  while (environ && environ[most]) most++;
  size_t ours = most;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      lb_argument(L, idx, LUHIP_E_TYPE, "a variable is a name and a text");
    most++;
  }
  lua_newtable(L);
  const char **entries = push_list(L, most);
  for (size_t i = 0; i < ours; i++)
    if (!is_set_anew(L, idx, environ[i])) entries[n++] = environ[i];
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    entries[n++] = lua_pushfstring(L, "%s=%s", lua_tostring(L, -2), lua_tostring(L, -1));
    lua_rawseti(L, -5, (lua_Integer)n); /* table, list, key, value, entry */
  }
  entries[n] = NULL;
  return entries;
}

/* core.companion(words, environment) -> companion: the program words[1], with variables beside or instead of ours */
int lb_make_companion(lua_State *L) {
  lua_settop(L, 2);
  const char **words = push_words(L, 1), **environment = push_environment(L, 2);
  struct lb_companion *c = lb_new(L, LB_COMPANION, sizeof *c, 0);
  const struct spawn_request request = {.path = words[0], .argv = words, .envp = environment};
  int error = companion_start(&request, &c->companion);
  return error ? lb_raise(L, LUHIP_E_FILE, "cannot start %s: %s", words[0], strerror(error)) : 1;
}

/* core.companion_of_parent() -> companion: the side of a program that was started as one */
int lb_attach_companion(lua_State *L) {
  struct lb_companion *c = lb_new(L, LB_COMPANION, sizeof *c, 0);
  int error = companion_attach(&c->companion);
  return error ? lb_raise(L, LUHIP_E_FILE, "nobody has started this process to talk with it: %s", strerror(error)) : 1;
}

/* core.executable() -> path of the program that this process runs, or nil */
int lb_executable(lua_State *L) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == (ssize_t)sizeof path) return 0;
  lua_pushlstring(L, path, (size_t)length);
  return 1;
}

/* ---- talking --------------------------------------------------------------------------------------------------- */

/* companion:send(message) -> true; false: the other side is gone */
static int companion_lua_send(lua_State *L) {
  struct lb_companion *c = check_companion(L);
  size_t length;
  const char *message = lb_check_string(L, 2, "message", &length);
  int error = companion_send(c->companion, message, length);
  if (error && error != EPIPE) return lb_raise(L, LUHIP_E_FILE, "cannot send: %s", strerror(error));
  lua_pushboolean(L, error == 0);
  return 1;
}

/* companion:receive(ms) -> message; nil: none yet; false: the other side is gone */
static int companion_lua_receive(lua_State *L) {
  struct lb_companion *c = check_companion(L);
  unsigned ms = (unsigned)lb_check_integer(L, 2, "ms", 0, 1000000);
  size_t length;
  switch (companion_receive(c->companion, ms, &c->message, &length)) {
  case COMPANION_MESSAGE:
    break;
  case COMPANION_NOTHING:
    lua_pushnil(L);
    return 1;
  case COMPANION_GONE:
    lua_pushboolean(L, 0);
    return 1;
  default:
    return lb_raise(L, LUHIP_E_MEMORY, "a message that cannot be taken in");
  }
  lua_pushlstring(L, c->message, length);
  free(c->message);
  c->message = NULL;
  return 1;
}

/* companion:finish(patience in ms) -> "exited" and the code, "killed" and the signal, or "unknown"; kills what still runs
   after that */
static int companion_lua_finish(lua_State *L) {
  static const char *const names[] = {"exited", "killed", "killed", "unknown"};
  struct lb_companion *c = check_companion(L);
  int code;
  enum spawn_end end = companion_end(c->companion, (unsigned)lb_check_integer(L, 2, "patience", 0, 1000000), &code);
  lua_pushstring(L, names[end]);
  lua_pushinteger(L, code);
  return 2;
}

static int companion_lua_free(lua_State *L) {
  struct lb_companion *c = lb_check(L, 1, LB_COMPANION);
  struct companion *companion = c->companion;
  c->companion = NULL;
  companion_free(companion);
  free(c->message);
  c->message = NULL;
  return 0;
}

void lb_open_companion(lua_State *L) {
  static const luaL_Reg methods[] = {{"send", companion_lua_send},
                                     {"receive", companion_lua_receive},
                                     {"finish", companion_lua_finish},
                                     {"free", companion_lua_free},
                                     {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", companion_lua_free}, {"__close", companion_lua_free}, {NULL, NULL}};
  lb_class_register(L, LB_COMPANION, &(struct lb_class_functions){methods, NULL, meta});
}
