/*
 * manager.c - which pool serves a request, and what is done when it cannot.
 */
#include "memory/manager.h"

#include "memory/pools.h"

#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

static void schedule_look(struct manager *manager) {
  manager->next_look = UINT64_MAX;
  for (size_t i = 0; i < manager->npools; i++) {
    const struct pool *pool = &manager->pools[i];
    if (pool->config.kind == LUHIP_POOL_EXCLUSIVE && pool->next < manager->next_look) manager->next_look = pool->next;
  }
}

static struct pool *make_pools(struct manager *manager, const luhip_pool *list, size_t n) {
  struct pool *pools = calloc(n ? n : 1, sizeof *pools);
  for (size_t i = 0; pools && i < n; i++) pool_open(&pools[i], manager, &list[i]);
  return pools;
}

bool manager_open(struct manager *manager, const luhip_pool *pools, size_t npools) {
  static const luhip_pool persistent = {.kind = LUHIP_POOL_PERSISTENT}, overflow = {.kind = LUHIP_POOL_DIRECT};
  manager->pools = make_pools(manager, pools, npools);
  if (!manager->pools) return false;
  manager->npools = npools;
  pool_open(&manager->persistent, manager, &persistent);
  pool_open(&manager->overflow, manager, &overflow);
  schedule_look(manager);
  return true;
}

/* ---- pools of earlier layouts -------------------------------------------------------------------------------- */

/* One earlier layout; it goes with the last page of its pools. */
struct retired {
  struct pool *pools;
  size_t count;
  struct retired *older;
};

static bool is_gone(const struct retired *old) {
  for (size_t i = 0; i < old->count; i++)
    if (old->pools[i].pages) return false;
  return true;
}

static void forget_gone(struct manager *manager) {
  for (struct retired **link = &manager->retired, *old; (old = *link);) {
    if (is_gone(old)) {
      *link = old->older;
      free(old->pools);
      free(old);
    } else {
      link = &old->older;
    }
  }
}

size_t manager_live(const struct manager *manager, size_t *bytes) {
  size_t live = 0;
  *bytes = 0;
  for (size_t i = 0; i < manager->npools; i++) {
    live += manager->pools[i].live;
    *bytes += manager->pools[i].rounded;
  }
  return live;
}

bool manager_has(const struct manager *manager, const luhip_pool *pools, size_t npools) {
  if (manager->npools != npools) return false;
  for (size_t i = 0; i < npools; i++)
    if (!pools_equal(&manager->pools[i].asked, 1, &pools[i], 1)) return false;
  return true;
}

bool manager_is_dynamic(const struct manager *manager, const struct slice *slice) {
  const struct pool *pool = slice->page->pool;
  return pool >= manager->pools && pool < manager->pools + manager->npools;
}

const char *manager_role(const struct slice *slice) {
  const struct pool *pool = slice->page->pool;
  const struct manager *manager = pool->manager;
  if (pool->retired) return "earlier";
  if (pool == &manager->overflow) return "overflow";
  return pool == &manager->persistent ? "persistent" : "";
}

bool manager_install(struct manager *manager, const luhip_pool *pools, size_t npools) {
  struct retired *old = calloc(1, sizeof *old);
  struct pool *fresh = old ? make_pools(manager, pools, npools) : NULL;
  if (!fresh) {
    free(old);
    return false;
  }
  *old = (struct retired){manager->pools, manager->npools, manager->retired};
  manager->retired = old;
  manager->pools = fresh;
  manager->npools = npools;
  for (size_t i = 0; i < old->count; i++) {
    old->pools[i].retired = true;
    pool_detach(&old->pools[i], manager->idle, manager->idle_user, manager->trash);
  }
  forget_gone(manager);
  schedule_look(manager);
  return true;
}

void manager_close(struct manager *manager) {
  manager_finish(manager);
  manager_reset(manager);
  manager_detach(manager, NULL, NULL, manager->trash);
  forget_gone(manager);
  free(manager->pools);
  manager->pools = NULL;
  manager->npools = 0;
}

/* ---- taking -------------------------------------------------------------------------------------------------- */

static void look(struct manager *manager) {
  for (size_t i = 0; i < manager->npools; i++) {
    struct pool *pool = &manager->pools[i];
    if (pool->config.kind == LUHIP_POOL_EXCLUSIVE && manager->reservations >= pool->next)
      pool_exclusive_look(pool, manager->trash);
  }
  schedule_look(manager);
}

static void warn_once(struct manager *manager, struct pool *pool, size_t bytes) {
  if (pool->warned) return;
  pool->warned = true;
  if (manager->warn) manager->warn(manager->warn_user, manager, (size_t)(pool - manager->pools), bytes);
}

struct taking {
  struct search search;
  size_t asked;
  unsigned flags;
  bool paged; /* a pool was tried whose pages may be larger than the request */
  int *code;
};

static enum pool_result take_from(struct manager *manager, struct pool *pool, const struct taking *t,
                                  struct slice **slice) {
  return pool_take(pool, &t->search, t->asked, !(t->flags & TAKE_EXISTING), !manager->host, slice, t->code);
}

static void list_taken(struct manager *manager, struct slice *slice) {
  slice->window = manager->capture;
  slice->previous = NULL;
  slice->next = manager->taken;
  if (slice->next) slice->next->previous = slice;
  manager->taken = slice;
}

static void unlist_taken(struct manager *manager, struct slice *slice) {
  *(slice->previous ? &slice->previous->next : &manager->taken) = slice->next;
  if (slice->next) slice->next->previous = slice->previous;
  slice->next = slice->previous = NULL;
  slice->window = 0;
}

/* What is free there goes first, also while others still use it. */
static enum pool_result take_persistent(struct manager *manager, const struct taking *t, struct slice **slice) {
  struct pool *pool = &manager->persistent;
  enum pool_result result = pool_take(pool, &t->search, t->asked, false, !manager->host, slice, t->code);
  if (result != POOL_OK && !(t->flags & TAKE_EXISTING)) result = take_from(manager, pool, t, slice);
  if (result == POOL_OK && manager->keeping && !(t->flags & TAKE_ONCE)) list_taken(manager, *slice);
  return result;
}

/* The first pool that accepts and is not full at its cap. POOL_CAPPED: none of them. */
static enum pool_result take_dynamic(struct manager *manager, struct taking *t, struct slice **slice) {
  enum pool_result last = POOL_CAPPED;
  for (size_t i = 0; i < manager->npools; i++) {
    struct pool *pool = &manager->pools[i];
    if (!pool_accepts(pool, t->search.bytes)) continue;
    enum pool_result result = take_from(manager, pool, t, slice);
    t->paged = pool->config.kind != LUHIP_POOL_DIRECT;
    if (result == POOL_CAPPED) {
      warn_once(manager, pool, t->search.bytes);
    } else if (result != POOL_NOTHING) {
      return result;
    } else {
      last = result;
    }
  }
  return last;
}

static enum manager_result refused(enum pool_result result) {
  switch (result) {
  case POOL_LIMIT:
    return MANAGER_LIMIT;
  case POOL_NO_HOST:
    return MANAGER_HOST;
  case POOL_NOTHING:
    return MANAGER_NOTHING;
  default:
    return MANAGER_DRIVER;
  }
}

/* From the storage, with as much as fits the request, for what no pool takes or has room for. */
static enum pool_result take_overflow(struct manager *manager, const struct taking *t, struct slice **slice) {
  return take_from(manager, &manager->overflow, t, slice);
}

static enum manager_result take(struct manager *manager, struct taking *t, struct slice **slice) {
  const struct storage *storage = manager->storage;
  bool existing = t->flags & TAKE_EXISTING, persistent = manager_is_persistent(manager);
  enum pool_result result = persistent ? take_persistent(manager, t, slice) : take_dynamic(manager, t, slice);
  if (persistent && existing && result != POOL_OK) result = take_dynamic(manager, t, slice);
  if (result == POOL_CAPPED && t->search.bytes > storage->total) return MANAGER_TOO_BIG;
  if (result == POOL_CAPPED || result == POOL_NOTHING) {
    t->paged = false;
    result = take_overflow(manager, t, slice);
  }
  if (result == POOL_OK) return MANAGER_OK;
  bool refusal = result == POOL_LIMIT || result == POOL_FULL || result == POOL_FAILED;
  if (refusal && storage->cached && !(t->flags & TAKE_LAST)) return MANAGER_RELEASE;
  /* There may be room for this, and not for the whole page that its pool would take. */
  if (refusal && t->paged) result = take_overflow(manager, t, slice);
  return result == POOL_OK ? MANAGER_OK : refused(result);
}

enum manager_result manager_take(struct manager *manager, size_t bytes, unsigned flags, marks_passed passed, void *user,
                                 struct slice **slice, int *code) {
  size_t rounded = manager_rounded(manager, bytes);
  *code = manager->storage->full;
  if (manager->rounding) rounded = manager_rounded(manager, manager->rounding(rounded));
  if (!rounded) return MANAGER_TOO_BIG;
  if (++manager->reservations >= manager->next_look) look(manager);
  struct taking taking = {.search = {rounded, passed, user}, .asked = bytes, .flags = flags, .code = code};
  return take(manager, &taking, slice);
}

void manager_give(struct slice *slice) {
  struct pool *pool = slice->page->pool;
  struct manager *manager = pool->manager;
  if (slice->window) {
    unlist_taken(manager, slice);
    pool_settle(slice);
    slice->next = manager->kept;
    manager->kept = slice;
    return;
  }
  if (manager->idle(manager->idle_user, &slice->marks)) marks_clear(&slice->marks);
  pool_give(slice);
  if (pool->retired) pool_detach(pool, manager->idle, manager->idle_user, manager->trash);
}

/* ---- modes and captures -------------------------------------------------------------------------------------- */

uint64_t manager_window_open(struct manager *manager, uint64_t id, luhip_memory_mode mode) {
  struct memory_window *window = malloc(sizeof *window);
  if (!window) return 0;
  *window = (struct memory_window){id, mode, manager->windows};
  manager->windows = window;
  return id;
}

bool manager_window_close(struct manager *manager, uint64_t id) {
  for (struct memory_window **link = &manager->windows, *window; (window = *link); link = &window->outer) {
    if (window->id != id) continue;
    *link = window->outer;
    free(window);
    return true;
  }
  return false;
}

void manager_reset(struct manager *manager) {
  manager->mode = LUHIP_MEMORY_AUTO;
  while (manager->windows) manager_window_close(manager, manager->windows->id);
}

/* A capture needs its memory to stay whatever the policy is: a graph names it. */
bool manager_is_persistent(const struct manager *manager) {
  if (manager->capture || manager->policy == LUHIP_PERSISTENT_ENFORCED) return true;
  if (manager->policy == LUHIP_PERSISTENT_DISABLED) return false;
  return (manager->windows ? manager->windows->mode : manager->mode) == LUHIP_MEMORY_PERSISTENT;
}

void manager_prepare(struct manager *manager, uint64_t id) {
  manager->capture = id;
  manager->keeping = true;
}

static void give_kept(struct manager *manager) {
  while (manager->kept) {
    struct slice *slice = manager->kept;
    manager->kept = slice->next;
    pool_free_settled(slice);
  }
}

/* Others beside those that the warm-up has, taken while what it gave back is still kept. */
static void keep_counterparts(struct manager *manager) {
  while (manager->taken) {
    struct slice *slice = manager->taken, *counterpart;
    struct taking t = {.search = {slice->bytes, manager->idle, manager->idle_user}, .code = &(int){0}};
    unlist_taken(manager, slice);
    if (take_persistent(manager, &t, &counterpart) != POOL_OK) continue;
    pool_settle(counterpart);
    counterpart->next = manager->kept;
    manager->kept = counterpart;
  }
}

void manager_record(struct manager *manager) {
  manager->keeping = false;
  keep_counterparts(manager);
  give_kept(manager);
}

void manager_finish(struct manager *manager) {
  manager->keeping = false;
  manager->capture = 0;
  while (manager->taken) unlist_taken(manager, manager->taken);
  give_kept(manager);
}

/* ---- letting go ---------------------------------------------------------------------------------------------- */

void manager_detach(struct manager *manager, marks_passed passed, void *user, struct page **list) {
  for (size_t i = 0; i < manager->npools; i++) pool_detach(&manager->pools[i], passed, user, list);
  for (struct retired *old = manager->retired; old; old = old->older)
    for (size_t i = 0; i < old->count; i++) pool_detach(&old->pools[i], passed, user, list);
  pool_detach(&manager->overflow, passed, user, list);
  pool_detach(&manager->persistent, passed, user, list);
  forget_gone(manager);
}

void manager_leave(struct slice *slice) {
  pool_leave(slice);
}

void manager_adopt(struct manager *manager, struct slice *slice) {
  pool_adopt(&manager->overflow, slice);
}

/* ---- figures ------------------------------------------------------------------------------------------------- */

void manager_visit(const struct manager *manager, pool_visitor visit, void *user) {
  for (size_t i = 0; i < manager->npools; i++) visit(user, &manager->pools[i], "");
  for (const struct retired *old = manager->retired; old; old = old->older)
    for (size_t i = 0; i < old->count; i++) visit(user, &old->pools[i], "earlier");
  visit(user, &manager->overflow, "overflow");
  visit(user, &manager->persistent, "persistent");
}

static void add(void *user, const struct pool *pool, const char *role) {
  (void)role;
  struct manager_figures *figures = user;
  figures->live += pool->live;
  figures->in_use += pool->in_use;
  figures->padding += pool->rounded - pool->in_use;
  figures->reserved += pool->reserved;
  figures->cached += pool->cached;
}

void manager_add_figures(const struct manager *manager, struct manager_figures *figures) {
  manager_visit(manager, add, figures);
}
