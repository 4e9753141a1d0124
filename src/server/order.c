/*
 * order.c - order across streams, made on the device (B2).
 *
 * What an operation must come after is in the marks of the memory it uses. Nothing is done for marks of its own
 * slot, for those that have passed, and for those its slot was already made to wait for; otherwise the slot
 * waits for one marker of the other slot, at the mark or after it.
 */
#include "base/log.h"
#include "server/server.h"

hip_error_t order_after_mark(luhip_device *device, uint32_t index, struct mark mark) {
  struct slot *slot = &device->slots[index];
  struct marker *marker;
  hip_error_t rc = slot_marker(device, mark.slot, mark.position, &marker);
  if (rc == hip_Success) rc = device->api->hipStreamWaitEvent(slot->handle, marker->event, 0);
  if (rc != hip_Success) return rc;
  slot->waited[mark.slot] = marker->position;
  LOG(LOG_STREAMS, LOG_FULL, "%s: stream slot %u waits for slot %u at %llu", device->info.id, index, mark.slot,
      (unsigned long long)marker->position);
  return rc;
}

bool order_passed(void *user, const struct marks *marks) {
  const struct order_view *view = user;
  if (!order_already_after(view->device, view->slot, marks->writer)) return false;
  for (uint32_t i = 0; i < marks->nreaders; i++) {
    if (!order_already_after(view->device, view->slot, marks_readers(marks)[i])) return false;
  }
  return true;
}
