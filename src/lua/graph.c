/*
 * graph.c - capture and replay.
 *
 * dev:capture(fn) runs fn once for real on the captured stream, so that kernels are compiled and memory is there,
 * and once more while the stream records. Between the two garbage is collected: what the first run has dropped is
 * memory for the second. Whatever ends fn early - an error, which is not caught, or a coroutine that is closed - ends
 * the capture too: a guard is to be closed in the caller's frame.
 */
#include <stdlib.h>

#include "lua/binding.h"

/* ---- the steps ------------------------------------------------------------------------------------------------------------ */

typedef luhip_status (*step)(luhip_device *device, luhip_stream *stream, luhip_error **error);

static int take_step(lua_State *L, step function) {
  const struct lb_stream *stream = lb_check_stream(L, 1);
  luhip_error *error = NULL;
  luhip_status status = function(lb_owner(L, stream->owner), stream->stream, &error);
  return status == LUHIP_OK ? 0 : lb_fail(L, status, error);
}

static int stream_prepare_capture(lua_State *L) {
  lb_check_stream(L, 1);
  lb_no_more(L, 1);
  return take_step(L, luhip_stream_prepare_capture);
}

static int stream_begin_capture(lua_State *L) {
  lb_check_stream(L, 1);
  lb_no_more(L, 1);
  lua_gc(L, LUA_GCCOLLECT);
  return take_step(L, luhip_stream_begin_capture);
}

static int stream_cancel_capture(lua_State *L) {
  lb_check_stream(L, 1);
  lb_no_more(L, 1);
  return take_step(L, luhip_stream_cancel_capture);
}

/* Pushes an empty graph of the device at idx. */
static struct lb_graph *new_graph(lua_State *L, int idx, struct lb_device *owner) {
  struct lb_graph *graph = lb_new(L, LB_GRAPH, sizeof *graph, 1);
  graph->owner = owner;
  lua_pushvalue(L, idx);
  lua_setiuservalue(L, -2, 1);
  return graph;
}

/* s:end_capture() -> graph */
static int stream_end_capture(lua_State *L) {
  const struct lb_stream *stream = lb_check_stream(L, 1);
  lb_no_more(L, 1);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  struct lb_graph *graph = new_graph(L, 2, stream->owner);
  luhip_error *error = NULL;
  luhip_device *device = lb_owner(L, lb_check_stream(L, 1)->owner);
  luhip_status status = luhip_stream_end_capture(device, stream->stream, &graph->graph, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

/* s:capture_state() -> "none", "prepared" or "recording" */
static int stream_capture_state(lua_State *L) {
  static const char *const names[] = {"none", "prepared", "recording"};
  const struct lb_stream *stream = lb_check_stream(L, 1);
  luhip_capture_state state;
  luhip_error *error = NULL;
  luhip_status status = luhip_stream_capture_state(lb_owner(L, stream->owner), stream->stream, &state, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushstring(L, names[state]);
  return 1;
}

/* ---- dev:capture ------------------------------------------------------------------------------------------------------------- */

/* Ends the capture of its stream when it is closed, unless that was done. */
struct guard {
  luhip_stream *stream; /* own reference; NULL: the default stream */
  struct lb_device *owner;
  bool open;
};

static int guard_close(lua_State *L) {
  struct guard *guard = lb_check(L, 1, LB_CAPTURE);
  luhip_stream *stream = guard->stream;
  bool open = guard->open;
  guard->stream = NULL;
  guard->open = false;
  if (open && guard->owner->device) luhip_stream_cancel_capture(guard->owner->device, stream, NULL);
  luhip_stream_release(stream);
  return 0;
}

enum { DEVICE = 1, FUNCTION, OPTIONS, STREAM, GUARD };

static bool read_options(lua_State *L) {
  static const char *const names[] = {"stream", "warmup", NULL};
  bool warmup = true;
  if (lua_isnil(L, OPTIONS)) return warmup;
  if (!lua_istable(L, OPTIONS))
    lb_argument(L, OPTIONS, LUHIP_E_TYPE, "a table { stream =, warmup = } expected, got %s", lb_type_name(L, OPTIONS));
  for (lua_pushnil(L); lua_next(L, OPTIONS); lua_pop(L, 1)) {
    if (lb_check_key(L, -2, names, "capture") == 0) {
      if (!lb_test(L, -1, LB_STREAM))
        lb_raise(L, LUHIP_E_TYPE, "capture: stream: luhip.stream expected, got %s", lb_type_name(L, -1));
      lua_pushvalue(L, -1);
      lua_replace(L, STREAM);
    } else {
      if (!lua_isboolean(L, -1))
        lb_raise(L, LUHIP_E_TYPE, "capture: warmup must be a boolean, got %s", lb_type_name(L, -1));
      warmup = lua_toboolean(L, -1);
    }
  }
  return warmup;
}

/* fn, with the captured stream as the current one. */
static void call_function(lua_State *L, lua_KContext context, lua_KFunction next) {
  int nargs = 0;
  if (lua_isnil(L, STREAM)) {
    lua_pushvalue(L, FUNCTION);
  } else {
    lua_pushcfunction(L, lb_device_with);
    lua_pushvalue(L, DEVICE);
    lua_pushvalue(L, STREAM);
    lua_pushvalue(L, FUNCTION);
    nargs = 3;
  }
  lua_callk(L, nargs, 0, context, next);
}

static struct guard *check_guard(lua_State *L) {
  return lb_check(L, GUARD, LB_CAPTURE);
}

static void guarded_step(lua_State *L, step function) {
  luhip_error *error = NULL;
  const struct guard *guard = check_guard(L);
  luhip_status status = function(lb_owner(L, guard->owner), guard->stream, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
}

static int after_recording(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  lua_settop(L, GUARD);
  struct guard *guard = check_guard(L);
  struct lb_graph *graph = new_graph(L, DEVICE, guard->owner);
  luhip_error *error = NULL;
  luhip_device *device = lb_owner(L, guard->owner);
  luhip_status ended = luhip_stream_end_capture(device, guard->stream, &graph->graph, &error);
  guard->open = ended != LUHIP_OK; /* over as a rule; not where the device could not be entered */
  return ended == LUHIP_OK ? lb_logged(L, 1) : lb_fail(L, ended, error);
}

static int after_warmup(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  lua_settop(L, GUARD);
  lua_gc(L, LUA_GCCOLLECT);
  guarded_step(L, luhip_stream_begin_capture);
  call_function(L, 0, after_recording);
  return after_recording(L, LUA_OK, 0);
}

/* dev:capture(fn [, { stream =, warmup = }]) -> graph */
static int device_capture(lua_State *L) {
  struct lb_device *device = lb_check_device(L, DEVICE);
  lb_no_more(L, 3);
  lb_check_function(L, FUNCTION, "fn");
  lua_settop(L, OPTIONS);
  lua_pushnil(L);
  bool warmup = read_options(L);
  struct guard *guard = lb_new(L, LB_CAPTURE, sizeof *guard, 1);
  lua_pushvalue(L, DEVICE);
  lua_setiuservalue(L, -2, 1);
  guard->owner = device;
  if (lua_isnil(L, STREAM)) {
    guard->stream = luhip_stream_retain(lb_scope(L, lb_state(L), device).stream);
  } else {
    guard->stream = luhip_stream_retain(lb_check_stream(L, STREAM)->stream);
  }
  lua_toclose(L, GUARD);
  guarded_step(L, luhip_stream_prepare_capture);
  check_guard(L)->open = true;
  if (!warmup) return after_warmup(L, LUA_OK, 0);
  call_function(L, 0, after_warmup);
  return after_warmup(L, LUA_OK, 0);
}

/* ---- graphs -------------------------------------------------------------------------------------------------------------------- */

struct lb_graph *lb_check_graph(lua_State *L, int idx) {
  struct lb_graph *graph = lb_check(L, idx, LB_GRAPH);
  lb_owner(L, graph->owner);
  if (!graph->graph || luhip_graph_is_freed(graph->graph)) lb_argument(L, idx, LUHIP_E_FREED, "the graph was freed");
  return graph;
}

/* g:replay([stream]) */
static int graph_replay(lua_State *L) {
  const struct lb_graph *graph = lb_check_graph(L, 1);
  lb_no_more(L, 2);
  const struct lb_state *state = lb_state(L);
  struct lb_scope scope = lb_scope(L, state, graph->owner);
  if (!lua_isnoneornil(L, 2)) scope.stream = lb_check_stream(L, 2)->stream;
  if (scope.dry) return 0;
  luhip_error *error = NULL;
  struct lb_tries tries = {0};
  luhip_status status;
  do {
    lb_try(L, state, &tries);
    status = luhip_graph_replay(graph->graph, scope.stream, &error);
  } while (lb_retry(L, graph->owner, status, &error, &tries) && lb_check_graph(L, 1));
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

static luhip_status wait_free(void *object, const luhip_wait *wait, luhip_error **error) {
  struct lb_graph *graph = object;
  return graph->graph ? luhip_graph_free(graph->graph, wait, error) : LUHIP_OK;
}

/* g:free(): waits for its replays */
static int graph_free(lua_State *L) {
  lb_wait(L, wait_free, lb_check(L, 1, LB_GRAPH));
  return 0;
}

static int graph_gc(lua_State *L) {
  struct lb_graph *graph = lb_check(L, 1, LB_GRAPH);
  luhip_graph *native = graph->graph;
  graph->graph = NULL;
  luhip_graph_release(native);
  return 0;
}

/* ---- what it holds ---------------------------------------------------------------------------------------------------------------- */

static size_t count_nodes(lua_State *L, int idx) {
  size_t count = 0;
  luhip_error *error = NULL;
  luhip_status status = luhip_graph_nodes(lb_check_graph(L, idx)->graph, &count, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  return count;
}

/* An argument as it was given: a number, boolean, null, "f32[256]" for a buffer, bytes for a struct. */
static void push_argument(lua_State *L, const luhip_node_arg *arg) {
  if (arg->is_buffer)
    lb_push_shape(L, &arg->layout);
  else if (arg->is_null)
    lua_pushlightuserdata(L, NULL);
  else if (arg->has_dtype)
    lb_push_element(L, arg->dtype, arg->bytes);
  else
    lua_pushlstring(L, (const char *)arg->bytes, arg->size < sizeof arg->bytes ? arg->size : sizeof arg->bytes);
}

static void push_arguments(lua_State *L, size_t index, size_t nargs) {
  lua_createtable(L, (int)nargs, 0);
  for (size_t i = 0; i < nargs; i++) {
    luhip_node_arg arg;
    luhip_error *error = NULL;
    luhip_status status = luhip_graph_node_arg(lb_check_graph(L, 1)->graph, index, i, &arg, &error);
    if (status != LUHIP_OK) lb_fail(L, status, error);
    push_argument(L, &arg);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void set_triple(lua_State *L, const char *name, const uint32_t values[3]) {
  const size_t sizes[3] = {values[0], values[1], values[2]};
  lb_push_sizes(L, sizes, 3);
  lua_setfield(L, -2, name);
}

/* The kernel goes into an object of its own at once, so that nothing is lost when Lua raises. */
static void push_node(lua_State *L, size_t index) {
  static const char *const kinds[] = {[LUHIP_NODE_KERNEL] = "kernel",
                                      [LUHIP_NODE_WRITE] = "write",
                                      [LUHIP_NODE_FILL] = "fill",
                                      [LUHIP_NODE_COPY] = "copy"};
  lua_createtable(L, 0, 8);
  struct lb_kernel *kernel = lb_new(L, LB_KERNEL, sizeof *kernel, 3);
  luhip_node node;
  luhip_error *error = NULL;
  luhip_status status = luhip_graph_node(lb_check_graph(L, 1)->graph, index, &node, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  kernel->kernel = node.kernel;
  lua_insert(L, -2);
  lua_pushstring(L, kinds[node.kind]);
  lua_setfield(L, -2, "kind");
  if (node.kind == LUHIP_NODE_KERNEL) {
    lua_pushstring(L, luhip_kernel_name(node.kernel));
    lua_setfield(L, -2, "kernel");
    lua_pushinteger(L, (lua_Integer)node.launch + 1);
    lua_setfield(L, -2, "launch");
    set_triple(L, "grid", node.grid);
    set_triple(L, "block", node.block);
    lua_pushinteger(L, node.shared);
    lua_setfield(L, -2, "shared");
    push_arguments(L, index, node.nargs);
    lua_setfield(L, -2, "args");
  } else {
    lua_pushinteger(L, (lua_Integer)node.bytes);
    lua_setfield(L, -2, "bytes");
  }
  lua_remove(L, -2);
}

/* g:nodes() -> { { kind =, ... }, ... } in the order of recording */
static int graph_nodes(lua_State *L) {
  lb_check_graph(L, 1);
  lb_no_more(L, 1);
  size_t n = count_nodes(L, 1);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_node(L, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int graph_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)count_nodes(L, 1));
  return 1;
}

static int free_text(lua_State *L) {
  free(*(char **)lua_touserdata(L, 1));
  *(char **)lua_touserdata(L, 1) = NULL;
  return 0;
}

/* g:dot() -> the graph in Graphviz's language */
static int graph_dot(lua_State *L) {
  lb_check_graph(L, 1);
  lb_no_more(L, 1);
  char **text = lua_newuserdatauv(L, sizeof *text, 0);
  *text = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_text);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  luhip_error *error = NULL;
  luhip_status status = luhip_graph_dot(lb_check_graph(L, 1)->graph, text, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushstring(L, *text);
  return 1;
}

static int field_kind(lua_State *L) {
  const char *kind;
  luhip_error *error = NULL;
  luhip_status status = luhip_graph_kind(lb_check_graph(L, 1)->graph, &kind, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushstring(L, kind);
  return 1;
}

static int graph_tostring(lua_State *L) {
  const struct lb_graph *graph = lb_check(L, 1, LB_GRAPH);
  const char *kind;
  size_t count;
  if (graph->graph && luhip_graph_kind(graph->graph, &kind, NULL) == LUHIP_OK &&
      luhip_graph_nodes(graph->graph, &count, NULL) == LUHIP_OK)
    lua_pushfstring(L, "luhip.graph: %I operation%s on %s (%s)", (LUAI_UACINT)count, count == 1 ? "" : "s",
                    graph->owner->info.id, kind);
  else
    lua_pushliteral(L, "luhip.graph (freed)");
  return 1;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------------------ */

void lb_open_capture(lua_State *L) {
  static const luaL_Reg meta[] = {{"__close", guard_close}, {"__gc", guard_close}, {NULL, NULL}};
  lb_class_register(L, LB_CAPTURE, &(struct lb_class_functions){NULL, NULL, meta});
}

void lb_open_graph(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"replay", graph_replay}, {"nodes", graph_nodes}, {"dot", graph_dot}, {"free", graph_free}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"kind", field_kind}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", graph_tostring}, {"__len", graph_len}, {"__close", graph_free}, {"__gc", graph_gc}, {NULL, NULL}};
  static const luaL_Reg steps[] = {
      {"prepare_capture", stream_prepare_capture}, {"begin_capture", stream_begin_capture},
      {"end_capture", stream_end_capture},         {"cancel_capture", stream_cancel_capture},
      {"capture_state", stream_capture_state},     {NULL, NULL}};
  static const luaL_Reg device[] = {{"capture", device_capture}, {NULL, NULL}};
  lb_class_register(L, LB_GRAPH, &(struct lb_class_functions){methods, fields, meta});
  lb_push_methods(L, LB_STREAM);
  luaL_setfuncs(L, steps, 0);
  lb_push_methods(L, LB_DEVICE);
  luaL_setfuncs(L, device, 0);
  lua_pop(L, 2);
}
