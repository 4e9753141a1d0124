/*
 * types.h - the words of the driver interface, in our own spelling.
 *
 * Handles are opaque and values are HIP's own, but nothing here includes a HIP header: struct layouts
 * and some values changed between ROCm 5, 6 and 7, and a machine without ROCm has no such header at all.
 * Every name differs from HIP's by an underscore (`hip_Success` for `hipSuccess`, `hip_stream_t` for
 * `hipStream_t`), so that one translation unit may include both: spec/hip_api_spec.lua compiles such a
 * unit and holds every value and signature to the installed headers.
 */
#ifndef LUHIP_HIP_TYPES_H
#define LUHIP_HIP_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* X(name, value): the error codes a provider may return; `hip_<name>` here, `hip<name>` in HIP. */
#define HIP_ERRORS(X)                                                                                                  \
  X(Success, 0)                                                                                                        \
  X(ErrorInvalidValue, 1)                                                                                              \
  X(ErrorOutOfMemory, 2)                                                                                               \
  X(ErrorNotInitialized, 3)                                                                                            \
  X(ErrorDeinitialized, 4)                                                                                             \
  X(ErrorInvalidConfiguration, 9)                                                                                      \
  X(ErrorInvalidPitchValue, 12)                                                                                        \
  X(ErrorInvalidSymbol, 13)                                                                                            \
  X(ErrorInvalidDevicePointer, 17)                                                                                     \
  X(ErrorInvalidMemcpyDirection, 21)                                                                                   \
  X(ErrorInsufficientDriver, 35)                                                                                       \
  X(ErrorPriorLaunchFailure, 53)                                                                                       \
  X(ErrorInvalidDeviceFunction, 98)                                                                                    \
  X(ErrorNoDevice, 100)                                                                                                \
  X(ErrorInvalidDevice, 101)                                                                                           \
  X(ErrorInvalidImage, 200)                                                                                            \
  X(ErrorInvalidContext, 201)                                                                                          \
  X(ErrorNoBinaryForGpu, 209)                                                                                          \
  X(ErrorPeerAccessUnsupported, 217)                                                                                   \
  X(ErrorInvalidKernelFile, 218)                                                                                       \
  X(ErrorInvalidSource, 300)                                                                                           \
  X(ErrorFileNotFound, 301)                                                                                            \
  X(ErrorSharedObjectInitFailed, 303)                                                                                  \
  X(ErrorOperatingSystem, 304)                                                                                         \
  X(ErrorInvalidHandle, 400)                                                                                           \
  X(ErrorIllegalState, 401)                                                                                            \
  X(ErrorNotFound, 500)                                                                                                \
  X(ErrorNotReady, 600)                                                                                                \
  X(ErrorIllegalAddress, 700)                                                                                          \
  X(ErrorLaunchOutOfResources, 701)                                                                                    \
  X(ErrorLaunchTimeOut, 702)                                                                                           \
  X(ErrorPeerAccessAlreadyEnabled, 704)                                                                                \
  X(ErrorPeerAccessNotEnabled, 705)                                                                                    \
  X(ErrorContextIsDestroyed, 709)                                                                                      \
  X(ErrorAssert, 710)                                                                                                  \
  X(ErrorHostMemoryAlreadyRegistered, 712)                                                                             \
  X(ErrorHostMemoryNotRegistered, 713)                                                                                 \
  X(ErrorLaunchFailure, 719)                                                                                           \
  X(ErrorNotSupported, 801)                                                                                            \
  X(ErrorStreamCaptureUnsupported, 900)                                                                                \
  X(ErrorStreamCaptureInvalidated, 901)                                                                                \
  X(ErrorGraphExecUpdateFailure, 910)                                                                                  \
  X(ErrorUnknown, 999)

typedef enum hip_error {
#define X(name, value) hip_##name = value,
  HIP_ERRORS(X)
#undef X
} hip_error_t;

/* X(name, value): device attributes; `hip_DeviceAttribute<name>` here, `hipDeviceAttribute<name>` in HIP. */
#define HIP_ATTRIBUTES(X)                                                                                              \
  X(AsyncEngineCount, 2)                                                                                               \
  X(CanMapHostMemory, 3)                                                                                               \
  X(ClockRate, 5)                                                                                                      \
  X(ConcurrentKernels, 8)                                                                                              \
  X(CooperativeLaunch, 10)                                                                                             \
  X(Integrated, 16)                                                                                                    \
  X(L2CacheSize, 19)                                                                                                   \
  X(ComputeCapabilityMajor, 23)                                                                                        \
  X(ManagedMemory, 24)                                                                                                 \
  X(MaxBlockDimX, 26)                                                                                                  \
  X(MaxBlockDimY, 27)                                                                                                  \
  X(MaxBlockDimZ, 28)                                                                                                  \
  X(MaxGridDimX, 29)                                                                                                   \
  X(MaxGridDimY, 30)                                                                                                   \
  X(MaxGridDimZ, 31)                                                                                                   \
  X(MaxThreadsPerBlock, 56)                                                                                            \
  X(MaxThreadsPerMultiProcessor, 57)                                                                                   \
  X(MaxPitch, 58)                                                                                                      \
  X(MemoryBusWidth, 59)                                                                                                \
  X(MemoryClockRate, 60)                                                                                               \
  X(ComputeCapabilityMinor, 61)                                                                                        \
  X(MultiprocessorCount, 63)                                                                                           \
  X(MaxRegistersPerBlock, 71)                                                                                          \
  X(MaxSharedMemoryPerBlock, 74)                                                                                       \
  X(SharedMemPerBlockOptin, 75)                                                                                        \
  X(TextureAlignment, 81)                                                                                              \
  X(TexturePitchAlignment, 82)                                                                                         \
  X(TotalConstantMemory, 83)                                                                                           \
  X(UnifiedAddressing, 85)                                                                                             \
  X(WarpSize, 87)

typedef enum hip_device_attribute {
#define X(name, value) hip_DeviceAttribute##name = value,
  HIP_ATTRIBUTES(X)
#undef X
} hip_device_attribute_t;

/* X(name, value): what hipFuncGetAttribute tells of a kernel; `HIP_FUNC_ATTRIBUTE_<name>` in HIP. */
#define HIP_FUNC_ATTRIBUTES(X)                                                                                         \
  X(MAX_THREADS_PER_BLOCK, 0)                                                                                          \
  X(SHARED_SIZE_BYTES, 1)                                                                                              \
  X(CONST_SIZE_BYTES, 2)                                                                                               \
  X(LOCAL_SIZE_BYTES, 3)                                                                                               \
  X(NUM_REGS, 4)                                                                                                       \
  X(MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)

typedef enum hip_func_attribute {
#define X(name, value) hip_FUNC_ATTRIBUTE_##name = value,
  HIP_FUNC_ATTRIBUTES(X)
#undef X
} hip_func_attribute_t;

/* X(name, value): what hipFuncSetAttribute sets; `hip_FuncAttribute<name>` here, `hipFuncAttribute<name>` in HIP. */
#define HIP_FUNC_SETTINGS(X)                                                                                           \
  X(MaxDynamicSharedMemorySize, 8)                                                                                     \
  X(PreferredSharedMemoryCarveout, 9)

typedef enum hip_func_setting {
#define X(name, value) hip_FuncAttribute##name = value,
  HIP_FUNC_SETTINGS(X)
#undef X
} hip_func_setting_t;

/* X(name, value): copy directions; `hip_<name>` here, `hip<name>` in HIP. */
#define HIP_MEMCPY_KINDS(X)                                                                                            \
  X(MemcpyHostToHost, 0)                                                                                               \
  X(MemcpyHostToDevice, 1)                                                                                             \
  X(MemcpyDeviceToHost, 2)                                                                                             \
  X(MemcpyDeviceToDevice, 3)                                                                                           \
  X(MemcpyDefault, 4)

typedef enum hip_memcpy_kind {
#define X(name, value) hip_##name = value,
  HIP_MEMCPY_KINDS(X)
#undef X
} hip_memcpy_kind_t;

/* X(name, value): flag bits that HIP spells as macros; `hip_<name>` here, `hip<name>` in HIP. */
#define HIP_FLAGS(X)                                                                                                   \
  X(HostMallocDefault, 0)                                                                                              \
  X(HostMallocPortable, 1)                                                                                             \
  X(HostMallocMapped, 2)                                                                                               \
  X(EventDefault, 0)                                                                                                   \
  X(EventBlockingSync, 1)                                                                                              \
  X(EventDisableTiming, 2)                                                                                             \
  X(StreamDefault, 0)                                                                                                  \
  X(StreamNonBlocking, 1)

enum hip_flag {
#define X(name, value) hip_##name = value,
  HIP_FLAGS(X)
#undef X
};

/* X(name, value): how far a capture keeps others from the driver; `hip_<name>` here, `hip<name>` in HIP. */
#define HIP_CAPTURE_MODES(X)                                                                                           \
  X(StreamCaptureModeGlobal, 0)                                                                                        \
  X(StreamCaptureModeThreadLocal, 1)                                                                                   \
  X(StreamCaptureModeRelaxed, 2)

typedef enum hip_stream_capture_mode {
#define X(name, value) hip_##name = value,
  HIP_CAPTURE_MODES(X)
#undef X
} hip_stream_capture_mode_t;

#define HIP_CAPTURE_STATUSES(X)                                                                                        \
  X(StreamCaptureStatusNone, 0)                                                                                        \
  X(StreamCaptureStatusActive, 1)                                                                                      \
  X(StreamCaptureStatusInvalidated, 2)

typedef enum hip_stream_capture_status {
#define X(name, value) hip_##name = value,
  HIP_CAPTURE_STATUSES(X)
#undef X
} hip_stream_capture_status_t;

/* X(name, value): why an instantiated graph cannot become another one. */
#define HIP_GRAPH_UPDATES(X)                                                                                           \
  X(GraphExecUpdateSuccess, 0)                                                                                         \
  X(GraphExecUpdateError, 1)                                                                                           \
  X(GraphExecUpdateErrorTopologyChanged, 2)                                                                            \
  X(GraphExecUpdateErrorNodeTypeChanged, 3)                                                                            \
  X(GraphExecUpdateErrorFunctionChanged, 4)                                                                            \
  X(GraphExecUpdateErrorParametersChanged, 5)                                                                          \
  X(GraphExecUpdateErrorNotSupported, 6)

typedef enum hip_graph_exec_update_result {
#define X(name, value) hip_##name = value,
  HIP_GRAPH_UPDATES(X)
#undef X
} hip_graph_exec_update_result_t;

typedef int hip_device_t;                     /* an ordinal */
typedef void *hip_deviceptr_t;                /* an address in device memory */
typedef struct hip_stream_impl *hip_stream_t; /* NULL is never used: the server owns every stream it uses */
typedef struct hip_event_impl *hip_event_t;
typedef struct hip_module_impl *hip_module_t;
typedef struct hip_function_impl *hip_function_t;
typedef struct hip_graph_impl *hip_graph_t;           /* what a capture gives: a template */
typedef struct hip_graph_exec_impl *hip_graph_exec_t; /* what is made of it and can be launched */
typedef struct hip_graph_node_impl *hip_graph_node_t;
typedef void (*hip_stream_callback_t)(hip_stream_t stream, hip_error_t status, void *user);

#endif
