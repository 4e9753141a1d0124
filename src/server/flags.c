/*
 * flags.c - raising flags.
 */
#include "server/flags.h"

#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static bool make(struct luhip_device *device) {
  struct flags *flags = &device->flags;
  void *list = NULL;
  flags->raised = calloc(SLOTS, sizeof *flags->raised);
  flags->refused = !flags->raised || device->api->hipHostMalloc(&list, SLOTS * sizeof(struct flag), 0) != hip_Success;
  if (flags->refused) return false;
  flags->list = memset(list, 0, SLOTS * sizeof(struct flag));
  return true;
}

/* What the driver refuses once is not asked for again: if more than that is wrong, asking the stream will tell. */
bool flag_raise(struct luhip_device *device, uint32_t slot, struct raised *raised) {
  struct flags *flags = &device->flags;
  if (!device->api->hipxStreamWrite32 || flags->refused || device->recordings) return false;
  if (!flags->list && !make(device)) return false;
  uint32_t *count = &flags->list[slot].count, wanted = flags->raised[slot] + 1;
  flags->refused = device->api->hipxStreamWrite32(device->slots[slot].handle, count, wanted) != hip_Success;
  if (flags->refused) return false;
  flags->raised[slot] = wanted;
  *raised = (struct raised){count, wanted};
  return true;
}

void flags_close(struct luhip_device *device, bool destroy) {
  if (destroy && device->flags.list) device->api->hipHostFree(device->flags.list);
  free(device->flags.raised);
  device->flags = (struct flags){.refused = true};
}
