/*
 * layout.h - from shapes and strides to byte regions.
 *
 * A region is what one copy can move: rows of `width` bytes, each `pitch` bytes after the one before. All
 * copies, fills and claims speak of regions; pitch is computed here and nowhere else (C4).
 */
#ifndef LUHIP_MEMORY_LAYOUT_H
#define LUHIP_MEMORY_LAYOUT_H

#include "luhip.h"

struct region {
  size_t offset; /* bytes into the allocation */
  size_t width, rows, pitch;
};

static inline bool region_empty(const struct region *region) {
  return region->width == 0 || region->rows == 0;
}

static inline size_t region_bytes(const struct region *region) {
  return region->width * region->rows;
}

/* One after the last byte. */
static inline size_t region_end(const struct region *region) {
  return region_empty(region) ? region->offset : region->offset + (region->rows - 1) * region->pitch + region->width;
}

/* Packed strides, count and bytes from dtype, ndim and shape. E_SHAPE for bad dimensions, E_TOO_BIG when the byte
   count does not fit, E_TYPE for no dtype. */
luhip_status layout_packed(luhip_dtype dtype, int ndim, const size_t *shape, luhip_layout *layout, luhip_error **error);
/* Computes count and bytes of a layout that has dtype, ndim, shape, strides, offset and record, and holds it against an
   allocation of `bytes`: E_RANGE when it leaves it, E_SHAPE when its structs are not the last dimension. */
luhip_status layout_check(luhip_layout *layout, size_t bytes, luhip_error **error);
bool layout_contiguous(const luhip_layout *layout);
/* E_UNSUPPORTED_STRIDES when rows at an even pitch do not describe it; `what` names the caller's operation. */
luhip_status layout_region(const luhip_layout *layout, const char *what, struct region *region, luhip_error **error);
/* "f32[2, 3]" */
void layout_describe(const luhip_layout *layout, char *text, size_t len);

#endif
