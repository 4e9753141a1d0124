/*
 * trace.c - what each operation took, while somebody wants to know.
 *
 * While a trace is on, the calls that enqueue an operation are surrounded by two events of the pool. Both are
 * recorded under the lock, around nothing else: what the operation waits for on other streams comes before the first.
 * The times are read and the events go back, in order, when the trace is waited for; also before, of operations that are
 * known to have passed, when many are open: so a trace that runs for long has no more events than a pool holds.
 * One trace is on per device, and every operation of every stream and thread is in it.
 */
#include "server/capture.h"
#include "server/event.h"
#include "server/program.h"

#include <stdlib.h>
#include <string.h>

struct record {
  hip_event_t start, stop;
  struct anchor *anchor;
  luhip_kernel *kernel; /* retained: the name is its own */
  uint32_t slot;
  uint64_t position;
};

struct luhip_trace {
  struct watch watch;   /* first: a watch of the list is found to be this */
  int refs;             /* atomic */
  luhip_device *device; /* retained */
  bool stopped, known;
  struct record *records;
  luhip_trace_record *shown; /* one for each record */
  size_t count, capacity, resolved;
  uint64_t ends[SLOTS]; /* place of the last operation on each slot */
  luhip_error *error;   /* of a trace that is worthless */
};

/* Asking for two times takes longer than a launch, so nothing is asked for before so many operations are open. */
enum { OPEN_MOST = 1024 - 64, RESOLVE_EVERY = 64 };

/* ---- the records --------------------------------------------------------------------------------------------- */

static void worthless(luhip_trace *trace, luhip_error *error) {
  if (trace->error) {
    luhip_error_release(error);
  } else {
    trace->error = error;
  }
}

/* The operation has passed: its times are there. */
static void resolve_record(luhip_trace *trace, size_t i) {
  luhip_device *device = trace->device;
  struct record *record = &trace->records[i];
  luhip_trace_record *shown = &trace->shown[i];
  hip_error_t rc = events_elapsed(device, record->start, record->stop, &shown->ms);
  if (rc == hip_Success) rc = anchor_place(device, record->anchor, record->start, &shown->start_ms);
  if (rc != hip_Success) worthless(trace, driver_error(rc, LUHIP_E_DRIVER, "trace: its events cannot be read"));
  event_give(device, record->start);
  event_give(device, record->stop);
  anchor_release(device, record->anchor);
}

/* Until no more than `most` are open, if so many have passed. */
static void resolve_passed(luhip_trace *trace, size_t most) {
  const struct slot *slots = trace->device->slots;
  while (trace->count - trace->resolved > most) {
    const struct record *record = &trace->records[trace->resolved];
    if (slots[record->slot].passed < record->position) break;
    resolve_record(trace, trace->resolved++);
  }
}

/* Lets go of what was not resolved. */
static void drop_records(luhip_trace *trace) {
  for (; trace->resolved < trace->count; trace->resolved++) {
    struct record *record = &trace->records[trace->resolved];
    event_give(trace->device, record->start);
    event_give(trace->device, record->stop);
    anchor_release(trace->device, record->anchor);
  }
}

static bool grow(luhip_trace *trace) {
  if (trace->count < trace->capacity) return true;
  size_t capacity = trace->capacity ? trace->capacity * 2 : 64;
  struct record *records = realloc(trace->records, capacity * sizeof *records);
  if (records) trace->records = records;
  luhip_trace_record *shown = realloc(trace->shown, capacity * sizeof *shown);
  if (shown) trace->shown = shown;
  if (!records || !shown) return false;
  trace->capacity = capacity;
  return true;
}

static hip_error_t record_event(luhip_device *device, uint32_t slot, hip_event_t *event) {
  hip_error_t rc = event_take(device, event);
  if (rc != hip_Success) return rc;
  rc = device->api->hipEventRecord(*event, device->slots[slot].handle);
  if (rc != hip_Success) event_give(device, *event);
  return rc;
}

/* Two events that are not recorded yet. */
static hip_error_t take_events(luhip_device *device, struct record *record) {
  hip_error_t rc = event_take(device, &record->start);
  if (rc != hip_Success) return rc;
  rc = event_take(device, &record->stop);
  if (rc != hip_Success) event_give(device, record->start);
  return rc;
}

void trace_events(const struct record *record, hip_event_t *start, hip_event_t *stop) {
  *start = record->start;
  *stop = record->stop;
}

struct record *trace_enter(luhip_device *device, uint32_t slot, bool timed) {
  luhip_trace *trace = device->profiler.trace;
  if (trace->count % RESOLVE_EVERY == 0) resolve_passed(trace, OPEN_MOST);
  if (!grow(trace)) {
    worthless(trace, error_new(LUHIP_E_MEMORY, "trace: the host has no memory for another operation"));
    return NULL;
  }
  struct record *record = &trace->records[trace->count];
  *record = (struct record){.slot = slot};
  hip_error_t rc = timed ? take_events(device, record) : record_event(device, slot, &record->start);
  if (rc == hip_Success) return record;
  worthless(trace, driver_error(rc, LUHIP_E_DRIVER, "trace: recording an event"));
  return NULL;
}

void trace_leave(luhip_device *device, struct record *record, bool enqueued, const struct traced *what) {
  luhip_trace *trace = device->profiler.trace;
  bool timed = record->stop != NULL;
  hip_error_t rc = enqueued && !timed ? record_event(device, record->slot, &record->stop) : hip_Success;
  if (!enqueued || rc != hip_Success) {
    event_give(device, record->start);
    if (timed) event_give(device, record->stop);
    if (enqueued) worthless(trace, driver_error(rc, LUHIP_E_DRIVER, "trace: recording an event"));
    return;
  }
  const struct slot *slot = &device->slots[record->slot];
  record->position = trace->ends[record->slot] = slot->tail + 1;
  record->anchor = anchor_retain(device->profiler.anchor);
  record->kernel = luhip_kernel_retain(what->kernel);
  luhip_trace_record *shown = &trace->shown[trace->count++];
  *shown = (luhip_trace_record){.kind = what->kind,
                                .name = what->name,
                                .stream = slot->owner ? slot->owner->id : 0,
                                .shared = what->shared,
                                .bytes = what->bytes};
  if (what->grid) memcpy(shown->grid, what->grid, sizeof shown->grid);
  if (what->block) memcpy(shown->block, what->block, sizeof shown->block);
}

/* ---- starting and stopping ----------------------------------------------------------------------------------- */

static void turn_off(luhip_trace *trace) {
  struct profiler *profiler = &trace->device->profiler;
  if (profiler->trace == trace) profiler->trace = NULL;
  trace->stopped = true;
  watch_stop(trace->device, &trace->watch);
}

static luhip_status settle(luhip_trace *trace, luhip_error **error) {
  luhip_error *failed = NULL;
  if (!trace->error && watch_report(trace->device, &trace->watch, "profile", &failed)) trace->error = failed;
  drop_records(trace);
  watch_forget(trace->device, &trace->watch);
  trace->known = true;
  return trace->error ? error_give(error, luhip_error_retain(trace->error)) : LUHIP_OK;
}

static void close_trace(luhip_device *device, struct watch *watch, bool idle) {
  luhip_trace *trace = (luhip_trace *)watch;
  bool stopped = trace->stopped;
  turn_off(trace);
  if (idle && stopped) {
    slots_poll(device);
    resolve_passed(trace, 0);
  }
  if (trace->resolved < trace->count || !stopped) {
    worthless(trace, error_new(LUHIP_E_FREED, "device %s was closed before the trace was known", device->info.id));
  }
  settle(trace, NULL);
}

static luhip_status start_locked(luhip_device *device, luhip_trace *made, luhip_error **error) {
  struct profiler *profiler = &device->profiler;
  anchor_need(device);
  if (device_closing(device)) return error_set(error, LUHIP_E_FREED, "device %s was closed", device->info.id);
  luhip_status status = device_sound(device, error);
  if (!status) status = capture_refuse_thread(device, "profile", error);
  if (status) return status;
  if (profiler->trace) return error_set(error, LUHIP_E_ARGUMENT, "device %s is being traced already", device->info.id);
  if (!profiler->anchor) {
    return error_set(error, LUHIP_E_TIMEOUT, "device %s did not say what time it is", device->info.id);
  }
  faults_take(device); /* what is known by now was before */
  made->device = device_retain(device);
  watch_open(device, &made->watch);
  profiler->trace = made;
  return LUHIP_OK;
}

luhip_status luhip_trace_start(luhip_device *device, luhip_trace **trace, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  luhip_trace *made = calloc(1, sizeof *made);
  if (made) {
    made->refs = 1;
    made->watch.close = close_trace;
    status = start_locked(device, made, error);
  } else {
    status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a trace");
  }
  device_leave(device);
  if (status) {
    free(made);
  } else {
    *trace = made;
  }
  return status;
}

static luhip_status trace_enter_device(luhip_trace *trace, luhip_error **error) {
  if (device_enter_quietly(trace->device)) return LUHIP_OK; /* also after the close, which settles every trace */
  return device_enter(trace->device, error);                /* a child process: says so */
}

luhip_status luhip_trace_stop(luhip_trace *trace, luhip_error **error) {
  luhip_status status = trace_enter_device(trace, error);
  if (status) return status;
  if (trace->known) {
    status = trace->error ? error_give(error, luhip_error_retain(trace->error)) : LUHIP_OK;
  } else {
    turn_off(trace);
  }
  device_leave(trace->device);
  return status;
}

/* ---- the outcome --------------------------------------------------------------------------------------------- */

static luhip_status wait_operations(luhip_trace *trace, const luhip_wait *wait, luhip_error **error) {
  struct waiting waiting = waiting_start(wait);
  for (uint32_t i = 0; i < SLOTS; i++) {
    luhip_status status = wait_position(trace->device, i, trace->ends[i], &waiting, error);
    if (status) return status;
  }
  faults_take(trace->device);
  return LUHIP_OK;
}

luhip_status luhip_trace_wait(luhip_trace *trace, const luhip_wait *wait, luhip_error **error) {
  luhip_status status = trace_enter_device(trace, error);
  if (status) return status;
  if (!trace->stopped) {
    status = error_set(error, LUHIP_E_NOT_READY, "wait: the trace was not stopped");
  } else if (!trace->known) {
    status = wait_operations(trace, wait, error);
  }
  if (!status && !trace->known) { /* the lock was dropped */
    resolve_passed(trace, 0);
    status = settle(trace, error);
  } else if (!status && trace->error) {
    status = error_give(error, luhip_error_retain(trace->error));
  }
  device_leave(trace->device);
  return status;
}

size_t luhip_trace_records(const luhip_trace *trace, const luhip_trace_record **list) {
  bool there = trace->known && !trace->error;
  if (list) *list = there ? trace->shown : NULL;
  return there ? trace->count : 0;
}

luhip_trace *luhip_trace_retain(luhip_trace *trace) {
  if (trace) __atomic_fetch_add(&trace->refs, 1, __ATOMIC_RELAXED);
  return trace;
}

void luhip_trace_release(luhip_trace *trace) {
  if (!trace || __atomic_sub_fetch(&trace->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_device *device = trace->device;
  if (!device_enter_quietly(device)) return; /* a child process */
  turn_off(trace);
  drop_records(trace);
  watch_forget(device, &trace->watch);
  device_leave_quietly(device);
  for (size_t i = 0; i < trace->count; i++) luhip_kernel_release(trace->records[i].kernel);
  luhip_error_release(trace->error);
  free(trace->records);
  free(trace->shown);
  free(trace);
  device_release(device);
}
