/*
 * cuda.c - NVIDIA GPUs: HIP's table over the CUDA driver, which is found by dlopen.
 *
 * HIP's calls are named after CUDA's and mean the same; handles are the driver's own, by address. What differs: the
 * numbers of attributes and of some errors, contexts (cuda_context.c), host sides of copies (cuda_memory.c), and shared
 * memory above 48 KiB, which a kernel must ask for: it is allowed for every function when it is looked up, so that a
 * launch is one call.
 *
 * Loading starts the driver (cuInit) and makes no context: that is the first hipSetDevice.
 */
#include "hip/cuda.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hip_api table;
static char failure[256]; /* why there is no table; "" when there is one */
static int devices;

/* ---- devices ------------------------------------------------------------------------------------------------- */

static hip_error_t init(unsigned int flags) {
  return flags ? cuda_refuse(hip_ErrorInvalidValue) : hip_Success;
}

static hip_error_t get_device_count(int *count) {
  if (!count) return cuda_refuse(hip_ErrorInvalidValue);
  *count = devices;
  return hip_Success;
}

static hip_error_t find_device(hip_device_t ordinal, cu_device *device) {
  if (ordinal < 0 || ordinal >= devices) return cuda_refuse(hip_ErrorInvalidDevice);
  return cuda_note(cuda_driver.device_get(device, ordinal));
}

static hip_error_t device_get_name(char *name, int len, hip_device_t ordinal) {
  cu_device device;
  if (!name || len <= 0) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = find_device(ordinal, &device);
  return rc == hip_Success ? cuda_note(cuda_driver.device_name(name, len, device)) : rc;
}

static hip_error_t device_total_mem(size_t *bytes, hip_device_t ordinal) {
  cu_device device;
  if (!bytes) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = find_device(ordinal, &device);
  return rc == hip_Success ? cuda_note(cuda_driver.device_total_mem(bytes, device)) : rc;
}

/* X(HIP's name, CUDA's number). */
#define CUDA_ATTRIBUTES(X)                                                                                             \
  X(AsyncEngineCount, 40)                                                                                              \
  X(CanMapHostMemory, 19)                                                                                              \
  X(ClockRate, 13)                                                                                                     \
  X(ConcurrentKernels, 31)                                                                                             \
  X(CooperativeLaunch, 95)                                                                                             \
  X(Integrated, 18)                                                                                                    \
  X(L2CacheSize, 38)                                                                                                   \
  X(ComputeCapabilityMajor, 75)                                                                                        \
  X(ManagedMemory, 83)                                                                                                 \
  X(MaxBlockDimX, 2)                                                                                                   \
  X(MaxBlockDimY, 3)                                                                                                   \
  X(MaxBlockDimZ, 4)                                                                                                   \
  X(MaxGridDimX, 5)                                                                                                    \
  X(MaxGridDimY, 6)                                                                                                    \
  X(MaxGridDimZ, 7)                                                                                                    \
  X(MaxThreadsPerBlock, 1)                                                                                             \
  X(MaxThreadsPerMultiProcessor, 39)                                                                                   \
  X(MaxPitch, 11)                                                                                                      \
  X(MemoryBusWidth, 37)                                                                                                \
  X(MemoryClockRate, 36)                                                                                               \
  X(ComputeCapabilityMinor, 76)                                                                                        \
  X(MultiprocessorCount, 16)                                                                                           \
  X(MaxRegistersPerBlock, 12)                                                                                          \
  X(MaxSharedMemoryPerBlock, 8)                                                                                        \
  X(SharedMemPerBlockOptin, 97)                                                                                        \
  X(TextureAlignment, 14)                                                                                              \
  X(TexturePitchAlignment, 51)                                                                                         \
  X(TotalConstantMemory, 9)                                                                                            \
  X(UnifiedAddressing, 41)                                                                                             \
  X(WarpSize, 10)

static hip_error_t device_get_attribute(int *value, hip_device_attribute_t attribute, int ordinal) {
  cu_device device;
  if (!value) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = find_device(ordinal, &device);
  if (rc != hip_Success) return rc;
  switch (attribute) {
#define X(name, number)                                                                                                \
  case hip_DeviceAttribute##name:                                                                                      \
    return cuda_note(cuda_driver.device_attribute(value, number, device));
    CUDA_ATTRIBUTES(X)
#undef X
  }
  return cuda_refuse(hip_ErrorInvalidValue);
}

static hip_error_t driver_get_version(int *version) {
  if (!version) return cuda_refuse(hip_ErrorInvalidValue);
  return cuda_note(cuda_driver.driver_version(version));
}

static hip_error_t device_synchronize(void) {
  hip_error_t rc = cuda_enter();
  return rc == hip_Success ? cuda_note(cuda_driver.ctx_synchronize()) : rc;
}

static hip_error_t device_arch(char *arch, int len, hip_device_t ordinal) {
  int major = 0, minor = 0;
  if (!arch || len <= 0) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = device_get_attribute(&major, hip_DeviceAttributeComputeCapabilityMajor, ordinal);
  if (rc == hip_Success) rc = device_get_attribute(&minor, hip_DeviceAttributeComputeCapabilityMinor, ordinal);
  if (rc == hip_Success) snprintf(arch, (size_t)len, "sm_%d%d", major, minor);
  return rc;
}

/* ---- streams and events -------------------------------------------------------------------------------------- */

static hip_error_t stream_synchronize(hip_stream_t stream) {
  return cuda_note(cuda_driver.stream_synchronize(stream));
}

/* What kernels print comes out when the host waits by one of the driver's functions for that, and not when it asks. So
   once a module was loaded that prints, whoever is told that something has passed has waited for it too. */
static int printing; /* atomic */

static bool is_printing(void) {
  return __builtin_expect(__atomic_load_n(&printing, __ATOMIC_ACQUIRE), 0);
}

/* The default is a write behind a barrier for the whole system. Pinned memory has the same address everywhere. */
static hip_error_t stream_write_32(hip_stream_t stream, uint32_t *host, uint32_t value) {
  if (is_printing()) return cuda_refuse(hip_ErrorNotSupported);
  return cuda_note(cuda_driver.stream_write_32(stream, (cu_deviceptr)(uintptr_t)host, value, 0));
}

static hip_error_t stream_query(hip_stream_t stream) {
  cu_result rc = cuda_driver.stream_query(stream);
  if (rc == 0 && is_printing()) rc = cuda_driver.stream_synchronize(stream);
  return cuda_note(rc);
}

static hip_error_t stream_wait_event(hip_stream_t stream, hip_event_t event, unsigned int flags) {
  return cuda_note(cuda_driver.stream_wait(stream, event, flags));
}

struct callback {
  hip_stream_callback_t function;
  void *user;
};

/* On a thread of the driver. */
static void call_back(cu_handle stream, cu_result status, void *user) {
  struct callback callback = *(struct callback *)user;
  free(user);
  callback.function(stream, cuda_note(status), callback.user);
}

static hip_error_t stream_add_callback(hip_stream_t stream, hip_stream_callback_t function, void *user,
                                       unsigned int flags) {
  if (!function || flags) return cuda_refuse(hip_ErrorInvalidValue);
  struct callback *callback = malloc(sizeof *callback);
  if (!callback) return cuda_refuse(hip_ErrorOutOfMemory);
  *callback = (struct callback){function, user};
  hip_error_t rc = cuda_note(cuda_driver.stream_callback(stream, call_back, callback, 0));
  if (rc != hip_Success) free(callback);
  return rc;
}

static hip_error_t event_create(hip_event_t *event, unsigned flags) {
  cu_handle made;
  if (!event || flags & ~(unsigned)(hip_EventBlockingSync | hip_EventDisableTiming))
    return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.event_create(&made, flags));
  if (rc == hip_Success) *event = made;
  return rc;
}

static hip_error_t event_destroy(hip_event_t event) {
  return cuda_note(cuda_driver.event_destroy(event));
}

static hip_error_t event_record(hip_event_t event, hip_stream_t stream) {
  return cuda_note(cuda_driver.event_record(event, stream));
}

static hip_error_t event_synchronize(hip_event_t event) {
  return cuda_note(cuda_driver.event_synchronize(event));
}

static hip_error_t event_query(hip_event_t event) {
  cu_result rc = cuda_driver.event_query(event);
  if (rc == 0 && is_printing()) rc = cuda_driver.event_synchronize(event);
  return cuda_note(rc);
}

static hip_error_t event_elapsed_time(float *ms, hip_event_t start, hip_event_t stop) {
  return cuda_note(cuda_driver.event_elapsed(ms, start, stop));
}

/* ---- modules and launches ------------------------------------------------------------------------------------ */

/* Whether the ELF image calls printf; what is no ELF image may. */
static int calls_printf(const void *image) {
  Elf64_Ehdr head;
  if (memcmp(image, ELFMAG, SELFMAG) != 0) return 1;
  memcpy(&head, image, sizeof head);
  size_t bytes = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
  return memmem(image, bytes, "vprintf", sizeof "vprintf") != NULL;
}

static hip_error_t module_load_data(hip_module_t *module, const void *image) {
  cu_handle made;
  if (!module || !image) return cuda_refuse(hip_ErrorInvalidValue);
  if (calls_printf(image)) __atomic_store_n(&printing, 1, __ATOMIC_RELEASE);
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.module_load(&made, image));
  if (rc == hip_Success) *module = made;
  return rc;
}

static hip_error_t module_unload(hip_module_t module) {
  cuda_again_unload(module);
  return cuda_note(cuda_driver.module_unload(module));
}

static hip_error_t module_get_function(hip_function_t *function, hip_module_t module, const char *name) {
  cu_handle made;
  if (!function || !name) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.module_function(&made, module, name));
  if (rc == hip_Success) *function = made;
  return rc;
}

static hip_error_t module_get_global(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name) {
  cu_deviceptr found = 0;
  if (!name) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.module_global(&found, bytes, module, name));
  if (rc == hip_Success && ptr) *ptr = (hip_deviceptr_t)(uintptr_t)found;
  return rc;
}

/* The driver's word for a grid or block out of its limits is that of any bad value. */
hip_error_t cuda_launch(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                        unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params,
                        void **extra) {
  cu_result rc = cuda_driver.launch(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
  if (__builtin_expect(rc == 0, 1)) return hip_Success;
  return rc == 1 ? cuda_refuse(hip_ErrorInvalidConfiguration) : cuda_note(rc);
}

static hip_error_t func_get_attribute(int *value, hip_func_attribute_t attribute, hip_function_t function) {
  return cuda_note(cuda_driver.func_attribute(value, (int)attribute, function)); /* HIP's numbers are CUDA's */
}

static hip_error_t func_set_attribute(const void *function, hip_func_setting_t attribute, int value) {
  return cuda_note(cuda_driver.func_set_attribute((cu_handle)(uintptr_t)function, (int)attribute, value));
}

static hip_error_t occupancy(int *blocks, hip_function_t function, int block, size_t shared) {
  return cuda_note(cuda_driver.occupancy(blocks, function, block, shared));
}

/* ---- loading ------------------------------------------------------------------------------------------------- */

static void fill_table(void) {
  table = (struct hip_api){
      .hipInit = init,
      .hipGetDeviceCount = get_device_count,
      .hipSetDevice = cuda_set_device,
      .hipGetDevice = cuda_get_device,
      .hipDeviceGetName = device_get_name,
      .hipDeviceTotalMem = device_total_mem,
      .hipDeviceGetAttribute = device_get_attribute,
      .hipDriverGetVersion = driver_get_version,
      .hipDeviceSynchronize = device_synchronize,
      .hipGetLastError = cuda_get_last_error,
      .hipStreamCreateWithFlags = cuda_stream_create,
      .hipStreamDestroy = cuda_stream_destroy,
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
      .hipModuleLaunchKernel = cuda_launch,
      .hipFuncGetAttribute = func_get_attribute,
      .hipFuncSetAttribute = func_set_attribute,
      .hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = occupancy,
      .hipxDeviceArch = device_arch,
      .hipxToolchain = cuda_toolchain,
      .hipxCompile = cuda_compile,
      .hipxCompileFree = cuda_compile_free,
  };
  cuda_memory_table(&table);
  cuda_graph_table(&table);
  cuda_again_table(&table);
  if (cuda_driver.stream_write_32) table.hipxStreamWrite32 = stream_write_32;
}

static void load_once(void) {
  if (!cuda_driver_load(failure, sizeof failure)) return;
  int version = 0;
  cuda_driver.driver_version(&version);
  /* Streams beyond this many (8 is the driver's own choice, 32 its most) wait for each other where nobody asked them to,
     so that a kernel that waits for another may wait for ever. The price is that the driver looks longer at each query
     of a stream (2.4 us for 1.5 us on an H200), which is why short waits look at a flag. */
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  cu_result rc = cuda_driver.init(0);
  if (rc == 0) rc = cuda_driver.device_count(&devices);
  if (rc == 0 && devices > 0) {
    if (devices > CUDA_MAX_DEVICES) devices = CUDA_MAX_DEVICES;
    cuda_set_devices(devices);
    fill_table();
    return;
  }
  devices = 0;
  if (rc == 0 || rc == 100)
    snprintf(failure, sizeof failure, "the CUDA driver %d.%d is installed, but there is no NVIDIA GPU", version / 1000,
             version % 1000 / 10);
  else
    snprintf(failure, sizeof failure, "the CUDA driver %d.%d cannot be started (%s, CUDA's error %d)", version / 1000,
             version % 1000 / 10, hip_error_name(cuda_note(rc)), rc);
}

static const struct hip_api *load(char *reason, size_t len) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_once);
  if (!failure[0]) return &table;
  if (reason && len) snprintf(reason, len, "%s", failure);
  return NULL;
}

static int ordinal(const char *suffix) {
  char *end;
  long n = strtol(suffix, &end, 10);
  return *suffix >= '0' && *suffix <= '9' && !*end && n < CUDA_MAX_DEVICES ? (int)n : -1;
}

static void id(int device, char *text, size_t len) {
  snprintf(text, len, "cuda:%d", device);
}

static int listed(void) {
  return devices;
}

const struct hip_provider cuda_provider = {.name = "cuda",
                                           .load = load,
                                           .ordinal = ordinal,
                                           .id = id,
                                           .listed = listed,
                                           .ids = "GPUs are cuda:0, cuda:1 and so on"};
