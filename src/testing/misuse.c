/*
 * misuse.c - calls of the driver that its contract forbids, so that specs see validate.c find them.
 *
 *   testing.driver_misuse(name)   makes them on the CPU device's table, as the server would; what validate.c says of it
 *                                 is in testing.driver_violations
 *   testing.driver_misuses()      the names
 */
#include "testing/driver.h"

#include "cpu/provider.h"
#include "testing/testing.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

/* What every misuse starts from, and is rid of again. */
struct scene {
  const struct hip_api *api;
  hip_stream_t stream;
  hip_event_t event, silent; /* silent: without timing */
  char *memory, *pinned;     /* of 256 bytes each */
};

static void copy_past_end(struct scene *s) {
  s->api->hipMemcpyAsync(s->memory + 200, s->pinned, 100, hip_MemcpyHostToDevice, s->stream);
}

static void copy_to_freed(struct scene *s) {
  char *memory = s->memory;
  s->api->hipFree(memory);
  s->memory = NULL;
  s->api->hipMemcpyAsync(memory, s->pinned, 16, hip_MemcpyHostToDevice, s->stream);
}

static void copy_pageable(struct scene *s) {
  char plain[16] = {0};
  s->api->hipMemcpyAsync(s->memory, plain, sizeof plain, hip_MemcpyHostToDevice, s->stream);
  s->api->hipStreamSynchronize(s->stream);
}

static void copy_wrong_way(struct scene *s) {
  s->api->hipMemcpyAsync(s->memory, s->memory + 128, 16, hip_MemcpyHostToDevice, s->stream);
}

static void copy_narrow_pitch(struct scene *s) {
  s->api->hipMemcpy2DAsync(s->memory, 8, s->pinned, 16, 16, 2, hip_MemcpyHostToDevice, s->stream);
}

static void fill_unaligned(struct scene *s) {
  s->api->hipMemsetD32Async(s->memory + 2, 0, 4, s->stream);
}

static void free_twice(struct scene *s) {
  s->api->hipFree(s->memory);
  s->api->hipFree(s->memory);
  s->memory = NULL;
}

static void free_inside(struct scene *s) {
  s->api->hipFree(s->memory + 16);
}

static void free_pinned_in_use(struct scene *s) {
  s->api->hipMemcpyAsync(s->memory, s->pinned, 16, hip_MemcpyHostToDevice, s->stream);
  s->api->hipHostFree(s->pinned);
  s->pinned = NULL;
}

static void query_unrecorded(struct scene *s) {
  s->api->hipEventQuery(s->event);
}

static void wait_unrecorded(struct scene *s) {
  s->api->hipStreamWaitEvent(s->stream, s->event, 0);
}

static void elapsed_without_timing(struct scene *s) {
  float ms;
  s->api->hipEventRecord(s->event, s->stream);
  s->api->hipEventRecord(s->silent, s->stream);
  s->api->hipStreamSynchronize(s->stream);
  s->api->hipEventElapsedTime(&ms, s->event, s->silent);
}

static void event_destroyed(struct scene *s) {
  hip_event_t event = s->event;
  s->api->hipEventDestroy(event);
  s->event = NULL;
  s->api->hipEventRecord(event, s->stream);
}

static void with_capture(struct scene *s, void (*call)(struct scene *s)) {
  hip_graph_t graph;
  s->api->hipStreamBeginCapture(s->stream, hip_StreamCaptureModeRelaxed);
  call(s);
  if (s->api->hipStreamEndCapture(s->stream, &graph) == hip_Success) s->api->hipGraphDestroy(graph);
}

static void synchronize(struct scene *s) {
  s->api->hipStreamSynchronize(s->stream);
}

static void synchronize_capturing(struct scene *s) {
  with_capture(s, synchronize);
}

static void record(struct scene *s) {
  s->api->hipEventRecord(s->event, s->stream);
}

static void query_captured(struct scene *s) {
  with_capture(s, record);
  s->api->hipEventQuery(s->event);
}

static void wait_outside_event(struct scene *s) {
  s->api->hipEventRecord(s->event, s->stream);
  with_capture(s, wait_unrecorded);
}

static void end_without_begin(struct scene *s) {
  hip_graph_t graph;
  s->api->hipStreamEndCapture(s->stream, &graph);
}

static void copy_sixteen(struct scene *s) {
  s->api->hipMemcpyAsync(s->memory, s->pinned, 16, hip_MemcpyHostToDevice, s->stream);
}

static void launch_of_freed(struct scene *s) {
  hip_graph_t graph;
  hip_graph_exec_t exec;
  s->api->hipStreamBeginCapture(s->stream, hip_StreamCaptureModeRelaxed);
  copy_sixteen(s);
  s->api->hipStreamEndCapture(s->stream, &graph);
  s->api->hipGraphInstantiate(&exec, graph, NULL, NULL, 0);
  s->api->hipGraphDestroy(graph);
  char *pinned = s->pinned;
  s->pinned = NULL;
  s->api->hipHostMalloc((void **)&s->pinned, 256, hip_HostMallocDefault); /* so that the first stays unused */
  s->api->hipHostFree(pinned);
  s->api->hipGraphLaunch(exec, s->stream);
  s->api->hipStreamSynchronize(s->stream);
  s->api->hipGraphExecDestroy(exec);
}

static void destroy_stream_twice(struct scene *s) {
  hip_stream_t stream = s->stream;
  s->api->hipStreamDestroy(stream);
  s->stream = NULL;
  s->api->hipStreamQuery(stream);
}

static void unload_nothing(struct scene *s) {
  s->api->hipModuleUnload((hip_module_t)s);
}

static void launch_nothing(struct scene *s) {
  void *params[1] = {NULL};
  s->api->hipModuleLaunchKernel((hip_function_t)s, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
}

static void call_back(hip_stream_t stream, hip_error_t status, void *user) {
  const struct hip_api *api = user;
  int count;
  (void)stream;
  (void)status;
  api->hipGetDeviceCount(&count);
}

static void call_from_callback(struct scene *s) {
  s->api->hipStreamAddCallback(s->stream, call_back, (void *)s->api, 0);
  s->api->hipStreamSynchronize(s->stream);
}

#define MISUSES(X)                                                                                                     \
  X(copy_past_end)                                                                                                     \
  X(copy_to_freed)                                                                                                     \
  X(copy_pageable)                                                                                                     \
  X(copy_wrong_way)                                                                                                    \
  X(copy_narrow_pitch)                                                                                                 \
  X(fill_unaligned)                                                                                                    \
  X(free_twice)                                                                                                        \
  X(free_inside)                                                                                                       \
  X(free_pinned_in_use)                                                                                                \
  X(query_unrecorded)                                                                                                  \
  X(wait_unrecorded)                                                                                                   \
  X(elapsed_without_timing)                                                                                            \
  X(event_destroyed)                                                                                                   \
  X(synchronize_capturing)                                                                                             \
  X(query_captured)                                                                                                    \
  X(wait_outside_event)                                                                                                \
  X(end_without_begin)                                                                                                 \
  X(launch_of_freed)                                                                                                   \
  X(destroy_stream_twice)                                                                                              \
  X(unload_nothing)                                                                                                    \
  X(launch_nothing)                                                                                                    \
  X(call_from_callback)

static const struct misuse {
  const char *name;
  void (*call)(struct scene *scene);
} misuses[] = {
#define X(name) {#name, name},
    MISUSES(X)
#undef X
};

static void with_scene(const struct hip_api *api, void (*call)(struct scene *scene)) {
  struct scene s = {.api = api};
  api->hipSetDevice(0);
  api->hipStreamCreateWithFlags(&s.stream, hip_StreamNonBlocking);
  api->hipEventCreateWithFlags(&s.event, hip_EventDefault);
  api->hipEventCreateWithFlags(&s.silent, hip_EventDisableTiming);
  api->hipMalloc((void **)&s.memory, 256);
  api->hipHostMalloc((void **)&s.pinned, 256, hip_HostMallocDefault);
  call(&s);
  if (s.stream) api->hipStreamSynchronize(s.stream);
  if (s.event) api->hipEventDestroy(s.event);
  if (s.silent) api->hipEventDestroy(s.silent);
  if (s.memory) api->hipFree(s.memory);
  if (s.pinned) api->hipHostFree(s.pinned);
  if (s.stream) api->hipStreamDestroy(s.stream);
}

static int driver_misuse(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const struct hip_api *api = hip_load(&cpu_provider, NULL, 0);
  if (!api) return luaL_error(L, "no CPU device");
  for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
    if (strcmp(misuses[i].name, name) != 0) continue;
    validate_quiet(true);
    with_scene(api, misuses[i].call);
    validate_quiet(false);
    return 0;
  }
  return luaL_error(L, "no misuse '%s'", name);
}

static int driver_misuses(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
    lua_pushstring(L, misuses[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void testing_open_misuse(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"driver_misuse", driver_misuse}, {"driver_misuses", driver_misuses}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
