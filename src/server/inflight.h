/*
 * inflight.h - the operations that were enqueued and have not passed yet (E6).
 *
 * One ring per device, in the order of enqueueing, which is the order of their sequence numbers. An operation
 * leaves when the place it has in its stream has passed and faults were taken; until then a fault reported late
 * finds what it wrote, and everything after it that read from there.
 */
#ifndef LUHIP_SERVER_INFLIGHT_H
#define LUHIP_SERVER_INFLIGHT_H

#include "memory/layout.h"
#include "server/failure.h"

#include <stdint.h>

enum { USE_READ = 1, USE_WRITE = 2 };
enum { NO_PARAM = 0xFFFF };

struct op_use {
  struct allocation *allocation; /* kept by its `flights` */
  struct region region;
  uintptr_t base; /* the allocation's address then: it may be freed before a fault is heard of */
  uint16_t param; /* of the kernel, NO_PARAM for others */
  uint8_t access;
};

/* What an operation keeps alive until it leaves; at most one of each. */
struct op_keep {
  luhip_kernel *kernel;
  luhip_future *future; /* of a read */
  luhip_array *array;   /* source of a write, destination of a read */
  luhip_graph *graph;   /* of a replay */
};

struct op {
  uint64_t sequence;       /* the launch tag: of this device, and of no other that was or will be open */
  uint32_t span;           /* further tags: of a replay, one for each node behind the first */
  uint64_t position;       /* in its slot; of one that was not enqueued: the tail then */
  struct failure *failure; /* held: what its written bytes carry; NULL: it works, as far as is known */
  struct op_keep keep;
  uint64_t first_use; /* in the ring of uses */
  uint32_t nuses;
  uint32_t slot;
};

struct inflight {
  struct op *ops;
  uint64_t head, tail, mask; /* indices; ops[i & mask] */
  struct op_use *uses;
  uint64_t uses_head, uses_tail, uses_mask;
};

/* Makes room for one more operation, so that noting it after the driver took it cannot fail. */
bool inflight_reserve(struct luhip_device *device, uint32_t nuses);
/* Notes an operation, for which there is room; what it keeps is retained here. The rest of it - sequence, span, position,
   slot, and the failure, held - is the caller's to set. */
struct op *inflight_push(struct luhip_device *device, const struct op_use *uses, uint32_t nuses,
                         const struct op_keep *keep);
/* Lets go of what has passed. Faults must have been taken. */
void inflight_retire(struct luhip_device *device);
/* The same, also of what waits behind an operation that has not passed. */
void inflight_sweep(struct luhip_device *device);
struct op *inflight_find(struct luhip_device *device, uint64_t sequence);
struct op_use *inflight_use(struct luhip_device *device, const struct op *op, uint32_t index);
/* The operation has failed: claims what it wrote and replays all later ones (E6). */
void inflight_fail(struct luhip_device *device, struct op *op, struct failure *failure);
/* A chunked write is over: what its chunks carried in the meantime (provisional) is settled as `outcome`, or NULL. */
void inflight_settle(struct luhip_device *device, struct failure *provisional, struct failure *outcome);
/* Lets go of everything. */
void inflight_close(struct luhip_device *device);

#endif
