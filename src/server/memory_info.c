/*
 * memory_info.c - figures of a device's memory: totals, pools, and who holds what.
 */
#include "server/allocation.h"
#include "server/memory.h"

#include <string.h>

static size_t pinned_rounded(const luhip_device *device) {
  struct manager_figures figures = {0};
  for (uint32_t i = 0; i < SLOTS; i++)
    if (device->memory.slots[i]) manager_add_figures(&device->memory.slots[i]->pinned, &figures);
  return figures.in_use + figures.padding;
}

luhip_status luhip_device_memory(luhip_device *device, luhip_memory_info *info, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  const struct device_memory *memory = &device->memory;
  *info = (luhip_memory_info){.buffers = device->live_allocations,
                              .in_use = device->bytes_in_use,
                              .padding = device->bytes_live - device->bytes_in_use,
                              .reserved = memory->device.reserved,
                              .cached = memory->device.cached,
                              .pinned_in_use = device->pinned_in_use,
                              .pinned_padding = pinned_rounded(device) - device->pinned_in_use,
                              .pinned_reserved = memory->pinned.reserved,
                              .limit = memory->device.limit};
  device->api->hipMemGetInfo(&info->device_free, &info->device_total);
  device_leave(device);
  return LUHIP_OK;
}

/* ---- pools --------------------------------------------------------------------------------------------------- */

struct listing {
  luhip_pool_info *list;
  size_t count, max;
  uint64_t stream;
  bool pinned;
};

static void list_pool(void *user, const struct pool *pool, const char *role) {
  struct listing *l = user;
  /* The two that every manager has are shown when something was theirs. */
  if (*role && !pool->peak) return;
  if (l->list && l->count < l->max) {
    l->list[l->count] = (luhip_pool_info){.stream = l->stream,
                                          .pinned = l->pinned,
                                          .role = role,
                                          .config = pool->config,
                                          .live = pool->live,
                                          .in_use = pool->in_use,
                                          .padding = pool->rounded - pool->in_use,
                                          .reserved = pool->reserved,
                                          .cached = pool->cached,
                                          .pages = pool->pages,
                                          .peak_pages = pool->peak_pages,
                                          .peak = pool->peak,
                                          .largest = pool->largest,
                                          .capped = pool->warned};
  }
  l->count++;
}

static uint64_t stream_of(const luhip_device *device, uint32_t slot) {
  const luhip_stream *owner = device->slots[slot].owner;
  return owner ? owner->id : 0;
}

size_t luhip_device_pool_infos(luhip_device *device, luhip_pool_info *list, size_t max) {
  struct listing l = {.list = list, .max = max};
  if (device_enter(device, NULL)) return 0;
  for (uint32_t i = 0; i < SLOTS; i++) {
    const struct memory *memory = device->memory.slots[i];
    if (!memory) continue;
    l.stream = stream_of(device, i);
    l.pinned = false;
    manager_visit(&memory->device, list_pool, &l);
    l.pinned = true;
    manager_visit(&memory->pinned, list_pool, &l);
  }
  device_leave(device);
  return l.count;
}

/* ---- holders ------------------------------------------------------------------------------------------------- */

static uint64_t stream_of_manager(const luhip_device *device, const struct manager *manager) {
  for (uint32_t i = 0; i < SLOTS; i++)
    if (device->memory.slots[i] && &device->memory.slots[i]->device == manager) return stream_of(device, i);
  return 0;
}

static luhip_holder holder_of(const luhip_device *device, const struct allocation *a) {
  luhip_holder holder = {.allocation = a->id,
                         .stream = stream_of_manager(device, manager_of(a->slice)),
                         .role = manager_role(a->slice),
                         .bytes = a->bytes,
                         .padding = a->slice->bytes - a->bytes};
  layout_describe(&a->made, holder.made, sizeof holder.made);
  return holder;
}

size_t luhip_device_holders(luhip_device *device, luhip_holder *list, size_t max) {
  size_t count = 0;
  if (device_enter(device, NULL)) return 0;
  for (const struct allocation *a = device->allocations; a; a = a->next) {
    if (!a->slice) continue;
    if (list && count < max) list[count] = holder_of(device, a);
    count++;
  }
  device_leave(device);
  return count;
}
