/*
 * hip/hip_runtime.h - everything a kernel for the CPU device may use.
 *
 * The compile step puts this header before the user's first line, so that no macro of a kernel's can reach it. The
 * other headers here, but for cooperative groups, are part of it, and including them again does nothing. For a scan
 * of the source for kernels (LUHIP_CPU_SCAN) all are empty: __global__ then stays in the preprocessor's output.
 */
#if !defined(LUHIP_HIP_RUNTIME_H) && !defined(LUHIP_CPU_SCAN)
#define LUHIP_HIP_RUNTIME_H
#include "../luhip_std.h"
#include "../luhip_vector_types.h"
#include "../luhip_cpu_core.h"
#include "../luhip_math.h"
#include "../luhip_integer.h"
#include "../luhip_atomics.h"
#include "hip_fp16.h"
#include "hip_bf16.h"
#include "hip_complex.h"
#endif
