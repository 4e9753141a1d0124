/*
 * cuda_memory.c - memory, copies and fills.
 *
 * Addresses are of one space with the host's, but only memory that the driver knows is in it: so a copy says which
 * side is the host's, which may be pageable, and only hipMemcpyDefault leaves it to the driver. Nothing of length zero
 * reaches the driver, which would look at the pointers.
 */
#include "hip/cuda.h"

static cu_deviceptr address(const void *pointer) {
  return (cu_deviceptr)(uintptr_t)pointer;
}

static hip_error_t malloc_device(void **ptr, size_t bytes) {
  if (!ptr) return cuda_refuse(hip_ErrorInvalidValue);
  cu_deviceptr made = 0;
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success && bytes) rc = cuda_note(cuda_driver.mem_alloc(&made, bytes));
  if (rc == hip_Success) *ptr = (void *)(uintptr_t)made;
  return rc;
}

static hip_error_t free_device(void *ptr) {
  if (!ptr) return hip_Success;
  hip_error_t rc = cuda_enter();
  return rc == hip_Success ? cuda_note(cuda_driver.mem_free(address(ptr))) : rc;
}

/* Portable always: any device of the process may copy from it. */
static hip_error_t malloc_host(void **ptr, size_t bytes, unsigned int flags) {
  if (!ptr || flags & ~(unsigned)(hip_HostMallocPortable | hip_HostMallocMapped))
    return cuda_refuse(hip_ErrorInvalidValue);
  void *made = NULL;
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success && bytes) rc = cuda_note(cuda_driver.host_alloc(&made, bytes, flags | hip_HostMallocPortable));
  if (rc == hip_Success) *ptr = made;
  return rc;
}

static hip_error_t free_host(void *ptr) {
  if (!ptr) return hip_Success;
  hip_error_t rc = cuda_enter();
  return rc == hip_Success ? cuda_note(cuda_driver.host_free(ptr)) : rc;
}

static hip_error_t host_pointer(void **device, void *host, unsigned int flags) {
  cu_deviceptr found = 0;
  if (!device || !host || flags) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_enter();
  if (rc == hip_Success) rc = cuda_note(cuda_driver.host_pointer(&found, host, 0));
  if (rc == hip_Success) *device = (void *)(uintptr_t)found;
  return rc;
}

static hip_error_t malloc_async(void **ptr, size_t bytes, hip_stream_t stream) {
  cu_deviceptr made = 0;
  if (!ptr) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = bytes ? cuda_note(cuda_driver.mem_alloc_async(&made, bytes, stream)) : hip_Success;
  if (rc == hip_Success) *ptr = (void *)(uintptr_t)made;
  return rc;
}

static hip_error_t free_async(void *ptr, hip_stream_t stream) {
  return ptr ? cuda_note(cuda_driver.mem_free_async(address(ptr), stream)) : hip_Success;
}

static hip_error_t mem_get_info(size_t *available, size_t *total) {
  if (!available || !total) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_enter();
  return rc == hip_Success ? cuda_note(cuda_driver.mem_info(available, total)) : rc;
}

static hip_error_t copy(void *dst, const void *src, size_t bytes, hip_memcpy_kind_t kind, hip_stream_t stream) {
  if (!bytes) return hip_Success;
  switch (kind) {
  case hip_MemcpyHostToDevice:
    return cuda_note(cuda_driver.copy_in(address(dst), src, bytes, stream));
  case hip_MemcpyDeviceToHost:
    return cuda_note(cuda_driver.copy_out(dst, address(src), bytes, stream));
  case hip_MemcpyDeviceToDevice:
    return cuda_note(cuda_driver.copy_within(address(dst), address(src), bytes, stream));
  case hip_MemcpyHostToHost:
  case hip_MemcpyDefault:
    return cuda_note(cuda_driver.copy(address(dst), address(src), bytes, stream));
  default:
    return cuda_refuse(hip_ErrorInvalidMemcpyDirection);
  }
}

static hip_error_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                           hip_memcpy_kind_t kind, hip_stream_t stream) {
  if (width > dpitch || width > spitch) return cuda_refuse(hip_ErrorInvalidPitchValue);
  if ((unsigned)kind > hip_MemcpyDefault) return cuda_refuse(hip_ErrorInvalidMemcpyDirection);
  if (!width || !height) return hip_Success;
  unsigned from = kind == hip_MemcpyHostToHost || kind == hip_MemcpyHostToDevice ? CU_MEMORY_HOST : CU_MEMORY_DEVICE;
  unsigned to = kind == hip_MemcpyHostToHost || kind == hip_MemcpyDeviceToHost ? CU_MEMORY_HOST : CU_MEMORY_DEVICE;
  struct cu_memcpy_2d what = {.src_type = kind == hip_MemcpyDefault ? CU_MEMORY_UNIFIED : from,
                              .src_host = src,
                              .src_device = address(src),
                              .src_pitch = spitch,
                              .dst_type = kind == hip_MemcpyDefault ? CU_MEMORY_UNIFIED : to,
                              .dst_host = dst,
                              .dst_device = address(dst),
                              .dst_pitch = dpitch,
                              .width = width,
                              .height = height};
  return cuda_note(cuda_driver.copy_2d(&what, stream));
}

/* ---- between devices ------------------------------------------------------------------------------------------ */

static hip_error_t can_access_peer(int *can, int device, int peer) {
  int count = 0;
  cu_device from, to;
  if (!can) return cuda_refuse(hip_ErrorInvalidValue);
  cuda_driver.device_count(&count);
  if (device < 0 || device >= count || peer < 0 || peer >= count) return cuda_refuse(hip_ErrorInvalidDevice);
  cu_result rc = cuda_driver.device_get(&from, device);
  if (rc == 0) rc = cuda_driver.device_get(&to, peer);
  return cuda_note(rc ? rc : cuda_driver.can_access_peer(can, from, to));
}

static hip_error_t enable_peer(int peer, unsigned int flags) {
  cu_context context;
  if (flags) return cuda_refuse(hip_ErrorInvalidValue);
  hip_error_t rc = cuda_context_of(peer, &context);
  if (rc == hip_Success) rc = cuda_enter();
  return rc == hip_Success ? cuda_note(cuda_driver.enable_peer(context, 0)) : rc;
}

static hip_error_t copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                             hip_stream_t stream) {
  cu_context to, from;
  if (!bytes) return hip_Success;
  hip_error_t rc = cuda_context_of(dst_device, &to);
  if (rc == hip_Success) rc = cuda_context_of(src_device, &from);
  return rc == hip_Success ? cuda_note(cuda_driver.copy_peer(address(dst), to, address(src), from, bytes, stream)) : rc;
}

/* ---- fills ------------------------------------------------------------------------------------------------------ */

static hip_error_t set(void *dst, int value, size_t bytes, hip_stream_t stream) {
  if (!bytes) return hip_Success;
  return cuda_note(cuda_driver.set_8(address(dst), (unsigned char)value, bytes, stream));
}

static hip_error_t set_2d(void *dst, size_t pitch, int value, size_t width, size_t height, hip_stream_t stream) {
  if (width > pitch) return cuda_refuse(hip_ErrorInvalidPitchValue);
  if (!width || !height) return hip_Success;
  return cuda_note(cuda_driver.set_2d_8(address(dst), pitch, (unsigned char)value, width, height, stream));
}

static hip_error_t set_d16(hip_deviceptr_t dst, unsigned short value, size_t count, hip_stream_t stream) {
  return count ? cuda_note(cuda_driver.set_16(address(dst), value, count, stream)) : hip_Success;
}

static hip_error_t set_d32(hip_deviceptr_t dst, int value, size_t count, hip_stream_t stream) {
  return count ? cuda_note(cuda_driver.set_32(address(dst), (unsigned)value, count, stream)) : hip_Success;
}

void cuda_memory_table(struct hip_api *table) {
  table->hipMemGetInfo = mem_get_info;
  table->hipMalloc = malloc_device;
  table->hipFree = free_device;
  table->hipHostMalloc = malloc_host;
  table->hipHostFree = free_host;
  table->hipHostGetDevicePointer = host_pointer;
  if (cuda_driver.mem_alloc_async && cuda_driver.mem_free_async) {
    table->hipMallocAsync = malloc_async;
    table->hipFreeAsync = free_async;
  }
  if (cuda_driver.can_access_peer && cuda_driver.enable_peer && cuda_driver.copy_peer) {
    table->hipDeviceCanAccessPeer = can_access_peer;
    table->hipDeviceEnablePeerAccess = enable_peer;
    table->hipMemcpyPeerAsync = copy_peer;
  }
  table->hipMemcpyAsync = copy;
  table->hipMemcpy2DAsync = copy_2d;
  table->hipMemsetAsync = set;
  table->hipMemset2DAsync = set_2d;
  table->hipMemsetD16Async = set_d16;
  table->hipMemsetD32Async = set_d32;
}
