/*
 * amd_metadata.h - what an AMD code object says of its kernels: registers, shared and private memory.
 *
 * The source is the NT_AMDGPU_METADATA note, a msgpack map ("AMDGPU Code Object Metadata", LLVM's AMDGPU usage guide).
 */
#ifndef LUHIP_HIP_AMD_METADATA_H
#define LUHIP_HIP_AMD_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amd_kernel {
  uint64_t vector_registers, accumulator_registers, scalar_registers;
  uint64_t vector_spills, scalar_spills;
  uint64_t shared_bytes, private_bytes, argument_bytes;
  uint64_t max_threads, warp_size;
};

/* Of the kernel with this lowered name. False when the image tells nothing of it; a damaged or truncated image is
   never read outside [image, image + bytes). */
bool amd_metadata_kernel(const void *image, size_t bytes, const char *lowered, struct amd_kernel *kernel);

#endif
