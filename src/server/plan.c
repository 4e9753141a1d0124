/*
 * plan.c - a manager over addresses that nothing lies at.
 */
#include "server/plan.h"

#include "server/allocation.h"
#include "server/buffer.h"
#include "server/memory.h"

#include <stdlib.h>

struct luhip_plan {
  luhip_device *device; /* retained */
  struct storage storage;
  struct manager manager;
  struct page *trash;
  struct planned *first;
  size_t next_address;
  size_t in_use, most_in_use, most_reserved, buffers;
};

struct planned {
  luhip_plan *plan;
  struct allocation *allocation;
  struct slice *slice;
  struct planned *next, *previous;
};

static int allocate(void *user, size_t bytes, void **address) {
  luhip_plan *plan = user;
  *address = (char *)plan->next_address;
  plan->next_address += bytes;
  return 0;
}

static void release(void *user, void *address) {
  (void)user;
  (void)address;
}

/* Nothing runs on planned memory. */
static bool passed(void *user, const struct marks *marks) {
  (void)user;
  (void)marks;
  return true;
}

/* ---- making and freeing -------------------------------------------------------------------------------------- */

static bool open_plan(luhip_plan *plan, luhip_device *device, uint32_t slot) {
  luhip_pool layout[LUHIP_MAX_POOLS];
  size_t count = memory_layout(device, slot, layout);
  plan->storage = device->memory.device;
  plan->storage.user = plan;
  plan->storage.device = NULL;
  plan->storage.allocate = allocate;
  plan->storage.release = release;
  plan->storage.reserved = plan->storage.cached = 0;
  plan->storage.spare = NULL;
  plan->storage.nspare = 0;
  if (!plan->storage.limit) plan->storage.limit = plan->storage.total;
  plan->next_address = plan->storage.alignment;
  plan->manager = (struct manager){.storage = &plan->storage,
                                   .alignment = plan->storage.alignment,
                                   .idle = passed,
                                   .trash = &plan->trash,
                                   .policy = LUHIP_PERSISTENT_DISABLED};
  return manager_open(&plan->manager, layout, count);
}

luhip_status luhip_plan_new(luhip_device *device, luhip_stream *stream, luhip_plan **out, luhip_error **error) {
  uint32_t slot;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  luhip_plan *plan = NULL;
  status = slot_of(device, stream, &slot, error);
  if (!status) {
    plan = calloc(1, sizeof *plan);
    if (!plan || !open_plan(plan, device, slot)) {
      free(plan);
      status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a plan");
    }
  }
  if (!status) {
    plan->device = device_retain(device);
    *out = plan;
  }
  device_leave(device);
  return status;
}

void plan_forget(struct allocation *allocation) {
  struct planned *planned = allocation->planned;
  luhip_plan *plan = planned->plan;
  *(planned->previous ? &planned->previous->next : &plan->first) = planned->next;
  if (planned->next) planned->next->previous = planned->previous;
  allocation->planned = NULL;
  plan->in_use -= allocation->bytes;
  manager_give(planned->slice);
  free(planned);
}

void luhip_plan_free(luhip_plan *plan) {
  if (!plan) return;
  luhip_device *device = plan->device;
  if (!device_enter_quietly(device)) return; /* a child process: its parent's */
  while (plan->first) plan_forget(plan->first->allocation);
  manager_close(&plan->manager);
  pages_free(plan->trash);
  storage_close(&plan->storage);
  free(plan);
  device_leave_quietly(device);
  device_release(device);
}

/* ---- carving ------------------------------------------------------------------------------------------------- */

static luhip_status no_room(const luhip_plan *plan, const struct allocation *allocation, enum manager_result result,
                            luhip_error **error) {
  char what[128];
  layout_describe(&allocation->made, what, sizeof what);
  if (result == MANAGER_HOST) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a plan");
  return error_set(
      error, result == MANAGER_TOO_BIG ? LUHIP_E_TOO_BIG : LUHIP_E_OOM,
      "plan: a buffer of %zu bytes (%s) does not fit: the plan holds %zu bytes, %zu is the most that there "
      "can be",
      allocation->bytes, what, plan->storage.reserved, plan->storage.limit);
}

static luhip_status carve(luhip_plan *plan, struct allocation *allocation, luhip_error **error) {
  struct slice *slice;
  int code;
  if (!allocation->bytes || allocation->planned) return LUHIP_OK;
  struct planned *planned = malloc(sizeof *planned);
  if (!planned) return no_room(plan, allocation, MANAGER_HOST, error);
  enum manager_result result = manager_take(&plan->manager, allocation->bytes, 0, passed, NULL, &slice, &code);
  if (result == MANAGER_RELEASE) {
    manager_detach(&plan->manager, NULL, NULL, &plan->trash);
    result = manager_take(&plan->manager, allocation->bytes, TAKE_LAST, passed, NULL, &slice, &code);
  }
  if (result != MANAGER_OK) {
    free(planned);
    return no_room(plan, allocation, result, error);
  }
  *planned = (struct planned){plan, allocation, slice, plan->first, NULL};
  if (planned->next) planned->next->previous = planned;
  plan->first = planned;
  allocation->planned = planned;
  plan->buffers++;
  plan->in_use += allocation->bytes;
  if (plan->in_use > plan->most_in_use) plan->most_in_use = plan->in_use;
  if (plan->storage.reserved > plan->most_reserved) plan->most_reserved = plan->storage.reserved;
  return LUHIP_OK;
}

luhip_status luhip_plan_add(luhip_plan *plan, luhip_buffer *buffer, luhip_error **error) {
  luhip_status status = device_enter(plan->device, error);
  if (status) return status;
  status = buffer_usable(buffer, plan->device, "plan", error);
  if (!status) status = carve(plan, buffer->allocation, error);
  device_leave(plan->device);
  return status;
}

/* ---- the result ---------------------------------------------------------------------------------------------- */

struct result {
  luhip_pool *list;
  size_t count;
};

/* A capped pool takes nothing that is merely near its page, so what was taken for that is within the slices now. */
static void add_pool(void *user, const struct pool *pool, const char *role) {
  struct result *result = user;
  (void)role;
  if (!pool->peak || result->count == LUHIP_MAX_POOLS) return;
  luhip_pool config = pool->config;
  config.cap = pool->peak;
  if (config.kind == LUHIP_POOL_SLICED) {
    if (config.slice < pool->largest) config.slice = pool->largest;
  } else {
    config.page = pool->largest;
  }
  result->list[result->count++] = config;
}

luhip_status luhip_plan_pools(luhip_plan *plan, luhip_pool list[LUHIP_MAX_POOLS], size_t *count, luhip_error **error) {
  luhip_status status = device_enter(plan->device, error);
  if (status) return status;
  struct result result = {.list = list};
  manager_visit(&plan->manager, add_pool, &result);
  for (size_t i = 0; !result.count && i < plan->manager.npools; i++) list[i] = plan->manager.pools[i].asked;
  *count = result.count ? result.count : plan->manager.npools;
  device_leave(plan->device);
  return LUHIP_OK;
}

void luhip_plan_peak(const luhip_plan *plan, size_t *reserved, size_t *in_use, size_t *buffers) {
  *reserved = plan->most_reserved;
  *in_use = plan->most_in_use;
  *buffers = plan->buffers;
}
