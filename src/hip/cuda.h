/*
 * cuda.h - what the parts of the cuda provider share: cuda.c (devices, the table), cuda_load.c (libcuda), cuda_context.c (which
 * device the calling thread uses, errors), cuda_memory.c, cuda_graph.c,
 * cuda_again.c (launches that come again), and cuda_compile.c (NVRTC).
 */
#ifndef LUHIP_HIP_CUDA_H
#define LUHIP_HIP_CUDA_H

#include "hip/api.h"
#include "hip/cuda_driver.h"

extern const struct hip_provider cuda_provider;

enum { CUDA_MAX_DEVICES = 64 };

/* ---- cuda_context.c ------------------------------------------------------------------------------------------ */

/* The driver's error in HIP's words, remembered for hipGetLastError; one that the context does not survive marks the
   device as lost. */
hip_error_t cuda_note(cu_result rc);
hip_error_t cuda_refuse(hip_error_t rc); /* an error of the table's own */
hip_error_t cuda_get_last_error(void);

hip_error_t cuda_set_device(int device);
hip_error_t cuda_get_device(int *device);
void cuda_set_devices(int count); /* once, by load */

/* Makes the context of the thread's device current. Only hipSetDevice and what needs no handle must ask: a thread that
   has a handle has been here. */
hip_error_t cuda_enter(void);
/* The primary context of any device, started if it was not; the thread's own stays. */
hip_error_t cuda_context_of(int ordinal, cu_context *context);

/* Streams are counted: a lost device without any is in nobody's use, and the first stream made on it starts it again. */
hip_error_t cuda_stream_create(hip_stream_t *stream, unsigned int flags);
hip_error_t cuda_stream_destroy(hip_stream_t stream);

/* ---- cuda.c -------------------------------------------------------------------------------------------------- */

/* hipModuleLaunchKernel */
hip_error_t cuda_launch(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                        unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params,
                        void **extra);

/* ---- cuda_memory.c ------------------------------------------------------------------------------------------- */

void cuda_memory_table(struct hip_api *table);

/* ---- cuda_graph.c -------------------------------------------------------------------------------------------- */

void cuda_graph_table(struct hip_api *table);

/* ---- cuda_again.c -------------------------------------------------------------------------------------------- */

void cuda_again_table(struct hip_api *table);
void cuda_again_unload(cu_handle module); /* before it goes */
void cuda_again_lost(int device);         /* its context is gone, and all that was in it */

/* ---- cuda_compile.c, cuda_nvrtc.c ---------------------------------------------------------------------------- */

hip_error_t cuda_toolchain(char *identity, size_t len, hip_device_t device);
hip_error_t cuda_compile(const struct hip_compile_request *request, struct hip_compile_result *result);
hip_error_t cuda_compile_free(struct hip_compile_result *result);

#define CUDA_NVRTC_FIELD(field, name, type, parameters) type(*field) parameters;
struct cuda_nvrtc {
  CUDA_NVRTC(CUDA_NVRTC_FIELD)
  void *library;
  int major, minor;
  char path[512];
  char include[2][512]; /* the toolkit's headers, beside it; "" where there are none */
  char reason[256];     /* why there is none */
};
#undef CUDA_NVRTC_FIELD

/* Loads it at the first call; NULL when there is none (reason tells). */
const struct cuda_nvrtc *cuda_nvrtc_load(const char **reason);

/* The headers that NVRTC lacks: `name`, or NULL past the last. */
struct cuda_header {
  const char *name, *text;
};
extern const struct cuda_header cuda_headers[];
/* What comes before those where the toolkit's headers are not installed. */
extern const struct cuda_header cuda_own_halves[];

#endif
