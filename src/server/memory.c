/*
 * memory.c - making managers over a device's memory, letting go of what they cache, and installing layouts.
 */
#include "server/memory.h"

#include "base/config.h"
#include "base/log.h"
#include "server/allocation.h"
#include "server/capture.h"
#include "server/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PINNED_ALIGNMENT = 16, DEVICE_ALIGNMENT = 32 };
static const size_t PINNED_CACHE = (size_t)512 << 20;

/* ---- storages ------------------------------------------------------------------------------------------------ */

static int allocate_device(void *user, size_t bytes, void **address) {
  luhip_device *device = user;
  return device->api->hipMalloc(address, bytes);
}

static void release_device(void *user, void *address) {
  luhip_device *device = user;
  device->api->hipFree(address);
}

static int allocate_pinned(void *user, size_t bytes, void **address) {
  luhip_device *device = user;
  hip_error_t rc = device->api->hipHostMalloc(address, bytes, hip_HostMallocDefault);
  return rc == hip_Success && !*address ? hip_ErrorOutOfMemory : rc;
}

static void release_pinned(void *user, void *address) {
  luhip_device *device = user;
  device->api->hipHostFree(address);
}

static size_t device_alignment(const luhip_device *device) {
  size_t alignment = device->info.alignment > DEVICE_ALIGNMENT ? device->info.alignment : DEVICE_ALIGNMENT;
  return device->options.checked ? 1 : alignment; /* a buffer ends at a guard page */
}

/* What presets are made for. */
static size_t preset_total(const luhip_device *device) {
  size_t total = device->info.memory_bytes, limit = device->options.memory_limit;
  return limit && limit < total ? limit : total;
}

luhip_status luhip_device_preset(luhip_device *device, const char *name, luhip_pool list[LUHIP_MAX_POOLS],
                                 size_t *count, luhip_error **error) {
  return luhip_pools_preset(name, preset_total(device), list, count, error);
}

static luhip_status choose_layout(luhip_device *device, luhip_error **error) {
  const luhip_open_options *options = &device->options;
  size_t total = preset_total(device);
  if (options->checked) return pools_preset("direct", total, &device->memory.layout, error);
  if (options->pools) return pools_copy(options->pools, options->npools, &device->memory.layout, error);
  const char *preset = device->provider->guards_allocations ? "direct" : "sub-slices";
  struct config_value configured;
  config_find(CONFIG_MEMORY_POOLS, &configured);
  if (configured.text[0]) preset = configured.text;
  if (options->preset) preset = options->preset;
  return pools_preset(preset, total, &device->memory.layout, error);
}

luhip_status memory_open(luhip_device *device, luhip_error **error) {
  struct device_memory *memory = &device->memory;
  memory->host = (struct order_view){device, SLOTS};
  memory->device = (struct storage){.user = device,
                                    .device = device->info.id,
                                    .what = "device",
                                    .allocate = allocate_device,
                                    .release = release_device,
                                    .full = hip_ErrorOutOfMemory,
                                    .alignment = device_alignment(device),
                                    .total = device->info.memory_bytes,
                                    .limit = device->options.memory_limit};
  memory->pinned = (struct storage){.user = device,
                                    .device = device->info.id,
                                    .what = "pinned",
                                    .allocate = allocate_pinned,
                                    .release = release_pinned,
                                    .full = hip_ErrorOutOfMemory,
                                    .alignment = PINNED_ALIGNMENT,
                                    .total = PTRDIFF_MAX};
  luhip_status status = choose_layout(device, error);
  device->options.pools = NULL; /* the caller's list may go; `layout` is what holds */
  device->options.preset = NULL;
  return status;
}

/* ---- managers ------------------------------------------------------------------------------------------------ */

static void warn_capped(void *user, const struct manager *manager, size_t pool, size_t bytes) {
  const luhip_device *device = user;
  const luhip_pool *config = &manager->pools[pool].config;
  log_warning("device %s: pool %zu (%s) is full at its cap of %zu bytes; a request of %zu bytes goes to the next pool",
              device->info.id, pool + 1, luhip_pool_kind_name(config->kind), config->cap, bytes);
}

static struct manager manager_for(luhip_device *device, struct storage *storage) {
  return (struct manager){.storage = storage,
                          .alignment = storage->alignment,
                          .idle = order_passed,
                          .idle_user = &device->memory.host,
                          .trash = &device->trash.pages,
                          .warn = warn_capped,
                          .warn_user = device,
                          .policy = device->options.persistent};
}

/* Classes of an eighth of a power of two, so that a stream of reads of about the same size lives on a few slices; small
   ones are a driver's page. */
static size_t size_class(size_t bytes) {
  enum { SMALLEST = 4096 };
  if (bytes <= SMALLEST) return SMALLEST;
  size_t step = (size_t)1 << (63 - __builtin_clzll((unsigned long long)bytes) - 3);
  return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

static struct memory *memory_new(luhip_device *device) {
  const luhip_pool pinned = {.kind = LUHIP_POOL_DIRECT, .reclaim_at = PINNED_CACHE};
  const struct pools *layout = &device->memory.layout;
  struct memory *memory = malloc(sizeof *memory);
  if (!memory) return NULL;
  memory->device = manager_for(device, &device->memory.device);
  memory->pinned = manager_for(device, &device->memory.pinned);
  memory->pinned.policy = LUHIP_PERSISTENT_AUTO;
  memory->pinned.host = true;
  memory->pinned.rounding = size_class;
  if (!manager_open(&memory->device, layout->list, layout->count)) {
    free(memory);
    return NULL;
  }
  if (!manager_open(&memory->pinned, &pinned, 1)) {
    manager_close(&memory->device);
    free(memory);
    return NULL;
  }
  return memory;
}

static struct memory *slot_memory(luhip_device *device, uint32_t slot) {
  struct memory **memory = &device->memory.slots[slot];
  if (!*memory) *memory = memory_new(device);
  return *memory;
}

struct manager *memory_of(luhip_device *device, uint32_t slot) {
  struct memory *memory = slot_memory(device, slot);
  return memory ? &memory->device : NULL;
}

void memory_stream_made(luhip_device *device, uint32_t slot) {
  struct memory *memory = device->memory.slots[slot];
  const struct pools *layout = &device->memory.layout;
  if (!memory) return;
  manager_reset(&memory->device);
  /* Out of host memory it keeps the pools it has, which serve as well. */
  if (!manager_has(&memory->device, layout->list, layout->count))
    manager_install(&memory->device, layout->list, layout->count);
}

/* ---- letting go ---------------------------------------------------------------------------------------------- */

static void detach_idle(luhip_device *device, struct manager *manager) {
  manager_detach(manager, order_passed, &device->memory.host, &device->trash.pages);
}

void memory_reap(luhip_device *device, uint32_t slot) {
  struct memory *memory = device->memory.slots[slot];
  if (!memory) return;
  detach_idle(device, &memory->device);
  detach_idle(device, &memory->pinned);
}

/* By slot, the last positions that anybody who uses empty pages has reached. */
static void note_marks(uint64_t *last, const struct marks *marks) {
  const struct mark *readers = marks_readers(marks);
  if (marks->writer.position > last[marks->writer.slot]) last[marks->writer.slot] = marks->writer.position;
  for (uint32_t i = 0; i < marks->nreaders; i++)
    if (readers[i].position > last[readers[i].slot]) last[readers[i].slot] = readers[i].position;
}

static void note_pool(void *last, const struct pool *pool, const char *role) {
  (void)role;
  for (const struct page *page = pool->oldest; page; page = page->newer)
    for (const struct slice *slice = page->first; slice; slice = slice->after) note_marks(last, &slice->marks);
}

/* Until all that uses what is cached now has passed. The pools keep it meanwhile, so that a wait that is ended leaves
   everything as it was. */
static luhip_status wait_cached(luhip_device *device, luhip_error **error) {
  struct waiting waiting = waiting_start(NULL);
  uint64_t last[SLOTS] = {0};
  luhip_status status = LUHIP_OK;
  for (uint32_t i = 0; i < SLOTS; i++)
    if (device->memory.slots[i]) manager_visit(&device->memory.slots[i]->device, note_pool, last);
  for (uint32_t i = 0; i < SLOTS && !status; i++) status = wait_position(device, i, last[i], &waiting, error);
  return status;
}

luhip_status memory_release(luhip_device *device, luhip_error **error) {
  luhip_error *reason = NULL;
  luhip_status status = wait_cached(device, &reason);
  if (status == LUHIP_E_INTERRUPTED || status == LUHIP_E_TIMEOUT || status == LUHIP_E_FREED)
    return error_give(error, reason);
  luhip_error_release(reason); /* a broken device: hipFree decides */
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct memory *memory = device->memory.slots[i];
    if (memory)
      manager_detach(&memory->device, status ? NULL : order_passed, &device->memory.host, &device->trash.pages);
  }
  struct page *list = device->trash.pages;
  device->trash.pages = NULL;
  device_drop(device);
  pages_free(list);
  device_retake(device);
  if (!device_closing(device)) return LUHIP_OK;
  return error_set(error, LUHIP_E_FREED, "device %s was closed", device->info.id);
}

void memory_close(luhip_device *device, bool free_memory) {
  struct page *list = device->trash.pages;
  device->trash.pages = NULL;
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct memory *memory = device->memory.slots[i];
    if (!memory) continue;
    manager_detach(&memory->device, NULL, NULL, &list);
    manager_detach(&memory->pinned, NULL, NULL, &list);
  }
  if (free_memory) {
    pages_free(list);
  } else {
    pages_forget(list);
  }
}

void memory_free(luhip_device *device) {
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct memory *memory = device->memory.slots[i];
    if (!memory) continue;
    manager_close(&memory->device);
    manager_close(&memory->pinned);
    free(memory);
  }
  pages_forget(device->trash.pages);
  storage_close(&device->memory.device);
  storage_close(&device->memory.pinned);
  pools_free(&device->memory.layout);
}

luhip_status luhip_device_memory_cleanup(luhip_device *device, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = capture_refuse_all(device, "memory_cleanup", error);
  if (!status) {
    slots_poll(device);
    metadata_clear_all(device);
    status = memory_release(device, error);
  }
  if (!status) {
    for (uint32_t i = 0; i < SLOTS; i++)
      if (device->memory.slots[i]) detach_idle(device, &device->memory.slots[i]->pinned);
    slots_reap(device);
  }
  device_leave(device);
  return status;
}

/* ---- pinned memory ------------------------------------------------------------------------------------------- */

struct slice *staging_take(luhip_device *device, uint32_t slot, size_t bytes) {
  struct memory *memory = slot_memory(device, slot);
  struct slice *slice;
  int code;
  if (!memory) return NULL;
  enum manager_result result =
      manager_take(&memory->pinned, bytes, TAKE_LAST, order_passed, &device->memory.host, &slice, &code);
  if (result != MANAGER_OK) return NULL;
  marks_clear(&slice->marks);
  return slice;
}

bool memory_adopt_pinned(luhip_device *device, struct slice *slice) {
  struct memory *memory = slot_memory(device, DEFAULT_SLOT);
  if (memory) manager_adopt(&memory->pinned, slice);
  return memory;
}

/* ---- layouts ------------------------------------------------------------------------------------------------- */

bool memory_layout_is(const luhip_device *device, const luhip_open_options *wanted) {
  const struct pools *layout = &device->memory.layout;
  luhip_pool preset[LUHIP_MAX_POOLS];
  size_t count = wanted->npools;
  const luhip_pool *list = wanted->pools;
  if (!list && !wanted->preset) return true;
  if (!list && luhip_pools_preset(wanted->preset, preset_total(device), preset, &count, NULL)) return false;
  return pools_equal(list ? list : preset, count, layout->list, layout->count);
}

luhip_status luhip_stream_pools(luhip_device *device, luhip_stream *stream, luhip_pool list[LUHIP_MAX_POOLS],
                                size_t *count, luhip_error **error) {
  uint32_t slot;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = slot_of(device, stream, &slot, error);
  if (!status) *count = memory_layout(device, slot, list);
  device_leave(device);
  return status;
}

size_t memory_layout(const luhip_device *device, uint32_t slot, luhip_pool list[LUHIP_MAX_POOLS]) {
  const struct memory *memory = device->memory.slots[slot];
  size_t count = memory ? memory->device.npools : device->memory.layout.count;
  for (size_t i = 0; i < count; i++) list[i] = memory ? memory->device.pools[i].asked : device->memory.layout.list[i];
  return count;
}

/* "f32[4] (16 bytes), u8[9] (9 bytes) and 3 others" */
static void say_holders(const luhip_device *device, const struct manager *manager, size_t live, char *text,
                        size_t len) {
  size_t said = 0, at = 0;
  for (const struct allocation *a = device->allocations; a && said < 3; a = a->next) {
    char made[96];
    if (!a->slice || !manager_is_dynamic(manager, a->slice)) continue;
    layout_describe(&a->made, made, sizeof made);
    int n = snprintf(text + at, len - at, "%s%s (%zu bytes)", said++ ? ", " : "", made, a->bytes);
    if (n < 0 || (at += (size_t)n) >= len) return;
  }
  if (live > said) snprintf(text + at, len - at, "%s%zu more", said ? " and " : "", live - said);
}

static luhip_status in_use(const luhip_device *device, const struct manager *manager, luhip_error **error) {
  size_t bytes, live = manager_live(manager, &bytes);
  char holders[400] = "";
  if (!live) return LUHIP_OK;
  say_holders(device, manager, live, holders, sizeof holders);
  return error_set(error, LUHIP_E_POOLS_IN_USE,
                   "install_pools: the stream's pools have %zu bytes in use by %zu buffers: %s; free them first", bytes,
                   live, holders);
}

static luhip_status install_locked(luhip_device *device, luhip_stream *stream, const luhip_pool *list, size_t count,
                                   luhip_error **error) {
  uint32_t slot;
  struct pools layout;
  luhip_status status = slot_of(device, stream, &slot, error);
  if (!status) status = capture_refuse_open(device, "install_pools", error);
  if (!status && device->options.checked) {
    return error_set(error, LUHIP_E_ARGUMENT,
                     "install_pools: device %s is open with checked = true, where every buffer is an allocation of its "
                     "own",
                     device->info.id);
  }
  struct memory *memory = status ? NULL : device->memory.slots[slot];
  if (memory) metadata_clear(device, slot);
  if (memory) status = in_use(device, &memory->device, error);
  if (!status) status = pools_copy(list, count, &layout, error);
  if (status) return status;
  if (memory && !manager_install(&memory->device, list, count)) {
    pools_free(&layout);
    return error_set(error, LUHIP_E_MEMORY, "install_pools: the host has no memory for %zu pools", count);
  }
  pools_free(&device->memory.layout);
  device->memory.layout = layout;
  return LUHIP_OK;
}

luhip_status luhip_stream_install_pools(luhip_device *device, luhip_stream *stream, const luhip_pool *list,
                                        size_t count, luhip_error **error) {
  luhip_status status = luhip_pools_check(list, count, error);
  if (!status) status = device_enter(device, error);
  if (status) return status;
  slots_poll(device);
  status = install_locked(device, stream, list, count, error);
  device_leave(device);
  return status;
}

/* ---- modes --------------------------------------------------------------------------------------------------- */

static luhip_status enter(luhip_device *device, luhip_stream *stream, struct manager **manager, luhip_error **error) {
  uint32_t slot;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = slot_of(device, stream, &slot, error);
  if (!status && !(*manager = memory_of(device, slot)))
    status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a memory manager");
  if (status) device_leave(device);
  return status;
}

luhip_status luhip_stream_memory_mode(luhip_device *device, luhip_stream *stream, luhip_memory_mode mode,
                                      luhip_error **error) {
  struct manager *manager;
  luhip_status status = enter(device, stream, &manager, error);
  if (status) return status;
  manager->mode = mode;
  device_leave(device);
  return LUHIP_OK;
}

luhip_status luhip_memory_window_open(luhip_device *device, luhip_stream *stream, luhip_memory_mode mode,
                                      uint64_t *window, luhip_error **error) {
  struct manager *manager;
  luhip_status status = enter(device, stream, &manager, error);
  if (status) return status;
  uint64_t id = next_id();
  if (manager_window_open(manager, id, mode)) {
    *window = id;
  } else {
    status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a window of a memory mode");
  }
  device_leave(device);
  return status;
}

void luhip_memory_window_close(luhip_device *device, uint64_t window) {
  if (!device_enter_quietly(device)) return;
  for (uint32_t i = 0; i < SLOTS; i++) {
    struct memory *memory = device->memory.slots[i];
    if (memory && manager_window_close(&memory->device, window)) break;
  }
  device_leave_quietly(device);
}
