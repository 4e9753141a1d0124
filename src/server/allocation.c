/*
 * allocation.c - memory that comes when it is needed and goes when nobody names it.
 */
#include "server/allocation.h"

#include "base/log.h"
#include "server/capture.h"
#include "server/program.h"

#include <stdio.h>
#include <stdlib.h>

struct allocation *allocation_new(luhip_device *device, size_t bytes, const luhip_layout *made) {
  struct allocation *allocation = calloc(1, sizeof *allocation);
  if (!allocation) return NULL;
  *allocation = (struct allocation){.id = next_id(), .refs = 1, .bytes = bytes, .device = device, .made = *made};
  allocation->next = device->allocations;
  if (allocation->next) allocation->next->previous = allocation;
  device->allocations = allocation;
  device->live_allocations++;
  return allocation;
}

struct allocation *allocation_of_global(luhip_program *program, void *address, size_t bytes, const luhip_layout *made) {
  struct allocation *allocation = allocation_new(program->device, bytes, made);
  if (!allocation) return NULL;
  allocation_set_internal(allocation);
  allocation->address = address;
  allocation->program = program;
  return allocation;
}

void allocation_set_internal(struct allocation *allocation) {
  allocation->internal = true;
  allocation->device->live_allocations--;
}

static void destroy(struct allocation *allocation) {
  if (allocation->previous) {
    allocation->previous->next = allocation->next;
  } else {
    allocation->device->allocations = allocation->next;
  }
  if (allocation->next) allocation->next->previous = allocation->previous;
  claims_free(&allocation->claims);
  marks_free(&allocation->marks);
  free(allocation);
}

/* The memory goes back with its marks: whoever gets it next comes after them. */
static void give_memory_back(struct allocation *allocation) {
  luhip_device *device = allocation->device;
  struct block *block = allocation->block;
  allocation->address = NULL;
  if (!block) return;
  block->marks = allocation->marks;
  allocation->marks = (struct marks){0};
  allocation->block = NULL;
  device->bytes_in_use -= allocation->bytes;
  device->bytes_live -= block->bytes;
  LOG(LOG_MEMORY, LOG_FULL, "%s: buffer %llu gives back its %zu bytes", device->info.id,
      (unsigned long long)allocation->id, allocation->bytes);
  if (!capture_keeps(device, allocation, block)) manager_give(&device->memory, block);
}

void allocation_unref(struct allocation *allocation) {
  if (--allocation->refs > 0) return;
  if (!allocation->internal) allocation->device->live_allocations--;
  claims_free(&allocation->claims);
  give_memory_back(allocation);
  if (!allocation->flights) destroy(allocation);
}

void allocation_fly(struct allocation *allocation) {
  allocation->flights++;
  if (allocation->program) program_fly(allocation->program);
}

void allocation_land(struct allocation *allocation) {
  luhip_program *program = allocation->program;
  if (--allocation->flights == 0 && allocation->refs == 0) destroy(allocation);
  if (program) program_land(program);
}

void allocation_hold(struct allocation *allocation) {
  allocation->refs++;
  if (allocation->program) program_fly(allocation->program);
}

void allocation_unhold(struct allocation *allocation) {
  luhip_program *program = allocation->program;
  allocation_unref(allocation);
  if (program) program_land(program);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static luhip_error *no_memory_error(const struct allocation *allocation, enum manager_result result, hip_error_t rc) {
  luhip_device *device = allocation->device;
  const struct manager *memory = &device->memory;
  char what[128];
  layout_describe(&allocation->made, what, sizeof what);
  if (result == MANAGER_LIMIT) {
    return error_new(LUHIP_E_OOM,
                     "no memory for a buffer of %zu bytes (%s): the limit of %zu bytes is reached (in use %zu, cached "
                     "%zu)",
                     allocation->bytes, what, memory->limit, memory->reserved - memory->cached, memory->cached);
  }
  if (rc != hip_ErrorOutOfMemory) {
    return driver_error(rc, LUHIP_E_DRIVER, "memory for a buffer of %zu bytes (%s)", allocation->bytes, what);
  }
  size_t there = 0, total = 0;
  device->api->hipMemGetInfo(&there, &total);
  char limit[32] = "none";
  if (memory->limit) snprintf(limit, sizeof limit, "%zu", memory->limit);
  return error_new(LUHIP_E_OOM,
                   "device %s has no memory for a buffer of %zu bytes (%s): in use %zu, cached %zu, limit %s, free %zu "
                   "of %zu",
                   device->info.id, allocation->bytes, what, memory->reserved - memory->cached, memory->cached, limit,
                   there, total);
}

void allocation_take_block(struct allocation *allocation, struct block *block) {
  luhip_device *device = allocation->device;
  marks_free(&allocation->marks);
  allocation->marks = block->marks;
  block->marks = (struct marks){0};
  allocation->block = block;
  allocation->address = block->address;
  device->bytes_in_use += allocation->bytes;
  device->bytes_live += block->bytes;
}

enum manager_result allocation_materialise(struct allocation *allocation, uint32_t slot, bool last,
                                           luhip_error **error) {
  luhip_device *device = allocation->device;
  struct order_view view = {device, slot};
  struct block *block;
  hip_error_t rc;
  enum manager_result result =
      manager_take(&device->memory, allocation->bytes, last, order_passed, &view, &block, &device->trash.blocks, &rc);
  if (result == MANAGER_RELEASE) return result;
  if (result != MANAGER_OK) {
    *error = no_memory_error(allocation, result, rc);
    return result;
  }
  allocation->slot = slot;
  allocation->since = next_id();
  allocation_take_block(allocation, block);
  LOG(LOG_MEMORY, LOG_FULL, "%s: buffer %llu has its %zu bytes", device->info.id, (unsigned long long)allocation->id,
      allocation->bytes);
  return MANAGER_OK;
}

bool cache_release(luhip_device *device) {
  struct waiting waiting = waiting_start(NULL);
  struct block *list = manager_detach(&device->memory, NULL, NULL);
  for (struct block *block = list; block; block = block->next) {
    if (wait_marks(device, &block->marks, &waiting, NULL) != LUHIP_OK) break; /* a broken device: hipFree decides */
  }
  device_drop(device);
  manager_free_list(device->api, list);
  device_retake(device);
  return !device_closing(device);
}

void allocations_close(luhip_device *device, bool free_memory) {
  for (struct allocation *allocation = device->allocations; allocation; allocation = allocation->next) {
    claims_free(&allocation->claims);
    give_memory_back(allocation);
    marks_free(&allocation->marks);
  }
  struct block *list = manager_detach(&device->memory, NULL, NULL);
  if (free_memory) {
    manager_free_list(device->api, list);
  } else {
    manager_forget_list(list);
  }
}

/* ---- claims -------------------------------------------------------------------------------------------------- */

static bool carries(const struct allocation *allocation, const struct failure *failure) {
  for (uint32_t i = 0; i < allocation->claims.count; i++) {
    if (failure_includes(allocation->claims.list[i].failure, failure)) return true;
  }
  return false;
}

size_t allocations_carrying(luhip_device *device, const struct failure *failure) {
  size_t count = 0;
  for (const struct allocation *allocation = device->allocations; allocation; allocation = allocation->next)
    count += allocation->refs > 0 && carries(allocation, failure);
  return count;
}

void allocation_failures(const struct allocation *allocation, const struct region *region, struct failure_set *set) {
  const struct claims *claims = &allocation->claims;
  if (!claims->count) return;
  for (uint32_t i = claims_next(claims, region, 0); i < claims->count; i = claims_next(claims, region, i + 1))
    failure_set_add(set, claims->list[i].failure);
}
