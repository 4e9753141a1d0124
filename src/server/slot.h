/*
 * slot.h - streams as the server knows them.
 *
 * A slot is a place for a driver stream. Each counts what was enqueued on it (tail) and knows how far that has
 * passed; both only grow, also when another stream takes the slot, so a mark made on a slot stays true for ever.
 * How far a slot has passed is learnt from markers: driver events recorded at known positions.
 */
#ifndef LUHIP_SERVER_SLOT_H
#define LUHIP_SERVER_SLOT_H

#include "hip/api.h"
#include "luhip.h"
#include "server/drops.h"

struct marker {
  hip_event_t event;
  uint64_t position;
  unsigned waiters; /* threads that ask about the event without the lock */
  bool listed;      /* in its slot's list; given back when neither listed nor waited for */
  struct marker *next;
};

enum {
  USER_STREAMS = 128, /* streaming.max_streams */
  DEFAULT_SLOT = 0,
  SLOTS = USER_STREAMS + 1, /* and the default stream */
  MARKER_EVERY = 128,       /* operations between markers that nobody asked for: two calls of the driver each */
  BACKLOG = 768 /* operations in flight on one slot before its host waits: drivers have room for 1000 launches
                               or so, and then wait themselves, which here would be under the lock */
};

struct slot {
  hip_stream_t handle; /* NULL: no driver stream at present */
  uint64_t handles;    /* how many there have been */
  luhip_stream *owner; /* NULL: freed, perhaps with work pending */
  uint64_t tail, passed;
  uint64_t fence;  /* a position that somebody will ask about: marked before anything more is enqueued; 0: none */
  unsigned askers; /* threads that ask the handle without the lock */
  struct marker *first_marker, *last_marker; /* oldest first */
  struct drops drops;
  uint64_t waited[SLOTS]; /* how far this slot's work comes after another slot's */
};

struct luhip_stream {
  int refs; /* atomic */
  uint64_t id;
  struct luhip_device *device; /* retained */
  uint32_t slot;               /* SLOTS once it was freed, or the device closed */
};

/* The slot to use for a stream argument: NULL is the default stream. E_ARGUMENT when it is another device's. */
luhip_status slot_of(struct luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error);
/* The first marker at or after a position, recorded now if there is none. */
hip_error_t slot_marker(struct luhip_device *device, uint32_t slot, uint64_t position, struct marker **marker);
/* The tail will be asked about. It needs no marker as long as nothing follows: a wait asks the stream itself. */
void slot_fence(struct luhip_device *device, uint32_t slot);
/* Before more is enqueued: the marker, if one is due. */
void slot_mark_fence(struct luhip_device *device, uint32_t slot);
void marker_release(struct luhip_device *device, struct marker *marker); /* a waiter leaves */
/* Asks the oldest markers and moves `passed`; takes faults and retires operations when it moved. */
void slot_poll(struct luhip_device *device, uint32_t slot);
void slots_poll(struct luhip_device *device);
/* Everything up to a position is known to have passed. */
void slot_advance(struct luhip_device *device, uint32_t slot, uint64_t position);
/* After an operation was enqueued at `tail`: every so often a marker, and a look at the old ones. */
void slot_mark(struct luhip_device *device, uint32_t slot);
static inline void slot_tick(struct luhip_device *device, uint32_t slot, uint64_t tail) {
  if (tail % MARKER_EVERY == 0) slot_mark(device, slot);
}
/* Destroys driver streams of freed slots whose work has passed. */
void slots_reap(struct luhip_device *device);
void slots_close(struct luhip_device *device, bool destroy);

#endif
