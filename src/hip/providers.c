/*
 * providers.c - the back ends built into the library, in order of preference.
 */
#include "cpu/provider.h"
#include "hip/api.h"
#include "hip/cuda.h"
#include "hip/rocm.h"

const struct hip_provider *const hip_providers[] = {&rocm_provider, &cuda_provider, &cpu_provider, NULL};
