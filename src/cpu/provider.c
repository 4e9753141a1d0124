/*
 * provider.c - the table of the CPU device.
 *
 * Entries here check nothing but handles and null pointers where the rooms behind them do not; each notes its error for
 * hipGetLastError. Ordinal 0 is "cpu:0", with warps of 32; ordinal 1 is "cpu:0/64". Loading the table reserves the
 * arena's addresses and starts no thread.
 */
#include "cpu/provider.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cpu/arch.h"
#include "cpu/arena.h"
#include "cpu/compile.h"
#include "cpu/device.h"
#include "cpu/event.h"
#include "cpu/exec.h"
#include "cpu/graph.h"
#include "cpu/limits.h"
#include "cpu/memory.h"
#include "cpu/module.h"
#include "cpu/stream.h"
#include "cpu/toolchain.h"

enum { DRIVER_VERSION = 100 }; /* of this device: 0.1.0 */

static _Thread_local hip_error_t last_error;

/* What is not ready, or not there, is no error to remember. */
static hip_error_t note(hip_error_t rc) {
  if (rc != hip_Success && rc != hip_ErrorNotReady) last_error = rc;
  return rc;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static hip_error_t init(unsigned int flags) {
  return note(flags ? hip_ErrorInvalidValue : hip_Success);
}

static hip_error_t get_device_count(int *count) {
  if (!count) return note(hip_ErrorInvalidValue);
  *count = CPU_DEVICES;
  return hip_Success;
}

static hip_error_t set_device(int device) {
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  cpu_device_set_current(device);
  return hip_Success;
}

static hip_error_t get_device(int *device) {
  if (!device) return note(hip_ErrorInvalidValue);
  *device = cpu_device_current();
  return hip_Success;
}

static hip_error_t device_get_name(char *name, int len, hip_device_t device) {
  if (!name || len <= 0) return note(hip_ErrorInvalidValue);
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  cpu_device_name(name, (size_t)len);
  return hip_Success;
}

static hip_error_t device_total_mem(size_t *bytes, hip_device_t device) {
  size_t available;
  if (!bytes) return note(hip_ErrorInvalidValue);
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  cpu_arena_info(&available, bytes);
  return hip_Success;
}

static hip_error_t device_get_attribute(int *value, hip_device_attribute_t attribute, int device) {
  if (!value) return note(hip_ErrorInvalidValue);
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  return note(cpu_device_attribute(device, attribute, value) ? hip_Success : hip_ErrorInvalidValue);
}

static hip_error_t driver_get_version(int *version) {
  if (!version) return note(hip_ErrorInvalidValue);
  *version = DRIVER_VERSION;
  return hip_Success;
}

static hip_error_t device_synchronize(void) {
  cpu_streams_wait_all(cpu_device_current());
  return hip_Success;
}

static hip_error_t get_last_error(void) {
  hip_error_t rc = last_error;
  last_error = hip_Success;
  return rc;
}

static hip_error_t mem_get_info(size_t *available, size_t *total) {
  if (!available || !total) return note(hip_ErrorInvalidValue);
  cpu_arena_info(available, total);
  return hip_Success;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static hip_error_t allocate(void **ptr, size_t bytes, enum arena_kind kind, bool checked) {
  if (!ptr) return note(hip_ErrorInvalidValue);
  if (!bytes) {
    *ptr = NULL;
    return hip_Success;
  }
  return note(cpu_arena_alloc(ptr, bytes, kind, checked));
}

static hip_error_t malloc_device(void **ptr, size_t bytes) {
  return allocate(ptr, bytes, ARENA_DEVICE, cpu_device_checked(cpu_device_current()));
}

static hip_error_t malloc_host(void **ptr, size_t bytes, unsigned int flags) {
  if (flags & ~(unsigned)(hip_HostMallocPortable | hip_HostMallocMapped)) return note(hip_ErrorInvalidValue);
  return allocate(ptr, bytes, ARENA_PINNED, false);
}

static hip_error_t free_device(void *ptr) {
  return note(cpu_memory_free(ptr));
}
static hip_error_t free_host(void *ptr) {
  return note(cpu_memory_free_host(ptr));
}

static hip_error_t memcpy_async(void *dst, const void *src, size_t bytes, hip_memcpy_kind_t kind, hip_stream_t stream) {
  struct command_copy copy = {
      .to = dst, .from = src, .to_pitch = bytes, .from_pitch = bytes, .width = bytes, .height = 1};
  return note(cpu_memory_copy(copy, kind, stream));
}

static hip_error_t memcpy_2d_async(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                   size_t height, hip_memcpy_kind_t kind, hip_stream_t stream) {
  if (width > dpitch || width > spitch) return note(hip_ErrorInvalidPitchValue);
  struct command_copy copy = {
      .to = dst, .from = src, .to_pitch = dpitch, .from_pitch = spitch, .width = width, .height = height};
  return note(cpu_memory_copy(copy, kind, stream));
}

static hip_error_t memset_async(void *dst, int value, size_t bytes, hip_stream_t stream) {
  struct command_fill fill = {
      .to = dst, .pitch = bytes, .width = bytes, .height = 1, .element = 1, .value = (uint8_t)value};
  return note(cpu_memory_fill(fill, stream));
}

static hip_error_t memset_2d_async(void *dst, size_t pitch, int value, size_t width, size_t height,
                                   hip_stream_t stream) {
  if (width > pitch) return note(hip_ErrorInvalidPitchValue);
  struct command_fill fill = {
      .to = dst, .pitch = pitch, .width = width, .height = height, .element = 1, .value = (uint8_t)value};
  return note(cpu_memory_fill(fill, stream));
}

static hip_error_t memset_d16_async(hip_deviceptr_t dst, unsigned short value, size_t count, hip_stream_t stream) {
  struct command_fill fill = {.to = dst, .width = count, .height = 1, .element = 2, .value = value};
  return note(cpu_memory_fill(fill, stream));
}

static hip_error_t memset_d32_async(hip_deviceptr_t dst, int value, size_t count, hip_stream_t stream) {
  struct command_fill fill = {.to = dst, .width = count, .height = 1, .element = 4, .value = (uint32_t)value};
  return note(cpu_memory_fill(fill, stream));
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

static hip_error_t stream_create(hip_stream_t *stream, unsigned int flags) {
  return note(cpu_stream_create(stream, flags, cpu_device_current()));
}

static hip_error_t stream_destroy(hip_stream_t stream) {
  return note(cpu_stream_destroy(stream));
}

static hip_error_t stream_synchronize(hip_stream_t stream) {
  if (!stream) return note(hip_ErrorInvalidHandle);
  if (cpu_stream_spoil_capture(stream)) return note(hip_ErrorStreamCaptureUnsupported);
  cpu_stream_wait(stream, cpu_stream_tail(stream));
  return hip_Success;
}

static hip_error_t stream_query(hip_stream_t stream) {
  if (!stream) return note(hip_ErrorInvalidHandle);
  if (cpu_stream_spoil_capture(stream)) return note(hip_ErrorStreamCaptureUnsupported);
  return cpu_stream_passed(stream, cpu_stream_tail(stream)) ? hip_Success : hip_ErrorNotReady;
}

static hip_error_t stream_wait_event(hip_stream_t stream, hip_event_t event, unsigned int flags) {
  return note(cpu_stream_wait_event(stream, event, flags));
}

static hip_error_t stream_add_callback(hip_stream_t stream, hip_stream_callback_t callback, void *user,
                                       unsigned int flags) {
  if (!stream) return note(hip_ErrorInvalidHandle);
  if (!callback || flags) return note(hip_ErrorInvalidValue);
  struct command *command = cpu_stream_command(stream, COMMAND_CALLBACK, 0);
  if (!command) return note(hip_ErrorOutOfMemory);
  command->callback = (struct command_callback){.function = callback, .user = user};
  return note(cpu_stream_commit(stream, command, NULL));
}

static hip_error_t event_create(hip_event_t *event, unsigned flags) {
  return note(cpu_event_create(event, flags));
}
static hip_error_t event_destroy(hip_event_t event) {
  return note(cpu_event_destroy(event));
}
static hip_error_t event_record(hip_event_t event, hip_stream_t stream) {
  return note(cpu_event_record(event, stream));
}
static hip_error_t event_synchronize(hip_event_t event) {
  return note(cpu_event_synchronize(event));
}
static hip_error_t event_query(hip_event_t event) {
  return note(cpu_event_query(event));
}

static hip_error_t event_elapsed_time(float *ms, hip_event_t start, hip_event_t stop) {
  return note(cpu_event_elapsed(ms, start, stop));
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static hip_error_t module_load_data(hip_module_t *module, const void *image) {
  return note(cpu_module_load(module, image, cpu_device_current()));
}

static hip_error_t module_unload(hip_module_t module) {
  return note(cpu_module_unload(module));
}

static hip_error_t module_get_function(hip_function_t *function, hip_module_t module, const char *name) {
  return note(cpu_module_function(function, module, name));
}

static hip_error_t module_get_global(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name) {
  return note(cpu_module_global(ptr, bytes, module, name));
}

static hip_error_t module_launch_kernel(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz,
                                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                        hip_stream_t stream, void **params, void **extra) {
  struct launch_geometry geometry = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
  return note(cpu_function_launch(function, &geometry, stream, params, extra));
}

static hip_error_t launch_timed(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz,
                                unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                hip_stream_t stream, void **params, void **extra, hip_event_t start, hip_event_t stop) {
  struct launch_geometry geometry = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
  return note(cpu_function_launch_timed(function, &geometry, stream, params, extra, start, stop));
}

static hip_error_t func_get_attribute(int *value, hip_func_attribute_t attribute, hip_function_t function) {
  return note(cpu_function_attribute(value, attribute, function));
}

/* Nothing has to be allowed here: all kernels may have all there is. */
static hip_error_t func_set_attribute(const void *function, hip_func_setting_t attribute, int value) {
  int most;
  if (attribute != hip_FuncAttributeMaxDynamicSharedMemorySize || value < 0) return note(hip_ErrorInvalidValue);
  hip_error_t rc = cpu_function_attribute(&most, hip_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          (hip_function_t)(uintptr_t)function);
  return note(rc == hip_Success && value > most ? hip_ErrorInvalidValue : rc);
}

static hip_error_t occupancy(int *blocks, hip_function_t function, int block, size_t shared) {
  return note(cpu_function_occupancy(blocks, function, block, shared));
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static hip_error_t stream_begin_capture(hip_stream_t stream, hip_stream_capture_mode_t mode) {
  return note(cpu_graph_begin(stream, mode));
}

static hip_error_t stream_end_capture(hip_stream_t stream, hip_graph_t *graph) {
  return note(cpu_graph_end(stream, graph));
}

static hip_error_t stream_is_capturing(hip_stream_t stream, hip_stream_capture_status_t *status) {
  if (!status) return note(hip_ErrorInvalidValue);
  if (!stream) return note(hip_ErrorInvalidHandle);
  *status = cpu_stream_capture_status(stream);
  return hip_Success;
}

static hip_error_t graph_instantiate(hip_graph_exec_t *exec, hip_graph_t graph, hip_graph_node_t *error_node, char *log,
                                     size_t log_bytes) {
  if (error_node) *error_node = NULL;
  if (log && log_bytes) *log = '\0';
  return note(cpu_graph_instantiate(exec, graph));
}

static hip_error_t graph_upload(hip_graph_exec_t exec, hip_stream_t stream) {
  return note(exec && stream ? hip_Success : hip_ErrorInvalidValue);
}

static hip_error_t graph_launch(hip_graph_exec_t exec, hip_stream_t stream) {
  return note(cpu_graph_launch(exec, stream));
}

static hip_error_t graph_get_nodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count) {
  return note(cpu_graph_nodes(graph, nodes, count));
}

static hip_error_t graph_destroy(hip_graph_t graph) {
  return note(cpu_graph_destroy(graph));
}

static hip_error_t graph_exec_destroy(hip_graph_exec_t exec) {
  return note(cpu_graph_exec_destroy(exec));
}

static hip_error_t graph_exec_update(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                     hip_graph_exec_update_result_t *result) {
  return note(cpu_graph_exec_update(exec, graph, error_node, result));
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static hip_error_t device_arch(char *arch, int len, hip_device_t device) {
  if (!arch || len <= 0) return note(hip_ErrorInvalidValue);
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  cpu_device_arch(device, arch, (size_t)len);
  return hip_Success;
}

static hip_error_t toolchain(char *identity, size_t len, hip_device_t device) {
  if (!cpu_device_exists(device)) return note(hip_ErrorInvalidDevice);
  return note(cpu_compile_identity(identity, len, cpu_device_warp(device)));
}

static hip_error_t compile(const struct hip_compile_request *request, struct hip_compile_result *result) {
  return note(cpu_compile(request, result));
}

static hip_error_t compile_free(struct hip_compile_result *result) {
  return note(cpu_compile_free(result));
}

static hip_error_t preprocess(const struct hip_compile_request *request, struct hip_compile_result *result) {
  return note(cpu_preprocess(request, result));
}

static hip_error_t launch_tag(uint64_t tag) {
  cpu_device_set_tag(tag);
  return hip_Success;
}

static hip_error_t take_fault(struct hip_fault *fault) {
  if (!fault) return note(hip_ErrorInvalidValue);
  return cpu_device_take_fault(cpu_device_current(), fault) ? hip_Success : hip_ErrorNotFound;
}

static hip_error_t set_checked(int on) {
  cpu_device_set_checked(cpu_device_current(), on != 0);
  return hip_Success;
}

static hip_error_t set_timeout(unsigned int ms) {
  cpu_device_set_timeout(cpu_device_current(), ms);
  return hip_Success;
}

static hip_error_t set_writer(void (*writer)(void *user, const char *text, size_t bytes), void *user) {
  cpu_exec_set_writer(writer, user);
  return hip_Success;
}

static const struct hip_api api = {
    .hipInit = init,
    .hipGetDeviceCount = get_device_count,
    .hipSetDevice = set_device,
    .hipGetDevice = get_device,
    .hipDeviceGetName = device_get_name,
    .hipDeviceTotalMem = device_total_mem,
    .hipDeviceGetAttribute = device_get_attribute,
    .hipDriverGetVersion = driver_get_version,
    .hipDeviceSynchronize = device_synchronize,
    .hipGetLastError = get_last_error,
    .hipMemGetInfo = mem_get_info,
    .hipMalloc = malloc_device,
    .hipFree = free_device,
    .hipHostMalloc = malloc_host,
    .hipHostFree = free_host,
    .hipMemcpyAsync = memcpy_async,
    .hipMemcpy2DAsync = memcpy_2d_async,
    .hipMemsetAsync = memset_async,
    .hipMemset2DAsync = memset_2d_async,
    .hipMemsetD16Async = memset_d16_async,
    .hipMemsetD32Async = memset_d32_async,
    .hipStreamCreateWithFlags = stream_create,
    .hipStreamDestroy = stream_destroy,
    .hipStreamSynchronize = stream_synchronize,
    .hipStreamQuery = stream_query,
    .hipStreamWaitEvent = stream_wait_event,
    .hipStreamAddCallback = stream_add_callback,
    .hipEventCreateWithFlags = event_create,
    .hipEventDestroy = event_destroy,
    .hipEventRecord = event_record,
    .hipEventSynchronize = event_synchronize,
    .hipEventQuery = event_query,
    .hipEventElapsedTime = event_elapsed_time,
    .hipModuleLoadData = module_load_data,
    .hipModuleUnload = module_unload,
    .hipModuleGetFunction = module_get_function,
    .hipModuleGetGlobal = module_get_global,
    .hipModuleLaunchKernel = module_launch_kernel,
    .hipFuncGetAttribute = func_get_attribute,
    .hipFuncSetAttribute = func_set_attribute,
    .hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = occupancy,
    .hipStreamBeginCapture = stream_begin_capture,
    .hipStreamEndCapture = stream_end_capture,
    .hipStreamIsCapturing = stream_is_capturing,
    .hipGraphInstantiate = graph_instantiate,
    .hipGraphUpload = graph_upload,
    .hipGraphLaunch = graph_launch,
    .hipGraphGetNodes = graph_get_nodes,
    .hipGraphDestroy = graph_destroy,
    .hipGraphExecDestroy = graph_exec_destroy,
    .hipGraphExecUpdate = graph_exec_update,
    .hipxDeviceArch = device_arch,
    .hipxLaunchTimed = launch_timed,
    .hipxToolchain = toolchain,
    .hipxCompile = compile,
    .hipxCompileFree = compile_free,
    .hipxPreprocess = preprocess,
    .hipxLaunchTag = launch_tag,
    .hipxTakeFault = take_fault,
    .hipxSetChecked = set_checked,
    .hipxSetTimeout = set_timeout,
    .hipxSetWriter = set_writer,
};

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Outer locks before inner ones. */
static void fork_prepare(void) {
  cpu_events_fork_prepare();
  cpu_streams_fork_prepare();
  cpu_modules_fork_prepare();
  cpu_device_fork_prepare();
  cpu_arena_fork_prepare();
}

static void fork_parent(void) {
  cpu_arena_fork_parent();
  cpu_device_fork_parent();
  cpu_modules_fork_parent();
  cpu_streams_fork_parent();
  cpu_events_fork_parent();
}

static void fork_child(void) {
  cpu_arena_fork_child();
  cpu_device_fork_child();
  cpu_modules_fork_child();
  cpu_streams_fork_child();
  cpu_events_fork_child();
}

static struct {
  const struct hip_api *api;
  char reason[256];
} loaded;

static void load_once(void) {
  cpu_toolchain_load_math();
  char march[ARCH_OPTION];
  if (cpu_limits_threads(loaded.reason, sizeof loaded.reason) < 0) return;
  if (!cpu_arch_option(march, loaded.reason, sizeof loaded.reason)) return;
  if (!cpu_arena_start(loaded.reason, sizeof loaded.reason)) return;
  pthread_atfork(fork_prepare, fork_parent, fork_child);
  loaded.api = &api;
}

static const struct hip_api *load(char *reason, size_t len) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_once);
  if (!loaded.api && reason && len) snprintf(reason, len, "%s", loaded.reason);
  return loaded.api;
}

static int ordinal(const char *suffix) {
  if (!suffix || !*suffix || strcmp(suffix, "0") == 0 || strcmp(suffix, "0/32") == 0) return 0;
  return strcmp(suffix, "0/64") == 0 ? 1 : -1;
}

static void id(int number, char *text, size_t len) {
  snprintf(text, len, number == 1 ? "cpu:0/64" : "cpu:0");
}

static int listed(void) {
  return 1;
}

const struct hip_provider cpu_provider = {.name = "cpu",
                                          .load = load,
                                          .ordinal = ordinal,
                                          .id = id,
                                          .listed = listed,
                                          .ids = "cpu:0 has warps of 32 threads, cpu:0/64 of 64",
                                          .guards_allocations = 1};
