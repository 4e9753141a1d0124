/*
 * allocation.c - memory that comes when it is needed and goes when nobody names it.
 */
#include "server/allocation.h"

#include "base/log.h"
#include "server/memory.h"
#include "server/plan.h"
#include "server/program.h"

#include <stdio.h>
#include <stdlib.h>

struct allocation *allocation_new(luhip_device *device, size_t bytes, const luhip_layout *made) {
  struct allocation *allocation = malloc(sizeof *allocation); /* calloc does not look into glibc's thread cache */
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
  struct slice *slice = allocation->slice;
  allocation->address = NULL;
  if (allocation->planned) plan_forget(allocation);
  if (!slice) return;
  slice->marks = allocation->marks;
  allocation->marks = (struct marks){0};
  allocation->slice = NULL;
  device->bytes_in_use -= allocation->bytes;
  device->bytes_live -= slice->bytes;
  LOG(LOG_MEMORY, LOG_FULL, "%s: buffer %llu gives back its %zu bytes", device->info.id,
      (unsigned long long)allocation->id, allocation->bytes);
  manager_give(slice);
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
  const struct storage *storage = &device->memory.device;
  size_t cached = storage->cached, used = storage->reserved - cached, there = 0, total = 0;
  char what[128], limit[32] = "none";
  layout_describe(&allocation->made, what, sizeof what);
  switch (result) {
  case MANAGER_HOST:
    return error_new(LUHIP_E_MEMORY, "the host has no memory to note a buffer of %zu bytes (%s)", allocation->bytes,
                     what);
  case MANAGER_TOO_BIG:
    return error_new(LUHIP_E_TOO_BIG,
                     "a buffer of %zu bytes (%s) is too big: no pool of device %s accepts it, and the device has %zu "
                     "bytes in all",
                     allocation->bytes, what, device->info.id, storage->total);
  case MANAGER_LIMIT:
    return error_new(LUHIP_E_OOM,
                     "no memory for a buffer of %zu bytes (%s): the limit of %zu bytes is reached (in use %zu, cached "
                     "%zu)",
                     allocation->bytes, what, storage->limit, used, cached);
  default:
    break;
  }
  if (rc != hip_ErrorOutOfMemory)
    return driver_error(rc, LUHIP_E_DRIVER, "memory for a buffer of %zu bytes (%s)", allocation->bytes, what);
  device->api->hipMemGetInfo(&there, &total);
  if (storage->limit) snprintf(limit, sizeof limit, "%zu", storage->limit);
  return error_new(LUHIP_E_OOM,
                   "device %s has no memory for a buffer of %zu bytes (%s): in use %zu, cached %zu, limit %s, free %zu "
                   "of %zu",
                   device->info.id, allocation->bytes, what, used, cached, limit, there, total);
}

static void take_slice(struct allocation *allocation, uint32_t slot, struct slice *slice) {
  luhip_device *device = allocation->device;
  marks_free(&allocation->marks);
  allocation->marks = slice->marks;
  slice->marks = (struct marks){0};
  allocation->slice = slice;
  allocation->address = slice->address;
  allocation->slot = slot;
  device->bytes_in_use += allocation->bytes;
  device->bytes_live += slice->bytes;
  LOG(LOG_MEMORY, LOG_FULL, "%s: buffer %llu has its %zu bytes", device->info.id, (unsigned long long)allocation->id,
      allocation->bytes);
}

/* From the memory of `owner`, for a first use on `slot`. */
static enum manager_result take(struct allocation *allocation, uint32_t owner, uint32_t slot, unsigned flags,
                                int *code) {
  luhip_device *device = allocation->device;
  struct order_view view = {device, slot};
  struct manager *manager = memory_of(device, owner);
  struct slice *slice;
  if (!manager) return MANAGER_HOST;
  if (allocation->internal) flags |= TAKE_ONCE;
  enum manager_result result = manager_take(manager, allocation->bytes, flags, order_passed, &view, &slice, code);
  if (result == MANAGER_OK) take_slice(allocation, slot, slice);
  return result;
}

enum manager_result allocation_materialise(struct allocation *allocation, uint32_t slot, bool last,
                                           luhip_error **error) {
  int code = hip_ErrorOutOfMemory;
  enum manager_result result = take(allocation, slot, slot, last ? TAKE_LAST : 0, &code);
  /* What was let go of and not freed yet may be what is missing. */
  bool refused = result == MANAGER_LIMIT || result == MANAGER_DRIVER;
  if (refused && !last && allocation->device->trash.pages) return MANAGER_RELEASE;
  if (result != MANAGER_OK && result != MANAGER_RELEASE)
    *error = no_memory_error(allocation, result, (hip_error_t)code);
  return result;
}

bool allocation_take_existing(struct allocation *allocation, uint32_t slot) {
  const struct device_memory *memory = &allocation->device->memory;
  unsigned flags = TAKE_EXISTING | TAKE_LAST;
  int code;
  if (take(allocation, slot, slot, flags, &code) == MANAGER_OK) return true;
  for (uint32_t other = 0; other < SLOTS; other++) {
    if (other == slot || !memory->slots[other]) continue;
    if (take(allocation, other, slot, flags, &code) == MANAGER_OK) return true;
  }
  return false;
}

void allocations_close(luhip_device *device) {
  for (struct allocation *allocation = device->allocations; allocation; allocation = allocation->next) {
    claims_free(&allocation->claims);
    give_memory_back(allocation);
    marks_free(&allocation->marks);
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
