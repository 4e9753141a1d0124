/*
 * drops.h - the host memory that a stream's work still reads (I1, C3).
 *
 * Sources of copies go when their copy has passed: a pinned block is handed out again then, an array is let go. That
 * is learnt without waiting. What has to be bounded is how much may be on its way: each slot counts it in two
 * generations with a fence between them. A turn looks at the fence: once that has passed, so has the older
 * generation; the newer takes its place, behind a new fence. Turns come by themselves, and a flush is one. Only the
 * next write behind too many bytes waits, and only for the older generation.
 */
#ifndef LUHIP_SERVER_DROPS_H
#define LUHIP_SERVER_DROPS_H

#include "hip/api.h"
#include "luhip.h"

#include <stdint.h>

/* Items after which a turn is due, also where host and device share their memory; bytes after which one must be made. */
enum { DROPS_ITEMS = 64, DROPS_ITEMS_INTEGRATED = 16 };
#define DROPS_BYTES ((uint64_t)64 << 20)

struct generation {
  uint32_t items;
  uint64_t bytes;
};

struct drops {
  struct generation staged, pending;
  uint64_t fence;        /* the position behind the pending ones; 0: there has been none */
  uint64_t turns, waits; /* for specs */
};

/* The work at the slot's tail reads so many bytes of host memory. */
void drops_push(struct luhip_device *device, uint32_t slot, uint64_t bytes);
/* Before something is pushed: waits while too much is on its way, with the lock dropped. Not while anything records. */
luhip_status drops_make_room(struct luhip_device *device, uint32_t slot, luhip_error **error);
/* A turn, where the fence has passed. Waits for nothing. */
void drops_flush(struct luhip_device *device, uint32_t slot);

#endif
