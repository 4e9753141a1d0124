/*
 * profiler.c - watches, anchors, and windows (G1 to G5).
 *
 * A window opens where its stream is: an event is recorded and nothing is waited for. It stops with a second event,
 * and what lies between the two is asked for when somebody wants to know. Events come from the device's pool and go
 * back when the window is settled.
 *
 * Anchors are taken on a stream of their own, which has nothing else to do: an event is recorded and waited for. The
 * first wakes the stream up, so that a second passes at once; the one that is known best is kept.
 */
#include "server/profiler.h"

#include "base/log.h"
#include "server/capture.h"
#include "server/event.h"

#include <stdlib.h>

/* ---- watches ------------------------------------------------------------------------------------------------- */

void watch_open(luhip_device *device, struct watch *watch) {
  struct profiler *profiler = &device->profiler;
  watch->open = watch->listed = true;
  watch->first = next_sequence(device);
  watch->previous = NULL;
  watch->next = profiler->watches;
  if (watch->next) watch->next->previous = watch;
  profiler->watches = watch;
}

void watch_stop(luhip_device *device, struct watch *watch) {
  if (!watch->open) return;
  watch->open = false;
  watch->last = next_sequence(device);
}

void watch_forget(luhip_device *device, struct watch *watch) {
  if (!watch->listed) return;
  watch->open = watch->listed = false;
  if (watch->previous) {
    watch->previous->next = watch->next;
  } else {
    device->profiler.watches = watch->next;
  }
  if (watch->next) watch->next->previous = watch->previous;
  failure_release(watch->failure);
  watch->failure = NULL;
}

void watches_fail(luhip_device *device, uint64_t sequence, struct failure *failure) {
  for (struct watch *watch = device->profiler.watches; watch; watch = watch->next) {
    bool inside = sequence > watch->first && (watch->open || sequence < watch->last);
    if (inside && !watch->failure) watch->failure = failure_hold(failure);
  }
}

void profiler_lost(luhip_device *device, luhip_error *error) {
  if (!device->profiler.watches) return;
  struct failure *failure = failure_new(&device->failures, luhip_error_retain(error));
  watches_fail(device, next_sequence(device), failure);
  failure_release(failure);
}

void luhip_profiles_fail(luhip_device *device, luhip_error *reason) {
  if (device_enter(device, NULL)) return;
  profiler_lost(device, reason);
  device_leave(device);
}

luhip_status watch_report(luhip_device *device, const struct watch *watch, const char *what, luhip_error **error) {
  if (!watch->failure) return device_sound(device, error);
  struct failure_set set = {0};
  failure_set_add(&set, watch->failure);
  for (size_t i = 0; i < set.count; i++) failure_told(set.list[i]);
  luhip_status status = error_give(error, failure_set_report(&set, what, NULL, 0, NULL));
  failure_set_free(&set);
  return status;
}

/* ---- anchors ------------------------------------------------------------------------------------------------- */

static const double SHORT_MS = 5, LONG_MS = 5000, GOOD_MS = 0.02;
enum { TRIES = 8 };

struct anchor *anchor_retain(struct anchor *anchor) {
  if (anchor) anchor->refs++;
  return anchor;
}

void anchor_release(luhip_device *device, struct anchor *anchor) {
  if (!anchor || --anchor->refs) return;
  event_give(device, anchor->event);
  free(anchor);
}

/* Records an event on the idle stream and waits for it, with the lock dropped; it has passed between two looks at the
   host's clock. Kept in *anchor if they are closer than those before. */
static luhip_status touch(luhip_device *device, hip_event_t *event, struct anchor *anchor, struct waiting *waiting) {
  double before = clock_ms();
  if (device->api->hipEventRecord(*event, device->profiler.stream) != hip_Success) return LUHIP_E_DRIVER;
  luhip_status status = wait_event(device, *event, SLOTS, waiting, NULL);
  double after = clock_ms();
  if (status || (anchor->refs && (after - before) / 2 >= anchor->slack_ms)) return status;
  hip_event_t worse = anchor->event;
  *anchor =
      (struct anchor){.refs = 1, .event = *event, .host_ms = (before + after) / 2, .slack_ms = (after - before) / 2};
  *event = worse;
  return LUHIP_OK;
}

/* A few tries, of which one will do. */
static void take_anchor(luhip_device *device, struct anchor *anchor, double most_ms) {
  luhip_wait most = {.timeout_ms = most_ms};
  struct waiting waiting = waiting_start(&most);
  hip_event_t event;
  if (event_take(device, &event) != hip_Success) return;
  luhip_status status = LUHIP_OK;
  for (int i = 0; i < TRIES && !status && (i < 2 || anchor->slack_ms > GOOD_MS); i++)
    status = touch(device, &event, anchor, &waiting);
  event_give(device, event);
}

static void anchor_new(luhip_device *device, double most_ms) {
  struct profiler *profiler = &device->profiler;
  if (!profiler->stream &&
      device->api->hipStreamCreateWithFlags(&profiler->stream, hip_StreamNonBlocking) != hip_Success) {
    return;
  }
  struct anchor *made = calloc(1, sizeof *made);
  if (!made) return;
  if (event_take(device, &made->event) == hip_Success) take_anchor(device, made, most_ms);
  if (made->refs) {
    anchor_release(device, profiler->anchor);
    profiler->anchor = made;
    profiler->tried_ms = 0;
    return;
  }
  if (made->event) event_give(device, made->event);
  free(made);
  profiler->tried_ms = clock_ms();
}

void anchor_refresh(luhip_device *device) {
  const struct profiler *profiler = &device->profiler;
  double now = clock_ms();
  if (profiler->anchor && now - profiler->anchor->host_ms < PROFILER_ANCHOR_MS) return;
  if (!profiler->tried_ms || now - profiler->tried_ms >= PROFILER_ANCHOR_MS) anchor_new(device, SHORT_MS);
}

void anchor_need(luhip_device *device) {
  anchor_refresh(device);
  if (!device->profiler.anchor) anchor_new(device, LONG_MS);
}

hip_error_t events_elapsed(luhip_device *device, hip_event_t first, hip_event_t last, double *ms) {
  float elapsed;
  hip_error_t rc = device->api->hipEventElapsedTime(&elapsed, first, last);
  if (rc == hip_Success) *ms = elapsed < 0 ? 0 : (double)elapsed;
  return rc;
}

hip_error_t anchor_place(luhip_device *device, const struct anchor *anchor, hip_event_t event, double *host_ms) {
  float elapsed;
  hip_error_t rc = device->api->hipEventElapsedTime(&elapsed, anchor->event, event);
  if (rc == hip_Success) *host_ms = anchor->host_ms + (double)elapsed;
  return rc;
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

enum window_state { WINDOW_OPEN, WINDOW_STOPPED, WINDOW_KNOWN, WINDOW_ABANDONED, WINDOW_FAILED };

struct luhip_profile {
  struct watch watch;   /* first: a watch of the list is found to be this */
  int refs;             /* atomic */
  luhip_device *device; /* retained */
  enum window_state state;
  hip_event_t start, stop; /* NULL when they were given back */
  uint32_t slot;
  uint64_t position; /* of stop */
  uint64_t handle;   /* which of the slot's driver streams it was: slot.handles then */
  unsigned waiters;  /* threads that ask about the events without the lock */
  struct anchor *anchor;
  double ms, host_ms; /* once known; host_ms < 0: no anchor could be had */
  bool
      unplaced; /* known, in the profiler's list: start and anchor are kept to find host_ms from, when it is asked for */
  luhip_profile *next, *previous; /* in that list */
  luhip_error *error;             /* of one that failed */
};

static void give_back(luhip_profile *profile) {
  if (profile->waiters) return;
  if (profile->stop) event_give(profile->device, profile->stop);
  profile->stop = NULL;
  if (profile->unplaced) return;
  if (profile->start) event_give(profile->device, profile->start);
  profile->start = NULL;
  anchor_release(profile->device, profile->anchor);
  profile->anchor = NULL;
}

static void settle(luhip_profile *profile, enum window_state state) {
  profile->state = state;
  watch_forget(profile->device, &profile->watch);
  give_back(profile);
}

/* It has an error for good; gives a reference to the caller. */
static luhip_status settle_failed(luhip_profile *profile, luhip_error *failed, luhip_error **error) {
  profile->error = failed;
  settle(profile, WINDOW_FAILED);
  return error_give(error, luhip_error_retain(failed));
}

/* To be placed when that is asked for, since asking for a time is slow. */
static void place_later(luhip_profile *profile) {
  struct profiler *profiler = &profile->device->profiler;
  profile->host_ms = -1;
  if (!profile->anchor) profile->anchor = anchor_retain(profiler->anchor);
  if (!profile->anchor) return;
  profile->unplaced = true;
  profile->next = profiler->unplaced;
  if (profile->next) profile->next->previous = profile;
  profiler->unplaced = profile;
}

/* Out of the list; the driver is asked only if that is of use. */
static void place(luhip_profile *profile, bool asked) {
  if (!profile->unplaced) return;
  if (asked) anchor_place(profile->device, profile->anchor, profile->start, &profile->host_ms);
  if (profile->previous)
    profile->previous->next = profile->next;
  else
    profile->device->profiler.unplaced = profile->next;
  if (profile->next) profile->next->previous = profile->previous;
  profile->unplaced = false;
  give_back(profile);
}

/* Both events have passed. */
static luhip_status resolve(luhip_profile *profile, luhip_error **error) {
  luhip_device *device = profile->device;
  luhip_error *failed = NULL;
  if (watch_report(device, &profile->watch, "timed work", &failed)) return settle_failed(profile, failed, error);
  hip_error_t rc = events_elapsed(device, profile->start, profile->stop, &profile->ms);
  if (rc != hip_Success) {
    return settle_failed(profile, driver_error(rc, LUHIP_E_DRIVER, "timed work: its events cannot be read"), error);
  }
  place_later(profile);
  settle(profile, WINDOW_KNOWN);
  return LUHIP_OK;
}

static void close_window(luhip_device *device, struct watch *watch, bool idle) {
  luhip_profile *profile = (luhip_profile *)watch;
  if (profile->state == WINDOW_STOPPED && idle) {
    resolve(profile, NULL);
  } else {
    settle_failed(profile,
                  error_new(LUHIP_E_FREED, "device %s was closed before the profile was known", device->info.id), NULL);
  }
}

static luhip_status window_record(luhip_profile *profile, hip_event_t *event, luhip_error **error) {
  luhip_device *device = profile->device;
  hip_error_t rc = event_take(device, event);
  if (rc == hip_Success) {
    rc = device->api->hipEventRecord(*event, device->slots[profile->slot].handle);
    if (rc != hip_Success) {
      event_give(device, *event);
      *event = NULL;
    }
  }
  if (rc == hip_Success) return LUHIP_OK;
  device_poison(device, rc);
  return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "timed work: recording an event"));
}

static luhip_status start_locked(luhip_device *device, luhip_stream *stream, luhip_profile *made, luhip_error **error) {
  anchor_refresh(device);
  if (device_closing(device)) return error_set(error, LUHIP_E_FREED, "device %s was closed", device->info.id);
  luhip_status status = device_sound(device, error);
  if (!status) status = slot_of(device, stream, &made->slot, error);
  if (!status) status = capture_refuse(device, made->slot, "profile", error);
  if (status) return status;
  made->device = device;
  status = window_record(made, &made->start, error);
  if (status) return status;
  faults_take(device); /* what is known by now was before */
  made->anchor = anchor_retain(device->profiler.anchor);
  watch_open(device, &made->watch);
  device_retain(device);
  return LUHIP_OK;
}

luhip_status luhip_profile_start(luhip_device *device, luhip_stream *stream, luhip_profile **profile,
                                 luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  luhip_profile *made = malloc(sizeof *made);
  if (made) {
    *made = (luhip_profile){.refs = 1, .watch.close = close_window};
    status = start_locked(device, stream, made, error);
  } else {
    status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a profile");
  }
  device_leave(device);
  if (status) {
    free(made);
  } else {
    *profile = made;
  }
  return status;
}

/* What a window that is not open, or not stopped, has to say. */
static luhip_status wrong_state(const luhip_profile *profile, const char *verb, luhip_error **error) {
  switch (profile->state) {
  case WINDOW_OPEN:
    return error_set(error, LUHIP_E_NOT_READY, "%s: the profile was not stopped", verb);
  case WINDOW_ABANDONED:
    return error_set(error, LUHIP_E_FREED, "%s: the profile was abandoned", verb);
  case WINDOW_FAILED:
    return error_give(error, luhip_error_retain(profile->error));
  default:
    return error_set(error, LUHIP_E_FREED, "%s: the profile was stopped already", verb);
  }
}

static luhip_status stop_locked(luhip_profile *profile, luhip_error **error) {
  luhip_device *device = profile->device;
  luhip_error *failed = NULL;
  faults_take(device);
  luhip_status status = watch_report(device, &profile->watch, "timed work", &failed);
  if (!status) status = capture_refuse(device, profile->slot, "stop", &failed);
  if (!status) status = window_record(profile, &profile->stop, &failed);
  if (status) {
    LOG(LOG_LAUNCHES, LOG_BASIC, "profile on %s, stream slot %u: %s", device->info.id, profile->slot,
        luhip_error_message(failed));
    return settle_failed(profile, failed, error);
  }
  LOG(LOG_LAUNCHES, LOG_FULL, "profile on %s, stream slot %u stopped", device->info.id, profile->slot);
  profile->position = device->slots[profile->slot].tail;
  profile->handle = device->slots[profile->slot].handles;
  profile->state = WINDOW_STOPPED;
  watch_stop(device, &profile->watch);
  return LUHIP_OK;
}

/* For stopping, waiting and asking: also after the close, which settles every window. */
static luhip_status window_enter(luhip_profile *profile, luhip_error **error) {
  luhip_device *device = profile->device;
  if (device_enter_quietly(device)) return LUHIP_OK;
  return device_enter(device, error); /* a child process: says so */
}

luhip_status luhip_profile_stop(luhip_profile *profile, luhip_error **error) {
  luhip_status status = window_enter(profile, error);
  if (status) return status;
  status = profile->state == WINDOW_OPEN ? stop_locked(profile, error) : wrong_state(profile, "stop", error);
  device_leave(profile->device);
  return status;
}

void luhip_profile_abandon(luhip_profile *profile) {
  if (!profile || !device_enter_quietly(profile->device)) return;
  if (profile->state == WINDOW_OPEN) settle(profile, WINDOW_ABANDONED);
  device_leave_quietly(profile->device);
}

luhip_profile *luhip_profile_retain(luhip_profile *profile) {
  if (profile) __atomic_fetch_add(&profile->refs, 1, __ATOMIC_RELAXED);
  return profile;
}

void luhip_profile_release(luhip_profile *profile) {
  if (!profile || __atomic_sub_fetch(&profile->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_device *device = profile->device;
  if (!device_enter_quietly(device)) return; /* a child process */
  if (profile->watch.listed) settle(profile, WINDOW_ABANDONED);
  place(profile, false);
  device_leave_quietly(device);
  luhip_error_release(profile->error);
  free(profile);
  device_release(device);
}

/* ---- the duration -------------------------------------------------------------------------------------------- */

/* Its stream was given nothing after it, and is still there. */
static bool is_last(const luhip_profile *profile) {
  const struct slot *slot = &profile->device->slots[profile->slot];
  return slot->handle && slot->handles == profile->handle && slot->tail == profile->position;
}

static luhip_status wait_stopped(luhip_profile *profile, const luhip_wait *wait, luhip_error **error) {
  luhip_device *device = profile->device;
  struct waiting waiting = waiting_start(wait);
  profile->waiters++;
  waiting.soon = is_last(profile);
  luhip_status status = wait_event(device, profile->stop, profile->slot, &waiting, error);
  if (!status) slot_advance(device, profile->slot, profile->position);
  if (!status && !profile->anchor) anchor_need(device);
  profile->waiters--;
  if (profile->state != WINDOW_STOPPED) { /* settled by another thread, or by the close */
    give_back(profile);
    if (status) return status;
    return profile->state == WINDOW_KNOWN ? LUHIP_OK : wrong_state(profile, "wait", error);
  }
  if (status) return status;
  faults_take(device);
  return resolve(profile, error);
}

luhip_status luhip_profile_wait(luhip_profile *profile, const luhip_wait *wait, double *ms, luhip_error **error) {
  luhip_status status = window_enter(profile, error);
  if (status) return status;
  if (profile->state == WINDOW_STOPPED) {
    status = wait_stopped(profile, wait, error);
  } else if (profile->state != WINDOW_KNOWN) {
    status = wrong_state(profile, "wait", error);
  }
  if (!status) *ms = profile->ms;
  device_leave(profile->device);
  return status;
}

static luhip_status ask(luhip_profile *profile, bool *ready, luhip_error **error) {
  luhip_device *device = profile->device;
  hip_error_t rc = device->api->hipEventQuery(profile->stop);
  *ready = rc != hip_ErrorNotReady;
  if (!*ready) return LUHIP_OK;
  if (rc != hip_Success) {
    device_poison(device, rc);
    return settle_failed(profile, driver_error(rc, LUHIP_E_DRIVER, "timed work: its events cannot be read"), error);
  }
  slot_advance(device, profile->slot, profile->position);
  faults_take(device);
  return resolve(profile, error);
}

luhip_status luhip_profile_ready(luhip_profile *profile, bool *ready, luhip_error **error) {
  luhip_status status = window_enter(profile, error);
  if (status) return status;
  bool known = true;
  if (profile->state == WINDOW_STOPPED) {
    status = ask(profile, &known, error);
  } else if (profile->state != WINDOW_KNOWN) {
    status = wrong_state(profile, "ready", error);
  }
  if (!status) *ready = known;
  device_leave(profile->device);
  return status;
}

luhip_status luhip_profile_span(luhip_profile *profile, double *start_ms, double *end_ms, luhip_error **error) {
  luhip_status status = window_enter(profile, error);
  if (status) return status;
  place(profile, true);
  if (profile->state == WINDOW_STOPPED) {
    status = error_set(error, LUHIP_E_NOT_READY, "span: the duration was not waited for");
  } else if (profile->state != WINDOW_KNOWN) {
    status = wrong_state(profile, "span", error);
  } else if (profile->host_ms < 0) {
    status =
        error_set(error, LUHIP_E_NOT_READY, "span: device %s did not say what time it is", profile->device->info.id);
  } else {
    *start_ms = profile->host_ms;
    *end_ms = profile->host_ms + profile->ms;
  }
  device_leave(profile->device);
  return status;
}

/* ---- closing ------------------------------------------------------------------------------------------------- */

void profiler_close(luhip_device *device, bool idle) {
  struct profiler *profiler = &device->profiler;
  while (profiler->watches) profiler->watches->close(device, profiler->watches, idle);
  while (profiler->unplaced) place(profiler->unplaced, idle);
  anchor_release(device, profiler->anchor);
  if (profiler->stream && idle) device->api->hipStreamDestroy(profiler->stream);
  *profiler = (struct profiler){0};
}
