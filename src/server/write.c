/*
 * write.c - host memory into buffers (C2, C3).
 *
 * The caller may change its source as soon as write returns, so the bytes are copied to pinned memory first, and
 * from there by the device. A pinned array of this device is not copied: its block is marked with the copy, and
 * whoever changes it waits for that. Large sources go through two pinned chunks, so that one is filled while the
 * other is on its way; that drops the lock in between, so the destination is claimed until the last chunk is in.
 * Where there is no pinned memory the driver gets the pageable source and stages it itself. (It is not given small
 * sources otherwise, though CUDA's takes up to 64 KiB along with the command: behind a kernel that runs long it waits.)
 */
#include "memory/layout.h"
#include "server/array.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/memory.h"
#include "server/transfer.h"

#include <string.h>

static const size_t CHUNK = (size_t)16 << 20, COPY_UNDER_LOCK = 64 << 10;

luhip_status transfer_enter(luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = device_sound(device, error);
  if (!status) status = slot_of(device, stream, slot, error);
  if (!status) status = slot_throttle(device, *slot, error);
  if (status) device_leave(device);
  return status;
}

/* One write under way. */
struct writing {
  luhip_device *device;
  uint32_t slot;
  struct allocation *allocation; /* held by the caller or the lock */
  struct region region;          /* of the destination; the source is packed */
  const char *data;
  struct slice *block; /* where data lies, when it is pinned: marked as read */
  luhip_array *array;  /* that the block belongs to */
  struct failure *provisional;
};

static hip_error_t enqueue(struct command *command, void *user) {
  struct writing *w = user;
  struct place to = {(char *)w->allocation->address + w->region.offset, w->region.pitch};
  struct place from = {(char *)w->data, w->region.width};
  return enqueue_copy(w->device, command->slot, to, from, w->region.width, w->region.rows, hip_MemcpyHostToDevice);
}

/* The copy itself, from wherever data lies now. */
static luhip_status write_region(struct writing *w, luhip_error **error) {
  struct op_use use;
  struct command command = {.device = w->device, .uses = &use, .slot = w->slot, .keep = {.array = w->array}};
  command_use(&command, w->allocation, &w->region, USE_WRITE, NO_PARAM);
  luhip_status status = command_run(&command, enqueue, w, "write", w->provisional, error);
  if (w->block) {
    marks_read(&w->block->marks, w->slot, w->device->slots[w->slot].tail);
    if (!w->provisional) drops_push(w->device, w->slot, region_bytes(&w->region)); /* chunks wait for each other */
  }
  command_close(&command);
  return status;
}

static luhip_status still_open(luhip_device *device, luhip_error **error) {
  if (!device_closing(device)) return LUHIP_OK;
  return error_set(error, LUHIP_E_FREED, "device %s was closed during a write", device->info.id);
}

/* Copies host memory, without the lock when it takes long. */
static luhip_status fill_block(luhip_device *device, struct slice *block, const char *data, size_t bytes,
                               luhip_error **error) {
  if (bytes <= COPY_UNDER_LOCK) {
    memcpy(block->address, data, bytes);
    return LUHIP_OK;
  }
  device_drop(device);
  memcpy(block->address, data, bytes);
  device_retake(device);
  return still_open(device, error);
}

static luhip_status write_staged(struct writing *w, luhip_error **error) {
  size_t bytes = region_bytes(&w->region);
  struct slice *block = staging_take(w->device, w->slot, bytes);
  if (!block) return write_region(w, error);
  allocation_hold(w->allocation); /* the buffer may be freed while the lock is dropped */
  luhip_status status = fill_block(w->device, block, w->data, bytes, error);
  if (!status) {
    w->data = block->address;
    w->block = block;
    status = write_region(w, error);
  }
  allocation_unhold(w->allocation);
  manager_give(block);
  return status;
}

/* ---- in chunks ----------------------------------------------------------------------------------------------- */

/* The next part of a region: whole rows, or bytes of its only row. */
static struct region part_of(const struct region *region, size_t done, size_t most) {
  struct region part = *region;
  if (region->rows == 1) {
    part.offset += done;
    part.width = region->width - done < most ? region->width - done : most;
    part.pitch = part.width;
    return part;
  }
  size_t row = done / region->width, rows = most / region->width;
  if (rows == 0) rows = 1;
  if (rows > region->rows - row) rows = region->rows - row;
  part.offset += row * region->pitch;
  part.rows = rows;
  return part;
}

static luhip_status write_chunk(const struct writing *whole, struct slice *block, const struct region *part,
                                size_t done, luhip_error **error) {
  luhip_device *device = whole->device;
  struct waiting waiting = waiting_start(NULL);
  luhip_status status = wait_marks(device, &block->marks, &waiting, error); /* its last copy has left it */
  if (!status) status = fill_block(device, block, whole->data + done, region_bytes(part), error);
  if (status) return status;
  struct writing w = *whole;
  w.region = *part;
  w.data = block->address;
  w.block = block;
  return write_region(&w, error);
}

static luhip_status write_chunks(const struct writing *w, struct slice *blocks[2], size_t chunk, luhip_error **error) {
  size_t total = region_bytes(&w->region);
  luhip_status status = LUHIP_OK;
  for (size_t done = 0, i = 0; done < total && !status; i++) {
    struct region part = part_of(&w->region, done, chunk);
    status = write_chunk(w, blocks[i % 2], &part, done, error);
    done += region_bytes(&part);
  }
  return status;
}

/* What the write carries in the end: nothing, or its error. */
static void settle(struct writing *w, luhip_error *error) {
  struct failure *outcome = error ? failure_new(&w->device->failures, luhip_error_retain(error)) : NULL;
  claims_set_region(&w->allocation->claims, &w->region, outcome);
  inflight_settle(w->device, w->provisional, outcome);
  failure_release(outcome);
  failure_release(w->provisional);
}

static luhip_status write_chunked(struct writing *w, luhip_error **error) {
  luhip_device *device = w->device;
  size_t chunk = w->region.rows > 1 && w->region.width > CHUNK ? w->region.width : CHUNK;
  struct slice *blocks[2] = {staging_take(device, w->slot, chunk), staging_take(device, w->slot, chunk)};
  if (!blocks[0] || !blocks[1]) {
    for (int i = 0; i < 2; i++) {
      if (blocks[i]) manager_give(blocks[i]);
    }
    return write_region(w, error);
  }
  w->provisional =
      failure_new(&device->failures, error_new(LUHIP_E_DRIVER, "a write of %zu bytes into this buffer has not ended",
                                               region_bytes(&w->region)));
  allocation_hold(w->allocation);
  claims_set_region(&w->allocation->claims, &w->region, w->provisional);
  luhip_error *failed = NULL;
  luhip_status status = write_chunks(w, blocks, chunk, &failed);
  settle(w, failed);
  allocation_unhold(w->allocation);
  for (int i = 0; i < 2; i++) manager_give(blocks[i]);
  if (failed) error_give(error, failed);
  return status;
}

luhip_status write_bytes(struct allocation *allocation, uint32_t slot, const void *data, luhip_error **error) {
  size_t bytes = allocation->bytes;
  struct writing w = {.device = allocation->device,
                      .slot = slot,
                      .allocation = allocation,
                      .region = {0, bytes, 1, bytes},
                      .data = data};
  return bytes < WRITE_CHUNKED_FROM ? write_staged(&w, error) : write_chunked(&w, error);
}

/* ---- while recording ------------------------------------------------------------------------------------------ */

/* The graph gets a copy of its own, whole: chunks would need waits. */
static luhip_status record_write(const struct writing *w, struct capture *capture, const luhip_source *source,
                                 luhip_error **error) {
  if (array_serves(source->array, w->device, source->data, source->bytes)) {
    struct mark writer = source->array->block->marks.writer; /* a read into the array, perhaps still on its way */
    struct waiting waiting = waiting_start(NULL);
    luhip_status status = wait_position(w->device, writer.slot, writer.position, &waiting, error);
    if (!status && capture_recording(w->device, w->slot) != capture) {
      status = error_set(error, LUHIP_E_CAPTURE, "write: the recording ended during the write");
    }
    if (!status) status = buffer_usable(source->buffer, w->device, "write", error);
    if (status) return status;
  }
  struct op_use use;
  struct command command = {.device = w->device, .uses = &use, .slot = w->slot};
  command_use(&command, w->allocation, &w->region, USE_WRITE, NO_PARAM);
  return capture_write(capture, &command, w->data, error);
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

/* The write may have to wait for earlier ones, before it looks at anything. */
static luhip_status write_enter(luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error) {
  luhip_status status = transfer_enter(device, stream, slot, error);
  if (status) return status;
  status = drops_make_room(device, *slot, error);
  if (!status) status = slot_of(device, stream, slot, error);
  if (status) device_leave(device);
  return status;
}

static luhip_status write_locked(luhip_device *device, uint32_t slot, const luhip_source *source,
                                 const struct region *region, luhip_error **error) {
  luhip_status status = buffer_usable(source->buffer, device, "write", error);
  if (status || region_empty(region)) return status;
  struct writing w = {.device = device,
                      .slot = slot,
                      .allocation = source->buffer->allocation,
                      .region = *region,
                      .data = source->data};
  struct capture *capture = capture_recording(device, slot);
  if (capture) return record_write(&w, capture, source, error);
  if (array_serves(source->array, device, source->data, source->bytes)) {
    w.array = source->array;
    w.block = source->array->block;
    /* A read into the array may still be on its way, on another stream. */
    hip_error_t rc = order_after(device, slot, &w.block->marks, false);
    if (rc == hip_Success) return write_region(&w, error);
    return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "write"));
  }
  return source->bytes < WRITE_CHUNKED_FROM ? write_staged(&w, error) : write_chunked(&w, error);
}

static luhip_status write_one(luhip_device *device, luhip_stream *stream, const luhip_source *source,
                              luhip_error **error) {
  const luhip_layout *layout = &source->buffer->layout;
  if (source->bytes != layout->bytes) {
    char text[128];
    layout_describe(layout, text, sizeof text);
    return error_set(error, LUHIP_E_SHAPE, "write: %zu bytes were given for %s, which has %zu", source->bytes, text,
                     layout->bytes);
  }
  if (source->bytes && !source->data) return error_set(error, LUHIP_E_ARGUMENT, "write: no data was given");
  struct region region;
  luhip_status status = layout_region(layout, "write", &region, error);
  uint32_t slot;
  if (!status) status = write_enter(device, stream, &slot, error);
  if (status) return status;
  status = write_locked(device, slot, source, &region, error);
  device_leave(device);
  return status;
}

luhip_status luhip_write(luhip_device *device, luhip_stream *stream, const luhip_source *sources, size_t n,
                         luhip_error **error) {
  luhip_error *first = NULL;
  luhip_status result = LUHIP_OK;
  for (size_t i = 0; i < n; i++) {
    luhip_error *failed = NULL;
    luhip_status status = write_one(device, stream, &sources[i], &failed);
    if (status && !result) {
      result = status;
      first = failed;
    } else {
      luhip_error_release(failed);
    }
  }
  if (first) error_give(error, first);
  return result;
}
