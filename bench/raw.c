/*
 * raw.c - the floor that luhip's own figures are ratios to: the same work by the driver's calls alone, in tight C loops.
 *
 * On an NVIDIA GPU the calls are libcuda's, looked up here by dlopen and declared here: nothing of the provider is
 * between. Elsewhere they are the provider's table, which on an AMD GPU is the driver's own functions, and on the CPU
 * device is the device. A loop uses a stream, buffers and events of its own in the context that luhip uses; the kernel
 * is one that luhip compiled.
 *
 *   local raw = package.loadlib(path of this core.so, "luaopen_luhip_core_raw")()
 *   raw.open(device) -> loops      device: an open luhip.device
 *   loops:launch(kernel, calls)    seconds for one of `calls`, the wait behind the last of them included; for all:
 *     launch, launch_wait, launch_events, launch_timed (kernel, calls)
 *     replay(kernel, nodes, calls)
 *     call(name, calls): event_record, event_create (and destroy), event_query, event_elapsed, stream_query,
 *       host_allocate (4 KiB, and release): the host's side of one call
 *     write, write_pinned, read, read_query, read_event, read_event_wait, allocate, allocate_async (bytes, calls)
 *
 * Built into a module beside the released one, of the same objects: what is measured is what users run.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>

#include "lua/binding.h"
#include "server/program.h"

/* ---- the driver ------------------------------------------------------------------------------------------------ */

typedef int code;
typedef void *handle;

/* libcuda's names and signatures, 11.8 to 13.x; the optional ones from 11.2 on. */
/* clang-format off */
#define RAW_CUDA(X) \
  X(launch, "cuLaunchKernel", (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **)) \
  X(copy_in, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, handle)) \
  X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, handle)) \
  X(allocate, "cuMemAlloc_v2", (uint64_t *, size_t)) \
  X(release, "cuMemFree_v2", (uint64_t)) \
  X(allocate_async, "cuMemAllocAsync", (uint64_t *, size_t, handle)) \
  X(release_async, "cuMemFreeAsync", (uint64_t, handle)) \
  X(host_allocate, "cuMemHostAlloc", (void **, size_t, unsigned)) \
  X(host_release, "cuMemFreeHost", (void *)) \
  X(stream_create, "cuStreamCreate", (handle *, unsigned)) \
  X(stream_destroy, "cuStreamDestroy_v2", (handle)) \
  X(stream_wait, "cuStreamSynchronize", (handle)) \
  X(stream_query, "cuStreamQuery", (handle)) \
  X(event_create, "cuEventCreate", (handle *, unsigned)) \
  X(event_destroy, "cuEventDestroy_v2", (handle)) \
  X(event_record, "cuEventRecord", (handle, handle)) \
  X(event_wait, "cuEventSynchronize", (handle)) \
  X(event_query, "cuEventQuery", (handle)) \
  X(event_elapsed, "cuEventElapsedTime", (float *, handle, handle)) \
  X(capture_begin, "cuStreamBeginCapture_v2", (handle, int)) \
  X(capture_end, "cuStreamEndCapture", (handle, handle *)) \
  X(graph_make, "cuGraphInstantiateWithFlags", (handle *, handle, unsigned long long)) \
  X(graph_launch, "cuGraphLaunch", (handle, handle)) \
  X(graph_destroy, "cuGraphDestroy", (handle)) \
  X(exec_destroy, "cuGraphExecDestroy", (handle))
/* clang-format on */

static struct raw {
#define X(field, name, parameters) code(*field) parameters;
  RAW_CUDA(X)
#undef X
} raw;

static int raw_of_cuda(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return 0;
  void *symbol;
#define X(field, name, parameters)                                                                                     \
  symbol = dlsym(library, name);                                                                                       \
  if (!symbol) return 0;                                                                                               \
  memcpy(&raw.field, &symbol, sizeof symbol);
  RAW_CUDA(X)
#undef X
  return 1;
}

/* The table, in libcuda's shape. */
static const struct hip_api *api;

static code t_launch(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, handle stream, void **params, void **extra) {
  return (code)api->hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
static code t_copy_in(uint64_t to, const void *from, size_t bytes, handle stream) {
  return (code)api->hipMemcpyAsync((void *)(uintptr_t)to, from, bytes, hip_MemcpyHostToDevice, stream);
}
static code t_copy_out(void *to, uint64_t from, size_t bytes, handle stream) {
  return (code)api->hipMemcpyAsync(to, (void *)(uintptr_t)from, bytes, hip_MemcpyDeviceToHost, stream);
}
static code t_allocate(uint64_t *out, size_t bytes) {
  void *made = NULL;
  code rc = (code)api->hipMalloc(&made, bytes);
  *out = (uint64_t)(uintptr_t)made;
  return rc;
}
static code t_release(uint64_t pointer) {
  return (code)api->hipFree((void *)(uintptr_t)pointer);
}
static code t_host_allocate(void **out, size_t bytes, unsigned flags) {
  return (code)api->hipHostMalloc(out, bytes, flags);
}
static code t_host_release(void *pointer) {
  return (code)api->hipHostFree(pointer);
}
static code t_stream_create(handle *out, unsigned flags) {
  return (code)api->hipStreamCreateWithFlags((hip_stream_t *)out, flags);
}
static code t_stream_destroy(handle stream) {
  return (code)api->hipStreamDestroy(stream);
}
static code t_stream_wait(handle stream) {
  return (code)api->hipStreamSynchronize(stream);
}
static code t_stream_query(handle stream) {
  return (code)api->hipStreamQuery(stream);
}
static code t_event_create(handle *out, unsigned flags) {
  return (code)api->hipEventCreateWithFlags((hip_event_t *)out, flags);
}
static code t_event_destroy(handle event) {
  return (code)api->hipEventDestroy(event);
}
static code t_event_record(handle event, handle stream) {
  return (code)api->hipEventRecord(event, stream);
}
static code t_event_wait(handle event) {
  return (code)api->hipEventSynchronize(event);
}
static code t_event_query(handle event) {
  return (code)api->hipEventQuery(event);
}
static code t_event_elapsed(float *ms, handle start, handle stop) {
  return (code)api->hipEventElapsedTime(ms, start, stop);
}
static code t_capture_begin(handle stream, int mode) {
  return (code)api->hipStreamBeginCapture(stream, (hip_stream_capture_mode_t)mode);
}
static code t_capture_end(handle stream, handle *graph) {
  return (code)api->hipStreamEndCapture(stream, (hip_graph_t *)graph);
}
static code t_graph_make(handle *exec, handle graph, unsigned long long flags) {
  (void)flags;
  return (code)api->hipGraphInstantiate((hip_graph_exec_t *)exec, graph, NULL, NULL, 0);
}
static code t_graph_launch(handle exec, handle stream) {
  return (code)api->hipGraphLaunch(exec, stream);
}
static code t_graph_destroy(handle graph) {
  return (code)api->hipGraphDestroy(graph);
}
static code t_exec_destroy(handle exec) {
  return (code)api->hipGraphExecDestroy(exec);
}

static void raw_of_table(const struct hip_api *table) {
  api = table;
  raw = (struct raw){.launch = t_launch,
                     .copy_in = t_copy_in,
                     .copy_out = t_copy_out,
                     .allocate = t_allocate,
                     .release = t_release,
                     .host_allocate = t_host_allocate,
                     .host_release = t_host_release,
                     .stream_create = t_stream_create,
                     .stream_destroy = t_stream_destroy,
                     .stream_wait = t_stream_wait,
                     .stream_query = t_stream_query,
                     .event_create = t_event_create,
                     .event_destroy = t_event_destroy,
                     .event_record = t_event_record,
                     .event_wait = t_event_wait,
                     .event_query = t_event_query,
                     .event_elapsed = t_event_elapsed,
                     .graph_launch = t_graph_launch,
                     .graph_destroy = t_graph_destroy,
                     .exec_destroy = t_exec_destroy};
  if (!table->hipGraphLaunch) return;
  raw.capture_begin = t_capture_begin;
  raw.capture_end = t_capture_end;
  raw.graph_make = t_graph_make;
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

#define LOOPS "luhip.raw"
enum { PINNED_BYTES = 1 << 20, N = 256, BLOCKING = 0, NO_TIMING = 2, NON_BLOCKING = 1, RELAXED = 2 };

struct loops {
  handle stream, start, stop, mark;
  uint64_t x, y;
  void *pinned, *pageable;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(lua_State *L, code rc, const char *what) {
  if (rc) luaL_error(L, "raw: %s: the driver's error %d", what, rc);
}

static struct loops *check(lua_State *L) {
  return luaL_checkudata(L, 1, LOOPS);
}

static hip_function_t check_kernel(lua_State *L, int idx) {
  struct lb_kernel *kernel = lb_check_kernel(L, idx);
  return kernel->kernel->function;
}

/* axpy's arguments, as luhip gets them. */
struct arguments {
  float a;
  uint64_t x, y;
  int n;
  void *list[4];
};

static void prepare(struct arguments *arguments, const struct loops *loops) {
  *arguments = (struct arguments){.a = 2, .x = loops->x, .y = loops->y, .n = N};
  void *list[] = {&arguments->a, &arguments->x, &arguments->y, &arguments->n};
  memcpy(arguments->list, list, sizeof list);
}

static inline code launch(const struct loops *loops, hip_function_t f, struct arguments *arguments) {
  return raw.launch(f, 1, 1, 1, N, 1, 1, 0, loops->stream, arguments->list, NULL);
}

/* Ends a loop that began at `start` and pushes the seconds of one turn. */
static int finish(lua_State *L, const struct loops *loops, double start, lua_Integer calls, code rc, const char *what) {
  must(L, rc, what);
  must(L, raw.stream_wait(loops->stream), "waiting");
  lua_pushnumber(L, (now() - start) / (double)calls);
  return 1;
}

/* One turn of a loop of launches: inlined into its loop, so that nothing is added to what is measured. */
typedef code (*turn_fn)(const struct loops *loops, hip_function_t f, struct arguments *arguments);

static inline __attribute__((always_inline)) int launch_loop(lua_State *L, turn_fn turn) {
  const struct loops *loops = check(L);
  hip_function_t f = check_kernel(L, 2);
  lua_Integer calls = luaL_checkinteger(L, 3);
  struct arguments arguments;
  prepare(&arguments, loops);
  code rc = 0;
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) rc = turn(loops, f, &arguments);
  return finish(L, loops, start, calls, rc, "launching");
}

static inline code launch_wait(const struct loops *loops, hip_function_t f, struct arguments *arguments) {
  code rc = launch(loops, f, arguments);
  return rc ? rc : raw.stream_wait(loops->stream);
}

static inline code launch_between(const struct loops *loops, hip_function_t f, struct arguments *arguments) {
  code rc = raw.event_record(loops->start, loops->stream);
  if (!rc) rc = launch(loops, f, arguments);
  return rc ? rc : raw.event_record(loops->stop, loops->stream);
}

static inline code launch_timed(const struct loops *loops, hip_function_t f, struct arguments *arguments) {
  float ms;
  code rc = launch_between(loops, f, arguments);
  if (!rc) rc = raw.event_wait(loops->stop);
  return rc ? rc : raw.event_elapsed(&ms, loops->start, loops->stop);
}

static int loop_launch(lua_State *L) {
  return launch_loop(L, launch);
}
static int loop_launch_wait(lua_State *L) {
  return launch_loop(L, launch_wait);
}
/* Between two events each, nothing read: one pair serves all. */
static int loop_launch_events(lua_State *L) {
  return launch_loop(L, launch_between);
}
/* Between two events each, waited for, and the time read back. */
static int loop_launch_timed(lua_State *L) {
  return launch_loop(L, launch_timed);
}

static handle capture(lua_State *L, const struct loops *loops, hip_function_t f, lua_Integer nodes) {
  struct arguments arguments;
  prepare(&arguments, loops);
  handle graph = NULL, exec = NULL;
  must(L, raw.capture_begin(loops->stream, RELAXED), "capturing");
  code rc = 0;
  for (lua_Integer i = 0; i < nodes && !rc; i++) rc = launch(loops, f, &arguments);
  must(L, raw.capture_end(loops->stream, &graph), "capturing");
  must(L, rc, "launching");
  must(L, raw.graph_make(&exec, graph, 0), "instantiating");
  raw.graph_destroy(graph);
  return exec;
}

static int loop_replay(lua_State *L) {
  const struct loops *loops = check(L);
  hip_function_t f = check_kernel(L, 2);
  lua_Integer nodes = luaL_checkinteger(L, 3), calls = luaL_checkinteger(L, 4);
  if (!raw.graph_make) return 0; /* no graphs here */
  handle exec = capture(L, loops, f, nodes);
  code rc = raw.graph_launch(exec, loops->stream); /* the first uploads it */
  if (!rc) rc = raw.stream_wait(loops->stream);
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) rc = raw.graph_launch(exec, loops->stream);
  int results = finish(L, loops, start, calls, rc, "replaying");
  raw.exec_destroy(exec);
  return results;
}

static size_t check_bytes(lua_State *L) {
  lua_Integer bytes = luaL_checkinteger(L, 2);
  luaL_argcheck(L, bytes > 0 && bytes <= PINNED_BYTES, 2, "1 to 1 MiB");
  return (size_t)bytes;
}

static int write_loop(lua_State *L, const struct loops *loops, const void *from) {
  size_t bytes = check_bytes(L);
  lua_Integer calls = luaL_checkinteger(L, 3);
  code rc = 0;
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) rc = raw.copy_in(loops->x, from, bytes, loops->stream);
  return finish(L, loops, start, calls, rc, "writing");
}

/* From pageable memory, which may be changed when the call is back, as after luhip's write. */
static int loop_write(lua_State *L) {
  const struct loops *loops = check(L);
  return write_loop(L, loops, loops->pageable);
}
static int loop_write_pinned(lua_State *L) {
  const struct loops *loops = check(L);
  return write_loop(L, loops, loops->pinned);
}

/* Into pinned memory, each waited for: by the stream, by asking the stream, by asking an event, by an event. */
enum wait { BY_STREAM, BY_STREAM_QUERY, BY_EVENT_QUERY, BY_EVENT };

static code wait_by(const struct loops *loops, enum wait how) {
  code rc;
  switch (how) {
  case BY_STREAM:
    return raw.stream_wait(loops->stream);
  case BY_STREAM_QUERY:
    while ((rc = raw.stream_query(loops->stream)) == hip_ErrorNotReady) {
    }
    return rc;
  case BY_EVENT_QUERY:
    rc = raw.event_record(loops->mark, loops->stream);
    if (rc) return rc;
    while ((rc = raw.event_query(loops->mark)) == hip_ErrorNotReady) {
    }
    return rc;
  default:
    rc = raw.event_record(loops->mark, loops->stream);
    return rc ? rc : raw.event_wait(loops->mark);
  }
}

static int read_loop(lua_State *L, enum wait how) {
  const struct loops *loops = check(L);
  size_t bytes = check_bytes(L);
  lua_Integer calls = luaL_checkinteger(L, 3);
  code rc = 0;
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) {
    rc = raw.copy_out(loops->pinned, loops->x, bytes, loops->stream);
    if (!rc) rc = wait_by(loops, how);
  }
  return finish(L, loops, start, calls, rc, "reading");
}

static int loop_read(lua_State *L) {
  return read_loop(L, BY_STREAM);
}
static int loop_read_query(lua_State *L) {
  return read_loop(L, BY_STREAM_QUERY);
}
static int loop_read_event(lua_State *L) {
  return read_loop(L, BY_EVENT_QUERY);
}
static int loop_read_event_wait(lua_State *L) {
  return read_loop(L, BY_EVENT);
}

static int loop_allocate(lua_State *L) {
  const struct loops *loops = check(L);
  size_t bytes = (size_t)luaL_checkinteger(L, 2);
  lua_Integer calls = luaL_checkinteger(L, 3);
  code rc = 0;
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) {
    uint64_t made;
    rc = raw.allocate(&made, bytes);
    if (!rc) rc = raw.release(made);
  }
  return finish(L, loops, start, calls, rc, "allocating");
}

static int loop_allocate_async(lua_State *L) {
  const struct loops *loops = check(L);
  size_t bytes = (size_t)luaL_checkinteger(L, 2);
  lua_Integer calls = luaL_checkinteger(L, 3);
  if (!raw.allocate_async) return 0;
  code rc = 0;
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) {
    uint64_t made;
    rc = raw.allocate_async(&made, bytes, loops->stream);
    if (!rc) rc = raw.release_async(made, loops->stream);
  }
  return finish(L, loops, start, calls, rc, "allocating");
}

/* One call of the driver's, by its number in the list of the Lua function. */
static code one_call(const struct loops *loops, int which) {
  handle event;
  void *host;
  float ms;
  code rc;
  switch (which) {
  case 0:
    return raw.event_record(loops->mark, loops->stream);
  case 1:
    rc = raw.event_create(&event, BLOCKING);
    return rc ? rc : raw.event_destroy(event);
  case 2:
    return raw.event_query(loops->start);
  case 3:
    return raw.event_elapsed(&ms, loops->start, loops->stop);
  case 4:
    return raw.stream_query(loops->stream);
  default:
    rc = raw.host_allocate(&host, 4096, 0);
    return rc ? rc : raw.host_release(host);
  }
}

static int loop_call(lua_State *L) {
  static const char *const names[] = {"event_record", "event_create",  "event_query", "event_elapsed",
                                      "stream_query", "host_allocate", NULL};
  const struct loops *loops = check(L);
  int which = luaL_checkoption(L, 2, NULL, names);
  lua_Integer calls = luaL_checkinteger(L, 3);
  code rc = raw.event_record(loops->start, loops->stream);
  if (!rc) rc = raw.event_record(loops->stop, loops->stream);
  if (!rc) rc = raw.stream_wait(loops->stream);
  double start = now();
  for (lua_Integer i = 0; i < calls && !rc; i++) rc = one_call(loops, which);
  return finish(L, loops, start, calls, rc, names[which]);
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* raw.open(device): the device's context is this thread's afterwards, as it is after any call of luhip on the device. */
static int raw_open(lua_State *L) {
  const luhip_device *device = lb_check_device(L, 1)->device;
  if (!strcmp(device->provider->name, "cuda")) {
    if (!raw_of_cuda()) return luaL_error(L, "raw: libcuda.so.1 lacks a function that is used here");
  } else
    raw_of_table(device->api);
  device->api->hipSetDevice(device->ordinal);
  struct loops *loops = lua_newuserdatauv(L, sizeof *loops, 1);
  *loops = (struct loops){0};
  luaL_setmetatable(L, LOOPS);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  must(L, raw.stream_create(&loops->stream, NON_BLOCKING), "a stream");
  must(L, raw.event_create(&loops->start, BLOCKING), "an event");
  must(L, raw.event_create(&loops->stop, BLOCKING), "an event");
  must(L, raw.event_create(&loops->mark, NO_TIMING), "an event");
  must(L, raw.allocate(&loops->x, PINNED_BYTES), "memory");
  must(L, raw.allocate(&loops->y, PINNED_BYTES), "memory");
  must(L, raw.host_allocate(&loops->pinned, PINNED_BYTES, 0), "pinned memory");
  memset(loops->pinned, 0, PINNED_BYTES);
  loops->pageable = calloc(1, PINNED_BYTES);
  if (!loops->pageable) return luaL_error(L, "raw: no memory");
  return 1;
}

/* loops:close(), before the device's. */
static int loops_close(lua_State *L) {
  struct loops *loops = check(L);
  if (!loops->stream) return 0;
  raw.stream_wait(loops->stream);
  raw.event_destroy(loops->start);
  raw.event_destroy(loops->stop);
  raw.event_destroy(loops->mark);
  raw.stream_destroy(loops->stream);
  raw.release(loops->x);
  raw.release(loops->y);
  raw.host_release(loops->pinned);
  free(loops->pageable);
  *loops = (struct loops){0};
  return 0;
}

LUHIP_API int luaopen_luhip_core_raw(lua_State *L);
int luaopen_luhip_core_raw(lua_State *L) {
  static const luaL_Reg methods[] = {{"launch", loop_launch},
                                     {"launch_wait", loop_launch_wait},
                                     {"launch_events", loop_launch_events},
                                     {"launch_timed", loop_launch_timed},
                                     {"replay", loop_replay},
                                     {"write", loop_write},
                                     {"write_pinned", loop_write_pinned},
                                     {"read", loop_read},
                                     {"read_query", loop_read_query},
                                     {"read_event", loop_read_event},
                                     {"read_event_wait", loop_read_event_wait},
                                     {"allocate", loop_allocate},
                                     {"allocate_async", loop_allocate_async},
                                     {"call", loop_call},
                                     {"close", loops_close},
                                     {NULL, NULL}};
  luaL_newmetatable(L, LOOPS);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushcfunction(L, raw_open);
  lua_setfield(L, -2, "open");
  return 1;
}
