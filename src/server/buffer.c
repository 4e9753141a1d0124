/*
 * buffer.c - buffer handles: making, viewing, freeing, and the raw address.
 */
#include "server/buffer.h"

#include "memory/layout.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/program.h"

#include <stdlib.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

luhip_buffer *buffer_on(luhip_device *device, struct allocation *allocation, const luhip_layout *layout) {
  luhip_buffer *buffer = malloc(sizeof *buffer);
  if (!buffer) return NULL;
  *buffer = (luhip_buffer){.refs = 1,
                           .id = next_id(),
                           .device = device_retain(device),
                           .allocation = allocation,
                           .layout = *layout,
                           .contiguous = layout_contiguous(layout)};
  allocation->refs++;
  luhip_program_retain(allocation->program);
  return buffer;
}

static luhip_status no_memory(luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a buffer");
}

static luhip_status buffer_make(luhip_device *device, const luhip_layout *layout, size_t bytes, luhip_buffer **out,
                                luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  struct allocation *allocation = allocation_new(device, bytes, layout);
  luhip_buffer *buffer = allocation ? buffer_on(device, allocation, layout) : NULL;
  if (allocation) allocation_unref(allocation); /* the handle has one of its own */
  device_leave(device);
  if (!buffer) return no_memory(error);
  *out = buffer;
  return LUHIP_OK;
}

luhip_status luhip_buffer_new(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                              luhip_buffer **buffer, luhip_error **error) {
  luhip_layout layout;
  luhip_status status = layout_packed(dtype, ndim, shape, &layout, error);
  return status ? status : buffer_make(device, &layout, layout.bytes, buffer, error);
}

luhip_status luhip_buffer_new_pitched(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                                      luhip_buffer **buffer, luhip_error **error) {
  luhip_layout layout;
  luhip_status status = layout_packed(dtype, ndim, shape, &layout, error);
  if (status) return status;
  if (ndim < 2) return error_set(error, LUHIP_E_SHAPE, "a pitched buffer has at least 2 dimensions, not %d", ndim);
  if (layout.count == 0) return buffer_make(device, &layout, 0, buffer, error);
  size_t element = luhip_dtype_bytes(dtype), width = shape[ndim - 1] * element;
  size_t step = device->pitch_alignment;
  while (step % element) /* c128 and an odd alignment: rows must still begin at an element */
    step += device->pitch_alignment;
  size_t rows = layout.count / shape[ndim - 1], pitch = (width / step + (width % step != 0)) * step, bytes;
  if (pitch < width || __builtin_mul_overflow(pitch, rows, &bytes) || bytes > PTRDIFF_MAX) {
    return error_set(error, LUHIP_E_TOO_BIG, "a buffer of this shape has more than %zu bytes", (size_t)PTRDIFF_MAX);
  }
  ptrdiff_t stride = (ptrdiff_t)(pitch / element);
  for (int i = ndim - 2; i >= 0; i--) {
    layout.strides[i] = stride;
    stride *= (ptrdiff_t)shape[i];
  }
  return buffer_make(device, &layout, bytes, buffer, error);
}

luhip_status luhip_buffer_view(luhip_buffer *buffer, const luhip_layout *layout, luhip_buffer **view,
                               luhip_error **error) {
  luhip_device *device = buffer->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  luhip_layout checked = *layout;
  luhip_buffer *made = NULL;
  status = buffer_usable(buffer, device, "view", error);
  if (!status) status = layout_check(&checked, buffer->allocation->bytes, error);
  if (!status) {
    made = buffer_on(device, buffer->allocation, &checked);
    if (!made) status = no_memory(error);
  }
  device_leave(device);
  if (!status) *view = made;
  return status;
}

/* ---- freeing ------------------------------------------------------------------------------------------------- */

luhip_buffer *luhip_buffer_retain(luhip_buffer *buffer) {
  if (buffer) __atomic_fetch_add(&buffer->refs, 1, __ATOMIC_RELAXED);
  return buffer;
}

static void detach(luhip_buffer *buffer) {
  if (!device_enter_quietly(buffer->device)) return; /* a child process: the allocation is its parent's */
  struct allocation *allocation = buffer->allocation;
  buffer->allocation = NULL;
  __atomic_store_n(&buffer->freed, 1, __ATOMIC_RELEASE);
  luhip_program *program = allocation ? allocation->program : NULL;
  if (allocation) allocation_unref(allocation);
  if (program) program_release_locked(program);
  device_leave_quietly(buffer->device);
}

void luhip_buffer_free(luhip_buffer *buffer) {
  detach(buffer);
}

void luhip_buffer_release(luhip_buffer *buffer) {
  if (!buffer || __atomic_sub_fetch(&buffer->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_device *device = buffer->device;
  if (!__atomic_load_n(&buffer->freed, __ATOMIC_ACQUIRE))
    detach(buffer); /* the handle was the last: nobody frees it now */
  free(buffer);
  device_release(device);
}

bool luhip_buffer_is_freed(const luhip_buffer *buffer) {
  return __atomic_load_n(&buffer->freed, __ATOMIC_ACQUIRE) || !luhip_device_is_open(buffer->device);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

const luhip_layout *luhip_buffer_layout(const luhip_buffer *buffer) {
  return &buffer->layout;
}

bool luhip_buffer_is_contiguous(const luhip_buffer *buffer) {
  return buffer->contiguous;
}

luhip_device *luhip_buffer_device(const luhip_buffer *buffer) {
  return buffer->device;
}

uint64_t luhip_buffer_id(const luhip_buffer *buffer) {
  return buffer->id;
}

luhip_status buffer_usable(const luhip_buffer *buffer, const luhip_device *device, const char *what,
                           luhip_error **error) {
  if (buffer->device != device) {
    return error_set(error, LUHIP_E_ARGUMENT, "%s: the buffer belongs to device %s, not to %s", what,
                     buffer->device->info.id, device->info.id);
  }
  if (!buffer->allocation) return error_set(error, LUHIP_E_FREED, "%s: the buffer was freed", what);
  return LUHIP_OK;
}

struct region buffer_reach(const luhip_buffer *buffer) {
  struct region region;
  if (layout_region(&buffer->layout, "", &region, NULL) == LUHIP_OK) return region;
  const luhip_layout *layout = &buffer->layout;
  size_t element = luhip_dtype_bytes(layout->dtype);
  ptrdiff_t first = (ptrdiff_t)layout->offset, end = first + (ptrdiff_t)element;
  for (int i = 0; i < layout->ndim; i++) {
    ptrdiff_t reach = layout->strides[i] * (ptrdiff_t)(layout->shape[i] - 1) * (ptrdiff_t)element;
    *(reach < 0 ? &first : &end) += reach;
  }
  return (struct region){(size_t)first, (size_t)(end - first), 1, (size_t)(end - first)};
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

luhip_error *report_failures(luhip_device *device, const struct failure_set *set, const char *what,
                             luhip_buffer *const *buffers, size_t n) {
  enum { FEW = 16 };
  uint64_t few_ids[FEW];
  size_t few_counts[FEW];
  uint64_t *ids = n <= FEW ? few_ids : malloc(n * sizeof *ids);
  size_t *counts = set->count <= FEW ? few_counts : malloc(set->count * sizeof *counts);
  for (size_t i = 0; ids && i < n; i++) ids[i] = buffers[i]->allocation ? buffers[i]->allocation->id : 0;
  for (size_t i = 0; counts && i < set->count; i++) counts[i] = allocations_carrying(device, set->list[i]);
  luhip_error *error = failure_set_report(set, what, ids, ids ? n : 0, counts);
  if (ids != few_ids) free(ids);
  if (counts != few_counts) free(counts);
  return error;
}

/* ---- the raw address ----------------------------------------------------------------------------------------- */

/* Memory for the buffer and nothing pending on it. The wait drops the lock: the caller looks again. */
static luhip_status resource_locked(luhip_buffer *buffer, struct waiting *waiting, luhip_error **error) {
  luhip_device *device = buffer->device;
  struct op_use use;
  struct command command = {.device = device, .uses = &use, .slot = DEFAULT_SLOT};
  struct region region = buffer_reach(buffer);
  command_use(&command, buffer->allocation, &region, USE_READ | USE_WRITE, NO_PARAM);
  struct failure_set set = {0};
  struct failure *failure = NULL;
  luhip_status status = LUHIP_OK;
  for (bool last = false; !command_tainted(&command, &set); last = true) {
    enum command_state state = command_prepare(&command, last, &failure);
    if (state == COMMAND_AGAIN) continue;
    if (state == COMMAND_READY) status = wait_marks(device, &buffer->allocation->marks, waiting, error);
    if (state == COMMAND_FAILED || state == COMMAND_RETURNED) failure_set_add(&set, failure);
    break;
  }
  if (set.count) status = error_give(error, report_failures(device, &set, "resource", &buffer, 1));
  command_close(&command);
  failure_release(failure);
  failure_set_free(&set);
  return status;
}

luhip_status luhip_buffer_resource(luhip_buffer *buffer, const luhip_wait *wait, uint64_t *pointer, size_t *bytes,
                                   luhip_error **error) {
  luhip_device *device = buffer->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  struct waiting waiting = waiting_start(wait);
  status = device_sound(device, error);
  if (!status) status = buffer_usable(buffer, device, "resource", error);
  if (!status) status = capture_refuse(device, DEFAULT_SLOT, "resource", error);
  if (!status) status = resource_locked(buffer, &waiting, error);
  if (!status) status = buffer_usable(buffer, device, "resource", error);
  if (!status) {
    struct region region = buffer_reach(buffer);
    struct failure_set set = {0};
    allocation_failures(buffer->allocation, &region, &set); /* a fault heard of while waiting */
    if (set.count) status = error_give(error, report_failures(device, &set, "resource", &buffer, 1));
    failure_set_free(&set);
  }
  if (!status) {
    struct region region = buffer_reach(buffer);
    *pointer = (uint64_t)(uintptr_t)buffer_address(buffer);
    *bytes = region_end(&region) - buffer->layout.offset;
  }
  device_leave(device);
  return status;
}
