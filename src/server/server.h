/*
 * server.h - one open device: what the entry points share.
 *
 * The house:
 *   device.c     opening, closing, the registry of open devices, fork
 *   devices.c    ids, listing, the facts of a device
 *   slot.c       streams as numbered slots: positions, markers, what has passed
 *   wait.c       host waits, none of which holds the lock
 *   order.c      device-side order between slots, from the marks of each allocation
 *   memory.c     the memory managers of each slot, and what they are asked   plan.c  trying a layout without memory
 *   allocation.c what buffers share: memory when it is first needed, claims, marks
 *   claims.c     which bytes carry which failure        failure.c  the failures themselves
 *   command.c    the scope of every operation: claims, memory, order, enqueue, settle
 *   inflight.c   what was enqueued and has not passed: retiring, and replaying a late fault
 *   drops.c      how much host memory may be on its way to the device
 *   fault.c      a fault of the device becomes an error that names kernel, buffer and thread
 *   profiler.c   windows, anchors on the host's clock   trace.c  what each operation took
 *   metadata.c   tables of integers that kernels are given: kept by their content
 *   background.c compiles that go on beside the program
 *   capture.c    recording a stream's operations    graph.c replay.c  what was recorded, and running it again
 *   buffer.c write.c fill.c copy.c copy_between.c read.c array.c program.c launch.c stream.c event.c server.c: entry points
 *
 * Rules: every function here is called with the device lock held unless it says otherwise. An entry point goes
 * device_enter ... device_leave. Whoever needs the lock dropped in between (to wait, to copy host memory, to
 * free to the driver) does it by device_drop ... device_retake, which keep a closing device waiting.
 */
#ifndef LUHIP_SERVER_SERVER_H
#define LUHIP_SERVER_SERVER_H

#include "base/error.h"
#include "hip/api.h"
#include "luhip.h"
#include "memory/manager.h"
#include "memory/pools.h"
#include "server/failure.h"
#include "server/flags.h"
#include "server/inflight.h"
#include "server/profiler.h"
#include "server/slot.h"

#include <pthread.h>

enum { SPARE_EVENTS = 2048 };
enum device_state { DEVICE_OPEN, DEVICE_CLOSING, DEVICE_CLOSED };

/* A growing list of the driver's handles. */
struct handles {
  void **list;
  size_t count, capacity;
};

/* What is given back to the driver by whoever leaves the device next, after the lock was dropped. */
struct trash {
  struct page *pages; /* of device and pinned memory, by `older` */
  struct luhip_program *programs;
  struct handles graphs, events, prepared;
};

/* Who asks order_passed: a slot, or the host, which is SLOTS. */
struct order_view {
  struct luhip_device *device;
  uint32_t slot;
};

/* memory.c */
struct memory {
  struct manager device, pinned;
};

struct device_memory {
  struct storage device, pinned;
  struct pools layout;         /* of streams made from now on */
  struct memory *slots[SLOTS]; /* NULL: it has used none */
  struct order_view host;
};

struct luhip_device {
  int refs;                  /* atomic */
  int state;                 /* enum device_state; atomic, changed under the lock */
  unsigned fork_count;       /* of the process when it was opened */
  unsigned users;            /* guarded by the registry */
  struct luhip_device *next; /* in the registry */

  const struct hip_provider *provider;
  const struct hip_api *api;
  int ordinal;
  luhip_device_info info;
  luhip_open_options options; /* as they hold, defaults filled in */
  size_t pitch_alignment;

  pthread_mutex_t lock;
  unsigned dropped; /* threads inside device_drop */
  struct slot slots[SLOTS];
  uint32_t used_slots;          /* nothing was ever enqueued on one from here on */
  luhip_stream *default_stream; /* not counted: it lives as long as the device */
  unsigned live_streams;        /* made by luhip_stream_new */
  struct marker *spare_markers;
  struct flags flags;
  uint64_t sequence; /* the last one given to an operation */
  struct inflight inflight;
  struct device_memory memory;
  size_t pinned_in_use; /* by host arrays */
  struct failure_store failures;
  struct metadata *metadata[SLOTS]; /* NULL: none on this slot */
  struct failure *poison;           /* E8: held; NULL while the device is sound */
  struct allocation *allocations;
  size_t live_allocations, bytes_in_use, bytes_live; /* asked for, and rounded, by live ones with memory */
  struct luhip_program *programs;
  struct capture *captures[SLOTS]; /* NULL: none on this slot */
  unsigned recordings;             /* of these, recording: nothing goes to the driver meanwhile */
  struct luhip_graph *graphs;
  hip_stream_t graph_stream; /* where the driver's graphs are built; NULL until then */
  struct luhip_event *events;
  hip_event_t spare_events[SPARE_EVENTS]; /* with timing, for luhip_stream_record */
  unsigned nspare_events;
  struct profiler profiler;
  struct luhip_array *arrays; /* pinned ones */
  struct trash trash;
};

/* ---- entering and leaving ------------------------------------------------------------------------------------ */

/* Takes the lock and makes the device current. E_FREED when it was closed, E_FORKED in a child process. */
luhip_status device_enter(luhip_device *device, luhip_error **error);
/* The same for what asks nothing of the driver, and must be possible also when that fails. */
luhip_status device_enter_host(luhip_device *device, luhip_error **error);
/* The same for clean-up: false means that nothing of the device may be touched any more (closed or forked). */
bool device_enter_quietly(luhip_device *device);
void device_leave(luhip_device *device);
/* The same for a finaliser: what is to be given back to the driver, which may wait, is left to the next who leaves. */
void device_leave_quietly(luhip_device *device);
/* The server that is open now for the same device as a closed one, retained; NULL when there is none. */
luhip_device *device_successor(const luhip_device *closed);
void device_drop(luhip_device *device);
void device_retake(luhip_device *device);
luhip_device *device_retain(luhip_device *device);
void device_release(luhip_device *device);
bool device_closing(luhip_device *device); /* no lock needed */
unsigned fork_count(void);

/* Adds to a list of the trash; false when the host has no memory. */
bool handles_add(struct handles *handles, void *handle);

/* An error of the driver as one of ours. kind E_DRIVER stands for "whatever the code says". */
luhip_error *driver_error(hip_error_t rc, luhip_status kind, const char *format, ...) PRINTF_LIKE(3, 4) RARELY;
/* E8: after a sticky code every later operation fails. */
void device_poison(luhip_device *device, hip_error_t rc);
luhip_status device_sound(luhip_device *device, luhip_error **error); /* E_POISONED when it is not */

uint64_t next_id(void); /* process-unique, never reused */

/* The first of so many in a row. */
static inline uint64_t next_sequences(luhip_device *device, uint32_t count) {
  uint64_t first = device->sequence + 1;
  device->sequence += count;
  return first;
}

static inline uint64_t next_sequence(luhip_device *device) {
  return ++device->sequence;
}

/* ---- devices.c ----------------------------------------------------------------------------------------------- */

struct device_name {
  const struct hip_provider *provider;
  const struct hip_api *api;
  int ordinal;
};

luhip_status devices_find(const char *id, struct device_name *name, luhip_error **error);
/* The driver's code; of a device that does not tell its name, architecture and memory only the id is known. */
hip_error_t devices_describe(const struct device_name *name, luhip_device_info *info);

/* ---- wait.c -------------------------------------------------------------------------------------------------- */

/* How long one entry point may wait: several waits share it. */
struct waiting {
  const luhip_wait *wait;
  double start_ms, asked_ms;
  bool closing; /* the closing device itself waits: not ended by closing */
  bool soon;    /* what is waited for was enqueued just now, so that it is worth raising a flag */
};

/* NULL: the thread's host is asked (luhip_set_host). */
struct waiting waiting_start(const luhip_wait *wait);
bool host_repeats(void); /* this thread's host repeats what has failed for lack of memory (J2) */
/* Until `position` of the slot has passed; the lock is dropped while waiting. Faults are taken before it returns. */
luhip_status wait_position(luhip_device *device, uint32_t slot, uint64_t position, struct waiting *waiting,
                           luhip_error **error);
/* Until an event that the caller keeps alive has passed; slot: where it was recorded, if the wait is a `soon` one. */
luhip_status wait_event(luhip_device *device, hip_event_t event, uint32_t slot, struct waiting *waiting,
                        luhip_error **error);
/* Until everything that is marked has passed. */
luhip_status wait_marks(luhip_device *device, const struct marks *marks, struct waiting *waiting, luhip_error **error);
luhip_status wait_all(luhip_device *device, struct waiting *waiting, luhip_error **error);
double clock_ms(void);

/* ---- order.c ------------------------------------------------------------------------------------------------- */

/* Makes what is enqueued on `slot` next come after the marked uses: after the writer, and for a write after the
   readers too. Device-side; returns the driver's code. */
hip_error_t order_after_mark(luhip_device *device, uint32_t slot, struct mark mark);

static inline bool order_already_after(const luhip_device *device, uint32_t slot, struct mark mark) {
  return mark.slot == slot || mark.position <= device->slots[mark.slot].passed ||
         (slot < SLOTS && mark.position <= device->slots[slot].waited[mark.slot]);
}

static inline hip_error_t order_after(luhip_device *device, uint32_t slot, const struct marks *marks, bool write) {
  hip_error_t rc = hip_Success;
  if (!order_already_after(device, slot, marks->writer)) rc = order_after_mark(device, slot, marks->writer);
  for (uint32_t i = 0; write && i < marks->nreaders && rc == hip_Success; i++) {
    struct mark reader = marks_readers(marks)[i];
    if (!order_already_after(device, slot, reader)) rc = order_after_mark(device, slot, reader);
  }
  return rc;
}

/* marks_passed callback: user is a struct order_view. */
bool order_passed(void *view, const struct marks *marks);

/* ---- fault.c ------------------------------------------------------------------------------------------------- */

/* Takes what the device has to tell of faults and claims what they touched. Cheap when there is nothing. */
void faults_take(luhip_device *device);
/* What a wait returns when all went well: a failure that no buffer carries, once. */
luhip_status unclaimed_take(luhip_device *device, const char *what, luhip_error **error);
/* Program, touched by unloading it later: program.c. */
void program_unload_list(const struct hip_api *api, struct luhip_program *list);

#endif
