/*
 * event.c - events: record, wait, query, elapsed (B5).
 *
 * An event is asked itself, not its position: work can be known to have passed a moment before the event's own
 * time is there.
 */
#include "server/event.h"

#include "server/capture.h"

#include <stdlib.h>

/* ---- making and freeing -------------------------------------------------------------------------------------- */

hip_error_t event_take(luhip_device *device, hip_event_t *event) {
  if (device->nspare_events) {
    *event = device->spare_events[--device->nspare_events];
    return hip_Success;
  }
  return device->api->hipEventCreateWithFlags(event, hip_EventDefault);
}

void event_give(luhip_device *device, hip_event_t event) {
  if (device->nspare_events < SPARE_EVENTS) {
    device->spare_events[device->nspare_events++] = event;
  } else if (!handles_add(&device->trash.events, event)) {
    device->api->hipEventDestroy(event);
  }
}

static luhip_status record_locked(luhip_device *device, luhip_stream *stream, luhip_event *made, luhip_error **error) {
  uint32_t slot;
  luhip_status status = slot_of(device, stream, &slot, error);
  if (!status) status = capture_refuse(device, slot, "record", error);
  if (status) return status;
  hip_event_t event;
  hip_error_t rc = event_take(device, &event);
  if (rc == hip_Success) {
    rc = device->api->hipEventRecord(event, device->slots[slot].handle);
    if (rc != hip_Success) event_give(device, event);
  }
  if (rc != hip_Success) return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "recording an event"));
  *made = (luhip_event){.refs = 1,
                        .device = device_retain(device),
                        .event = event,
                        .slot = slot,
                        .position = device->slots[slot].tail,
                        .next = device->events};
  if (made->next) made->next->previous = made;
  device->events = made;
  return LUHIP_OK;
}

luhip_status luhip_stream_record(luhip_device *device, luhip_stream *stream, luhip_event **event, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  luhip_event *made = malloc(sizeof *made);
  status = made ? record_locked(device, stream, made, error)
                : error_set(error, LUHIP_E_MEMORY, "the host has no memory for an event");
  device_leave(device);
  if (status) {
    free(made);
    return status;
  }
  *event = made;
  return LUHIP_OK;
}

luhip_event *luhip_event_retain(luhip_event *event) {
  if (event) __atomic_fetch_add(&event->refs, 1, __ATOMIC_RELAXED);
  return event;
}

static void list_remove(luhip_event *event) {
  if (event->previous) {
    event->previous->next = event->next;
  } else {
    event->device->events = event->next;
  }
  if (event->next) event->next->previous = event->previous;
  event->next = event->previous = NULL;
}

void luhip_event_release(luhip_event *event) {
  if (!event || __atomic_sub_fetch(&event->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_device *device = event->device;
  if (!device_enter_quietly(device)) return;
  if (event->event) {
    list_remove(event);
    event_give(device, event->event);
  }
  device_leave_quietly(device);
  free(event);
  device_release(device);
}

void events_close(luhip_device *device, bool destroy) {
  while (device->events) {
    luhip_event *event = device->events;
    list_remove(event);
    if (destroy) device->api->hipEventDestroy(event->event);
    event->event = NULL;
  }
  while (device->nspare_events) {
    hip_event_t spare = device->spare_events[--device->nspare_events];
    if (destroy) device->api->hipEventDestroy(spare);
  }
}

/* ---- using --------------------------------------------------------------------------------------------------- */

luhip_status luhip_event_wait(luhip_event *event, const luhip_wait *wait, luhip_error **error) {
  luhip_device *device = event->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  struct waiting waiting = waiting_start(wait);
  status = wait_event(device, event->event, event->slot, &waiting, error);
  if (!status) slot_advance(device, event->slot, event->position);
  if (!status) status = unclaimed_take(device, "wait", error);
  device_leave(device);
  return status;
}

luhip_status luhip_event_query(luhip_event *event, bool *done, luhip_error **error) {
  luhip_device *device = event->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  hip_error_t rc = device->api->hipEventQuery(event->event);
  if (rc == hip_Success) slot_advance(device, event->slot, event->position);
  *done = rc == hip_Success;
  if (rc != hip_Success && rc != hip_ErrorNotReady) {
    device_poison(device, rc);
    status = error_give(error, driver_error(rc, LUHIP_E_DRIVER, "asking for an event"));
  }
  device_leave(device);
  return status;
}

static bool in_order(const luhip_event *start, const luhip_event *stop) {
  return start->slot == stop->slot && start->position <= stop->position;
}

static luhip_status elapsed_locked(luhip_event *start, luhip_event *stop, double *ms, luhip_error **error) {
  float elapsed = 0;
  hip_error_t rc = start->device->api->hipEventElapsedTime(&elapsed, start->event, stop->event);
  switch (rc) {
  case hip_Success:
    *ms = elapsed < 0 && in_order(start, stop) ? 0 : (double)elapsed;
    return LUHIP_OK;
  case hip_ErrorNotReady:
    return error_set(error, LUHIP_E_NOT_READY, "elapsed: an event has not passed yet; wait for it first");
  case hip_ErrorInvalidHandle:
    return error_set(error, LUHIP_E_ARGUMENT, "elapsed: an event was not recorded");
  default:
    return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "elapsed"));
  }
}

luhip_status luhip_event_elapsed(luhip_event *start, luhip_event *stop, double *ms, luhip_error **error) {
  if (start->device != stop->device) {
    return error_set(error, LUHIP_E_ARGUMENT, "elapsed: the events belong to two devices, %s and %s",
                     start->device->info.id, stop->device->info.id);
  }
  luhip_status status = device_enter(start->device, error);
  if (status) return status;
  status = elapsed_locked(start, stop, ms, error);
  device_leave(start->device);
  return status;
}
