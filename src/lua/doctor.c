/*
 * doctor.c - what `luhip doctor` looks at and Lua cannot: the toolchain, libraries, limits, states of files.
 *
 * Nothing is changed: no folder is made, no device opened. The compiler is asked for its version by starting it, which is
 * too slow for everybody else.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/config.h"
#include "base/spawn.h"
#include "cpu/toolchain.h"
#include "lua/binding.h"

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool flag) {
  lua_pushboolean(L, flag);
  lua_setfield(L, -2, name);
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

struct content {
  lua_Integer files, bytes;
};

static struct content content_of(const char *path) {
  struct content content = {0, 0};
  DIR *folder = opendir(path);
  if (!folder) return content;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    struct stat info;
    if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    content.files++;
    content.bytes += (lua_Integer)info.st_size;
  }
  closedir(folder);
  return content;
}

/* core.path_state(path) -> nil, or { type = "file"|"folder"|"device or pipe", own =, others_write =, writable =, and of a
   folder files = and bytes = of the regular files in it } */
int lb_path_state(lua_State *L) {
  struct stat info;
  const char *path = lb_check_text(L, 1, "path");
  if (stat(path, &info) != 0) return 0;
  bool folder = S_ISDIR(info.st_mode);
  lua_createtable(L, 0, 6);
  set_text(L, "type", folder ? "folder" : S_ISREG(info.st_mode) ? "file" : "device or pipe");
  set_flag(L, "own", info.st_uid == geteuid());
  set_flag(L, "others_write", (info.st_mode & (S_IWGRP | S_IWOTH)) != 0);
  set_flag(L, "writable", access(path, W_OK) == 0);
  if (!folder) return 1;
  struct content content = content_of(path);
  lua_pushinteger(L, content.files);
  lua_setfield(L, -2, "files");
  lua_pushinteger(L, content.bytes);
  lua_setfield(L, -2, "bytes");
  return 1;
}

/* core.folder_names(path) -> the names in a folder, in no order; nil where it cannot be read */
int lb_folder_names(lua_State *L) {
  DIR *folder = opendir(lb_check_text(L, 1, "path"));
  if (!folder) return 0;
  lua_newtable(L); /* a failing allocation leaks the folder and nothing else */
  lua_Integer count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++count);
  }
  closedir(folder);
  return 1;
}

/* core.cache_folder() -> path, or nil where nothing is kept */
int lb_cache_folder(lua_State *L) {
  struct text path = {0};
  cache_folder(&path);
  bool there = path.length && !path.failed;
  if (there) lua_pushlstring(L, path.data, path.length); /* a failing allocation leaks the path and nothing else */
  text_free(&path);
  return there ? 1 : 0;
}

/* ---- libraries and programs ------------------------------------------------------------------------------------------ */

/* core.find_library{ "libx.so.1", ... } -> the first that can be loaded, or nil. It stays loaded. */
int lb_find_library(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TSTRING; i++) {
    if (dlopen(lua_tostring(L, -1), RTLD_LAZY | RTLD_LOCAL)) return 1;
    lua_pop(L, 1);
  }
  return 0;
}

/* Pushes the first line of what the program says of its version. */
static void push_version(lua_State *L, const char *program) {
  const char *const argv[] = {program, "--version", NULL};
  static const char *const envp[] = {"LC_ALL=C", NULL};
  struct spawn_request request = {.path = program, .argv = argv, .envp = envp, .timeout_ms = 10000};
  struct spawn_result result;
  int error = spawn_run(&request, &result);
  char line[256];
  snprintf(line, sizeof line, "%.*s", error || !result.output ? 0 : (int)strcspn(result.output, "\n"),
           error || !result.output ? "" : result.output);
  free(result.output);
  lua_pushstring(L, *line ? line : "it does not tell its version");
}

/* core.toolchain() -> true and { compiler =, linker =, version =, is_clang = }; or false and why there is none */
int lb_toolchain(lua_State *L) {
  struct toolchain *toolchain = lua_newuserdatauv(L, sizeof *toolchain, 0);
  char reason[512];
  bool found = cpu_toolchain_find(toolchain, reason, sizeof reason);
  lua_pushboolean(L, found);
  if (!found) {
    lua_pushstring(L, reason);
    return 2;
  }
  lua_createtable(L, 0, 4);
  set_text(L, "compiler", toolchain->compiler);
  set_text(L, "linker", toolchain->linker);
  set_flag(L, "is_clang", toolchain->is_clang);
  push_version(L, toolchain->compiler);
  lua_setfield(L, -2, "version");
  return 2;
}

/* ---- settings and limits ------------------------------------------------------------------------------------------------ */

/* core.config_check() -> true; or nil and the error: the environment as luhip_open will see it */
int lb_config_check(lua_State *L) {
  luhip_error *error = NULL;
  luhip_status status = config_check(&error);
  if (status == LUHIP_OK) {
    lua_pushboolean(L, true);
    return 1;
  }
  lua_pushnil(L);
  lb_push_error(L, status, error);
  return 2;
}

/* core.limits() -> { processors =, memory =, open_files =, address_space =, locked_memory = }; absent: no limit */
int lb_limits(lua_State *L) {
  static const struct {
    const char *name;
    __rlimit_resource_t which;
  } limits[] = {{"open_files", RLIMIT_NOFILE}, {"address_space", RLIMIT_AS}, {"locked_memory", RLIMIT_MEMLOCK}};
  struct rlimit limit;
  cpu_set_t set;
  lua_createtable(L, 0, 5);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    lua_pushinteger(L, CPU_COUNT(&set));
    lua_setfield(L, -2, "processors");
  }
  lua_pushinteger(L, (lua_Integer)sysconf(_SC_PHYS_PAGES) * (lua_Integer)sysconf(_SC_PAGESIZE));
  lua_setfield(L, -2, "memory");
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    if (getrlimit(limits[i].which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    lua_pushinteger(L, (lua_Integer)limit.rlim_cur);
    lua_setfield(L, -2, limits[i].name);
  }
  return 1;
}
