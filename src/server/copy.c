/*
 * copy.c - within a device (C6); copy_between.c has what goes from one to another. Stale source bytes make the destination stale with the same failure: that is
 * no error of the copy, it is met by whoever reads.
 */
#include "memory/layout.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/transfer.h"

struct copying {
  struct region to, from;
};

static hip_error_t enqueue(struct command *command, void *user) {
  const struct copying *c = user;
  const struct allocation *from = command->uses[0].allocation, *to = command->uses[1].allocation;
  struct place source = {(char *)from->address + c->from.offset, c->from.pitch};
  struct place destination = {(char *)to->address + c->to.offset, c->to.pitch};
  return enqueue_copy(command->device, command->slot, destination, source, c->to.width, c->to.rows,
                      hip_MemcpyDeviceToDevice);
}

/* Gives both sides the same rows; a packed side takes the rows of the other. */
static luhip_status match_rows(struct copying *c, luhip_error **error) {
  struct region *packed = c->to.rows == 1 ? &c->to : &c->from, *other = c->to.rows == 1 ? &c->from : &c->to;
  if (packed->rows == 1) {
    packed->width = packed->pitch = other->width;
    packed->rows = other->rows;
  }
  if (c->to.width == c->from.width) {
    if (c->to.rows == 1) c->to.pitch = c->from.pitch = c->to.width;
    return LUHIP_OK;
  }
  return error_set(error, LUHIP_E_UNSUPPORTED_STRIDES,
                   "copy: the rows of the source have %zu bytes, those of the destination %zu, so no single copy "
                   "serves",
                   c->from.width, c->to.width);
}

/* Whether two regions of one allocation share a byte; rows that interleave at one pitch do not. */
static bool overlap(const struct region *a, const struct region *b) {
  if (region_end(a) <= b->offset || region_end(b) <= a->offset) return false;
  if (a->rows == 1 || a->pitch != b->pitch) return true;
  size_t apart = (b->offset % a->pitch + a->pitch - a->offset % a->pitch) % a->pitch;
  return apart < a->width || apart + b->width > a->pitch;
}

static bool same_region(const struct region *a, const struct region *b) {
  return a->offset == b->offset && a->width == b->width && a->rows == b->rows && a->pitch == b->pitch;
}

/* The source cannot be had: the destination carries that. */
static void carry_on(struct command *command, const struct failure_set *set) {
  struct failure *failure = failure_of_set(&command->device->failures, set);
  command_failed(command, failure);
  failure_release(failure);
}

/* A source that cannot have its memory carries that now, and so does the destination: as if it had been known before. */
static luhip_status run(struct command *command, struct copying *c, struct failure_set *set, luhip_error **error) {
  luhip_error *failed = NULL;
  luhip_status status = command_run(command, enqueue, c, "copy", NULL, &failed);
  if (!status) return LUHIP_OK;
  if (command_tainted(command, set)) {
    luhip_error_release(failed);
    return LUHIP_OK;
  }
  return failed ? error_give(error, failed) : status;
}

static luhip_status copy_locked(luhip_buffer *destination, luhip_buffer *source, uint32_t slot, struct copying *c,
                                luhip_error **error) {
  luhip_device *device = destination->device;
  luhip_status status = buffer_usable(destination, device, "copy (destination)", error);
  if (!status) status = buffer_usable(source, device, "copy (source)", error);
  if (status || region_empty(&c->to)) return status;
  struct op_use uses[2];
  struct command command = {.device = device, .uses = uses, .slot = slot};
  command_use(&command, source->allocation, &c->from, USE_READ, NO_PARAM);
  command_use(&command, destination->allocation, &c->to, USE_WRITE, NO_PARAM);
  if (source->allocation == destination->allocation) {
    if (same_region(&c->to, &c->from)) return LUHIP_OK;
    if (overlap(&c->to, &c->from)) {
      return error_set(error, LUHIP_E_ARGUMENT, "copy: source and destination overlap");
    }
  }
  faults_take(device);
  struct capture *capture = capture_recording(device, slot);
  if (capture) return capture_copy(capture, &command, &c->to, &c->from, error);
  struct failure_set set = {0};
  if (command_tainted(&command, &set)) {
    carry_on(&command, &set);
  } else {
    status = run(&command, c, &set, error);
  }
  command_close(&command);
  failure_set_free(&set);
  return status;
}

luhip_status luhip_copy(luhip_buffer *destination, luhip_buffer *source, luhip_stream *stream, luhip_error **error) {
  const luhip_layout *to = &destination->layout, *from = &source->layout;
  if (to->dtype != from->dtype) {
    return error_set(error, LUHIP_E_TYPE, "copy: the source holds %s, the destination %s",
                     luhip_dtype_name(from->dtype), luhip_dtype_name(to->dtype));
  }
  if (to->count != from->count) {
    return error_set(error, LUHIP_E_SHAPE, "copy: the source has %zu elements, the destination %zu", from->count,
                     to->count);
  }
  struct copying c;
  luhip_status status = layout_region(to, "copy (destination)", &c.to, error);
  if (!status) status = layout_region(from, "copy (source)", &c.from, error);
  if (!status && to->count) status = match_rows(&c, error);
  uint32_t slot;
  if (!status && destination->device != source->device)
    return copy_between(destination, source, stream, &c.to, &c.from, error);
  if (!status) status = transfer_enter(destination->device, stream, &slot, error);
  if (status) return status;
  status = copy_locked(destination, source, slot, &c, error);
  device_leave(destination->device);
  return status;
}
