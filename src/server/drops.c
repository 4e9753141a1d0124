/*
 * drops.c - two generations and one fence for each slot.
 */
#include "server/drops.h"

#include "server/server.h"

/* The fence has passed: the older generation is gone. The new fence is a marker; one that the driver refuses now is asked
   for again by whoever waits for the position, and that wait returns the refusal (I2). */
static void turn(luhip_device *device, uint32_t index) {
  struct slot *slot = &device->slots[index];
  struct drops *drops = &slot->drops;
  struct marker *marker;
  drops->pending = drops->staged;
  drops->staged = (struct generation){0};
  drops->fence = slot->tail;
  drops->turns++;
  if (drops->fence > slot->passed) slot_marker(device, index, drops->fence, &marker);
}

void drops_flush(luhip_device *device, uint32_t index) {
  const struct slot *slot = &device->slots[index];
  if (device->recordings) return;
  if (slot->drops.fence > slot->passed) slot_poll(device, index);
  if (slot->drops.fence <= slot->passed) turn(device, index);
}

void drops_push(luhip_device *device, uint32_t index, uint64_t bytes) {
  struct generation *staged = &device->slots[index].drops.staged;
  uint32_t most = device->info.integrated ? DROPS_ITEMS_INTEGRATED : DROPS_ITEMS;
  bool was_below = staged->bytes < DROPS_BYTES;
  staged->items++;
  staged->bytes += bytes;
  /* One that cannot be made now is tried again so many items later. */
  if (staged->items % most == 0 || (was_below && staged->bytes >= DROPS_BYTES)) drops_flush(device, index);
}

luhip_status drops_make_room(luhip_device *device, uint32_t index, luhip_error **error) {
  const struct slot *slot = &device->slots[index];
  if (slot->drops.staged.bytes < DROPS_BYTES || device->recordings) return LUHIP_OK;
  if (slot->drops.fence > slot->passed) slot_poll(device, index);
  if (slot->drops.fence > slot->passed) {
    struct waiting waiting = waiting_start(NULL);
    device->slots[index].drops.waits++;
    luhip_status status = wait_position(device, index, slot->drops.fence, &waiting, error);
    if (status) return status;
  }
  turn(device, index);
  return LUHIP_OK;
}
