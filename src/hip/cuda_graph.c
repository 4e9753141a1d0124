/*
 * cuda_graph.c - captures and graphs: CUDA's own, of which HIP's are the image. Modes and states have the same numbers.
 */
#include "hip/cuda.h"

static hip_error_t begin(hip_stream_t stream, hip_stream_capture_mode_t mode) {
  return cuda_note(cuda_driver.capture_begin(stream, (int)mode));
}

static hip_error_t end(hip_stream_t stream, hip_graph_t *graph) {
  cu_handle made = NULL;
  if (!graph) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_note(cuda_driver.capture_end(stream, &made));
  if (rc == hip_Success) *graph = made;
  return rc;
}

static hip_error_t is_capturing(hip_stream_t stream, hip_stream_capture_status_t *status) {
  int state = 0;
  if (!status) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_note(cuda_driver.capture_status(stream, &state));
  if (rc == hip_Success) *status = (hip_stream_capture_status_t)state;
  return rc;
}

static hip_error_t instantiate(hip_graph_exec_t *exec, hip_graph_t graph, hip_graph_node_t *error_node, char *log,
                               size_t log_bytes) {
  cu_handle made;
  if (!exec) return cuda_refuse(hip_ErrorInvalidValue);
  if (error_node) *error_node = NULL;
  if (log && log_bytes) *log = '\0';
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.graph_instantiate(&made, graph, 0));
  if (rc == hip_Success) *exec = made;
  return rc;
}

static hip_error_t upload(hip_graph_exec_t exec, hip_stream_t stream) {
  return cuda_note(cuda_driver.graph_upload(exec, stream));
}

static hip_error_t launch(hip_graph_exec_t exec, hip_stream_t stream) {
  return cuda_note(cuda_driver.graph_launch(exec, stream));
}

static hip_error_t get_nodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count) {
  return cuda_note(cuda_driver.graph_nodes(graph, (cu_handle *)nodes, count));
}

static hip_error_t destroy(hip_graph_t graph) {
  return cuda_note(cuda_driver.graph_destroy(graph));
}

static hip_error_t exec_destroy(hip_graph_exec_t exec) {
  return cuda_note(cuda_driver.graph_exec_destroy(exec));
}

/* CUDA has two reasons more than HIP. */
static hip_graph_exec_update_result_t reason(int result) {
  switch (result) {
  case 7: /* a function of another kind */
    return hip_GraphExecUpdateErrorFunctionChanged;
  case 8: /* attributes */
    return hip_GraphExecUpdateErrorParametersChanged;
  default:
    return result >= 0 && result <= hip_GraphExecUpdateErrorNotSupported ? (hip_graph_exec_update_result_t)result
                                                                         : hip_GraphExecUpdateError;
  }
}

static hip_error_t exec_update(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                               hip_graph_exec_update_result_t *result) {
  struct cu_graph_update update = {0};
  cu_result rc;
  if (cuda_driver.graph_exec_update_2)
    rc = cuda_driver.graph_exec_update_2(exec, graph, &update);
  else if (cuda_driver.graph_exec_update)
    rc = cuda_driver.graph_exec_update(exec, graph, &update.error_node, &update.result);
  else
    return cuda_refuse(hip_ErrorNotSupported);
  if (error_node) *error_node = update.error_node;
  if (result) *result = reason(update.result);
  return cuda_note(rc);
}

void cuda_graph_table(struct hip_api *table) {
  table->hipStreamBeginCapture = begin;
  table->hipStreamEndCapture = end;
  table->hipStreamIsCapturing = is_capturing;
  table->hipGraphInstantiate = instantiate;
  table->hipGraphUpload = upload;
  table->hipGraphLaunch = launch;
  table->hipGraphGetNodes = get_nodes;
  table->hipGraphDestroy = destroy;
  table->hipGraphExecDestroy = exec_destroy;
  table->hipGraphExecUpdate = exec_update;
}
