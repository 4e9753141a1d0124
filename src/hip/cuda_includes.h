/*
 * cuda_includes.h - which files of include folders a source can have read, as NVRTC does not tell.
 */
#ifndef LUHIP_HIP_CUDA_INCLUDES_H
#define LUHIP_HIP_CUDA_INCLUDES_H

#include <stdbool.h>

#include "hip/api.h"

/* A NULL-terminated list of paths in *files, empty when there are none, each and the list free()d by the caller. False
   when memory ran out. */
bool cuda_includes(const struct hip_compile_request *request, char ***files);

#endif
