/*
 * wait.c - how the host waits for the device.
 *
 * Every wait is for a position of a slot. The lock is dropped and the driver asked: without pause at first, yielding the
 * processor next, then asleep for a 64th of the time already waited, at most 1 ms. For the last position of a slot the
 * stream itself is asked for a while, which spares short waits the record of an event, and before that, where the work
 * was enqueued just now, a flag is looked at (flags.h). Later, as others may enqueue more meanwhile, and for other
 * positions, it is the event of a marker at or after the position, found or recorded. The host program is asked about
 * every millisecond whether it wants to go on.
 * A closing device ends the waits of others (B7).
 */
#include "server/server.h"

#include <sched.h>
#include <time.h>

static const double FLAG_MS = 0.05, SPIN_MS = 0.02, POLL_MS = 0.1, SLEEP_LEAST_MS = 0.02, SLEEP_MOST_MS = 1, ASK_MS = 1;

double clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static _Thread_local const luhip_host *host;

void luhip_set_host(const luhip_host *set) {
  host = set;
}

bool host_repeats(void) {
  return host && host->repeats;
}

struct waiting waiting_start(const luhip_wait *wait) {
  if (!wait && host) wait = &host->wait;
  double now = clock_ms();
  return (struct waiting){.wait = wait, .start_ms = now, .asked_ms = now};
}

static inline void pause_processor(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void rest(double waited_ms) {
  if (waited_ms < SPIN_MS) {
    pause_processor();
  } else if (waited_ms < POLL_MS) {
    sched_yield();
  } else {
    double ms = waited_ms / 64;
    if (ms < SLEEP_LEAST_MS) ms = SLEEP_LEAST_MS;
    if (ms > SLEEP_MOST_MS) ms = SLEEP_MOST_MS;
    struct timespec nap = {.tv_nsec = (long)(ms * 1e6)};
    nanosleep(&nap, NULL);
  }
}

static luhip_status may_go_on(luhip_device *device, struct waiting *waiting, double now, luhip_error **error) {
  if (!waiting->closing && device_closing(device)) {
    return error_set(error, LUHIP_E_FREED, "device %s was closed during the wait", device->info.id);
  }
  const luhip_wait *wait = waiting->wait;
  if (!wait) return LUHIP_OK;
  if (wait->interrupted && now - waiting->asked_ms >= ASK_MS) {
    waiting->asked_ms = now;
    if (wait->interrupted(wait->user)) return error_set(error, LUHIP_E_INTERRUPTED, "the wait was interrupted");
  }
  if (wait->timeout_ms > 0 && now - waiting->start_ms >= wait->timeout_ms) {
    return error_set(error, LUHIP_E_TIMEOUT, "the device was not done after %g ms", wait->timeout_ms);
  }
  return LUHIP_OK;
}

/* What a wait asks: an event, or a stream for as long as POLL_MS. A flag comes first, for FLAG_MS: should the stream not
   live to write it, the driver says so. */
struct asking {
  hip_event_t event;
  hip_stream_t stream;
  struct raised flag; /* count NULL: none */
  double start_ms;
};

static hip_error_t ask(const struct hip_api *api, const struct asking *asking, bool flag) {
  if (flag) return flag_reached(&asking->flag) ? hip_Success : hip_ErrorNotReady;
  return asking->stream ? api->hipStreamQuery(asking->stream) : api->hipEventQuery(asking->event);
}

/* Without the lock: until what is asked has passed (rc hip_Success), broke (another rc; hip_ErrorNotReady: a stream was
   asked long enough) or the wait ends (status). */
static luhip_status poll(luhip_device *device, const struct asking *asking, struct waiting *waiting, hip_error_t *rc,
                         luhip_error **error) {
  double now = asking->start_ms;
  for (;;) {
    bool flag = asking->flag.count && now - asking->start_ms < FLAG_MS;
    *rc = ask(device->api, asking, flag);
    if (*rc != hip_ErrorNotReady) return LUHIP_OK;
    now = clock_ms();
    luhip_status status = may_go_on(device, waiting, now, error);
    if (status || (asking->stream && !flag && now - asking->start_ms >= POLL_MS)) return status;
    rest(now - asking->start_ms);
  }
}

static luhip_status broken(luhip_device *device, hip_error_t rc, luhip_error **error) {
  device_poison(device, rc);
  return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "waiting for device %s", device->info.id));
}

static luhip_status wait_asking(luhip_device *device, const struct asking *asking, struct waiting *waiting,
                                hip_error_t *rc, luhip_error **error) {
  device_drop(device);
  luhip_status status = poll(device, asking, waiting, rc, error);
  device_retake(device);
  if (status || *rc == hip_Success || (asking->stream && *rc == hip_ErrorNotReady)) return status;
  return broken(device, *rc, error);
}

luhip_status wait_event(luhip_device *device, hip_event_t event, uint32_t slot, struct waiting *waiting,
                        luhip_error **error) {
  struct asking asking = {.event = event, .start_ms = clock_ms()};
  hip_error_t rc;
  if (waiting->soon) flag_raise(device, slot, &asking.flag);
  return wait_asking(device, &asking, waiting, &rc, error);
}

/* The slot's last position, which the stream itself knows. */
static luhip_status wait_stream(luhip_device *device, uint32_t index, double start_ms, struct waiting *waiting,
                                luhip_error **error) {
  struct slot *slot = &device->slots[index];
  struct asking asking = {.stream = slot->handle, .start_ms = start_ms};
  uint64_t reached = slot->tail;
  hip_error_t rc;
  if (waiting->soon) flag_raise(device, index, &asking.flag);
  slot->askers++;
  luhip_status status = wait_asking(device, &asking, waiting, &rc, error);
  slot->askers--;
  if (!status && rc == hip_Success) slot_advance(device, index, reached);
  return status;
}

static luhip_status wait_marker(luhip_device *device, uint32_t slot, uint64_t position, double start_ms,
                                struct waiting *waiting, luhip_error **error) {
  struct marker *marker;
  hip_error_t rc = slot_marker(device, slot, position, &marker);
  if (rc != hip_Success) return broken(device, rc, error);
  uint64_t reached = marker->position;
  struct asking asking = {.event = marker->event, .start_ms = start_ms};
  marker->waiters++;
  luhip_status status = wait_asking(device, &asking, waiting, &rc, error);
  marker_release(device, marker);
  if (!status) slot_advance(device, slot, reached);
  return status;
}

luhip_status wait_position(luhip_device *device, uint32_t index, uint64_t position, struct waiting *waiting,
                           luhip_error **error) {
  struct slot *slot = &device->slots[index];
  if (position <= slot->passed) return LUHIP_OK;
  double start_ms = clock_ms();
  bool marked = slot->last_marker && slot->last_marker->position >= position;
  if (position == slot->tail && slot->handle && !marked) {
    luhip_status status = wait_stream(device, index, start_ms, waiting, error);
    if (status || position <= slot->passed) return status;
  }
  return wait_marker(device, index, position, start_ms, waiting, error);
}

luhip_status wait_marks(luhip_device *device, const struct marks *marks, struct waiting *waiting, luhip_error **error) {
  struct mark list[SLOTS + 1]; /* a copy: the marks may change while the lock is dropped */
  uint32_t count = 0;
  list[count++] = marks->writer;
  for (uint32_t i = 0; i < marks->nreaders && count <= SLOTS; i++) list[count++] = marks_readers(marks)[i];
  for (uint32_t i = 0; i < count; i++) {
    luhip_status status = wait_position(device, list[i].slot, list[i].position, waiting, error);
    if (status) return status;
  }
  return LUHIP_OK;
}

luhip_status wait_all(luhip_device *device, struct waiting *waiting, luhip_error **error) {
  uint64_t tails[SLOTS];
  uint32_t used = device->used_slots;
  for (uint32_t i = 0; i < used; i++) tails[i] = device->slots[i].tail;
  for (uint32_t i = 0; i < used; i++) {
    luhip_status status = wait_position(device, i, tails[i], waiting, error);
    if (status) return status;
  }
  return LUHIP_OK;
}
