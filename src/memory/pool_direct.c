/*
 * pool_direct.c - one allocation of the storage for each slice, of just its size.
 *
 * For memory whose own allocator is good, or has to see every buffer: the CPU device's guard pages stand around its
 * allocations. What is freed is kept for requests of the same size; beyond the watermark `reclaim_at` the oldest of it is
 * let go.
 */
#include "memory/pool.h"

#include "memory/manager.h"

enum { LOOKS = 8 }; /* pages that are asked about at one time */

static struct slice *find(struct pool *pool, const struct search *search, struct slice **busy) {
  return sizes_find(&pool->free, search->bytes, search->bytes, search->passed, search->user, busy);
}

static void reclaim(struct pool *pool, struct page **list) {
  const struct manager *manager = pool->manager;
  int looks = LOOKS;
  for (struct page *page = pool->oldest, *newer; page && pool->cached > pool->config.reclaim_at && looks;
       page = newer) {
    newer = page->newer;
    if (page_passed(page, manager->idle, manager->idle_user)) {
      pool_release(pool, page, list);
    } else {
      looks--;
    }
  }
}

static size_t page_bytes(struct pool *pool, size_t bytes) {
  if (pool->config.reclaim_at) reclaim(pool, pool->manager->trash);
  return bytes;
}

const struct pool_ops pool_direct = {.find = find, .page_bytes = page_bytes};
