/*
 * lua.c - for the specs of the binding: Lua states of their own, with an allocator that fails on command, one
 * after the other or each in a thread, and a look at the memory that the binding counts.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "lua/binding.h"
#include "testing/testing.h"

/* ---- an allocator that counts and fails ------------------------------------------------------------------------------- */

struct memory {
  size_t bytes;       /* in use */
  size_t allocations; /* asked for, growing ones only: shrinking never fails */
  size_t fail_at;     /* this allocation and all later ones fail; 0: none does */
};

static void *allocate(void *user, void *block, size_t old, size_t wanted) {
  struct memory *memory = user;
  if (!block) old = 0;
  if (wanted > old) {
    memory->allocations++;
    if (memory->fail_at && memory->allocations >= memory->fail_at) return NULL;
  }
  if (wanted == 0) {
    free(block);
    memory->bytes -= old;
    return NULL;
  }
  void *moved = realloc(block, wanted);
  if (moved) memory->bytes += wanted - old;
  return moved;
}

/* ---- a state that runs one chunk ---------------------------------------------------------------------------------------- */

struct run {
  const char *code, *path, *cpath, *argument; /* borrowed from the calling state */
  struct memory memory;
  bool ok;
  char message[512]; /* of the error */
  pthread_t thread;
};

static void set_package(lua_State *L, const char *field, const char *value) {
  lua_getglobal(L, "package");
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

static int run_code(lua_State *L) {
  struct run *run = lua_touserdata(L, 1);
  luaL_openlibs(L);
  set_package(L, "path", run->path);
  set_package(L, "cpath", run->cpath);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_luhip_core);
  lua_setfield(L, -2, "luhip.core");
  if (luaL_loadstring(L, run->code) != LUA_OK) return lua_error(L);
  if (run->argument)
    lua_pushstring(L, run->argument);
  else
    lua_pushnil(L);
  lua_call(L, 1, 0);
  return 0;
}

static void note_error(struct run *run, lua_State *L) {
  const char *text = luaL_tolstring(L, -1, NULL);
  strncpy(run->message, text, sizeof run->message - 1);
}

static void run_state(struct run *run) {
  size_t fail_at = run->memory.fail_at;
  run->memory.fail_at = 0;
  lua_State *L = lua_newstate(allocate, &run->memory);
  if (!L) return;
  run->memory.allocations = 0;
  run->memory.fail_at = fail_at;
  lua_pushcfunction(L, run_code);
  lua_pushlightuserdata(L, run);
  run->ok = lua_pcall(L, 1, 0, 0) == LUA_OK;
  run->memory.fail_at = 0;
  if (!run->ok) note_error(run, L);
  lua_close(L);
}

static const char *package_field(lua_State *L, const char *name) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

static void read_run(lua_State *L, struct run *run) {
  *run = (struct run){.code = luaL_checkstring(L, 1), .argument = luaL_optstring(L, 3, NULL)};
  run->path = package_field(L, "path");
  run->cpath = package_field(L, "cpath");
}

static void push_result(lua_State *L, const struct run *run) {
  lua_createtable(L, 0, 4);
  lua_pushboolean(L, run->ok);
  lua_setfield(L, -2, "ok");
  lua_pushstring(L, run->message);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, (lua_Integer)run->memory.allocations);
  lua_setfield(L, -2, "allocations");
  lua_pushinteger(L, (lua_Integer)run->memory.bytes);
  lua_setfield(L, -2, "bytes");
}

/* testing.state(code [, fail_at [, argument]]) -> { ok=, message=, allocations=, bytes= (left after the close) } */
static int testing_state(lua_State *L) {
  struct run run;
  lua_settop(L, 3);
  read_run(L, &run);
  run.memory.fail_at = (size_t)luaL_optinteger(L, 2, 0);
  run_state(&run);
  push_result(L, &run);
  return 1;
}

static void *run_thread(void *run) {
  run_state(run);
  return NULL;
}

/* testing.threads(code, n [, argument]) -> { result, ... }: n states at once, each in a thread of its own */
static int testing_threads(lua_State *L) {
  int n = (int)luaL_checkinteger(L, 2), started = 0;
  lua_settop(L, 3);
  luaL_checkstack(L, 2 * n + 10, NULL);
  struct run *runs = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *runs, 0);
  for (int i = 0; i < n; i++) read_run(L, &runs[i]);
  while (started < n && pthread_create(&runs[started].thread, NULL, run_thread, &runs[started]) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(runs[i].thread, NULL);
  lua_createtable(L, started, 0);
  for (int i = 0; i < started; i++) {
    push_result(L, &runs[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- memory that the binding counts ---------------------------------------------------------------------------------------- */

/* testing.charged() -> bytes of buffers and host arrays, over all states */
static int testing_charged(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lb_charged());
  return 1;
}

/* testing.soft_limit([bytes]) -> the limit of this state, as it was */
static int testing_soft_limit(lua_State *L) {
  struct lb_state *state = lb_state(L);
  lua_pushinteger(L, (lua_Integer)state->soft_limit);
  if (!lua_isnoneornil(L, 1)) state->soft_limit = (size_t)luaL_checkinteger(L, 1);
  return 1;
}

/* ---- descriptors ----------------------------------------------------------------------------------------------- */

/* testing.readable(fd, ms) -> whether the descriptor became readable in that time */
static int testing_readable(lua_State *L) {
  struct pollfd poller = {.fd = (int)luaL_checkinteger(L, 1), .events = POLLIN};
  lua_pushboolean(L, poll(&poller, 1, (int)luaL_checkinteger(L, 2)) == 1 && (poller.revents & POLLIN) != 0);
  return 1;
}

/* ---- scopes ------------------------------------------------------------------------------------------------------------- */

/* testing.current(device) -> id of the current stream or nil, whether this is a dry run */
static int testing_current(lua_State *L) {
  struct lb_scope scope = lb_scope(L, lb_state(L), lb_check_device(L, 1));
  if (scope.stream)
    lua_pushinteger(L, (lua_Integer)luhip_stream_id(scope.stream));
  else
    lua_pushnil(L);
  lua_pushboolean(L, scope.dry);
  return 2;
}

/* ---- objects of a host's --------------------------------------------------------------------------------------- */

/* testing.share(value) -> an object of its own for the same buffer or device; nil for anything else */
static int testing_share(lua_State *L) {
  luhip_buffer *buffer = luhip_lua_to_buffer(L, 1);
  if (buffer)
    luhip_lua_push_buffer(L, buffer);
  else
    luhip_lua_push_device(L, luhip_lua_to_device(L, 1));
  return 1;
}

/* new_thread(fn) -> a coroutine that coroutine.create has not seen */
static int testing_new_thread(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

void testing_open_lua(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"state", testing_state},           {"threads", testing_threads},       {"charged", testing_charged},
      {"current", testing_current},       {"share", testing_share},           {"readable", testing_readable},
      {"soft_limit", testing_soft_limit}, {"new_thread", testing_new_thread}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
