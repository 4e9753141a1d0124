/*
 * buffer.h - what entry points do with the buffers they are given.
 */
#ifndef LUHIP_SERVER_BUFFER_H
#define LUHIP_SERVER_BUFFER_H

#include "server/allocation.h"

/* With the lock: the buffer is this device's and was not freed. `what` begins the message ("read", "fill"). */
luhip_status buffer_usable(const luhip_buffer *buffer, const luhip_device *device, const char *what,
                           luhip_error **error);
/* The bytes of a contiguous buffer. */
static inline struct region buffer_span(const luhip_buffer *buffer) {
  return (struct region){buffer->layout.offset, buffer->layout.bytes, 1, buffer->layout.bytes};
}
/* The smallest region with all its bytes: exact where the layout is one copy, rows or not. */
struct region buffer_reach(const luhip_buffer *buffer);
static inline char *buffer_address(const luhip_buffer *buffer) {
  return buffer->allocation->address ? (char *)buffer->allocation->address + buffer->layout.offset : NULL;
}
/* A handle on an allocation, which it retains. NULL when the host has no memory. */
luhip_buffer *buffer_on(luhip_device *device, struct allocation *allocation, const luhip_layout *layout);
/* The report for a set of failures met by an operation on these buffers. */
luhip_error *report_failures(luhip_device *device, const struct failure_set *set, const char *what,
                             luhip_buffer *const *buffers, size_t n);

#endif
