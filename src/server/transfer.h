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

static inline hip_error_t enqueue_copy_in(luhip_device *device, hip_stream_t stream, struct place to, struct place from,
                                          size_t width, size_t rows, hip_memcpy_kind_t kind) {
  if (rows == 1) return device->api->hipMemcpyAsync(to.address, from.address, width, kind, stream);
  return device->api->hipMemcpy2DAsync(to.address, to.pitch, from.address, from.pitch, width, rows, kind, stream);
}

static inline hip_error_t enqueue_copy(luhip_device *device, uint32_t slot, struct place to, struct place from,
                                       size_t width, size_t rows, hip_memcpy_kind_t kind) {
  return enqueue_copy_in(device, device->slots[slot].handle, to, from, width, rows, kind);
}

/* write.c: from this size on a source is copied in chunks, below it is staged in one piece. */
#define WRITE_CHUNKED_FROM ((size_t)100 << 20)

/* fill.c: one fill, as calls of the driver. */
enum { FILL_LARGEST_ELEMENT = 16 };

struct filling {
  luhip_device *device;
  struct region region;
  unsigned char pattern[FILL_LARGEST_ELEMENT];
  size_t size;         /* of the pattern, as short as it can be */
  struct slice *block; /* of the seed; NULL where memset serves */
  size_t seed;         /* bytes in it */
};

/* *calls (optional) counts the calls that were made. */
hip_error_t fill_enqueue(const struct filling *filling, struct allocation *allocation, hip_stream_t stream,
                         size_t *calls);

/* copy_between.c: the regions have the same rows; no lock is held. */
luhip_status copy_between(luhip_buffer *destination, luhip_buffer *source, luhip_stream *stream,
                          const struct region *to, const struct region *from, luhip_error **error);

/* Enters the device for an operation on a stream: sound, the slot found, its backlog bearable. */
luhip_status transfer_enter(luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error);

/* write.c: packed host memory into the whole of an allocation that nobody else knows yet; the caller holds it. */
luhip_status write_bytes(struct allocation *allocation, uint32_t slot, const void *data, luhip_error **error);

#endif
