/*
 * cuda_load.c - finding the driver's functions.
 *
 * cuGetProcAddress is one of them. The symbol of that name takes four parameters (11.3 on); cuGetProcAddress_v2 has a
 * fifth (12.0 on). Either answers CUDA_SUCCESS with NULL, or CUDA_ERROR_NOT_FOUND, for what it does not know. What it
 * does not give is looked for among the library's symbols.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "hip/cuda_driver.h"

struct cuda_driver cuda_driver;

enum {
  LEGACY_STREAM = 1
}; /* flag: the null stream is the one that waits for all others, as it is for dlsym's symbols */

struct library {
  void *handle;
  int version; /* the driver's, 0 when it does not say */
  cu_result (*get)(const char *name, void **function, int version, uint64_t flags);
  cu_result (*get_2)(const char *name, void **function, int version, uint64_t flags, int *found);
};

/* A function pointer out of dlsym without a cast between object and function pointers. */
static void put(void *symbol, void *function) {
  memcpy(function, &symbol, sizeof symbol);
}

static void *find(const struct library *library, const char *name, const char *ending, int since) {
  void *function = NULL;
  char symbol[96];
  cu_result rc = 1;
  /* Asked for what is later than itself, a driver may give the earlier function of that name. */
  if (library->version && since > library->version) return NULL;
  if (library->get_2)
    rc = library->get_2(name, &function, since, LEGACY_STREAM, NULL);
  else if (library->get)
    rc = library->get(name, &function, since, LEGACY_STREAM);
  if (rc == 0 && function) return function;
  snprintf(symbol, sizeof symbol, "%s%s", name, ending);
  return dlsym(library->handle, symbol);
}

int cuda_driver_load(char *reason, size_t len) {
  struct library library = {.handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
  if (!library.handle) {
    snprintf(reason, len, "libcuda.so.1 is not installed (it comes with NVIDIA's driver)");
    return 0;
  }
  cu_result (*version)(int *) = NULL;
  put(dlsym(library.handle, "cuDriverGetVersion"), &version);
  if (version) version(&library.version);
  put(dlsym(library.handle, "cuGetProcAddress"), &library.get);
  put(dlsym(library.handle, "cuGetProcAddress_v2"), &library.get_2);
#define FIND(field, name, ending, since, parameters) put(find(&library, name, ending, since), &cuda_driver.field);
  CUDA_DRIVER(FIND, FIND)
#undef FIND
#define REQUIRE(field, name, ending, since, parameters)                                                                \
  if (!cuda_driver.field) {                                                                                            \
    snprintf(reason, len, "libcuda.so.1 has no %s: the driver is older than CUDA 11.8", name);                         \
    return 0;                                                                                                          \
  }
#define IGNORE(field, name, ending, since, parameters)
  CUDA_DRIVER(REQUIRE, IGNORE)
#undef REQUIRE
#undef IGNORE
  return 1;
}
