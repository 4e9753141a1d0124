/*
 * validate_launch.c - modules, kernels and their geometry, captures and graphs.
 */
#include "testing/validate.h"

/* ---- modules and launches ------------------------------------------------------------------------------------ */

hip_error_t check_hipModuleLoadData(hip_module_t *module, const void *image) {
  if (!image) WRONG(hipModuleLoadData, "no image");
  hip_error_t rc = faults_table.hipModuleLoadData(module, image);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_module, *module, validate_device());
    validate_unlock();
  }
  return validate_noted(rc);
}

static bool is_of_module(const struct object *function, const void *module) {
  return function->module == module;
}

hip_error_t check_hipModuleUnload(hip_module_t module) {
  if (!validate_remove(ENTRY_hipModuleUnload, OBJECT_module, module, true)) return hip_ErrorInvalidHandle;
  validate_lock();
  for (struct object *f; (f = object_search(OBJECT_function, is_of_module, module));) object_remove(f);
  validate_unlock();
  return validate_noted(faults_table.hipModuleUnload(module));
}

hip_error_t check_hipModuleGetFunction(hip_function_t *function, hip_module_t module, const char *name) {
  validate_lock();
  const struct object *of = validate_live(ENTRY_hipModuleGetFunction, OBJECT_module, module);
  int device = of ? of->device : 0;
  validate_unlock();
  if (!name || !*name) WRONG(hipModuleGetFunction, "no name");
  if (!of) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipModuleGetFunction(function, module, name);
  if (rc != hip_Success) return validate_noted(rc);
  int most = 0;
  tap->inner->hipFuncGetAttribute(&most, hip_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *function);
  validate_lock();
  struct object *made = object_find(OBJECT_function, *function);
  if (!made) made = object_add(OBJECT_function, *function, device);
  made->module = module;
  made->most_threads = most;
  validate_unlock();
  return rc;
}

hip_error_t check_hipModuleGetGlobal(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name) {
  validate_lock();
  const struct object *of = validate_live(ENTRY_hipModuleGetGlobal, OBJECT_module, module);
  validate_unlock();
  return of ? validate_noted(faults_table.hipModuleGetGlobal(ptr, bytes, module, name)) : hip_ErrorInvalidHandle;
}

hip_error_t check_hipFuncSetAttribute(const void *function, hip_func_setting_t attribute, int value) {
  validate_lock();
  const struct object *of = validate_live(ENTRY_hipFuncSetAttribute, OBJECT_function, function);
  validate_unlock();
  return of ? validate_noted(faults_table.hipFuncSetAttribute(function, attribute, value)) : hip_ErrorInvalidHandle;
}

struct geometry {
  unsigned int grid[3], block[3];
};

static void check_geometry(enum entry entry, const struct geometry *g, const struct object *function) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    int most = 0;
    if (!g->grid[i] || !g->block[i]) validate_violation(entry, "dimension %c is 0", "xyz"[i]);
    tap->inner->hipDeviceGetAttribute(&most, hip_DeviceAttributeMaxGridDimX + i, function->device);
    if (most > 0 && g->grid[i] > (unsigned)most) validate_violation(entry, "grid %c is %u", "xyz"[i], g -> grid[i]);
    tap->inner->hipDeviceGetAttribute(&most, hip_DeviceAttributeMaxBlockDimX + i, function->device);
    if (most > 0 && g->block[i] > (unsigned)most) validate_violation(entry, "block %c is %u", "xyz"[i], g -> block[i]);
    threads *= g->block[i];
  }
  if (function->most_threads > 0 && threads > (unsigned)function->most_threads) {
    validate_violation(entry, "%llu threads in a block of a kernel for %d", (unsigned long long)threads,
                       function->most_threads);
  }
}

static bool check_launch(enum entry entry, hip_function_t handle, const struct geometry *g, hip_stream_t on,
                         void **params, void **extra) {
  validate_lock();
  struct object *stream = validate_live_stream(entry, on);
  struct object *function = validate_live(entry, OBJECT_function, handle);
  if (extra) validate_violation(entry, "both ways of giving arguments");
  if (!params) validate_violation(entry, "no arguments");
  if (function) check_geometry(entry, g, function);
  if (stream && function) {
    if (stream->device != function->device) validate_violation(entry, "stream and kernel are of different devices");
  }
  validate_unlock();
  return stream && function;
}

static hip_error_t launched(hip_error_t rc, hip_function_t handle, hip_stream_t on) {
  validate_enqueued(rc, on, NULL, NULL);
  if (rc != hip_Success) return rc;
  validate_lock();
  struct object *stream = object_find(OBJECT_stream, on), *function = object_find(OBJECT_function, handle);
  if (stream && function) validate_use(stream, object_find(OBJECT_module, function->module));
  validate_unlock();
  return rc;
}

hip_error_t check_hipModuleLaunchKernel(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz,
                                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                        hip_stream_t stream, void **params, void **extra) {
  struct geometry g = {{gx, gy, gz}, {bx, by, bz}};
  if (!check_launch(ENTRY_hipModuleLaunchKernel, function, &g, stream, params, extra)) return hip_ErrorInvalidHandle;
  return launched(faults_table.hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
                  function, stream);
}

hip_error_t check_hipxLaunchTimed(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz,
                                  unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                  hip_stream_t stream, void **params, void **extra, hip_event_t start,
                                  hip_event_t stop) {
  struct geometry g = {{gx, gy, gz}, {bx, by, bz}};
  if (!check_launch(ENTRY_hipxLaunchTimed, function, &g, stream, params, extra)) return hip_ErrorInvalidHandle;
  validate_lock();
  struct object *on = validate_outside_capture(ENTRY_hipxLaunchTimed, stream);
  struct object *events[2] = {validate_live(ENTRY_hipxLaunchTimed, OBJECT_event, start),
                              validate_live(ENTRY_hipxLaunchTimed, OBJECT_event, stop)};
  validate_unlock();
  if (!events[0] || !events[1]) return hip_ErrorInvalidHandle;
  hip_error_t rc =
      faults_table.hipxLaunchTimed(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra, start, stop);
  launched(rc, function, stream);
  validate_lock();
  for (int i = 0; i < 2 && rc == hip_Success; i++) validate_recorded(events[i], on);
  validate_unlock();
  return rc;
}

hip_error_t check_hipxLaunchAgain(struct hip_again *again, int same, int idle, hip_function_t function, unsigned int gx,
                                  unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
                                  unsigned int shared, hip_stream_t stream, void **params) {
  struct geometry g = {{gx, gy, gz}, {bx, by, bz}};
  if (!check_launch(ENTRY_hipxLaunchAgain, function, &g, stream, params, NULL)) return hip_ErrorInvalidHandle;
  validate_lock();
  validate_outside_capture(ENTRY_hipxLaunchAgain, stream);
  validate_unlock();
  return launched(
      faults_table.hipxLaunchAgain(again, same, idle, function, gx, gy, gz, bx, by, bz, shared, stream, params),
      function, stream);
}

/* ---- graphs -------------------------------------------------------------------------------------------------- */

hip_error_t check_hipStreamBeginCapture(hip_stream_t stream, hip_stream_capture_mode_t mode) {
  validate_lock();
  struct object *object = validate_outside_capture(ENTRY_hipStreamBeginCapture, stream);
  validate_unlock();
  if (!object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipStreamBeginCapture(stream, mode);
  validate_lock();
  if (rc == hip_Success) object->capturing = true;
  validate_unlock();
  return validate_noted(rc);
}

/* The stream works on, whatever became of the capture. */
static void end_capture(struct object *stream, const void *graph) {
  if (graph) object_add(OBJECT_graph, graph, stream->device)->refs = stream->refs;
  if (!graph) references_free(&stream->refs);
  stream->refs = (struct references){0};
  stream->capturing = false;
}

hip_error_t check_hipStreamEndCapture(hip_stream_t stream, hip_graph_t *graph) {
  validate_lock();
  struct object *object = validate_live_stream(ENTRY_hipStreamEndCapture, stream);
  if (object && !object->capturing) WRONG(hipStreamEndCapture, "the stream does not capture");
  validate_unlock();
  if (!object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipStreamEndCapture(stream, graph);
  validate_lock();
  end_capture(object, rc == hip_Success ? *graph : NULL);
  validate_unlock();
  return validate_noted(rc);
}

hip_error_t check_hipGraphInstantiate(hip_graph_exec_t *exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                      char *log, size_t log_bytes) {
  validate_lock();
  struct object *from = validate_live(ENTRY_hipGraphInstantiate, OBJECT_graph, graph);
  validate_unlock();
  if (!from) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipGraphInstantiate(exec, graph, error_node, log, log_bytes);
  if (rc == hip_Success) {
    validate_lock();
    references_copy(&object_add(OBJECT_exec, *exec, from->device)->refs, &from->refs);
    validate_unlock();
  }
  return validate_noted(rc);
}

hip_error_t check_hipGraphUpload(hip_graph_exec_t exec, hip_stream_t stream) {
  validate_lock();
  bool both =
      validate_live(ENTRY_hipGraphUpload, OBJECT_exec, exec) && validate_outside_capture(ENTRY_hipGraphUpload, stream);
  validate_unlock();
  return both ? validate_noted(faults_table.hipGraphUpload(exec, stream)) : hip_ErrorInvalidHandle;
}

hip_error_t check_hipGraphLaunch(hip_graph_exec_t exec, hip_stream_t stream) {
  validate_lock();
  struct object *object = validate_live(ENTRY_hipGraphLaunch, OBJECT_exec, exec);
  struct object *on = validate_outside_capture(ENTRY_hipGraphLaunch, stream);
  for (size_t i = 0; object && i < object->refs.count; i++) {
    if (!reference_find(&object->refs.list[i]))
      WRONG(hipGraphLaunch, "the graph uses %p, which was given back", object->refs.list[i].handle);
  }
  validate_unlock();
  if (!object || !on) return hip_ErrorInvalidHandle;
  hip_error_t rc = validate_enqueued(faults_table.hipGraphLaunch(exec, stream), stream, NULL, NULL);
  validate_lock();
  for (size_t i = 0; rc == hip_Success && i < object->refs.count; i++)
    validate_use(on, reference_find(&object->refs.list[i]));
  validate_unlock();
  return rc;
}

hip_error_t check_hipGraphGetNodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count) {
  validate_lock();
  bool there = validate_live(ENTRY_hipGraphGetNodes, OBJECT_graph, graph);
  validate_unlock();
  return there ? validate_noted(faults_table.hipGraphGetNodes(graph, nodes, count)) : hip_ErrorInvalidHandle;
}

hip_error_t check_hipGraphDestroy(hip_graph_t graph) {
  if (!validate_remove(ENTRY_hipGraphDestroy, OBJECT_graph, graph, false)) return hip_ErrorInvalidHandle;
  return validate_noted(faults_table.hipGraphDestroy(graph));
}

hip_error_t check_hipGraphExecDestroy(hip_graph_exec_t exec) {
  if (!validate_remove(ENTRY_hipGraphExecDestroy, OBJECT_exec, exec, false)) return hip_ErrorInvalidHandle;
  return validate_noted(faults_table.hipGraphExecDestroy(exec));
}

hip_error_t check_hipGraphExecUpdate(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                     hip_graph_exec_update_result_t *result) {
  validate_lock();
  struct object *object = validate_live(ENTRY_hipGraphExecUpdate, OBJECT_exec, exec);
  struct object *from = validate_live(ENTRY_hipGraphExecUpdate, OBJECT_graph, graph);
  validate_unlock();
  if (!object || !from) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipGraphExecUpdate(exec, graph, error_node, result);
  validate_lock();
  if (rc == hip_Success) references_copy(&object->refs, &from->refs);
  validate_unlock();
  return validate_noted(rc);
}
