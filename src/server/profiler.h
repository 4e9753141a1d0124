/*
 * profiler.h - windows and traces: how long the device worked on something, and when.
 *
 * A watch is what windows and traces have in common: a failure of any operation that was made while it was open
 * makes it worthless (G4). Operations are told by their sequence numbers, so a fault that is heard of late finds
 * the watches that were open when its operation was made, stopped or not.
 * An anchor is an event whose time on the host's monotonic clock is known.
 */
#ifndef LUHIP_SERVER_PROFILER_H
#define LUHIP_SERVER_PROFILER_H

#include "hip/api.h"
#include "luhip.h"

/* An anchor of the host's clock that is older than this is taken again (G1). */
#define PROFILER_ANCHOR_MS 1000.0

struct failure;

struct anchor {
  unsigned refs;
  hip_event_t event;
  double host_ms, slack_ms; /* when it passed, and how far off that can be */
};

struct watch {
  bool listed; /* among the device's: from the start until it is settled */
  bool open;
  uint64_t first, last;                                                /* operations between these are inside */
  struct failure *failure;                                             /* held: the first of an operation inside */
  void (*close)(luhip_device *device, struct watch *watch, bool idle); /* the device closes: settle now */
  struct watch *next, *previous;
};

struct profiler {
  struct watch *watches;
  luhip_profile *unplaced; /* windows whose duration is known, but not yet where on the host's clock they are */
  struct anchor *anchor;   /* the newest; NULL until the first is needed */
  double tried_ms;         /* when an anchor was last asked for in vain */
  hip_stream_t stream;     /* for anchors: idle otherwise; NULL until then */
  luhip_trace *trace;      /* operations are surrounded by events for it; NULL: off */
};

/* ---- profiler.c ---------------------------------------------------------------------------------------------- */

void watch_open(luhip_device *device, struct watch *watch);
/* Later operations are outside. */
void watch_stop(luhip_device *device, struct watch *watch);
/* Settled: out of the list, lets go of the failure. */
void watch_forget(luhip_device *device, struct watch *watch);
/* OK, or what makes the watch worthless. */
luhip_status watch_report(luhip_device *device, const struct watch *watch, const char *what, luhip_error **error);
void watches_fail(luhip_device *device, uint64_t sequence, struct failure *failure);
/* Something that got no operation has failed. */
void profiler_lost(luhip_device *device, luhip_error *error);
/* An operation has failed or was skipped. */
static inline void profiler_failed(struct profiler *profiler, luhip_device *device, uint64_t sequence,
                                   struct failure *failure) {
  if (__builtin_expect(profiler->watches != NULL, 0)) watches_fail(device, sequence, failure);
}

/* Takes another anchor if the newest is older than 1 s; drops the lock meanwhile, for a few ms at most. Without success
   the old one stays and there is no other try for a second: a device that is too busy is left alone. */
void anchor_refresh(luhip_device *device);
/* The same where one is needed: waits longer, if there is none at all. */
void anchor_need(luhip_device *device);
struct anchor *anchor_retain(struct anchor *anchor); /* NULL is fine */
void anchor_release(luhip_device *device, struct anchor *anchor);
/* Where an event that has passed is on the host's clock; the driver's code where it cannot tell. */
hip_error_t anchor_place(luhip_device *device, const struct anchor *anchor, hip_event_t event, double *host_ms);

/* From first to last, not negative: both have passed, and last was recorded behind first. */
hip_error_t events_elapsed(luhip_device *device, hip_event_t first, hip_event_t last, double *ms);
void profiler_close(luhip_device *device, bool idle);

/* ---- trace.c ------------------------------------------------------------------------------------------------- */

struct record;

/* What an operation is. kernel: NULL where it is none. */
struct traced {
  const char *kind, *name;
  luhip_kernel *kernel;
  const uint32_t *grid, *block; /* three each, or NULL */
  uint32_t shared;
  size_t bytes;
};

/* `timed`: the driver records the events itself, those that trace_events gives. */
struct record *trace_enter(luhip_device *device, uint32_t slot, bool timed);
void trace_events(const struct record *record, hip_event_t *start, hip_event_t *stop);
void trace_leave(luhip_device *device, struct record *record, bool enqueued, const struct traced *what);
/* Around the calls that enqueue one operation; trace_after comes before the slot's tail moves. */
static inline struct record *trace_before(struct profiler *profiler, luhip_device *device, uint32_t slot) {
  return __builtin_expect(profiler->trace != NULL, 0) ? trace_enter(device, slot, false) : NULL;
}
static inline void trace_after(luhip_device *device, struct record *record, bool enqueued, const struct traced *what) {
  if (__builtin_expect(record != NULL, 0)) trace_leave(device, record, enqueued, what);
}

#endif
