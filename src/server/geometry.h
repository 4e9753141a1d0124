/*
 * geometry.h - the grid, the block and the shared memory of a launch, checked against the device's limits (D3).
 */
#ifndef LUHIP_SERVER_GEOMETRY_H
#define LUHIP_SERVER_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "luhip.h"

enum { MAX_TOUCHES = 32 };

/* What a bound launcher knows before the arguments come. */
struct geometry {
  uint32_t grid[3], block[3], shared;
  luhip_buffer *grid_buffer; /* NULL: grid holds */
  luhip_buffer *const *touches;
  size_t ntouches;
  bool simple; /* no buffer but the arguments, and something to do */
};

/* *out is written on success. Touches nothing of the device, and needs no lock. */
luhip_status geometry_check(const luhip_kernel *kernel, const luhip_launch_config *config, struct geometry *out,
                            luhip_error **error);
/* A grid alone: one that was read from a buffer. */
luhip_status geometry_check_grid(const luhip_kernel *kernel, const int64_t grid[3], luhip_error **error);

#endif
