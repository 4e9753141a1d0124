/*
 * graph.c - for the specs of captures: the graph entries of the CPU device's table, called bare like those of host.c,
 * and what the server keeps of captures and graphs.
 */
#include <lauxlib.h>

#include "cpu/provider.h"
#include "lua/binding.h"
#include "server/capture.h"
#include "server/graph.h"
#include "testing/testing.h"

static const struct hip_api *table(void) {
  return cpu_provider.load(NULL, 0);
}

static int answer(lua_State *L, hip_error_t rc, void *handle) {
  if (rc) {
    lua_pushnil(L);
    lua_pushstring(L, hip_error_name(rc));
    return 2;
  }
  if (handle) {
    lua_pushinteger(L, (lua_Integer)(uintptr_t)handle);
  } else {
    lua_pushboolean(L, 1);
  }
  return 1;
}

static void *pointer(lua_State *L, int arg) {
  return (void *)(uintptr_t)luaL_checkinteger(L, arg);
}

static int test_begin(lua_State *L) {
  hip_stream_capture_mode_t mode = (hip_stream_capture_mode_t)luaL_optinteger(L, 2, hip_StreamCaptureModeRelaxed);
  return answer(L, table()->hipStreamBeginCapture(pointer(L, 1), mode), NULL);
}

static int test_end(lua_State *L) {
  hip_graph_t graph = NULL;
  hip_error_t rc = table()->hipStreamEndCapture(pointer(L, 1), &graph);
  return answer(L, rc, graph);
}

static int test_status(lua_State *L) {
  hip_stream_capture_status_t status = hip_StreamCaptureStatusNone;
  hip_error_t rc = table()->hipStreamIsCapturing(pointer(L, 1), &status);
  if (rc) return answer(L, rc, NULL);
  lua_pushinteger(L, status);
  return 1;
}

static int test_nodes(lua_State *L) {
  enum { MOST = 16 };
  hip_graph_node_t nodes[MOST];
  size_t count = 0, room = (size_t)luaL_optinteger(L, 2, 0), found = 0;
  luaL_argcheck(L, room <= MOST, 2, "too many");
  hip_error_t rc = table()->hipGraphGetNodes(pointer(L, 1), room ? nodes : NULL, room ? &room : &count);
  if (rc) return answer(L, rc, NULL);
  for (size_t i = 0; i < room; i++) found += nodes[i] != NULL;
  lua_pushinteger(L, (lua_Integer)(room ? room : count));
  lua_pushinteger(L, (lua_Integer)found);
  return 2;
}

static int test_instantiate(lua_State *L) {
  hip_graph_exec_t exec = NULL;
  hip_graph_node_t node;
  char log[16] = "x";
  hip_error_t rc = table()->hipGraphInstantiate(&exec, pointer(L, 1), &node, log, sizeof log);
  return answer(L, rc, exec);
}

static int test_upload(lua_State *L) {
  return answer(L, table()->hipGraphUpload(pointer(L, 1), pointer(L, 2)), NULL);
}

static int test_launch(lua_State *L) {
  return answer(L, table()->hipGraphLaunch(pointer(L, 1), pointer(L, 2)), NULL);
}

/* true, or nil, error, result, whether a node is named */
static int test_update(lua_State *L) {
  hip_graph_node_t node = NULL;
  hip_graph_exec_update_result_t result = hip_GraphExecUpdateSuccess;
  hip_error_t rc = table()->hipGraphExecUpdate(pointer(L, 1), pointer(L, 2), &node, &result);
  answer(L, rc, NULL);
  if (!rc) return 1;
  lua_pushinteger(L, result);
  lua_pushboolean(L, node != NULL);
  return 4;
}

static int test_destroy(lua_State *L) {
  return answer(L, table()->hipGraphDestroy(pointer(L, 1)), NULL);
}

static int test_exec_destroy(lua_State *L) {
  return answer(L, table()->hipGraphExecDestroy(pointer(L, 1)), NULL);
}

/* ---- the server ---------------------------------------------------------------------------------------------- */

/* graph_to_list(g): the driver's graph is dropped, as where the driver has none. */
static int graph_to_list(lua_State *L) {
  luhip_graph *graph = lb_check_graph(L, 1)->graph;
  if (!device_enter_quietly(graph->device)) return luaL_error(L, "the device cannot be entered");
  graph_discard_exec(graph);
  device_leave(graph->device);
  return 0;
}

static void set_count(lua_State *L, const char *name, size_t count) {
  lua_pushinteger(L, (lua_Integer)count);
  lua_setfield(L, -2, name);
}

/* graph_counts(dev) -> { graphs =, captures =, recordings =, trash = } */
static int graph_counts(lua_State *L) {
  luhip_device *device = lb_check_device(L, 1)->device;
  size_t graphs = 0, captures = 0;
  if (!device_enter_quietly(device)) return luaL_error(L, "the device cannot be entered");
  for (const luhip_graph *graph = device->graphs; graph; graph = graph->next) graphs++;
  for (uint32_t slot = 0; slot < SLOTS; slot++) captures += device->captures[slot] != NULL;
  size_t recordings = device->recordings, trash = device->trash.graphs.count + device->trash.events.count;
  for (const struct luhip_program *program = device->trash.programs; program; program = NULL) trash++;
  device_leave(device);
  lua_newtable(L);
  set_count(L, "graphs", graphs);
  set_count(L, "captures", captures);
  set_count(L, "recordings", recordings);
  set_count(L, "trash", trash);
  return 1;
}

void testing_open_graph(lua_State *L) {
  static const luaL_Reg hip[] = {{"begin_capture", test_begin},
                                 {"end_capture", test_end},
                                 {"capture_status", test_status},
                                 {"graph_nodes", test_nodes},
                                 {"graph_instantiate", test_instantiate},
                                 {"graph_upload", test_upload},
                                 {"graph_launch", test_launch},
                                 {"graph_update", test_update},
                                 {"graph_destroy", test_destroy},
                                 {"exec_destroy", test_exec_destroy},
                                 {NULL, NULL}};
  static const luaL_Reg functions[] = {{"graph_to_list", graph_to_list}, {"graph_counts", graph_counts}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  lua_getfield(L, -1, "hip");
  luaL_setfuncs(L, hip, 0);
  lua_pop(L, 1);
}
