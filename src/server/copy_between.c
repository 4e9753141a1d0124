/*
 * copy_between.c - a copy from a buffer of one device into one of another (C6).
 *
 * Two servers take part, and no lock of one is held with that of the other: each step enters one device and leaves it.
 *
 * Peer copy, where both devices are of one provider that lets them reach each other's memory. The host waits for nothing:
 *   1. source        claims are looked at; a marker stands behind the last writer
 *   2. destination   its stream waits for that marker, copies, and records an event
 *   3. source        its default stream waits for that event, which counts as a read: who writes there comes after it
 * The source is held meanwhile, so that its memory is not given to anybody else.
 *
 * Staged copy, everywhere else, and where the source's device survives faults, of which a reader must hear: parts are read
 * into pinned arrays and written from there, and the host waits for each to arrive. While one part is written the next
 * one is read.
 *
 * What the source carries, the destination carries afterwards: the failure is made anew in the other device's store.
 */
#include "memory/layout.h"
#include "server/array.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/event.h"
#include "server/transfer.h"

#include <stdlib.h>

static const size_t PART = (size_t)16 << 20;

struct between {
  luhip_buffer *to, *from;
  luhip_stream *stream; /* of the destination's device, or NULL */
  struct region to_region, from_region;
};

/* Enters a device for one side, on `stream`; the buffer is there. */
static luhip_status enter_side(luhip_buffer *buffer, luhip_stream *stream, const char *what, uint32_t *slot,
                               luhip_error **error) {
  luhip_device *device = buffer->device;
  luhip_status status = transfer_enter(device, stream, slot, error);
  if (status) return status;
  status = buffer_usable(buffer, device, what, error);
  if (!status) status = capture_refuse(device, *slot, "a copy between devices", error);
  if (status) device_leave(device);
  return status;
}

/* ---- failures -------------------------------------------------------------------------------------------------- */

/* What the source's bytes carry, as one error; NULL: nothing. */
static luhip_error *carried(const struct between *b) {
  luhip_device *device = b->from->device;
  struct failure_set set = {0};
  faults_take(device);
  allocation_failures(b->from->allocation, &b->from_region, &set);
  luhip_error *error = set.count ? report_failures(device, &set, "copy (source)", &b->from, 1) : NULL;
  failure_set_free(&set);
  return error;
}

/* The destination carries the error, of which a reference is taken over. */
static luhip_status carry_over(const struct between *b, luhip_error *reason, luhip_error **error) {
  luhip_device *device = b->to->device;
  uint32_t slot;
  luhip_status status = enter_side(b->to, b->stream, "copy (destination)", &slot, error);
  if (status) {
    luhip_error_release(reason);
    return status;
  }
  struct op_use use;
  struct command command = {.device = device, .uses = &use, .slot = slot};
  struct failure *failure = failure_new(&device->failures, reason);
  command_use(&command, b->to->allocation, &b->to_region, USE_WRITE, NO_PARAM);
  command_failed(&command, failure);
  command_close(&command);
  failure_release(failure);
  device_leave(device);
  return LUHIP_OK;
}

/* ---- peers ----------------------------------------------------------------------------------------------------- */

static bool can_peer(const struct between *b) {
  const luhip_device *to = b->to->device, *from = b->from->device;
  const struct hip_api *api = to->api;
  int can = 0;
  if (to->provider != from->provider || api != from->api || !api->hipMemcpyPeerAsync || api->hipxTakeFault)
    return false;
  return api->hipDeviceCanAccessPeer(&can, to->ordinal, from->ordinal) == hip_Success && can;
}

/* Rows at a pitch are one copy only where the destination's stream can reach the source's memory by itself. */
static hip_error_t reach(const struct between *b) {
  hip_error_t rc = b->to->device->api->hipDeviceEnablePeerAccess(b->from->device->ordinal, 0);
  if (rc != hip_ErrorPeerAccessAlreadyEnabled) return rc;
  b->to->device->api->hipGetLastError();
  return hip_Success;
}

struct peer {
  const struct between *b;
  struct allocation *source; /* held */
  hip_event_t ready, done;
};

static hip_error_t enqueue_copy_of(struct command *command, void *user) {
  struct peer *peer = user;
  const struct between *b = peer->b;
  const struct region *to = &b->to_region, *from = &b->from_region;
  luhip_device *device = command->device;
  hip_stream_t stream = device->slots[command->slot].handle;
  struct place there = {(char *)command->uses[0].allocation->address + to->offset, to->pitch};
  struct place here = {(char *)peer->source->address + from->offset, from->pitch};
  hip_error_t rc = hip_Success;
  if (peer->ready) rc = device->api->hipStreamWaitEvent(stream, peer->ready, 0);
  if (rc != hip_Success) return rc;
  if (to->rows > 1) {
    rc = reach(b);
    if (rc == hip_Success)
      rc = enqueue_copy(device, command->slot, there, here, to->width, to->rows, hip_MemcpyDefault);
  } else {
    rc = device->api->hipMemcpyPeerAsync(there.address, device->ordinal, here.address, b->from->device->ordinal,
                                         to->width, stream);
  }
  return rc == hip_Success ? device->api->hipEventRecord(peer->done, stream) : rc;
}

/* Step 1. *reason: what the source carries, of which the caller takes over the reference. */
static luhip_status open_source(struct peer *peer, luhip_error **reason, luhip_error **error) {
  const struct between *b = peer->b;
  luhip_device *device = b->from->device;
  uint32_t slot;
  luhip_status status = enter_side(b->from, NULL, "copy (source)", &slot, error);
  if (status) return status;
  struct op_use use;
  struct command command = {.device = device, .uses = &use, .slot = slot};
  struct failure *failure = NULL;
  command_use(&command, b->from->allocation, &b->from_region, USE_READ, NO_PARAM);
  enum command_state state = command_prepare(&command, false, &failure);
  if (state == COMMAND_AGAIN) state = command_prepare(&command, true, &failure);
  if (state == COMMAND_RETURNED) {
    command_close(&command);
    status = command_returned(failure, error);
    device_leave(device);
    return status;
  }
  *reason = state == COMMAND_READY ? carried(b) : luhip_error_retain(failure->error);
  failure_release(failure);
  hip_error_t rc = hip_Success;
  if (!*reason) {
    rc = event_take(device, &peer->ready);
    if (rc == hip_Success) rc = device->api->hipEventRecord(peer->ready, device->slots[slot].handle);
    peer->source = b->from->allocation;
    allocation_hold(peer->source);
  }
  command_close(&command);
  if (rc != hip_Success) *reason = driver_error(rc, LUHIP_E_DRIVER, "copy: ordering behind device %s", device->info.id);
  device_leave(device);
  return LUHIP_OK;
}

/* Step 2. */
static luhip_status copy_over(struct peer *peer, luhip_error **error) {
  const struct between *b = peer->b;
  luhip_device *device = b->to->device;
  uint32_t slot;
  luhip_status status = enter_side(b->to, b->stream, "copy (destination)", &slot, error);
  if (status) return status;
  struct op_use use;
  struct command command = {.device = device, .uses = &use, .slot = slot};
  command_use(&command, b->to->allocation, &b->to_region, USE_WRITE, NO_PARAM);
  hip_error_t rc = event_take(device, &peer->done);
  if (rc == hip_Success)
    status = command_run(&command, enqueue_copy_of, peer, "copy", NULL, error);
  else
    status = error_give(error, driver_error(rc, LUHIP_E_DRIVER, "copy"));
  command_close(&command);
  device_leave(device);
  return status;
}

static hip_error_t enqueue_wait(struct command *command, void *user) {
  luhip_device *device = command->device;
  return device->api->hipStreamWaitEvent(device->slots[command->slot].handle, ((struct peer *)user)->done, 0);
}

/* Step 3, in any case: what was taken in step 1 goes back. */
static void close_source(struct peer *peer, bool copied) {
  luhip_device *device = peer->b->from->device;
  if (!device_enter_quietly(device)) return;
  if (copied && !device_closing(device) && !device->poison) {
    struct op_use use;
    struct command command = {.device = device, .uses = &use, .slot = DEFAULT_SLOT};
    command_use(&command, peer->source, &peer->b->from_region, USE_READ, NO_PARAM);
    command_run(&command, enqueue_wait, peer, "copy", NULL, NULL);
    command_close(&command);
  }
  if (peer->source) allocation_unhold(peer->source);
  if (peer->ready) event_give(device, peer->ready);
  device_leave_quietly(device);
}

static void give_back_done(struct peer *peer) {
  luhip_device *device = peer->b->to->device;
  if (!peer->done || !device_enter_quietly(device)) return;
  event_give(device, peer->done);
  device_leave_quietly(device);
}

static luhip_status copy_by_peer(const struct between *b, luhip_error **error) {
  struct peer peer = {.b = b};
  luhip_error *reason = NULL;
  luhip_status status = open_source(&peer, &reason, error);
  if (status) return status;
  if (!reason) status = copy_over(&peer, error);
  if (peer.source || peer.ready) close_source(&peer, !reason && !status);
  give_back_done(&peer);
  return reason ? carry_over(b, reason, error) : status;
}

/* ---- by the host ----------------------------------------------------------------------------------------------- */

/* The i-th part of both buffers, as views. One part is the whole where either is not contiguous. */
struct parts {
  const struct between *b;
  size_t count, elements; /* of each part but the last */
};

static luhip_status part_of(luhip_buffer *buffer, const struct parts *parts, size_t i, luhip_buffer **view,
                            luhip_error **error) {
  const luhip_layout *layout = &buffer->layout;
  if (parts->count == 1) {
    *view = luhip_buffer_retain(buffer);
    return LUHIP_OK;
  }
  size_t first = i * parts->elements,
         n = layout->count - first < parts->elements ? layout->count - first : parts->elements;
  luhip_layout part = {.dtype = layout->dtype, .ndim = 1, .shape = {n}, .strides = {1}};
  part.offset = layout->offset + first * luhip_dtype_bytes(layout->dtype);
  return luhip_buffer_view(buffer, &part, view, error);
}

static luhip_status read_part(const struct parts *parts, size_t i, luhip_future **future, luhip_error **error) {
  luhip_buffer *view = NULL;
  luhip_status status = part_of(parts->b->from, parts, i, &view, error);
  if (!status) status = luhip_read(view->device, NULL, &view, 1, future, error);
  luhip_buffer_release(view);
  return status;
}

static luhip_status write_part(const struct parts *parts, size_t i, luhip_future *future, luhip_error **error) {
  const struct between *b = parts->b;
  luhip_buffer *view = NULL;
  luhip_status status = part_of(b->to, parts, i, &view, error);
  luhip_array *array = luhip_future_array(future, 0);
  if (!status) {
    luhip_source source = {.buffer = view, .data = luhip_array_data(array), .bytes = luhip_array_layout(array)->bytes};
    status = luhip_write(view->device, b->stream, &source, 1, error);
  }
  luhip_buffer_release(view);
  return status;
}

/* Errors of reading that are the source's: not of the caller, not of the wait, and not to be tried again. */
static bool is_sources(luhip_status status) {
  if (status == LUHIP_E_OOM && host_repeats()) return false;
  return status != LUHIP_E_INTERRUPTED && status != LUHIP_E_TIMEOUT && status != LUHIP_E_FREED &&
         status != LUHIP_E_FORKED && status != LUHIP_E_CAPTURE && status != LUHIP_E_MEMORY;
}

/* *reading: the error is of the source. */
static luhip_status copy_parts(const struct parts *parts, bool *reading, luhip_error **error) {
  luhip_future *now = NULL, *next = NULL;
  luhip_status status = read_part(parts, 0, &now, error);
  *reading = status;
  for (size_t i = 0; i < parts->count && !status; i++) {
    if (i + 1 < parts->count) status = read_part(parts, i + 1, &next, error);
    if (!status) status = luhip_future_wait(now, NULL, error);
    *reading = status;
    if (!status) status = write_part(parts, i, now, error);
    luhip_future_release(now);
    now = next;
    next = NULL;
  }
  luhip_future_release(now);
  return status;
}

/* Before anything is read: the destination must be there, and must not be recorded into. */
static luhip_status look_at_destination(const struct between *b, luhip_error **error) {
  uint32_t slot;
  luhip_status status = enter_side(b->to, b->stream, "copy (destination)", &slot, error);
  if (!status) device_leave(b->to->device);
  return status;
}

static luhip_status copy_by_host(const struct between *b, luhip_error **error) {
  struct parts parts = {.b = b, .count = 1, .elements = b->to->layout.count};
  size_t element = luhip_dtype_bytes(b->to->layout.dtype);
  if (b->to->contiguous && b->from->contiguous && b->to->layout.bytes > PART) {
    parts.elements = PART / element;
    parts.count = (b->to->layout.count + parts.elements - 1) / parts.elements;
  }
  luhip_error *failed = NULL;
  bool reading = false;
  luhip_status status = look_at_destination(b, error);
  if (status) return status;
  status = copy_parts(&parts, &reading, &failed);
  if (!status) return LUHIP_OK;
  if (reading && is_sources(status)) return carry_over(b, failed, error);
  if (parts.count > 1) carry_over(b, luhip_error_retain(failed), NULL); /* some of it may be there */
  return error_give(error, failed);
}

luhip_status copy_between(luhip_buffer *destination, luhip_buffer *source, luhip_stream *stream,
                          const struct region *to, const struct region *from, luhip_error **error) {
  struct between b = {.to = destination, .from = source, .stream = stream, .to_region = *to, .from_region = *from};
  if (region_empty(to)) return look_at_destination(&b, error);
  return can_peer(&b) ? copy_by_peer(&b, error) : copy_by_host(&b, error);
}
