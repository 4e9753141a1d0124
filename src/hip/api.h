/*
 * api.h - the driver interface: one table of function pointers with HIP's names and HIP's meaning.
 *
 * The server reaches a device only through `struct hip_api`. A provider (rocm.c, cuda.c, ../cpu/provider.c)
 * fills one table and knows nothing of the server; the wrappers put themselves around any table. So the
 * list below is a contract: where it is silent, HIP's reference holds. Rules for all entries:
 *
 *   - the result is an error code; out-parameters are written only on hip_Success;
 *   - all may be called from any thread; the device is the calling thread's (hipSetDevice), except
 *     that a stream, event, module or function handle brings its own;
 *   - no entry prints, exits, aborts, or raises a signal in the caller, whatever it is given, except that
 *     a handle which was destroyed is the caller's fault (validate.c finds it);
 *   - "enqueues" means: returns before the work is done, work of one stream runs in order.
 *
 * REQUIRED entries are never NULL in a loaded table. OPTIONAL ones may be: the server tests them.
 * Entries whose name begins with hipx are ours, for what HIP has no function for. The list gives each entry's name,
 * its parameters, and the same as the arguments of a call that passes them on, from which wrappers are made.
 */
#ifndef LUHIP_HIP_API_H
#define LUHIP_HIP_API_H

#include <stdbool.h>

#include "hip/types.h"

/* ---- what hipxCompile takes and gives ---------------------------------------------------------------- */

/* One __global__ function to be made launchable. */
struct hip_compile_kernel {
  const char *expression; /* how C++ names it at the end of the source: "axpy", "ns::scale<float, 4>" */
  int c_linkage;          /* non-zero: declared extern "C", so the lowered name is the name itself */
  int optional;           /* non-zero: may be missing (inside a false #if): lowered name NULL, no error */
};

struct hip_compile_request {
  const char *source;              /* whole text, NUL-terminated, prelude and markers included */
  const char *name;                /* program name that log lines must carry: "axpy.hip" */
  const char *arch;                /* as hipxDeviceArch gives it */
  const char *const *header_names; /* headers given as text, found by #include "x" and <x> */
  const char *const *header_texts;
  size_t headers;
  const char *const *options; /* in the compiler driver's common spelling: -I dir, -O2, -ffast-math ... */
  size_t noptions;
  const struct hip_compile_kernel *kernels; /* see ../kernel/markers.h for how the source marks them */
  size_t nkernels;
  unsigned timeout_ms; /* 0: none */
};

/* All pointers are owned by the provider until hipxCompileFree. A failed compile is hip_ErrorInvalidSource
   with a log; an arch that the compiler does not know, or options it must not get, are hip_ErrorInvalidDevice and
   hip_ErrorInvalidValue; a compiler that cannot be had is hip_ErrorFileNotFound, one that ran too long
   hip_ErrorLaunchTimeOut, one that crashed hip_ErrorUnknown; the log says why in words. */
struct hip_compile_result {
  void *code; /* an ELF image that hipModuleLoadData takes */
  size_t code_bytes;
  char *log;           /* compiler output, "" when none; lines name the program by request->name */
  char **lowered;      /* [nkernels]: name for hipModuleGetFunction, NULL when left out */
  char **dependencies; /* files read from include dirs, NULL-terminated, for the caches; NULL: not known */
};

/* ---- launches that come again and again --------------------------------------------------------------- */

/* The caller's note for hipxLaunchAgain of one kernel: zeros at first, the provider's from then on. */
struct hip_again {
  uint64_t owner;
  uint32_t place, patience;
};

/* ---- faults of the device that it survives (the CPU device) ------------------------------------------ */

enum hip_fault_kind {
  HIP_FAULT_NONE = 0,
  HIP_FAULT_ADDRESS, /* read or write outside every buffer */
  HIP_FAULT_STACK,   /* stack overflow of one thread */
  HIP_FAULT_DIVIDE,  /* integer division by zero, or of the smallest by -1 (traps on x86, garbage on a GPU) */
  HIP_FAULT_TRAP,    /* __builtin_trap, abort, an illegal instruction */
  HIP_FAULT_ASSERT,  /* assert(...) failed */
  HIP_FAULT_TIMEOUT, /* the watchdog ended an endless kernel */
  HIP_FAULT_BARRIER  /* checked mode: a barrier that only some threads of a block reach */
};

struct hip_fault {
  enum hip_fault_kind kind;
  uint64_t tag;    /* of the launch (hipxLaunchTag) */
  char kernel[96]; /* kernel name, cut if longer */
  uint32_t block[3];
  int32_t thread[3];    /* -1 -1 -1 where it is not known */
  int is_write;         /* HIP_FAULT_ADDRESS: 1 write, 0 read, -1 unknown */
  uintptr_t address;    /* UINTPTR_MAX: not known (misaligned, or an address that cannot exist) */
  uintptr_t nearest;    /* base of the nearest live device allocation, 0 when none is near */
  size_t nearest_bytes; /* its requested size */
  char text[256];       /* assert's expression and file:line; otherwise a short phrase */
};

/* ---- the table ---------------------------------------------------------------------------------------- */

/* clang-format off */
#define HIP_API(REQUIRED, OPTIONAL) \
  /* Devices. */ \
  REQUIRED(hipInit, (unsigned int flags), (flags))                           /* idempotent; flags are 0 */ \
  REQUIRED(hipGetDeviceCount, (int *count), (count))                         /* hip_ErrorNoDevice when there is none */ \
  REQUIRED(hipSetDevice, (int device), (device))                             /* the calling thread's current device */ \
  REQUIRED(hipGetDevice, (int *device), (device))                            /* what hipSetDevice set, 0 before */ \
  REQUIRED(hipDeviceGetName, (char *name, int len, hip_device_t device), (name, len, device)) /* cut to len, always terminated */ \
  REQUIRED(hipDeviceTotalMem, (size_t *bytes, hip_device_t device), (bytes, device)) /* bytes of device memory */ \
  REQUIRED(hipDeviceGetAttribute, (int *value, hip_device_attribute_t attribute, int device), (value, attribute, device)) /* hip_ErrorInvalidValue: unknown here */ \
  REQUIRED(hipDriverGetVersion, (int *version), (version))                   /* the provider's own number */ \
  REQUIRED(hipDeviceSynchronize, (void), ())                                 /* host waits for all streams of the device */ \
  REQUIRED(hipGetLastError, (void), ())                                      /* returns and clears the thread's last error */ \
  REQUIRED(hipMemGetInfo, (size_t *free, size_t *total), (free, total))      /* bytes */ \
  /* Memory. */ \
  REQUIRED(hipMalloc, (void **ptr, size_t bytes), (ptr, bytes))              /* 256-byte aligned; contents undefined; 0 bytes gives NULL */ \
  REQUIRED(hipFree, (void *ptr), (ptr))                                      /* NULL is a no-op; waits for the device like HIP's */ \
  REQUIRED(hipHostMalloc, (void **ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags)) /* pinned host memory */ \
  REQUIRED(hipHostFree, (void *ptr), (ptr)) \
  REQUIRED(hipMemcpyAsync, (void *dst, const void *src, size_t bytes, hip_memcpy_kind_t kind, hip_stream_t stream), (dst, src, bytes, kind, stream)) /* enqueues; host side pinned, or pageable and then staged before return */ \
  REQUIRED(hipMemcpy2DAsync, (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, hip_memcpy_kind_t kind, hip_stream_t stream), (dst, dpitch, src, spitch, width, height, kind, stream)) /* width, pitches in bytes; width > pitch is hip_ErrorInvalidPitchValue */ \
  REQUIRED(hipMemsetAsync, (void *dst, int value, size_t bytes, hip_stream_t stream), (dst, value, bytes, stream)) /* low byte of value */ \
  REQUIRED(hipMemset2DAsync, (void *dst, size_t pitch, int value, size_t width, size_t height, hip_stream_t stream), (dst, pitch, value, width, height, stream)) \
  REQUIRED(hipMemsetD16Async, (hip_deviceptr_t dst, unsigned short value, size_t count, hip_stream_t stream), (dst, value, count, stream)) /* count of 16-bit words; dst aligned */ \
  REQUIRED(hipMemsetD32Async, (hip_deviceptr_t dst, int value, size_t count, hip_stream_t stream), (dst, value, count, stream)) /* count of 32-bit words; dst aligned */ \
  /* Streams and events. */ \
  REQUIRED(hipStreamCreateWithFlags, (hip_stream_t *stream, unsigned int flags), (stream, flags)) \
  REQUIRED(hipStreamDestroy, (hip_stream_t stream), (stream))                /* pending work still runs */ \
  REQUIRED(hipStreamSynchronize, (hip_stream_t stream), (stream))            /* host waits */ \
  REQUIRED(hipStreamQuery, (hip_stream_t stream), (stream))                  /* hip_Success or hip_ErrorNotReady */ \
  REQUIRED(hipStreamWaitEvent, (hip_stream_t stream, hip_event_t event, unsigned int flags), (stream, event, flags)) /* device-side; an unrecorded event does not block */ \
  REQUIRED(hipStreamAddCallback, (hip_stream_t stream, hip_stream_callback_t callback, void *user, unsigned int flags), (stream, callback, user, flags)) /* runs on a driver thread; may not call the table */ \
  REQUIRED(hipEventCreateWithFlags, (hip_event_t *event, unsigned flags), (event, flags)) \
  REQUIRED(hipEventDestroy, (hip_event_t event), (event))                    /* legal while recorded and pending */ \
  REQUIRED(hipEventRecord, (hip_event_t event, hip_stream_t stream), (event, stream)) /* again: the earlier record is forgotten */ \
  REQUIRED(hipEventSynchronize, (hip_event_t event), (event))                /* host waits; unrecorded: returns at once */ \
  REQUIRED(hipEventQuery, (hip_event_t event), (event))                      /* hip_Success or hip_ErrorNotReady */ \
  REQUIRED(hipEventElapsedTime, (float *ms, hip_event_t start, hip_event_t stop), (ms, start, stop)) /* hip_ErrorInvalidHandle: not recorded; hip_ErrorNotReady */ \
  /* Modules and launches. */ \
  REQUIRED(hipModuleLoadData, (hip_module_t *module, const void *image), (module, image)) /* hip_ErrorInvalidImage, hip_ErrorNoBinaryForGpu */ \
  REQUIRED(hipModuleUnload, (hip_module_t module), (module))                 /* the caller waits for its launches first */ \
  REQUIRED(hipModuleGetFunction, (hip_function_t *function, hip_module_t module, const char *name), (function, module, name)) /* lowered name; hip_ErrorNotFound */ \
  REQUIRED(hipModuleGetGlobal, (hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name), (ptr, bytes, module, name)) /* hip_ErrorNotFound */ \
  REQUIRED(hipModuleLaunchKernel, (hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params, void **extra), (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)) /* enqueues; params copied before return; limits checked: hip_ErrorInvalidConfiguration */ \
  REQUIRED(hipFuncGetAttribute, (int *value, hip_func_attribute_t attribute, hip_function_t function), (value, attribute, function)) \
  OPTIONAL(hipFuncSetAttribute, (const void *function, hip_func_setting_t attribute, int value), (function, attribute, value)) /* function is hipModuleGetFunction's; only where SharedMemPerBlockOptin is more than MaxSharedMemoryPerBlock */ \
  REQUIRED(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, hip_function_t function, int block, size_t shared), (blocks, function, block, shared)) \
  /* Devices of one provider with each other: all three or none. */ \
  OPTIONAL(hipDeviceCanAccessPeer, (int *can, int device, int peer), (can, device, peer))         /* 1: work on device may touch memory of peer; 0 for itself */ \
  OPTIONAL(hipDeviceEnablePeerAccess, (int peer, unsigned int flags), (peer, flags))        /* from the current device; flags 0; hip_ErrorPeerAccessAlreadyEnabled */ \
  OPTIONAL(hipMemcpyPeerAsync, (void *dst, int dst_device, const void *src, int src_device, size_t bytes, hip_stream_t stream), (dst, dst_device, src, src_device, bytes, stream)) /* enqueues on a stream of either */ \
  /* Stream-ordered memory: both or none. */ \
  OPTIONAL(hipMallocAsync, (void **ptr, size_t bytes, hip_stream_t stream), (ptr, bytes, stream))  /* for work enqueued on the stream after it */ \
  OPTIONAL(hipFreeAsync, (void *ptr, hip_stream_t stream), (ptr, stream))                   /* when what was enqueued on the stream before has passed */ \
  OPTIONAL(hipHostGetDevicePointer, (void **device, void *host, unsigned int flags), (device, host, flags)) /* where kernels find memory of hipHostMalloc with hip_HostMallocMapped */ \
  /* Graphs: all of them, but for hipGraphUpload, or none. None where the runtime does not capture launches of modules: \
     there they would run at once. */ \
  OPTIONAL(hipStreamBeginCapture, (hip_stream_t stream, hip_stream_capture_mode_t mode), (stream, mode)) /* work enqueued from now on is noted and does not run */ \
  OPTIONAL(hipStreamEndCapture, (hip_stream_t stream, hip_graph_t *graph), (stream, graph))    /* hip_ErrorStreamCaptureInvalidated: something could not be captured; the stream works on */ \
  OPTIONAL(hipStreamIsCapturing, (hip_stream_t stream, hip_stream_capture_status_t *status), (stream, status)) \
  OPTIONAL(hipGraphInstantiate, (hip_graph_exec_t *exec, hip_graph_t graph, hip_graph_node_t *error_node, char *log, size_t log_bytes), (exec, graph, error_node, log, log_bytes)) \
  OPTIONAL(hipGraphUpload, (hip_graph_exec_t exec, hip_stream_t stream), (exec, stream)) \
  OPTIONAL(hipGraphLaunch, (hip_graph_exec_t exec, hip_stream_t stream), (exec, stream))       /* enqueues; faults carry the tag of the launching thread plus the one that the node was captured under */ \
  OPTIONAL(hipGraphGetNodes, (hip_graph_t graph, hip_graph_node_t *nodes, size_t *count), (graph, nodes, count)) /* nodes NULL: only counts */ \
  OPTIONAL(hipGraphDestroy, (hip_graph_t graph), (graph)) \
  OPTIONAL(hipGraphExecDestroy, (hip_graph_exec_t exec), (exec))                               /* legal while launches are pending */ \
  OPTIONAL(hipGraphExecUpdate, (hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node, hip_graph_exec_update_result_t *result), (exec, graph, error_node, result)) /* for launches to come; hip_ErrorGraphExecUpdateFailure leaves it as it was */ \
  /* Ours. */ \
  REQUIRED(hipxDeviceArch, (char *arch, int len, hip_device_t device), (arch, len, device)) /* "gfx90a:sramecc+:xnack-", "sm_90", "x86-64-znver4/32" */ \
  REQUIRED(hipxToolchain, (char *identity, size_t len, hip_device_t device), (identity, len, device)) /* names the compiler for cache keys without starting it; hip_ErrorFileNotFound with the reason as text */ \
  REQUIRED(hipxCompile, (const struct hip_compile_request *request, struct hip_compile_result *result), (request, result)) /* result valid on every return */ \
  REQUIRED(hipxCompileFree, (struct hip_compile_result *result), (result))   /* idempotent */ \
  OPTIONAL(hipxPreprocess, (const struct hip_compile_request *request, struct hip_compile_result *result), (request, result)) /* result->code is the expanded text, user lines only */ \
  OPTIONAL(hipxLaunchTag, (uint64_t tag), (tag))                             /* what this thread enqueues from now on carries tag into faults */ \
  OPTIONAL(hipxLaunchTimed, (hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params, void **extra, hip_event_t start, hip_event_t stop), (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra, start, stop)) /* hipModuleLaunchKernel between the records of two events, which both come when it ends; not while capturing */ \
  OPTIONAL(hipxStreamWrite32, (hip_stream_t stream, uint32_t *host, uint32_t value), (stream, host, value)) /* enqueues: the stream writes a word of pinned memory, behind all that it wrote before; there where seeing that is quicker than hipStreamQuery */ \
  OPTIONAL(hipxLaunchAgain, (struct hip_again *again, int same, int idle, hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params), (again, same, idle, function, gx, gy, gz, bx, by, bz, shared, stream, params)) /* hipModuleLaunchKernel of what is launched again and again, where that can be made cheaper; same: params hold what they held at the call before with this note; idle: the device has nothing to do, so that what is made for the note may wait for it; one note at a time by one thread; not while capturing */ \
  OPTIONAL(hipxLaunchForget, (struct hip_again *again), (again))             /* lets go of what was kept for the note, which is as at first then; legal while launches are pending; unloading the module does the same */ \
  OPTIONAL(hipxTakeFault, (struct hip_fault *fault), (fault))                /* oldest fault of the current device, removed; hip_ErrorNotFound when none */ \
  OPTIONAL(hipxSetChecked, (int on), (on))                                   /* current device: buffers end at a guard page; 1 on, 0 off; affects later hipMalloc */ \
  OPTIONAL(hipxSetTimeout, (unsigned int ms), (ms))                          /* current device: watchdog for one launch; 0 none */ \
  OPTIONAL(hipxSetWriter, (void (*writer)(void *user, const char *text, size_t bytes), void *user), (writer, user)) /* where device printf goes; NULL: stdout */
/* clang-format on */

struct hip_api {
#define HIP_API_FIELD(name, parameters, arguments) hip_error_t(*name) parameters;
  HIP_API(HIP_API_FIELD, HIP_API_FIELD)
#undef HIP_API_FIELD
};

/* ---- providers ------------------------------------------------------------------------------------------ */

/* One back end. `load` is idempotent and thread-safe: it returns the filled table, or NULL and says why in
   `reason` (a sentence). `ordinal` turns what follows "name:" in a device id into an ordinal, -1 when it
   names none ("0" -> 0, "0/64" -> 1 on the CPU); `id` is its inverse and writes the whole id. `listed` is
   the number of ordinals that luhip.devices() shows (the rest are reached by id alone). */
struct hip_provider {
  const char *name;
  const struct hip_api *(*load)(char *reason, size_t len);
  int (*ordinal)(const char *suffix);
  void (*id)(int ordinal, char *text, size_t len);
  int (*listed)(void);
  const char *ids; /* the ids that it has, for who gave another */
  /* Not 0: what leaves an allocation is found out, so the server does not cut memory into buffers unless it is asked to. */
  int guards_allocations;
};

/* All providers built in, in order of preference (rocm, cuda, cpu); NULL-terminated. */
extern const struct hip_provider *const hip_providers[];

/* The provider's table, as its `load` gives it, inside what hip_wrapper makes of it. Everybody who opens devices goes
   this way. */
const struct hip_api *hip_load(const struct hip_provider *provider, char *reason, size_t len);

/* Puts a table around a provider's table: the same one each time. NULL, which it is but for specs and figures: none.
   Set before the first device is opened. */
extern const struct hip_api *(*hip_wrapper)(const struct hip_provider *provider, const struct hip_api *api);

/* "hipErrorOutOfMemory" for a code; "hipError <n>" is never returned: unknown codes give "hipErrorUnknown". */
const char *hip_error_name(hip_error_t error);
/* Whether the driver refuses everything on the device after this one. */
bool hip_error_is_sticky(hip_error_t error);

#endif
