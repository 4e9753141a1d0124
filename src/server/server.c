/*
 * server.c - what is asked of the device as a whole: sync, check, flush, memory.
 */
#include "server/server.h"

#include "server/buffer.h"
#include "server/capture.h"

#include <stdio.h>

/* ---- claims of buffers --------------------------------------------------------------------------------------- */

static luhip_status all_usable(luhip_device *device, luhip_buffer *const *buffers, size_t n, const char *what,
                               luhip_error **error) {
  for (size_t i = 0; i < n; i++) {
    luhip_status status = buffer_usable(buffers[i], device, what, error);
    if (status) return status;
  }
  return LUHIP_OK;
}

/* OK, or the failures that the buffers carry. One that was freed meanwhile carries none. */
static luhip_status test_claims(luhip_device *device, luhip_buffer *const *buffers, size_t n, const char *verb,
                                luhip_error **error) {
  faults_take(device);
  struct failure_set set = {0};
  for (size_t i = 0; i < n; i++) {
    if (!buffers[i]->allocation) continue;
    struct region region = buffer_reach(buffers[i]);
    allocation_failures(buffers[i]->allocation, &region, &set);
  }
  luhip_status status = LUHIP_OK;
  if (set.count) {
    char what[160], layout[128];
    layout_describe(&buffers[0]->layout, layout, sizeof layout);
    if (n == 1) snprintf(what, sizeof what, "%s of %s", verb, layout);
    if (n != 1) snprintf(what, sizeof what, "%s of %zu buffers", verb, n);
    status = error_give(error, report_failures(device, &set, what, buffers, n));
  }
  failure_set_free(&set);
  return status;
}

luhip_status luhip_device_check(luhip_device *device, luhip_buffer *const *buffers, size_t n, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = all_usable(device, buffers, n, "check", error);
  if (!status) status = test_claims(device, buffers, n, "check", error);
  device_leave(device);
  return status;
}

luhip_status luhip_device_sync(luhip_device *device, luhip_buffer *const *buffers, size_t n, const luhip_wait *wait,
                               luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  struct waiting waiting = waiting_start(wait);
  status = device_sound(device, error);
  if (!status) status = capture_refuse_thread(device, "sync", error);
  if (!status) status = all_usable(device, buffers, n, "sync", error);
  if (!status) status = test_claims(device, buffers, n, "sync", error);
  if (!status) status = wait_all(device, &waiting, error);
  if (!status) status = test_claims(device, buffers, n, "sync", error);
  if (!status) status = unclaimed_take(device, "sync", error);
  device_leave(device);
  return status;
}

void luhip_device_flush(luhip_device *device) {
  if (device_enter(device, NULL)) return;
  faults_take(device);
  slots_poll(device);
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    if (device->slots[slot].drops.staged.items) drops_flush(device, slot);
  }
  slots_reap(device);
  device_leave(device);
}
