/*
 * providers.c - the back ends built into the library, in order of preference.
 */
#include "cpu/provider.h"
#include "hip/api.h"
#include "hip/cuda.h"
#include "hip/rocm.h"

const struct hip_provider *const hip_providers[] = {&rocm_provider, &cuda_provider, &cpu_provider, NULL};

const struct hip_api *(*hip_wrapper)(const struct hip_provider *provider, const struct hip_api *api);

const struct hip_api *hip_load(const struct hip_provider *provider, char *reason, size_t len) {
  const struct hip_api *api = provider->load(reason, len);
  return api && hip_wrapper ? hip_wrapper(provider, api) : api;
}
