/*
 * future.h - a read under way: copies into host arrays behind one fence.
 */
#ifndef LUHIP_SERVER_FUTURE_H
#define LUHIP_SERVER_FUTURE_H

#include "server/server.h"

struct signal;

struct luhip_future {
  int refs;             /* atomic */
  luhip_device *device; /* retained */
  uint32_t slot;
  uint64_t position; /* its fence; 0: nothing was to be copied */
  bool done;
  luhip_error *error;        /* once done: why it failed */
  struct failure_set taints; /* failures of what it read, heard of after it was enqueued */
  struct signal *signal;     /* luhip_future_fd */
  uint64_t *ids;             /* allocations read, for the report; behind the arrays */
  size_t count;
  char what[96]; /* "read of f32[4]", once an error needs it */
  luhip_array *arrays[];
};

/* Enqueues copies of the buffers. Claims on any of them, or a copy refused, are the error. *error is set always. */
luhip_status read_start(luhip_device *device, uint32_t slot, luhip_buffer *const *buffers, size_t n,
                        luhip_future **future, luhip_error **error);
/* Its fence has passed: the outcome. */
luhip_status future_finish(luhip_future *future, luhip_error **error);
void future_taint(luhip_future *future, struct failure *failure);
void future_release_locked(luhip_future *future);

#endif
