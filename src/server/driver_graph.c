/*
 * driver_graph.c - a graph of the driver that says what our list says.
 *
 * It is captured from a stream that nothing else uses, under the lock, by enqueueing the list there. The driver's graph
 * is taken only if it holds one node for each call: some runtimes drop launches of modules silently, and then the list
 * itself is replayed (F12).
 */
#include "server/graph.h"

static bool has_graphs(const struct hip_api *api) {
  return api->hipStreamBeginCapture && api->hipStreamEndCapture && api->hipGraphInstantiate && api->hipGraphLaunch &&
         api->hipGraphGetNodes && api->hipGraphDestroy && api->hipGraphExecDestroy && api->hipGraphExecUpdate;
}

void graph_discard_exec(luhip_graph *graph) {
  luhip_device *device = graph->device;
  hip_graph_exec_t exec = graph->exec;
  graph->exec = NULL;
  if (exec && !handles_add(&device->trash.graphs, exec)) device->api->hipGraphExecDestroy(exec);
}

/* Each node under its index as a tag: a launch of the graph adds its own to it. */
static hip_error_t enqueue_all(luhip_graph *graph, hip_stream_t stream, size_t *calls) {
  const struct hip_api *api = graph->device->api;
  hip_error_t rc = hip_Success;
  for (uint32_t i = 0; i < graph->nnodes && rc == hip_Success; i++) {
    if (api->hipxLaunchTag) api->hipxLaunchTag(i);
    rc = node_enqueue(graph->device, &graph->nodes[i], stream, calls);
  }
  return rc;
}

static hip_error_t capture(luhip_graph *graph, hip_stream_t stream, hip_graph_t *out) {
  const struct hip_api *api = graph->device->api;
  hip_error_t rc = api->hipStreamBeginCapture(stream, hip_StreamCaptureModeRelaxed);
  if (rc != hip_Success) return rc;
  size_t calls = 0, nodes = 0;
  hip_error_t enqueued = enqueue_all(graph, stream, &calls);
  hip_graph_t made = NULL;
  rc = api->hipStreamEndCapture(stream, &made);
  if (rc != hip_Success) return rc;
  rc = enqueued;
  if (rc == hip_Success) rc = api->hipGraphGetNodes(made, NULL, &nodes);
  if (rc == hip_Success && nodes == calls) {
    *out = made;
    return hip_Success;
  }
  api->hipGraphDestroy(made);
  return rc == hip_Success ? hip_ErrorStreamCaptureUnsupported : rc;
}

/* The exec that is there takes the new graph, or is replaced. */
static hip_error_t instantiate(luhip_graph *graph, hip_graph_t from, hip_stream_t stream) {
  const struct hip_api *api = graph->device->api;
  if (graph->exec) {
    hip_graph_node_t node;
    hip_graph_exec_update_result_t result;
    if (api->hipGraphExecUpdate(graph->exec, from, &node, &result) == hip_Success) return hip_Success;
    graph_discard_exec(graph);
  }
  hip_graph_exec_t exec;
  hip_error_t rc = api->hipGraphInstantiate(&exec, from, NULL, NULL, 0);
  if (rc != hip_Success) return rc;
  graph->exec = exec;
  if (api->hipGraphUpload) api->hipGraphUpload(exec, stream); /* only sooner than the first launch would */
  return hip_Success;
}

void graph_build(luhip_graph *graph) {
  luhip_device *device = graph->device;
  const struct hip_api *api = device->api;
  graph->stale = false;
  if (!graph->nnodes || !has_graphs(api)) return;
  hip_error_t rc = hip_Success;
  if (!device->graph_stream) rc = api->hipStreamCreateWithFlags(&device->graph_stream, hip_StreamNonBlocking);
  hip_graph_t from = NULL;
  if (rc == hip_Success) rc = capture(graph, device->graph_stream, &from);
  if (rc == hip_Success) rc = instantiate(graph, from, device->graph_stream);
  if (from) api->hipGraphDestroy(from);
  if (rc == hip_Success) return;
  graph_discard_exec(graph);
  if (!device->graph_stream) return;
  api->hipStreamDestroy(device->graph_stream); /* who knows what state it is in */
  device->graph_stream = NULL;
}
