/*
 * read.c - buffers into host arrays, behind one fence (C5).
 *
 * Claims on any buffer fail the read before anything is copied. Each copy is an operation in flight that names the
 * future, so that a fault heard of later, of something the copy read from, reaches the future and not only the
 * buffers. The arrays are held by the future and by the copies: giving up on a future frees nothing too early.
 */
#include "memory/layout.h"
#include "server/array.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/future.h"
#include "server/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

static luhip_future *future_new(luhip_device *device, uint32_t slot, luhip_buffer *const *buffers, size_t n) {
  size_t bytes = sizeof(luhip_future) + n * (sizeof(luhip_array *) + sizeof(uint64_t));
  luhip_future *future = malloc(bytes); /* calloc does not look into glibc's thread cache */
  if (!future) return NULL;
  memset(future, 0, bytes);
  future->refs = 1;
  future->device = device_retain(device);
  future->slot = slot;
  future->ids = (uint64_t *)(future->arrays + n);
  future->count = n;
  for (size_t i = 0; i < n; i++) future->ids[i] = buffers[i]->allocation->id;
  return future;
}

/* How errors call it; made when there is one. `first` is the layout of its first buffer. */
static const char *what(luhip_future *future, const luhip_layout *first) {
  if (future->what[0]) return future->what;
  if (future->count == 1) {
    char text[80];
    layout_describe(first, text, sizeof text);
    snprintf(future->what, sizeof future->what, "read of %s", text);
  } else {
    snprintf(future->what, sizeof future->what, "read of %zu buffers", future->count);
  }
  return future->what;
}

struct reading {
  struct region region;
  char *data;
};

static hip_error_t enqueue(struct command *command, void *user) {
  const struct reading *r = user;
  struct place to = {r->data, r->region.width};
  struct place from = {(char *)command->uses[0].allocation->address + r->region.offset, r->region.pitch};
  return enqueue_copy(command->device, command->slot, to, from, r->region.width, r->region.rows,
                      hip_MemcpyDeviceToHost);
}

static luhip_status copy_out(luhip_future *future, luhip_buffer *buffer, const struct region *region,
                             luhip_array *array, luhip_error **error) {
  luhip_device *device = future->device;
  struct reading r = {*region, array->data};
  struct op_use use;
  struct command command = {
      .device = device, .uses = &use, .slot = future->slot, .keep = {.future = future, .array = array}};
  command_use(&command, buffer->allocation, region, USE_READ, NO_PARAM);
  luhip_status status = command_run(&command, enqueue, &r, "read", NULL, error);
  uint64_t tail = device->slots[future->slot].tail;
  if (array->block) marks_write(&array->block->marks, future->slot, tail);
  if (!status) future->position = tail;
  command_close(&command);
  return status;
}

/* Tests the claims of all, then starts the copies. */
static luhip_status start_copies(luhip_future *future, luhip_buffer *const *buffers, luhip_error **error) {
  luhip_device *device = future->device;
  struct failure_set set = {0};
  luhip_status status = LUHIP_OK;
  for (size_t i = 0; i < future->count && !status; i++) {
    struct region region;
    const luhip_layout *layout = &buffers[i]->layout;
    status = layout_region(layout, "read", &region, NULL);
    if (status) status = layout_region(layout, what(future, layout), &region, error);
    if (!status) allocation_failures(buffers[i]->allocation, &region, &set);
  }
  if (!status && set.count)
    status =
        error_give(error, report_failures(device, &set, what(future, &buffers[0]->layout), buffers, future->count));
  failure_set_free(&set);
  for (size_t i = 0; i < future->count && !status; i++) {
    struct region region;
    luhip_layout packed;
    const luhip_layout *layout = &buffers[i]->layout;
    layout_region(layout, "read", &region, NULL);
    layout_packed(layout->dtype, layout->ndim, layout->shape, &packed, NULL);
    status = array_new_for(device, future->slot, &packed, &future->arrays[i], error);
    if (!status && !buffers[i]->allocation) status = buffer_usable(buffers[i], device, what(future, layout), error);
    if (!status && !region_empty(&region)) status = copy_out(future, buffers[i], &region, future->arrays[i], error);
  }
  return status;
}

luhip_status read_start(luhip_device *device, uint32_t slot, luhip_buffer *const *buffers, size_t n, luhip_future **out,
                        luhip_error **error) {
  for (size_t i = 0; i < n; i++) {
    luhip_status status = buffer_usable(buffers[i], device, "read", error);
    if (status) return status;
  }
  faults_take(device);
  luhip_future *future = future_new(device, slot, buffers, n);
  if (!future) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a read");
  luhip_status status = start_copies(future, buffers, error);
  if (!status && future->position) slot_fence(device, slot);
  if (status) {
    future_release_locked(future); /* copies that did start keep their arrays until they have passed */
  } else {
    *out = future;
  }
  return status;
}

luhip_status luhip_read(luhip_device *device, luhip_stream *stream, luhip_buffer *const *buffers, size_t n,
                        luhip_future **future, luhip_error **error) {
  uint32_t slot;
  luhip_status status = transfer_enter(device, stream, &slot, error);
  if (status) return status;
  status = capture_refuse(device, slot, "read", error);
  if (!status) status = read_start(device, slot, buffers, n, future, error);
  device_leave(device);
  return status;
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

/* Written to by a driver thread when the copies are done; the last of future and callback closes it. */
struct signal {
  int refs; /* atomic */
  int fd;
};

static void signal_release(struct signal *signal) {
  if (!signal || __atomic_sub_fetch(&signal->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  close(signal->fd);
  free(signal);
}

luhip_future *luhip_future_retain(luhip_future *future) {
  if (future) __atomic_fetch_add(&future->refs, 1, __ATOMIC_RELAXED);
  return future;
}

static bool last_release(luhip_future *future) {
  return __atomic_sub_fetch(&future->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

static void destroy(luhip_future *future) {
  for (size_t i = 0; i < future->count; i++) {
    if (future->arrays[i]) array_release_locked(future->arrays[i]);
  }
  failure_set_free(&future->taints);
  luhip_error_release(future->error);
  signal_release(future->signal);
  free(future);
}

void future_release_locked(luhip_future *future) {
  if (!last_release(future)) return;
  luhip_device *device = future->device;
  destroy(future);
  device_release(device);
}

void luhip_future_release(luhip_future *future) {
  if (!future || !last_release(future)) return;
  luhip_device *device = future->device;
  if (!device_enter_quietly(device)) return; /* a child process */
  destroy(future);
  device_leave_quietly(device);
  device_release(device);
}

/* ---- the outcome --------------------------------------------------------------------------------------------- */

void future_taint(luhip_future *future, struct failure *failure) {
  failure_set_add(&future->taints, failure);
}

static size_t *count_carriers(luhip_future *future) {
  size_t *counts = malloc(future->taints.count * sizeof *counts);
  for (size_t i = 0; counts && i < future->taints.count; i++)
    counts[i] = allocations_carrying(future->device, future->taints.list[i]);
  return counts;
}

luhip_status future_finish(luhip_future *future, luhip_error **error) {
  if (!future->done) {
    future->done = true;
    if (future->taints.count) {
      size_t *counts = count_carriers(future);
      future->error = failure_set_report(&future->taints, what(future, luhip_array_layout(future->arrays[0])),
                                         future->ids, future->count, counts);
      free(counts);
    }
    failure_set_free(&future->taints);
  }
  if (!future->error) return LUHIP_OK;
  return error_give(error, luhip_error_retain(future->error));
}

static luhip_status gone(const luhip_future *future, luhip_error **error) {
  return error_set(error, LUHIP_E_FREED, "device %s was closed before the read was done", future->device->info.id);
}

/* Learns how far the copies are. */
static void ask(luhip_future *future) {
  if (future->device->slots[future->slot].fence) slot_mark_fence(future->device, future->slot);
  slot_poll(future->device, future->slot);
}

static bool passed(const luhip_future *future) {
  return future->done || future->position <= future->device->slots[future->slot].passed;
}

/* For waiting and asking: also after the close, which lets reads end. */
static luhip_status future_enter(luhip_future *future, luhip_error **error) {
  luhip_device *device = future->device;
  if (!device_enter_quietly(device)) return device_enter(device, error); /* a child process: says so */
  if (!device_closing(device) || passed(future)) return LUHIP_OK;
  device_leave(device);
  return gone(future, error);
}

/* soon: the copies were started just now. */
static luhip_status wait_locked(luhip_future *future, const luhip_wait *wait, bool soon, luhip_error **error) {
  luhip_status status = LUHIP_OK;
  if (!passed(future)) {
    struct waiting waiting = waiting_start(wait);
    waiting.soon = soon;
    status = wait_position(future->device, future->slot, future->position, &waiting, error);
  }
  if (status) return status;
  faults_take(future->device);
  return future_finish(future, error);
}

luhip_status luhip_future_wait(luhip_future *future, const luhip_wait *wait, luhip_error **error) {
  luhip_status status = future_enter(future, error);
  if (status) return status;
  status = wait_locked(future, wait, false, error);
  device_leave(future->device);
  return status;
}

luhip_status luhip_future_take(luhip_future *future, const luhip_wait *wait, luhip_array **array, luhip_error **error) {
  luhip_device *device = future->device;
  if (future->count != 1)
    return error_set(error, LUHIP_E_ARGUMENT, "the future is of %zu buffers, not of one", future->count);
  luhip_status status = future_enter(future, error);
  if (status) return status;
  status = wait_locked(future, wait, true, error);
  if (!status) *array = luhip_array_retain(future->arrays[0]);
  bool last = !status && last_release(future);
  if (last) destroy(future);
  device_leave(device);
  if (last) device_release(device);
  return status;
}

luhip_status luhip_future_ready(luhip_future *future, bool *ready, luhip_error **error) {
  luhip_status status = future_enter(future, error);
  if (status) return status;
  luhip_device *device = future->device;
  if (!passed(future)) ask(future);
  status = device_sound(device, error);
  if (!status) *ready = passed(future);
  if (!status && *ready) status = future_finish(future, error);
  device_leave(device);
  return status;
}

luhip_array *luhip_future_array(luhip_future *future, size_t index) {
  return index < future->count ? future->arrays[index] : NULL;
}

size_t luhip_future_count(const luhip_future *future) {
  return future->count;
}

/* ---- a descriptor for event loops ---------------------------------------------------------------------------- */

static void ring(struct signal *signal) {
  ssize_t written = write(signal->fd, &(uint64_t){1}, sizeof(uint64_t));
  (void)written; /* it can only fail for a counter that is full, and then it is readable */
  signal_release(signal);
}

static void on_done(hip_stream_t stream, hip_error_t status, void *user) {
  (void)stream;
  (void)status;
  ring(user);
}

static luhip_status make_signal(luhip_future *future, luhip_error **error) {
  struct signal *signal = malloc(sizeof *signal);
  if (!signal) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a descriptor");
  *signal = (struct signal){.refs = 2, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (signal->fd < 0) {
    int reason = errno;
    free(signal);
    return error_set(error, LUHIP_E_FILE, "no descriptor for a future: %s", strerror(reason));
  }
  luhip_device *device = future->device;
  hip_error_t rc = hip_Success;
  if (passed(future)) {
    ring(signal);
  } else {
    rc = device->api->hipStreamAddCallback(device->slots[future->slot].handle, on_done, signal, 0);
  }
  if (rc == hip_Success) {
    future->signal = signal;
    return LUHIP_OK;
  }
  signal->refs = 1;
  signal_release(signal);
  return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "a descriptor for a future"));
}

luhip_status luhip_future_fd(luhip_future *future, int *fd, luhip_error **error) {
  luhip_status status = future_enter(future, error);
  if (status) return status;
  if (!future->signal) {
    ask(future);
    status = make_signal(future, error);
  }
  if (!status) *fd = future->signal->fd;
  device_leave(future->device);
  return status;
}
