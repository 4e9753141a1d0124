/*
 * manager.h - device memory in blocks: taken from the driver, cached when freed, used again.
 *
 * A block has the marks of its last users with it when it is given back, so that it can be handed out again
 * at once: whoever takes it is ordered behind them like behind any earlier use (B3). The manager does not know
 * streams; a callback tells it which marks have passed. It never frees to the driver itself, since that may
 * wait: blocks to be freed go to a list that the server empties where waiting is allowed.
 * Nothing here locks; the device lock guards it.
 */
#ifndef LUHIP_MEMORY_MANAGER_H
#define LUHIP_MEMORY_MANAGER_H

#include "hip/api.h"
#include "memory/marks.h"

struct block {
  void *address;
  size_t bytes; /* as asked of the driver: rounded up */
  struct marks marks;
  struct block *next, *previous; /* in the manager's cache, in a bucket's ring or a list to be freed */
  struct block *newer, *older;   /* all cached blocks by age */
};

enum { MANAGER_BUCKETS = 256 };

struct manager {
  const struct hip_api *api;
  size_t alignment;   /* sizes are rounded to it; 1 in checked mode, where a buffer ends at a guard page */
  size_t limit;       /* of reserved bytes; 0: none */
  size_t cache_limit; /* cached bytes beyond which the oldest idle blocks are let go */
  size_t reserved;    /* held from the driver */
  size_t cached;      /* of these, free */
  struct block *buckets[MANAGER_BUCKETS];
  struct block *newest, *oldest;
};

enum manager_result {
  MANAGER_OK,
  MANAGER_RELEASE, /* free what manager_detach gives, then ask again with `last` */
  MANAGER_LIMIT,   /* the limit does not allow it */
  MANAGER_DRIVER   /* the driver refused: *rc */
};

size_t manager_rounded(const struct manager *manager, size_t bytes); /* 0 when it overflows */

/* One block of at least bytes > 0. Blocks that `passed` calls idle go first, then new memory, then cached blocks
   whose users have not passed. Blocks let go for the cache limit are added to *trash. */
enum manager_result manager_take(struct manager *manager, size_t bytes, bool last, marks_passed passed, void *user,
                                 struct block **block, struct block **trash, hip_error_t *rc);
/* A cached block of just this size, whether its users have passed or not; NULL when there is none. */
struct block *manager_take_cached(struct manager *manager, size_t bytes);
/* Back into the cache, with the marks of its users. Cannot fail and calls no driver. */
void manager_give(struct manager *manager, struct block *block);
/* Takes cached blocks out, to be freed by the caller: all, or those that `passed` calls idle. Linked by next. */
struct block *manager_detach(struct manager *manager, marks_passed passed, void *user);
/* Frees a list to the driver; may wait for the device. Needs no lock and touches no manager. */
void manager_free_list(const struct hip_api *api, struct block *list);
void manager_forget_list(struct block *list); /* without telling the driver */

#endif
