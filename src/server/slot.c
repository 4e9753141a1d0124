/*
 * slot.c - positions, markers, and what has passed.
 *
 * A marker is an event recorded when its slot's tail was `position`: once the event has passed, everything up
 * to there has. One marker serves everybody who needs a position at or before it: device-side order, host
 * waits, and forgetting finished work. Events of markers are recorded again after use; that is safe for
 * device-side waits, which HIP binds to the record of their time, and a host that waits without the lock
 * holds the marker back by its `waiters`.
 */
#include "server/slot.h"

#include "server/memory.h"

#include <stdlib.h>

luhip_status slot_of(struct luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error) {
  if (!stream) stream = device->default_stream;
  if (stream->device != device) {
    return error_set(error, LUHIP_E_ARGUMENT, "the stream belongs to device %s, not to %s", stream->device->info.id,
                     device->info.id);
  }
  if (stream->slot >= SLOTS) return error_set(error, LUHIP_E_FREED, "the stream was freed");
  *slot = stream->slot;
  return LUHIP_OK;
}

/* ---- markers ------------------------------------------------------------------------------------------------- */

static hip_error_t marker_new(struct luhip_device *device, struct marker **out) {
  struct marker *marker = device->spare_markers;
  hip_error_t rc = hip_Success;
  if (marker) {
    device->spare_markers = marker->next;
    marker->next = NULL;
  } else {
    marker = calloc(1, sizeof *marker);
    if (!marker) return hip_ErrorOutOfMemory;
    rc = device->api->hipEventCreateWithFlags(&marker->event, hip_EventDisableTiming);
    if (rc != hip_Success) free(marker);
  }
  if (rc == hip_Success) *out = marker;
  return rc;
}

static void marker_give(struct luhip_device *device, struct marker *marker) {
  if (marker->listed || marker->waiters) return;
  marker->next = device->spare_markers;
  device->spare_markers = marker;
}

void marker_release(struct luhip_device *device, struct marker *marker) {
  marker->waiters--;
  marker_give(device, marker);
}

static hip_error_t record_marker(struct luhip_device *device, struct slot *slot, struct marker **out) {
  struct marker *marker;
  hip_error_t rc = marker_new(device, &marker);
  if (rc != hip_Success) return rc;
  rc = device->api->hipEventRecord(marker->event, slot->handle);
  if (rc != hip_Success) {
    marker_give(device, marker);
    return rc;
  }
  marker->position = slot->tail;
  marker->listed = true;
  if (slot->last_marker) {
    slot->last_marker->next = marker;
  } else {
    slot->first_marker = marker;
  }
  slot->last_marker = marker;
  *out = marker;
  return hip_Success;
}

hip_error_t slot_marker(struct luhip_device *device, uint32_t index, uint64_t position, struct marker **marker) {
  struct slot *slot = &device->slots[index];
  for (struct marker *m = slot->first_marker; m; m = m->next) {
    if (m->position < position) continue;
    *marker = m;
    return hip_Success;
  }
  return record_marker(device, slot, marker);
}

void slot_fence(struct luhip_device *device, uint32_t index) {
  device->slots[index].fence = device->slots[index].tail;
}

void slot_mark_fence(struct luhip_device *device, uint32_t index) {
  struct slot *slot = &device->slots[index];
  uint64_t fence = slot->fence;
  struct marker *marker;
  slot->fence = 0;
  if (fence > slot->passed) slot_marker(device, index, fence, &marker); /* refused: the wait says so */
}

static void drop_passed_markers(struct luhip_device *device, struct slot *slot) {
  while (slot->first_marker && slot->first_marker->position <= slot->passed) {
    struct marker *marker = slot->first_marker;
    slot->first_marker = marker->next;
    if (!marker->next) slot->last_marker = NULL;
    marker->next = NULL;
    marker->listed = false;
    marker_give(device, marker);
  }
}

/* ---- what has passed ----------------------------------------------------------------------------------------- */

void slot_advance(struct luhip_device *device, uint32_t index, uint64_t position) {
  struct slot *slot = &device->slots[index];
  if (position <= slot->passed) return;
  faults_take(device); /* first: what retires must not have a fault that was not heard of */
  if (position <= slot->passed) return;
  slot->passed = position;
  drop_passed_markers(device, slot);
  inflight_retire(device);
}

void slot_poll(struct luhip_device *device, uint32_t index) {
  struct slot *slot = &device->slots[index];
  uint64_t position = slot->passed;
  for (struct marker *m = slot->first_marker; m; m = m->next) {
    hip_error_t rc = device->api->hipEventQuery(m->event);
    if (rc != hip_Success) {
      if (rc != hip_ErrorNotReady) device_poison(device, rc);
      break;
    }
    position = m->position;
  }
  slot_advance(device, index, position);
}

void slots_poll(struct luhip_device *device) {
  for (uint32_t i = 0; i < device->used_slots; i++) {
    if (device->slots[i].first_marker) slot_poll(device, i);
  }
}

void slot_mark(struct luhip_device *device, uint32_t index) {
  struct slot *slot = &device->slots[index];
  struct marker *marker;
  slot_marker(device, index, slot->tail, &marker); /* refused: the next one that is needed says so */
  slot_poll(device, index);
}

/* ---- driver streams ------------------------------------------------------------------------------------------ */

void slots_reap(struct luhip_device *device) {
  if (device->recordings) return; /* nothing goes to the driver meanwhile */
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct slot *slot = &device->slots[i];
    if (!slot->handle || slot->owner || slot->askers || slot->passed < slot->tail) continue;
    device->api->hipStreamDestroy(slot->handle);
    slot->handle = NULL;
    memory_reap(device, i);
  }
}

void slots_close(struct luhip_device *device, bool destroy) {
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct slot *slot = &device->slots[i];
    slot->passed = slot->tail;
    drop_passed_markers(device, slot);
    if (slot->owner) slot->owner->slot = SLOTS;
    slot->owner = NULL;
    if (destroy && slot->handle) device->api->hipStreamDestroy(slot->handle);
    slot->handle = NULL;
  }
  for (struct marker *next, *m = device->spare_markers; m; m = next) {
    next = m->next;
    if (destroy) device->api->hipEventDestroy(m->event);
    free(m);
  }
  device->spare_markers = NULL;
}
