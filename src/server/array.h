/*
 * array.h - host arrays: plain or pinned memory that outlives the device.
 *
 * A pinned array borrows a block of the device's pinned memory; the block's marks are the copies that read or
 * write it. The array gives the block back with them, so the block is not used again before they have passed.
 */
#ifndef LUHIP_SERVER_ARRAY_H
#define LUHIP_SERVER_ARRAY_H

#include "server/server.h"

struct luhip_array {
  int refs; /* atomic */
  luhip_layout layout;
  void *data;
  struct slice *block;                 /* NULL: plain memory */
  luhip_device *device;                /* of a pinned one; retained */
  bool orphan;                         /* the device was closed: the block is this array's alone */
  struct luhip_array *next, *previous; /* the device's pinned arrays */
};

/* Pinned when the device has some, plain and zeroed when it has not; E_MEMORY when the host has none either. */
luhip_status array_new_for(luhip_device *device, uint32_t slot, const luhip_layout *layout, luhip_array **array,
                           luhip_error **error);
void array_release_locked(luhip_array *array);
/* Whether `bytes` at data lie in this array, and a copy may take them from there without staging. */
bool array_serves(const luhip_array *array, const luhip_device *device, const void *data, size_t bytes);
/* Close: the arrays keep their blocks. */
void arrays_orphan(luhip_device *device);

#endif
