/*
 * provider.h - the embedded CPU device as a provider of the driver table.
 */
#ifndef LUHIP_CPU_PROVIDER_H
#define LUHIP_CPU_PROVIDER_H

#include "hip/api.h"

extern const struct hip_provider cpu_provider;

#endif
