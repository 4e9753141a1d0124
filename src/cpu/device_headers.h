/*
 * device_headers.h - the C++ headers that kernels for the CPU device are compiled with, as text.
 *
 * The table is made at build time (cmake/embed.cmake) from src/cpu/include and the two contracts that device
 * code shares with the runtime, so that the library carries its headers with it.
 */
#ifndef LUHIP_CPU_DEVICE_HEADERS_H
#define LUHIP_CPU_DEVICE_HEADERS_H

#include <stddef.h>

struct device_header {
  const char *path; /* as it is included: "hip/hip_runtime.h", "cmath", "cpu/abi.h" */
  const char *text; /* NUL-terminated */
  size_t bytes;     /* without the NUL */
};

extern const struct device_header luhip_device_headers[]; /* ends with a NULL path */

#endif
