/*
 * fill.c - every element set to one value (C6).
 *
 * A value whose bytes repeat is a memset of 1, 2 or 4 bytes. Any other pattern is written once in front, from
 * pinned memory, and then copied by the device onto the rest, twice as much each time: first along the first row,
 * then row by row.
 */
#include "memory/layout.h"
#include "server/array.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/memory.h"
#include "server/transfer.h"

#include <string.h>

enum { SEED_MOST = 64 << 10, FEW_ROWS = 16 };

static void shorten(struct filling *f) {
  while (f->size > 1 && memcmp(f->pattern, f->pattern + f->size / 2, f->size / 2) == 0) f->size /= 2;
}

/* Memory that is not there yet will be aligned for any element. */
static bool memset_serves(const struct filling *f, const struct allocation *allocation) {
  if (f->size == 1) return true;
  bool aligned = ((uintptr_t)allocation->address + f->region.offset) % f->size == 0 && f->region.pitch % f->size == 0;
  return f->size <= 4 && aligned && f->region.rows <= FEW_ROWS;
}

static hip_error_t memset_row(const struct filling *f, char *to, hip_stream_t stream) {
  const struct hip_api *api = f->device->api;
  if (f->size == 1) return api->hipMemsetAsync(to, f->pattern[0], f->region.width, stream);
  if (f->size == 2) {
    unsigned short value;
    memcpy(&value, f->pattern, sizeof value);
    return api->hipMemsetD16Async(to, value, f->region.width / 2, stream);
  }
  int value;
  memcpy(&value, f->pattern, sizeof value);
  return api->hipMemsetD32Async(to, value, f->region.width / 4, stream);
}

static hip_error_t enqueue_memset(const struct filling *f, char *first, hip_stream_t stream, size_t *calls) {
  const struct region *region = &f->region;
  if (f->size == 1 && region->rows > 1) {
    (*calls)++;
    return f->device->api->hipMemset2DAsync(first, region->pitch, f->pattern[0], region->width, region->rows, stream);
  }
  hip_error_t rc = hip_Success;
  for (size_t row = 0; row < region->rows && rc == hip_Success; row++, (*calls)++)
    rc = memset_row(f, first + row * region->pitch, stream);
  return rc;
}

static hip_error_t enqueue_doubling(const struct filling *f, char *first, hip_stream_t stream, size_t *calls) {
  const struct region *region = &f->region;
  struct place at = {first, region->pitch};
  struct place seed = {f->block->address, f->seed};
  hip_error_t rc = enqueue_copy_in(f->device, stream, at, seed, f->seed, 1, hip_MemcpyHostToDevice);
  (*calls)++;
  for (size_t done = f->seed, part; done < region->width && rc == hip_Success; done += part, (*calls)++) {
    part = region->width - done < done ? region->width - done : done;
    rc = enqueue_copy_in(f->device, stream, (struct place){first + done, part}, at, part, 1, hip_MemcpyDeviceToDevice);
  }
  for (size_t done = 1, part; done < region->rows && rc == hip_Success; done += part, (*calls)++) {
    part = region->rows - done < done ? region->rows - done : done;
    struct place to = {first + done * region->pitch, region->pitch};
    rc = enqueue_copy_in(f->device, stream, to, at, region->width, part, hip_MemcpyDeviceToDevice);
  }
  return rc;
}

hip_error_t fill_enqueue(const struct filling *f, struct allocation *allocation, hip_stream_t stream, size_t *calls) {
  size_t uncounted = 0;
  char *first = (char *)allocation->address + f->region.offset;
  if (!calls) calls = &uncounted;
  return f->block ? enqueue_doubling(f, first, stream, calls) : enqueue_memset(f, first, stream, calls);
}

static hip_error_t enqueue(struct command *command, void *user) {
  const struct filling *f = user;
  return fill_enqueue(f, command->uses[0].allocation, f->device->slots[command->slot].handle, NULL);
}

/* Pinned memory with the pattern repeated, from which doubling starts. */
static luhip_status make_seed(struct filling *f, uint32_t slot, luhip_error **error) {
  f->seed = f->region.width < SEED_MOST ? f->region.width : SEED_MOST; /* both are multiples of the pattern */
  f->block = staging_take(f->device, slot, f->seed);
  if (!f->block) return error_set(error, LUHIP_E_OOM, "fill: no pinned memory for %zu bytes", f->seed);
  for (size_t i = 0; i < f->seed; i += f->size) memcpy((char *)f->block->address + i, f->pattern, f->size);
  return LUHIP_OK;
}

static luhip_status fill_locked(luhip_buffer *buffer, uint32_t slot, struct filling *f, luhip_error **error) {
  luhip_status status = buffer_usable(buffer, f->device, "fill", error);
  if (status || region_empty(&f->region)) return status;
  if (!memset_serves(f, buffer->allocation)) status = make_seed(f, slot, error);
  if (status) return status;
  struct op_use use;
  struct command command = {.device = f->device, .uses = &use, .slot = slot};
  command_use(&command, buffer->allocation, &f->region, USE_WRITE, NO_PARAM);
  struct capture *capture = capture_recording(f->device, slot);
  if (capture) return capture_fill(capture, &command, f, error);
  status = command_run(&command, enqueue, f, "fill", NULL, error);
  command_close(&command);
  if (f->block) {
    marks_read(&f->block->marks, slot, f->device->slots[slot].tail);
    manager_give(f->block);
  }
  return status;
}

luhip_status luhip_fill(luhip_buffer *buffer, luhip_stream *stream, const void *value, luhip_error **error) {
  struct filling f = {.device = buffer->device, .size = luhip_dtype_bytes(buffer->layout.dtype)};
  memcpy(f.pattern, value, f.size);
  shorten(&f);
  luhip_status status = layout_region(&buffer->layout, "fill", &f.region, error);
  uint32_t slot;
  if (!status) status = transfer_enter(f.device, stream, &slot, error);
  if (status) return status;
  status = fill_locked(buffer, slot, &f, error);
  device_leave(f.device);
  return status;
}
