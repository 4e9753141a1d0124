/*
 * pool_sliced.c - pages of one size, cut into slices; neighbours that are free are one.
 *
 * The smallest free slice that is large enough is cut, whatever is left of it stays a free slice, however small: sizes
 * are multiples of the alignment, so it is at least one of those, and it serves a request of its size again.
 */
#include "memory/pool.h"

static struct slice *find(struct pool *pool, const struct search *search, struct slice **busy) {
  return sizes_find(&pool->free, search->bytes, SIZE_MAX, search->passed, search->user, busy);
}

static size_t page_bytes(struct pool *pool, size_t bytes) {
  (void)bytes; /* it accepts nothing larger than a page */
  return pool->config.page;
}

/* Without host memory for the rest, the slice goes out whole: more padding, and no failure. */
static void cut(struct slice *slice, size_t bytes) {
  struct slice *rest = slice->bytes > bytes ? slice_cut(slice, bytes) : NULL;
  if (rest) sizes_add(&slice->page->pool->free, rest);
}

/* Fuses with the neighbour behind, which is free. When the host has no memory for the marks they stay two. */
static bool fuse(struct slice *slice, struct slice *set_member) {
  struct sizes *free = &slice->page->pool->free;
  sizes_remove(free, set_member);
  if (slice_fuse(slice)) return true;
  sizes_add(free, set_member);
  return false;
}

static struct slice *join(struct slice *slice) {
  struct slice *before = slice->before;
  if (slice->after && !slice->after->live) fuse(slice, slice->after);
  if (before && !before->live && fuse(before, before)) return before;
  return slice;
}

const struct pool_ops pool_sliced = {.find = find, .page_bytes = page_bytes, .cut = cut, .join = join};
