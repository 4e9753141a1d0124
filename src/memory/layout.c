/*
 * layout.c - shapes, strides and the regions they make.
 */
#include "memory/layout.h"

#include "base/error.h"

#include <stdio.h>

static luhip_status check_dims(luhip_dtype dtype, int ndim, luhip_error **error) {
  if ((unsigned)dtype >= LUHIP_DTYPE_COUNT) return error_set(error, LUHIP_E_TYPE, "%d is no element type", (int)dtype);
  if (ndim < 1 || ndim > LUHIP_MAX_DIMS) {
    return error_set(error, LUHIP_E_SHAPE, "a shape has 1 to %d dimensions, this one has %d", LUHIP_MAX_DIMS, ndim);
  }
  return LUHIP_OK;
}

/* count and bytes from the shape. An empty shape has 0 of both, however large its other dimensions are. */
static luhip_status count_elements(luhip_layout *layout, luhip_error **error) {
  size_t count = 1, bytes = 0;
  for (int i = 0; i < layout->ndim; i++) {
    if (layout->shape[i] == 0) count = 0;
  }
  for (int i = 0; i < layout->ndim && count; i++) {
    if (__builtin_mul_overflow(count, layout->shape[i], &count)) goto too_big;
  }
  if (__builtin_mul_overflow(count, luhip_dtype_bytes(layout->dtype), &bytes) || bytes > PTRDIFF_MAX) goto too_big;
  layout->count = count;
  layout->bytes = bytes;
  return LUHIP_OK;
too_big:
  return error_set(error, LUHIP_E_TOO_BIG, "a buffer of this shape has more than %zu bytes", (size_t)PTRDIFF_MAX);
}

luhip_status layout_packed(luhip_dtype dtype, int ndim, const size_t *shape, luhip_layout *layout,
                           luhip_error **error) {
  luhip_status status = check_dims(dtype, ndim, error);
  if (status) return status;
  *layout = (luhip_layout){.dtype = dtype, .ndim = ndim};
  for (int i = 0; i < ndim; i++) layout->shape[i] = shape[i];
  status = count_elements(layout, error);
  if (status) return status;
  ptrdiff_t stride = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    layout->strides[i] = stride;
    if (layout->count) stride *= (ptrdiff_t)shape[i];
  }
  return LUHIP_OK;
}

luhip_status layout_check(luhip_layout *layout, size_t bytes, luhip_error **error) {
  luhip_status status = check_dims(layout->dtype, layout->ndim, error);
  if (!status) status = count_elements(layout, error);
  if (status) return status;
  size_t element = luhip_dtype_bytes(layout->dtype);
  int last = layout->ndim - 1;
  if (layout->record && (layout->dtype != LUHIP_U8 || layout->shape[last] != layout->record ||
                         (layout->record > 1 && layout->strides[last] != 1))) {
    return error_set(error, LUHIP_E_SHAPE, "a struct of %zu bytes is not the last dimension of this view",
                     layout->record);
  }
  if (layout->offset > bytes) goto outside;
  if (layout->count == 0) return LUHIP_OK;
  size_t below = 0, above = element; /* how far the elements reach from the first one */
  for (int i = 0; i < layout->ndim; i++) {
    ptrdiff_t stride = layout->strides[i];
    size_t step = stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride, reach;
    if (__builtin_mul_overflow(step, layout->shape[i] - 1, &reach) || __builtin_mul_overflow(reach, element, &reach)) {
      goto outside;
    }
    if (__builtin_add_overflow(stride < 0 ? below : above, reach, stride < 0 ? &below : &above)) goto outside;
  }
  if (below > layout->offset || above > bytes - layout->offset) goto outside;
  return LUHIP_OK;
outside:
  return error_set(error, LUHIP_E_RANGE, "the view leaves its allocation of %zu bytes (offset %zu)", bytes,
                   layout->offset);
}

bool layout_contiguous(const luhip_layout *layout) {
  if (layout->count == 0) return true;
  ptrdiff_t stride = 1;
  for (int i = layout->ndim - 1; i >= 0; i--) {
    if (layout->shape[i] != 1 && layout->strides[i] != stride) return false;
    stride *= (ptrdiff_t)layout->shape[i];
  }
  return true;
}

/* Rows at an even pitch: trailing dimensions packed, the others packed over the stride of the first that is not.
   Dimensions of one element have no say, whatever their stride is. */
static bool pitched(const luhip_layout *layout, struct region *region) {
  size_t element = luhip_dtype_bytes(layout->dtype), width = 1, rows = 1;
  int i = layout->ndim - 1;
  for (; i >= 0; i--) {
    if (layout->shape[i] == 1) continue;
    if (layout->strides[i] != (ptrdiff_t)width) break;
    width *= layout->shape[i];
  }
  ptrdiff_t pitch = i < 0 ? (ptrdiff_t)width : layout->strides[i], stride = pitch;
  if (pitch < (ptrdiff_t)width) return false; /* backwards, repeated or overlapping */
  for (; i >= 0; i--) {
    if (layout->shape[i] == 1) continue;
    if (layout->strides[i] != stride) return false;
    stride *= (ptrdiff_t)layout->shape[i];
    rows *= layout->shape[i];
  }
  *region = (struct region){layout->offset, width * element, rows, (size_t)pitch * element};
  return true;
}

luhip_status layout_region(const luhip_layout *layout, const char *what, struct region *region, luhip_error **error) {
  if (layout_contiguous(layout)) {
    *region = (struct region){layout->offset, layout->bytes, 1, layout->bytes};
    return LUHIP_OK;
  }
  if (pitched(layout, region)) return LUHIP_OK;
  char text[128];
  layout_describe(layout, text, sizeof text);
  return error_set(error, LUHIP_E_UNSUPPORTED_STRIDES,
                   "%s: the elements of this view (%s) are not rows at an even pitch; copy it with contiguous() first",
                   what, text);
}

void layout_describe(const luhip_layout *layout, char *text, size_t len) {
  int n = layout->ndim - (layout->record ? 1 : 0); /* a struct is one element */
  int at = layout->record ? snprintf(text, len, "struct of %zu bytes[", layout->record)
                          : snprintf(text, len, "%s[", luhip_dtype_name(layout->dtype));
  for (int i = 0; i < n && at > 0 && (size_t)at < len; i++) {
    at += snprintf(text + at, len - (size_t)at, "%s%zu", i ? ", " : "", layout->shape[i]);
  }
  if (at > 0 && (size_t)at < len) snprintf(text + at, len - (size_t)at, "]");
}
