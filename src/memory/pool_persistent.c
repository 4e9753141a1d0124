/*
 * pool_persistent.c - buckets of just the rounded size, kept until clean-up.
 *
 * For work that repeats itself: each size that was needed once is there when it is needed again. What is free is used
 * again before the pool grows, also while others still use it (manager.c): order is the device's affair, and the pool
 * stays as large as the work needs it.
 */
#include "memory/pool.h"

static struct slice *find(struct pool *pool, const struct search *search, struct slice **busy) {
  return sizes_find(&pool->free, search->bytes, search->bytes, search->passed, search->user, busy);
}

static size_t page_bytes(struct pool *pool, size_t bytes) {
  (void)pool;
  return bytes;
}

const struct pool_ops pool_persistent = {.find = find, .page_bytes = page_bytes};
