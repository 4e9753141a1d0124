/*
 * host.c - an application that owns a device and lets Lua scripts work on its buffers.
 *
 * Two threads, each with a Lua state of its own whose memory is limited, run the script on halves of one buffer that
 * this program made. Each state gives a buffer back, which outlives it. Nothing is closed in any particular order.
 *
 *   cc host.c -o host $(pkg-config --cflags --libs luhip lua5.4) -pthread && ./host work.lua
 */
#include <luhip.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 16, LIMIT = 8 << 20 };

struct worker {
  const char *script;
  luhip_buffer *half;   /* in: this worker's part of the buffer */
  luhip_buffer *result; /* out: the script's, retained */
  size_t used;          /* bytes of Lua's memory */
  pthread_t thread;
  int failed;
};

/* Lua's memory, at most LIMIT bytes of it. A script that wants more gets "not enough memory", and luhip copes. */
static void *allocate(void *user, void *block, size_t old, size_t wanted) {
  struct worker *worker = user;
  if (!block) old = 0;
  if (wanted > old && worker->used + wanted - old > LIMIT) return NULL;
  void *moved = NULL;
  if (!wanted) {
    free(block);
  } else {
    moved = realloc(block, wanted);
    if (!moved) return NULL;
  }
  worker->used += wanted - old;
  return moved;
}

/* In protected mode: whatever of luhip or Lua raises an error is met by lua_pcall below. */
static int run_script(lua_State *L) {
  struct worker *worker = lua_touserdata(L, 1);
  luaL_openlibs(L);
  luaL_requiref(L, "luhip", luaopen_luhip, 0); /* this program's copy of luhip, which knows its buffers */
  if (luaL_loadfile(L, worker->script) != LUA_OK) return lua_error(L);
  luhip_lua_push_buffer(L, worker->half);
  lua_call(L, 1, 1);
  luhip_buffer *result = luhip_lua_to_buffer(L, -1);
  if (!result) return luaL_error(L, "the script must return a buffer");
  worker->result = luhip_buffer_retain(result);
  return 0;
}

static void *run_worker(void *argument) {
  struct worker *worker = argument;
  lua_State *L = lua_newstate(allocate, worker);
  worker->failed = 1;
  if (!L) return NULL;
  lua_pushcfunction(L, run_script);
  lua_pushlightuserdata(L, worker);
  worker->failed = lua_pcall(L, 1, 0, 0) != LUA_OK;
  if (worker->failed) fprintf(stderr, "%s: %s\n", worker->script, luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return NULL;
}

/* Ends the program with the error's text: what an application does here is its own affair. */
static void check(luhip_status status, luhip_error *error) {
  if (status == LUHIP_OK) return;
  fprintf(stderr, "%s: %s\n", luhip_error_kind_name(status), luhip_error_full(error));
  exit(1);
}

static luhip_buffer *half_of(luhip_buffer *buffer, size_t which) {
  luhip_error *error = NULL;
  luhip_buffer *half = NULL;
  luhip_layout layout = *luhip_buffer_layout(buffer);
  layout.shape[0] /= 2;
  layout.offset = which * layout.bytes / 2;
  check(luhip_buffer_view(buffer, &layout, &half, &error), error);
  return half;
}

static double sum_of(luhip_device *device, luhip_buffer *buffer) {
  luhip_error *error = NULL;
  luhip_future *future = NULL;
  check(luhip_read(device, NULL, &buffer, 1, &future, &error), error);
  check(luhip_future_wait(future, NULL, &error), error);
  const float *values = luhip_array_data(luhip_future_array(future, 0));
  double sum = 0;
  for (size_t i = 0; i < luhip_buffer_layout(buffer)->count; i++) sum += values[i];
  luhip_future_release(future);
  return sum;
}

int main(int argc, char **argv) {
  luhip_error *error = NULL;
  luhip_device *device = NULL;
  luhip_buffer *buffer = NULL;
  struct worker workers[2] = {{0}};
  const size_t count = COUNT;
  const float one = 1;
  check(luhip_open(NULL, NULL, &device, &error), error);
  check(luhip_buffer_new(device, LUHIP_F32, 1, &count, &buffer, &error), error);
  check(luhip_fill(buffer, NULL, &one, &error), error);
  for (size_t i = 0; i < 2; i++) {
    workers[i].script = argc > 1 ? argv[1] : "work.lua";
    workers[i].half = half_of(buffer, i);
    if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0) return 1;
  }
  for (size_t i = 0; i < 2; i++) pthread_join(workers[i].thread, NULL);
  if (workers[0].failed || workers[1].failed) return 1;
  printf("the scripts made %g of %d\n", sum_of(device, buffer), COUNT);
  for (size_t i = 0; i < 2; i++) {
    printf("script %zu returned a sum of %g, and left %zu bytes\n", i + 1, sum_of(device, workers[i].result),
           workers[i].used);
    luhip_buffer_release(workers[i].result);
    luhip_buffer_release(workers[i].half);
  }
  luhip_buffer_release(buffer);
  luhip_device_close(device);
  return 0;
}
