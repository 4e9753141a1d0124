/*
 * kernel_names.h - lowered names out of a code object, for compilers that are not asked by name expression: hiprtc and
 * NVRTC fail the compile of an expression that names nothing, but a kernel may be inside a false #if.
 */
#ifndef LUHIP_HIP_KERNEL_NAMES_H
#define LUHIP_HIP_KERNEL_NAMES_H

#include "base/text.h"
#include "hip/api.h"

/* Appends the kernel's symbol, found by the beginning of its mangled form; nothing when it is not there. */
void kernel_symbol(const void *code, size_t bytes, const struct hip_compile_kernel *kernel, struct text *out);

/* Fills result->lowered: one block of memory, the pointers, then the strings. `lower` appends the name of one kernel, or
   nothing when it was left out. False when memory runs out. */
bool kernel_names_lower(const struct hip_compile_request *request, struct hip_compile_result *result,
                        void (*lower)(void *user, const struct hip_compile_kernel *kernel,
                                      const struct hip_compile_result *result, struct text *out),
                        void *user);

#endif
