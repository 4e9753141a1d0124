/*
 * buffer.h - a buffer handle and the allocation behind it.
 *
 * A buffer is a view: (allocation, layout). Views share their allocation and keep it alive. The allocation
 * carries what the server must know of its bytes: whether memory exists yet, which ranges are claimed by a
 * failure, and who used it last on which stream. All fields are guarded by the device lock unless said.
 */
#ifndef LUHIP_MEMORY_BUFFER_H
#define LUHIP_MEMORY_BUFFER_H

#include "luhip.h"

struct allocation; /* server/allocation.h */

struct luhip_buffer {
  int refs;    /* atomic */
  int freed;   /* atomic: luhip_buffer_free was called on this handle, allocation is NULL */
  uint64_t id; /* process-unique, never reused */
  struct luhip_device *device;
  struct allocation *allocation;
  luhip_layout layout; /* immutable */
  bool contiguous;     /* immutable: packed row-major */
};

#endif
