/*
 * stream.c - making, freeing and waiting for streams (B1, B4, B5).
 *
 * A handle occupies a slot. Freeing it, or releasing the last reference, leaves the slot with its driver stream: what is pending runs on, marks
 * that name the slot stay true, and the driver stream is destroyed when its work has passed, or taken over by the
 * next stream made. Nothing here waits but sync.
 */
#include "server/stream.h"

#include "base/config.h"
#include "base/log.h"
#include "server/capture.h"
#include "server/event.h"
#include "server/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

static hip_error_t open_slot(luhip_device *device, uint32_t index) {
  struct slot *slot = &device->slots[index];
  if (slot->handle) return hip_Success;
  hip_error_t rc = device->api->hipStreamCreateWithFlags(&slot->handle, hip_StreamNonBlocking);
  slot->handles++;
  if (rc == hip_Success) memset(slot->waited, 0, sizeof slot->waited); /* a new stream has waited for nothing */
  if (rc == hip_Success && index >= device->used_slots) device->used_slots = index + 1;
  return rc;
}

static luhip_stream *stream_make(luhip_device *device, uint32_t index) {
  luhip_stream *stream = malloc(sizeof *stream);
  if (!stream) return NULL;
  *stream = (luhip_stream){.refs = 1, .id = next_id(), .device = device_retain(device), .slot = index};
  device->slots[index].owner = stream;
  memory_stream_made(device, index);
  return stream;
}

hip_error_t stream_open_default(luhip_device *device) {
  hip_error_t rc = open_slot(device, DEFAULT_SLOT);
  if (rc != hip_Success) return rc;
  device->default_stream = stream_make(device, DEFAULT_SLOT);
  if (device->default_stream) return hip_Success;
  device->api->hipStreamDestroy(device->slots[DEFAULT_SLOT].handle);
  return hip_ErrorOutOfMemory;
}

/* A freed slot whose work is done, else an unused one, else a freed one with work pending: the new stream's work
   then comes after that. */
static uint32_t choose_slot(luhip_device *device) {
  uint32_t unused = SLOTS, pending = SLOTS;
  for (uint32_t i = DEFAULT_SLOT + 1; i < SLOTS; i++) {
    const struct slot *slot = &device->slots[i];
    if (slot->owner) continue;
    if (slot->handle && slot->passed == slot->tail) return i;
    if (!slot->handle && unused == SLOTS) unused = i;
    if (slot->handle && pending == SLOTS) pending = i;
  }
  return unused < SLOTS ? unused : pending;
}

static luhip_status stream_new_locked(luhip_device *device, luhip_stream **out, luhip_error **error) {
  uint64_t most = USER_STREAMS;
  luhip_status status = config_number(CONFIG_MAX_STREAMS, &most, error);
  if (status) return status;
  if (device->live_streams >= most) {
    return error_set(error, LUHIP_E_TOO_MANY_STREAMS,
                     "device %s has %zu streams, which is the most it may have (streaming.max_streams is %llu)",
                     device->info.id, (size_t)device->live_streams, (unsigned long long)most);
  }
  slots_poll(device);
  uint32_t index = choose_slot(device);
  hip_error_t rc = open_slot(device, index);
  if (rc != hip_Success) {
    return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "a new stream on device %s", device->info.id));
  }
  luhip_stream *stream = stream_make(device, index);
  if (!stream) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a stream");
  device->live_streams++;
  LOG(LOG_STREAMS, LOG_BASIC, "stream %llu of %s made, %u live", (unsigned long long)stream->id, device->info.id,
      device->live_streams);
  *out = stream;
  return LUHIP_OK;
}

luhip_status luhip_stream_new(luhip_device *device, luhip_stream **stream, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = stream_new_locked(device, stream, error);
  device_leave(device);
  return status;
}

/* ---- freeing ------------------------------------------------------------------------------------------------- */

luhip_stream *luhip_stream_retain(luhip_stream *stream) {
  if (stream) __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
  return stream;
}

static bool last_release(luhip_stream *stream) {
  return __atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

static void leave_slot(luhip_stream *stream) {
  if (stream->slot >= SLOTS) return;
  capture_end_with(stream->device, stream->slot);
  metadata_clear(stream->device, stream->slot);
  LOG(LOG_STREAMS, LOG_BASIC, "stream %llu of %s freed", (unsigned long long)stream->id, stream->device->info.id);
  stream->device->slots[stream->slot].owner = NULL;
  if (stream->slot != DEFAULT_SLOT) stream->device->live_streams--;
  stream->slot = SLOTS;
}

void luhip_stream_free(luhip_stream *stream) {
  if (!device_enter_quietly(stream->device)) return;
  if (stream->slot != DEFAULT_SLOT) leave_slot(stream);
  device_leave_quietly(stream->device);
}

void luhip_stream_release(luhip_stream *stream) {
  if (!stream || !last_release(stream)) return;
  luhip_device *device = stream->device;
  if (!device_enter_quietly(device)) return;
  leave_slot(stream);
  device_leave_quietly(device);
  free(stream);
  device_release(device);
}

void stream_close_default(luhip_device *device) {
  luhip_stream *stream = device->default_stream;
  device->default_stream = NULL;
  if (!stream || !last_release(stream)) return;
  free(stream);
  device_release(device);
}

/* ---- using --------------------------------------------------------------------------------------------------- */

uint64_t luhip_stream_id(luhip_stream *stream) {
  return stream->id;
}

/* Enters the stream's device and finds its slot. */
static luhip_status stream_enter(luhip_stream *stream, uint32_t *slot, luhip_error **error) {
  luhip_device *device = stream->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = device_sound(device, error);
  if (!status) status = slot_of(device, stream, slot, error);
  if (status) device_leave(device);
  return status;
}

luhip_status luhip_stream_sync(luhip_stream *stream, const luhip_wait *wait, luhip_error **error) {
  uint32_t slot;
  luhip_status status = stream_enter(stream, &slot, error);
  if (status) return status;
  struct waiting waiting = waiting_start(wait);
  status = capture_refuse(stream->device, slot, "sync", error);
  if (!status) status = wait_position(stream->device, slot, stream->device->slots[slot].tail, &waiting, error);
  if (!status) status = unclaimed_take(stream->device, "sync", error);
  device_leave(stream->device);
  return status;
}

luhip_status luhip_stream_query(luhip_stream *stream, bool *done, luhip_error **error) {
  uint32_t index;
  luhip_status status = stream_enter(stream, &index, error);
  if (status) return status;
  luhip_device *device = stream->device;
  struct slot *slot = &device->slots[index];
  struct marker *marker;
  if (slot->passed < slot->tail) slot_marker(device, index, slot->tail, &marker);
  slot_poll(device, index);
  *done = slot->passed == slot->tail;
  status = device_sound(device, error);
  device_leave(device);
  return status;
}

luhip_status luhip_stream_wait_event(luhip_device *device, luhip_stream *stream, luhip_event *event,
                                     luhip_error **error) {
  if (event->device != device) {
    return error_set(error, LUHIP_E_ARGUMENT, "the event belongs to device %s, not to %s", event->device->info.id,
                     device->info.id);
  }
  luhip_status status = device_enter(device, error);
  if (status) return status;
  uint32_t index;
  status = slot_of(device, stream, &index, error);
  if (!status) status = capture_refuse(device, index, "wait", error);
  if (!status) {
    struct slot *slot = &device->slots[index];
    hip_error_t rc = device->api->hipStreamWaitEvent(slot->handle, event->event, 0);
    if (rc != hip_Success)
      status = error_give(error, driver_error(rc, LUHIP_E_DRIVER, "a stream waiting for an event"));
    if (!status && slot->waited[event->slot] < event->position) slot->waited[event->slot] = event->position;
  }
  device_leave(device);
  return status;
}

size_t luhip_device_streams(luhip_device *device, luhip_stream **list, size_t max) {
  size_t count = 0;
  if (device_enter_host(device, NULL)) return 0;
  for (uint32_t i = 0; i < SLOTS; i++) {
    luhip_stream *owner = device->slots[i].owner;
    if (!owner) continue;
    if (list && count < max) {
      /* One that is being released by another thread has no references any more: it is not there. */
      int refs = __atomic_load_n(&owner->refs, __ATOMIC_RELAXED);
      while (refs &&
             !__atomic_compare_exchange_n(&owner->refs, &refs, refs + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      }
      if (!refs) continue;
      list[count] = owner;
    }
    count++;
  }
  device_leave(device);
  return count;
}
