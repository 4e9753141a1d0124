/*
 * metadata.h - small tables of integers that kernels are given (H1, H2).
 *
 * A script that passes shapes and strides passes the same few tables again and again. Each stream keeps those that it
 * uploaded, by their exact bytes and for all kernels: a table that is known costs a look-up. Entries are never written
 * again, so order and claims need nothing special: an entry's allocation is read like any other.
 *
 * An entry is pinned while a capture that used it is open, and while a node of a graph names it; what is pinned is not
 * evicted, whatever its size. The others are few and small, and the least recently used goes first.
 */
#ifndef LUHIP_SERVER_METADATA_H
#define LUHIP_SERVER_METADATA_H

#include "kernel/kernel.h"
#include "server/allocation.h"
#include "server/buffer.h"

enum { METADATA_BYTES = 2048, METADATA_ENTRIES = 4096 };

/* What a capture has pinned. */
struct metadata_pins {
  struct metadata_entry **list;
  size_t count, capacity;
};

/* Finds or uploads what the tables among the arguments hold, on `slot`; each gets its allocation in `made`, held until
   metadata_done, which is called in any case. The lock may be dropped meanwhile. While the slot records, no new device
   memory is taken: E_CAPTURE. */
luhip_status metadata_resolve(luhip_device *device, uint32_t slot, const struct kernel_signature *signature,
                              struct kernel_use *arguments, size_t narguments, luhip_error **error);
void metadata_done(struct kernel_use *arguments, size_t narguments);

/* A node of a graph names the allocation, or no longer does: the last one takes the entry with it. */
void metadata_hold(struct allocation *allocation);
void metadata_unhold(struct allocation *allocation);
/* The capture is over: what no graph has pinned is ordinary again. */
void metadata_release_pins(luhip_device *device, struct metadata_pins *pins);
/* Forgets what is not pinned. */
void metadata_clear(luhip_device *device, uint32_t slot);
void metadata_clear_all(luhip_device *device);
/* Forgets all, pinned or not; the graphs are gone. */
void metadata_close(luhip_device *device);

struct metadata_counts {
  size_t entries, pinned; /* pinned ones are not among the entries */
  size_t hits, uploads;
};
struct metadata_counts metadata_count(const luhip_device *device, uint32_t slot);

/* ---- arguments, whether buffers or tables -------------------------------------------------------------------------- */

/* NULL of a table that is not resolved. */
static inline struct allocation *argument_allocation(const struct kernel_use *argument) {
  return argument->buffer ? argument->buffer->allocation : argument->made;
}

static inline struct region argument_region(const struct kernel_use *argument) {
  if (argument->buffer) return buffer_span(argument->buffer);
  size_t bytes = argument->made ? argument->made->bytes : 0;
  return (struct region){0, bytes, 1, bytes};
}

static inline luhip_layout argument_layout(const struct kernel_signature *signature,
                                           const struct kernel_use *argument) {
  luhip_layout layout;
  if (argument->buffer) return argument->buffer->layout;
  kernel_table_layout(signature, argument, &layout);
  return layout;
}

#endif
