/*
 * manager.c - exact-size caching of device memory.
 *
 * Freed blocks wait in buckets by their rounded size and in one list by age. A request takes a block of just
 * its size or new memory; nothing is split, so nothing fragments, and the figures add up by construction:
 * reserved = live + cached. What the cache may hold is bounded: beyond it the oldest idle blocks are let go.
 */
#include "memory/manager.h"

#include "base/log.h"

size_t manager_rounded(const struct manager *manager, size_t bytes) {
  size_t over = manager->alignment - 1;
  if (bytes > SIZE_MAX - over) return 0;
  return (bytes + over) / manager->alignment * manager->alignment;
}

static struct block **bucket_of(struct manager *manager, size_t bytes) {
  uint64_t mixed = (uint64_t)bytes * 0x9E3779B97F4A7C15u;
  return &manager->buckets[mixed >> 56];
}

static void cache_remove(struct manager *manager, struct block *block) {
  if (block->previous) {
    block->previous->next = block->next;
  } else {
    *bucket_of(manager, block->bytes) = block->next;
  }
  if (block->next) block->next->previous = block->previous;
  if (block->newer) {
    block->newer->older = block->older;
  } else {
    manager->newest = block->older;
  }
  if (block->older) {
    block->older->newer = block->newer;
  } else {
    manager->oldest = block->newer;
  }
  block->next = block->previous = block->newer = block->older = NULL;
  manager->cached -= block->bytes;
}

void manager_give(struct manager *manager, struct block *block) {
  struct block **bucket = bucket_of(manager, block->bytes);
  block->previous = NULL;
  block->next = *bucket;
  if (block->next) block->next->previous = block;
  *bucket = block;
  block->newer = NULL;
  block->older = manager->newest;
  if (block->older) {
    block->older->newer = block;
  } else {
    manager->oldest = block;
  }
  manager->newest = block;
  manager->cached += block->bytes;
}

/* A cached block of just this size: an idle one, or else in *busy one whose users have not passed. */
static struct block *find_cached(struct manager *manager, size_t bytes, marks_passed passed, void *user,
                                 struct block **busy) {
  *busy = NULL;
  for (struct block *block = *bucket_of(manager, bytes); block; block = block->next) {
    if (block->bytes != bytes) continue;
    if (passed(user, &block->marks)) return block;
    *busy = block; /* the last one seen was given back first: likely to pass first */
  }
  return NULL;
}

static void let_go(struct manager *manager, struct block *block, struct block **list) {
  cache_remove(manager, block);
  manager->reserved -= block->bytes;
  LOG(LOG_MEMORY, LOG_BASIC, "%zu bytes given back to the driver, %zu held", block->bytes, manager->reserved);
  block->next = *list;
  *list = block;
}

static void trim(struct manager *manager, marks_passed passed, void *user, struct block **trash) {
  for (struct block *block = manager->oldest, *newer; block && manager->cached > manager->cache_limit; block = newer) {
    newer = block->newer;
    if (passed(user, &block->marks)) let_go(manager, block, trash);
  }
}

static hip_error_t take_new(struct manager *manager, size_t bytes, struct block **out) {
  struct block *block = calloc(1, sizeof *block);
  if (!block) return hip_ErrorOutOfMemory;
  hip_error_t rc = manager->api->hipMalloc(&block->address, bytes);
  if (rc != hip_Success) {
    free(block);
    return rc;
  }
  block->bytes = bytes;
  manager->reserved += bytes;
  LOG(LOG_MEMORY, LOG_BASIC, "%zu bytes taken from the driver, %zu held", bytes, manager->reserved);
  *out = block;
  return hip_Success;
}

static bool anything(void *user, const struct marks *marks) {
  (void)user;
  (void)marks;
  return true;
}

struct block *manager_take_cached(struct manager *manager, size_t bytes) {
  size_t rounded = manager_rounded(manager, bytes);
  struct block *busy, *block = rounded ? find_cached(manager, rounded, anything, NULL, &busy) : NULL;
  if (block) cache_remove(manager, block);
  return block;
}

static bool over_limit(const struct manager *manager, size_t bytes) {
  return manager->limit && (bytes > manager->limit || manager->reserved > manager->limit - bytes);
}

enum manager_result manager_take(struct manager *manager, size_t bytes, bool last, marks_passed passed, void *user,
                                 struct block **out, struct block **trash, hip_error_t *rc) {
  *rc = hip_ErrorOutOfMemory;
  size_t rounded = manager_rounded(manager, bytes);
  if (!rounded) return MANAGER_DRIVER;
  struct block *busy, *block = find_cached(manager, rounded, passed, user, &busy);
  if (block) {
    cache_remove(manager, block);
    *out = block;
    return MANAGER_OK;
  }
  trim(manager, passed, user, trash);
  bool limited = over_limit(manager, rounded);
  if (!limited) {
    *rc = take_new(manager, rounded, out);
    if (*rc == hip_Success) return MANAGER_OK;
  }
  if (*rc == hip_ErrorOutOfMemory && busy) {
    cache_remove(manager, busy);
    *out = busy;
    return MANAGER_OK;
  }
  if (*rc == hip_ErrorOutOfMemory && manager->cached && !last) return MANAGER_RELEASE;
  return limited ? MANAGER_LIMIT : MANAGER_DRIVER;
}

struct block *manager_detach(struct manager *manager, marks_passed passed, void *user) {
  struct block *list = NULL;
  for (struct block *block = manager->oldest, *newer; block; block = newer) {
    newer = block->newer;
    if (!passed || passed(user, &block->marks)) let_go(manager, block, &list);
  }
  return list;
}

static void drop_list(const struct hip_api *api, struct block *list) {
  for (struct block *next; list; list = next) {
    next = list->next;
    if (api) api->hipFree(list->address);
    marks_free(&list->marks);
    free(list);
  }
}

void manager_free_list(const struct hip_api *api, struct block *list) {
  drop_list(api, list);
}

void manager_forget_list(struct block *list) {
  drop_list(NULL, list);
}
