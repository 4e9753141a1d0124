/*
 * pool.c - what the kinds of pools share.
 *
 * The figures are kept where slices come and go and nowhere else, so they add up: of the reserved bytes `rounded` are
 * handed out, of which `in_use` were asked for, and `cached` lie in pages where nothing lives. A page counts its live
 * slices, so an emptied one is known to be empty whatever its free slices look like.
 */
#include "memory/pool.h"

#include "memory/manager.h"

static const struct pool_ops *const kinds[] = {[LUHIP_POOL_SLICED] = &pool_sliced,
                                               [LUHIP_POOL_EXCLUSIVE] = &pool_exclusive,
                                               [LUHIP_POOL_DIRECT] = &pool_direct,
                                               [LUHIP_POOL_PERSISTENT] = &pool_persistent};

enum { LOOK_EVERY = 5000, NEAR = 5 }; /* near: within a fifth of the page */
#define GIB ((size_t)1 << 30)

void pool_open(struct pool *pool, struct manager *manager, const luhip_pool *config) {
  *pool = (struct pool){
      .ops = kinds[config->kind], .manager = manager, .asked = *config, .config = *config, .near_from = SIZE_MAX};
  luhip_pool *c = &pool->config;
  size_t *sizes[] = {&c->page, &c->slice, &c->cap};
  for (int i = 0; i < 3; i++) *sizes[i] = manager_rounded(manager, *sizes[i]);
  pool->accepts = c->kind == LUHIP_POOL_SLICED ? c->slice : c->page;
  if (!pool->accepts) pool->accepts = SIZE_MAX; /* direct and persistent ones without a largest size */
  if (c->kind == LUHIP_POOL_SLICED && !c->cap) {
    pool->near_from = c->page - c->page / NEAR;
    pool->near_to = c->page;
  }
  if (c->kind == LUHIP_POOL_EXCLUSIVE) {
    pool->period = LOOK_EVERY * (1 + (c->page + GIB / 2) / GIB);
    pool->next = manager->reservations + pool->period;
  }
}

/* ---- empty pages --------------------------------------------------------------------------------------------- */

static void empty_add(struct pool *pool, struct page *page) {
  page->emptied = pool->look;
  page->newer = NULL;
  page->older = pool->newest;
  *(pool->newest ? &pool->newest->newer : &pool->oldest) = page;
  pool->newest = page;
  pool->cached += page->bytes;
  page->storage->cached += page->bytes;
}

static void empty_remove(struct pool *pool, struct page *page) {
  *(page->newer ? &page->newer->older : &pool->newest) = page->older;
  *(page->older ? &page->older->newer : &pool->oldest) = page->newer;
  page->newer = page->older = NULL;
  pool->cached -= page->bytes;
  page->storage->cached -= page->bytes;
}

static void page_enter(struct pool *pool, struct page *page) {
  page->pool = pool;
  pool->reserved += page->bytes;
  pool->pages++;
  if (pool->reserved > pool->peak) pool->peak = pool->reserved;
  if (pool->pages > pool->peak_pages) pool->peak_pages = pool->pages;
}

static void page_exit(struct pool *pool, struct page *page) {
  pool->reserved -= page->bytes;
  pool->pages--;
  page_leave(page);
}

void pool_release(struct pool *pool, struct page *page, struct page **list) {
  empty_remove(pool, page);
  for (struct slice *slice = page->first; slice; slice = slice->after) sizes_remove(&pool->free, slice);
  page_exit(pool, page);
  page->older = *list;
  *list = page;
}

bool page_passed(const struct page *page, marks_passed passed, void *user) {
  for (const struct slice *slice = page->first; slice; slice = slice->after)
    if (!passed(user, &slice->marks)) return false;
  return true;
}

void pool_detach(struct pool *pool, marks_passed passed, void *user, struct page **list) {
  for (struct page *page = pool->oldest, *newer; page; page = newer) {
    newer = page->newer;
    if (!passed || page_passed(page, passed, user)) pool_release(pool, page, list);
  }
}

/* ---- growing ------------------------------------------------------------------------------------------------- */

enum pool_result pool_grow(struct pool *pool, size_t bytes, int *code) {
  static const enum pool_result results[] = {[PAGE_OK] = POOL_OK,
                                             [PAGE_LIMIT] = POOL_LIMIT,
                                             [PAGE_FULL] = POOL_FULL,
                                             [PAGE_FAILED] = POOL_FAILED,
                                             [PAGE_NO_HOST] = POOL_NO_HOST};
  size_t wanted = pool->ops->page_bytes(pool, bytes), cap = pool->config.cap;
  if (cap && (wanted > cap || pool->reserved > cap - wanted)) return POOL_CAPPED;
  struct page *page;
  enum page_result result = page_new(pool->manager->storage, wanted, &page, code);
  if (result != PAGE_OK) return results[result];
  page_enter(pool, page);
  empty_add(pool, page);
  sizes_add(&pool->free, page->first);
  return POOL_OK;
}

/* ---- handing out --------------------------------------------------------------------------------------------- */

static void hand_out(struct pool *pool, struct slice *slice, size_t bytes, size_t asked) {
  struct page *page = slice->page;
  sizes_remove(&pool->free, slice);
  if (page->live++ == 0) empty_remove(pool, page);
  if (pool->ops->cut) pool->ops->cut(slice, bytes);
  slice->live = true;
  slice->asked = asked;
  slice->window = 0;
  pool->live++;
  pool->in_use += asked;
  pool->rounded += slice->bytes;
}

enum pool_result pool_take(struct pool *pool, const struct search *search, size_t asked, bool grow, bool patient,
                           struct slice **out, int *code) {
  struct slice *busy, *slice = pool->ops->find(pool, search, &busy);
  enum pool_result result = POOL_NOTHING;
  if (!slice && grow) {
    result = pool_grow(pool, search->bytes, code);
    if (result == POOL_OK) slice = pool->newest->first;
  }
  if (!slice && patient) slice = busy;
  if (!slice) return result;
  hand_out(pool, slice, search->bytes, asked);
  if (search->bytes > pool->largest) pool->largest = search->bytes;
  *out = slice;
  return POOL_OK;
}

/* ---- taking back --------------------------------------------------------------------------------------------- */

void pool_settle(struct slice *slice) {
  struct pool *pool = slice->page->pool;
  pool->live--;
  pool->in_use -= slice->asked;
  pool->rounded -= slice->bytes;
  slice->asked = 0;
}

void pool_free_settled(struct slice *slice) {
  struct page *page = slice->page;
  struct pool *pool = page->pool;
  slice->live = false;
  if (pool->ops->join) slice = pool->ops->join(slice);
  sizes_add(&pool->free, slice);
  if (--page->live == 0) empty_add(pool, page);
}

void pool_give(struct slice *slice) {
  pool_settle(slice);
  pool_free_settled(slice);
}

/* ---- pages that come and go while in use --------------------------------------------------------------------- */

void pool_leave(struct slice *slice) {
  struct pool *pool = slice->page->pool;
  pool_settle(slice);
  page_exit(pool, slice->page);
}

void pool_adopt(struct pool *pool, struct slice *slice) {
  struct page *page = slice->page;
  page->storage = pool->manager->storage;
  page->storage->reserved += page->bytes;
  page->live = 1;
  page_enter(pool, page);
  pool_free_settled(slice);
}
