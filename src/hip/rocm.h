/*
 * rocm.h - what the two halves of the rocm provider share: rocm.c (loading, devices, memory, launches: AMD's
 * own functions straight from the library) and rocm_compile.c (hiprtc behind guards).
 */
#ifndef LUHIP_HIP_ROCM_H
#define LUHIP_HIP_ROCM_H

#include <pthread.h>

#include "hip/api.h"

extern const struct hip_provider rocm_provider;

/* A table of which only the compile entries are there: code objects for any arch, with no GPU. NULL and a reason
   without hiprtc. */
const struct hip_api *rocm_compiler(char *reason, size_t len);

/* The libraries as loaded. Written once by the provider's load, read-only after. */
struct rocm_library {
  void *hip;      /* libamdhip64.so.N */
  void *rtc;      /* where the hiprtc functions are: the same library up to ROCm 6, libhiprtc.so.N after */
  int runtime;    /* hipRuntimeGetVersion: 50221153 for 5.2.21153 */
  char path[256]; /* of libamdhip64, for identities */
};
extern struct rocm_library rocm_library;

/* hiprtc serialises compiles by itself and concurrent module loads have crashed in public reports, so one
   process-wide lock surrounds both. */
extern pthread_mutex_t rocm_compile_lock;

/* Resolves the hiprtc entry points; 0, or a reason. Called once, by the provider's load. */
int rocm_compile_load(char *reason, size_t len);

hip_error_t rocm_toolchain(char *identity, size_t len, hip_device_t device);
hip_error_t rocm_compile(const struct hip_compile_request *request, struct hip_compile_result *result);
hip_error_t rocm_compile_free(struct hip_compile_result *result);

#endif
