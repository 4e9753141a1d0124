/*
 * pool_exclusive.c - one slice per page.
 *
 * A new page is as large as the requests are on average, so that pages fit most of them, and at least as large as the
 * request at hand. The average forgets: each request moves it by a hundredth. A page that was found empty at five looks
 * in a row is let go; a look comes once per period of the manager's reservations, and larger pools are looked at less
 * often. Empty pages are in the order in which they were emptied, so a look meets those alone that it lets go, and one.
 */
#include "memory/manager.h"
#include "memory/pool.h"

static const double DECAY = 0.01;
enum { LOOKS = 5 };

static void note_request(struct pool *pool, size_t bytes) {
  pool->average = pool->average > 0 ? pool->average * (1 - DECAY) + (double)bytes * DECAY : (double)bytes;
}

static struct slice *find(struct pool *pool, const struct search *search, struct slice **busy) {
  note_request(pool, search->bytes);
  return sizes_find(&pool->free, search->bytes, SIZE_MAX, search->passed, search->user, busy);
}

static size_t page_bytes(struct pool *pool, size_t bytes) {
  size_t average = manager_rounded(pool->manager, (size_t)pool->average);
  return average > bytes ? average : bytes;
}

void pool_exclusive_look(struct pool *pool, struct page **list) {
  const struct manager *manager = pool->manager;
  pool->next = manager->reservations + pool->period;
  pool->look++;
  for (struct page *page = pool->oldest, *newer; page && pool->look - page->emptied >= LOOKS; page = newer) {
    newer = page->newer;
    if (page_passed(page, manager->idle, manager->idle_user)) pool_release(pool, page, list);
  }
}

const struct pool_ops pool_exclusive = {.find = find, .page_bytes = page_bytes};
