/*
 * view.c - views of buffers, and copies in another layout or element type.
 *
 * A view is arithmetic on the layout; the library checks that it lies inside the allocation. Only contiguous and
 * astype move data. What one linear or 2-D copy on the device serves is done there; any other layout goes
 * through the host: the span of memory that the view lies in is read, and its elements are gathered.
 */
#include <string.h>

#include "lua/binding.h"

/* A copy: the original may be freed by what the rest of the call runs. */
static luhip_layout layout_of(lua_State *L) {
  return *luhip_buffer_layout(lb_check_buffer(L, 1)->buffer);
}

/* ---- views ------------------------------------------------------------------------------------------------------------------ */

/* m:slice(first [, last]) */
static int view_slice(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 3);
  size_t offset, length;
  lua_settop(L, 3);
  lb_check_range(L, 2, layout.shape[0], &offset, &length);
  layout = lb_slice_layout(&layout, offset, length);
  lb_push_view(L, 1, &layout);
  return 1;
}

/* m:row(i): one dimension less */
static int view_row(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 2);
  if (layout.ndim < (layout.record ? 3 : 2))
    lb_argument(L, 1, LUHIP_E_SHAPE, "%s has one dimension and no rows; slice(i, i) is one element",
                lb_push_shape(L, &layout));
  lua_Integer i = lb_check_integer(L, 2, "row", 1, (lua_Integer)layout.shape[0]);
  layout = lb_slice_layout(&layout, (size_t)i - 1, 1);
  layout.ndim--;
  memmove(layout.shape, layout.shape + 1, (size_t)layout.ndim * sizeof layout.shape[0]);
  memmove(layout.strides, layout.strides + 1, (size_t)layout.ndim * sizeof layout.strides[0]);
  lb_push_view(L, 1, &layout);
  return 1;
}

/* Dimensions that the user sees: a struct is one element. */
static int dimensions(const luhip_layout *layout) {
  return layout->ndim - (layout->record ? 1 : 0);
}

/* m:columns(first [, last]): part of the last dimension */
static int view_columns(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 3);
  size_t offset, length;
  int last = dimensions(&layout) - 1;
  lua_settop(L, 3);
  lb_check_range(L, 2, layout.shape[last], &offset, &length);
  if (length > 0) layout.offset += offset * (size_t)layout.strides[last] * luhip_dtype_bytes(layout.dtype);
  layout.shape[last] = length;
  lb_push_view(L, 1, &layout);
  return 1;
}

/* m:reshape(shape): of a contiguous buffer */
static int view_reshape(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 2);
  luhip_layout shaped = {.dtype = layout.dtype};
  lb_check_shape(L, 2, &shaped);
  if (layout.record) {
    if (shaped.ndim == LUHIP_MAX_DIMS)
      lb_argument(L, 2, LUHIP_E_SHAPE, "structs have at most %d dimensions", LUHIP_MAX_DIMS - 1);
    shaped.record = shaped.shape[shaped.ndim++] = layout.record;
    if (!lb_layout_pack(&shaped)) lb_argument(L, 2, LUHIP_E_TOO_BIG, "more than memory can address");
  }
  shaped.offset = layout.offset;
  if (shaped.count != layout.count) {
    size_t one = layout.record ? layout.record : 1;
    lb_push_shape(L, &layout);
    lb_push_shape(L, &shaped);
    lb_argument(L, 2, LUHIP_E_SHAPE, "%s has %I elements, %s has %I", lua_tostring(L, -2),
                (LUAI_UACINT)(layout.count / one), lua_tostring(L, -1), (LUAI_UACINT)(shaped.count / one));
  }
  if (!luhip_buffer_is_contiguous(lb_check_buffer(L, 1)->buffer))
    lb_argument(L, 1, LUHIP_E_SHAPE, "the buffer is a view with gaps; reshape its contiguous()");
  lb_push_view(L, 1, &shaped);
  return 1;
}

/* m:transpose(): the dimensions in reverse order */
static int view_transpose(lua_State *L) {
  luhip_layout layout = layout_of(L), turned = layout;
  lb_no_more(L, 1);
  int n = dimensions(&layout);
  for (int i = 0; i < n; i++) {
    turned.shape[i] = layout.shape[n - 1 - i];
    turned.strides[i] = layout.strides[n - 1 - i];
  }
  lb_push_view(L, 1, &turned);
  return 1;
}

/* m:view(dtype): the same bytes; the last dimension grows or shrinks. Structs show theirs as one more dimension. */
static int view_view(lua_State *L) {
  lb_check_buffer(L, 1);
  lb_no_more(L, 2);
  if (lb_is_struct(L, 2)) return lb_view_records(L);
  luhip_layout layout = layout_of(L);
  layout.record = 0;
  luhip_dtype dtype = lb_check_dtype(L, 2);
  ptrdiff_t from = (ptrdiff_t)luhip_dtype_bytes(layout.dtype), to = (ptrdiff_t)luhip_dtype_bytes(dtype);
  int last = layout.ndim - 1;
  bool fits = layout.offset % (size_t)to == 0 && layout.shape[last] * (size_t)from % (size_t)to == 0;
  if (from != to) {
    fits = fits && (layout.strides[last] == 1 || layout.shape[last] <= 1);
    layout.strides[last] = 1;
    for (int i = 0; i < last; i++) {
      fits = fits && layout.strides[i] * from % to == 0;
      layout.strides[i] = layout.strides[i] * from / to;
    }
  }
  if (!fits) {
    const char *shape = lb_push_shape(L, &layout);
    lb_argument(L, 2, LUHIP_E_SHAPE, "the rows of %s are no whole, aligned number of packed %s elements", shape,
                luhip_dtype_name(dtype));
  }
  layout.shape[last] = layout.shape[last] * (size_t)from / (size_t)to;
  layout.dtype = dtype;
  lb_push_view(L, 1, &layout);
  return 1;
}

static luhip_layout span_of(const luhip_layout *layout);

/* m:span(): the memory from the first element to the last as a flat buffer, for kernels that take strides */
static int view_span(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 1);
  if (layout.record) lb_raise(L, LUHIP_E_TYPE, "buffer:span: of structs, take the span of their view(\"u8\")");
  luhip_layout span = span_of(&layout);
  lb_push_view(L, 1, &span);
  return 1;
}

/* ---- copies ------------------------------------------------------------------------------------------------------------------- */

/* Whether the rows are packed and lie at one pitch: what the library copies on the device. */
static bool is_pitched(const luhip_layout *layout) {
  ptrdiff_t stride = 1;
  for (int i = layout->ndim - 1; i >= 0; i--) {
    bool pitch = i == layout->ndim - 2 && layout->strides[i] >= stride;
    if (layout->strides[i] != stride && !pitch && layout->shape[i] > 1) return false;
    stride = layout->strides[i] * (ptrdiff_t)layout->shape[i];
  }
  return true;
}

/* The span of memory that the view lies in, as a flat layout. Strides are never negative. */
static luhip_layout span_of(const luhip_layout *layout) {
  luhip_layout span = {.dtype = layout->dtype, .ndim = 1, .shape = {layout->count > 0}};
  for (int i = 0; i < layout->ndim && layout->count; i++)
    span.shape[0] += (layout->shape[i] - 1) * (size_t)layout->strides[i];
  lb_layout_pack(&span);
  span.offset = layout->offset;
  return span;
}

/* Elements of dimension dim on, from their places in the span to the next ones of out. */
static unsigned char *gather(const luhip_layout *layout, int dim, const unsigned char *span, unsigned char *out) {
  size_t size = luhip_dtype_bytes(layout->dtype);
  ptrdiff_t step = layout->strides[dim] * (ptrdiff_t)size;
  for (size_t i = 0; i < layout->shape[dim]; i++, span += step) {
    if (dim < layout->ndim - 1) {
      out = gather(layout, dim + 1, span, out);
    } else {
      memcpy(out, span, size);
      out += size;
    }
  }
  return out;
}

/* Pushes the elements of the buffer at 1, packed, in a host array. */
static struct lb_array *push_elements(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  luhip_layout layout = layout_of(L), packed = layout;
  lb_layout_pack(&packed);
  if (layout.count == 0 || is_pitched(&layout)) return lb_read(L, buffer->owner, buffer->buffer);
  luhip_layout flat = span_of(&layout);
  struct lb_buffer *span = lb_push_view(L, 1, &flat);
  lb_read(L, buffer->owner, span->buffer);
  struct lb_array *elements = lb_push_array(L, buffer->owner, &packed);
  gather(&layout, 0, luhip_array_data(lb_check_array(L, -2)->array), luhip_array_data(elements->array));
  lua_replace(L, -3);
  lua_pop(L, 1);
  return elements;
}

/* The copy on top has what the buffer at 1 has for structs. */
static int keep_records(lua_State *L) {
  if (!layout_of(L).record) return 1;
  lua_pushcfunction(L, lb_view_records);
  lua_insert(L, -2);
  lua_getiuservalue(L, 1, 3);
  lua_call(L, 2, 1);
  return 1;
}

/* Pushes a new packed buffer with the contents of the array on top. */
static int push_from_array(lua_State *L) {
  int array = lua_gettop(L);
  const luhip_layout *layout = luhip_array_layout(lb_check_array(L, array)->array);
  lua_getiuservalue(L, 1, 1);
  lua_pushcfunction(L, lb_device_buffer);
  lua_insert(L, -2);
  lua_pushstring(L, luhip_dtype_name(layout->dtype));
  lb_push_sizes(L, layout->shape, layout->ndim);
  lua_pushvalue(L, array);
  lua_call(L, 4, 1);
  return 1;
}

/* m:contiguous(): the buffer itself where it is; else a packed copy */
static int view_contiguous(lua_State *L) {
  struct lb_buffer *buffer = lb_check_buffer(L, 1);
  lb_no_more(L, 1);
  luhip_layout layout = layout_of(L);
  lua_settop(L, 1);
  if (luhip_buffer_is_contiguous(buffer->buffer)) return 1;
  if (!is_pitched(&layout)) {
    push_elements(L);
    push_from_array(L);
    return keep_records(L);
  }
  lua_getiuservalue(L, 1, 1);
  lua_pushcfunction(L, lb_device_buffer);
  lua_insert(L, -2);
  lua_pushstring(L, luhip_dtype_name(layout.dtype));
  lb_push_sizes(L, layout.shape, layout.ndim);
  lua_call(L, 3, 1);
  keep_records(L);
  struct lb_buffer *copy = lb_check_buffer(L, -1);
  lb_transfer_copy(L, copy->owner, copy->buffer, lb_check_buffer(L, 1)->buffer);
  return 1;
}

/* m:astype(dtype): a converted copy. Fractions are cut off for integer types, as C does. */
static int view_astype(lua_State *L) {
  luhip_layout layout = layout_of(L);
  lb_no_more(L, 2);
  if (layout.record) lb_raise(L, LUHIP_E_TYPE, "buffer:astype: structs are no numbers; view takes their bytes");
  luhip_layout target = layout;
  target.dtype = lb_check_dtype(L, 2);
  if (!lb_layout_pack(&target)) lb_argument(L, 2, LUHIP_E_TOO_BIG, "more than memory can address");
  struct lb_array *from = push_elements(L);
  struct lb_array *to = lb_push_array(L, lb_check_buffer(L, 1)->owner, &target);
  const unsigned char *in = luhip_array_data(from->array);
  unsigned char *out = luhip_array_data(to->array);
  size_t in_size = luhip_dtype_bytes(layout.dtype), out_size = luhip_dtype_bytes(target.dtype);
  for (size_t i = 0; i < target.count; i++) {
    enum lb_fit fit = lb_cast_element(layout.dtype, in + i * in_size, target.dtype, out + i * out_size);
    if (fit == LB_FITS) continue;
    lua_pushfstring(L, "element [%I]", (LUAI_UACINT)i + 1);
    lb_push_element(L, layout.dtype, in + i * in_size);
    lb_bad_element(L, lua_gettop(L), target.dtype, fit, lua_tostring(L, -2));
  }
  return push_from_array(L);
}

const luaL_Reg lb_view_methods[] = {
    {"slice", view_slice},         {"row", view_row},   {"columns", view_columns}, {"reshape", view_reshape},
    {"transpose", view_transpose}, {"view", view_view}, {"span", view_span},       {"contiguous", view_contiguous},
    {"astype", view_astype},       {NULL, NULL},
};
