/*
 * rocm.c - AMD GPUs: the table filled from libamdhip64, found by dlopen.
 *
 * Nearly every entry is AMD's own function, since the table has HIP's signatures. Ours are only those that
 * differ between ROCm 5, 6 and 7 or need a guard:
 *
 *   arch          gcnArchName is a field of hipDeviceProp_t, whose layout changed in ROCm 6. The new layout is
 *                 asked for by its versioned name (hipGetDevicePropertiesR0600); the plain name still fills the
 *                 old one, also in ROCm 6 and 7 libraries. Both are read into a buffer larger than either.
 *   module load   under the compile lock, since concurrent loads have crashed.
 *   graphs        left out where captures silently lose module launches.
 *   compile       rocm_compile.c.
 *
 * With no AMD GPU hipGetDeviceCount says hipErrorNoDevice: the provider then gives no table, only a reason,
 * while rocm_compiler() still serves code objects for any arch.
 */
#include "hip/rocm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rocm_library rocm_library;
pthread_mutex_t rocm_compile_lock = PTHREAD_MUTEX_INITIALIZER;

static struct hip_api table;
static char failure[256]; /* why there is no table; "" when there is one */
static int devices;

static hip_error_t (*load_data)(hip_module_t *module, const void *image);
static hip_error_t (*unload)(hip_module_t module);
static hip_error_t (*properties_r0600)(void *properties, int device);
static hip_error_t (*properties_r0000)(void *properties, int device);

/* Where gcnArchName lies in hipDeviceProp_t: from ROCm 6.0 on, and up to 5.7. */
enum { ARCH_OFFSET_R0600 = 1160, ARCH_OFFSET_R0000 = 396, PROPERTIES_BYTES = 4096 };

static hip_error_t device_arch(char *arch, int len, hip_device_t device) {
  if (!arch || len <= 0) return hip_ErrorInvalidValue;
  char *properties = calloc(1, PROPERTIES_BYTES);
  if (!properties) return hip_ErrorOutOfMemory;
  size_t offset = properties_r0600 ? ARCH_OFFSET_R0600 : ARCH_OFFSET_R0000;
  hip_error_t rc = properties_r0600   ? properties_r0600(properties, device)
                   : properties_r0000 ? properties_r0000(properties, device)
                                      : hip_ErrorNotSupported;
  if (rc == hip_Success) snprintf(arch, (size_t)len, "%.255s", properties + offset);
  free(properties);
  return rc;
}

static hip_error_t module_load_data(hip_module_t *module, const void *image) {
  pthread_mutex_lock(&rocm_compile_lock);
  hip_error_t rc = load_data(module, image);
  pthread_mutex_unlock(&rocm_compile_lock);
  return rc;
}

static hip_error_t module_unload(hip_module_t module) {
  pthread_mutex_lock(&rocm_compile_lock);
  hip_error_t rc = unload(module);
  pthread_mutex_unlock(&rocm_compile_lock);
  return rc;
}

/* A function pointer out of dlsym without a cast between object and function pointers. */
static void resolve(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

/* On ROCm 5.2 a module launch during a capture is no error and no node: replay does nothing. Which version mends that
   is not known from a run, so before 6.0 the server replays its own list. */
enum { CAPTURES_MODULE_LAUNCHES = 60000000 };

static void drop_graphs(void) {
  table.hipStreamBeginCapture = NULL;
  table.hipStreamEndCapture = NULL;
  table.hipStreamIsCapturing = NULL;
  table.hipGraphInstantiate = NULL;
  table.hipGraphUpload = NULL;
  table.hipGraphLaunch = NULL;
  table.hipGraphGetNodes = NULL;
  table.hipGraphDestroy = NULL;
  table.hipGraphExecDestroy = NULL;
  table.hipGraphExecUpdate = NULL;
}

/* Some of a group would be as good as none. */
static void drop_parts_of_groups(void) {
  if (!table.hipDeviceCanAccessPeer || !table.hipDeviceEnablePeerAccess || !table.hipMemcpyPeerAsync) {
    table.hipDeviceCanAccessPeer = NULL;
    table.hipDeviceEnablePeerAccess = NULL;
    table.hipMemcpyPeerAsync = NULL;
  }
  if (!table.hipMallocAsync || !table.hipFreeAsync) {
    table.hipMallocAsync = NULL;
    table.hipFreeAsync = NULL;
  }
}

/* Fills every entry that has an exported function of its name; ours have none. */
static int fill_table(void) {
#define RESOLVE(name, parameters, arguments) resolve(rocm_library.hip, #name, &table.name);
  HIP_API(RESOLVE, RESOLVE)
#undef RESOLVE
  load_data = table.hipModuleLoadData;
  unload = table.hipModuleUnload;
  table.hipModuleLoadData = load_data ? module_load_data : NULL;
  table.hipModuleUnload = unload ? module_unload : NULL;
  table.hipxDeviceArch = device_arch;
  table.hipxToolchain = rocm_toolchain;
  table.hipxCompile = rocm_compile;
  table.hipxCompileFree = rocm_compile_free;
  drop_parts_of_groups();
  if (rocm_library.runtime < CAPTURES_MODULE_LAUNCHES) drop_graphs();
  resolve(rocm_library.hip, "hipGetDevicePropertiesR0600", &properties_r0600);
  resolve(rocm_library.hip, "hipGetDeviceProperties", &properties_r0000);
#define REQUIRE(name, parameters, arguments)                                                                           \
  if (!table.name) {                                                                                                   \
    snprintf(failure, sizeof failure, "%.160s has no %s", rocm_library.path, #name);                                   \
    return 0;                                                                                                          \
  }
#define IGNORE(name, parameters, arguments)
  HIP_API(REQUIRE, IGNORE)
#undef REQUIRE
#undef IGNORE
  return 1;
}

static int open_library(void) {
  static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                      NULL};
  for (int i = 0; names[i] && !rocm_library.hip; i++) rocm_library.hip = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (!rocm_library.hip) {
    snprintf(failure, sizeof failure, "libamdhip64 is not installed (ROCm, or Debian's package libamdhip64-5)");
    return 0;
  }
  Dl_info info;
  void *symbol = dlsym(rocm_library.hip, "hipInit");
  if (symbol && dladdr(symbol, &info) && info.dli_fname)
    snprintf(rocm_library.path, sizeof rocm_library.path, "%s", info.dli_fname);
  hip_error_t (*version)(int *) = NULL;
  resolve(rocm_library.hip, "hipRuntimeGetVersion", &version);
  if (version) version(&rocm_library.runtime);
  return 1;
}

static struct hip_api compiler; /* only its compile entries: serves any arch with no GPU */
static int compiler_loaded;

static void load_once(void) {
  if (!open_library()) return;
  if (rocm_compile_load(failure, sizeof failure)) return;
  compiler.hipxToolchain = rocm_toolchain;
  compiler.hipxCompile = rocm_compile;
  compiler.hipxCompileFree = rocm_compile_free;
  compiler_loaded = 1;
  if (!fill_table()) return;
  hip_error_t rc = table.hipGetDeviceCount(&devices);
  if (rc == hip_Success && devices > 0) return;
  devices = 0;
  snprintf(failure, sizeof failure, "HIP %d.%d is installed, but there is no AMD GPU (%s)",
           rocm_library.runtime / 10000000, rocm_library.runtime / 100000 % 100,
           hip_error_name(rc == hip_Success ? hip_ErrorNoDevice : rc));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const struct hip_api *rocm_compiler(char *reason, size_t len) {
  pthread_once(&once, load_once);
  if (compiler_loaded) return &compiler;
  if (reason && len) snprintf(reason, len, "%s", failure);
  return NULL;
}

static const struct hip_api *load(char *reason, size_t len) {
  pthread_once(&once, load_once);
  if (!failure[0]) return &table;
  if (reason && len) snprintf(reason, len, "%s", failure);
  return NULL;
}

static int ordinal(const char *suffix) {
  char *end;
  long n = strtol(suffix, &end, 10);
  return *suffix >= '0' && *suffix <= '9' && !*end && n < 1024 ? (int)n : -1;
}

static void id(int device, char *text, size_t len) {
  snprintf(text, len, "rocm:%d", device);
}

static int listed(void) {
  return devices;
}

const struct hip_provider rocm_provider = {.name = "rocm",
                                           .load = load,
                                           .ordinal = ordinal,
                                           .id = id,
                                           .listed = listed,
                                           .ids = "GPUs are rocm:0, rocm:1 and so on"};
