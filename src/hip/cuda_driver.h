/*
 * cuda_driver.h - what is used of libcuda and libnvrtc, in declarations of our own: no CUDA header is needed.
 *
 * A function of the driver's gets a new version when its signature changes, and keeps the old ones. Each is asked for by
 * its name and the version of CUDA from which on the signature here holds, of cuGetProcAddress, which the driver has from
 * 11.3 on (cuda_load.c says how it is called), or else by the symbol that this version has in the library, whose name no
 * driver changes after it is out (cuMemAlloc_v2). So each signature holds from the version that is told to 13.x at least;
 * 11.8 is the oldest that is supported.
 *
 *   cuGraphExecUpdate     the signature up to 11.8 (error node and result apart); 12.0 added _v2 (one struct), which is
 *                         preferred where it is
 *   cuGraphAddKernelNode, cuGraphExecKernelNodeSetParams
 *                         12.0 added _v2, which can name a context and a kernel of a library; the earlier ones serve
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

/* CUDA_KERNEL_NODE_PARAMS_v1 (10.0). */
struct cu_kernel_node {
  cu_handle function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
};

enum { CU_FUNC_MAX_DYNAMIC_SHARED = 8, CU_FUNC_SHARED = 1, CU_DEVICE_SHARED_OPTIN = 97 };

/* REQUIRED(field, name, ending of the library's symbol, version of CUDA that the signature is from, parameters);
   OPTIONAL ones may be NULL. 11020 is CUDA 11.2. */
/* clang-format off */
#define CUDA_DRIVER(REQUIRED, OPTIONAL) \
  REQUIRED(init, "cuInit", "", 2000, (unsigned flags)) \
  REQUIRED(driver_version, "cuDriverGetVersion", "", 2020, (int *version)) \
  REQUIRED(device_count, "cuDeviceGetCount", "", 2000, (int *count)) \
  REQUIRED(device_get, "cuDeviceGet", "", 2000, (cu_device *device, int ordinal)) \
  REQUIRED(device_name, "cuDeviceGetName", "", 2000, (char *name, int len, cu_device device)) \
  REQUIRED(device_total_mem, "cuDeviceTotalMem", "_v2", 3020, (size_t *bytes, cu_device device)) \
  REQUIRED(device_attribute, "cuDeviceGetAttribute", "", 2000, (int *value, int attribute, cu_device device)) \
  REQUIRED(primary_retain, "cuDevicePrimaryCtxRetain", "", 7000, (cu_context *context, cu_device device)) \
  REQUIRED(primary_reset, "cuDevicePrimaryCtxReset", "_v2", 11000, (cu_device device)) \
  OPTIONAL(can_access_peer, "cuDeviceCanAccessPeer", "", 4000, (int *can, cu_device device, cu_device peer)) \
  OPTIONAL(enable_peer, "cuCtxEnablePeerAccess", "", 4000, (cu_context peer, unsigned flags)) \
  REQUIRED(ctx_set_current, "cuCtxSetCurrent", "", 4000, (cu_context context)) \
  REQUIRED(ctx_synchronize, "cuCtxSynchronize", "", 2000, (void)) \
  REQUIRED(mem_info, "cuMemGetInfo", "_v2", 3020, (size_t *free, size_t *total)) \
  REQUIRED(mem_alloc, "cuMemAlloc", "_v2", 3020, (cu_deviceptr *ptr, size_t bytes)) \
  REQUIRED(mem_free, "cuMemFree", "_v2", 3020, (cu_deviceptr ptr)) \
  OPTIONAL(mem_alloc_async, "cuMemAllocAsync", "", 11020, (cu_deviceptr *ptr, size_t bytes, cu_handle stream)) \
  OPTIONAL(mem_free_async, "cuMemFreeAsync", "", 11020, (cu_deviceptr ptr, cu_handle stream)) \
  REQUIRED(host_alloc, "cuMemHostAlloc", "", 2020, (void **ptr, size_t bytes, unsigned flags)) \
  REQUIRED(host_free, "cuMemFreeHost", "", 2000, (void *ptr)) \
  REQUIRED(host_pointer, "cuMemHostGetDevicePointer", "_v2", 3020, (cu_deviceptr *ptr, void *host, unsigned flags)) \
  OPTIONAL(copy_peer, "cuMemcpyPeerAsync", "", 4000, (cu_deviceptr dst, cu_context dst_context, cu_deviceptr src, cu_context src_context, size_t bytes, cu_handle stream)) \
  REQUIRED(copy, "cuMemcpyAsync", "", 4000, (cu_deviceptr dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_in, "cuMemcpyHtoDAsync", "_v2", 3020, (cu_deviceptr dst, const void *src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_out, "cuMemcpyDtoHAsync", "_v2", 3020, (void *dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_within, "cuMemcpyDtoDAsync", "_v2", 3020, (cu_deviceptr dst, cu_deviceptr src, size_t bytes, cu_handle stream)) \
  REQUIRED(copy_2d, "cuMemcpy2DAsync", "_v2", 3020, (const struct cu_memcpy_2d *copy, cu_handle stream)) \
  REQUIRED(set_8, "cuMemsetD8Async", "", 3020, (cu_deviceptr dst, unsigned char value, size_t count, cu_handle stream)) \
  REQUIRED(set_16, "cuMemsetD16Async", "", 3020, (cu_deviceptr dst, unsigned short value, size_t count, cu_handle stream)) \
  REQUIRED(set_32, "cuMemsetD32Async", "", 3020, (cu_deviceptr dst, unsigned value, size_t count, cu_handle stream)) \
  REQUIRED(set_2d_8, "cuMemsetD2D8Async", "", 3020, (cu_deviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, cu_handle stream)) \
  REQUIRED(stream_create, "cuStreamCreate", "", 2000, (cu_handle *stream, unsigned flags)) \
  REQUIRED(stream_destroy, "cuStreamDestroy", "_v2", 4000, (cu_handle stream)) \
  REQUIRED(stream_synchronize, "cuStreamSynchronize", "", 2000, (cu_handle stream)) \
  REQUIRED(stream_query, "cuStreamQuery", "", 2000, (cu_handle stream)) \
  OPTIONAL(stream_write_32, "cuStreamWriteValue32", "_v2", 11070, (cu_handle stream, cu_deviceptr to, uint32_t value, unsigned flags)) \
  REQUIRED(stream_wait, "cuStreamWaitEvent", "", 3020, (cu_handle stream, cu_handle event, unsigned flags)) \
  REQUIRED(stream_callback, "cuStreamAddCallback", "", 5000, (cu_handle stream, void (*call)(cu_handle stream, cu_result status, void *user), void *user, unsigned flags)) \
  REQUIRED(event_create, "cuEventCreate", "", 2000, (cu_handle *event, unsigned flags)) \
  REQUIRED(event_destroy, "cuEventDestroy", "_v2", 4000, (cu_handle event)) \
  REQUIRED(event_record, "cuEventRecord", "", 2000, (cu_handle event, cu_handle stream)) \
  REQUIRED(event_synchronize, "cuEventSynchronize", "", 2000, (cu_handle event)) \
  REQUIRED(event_query, "cuEventQuery", "", 2000, (cu_handle event)) \
  REQUIRED(event_elapsed, "cuEventElapsedTime", "", 2000, (float *ms, cu_handle start, cu_handle stop)) \
  REQUIRED(module_load, "cuModuleLoadData", "", 2000, (cu_handle *module, const void *image)) \
  REQUIRED(module_unload, "cuModuleUnload", "", 2000, (cu_handle module)) \
  REQUIRED(module_function, "cuModuleGetFunction", "", 2000, (cu_handle *function, cu_handle module, const char *name)) \
  REQUIRED(module_global, "cuModuleGetGlobal", "_v2", 3020, (cu_deviceptr *ptr, size_t *bytes, cu_handle module, const char *name)) \
  REQUIRED(launch, "cuLaunchKernel", "", 4000, (cu_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, cu_handle stream, void **params, void **extra)) \
  REQUIRED(func_attribute, "cuFuncGetAttribute", "", 2020, (int *value, int attribute, cu_handle function)) \
  REQUIRED(func_set_attribute, "cuFuncSetAttribute", "", 9000, (cu_handle function, int attribute, int value)) \
  REQUIRED(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "", 6050, (int *blocks, cu_handle function, int block, size_t shared)) \
  REQUIRED(capture_begin, "cuStreamBeginCapture", "_v2", 10010, (cu_handle stream, int mode)) \
  REQUIRED(capture_end, "cuStreamEndCapture", "", 10000, (cu_handle stream, cu_handle *graph)) \
  REQUIRED(capture_status, "cuStreamIsCapturing", "", 10000, (cu_handle stream, int *status)) \
  REQUIRED(graph_instantiate, "cuGraphInstantiateWithFlags", "", 11040, (cu_handle *exec, cu_handle graph, unsigned long long flags)) \
  REQUIRED(graph_upload, "cuGraphUpload", "", 11010, (cu_handle exec, cu_handle stream)) \
  OPTIONAL(func_module, "cuFuncGetModule", "", 11000, (cu_handle *module, cu_handle function)) \
  OPTIONAL(graph_create, "cuGraphCreate", "", 10000, (cu_handle *graph, unsigned flags)) \
  OPTIONAL(graph_add_kernel, "cuGraphAddKernelNode", "", 10000, (cu_handle *node, cu_handle graph, const cu_handle *after, size_t nafter, const struct cu_kernel_node *params)) \
  OPTIONAL(exec_set_kernel, "cuGraphExecKernelNodeSetParams", "", 10000, (cu_handle exec, cu_handle node, const struct cu_kernel_node *params)) \
  REQUIRED(graph_launch, "cuGraphLaunch", "", 10000, (cu_handle exec, cu_handle stream)) \
  REQUIRED(graph_nodes, "cuGraphGetNodes", "", 10000, (cu_handle graph, cu_handle *nodes, size_t *count)) \
  REQUIRED(graph_destroy, "cuGraphDestroy", "", 10000, (cu_handle graph)) \
  REQUIRED(graph_exec_destroy, "cuGraphExecDestroy", "", 10000, (cu_handle exec)) \
  OPTIONAL(graph_exec_update, "cuGraphExecUpdate", "", 10020, (cu_handle exec, cu_handle graph, cu_handle *error_node, int *result)) \
  OPTIONAL(graph_exec_update_2, "cuGraphExecUpdate", "_v2", 12000, (cu_handle exec, cu_handle graph, struct cu_graph_update *update))

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

#define CUDA_DRIVER_FIELD(field, name, ending, since, parameters) cu_result(*field) parameters;
struct cuda_driver {
  CUDA_DRIVER(CUDA_DRIVER_FIELD, CUDA_DRIVER_FIELD)
};
#undef CUDA_DRIVER_FIELD

extern struct cuda_driver cuda_driver; /* filled once by the provider's load, read-only after */

/* Fills it; false with the reason as a sentence. */
int cuda_driver_load(char *reason, size_t len);

#endif
