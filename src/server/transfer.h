/*
 * transfer.h - copies of regions, for all who enqueue some.
 */
#ifndef LUHIP_SERVER_TRANSFER_H
#define LUHIP_SERVER_TRANSFER_H

#include "server/buffer.h"

/* One place that both sides of a copy have: rows of `width` bytes at their own pitch. */
struct place {
  char *address;
  size_t pitch;
};

static inline hip_error_t enqueue_copy(luhip_device *device, uint32_t slot, struct place to, struct place from,
                                       size_t width, size_t rows, hip_memcpy_kind_t kind) {
  hip_stream_t stream = device->slots[slot].handle;
  if (rows == 1) return device->api->hipMemcpyAsync(to.address, from.address, width, kind, stream);
  return device->api->hipMemcpy2DAsync(to.address, to.pitch, from.address, from.pitch, width, rows, kind, stream);
}

/* Enters the device for an operation on a stream: sound, the slot found, its backlog bearable. */
luhip_status transfer_enter(luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error);

#endif
