/*
 * cuda_driver.h - what is used of libcuda and libnvrtc, in declarations of our own: no CUDA header is needed.
 *
 * Every function is looked up with dlsym by the name that its ABI has in the library (cuMemAlloc_v2), which no driver
 * changes after it is out: a new signature gets a new name, and the old one stays. So a name here means one signature,
 * from the CUDA version on that is told, to 13.x at least; where none is told it is older than 11.8, the oldest that is
 * supported. cuGetProcAddress would answer the same addresses for these names.
 *
 *   cuGraphExecUpdate     the signature up to 11.8 (error node and result apart); 12.0 added _v2 (one struct), which is
 *                         preferred where it is
 *   cuGraphInstantiate    changed in 12.0; cuGraphInstantiateWithFlags (11.4) means the same in all
 *   cuCtxCreate           changed in 12.5 and 13.0, and is not used: contexts are the devices' primary ones
 *   cuEventElapsedTime    12.8 added _v2, which differs in no error that matters here
 *   cuStreamAddCallback   "to be removed" since 10.0 and there in 13.x; cuLaunchHostFunc would not call back after a
 *                         fault, and then nobody would wake who waits
 */
#ifndef LUHIP_HIP_CUDA_DRIVER_H
#define LUHIP_HIP_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_deviceptr;
typedef struct cu_context_impl *cu_context;
typedef void *cu_handle; /* a stream, event, module, function, graph ...: as the table's handles, by address */

/* CUDA_MEMCPY2D_v2 (3.2 on). */
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2, CU_MEMORY_UNIFIED = 4 };
struct cu_memcpy_2d {
  size_t src_x, src_y;
  unsigned src_type;
  const void *src_host;
  cu_deviceptr src_device;
  void *src_array;
  size_t src_pitch;
  size_t dst_x, dst_y;
  unsigned dst_type;
  void *dst_host;
  cu_deviceptr dst_device;
  void *dst_array;
  size_t dst_pitch;
  size_t width, height;
};

/* CUgraphExecUpdateResultInfo_v1 (12.0). */
struct cu_graph_update {
  int result;
  cu_handle error_node, error_from_node;
};

enum { CU_FUNC_MAX_DYNAMIC_SHARED = 8, CU_FUNC_SHARED = 1, CU_DEVICE_SHARED_OPTIN = 97 };

/* REQUIRED(field, name in the library, parameters); OPTIONAL ones may be NULL. */
/* clang-format off */
#define CUDA_DRIVER(REQUIRED, OPTIONAL) \
  REQUIRED(init, "cuInit", (unsigned flags)) \
  REQUIRED(driver_version, "cuDriverGetVersion", (int *version)) \
  REQUIRED(device_count, "cuDeviceGetCount", (int *count)) \
  REQUIRED(device_get, "cuDeviceGet", (cu_device *device, int ordinal)) \
  REQUIRED(device_name, "cuDeviceGetName", (char *name, int len, cu_device device)) \
  REQUIRED(device_total_mem, "cuDeviceTotalMem_v2", (size_t *bytes, cu_device device)) \
  REQUIRED(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device)) \
  REQUIRED(primary_retain, "cuDevicePrimaryCtxRetain", (cu_context *context, cu_device device)) \
  REQUIRED(primary_reset, "cuDevicePrimaryCtxReset_v2", (cu_device device)) /* 11.0 */ \
  REQUIRED(ctx_set_current, "cuCtxSetCurrent", (cu_context context)) \
  REQUIRED(ctx_synchronize, "cuCtxSynchronize", (void)) \
  REQUIRED(mem_info, "cuMemGetInfo_v2", (size_t *free, size_t *total)) \
  REQUIRED(mem_alloc, "cuMemAlloc_v2", (cu_deviceptr *ptr, size_t bytes)) \
  REQUIRED(mem_free, "cuMemFree_v2", (cu_deviceptr ptr)) \
  REQUIRED(host_alloc, "cuMemHostAlloc", (void **ptr, size_t bytes, unsigned flags)) \
  REQUIRED(host_free, "cuMemFreeHost", (void *ptr)) \
  REQUIRED(copy, "cuMemcpyAsync", (cu_deviceptr dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_in, "cuMemcpyHtoDAsync_v2", (cu_deviceptr dst, const void *src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_out, "cuMemcpyDtoHAsync_v2", (void *dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_within, "cuMemcpyDtoDAsync_v2", (cu_deviceptr dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_2d, "cuMemcpy2DAsync_v2", (const struct cu_memcpy_2d *copy, cu_handle stream)) \
  REQUIRED(set_8, "cuMemsetD8Async", (cu_deviceptr dst, unsigned char value, size_t count, cu_handle stream)) \
  REQUIRED(set_16, "cuMemsetD16Async", (cu_deviceptr dst, unsigned short value, size_t count, cu_handle stream)) \
  REQUIRED(set_32, "cuMemsetD32Async", (cu_deviceptr dst, unsigned value, size_t count, cu_handle stream)) \
  REQUIRED(set_2d_8, "cuMemsetD2D8Async", (cu_deviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, cu_handle stream)) \
  REQUIRED(stream_create, "cuStreamCreate", (cu_handle *stream, unsigned flags)) \
  REQUIRED(stream_destroy, "cuStreamDestroy_v2", (cu_handle stream)) \
  REQUIRED(stream_synchronize, "cuStreamSynchronize", (cu_handle stream)) \
  REQUIRED(stream_query, "cuStreamQuery", (cu_handle stream)) \
  REQUIRED(stream_wait, "cuStreamWaitEvent", (cu_handle stream, cu_handle event, unsigned flags)) \
  REQUIRED(stream_callback, "cuStreamAddCallback", (cu_handle stream, void (*call)(cu_handle stream, cu_result status, void *user), void *user, unsigned flags)) \
  REQUIRED(event_create, "cuEventCreate", (cu_handle *event, unsigned flags)) \
  REQUIRED(event_destroy, "cuEventDestroy_v2", (cu_handle event)) \
  REQUIRED(event_record, "cuEventRecord", (cu_handle event, cu_handle stream)) \
  REQUIRED(event_synchronize, "cuEventSynchronize", (cu_handle event)) \
  REQUIRED(event_query, "cuEventQuery", (cu_handle event)) \
  REQUIRED(event_elapsed, "cuEventElapsedTime", (float *ms, cu_handle start, cu_handle stop)) \
  REQUIRED(module_load, "cuModuleLoadData", (cu_handle *module, const void *image)) \
  REQUIRED(module_unload, "cuModuleUnload", (cu_handle module)) \
  REQUIRED(module_function, "cuModuleGetFunction", (cu_handle *function, cu_handle module, const char *name)) \
  REQUIRED(module_global, "cuModuleGetGlobal_v2", (cu_deviceptr *ptr, size_t *bytes, cu_handle module, const char *name)) \
  REQUIRED(launch, "cuLaunchKernel", (cu_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, cu_handle stream, void **params, void **extra)) \
  REQUIRED(func_attribute, "cuFuncGetAttribute", (int *value, int attribute, cu_handle function)) \
  REQUIRED(func_set_attribute, "cuFuncSetAttribute", (cu_handle function, int attribute, int value)) /* 9.0 */ \
  REQUIRED(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *blocks, cu_handle function, int block, size_t shared)) \
  REQUIRED(capture_begin, "cuStreamBeginCapture_v2", (cu_handle stream, int mode)) /* 10.1 */ \
  REQUIRED(capture_end, "cuStreamEndCapture", (cu_handle stream, cu_handle *graph)) /* 10.0 */ \
  REQUIRED(capture_status, "cuStreamIsCapturing", (cu_handle stream, int *status)) /* 10.0 */ \
  REQUIRED(graph_instantiate, "cuGraphInstantiateWithFlags", (cu_handle *exec, cu_handle graph, unsigned long long flags)) /* 11.4 */ \
  REQUIRED(graph_upload, "cuGraphUpload", (cu_handle exec, cu_handle stream)) /* 11.1 */ \
  REQUIRED(graph_launch, "cuGraphLaunch", (cu_handle exec, cu_handle stream)) \
  REQUIRED(graph_nodes, "cuGraphGetNodes", (cu_handle graph, cu_handle *nodes, size_t *count)) \
  REQUIRED(graph_destroy, "cuGraphDestroy", (cu_handle graph)) \
  REQUIRED(graph_exec_destroy, "cuGraphExecDestroy", (cu_handle exec)) \
  OPTIONAL(graph_exec_update, "cuGraphExecUpdate", (cu_handle exec, cu_handle graph, cu_handle *error_node, int *result)) /* 10.2 */ \
  OPTIONAL(graph_exec_update_2, "cuGraphExecUpdate_v2", (cu_handle exec, cu_handle graph, struct cu_graph_update *update)) /* 12.0 */

/* libnvrtc: the same signatures from 11.2 to 13.x. */
typedef struct nvrtc_program_impl *nvrtc_program;
#define CUDA_NVRTC(X) \
  X(version, "nvrtcVersion", int, (int *major, int *minor)) \
  X(error_string, "nvrtcGetErrorString", const char *, (int result)) \
  X(archs_count, "nvrtcGetNumSupportedArchs", int, (int *count)) /* 11.2 */ \
  X(archs, "nvrtcGetSupportedArchs", int, (int *archs)) /* 11.2 */ \
  X(create, "nvrtcCreateProgram", int, (nvrtc_program *program, const char *source, const char *name, int headers, const char *const *texts, const char *const *names)) \
  X(destroy, "nvrtcDestroyProgram", int, (nvrtc_program *program)) \
  X(compile, "nvrtcCompileProgram", int, (nvrtc_program program, int noptions, const char *const *options)) \
  X(add_name, "nvrtcAddNameExpression", int, (nvrtc_program program, const char *expression)) \
  X(lowered_name, "nvrtcGetLoweredName", int, (nvrtc_program program, const char *expression, const char **lowered)) \
  X(log_size, "nvrtcGetProgramLogSize", int, (nvrtc_program program, size_t *bytes)) \
  X(log, "nvrtcGetProgramLog", int, (nvrtc_program program, char *log)) \
  X(code_size, "nvrtcGetCUBINSize", int, (nvrtc_program program, size_t *bytes)) /* 11.1 */ \
  X(code, "nvrtcGetCUBIN", int, (nvrtc_program program, char *code)) /* 11.1 */
/* clang-format on */

#define CUDA_DRIVER_FIELD(field, name, parameters) cu_result(*field) parameters;
struct cuda_driver {
  CUDA_DRIVER(CUDA_DRIVER_FIELD, CUDA_DRIVER_FIELD)
};
#undef CUDA_DRIVER_FIELD

extern struct cuda_driver cuda_driver; /* filled once by the provider's load, read-only after */

#endif
