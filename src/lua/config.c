/*
 * config.c - settings and log lines, as core functions for lua/luhip/config.lua.
 *
 * A script's function may be where log lines go. Lines come from any thread and under locks, so they wait in a queue
 * (base/log.h), and the functions of the binding that log call it at their end, where nothing is locked or unowned.
 * Its own errors end it: a logger must not make the work fail that it watches.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "lua/binding.h"

static const char *const layer_names[] = {"default", "user", "project", "environment", "script", NULL};

/* ---- settings ----------------------------------------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

/* core.settings() -> { {key=, variable=, type=, standard=, meaning=, own=}, ... } */
int lb_settings(lua_State *L) {
  size_t n = luhip_settings(NULL, 0);
  luhip_setting *list = lua_newuserdatauv(L, n * sizeof *list, 0);
  luhip_settings(list, n);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 6);
    set_text(L, "key", list[i].key);
    set_text(L, "variable", list[i].variable);
    set_text(L, "type", list[i].type);
    set_text(L, "standard", list[i].standard);
    set_text(L, "meaning", list[i].meaning);
    lua_pushboolean(L, list[i].own);
    lua_setfield(L, -2, "own");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* core.config_set(layer, key, text or nil, origin or nil [, try]): raises for what is wrong; try: changes nothing */
int lb_config_set(lua_State *L) {
  enum config_layer layer = (enum config_layer)luaL_checkoption(L, 1, NULL, layer_names);
  const char *key = lb_check_text(L, 2, "key");
  const char *text = lua_isnoneornil(L, 3) ? NULL : lb_check_text(L, 3, "value");
  const char *origin = lua_isnoneornil(L, 4) ? NULL : lb_check_text(L, 4, "origin");
  luhip_error *error = NULL;
  luhip_status status =
      lua_toboolean(L, 5) ? config_try(layer, key, text, origin, &error) : config_set(layer, key, text, origin, &error);
  return status == LUHIP_OK ? 0 : lb_fail(L, status, error);
}

/* core.config_get(i) -> text, layer, origin: of the i-th setting, as core.settings lists them */
int lb_config_get(lua_State *L) {
  struct config_value *value = lua_newuserdatauv(L, sizeof *value, 0);
  config_find((enum config_id)(lb_check_integer(L, 1, "setting", 1, CONFIG_COUNT) - 1), value);
  lua_pushstring(L, value->text);
  lua_pushstring(L, layer_names[value->layer]);
  lua_pushstring(L, value->origin);
  return 3;
}

/* core.config_number(i) -> the parsed number, or nil where nothing is set */
int lb_config_number(lua_State *L) {
  uint64_t number = UINT64_MAX;
  luhip_error *error = NULL;
  enum config_id id = (enum config_id)(lb_check_integer(L, 1, "setting", 1, CONFIG_COUNT) - 1);
  luhip_status status = config_number(id, &number, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  if (number == UINT64_MAX) return 0;
  lua_pushinteger(L, (lua_Integer)number);
  return 1;
}

/* core.config_file(path, own) -> text; nil where there is none; or false and why it cannot be read. own: only a file of
   this user's that nobody else may write. */
int lb_config_file(lua_State *L) {
  enum { MOST = 1 << 20 };
  const char *path = lb_check_text(L, 1, "path");
  struct file_content content = {0};
  int error = lua_toboolean(L, 2) ? file_read_own(AT_FDCWD, path, &content) : file_read(path, &content);
  if (error == ENOENT || error == ENOTDIR) return 0;
  if (!error && content.bytes > MOST) {
    free(content.data);
    error = EFBIG;
  }
  if (error) {
    lua_pushboolean(L, false);
    if (error == EPERM)
      lua_pushliteral(L, "it must be a file of yours that nobody else may write (chmod go-w)");
    else
      lua_pushstring(L, strerror(error));
    return 2;
  }
  luaL_Buffer text; /* a failing allocation leaks the content and nothing else */
  luaL_buffinit(L, &text);
  luaL_addlstring(&text, content.data, content.bytes);
  free(content.data);
  luaL_pushresult(&text);
  return 1;
}

/* ---- log lines ------------------------------------------------------------------------------------------------------------ */

static const char sink_key;

static bool owns_queue(lua_State *L) {
  return log_queue_owner() == lb_state(L);
}

void lb_log_close(struct lb_state *state) {
  if (log_queue_owner() == state) log_set_queue(NULL);
}

/* core.log_sink(function or nil): what gets the lines of the whole process, as topic, level and text */
int lb_log_sink(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_isnil(L, 1)) lb_check_function(L, 1, "log.sink");
  bool given = !lua_isnil(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sink_key);
  if (given || owns_queue(L)) log_set_queue(given ? lb_state(L) : NULL);
  return 0;
}

static enum log_topic check_topic(lua_State *L) {
  static const char *const names[] = {
#define X(ID, name) name,
      LOG_ALL_TOPICS(X)
#undef X
          NULL};
  return (enum log_topic)luaL_checkoption(L, 1, NULL, names);
}

static const char *const level_names[] = {"off", "basic", "full", NULL};

/* core.log_on(topic, level) */
int lb_log_on(lua_State *L) {
  enum log_topic topic = check_topic(L);
  lua_pushboolean(L, log_on(topic, (enum log_level)luaL_checkoption(L, 2, NULL, level_names)));
  return 1;
}

/* core.log(topic, level, text) */
int lb_log(lua_State *L) {
  enum log_topic topic = check_topic(L);
  enum log_level level = (enum log_level)luaL_checkoption(L, 2, NULL, level_names);
  const char *text = luaL_checkstring(L, 3);
  if (level != LOG_OFF) LOG(topic, level, "%s", text);
  return lb_logged(L, 0);
}

/* The line at upvalue... as a light userdata at 1, in protected mode: calls the sink, which is on the stack at 2. */
static int call_sink(lua_State *L) {
  const struct log_line *line = lua_touserdata(L, 1);
  lua_pushstring(L, log_topic_name(line->topic));
  lua_pushstring(L, level_names[line->level]);
  lua_pushstring(L, line->text);
  lua_call(L, 3, 0);
  return 0;
}

/* Gives one line to the sink; false when that raised, and then it was the last. */
static bool deliver_line(lua_State *L, struct log_line *line) {
  lua_pushcfunction(L, call_sink);
  lua_pushlightuserdata(L, line);
  bool there = lua_rawgetp(L, LUA_REGISTRYINDEX, &sink_key) == LUA_TFUNCTION || !lua_isnil(L, -1);
  int status = there ? lua_pcall(L, 2, 0, 0) : LUA_OK;
  free(line->text);
  if (status == LUA_OK) return there;
  log_set_queue(NULL);
  log_warning("the log sink raised an error and gets no more lines: %s",
              lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1));
  return false;
}

/* Only as many lines as wait now: what the sink itself makes us log waits for the next call. */
void lb_log_deliver(lua_State *L) {
  struct lb_state *state = lb_state(L);
  int top = lua_gettop(L), waiting = log_waiting();
  if (log_queue_owner() != state || state->delivering || !lua_checkstack(L, 20)) return;
  state->delivering = true;
  unsigned lost = log_lost();
  if (lost) log_warning("%u log lines were lost: the sink gets them only while luhip's functions are called", lost);
  struct log_line line;
  while (waiting-- > 0 && log_take(&line) && deliver_line(L, &line)) lua_settop(L, top);
  lua_settop(L, top);
  state->delivering = false;
}
