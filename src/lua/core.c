/*
 * core.c - luhip.core: the module that luhip is built on.
 *
 * Loading it starts no device. It may be loaded again in the same state (package.loaded cleared, two names for
 * one file): the table that was made first is given back, and so are its classes. Any number of states may load it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "lua/binding.h"
#ifdef LUHIP_TESTING
#include "testing/testing.h"
#endif

static const char core_key;

/* ---- small functions --------------------------------------------------------------------------------------------------- */

/* core.compile_stats() */
static int core_compile_stats(lua_State *L) {
  luhip_compile_stats stats;
  luhip_compile_get_stats(&stats);
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, (lua_Integer)stats.compiles);
  lua_setfield(L, -2, "compiles");
  lua_pushinteger(L, (lua_Integer)stats.memory_hits);
  lua_setfield(L, -2, "memory_hits");
  lua_pushinteger(L, (lua_Integer)stats.disk_hits);
  lua_setfield(L, -2, "disk_hits");
  lua_pushinteger(L, (lua_Integer)stats.disk_rejects);
  lua_setfield(L, -2, "disk_rejects");
  return 1;
}

/* core.clear_cache() -> how many files of the compile cache were removed */
static int core_clear_cache(lua_State *L) {
  size_t entries = 0;
  luhip_error *error = NULL;
  luhip_status status = luhip_cache_clear(&entries, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushinteger(L, (lua_Integer)entries);
  return 1;
}

/* core.isatty(fd) */
static int core_isatty(lua_State *L) {
  lua_pushboolean(L, isatty((int)lb_check_integer(L, 1, "fd", 0, INT32_MAX)));
  return 1;
}

/* core.sleep(ms): for that long, 10 ms at most, so that a loop around it hears of an interrupt */
static int core_sleep(lua_State *L) {
  lua_Number ms = luaL_checknumber(L, 1);
  if (!(ms > 0)) return 0;
  const struct timespec time = {.tv_nsec = (long)((ms < 10 ? ms : 10) * 1e6)};
  nanosleep(&time, NULL);
  return 0;
}

/* core.monotime() -> seconds of a clock that never goes back */
static int core_monotime(lua_State *L) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec * 1e-9);
  return 1;
}

/* core.working_folder() -> an absolute path, or nil */
static int core_working_folder(lua_State *L) {
  char *path = getcwd(NULL, 0);
  if (path && path[0] == '/') lua_pushstring(L, path); /* a failing allocation leaks the path and nothing else */
  bool found = path && path[0] == '/';
  free(path);
  return found ? 1 : 0;
}

/* core.warning(text): as the library's own */
static int core_warning(lua_State *L) {
  log_warning("%s", lb_check_text(L, 1, "text"));
  return 0;
}

/* core.make_folder(path) -> true, or nil and why: the folder and those above it */
static int core_make_folder(lua_State *L) {
  const char *path = lb_check_text(L, 1, "path");
  errno = file_make_folders(path, 0777);
  return luaL_fileresult(L, errno == 0, path);
}

/* core.hold_standard_files(): opens what of 0, 1 and 2 is closed, so that no file gets a number that prints go to */
static int core_hold_standard_files(lua_State *L) {
  (void)L;
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) break;
  return 0;
}

/* core.output_failed() -> whether something printed could not be written, other than for want of a reader (`| head`) */
static int core_output_failed(lua_State *L) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  bool unread = poll(&output, 1, 0) > 0 && (output.revents & POLLERR);
  bool failed = fflush(stdout) != 0 || ferror(stdout);
  lua_pushboolean(L, failed && !unread);
  return 1;
}

/* core.write_file(path, bytes) -> true, or nil, message: whole, or an error; see file_write */
static int core_write_file(lua_State *L) {
  size_t bytes;
  const char *path = luaL_checkstring(L, 1);
  const char *data = luaL_checklstring(L, 2, &bytes);
  int error = file_write(path, data, bytes);
  errno = error;
  return luaL_fileresult(L, error == 0, path);
}

/* ---- the table ----------------------------------------------------------------------------------------------------------- */

/* Warnings of the library go to stderr: they come from any thread, and a process may have many states. */
static void print_warning(void *user, const char *text) {
  (void)user;
  fprintf(stderr, "luhip: warning: %s\n", text);
}

static void set_dtypes(lua_State *L) {
  static const char *const names[] = {
#define X(NAME, name, bytes) name,
      LUHIP_DTYPES(X)
#undef X
  };
  lua_createtable(L, LUHIP_DTYPE_COUNT, 0);
  for (int i = 0; i < LUHIP_DTYPE_COUNT; i++) {
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "dtypes");
}

/* core.error_kinds: the closed set, in luhip.h's order. */
static void set_kinds(lua_State *L) {
  lua_createtable(L, LUHIP_STATUS_COUNT - 1, 0);
  for (int i = LUHIP_OK + 1; i < LUHIP_STATUS_COUNT; i++) {
    lua_pushstring(L, luhip_error_kind_name((luhip_status)i));
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "error_kinds");
}

/* core.methods and core.metatables: of each class, live, for the Lua part of luhip to add to. */
static void set_classes(lua_State *L) {
#define X(NAME, name) lb_open_##name(L);
  LB_CLASSES(X)
#undef X
  lb_open_launch(L);
  lua_createtable(L, 0, LB_CLASS_COUNT);
  lua_createtable(L, 0, LB_CLASS_COUNT);
#define X(NAME, name)                                                                                                  \
  lb_push_methods(L, LB_##NAME);                                                                                       \
  lua_setfield(L, -3, #name);                                                                                          \
  lb_push_metatable(L, LB_##NAME);                                                                                     \
  lua_setfield(L, -2, #name);
  LB_CLASSES(X)
#undef X
  lua_setfield(L, -3, "metatables");
  lua_setfield(L, -2, "methods");
}

static void push_core(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"array", lb_array_new},
      {"is_error", lb_is_error},
      {"error", lb_make_error},
      {"own_sources", lb_own_sources},
      {"compile_for", lb_compile_for},
      {"interruptible", lb_interruptible},
      {"hold_interrupts", lb_hold_interrupts},
      {"editor", lb_editor_new},
      {"await_input", lb_await_input},
      {"append_private", lb_append_private},
      {"compile_stats", core_compile_stats},
      {"settings", lb_settings},
      {"config_set", lb_config_set},
      {"config_get", lb_config_get},
      {"config_number", lb_config_number},
      {"config_file", lb_config_file},
      {"config_check", lb_config_check},
      {"path_state", lb_path_state},
      {"cache_folder", lb_cache_folder},
      {"find_library", lb_find_library},
      {"toolchain", lb_toolchain},
      {"limits", lb_limits},
      {"plan_run", lb_plan_run},
      {"in_dry_run", lb_in_dry_run},
      {"log_sink", lb_log_sink},
      {"log_on", lb_log_on},
      {"log", lb_log},
      {"clear_cache", core_clear_cache},
      {"isatty", core_isatty},
      {"monotime", core_monotime},
      {"sleep", core_sleep},
      {"warning", core_warning},
      {"working_folder", core_working_folder},
      {"make_folder", core_make_folder},
      {"hold_standard_files", core_hold_standard_files},
      {"output_failed", core_output_failed},
      {"folder_names", lb_folder_names},
      {"write_file", core_write_file},
      {"inflate", lb_inflate},
      {"deflate", lb_deflate},
      {"crc32", lb_crc32},
      {NULL, NULL},
  };
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  luaL_setfuncs(L, lb_device_functions, 0);
  luaL_setfuncs(L, lb_trace_functions, 0);
  luaL_setfuncs(L, lb_memory_functions, 0);
  luaL_setfuncs(L, lb_tune_functions, 0);
  lua_pushliteral(L, LUHIP_VERSION);
  lua_setfield(L, -2, "version");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  set_dtypes(L);
  set_kinds(L);
  set_classes(L);
#ifdef LUHIP_TESTING
  testing_open(L);
  lua_setfield(L, -2, "testing");
#endif
}

int luaopen_luhip_core(lua_State *L) {
  luaL_checkversion(L);
  luaL_checkstack(L, 20, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &core_key) == LUA_TTABLE) return 1;
  lua_pop(L, 1);
  log_set_sink(print_warning, NULL);
  if (!lb_state(L)) lb_state_open(L);
  push_core(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &core_key);
  return 1;
}

/* ---- for hosts that link the library ---------------------------------------------------------------------------------------- */

/* Opens the core, then runs luhip/init.lua, which package.path must find. It is not required by name, because
   that name may be what this function is preloaded under. */
int luaopen_luhip(lua_State *L) {
  luaL_requiref(L, "luhip.core", luaopen_luhip_core, 0);
  lua_pop(L, 1);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchpath");
  lua_pushliteral(L, "luhip");
  lua_getfield(L, -3, "path");
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) return luaL_error(L, "luhip's Lua files are not on package.path:\n\t%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  const char *file = lua_tostring(L, -1);
  if (luaL_loadfile(L, file) != LUA_OK) return lua_error(L);
  lua_pushliteral(L, "luhip");
  lua_pushvalue(L, -3);
  lua_call(L, 2, 1);
  return 1;
}
