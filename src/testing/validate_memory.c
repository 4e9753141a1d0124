/*
 * validate_memory.c - allocations, copies and fills: inside memory that is there, of the right side, aligned, and from or
 * to pinned memory where the host is concerned.
 */
#include "testing/validate.h"

/* What one side of an operation reaches: rows of width bytes. */
struct extent {
  const void *address;
  size_t pitch, width, rows;
};

static size_t extent_bytes(const struct extent *extent) {
  return (extent->rows - 1) * extent->pitch + extent->width;
}

static void check_inside(enum entry entry, const struct object *object, const struct extent *extent, const char *side) {
  size_t offset = (uintptr_t)extent->address - (uintptr_t)object->handle, bytes = extent_bytes(extent);
  if (offset + bytes <= object->bytes) return;
  validate_violation(entry, "%s: bytes %zu to %zu of memory of %zu bytes", side, offset, offset + bytes, object->bytes);
}

/* A module's globals are device memory that nobody allocated. */
static void device_side(enum entry entry, const struct extent *extent, const char *side) {
  struct object *object = object_holding(extent->address);
  if (object && object->kind == OBJECT_memory && object->tap == tap) {
    check_inside(entry, object, extent, side);
  } else if (object || !object_count(OBJECT_module)) {
    validate_violation(entry, "%s: %p is not in device memory that is there", side, extent->address);
  }
}

static void host_side(enum entry entry, const struct extent *extent, const char *side) {
  struct object *object = object_holding(extent->address);
  if (object && object->kind == OBJECT_pinned) {
    check_inside(entry, object, extent, side);
  } else if (object) {
    validate_violation(entry, "%s: %p is device memory", side, extent->address);
  } else if (!validate_pageable()) {
    validate_violation(entry, "%s: %p is not pinned, so the copy blocks", side, extent->address);
  }
}

static void check_rows(enum entry entry, const struct extent *extent, const char *side) {
  if (!extent->width || !extent->rows) validate_violation(entry, "%s: no bytes", side);
  if (extent->rows > 1 && extent->width > extent->pitch) {
    validate_violation(entry, "%s: rows of %zu bytes at a pitch of %zu", side, extent->width, extent->pitch);
  }
}

static bool check_copy(enum entry entry, const struct extent *to, const struct extent *from, hip_memcpy_kind_t kind,
                       hip_stream_t handle) {
  unsigned before = validate_told();
  validate_lock();
  struct object *stream = validate_live_stream(entry, handle);
  check_rows(entry, to, "destination");
  check_rows(entry, from, "source");
  if (stream && to->width && to->rows) {
    bool to_host = kind == hip_MemcpyDeviceToHost, from_host = kind == hip_MemcpyHostToDevice;
    bool between = entry == ENTRY_hipMemcpy2DAsync && kind == hip_MemcpyDefault; /* of two devices: no other says it */
    if (!to_host && !from_host && !between && kind != hip_MemcpyDeviceToDevice) {
      validate_violation(entry, "direction %d says nothing", (int)kind);
    }
    if (to_host) host_side(entry, to, "destination");
    if (from_host) host_side(entry, from, "source");
    if (!to_host) device_side(entry, to, "destination");
    if (!from_host) device_side(entry, from, "source");
  }
  validate_unlock();
  return validate_told() == before;
}

hip_error_t check_hipMemcpyAsync(void *dst, const void *src, size_t bytes, hip_memcpy_kind_t kind,
                                 hip_stream_t stream) {
  struct extent to = {dst, bytes, bytes, 1}, from = {src, bytes, bytes, 1};
  if (!check_copy(ENTRY_hipMemcpyAsync, &to, &from, kind, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemcpyAsync(dst, src, bytes, kind, stream), stream, dst, src);
}

hip_error_t check_hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                   size_t height, hip_memcpy_kind_t kind, hip_stream_t stream) {
  struct extent to = {dst, dpitch, width, height}, from = {src, spitch, width, height};
  if (!check_copy(ENTRY_hipMemcpy2DAsync, &to, &from, kind, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, stream), stream,
                           dst, src);
}

hip_error_t check_hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                                     hip_stream_t stream) {
  struct extent to = {dst, bytes, bytes, 1}, from = {src, bytes, bytes, 1};
  enum entry entry = ENTRY_hipMemcpyPeerAsync;
  if (dst_device == src_device) validate_violation(entry, "from device %d to itself", dst_device);
  if (!check_copy(entry, &to, &from, hip_MemcpyDeviceToDevice, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemcpyPeerAsync(dst, dst_device, src, src_device, bytes, stream), stream,
                           dst, src);
}

static bool check_fill(enum entry entry, const struct extent *to, size_t alignment, hip_stream_t handle) {
  unsigned before = validate_told();
  validate_lock();
  struct object *stream = validate_live_stream(entry, handle);
  check_rows(entry, to, "destination");
  if ((uintptr_t)to->address % alignment) validate_violation(entry, "%p is not aligned", to->address);
  if (stream && to->width && to->rows) {
    device_side(entry, to, "destination");
  }
  validate_unlock();
  return validate_told() == before;
}

hip_error_t check_hipMemsetAsync(void *dst, int value, size_t bytes, hip_stream_t stream) {
  struct extent to = {dst, bytes, bytes, 1};
  if (!check_fill(ENTRY_hipMemsetAsync, &to, 1, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemsetAsync(dst, value, bytes, stream), stream, dst, NULL);
}

hip_error_t check_hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
                                   hip_stream_t stream) {
  struct extent to = {dst, pitch, width, height};
  if (!check_fill(ENTRY_hipMemset2DAsync, &to, 1, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemset2DAsync(dst, pitch, value, width, height, stream), stream, dst, NULL);
}

hip_error_t check_hipMemsetD16Async(hip_deviceptr_t dst, unsigned short value, size_t count, hip_stream_t stream) {
  struct extent to = {dst, 2 * count, 2 * count, 1};
  if (!check_fill(ENTRY_hipMemsetD16Async, &to, 2, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemsetD16Async(dst, value, count, stream), stream, dst, NULL);
}

hip_error_t check_hipMemsetD32Async(hip_deviceptr_t dst, int value, size_t count, hip_stream_t stream) {
  struct extent to = {dst, 4 * count, 4 * count, 1};
  if (!check_fill(ENTRY_hipMemsetD32Async, &to, 4, stream)) return hip_ErrorInvalidValue;
  return validate_enqueued(faults_table.hipMemsetD32Async(dst, value, count, stream), stream, dst, NULL);
}

static void add_memory(enum object_kind kind, void *address, size_t bytes) {
  if (!address) return;
  validate_lock();
  object_add(kind, address, validate_device())->bytes = bytes;
  validate_unlock();
}

hip_error_t check_hipMalloc(void **ptr, size_t bytes) {
  if (!bytes) WRONG(hipMalloc, "no bytes");
  hip_error_t rc = faults_table.hipMalloc(ptr, bytes);
  if (rc == hip_Success) add_memory(OBJECT_memory, *ptr, bytes);
  return validate_noted(rc);
}

hip_error_t check_hipHostMalloc(void **ptr, size_t bytes, unsigned int flags) {
  if (!bytes) WRONG(hipHostMalloc, "no bytes");
  hip_error_t rc = faults_table.hipHostMalloc(ptr, bytes, flags);
  if (rc == hip_Success) {
    add_memory(OBJECT_pinned, *ptr, bytes);
  } else {
    validate_pinned_refused();
  }
  return validate_noted(rc);
}

hip_error_t check_hipFree(void *ptr) {
  if (ptr && !validate_remove(ENTRY_hipFree, OBJECT_memory, ptr, false)) return hip_ErrorInvalidValue;
  return validate_noted(faults_table.hipFree(ptr));
}

hip_error_t check_hipHostFree(void *ptr) {
  if (!validate_remove(ENTRY_hipHostFree, OBJECT_pinned, ptr, true)) return hip_ErrorInvalidValue;
  return validate_noted(faults_table.hipHostFree(ptr));
}
