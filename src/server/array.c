/*
 * array.c - host arrays.
 */
#include "server/array.h"

#include "memory/layout.h"
#include "server/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN_ALIGNMENT = 64 };

static luhip_array *array_make(const luhip_layout *layout) {
  luhip_array *array = malloc(sizeof *array); /* calloc does not look into glibc's thread cache */
  if (!array) return NULL;
  *array = (luhip_array){.refs = 1, .layout = *layout};
  array->layout.offset = 0;
  return array;
}

static luhip_status no_memory(size_t bytes, luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "the host has no memory for an array of %zu bytes", bytes);
}

static luhip_status make_plain(const luhip_layout *layout, luhip_array **out, luhip_error **error) {
  luhip_array *array = array_make(layout);
  if (!array) return no_memory(layout->bytes, error);
  size_t bytes =
      layout->bytes ? (layout->bytes + PLAIN_ALIGNMENT - 1) / PLAIN_ALIGNMENT * PLAIN_ALIGNMENT : PLAIN_ALIGNMENT;
  array->data = aligned_alloc(PLAIN_ALIGNMENT, bytes);
  if (!array->data) {
    free(array);
    return no_memory(layout->bytes, error);
  }
  memset(array->data, 0, bytes);
  *out = array;
  return LUHIP_OK;
}

static void list_add(luhip_array *array) {
  luhip_device *device = array->device;
  array->next = device->arrays;
  if (array->next) array->next->previous = array;
  device->arrays = array;
}

static void list_remove(luhip_array *array) {
  if (array->previous) {
    array->previous->next = array->next;
  } else {
    array->device->arrays = array->next;
  }
  if (array->next) array->next->previous = array->previous;
  array->next = array->previous = NULL;
}

luhip_status array_new_for(luhip_device *device, uint32_t slot, const luhip_layout *layout, luhip_array **out,
                           luhip_error **error) {
  struct slice *block = layout->bytes ? staging_take(device, slot, layout->bytes) : NULL;
  luhip_array *array = block ? array_make(layout) : NULL;
  if (!array) {
    if (block) manager_give(block);
    return make_plain(layout, out, error);
  }
  array->data = block->address;
  array->block = block;
  array->device = device_retain(device);
  device->pinned_in_use += layout->bytes;
  list_add(array);
  *out = array;
  return LUHIP_OK;
}

luhip_status luhip_array_new(luhip_dtype dtype, int ndim, const size_t *shape, luhip_array **array,
                             luhip_error **error) {
  luhip_layout layout;
  luhip_status status = layout_packed(dtype, ndim, shape, &layout, error);
  return status ? status : make_plain(&layout, array, error);
}

luhip_status luhip_array_new_staging(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                                     luhip_array **array, luhip_error **error) {
  luhip_layout layout;
  luhip_status status = layout_packed(dtype, ndim, shape, &layout, error);
  if (!status) status = device_enter(device, error);
  if (status) return status;
  status = array_new_for(device, DEFAULT_SLOT, &layout, array, error);
  device_leave(device);
  if (!status && layout.bytes) memset((*array)->data, 0, layout.bytes);
  return status;
}

/* ---- release ------------------------------------------------------------------------------------------------- */

/* A block whose device was closed. Freeing it could wait for the work of a server opened since on the same device,
   so that one takes it over; only where there is none the driver gets it. */
static void dispose(const luhip_device *closed, struct slice *block) {
  luhip_device *device = device_successor(closed);
  bool taken = false;
  if (device && device != closed && device_enter_quietly(device)) {
    taken = __atomic_load_n(&device->state, __ATOMIC_RELAXED) != DEVICE_CLOSED;
    if (taken) {
      marks_free(&block->marks); /* they were places in the closed server's streams */
      taken = memory_adopt_pinned(device, block);
    }
    device_leave_quietly(device);
  }
  if (device) device_release(device);
  if (taken) return;
  closed->api->hipSetDevice(closed->ordinal);
  pages_free(block->page); /* its storage is the closed device's, which this array keeps */
}

/* With the lock of the array's device, if it has one. */
static void destroy(luhip_array *array) {
  luhip_device *device = array->device;
  if (!device) {
    free(array->data);
  } else if (array->orphan) {
    dispose(device, array->block);
  } else {
    list_remove(array);
    device->pinned_in_use -= array->layout.bytes;
    manager_give(array->block);
  }
  free(array);
}

static bool last_release(luhip_array *array) {
  return __atomic_sub_fetch(&array->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

void array_release_locked(luhip_array *array) {
  luhip_device *device = array->device;
  if (!last_release(array)) return;
  destroy(array);
  if (device) device_release(device); /* none: plain memory, as an empty array's is */
}

luhip_array *luhip_array_retain(luhip_array *array) {
  if (array) __atomic_fetch_add(&array->refs, 1, __ATOMIC_RELAXED);
  return array;
}

void luhip_array_release(luhip_array *array) {
  if (!array || !last_release(array)) return;
  luhip_device *device = array->device;
  if (!device) {
    destroy(array);
    return;
  }
  if (!device_enter_quietly(device)) return; /* a child process: the memory is its parent's */
  destroy(array);
  device_leave_quietly(device);
  device_release(device);
}

void arrays_orphan(luhip_device *device) {
  while (device->arrays) {
    luhip_array *array = device->arrays;
    list_remove(array);
    array->orphan = true;
    manager_leave(array->block);
    device->pinned_in_use -= array->layout.bytes;
  }
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

void *luhip_array_data(luhip_array *array) {
  return array->data;
}

const luhip_layout *luhip_array_layout(const luhip_array *array) {
  return &array->layout;
}

bool luhip_array_is_pinned(const luhip_array *array) {
  return array->block != NULL;
}

bool array_serves(const luhip_array *array, const luhip_device *device, const void *data, size_t bytes) {
  if (!array || array->device != device || !array->block || array->orphan) return false;
  const char *first = array->data, *at = data;
  return at >= first && at + bytes <= first + array->layout.bytes;
}

luhip_status luhip_array_settle(luhip_array *array, const luhip_wait *wait, luhip_error **error) {
  if (!array->device) return LUHIP_OK;
  if (!device_enter_quietly(array->device)) return LUHIP_OK;
  struct waiting waiting = waiting_start(wait);
  luhip_status status = array->orphan ? LUHIP_OK : wait_marks(array->device, &array->block->marks, &waiting, error);
  device_leave(array->device);
  return status;
}
