/*
 * manager.h - the memory of one stream, of the device's or of pinned host memory.
 *
 * A manager has one persistent pool and an ordered list of dynamic pools (J1). A request goes to the first pool that
 * accepts its size: what is free there is used again, else the pool grows; a pool that is full at its cap warns once and
 * the next one is asked. What no pool accepts, but the storage could hold, gets an allocation of its own (J4). In
 * persistent mode the persistent pool serves all (J2, J7).
 *
 * What is given back keeps the marks of its users (page.h), so it is free at once. A manager does not know streams:
 * callbacks tell it which marks have passed. It never frees to the storage itself, since that may wait: pages to be freed
 * go to a list that the server empties where waiting is allowed. Nothing here locks; the device lock guards it.
 */
#ifndef LUHIP_MEMORY_MANAGER_H
#define LUHIP_MEMORY_MANAGER_H

#include "memory/pool.h"

struct retired; /* manager.c */

enum manager_result {
  MANAGER_OK,
  MANAGER_RELEASE, /* let go of what is cached, of all managers, then ask again with TAKE_LAST */
  MANAGER_LIMIT,   /* the storage's limit does not allow it */
  MANAGER_DRIVER,  /* the storage refused: *code */
  MANAGER_TOO_BIG, /* no pool accepts it, and the storage is not that large */
  MANAGER_HOST,    /* no host memory for the records */
  MANAGER_NOTHING  /* TAKE_EXISTING: nothing free that would serve */
};

enum {
  TAKE_LAST = 1,     /* nothing more can be let go */
  TAKE_EXISTING = 2, /* no new memory: while a capture records */
  TAKE_ONCE = 4      /* in a capture's warm-up: its recording will not ask for the same */
};

struct memory_window {
  uint64_t id;
  luhip_memory_mode mode;
  struct memory_window *outer;
};

struct manager {
  struct storage *storage;
  size_t alignment;
  bool host;         /* the host touches what is handed out: only what is idle can be */
  marks_passed idle; /* done, as seen from the host */
  void *idle_user;
  struct page **trash; /* pages to be freed, by `older` */
  luhip_persistent_policy policy;
  size_t (*rounding)(size_t bytes); /* on top of the alignment; NULL: none */
  /* Told once for each pool that is full at its cap. May be NULL. */
  void (*warn)(void *user, const struct manager *manager, size_t pool, size_t bytes);
  void *warn_user;

  struct pool persistent, overflow; /* overflow: what no other pool serves, one allocation each */
  struct pool *pools;               /* dynamic, in order */
  size_t npools;
  struct retired *retired; /* pools of earlier layouts: what lives there comes back to them */
  uint64_t reservations, next_look;
  luhip_memory_mode mode;
  struct memory_window *windows; /* the one opened last counts */
  uint64_t capture;              /* id of the capture that is prepared or records; 0: none */
  bool keeping;                  /* it is prepared: what it took and gives back is kept */
  struct slice *kept;            /* by `next` */
  struct slice *taken;           /* what it took and has, by `next` and `previous` */
};

/* Fills in what is derived; the fields before `persistent` are the caller's. False when the host has no memory. */
bool manager_open(struct manager *manager, const luhip_pool *pools, size_t npools);
/* Forgets everything; nothing lives any more. Pages go to the trash. */
void manager_close(struct manager *manager);

static inline size_t manager_rounded(const struct manager *manager, size_t bytes) { /* 0 when it overflows */
  size_t over = manager->alignment - 1;
  return bytes > SIZE_MAX - over ? 0 : (bytes + over) / manager->alignment * manager->alignment;
}

/* A slice of at least bytes > 0, with its marks: the taker comes after them. `passed` is asked from the view of the
   stream that takes. */
enum manager_result manager_take(struct manager *manager, size_t bytes, unsigned flags, marks_passed passed, void *user,
                                 struct slice **slice, int *code);
/* Free again, with the marks that the slice has now. Cannot fail and calls no storage. */
void manager_give(struct slice *slice);
static inline struct manager *manager_of(const struct slice *slice) {
  return slice->page->pool->manager;
}

/* ---- layouts (J5) -------------------------------------------------------------------------------------------- */

/* Slices handed out of the dynamic pools, and their bytes as rounded. */
size_t manager_live(const struct manager *manager, size_t *bytes);
/* Whether the dynamic pools are these. */
bool manager_has(const struct manager *manager, const luhip_pool *pools, size_t npools);
bool manager_is_dynamic(const struct manager *manager, const struct slice *slice);
const char *manager_role(const struct slice *slice); /* of its pool, as manager_visit says it */
/* Other dynamic pools. What lives in the old ones stays theirs. False when the host has no memory. */
bool manager_install(struct manager *manager, const luhip_pool *pools, size_t npools);

/* ---- persistent mode (J7) and captures (F2, F3) ---------------------------------------------------------------- */

/* Windows nest: the one opened last and not closed yet says the mode. Returns its id, 0 when the host has no memory. */
uint64_t manager_window_open(struct manager *manager, uint64_t id, luhip_memory_mode mode);
bool manager_window_close(struct manager *manager, uint64_t id); /* false: not one of this manager's */
bool manager_is_persistent(const struct manager *manager);
void manager_reset(struct manager *manager); /* mode auto, no window */

/* F2: from now on what is taken is persistent, and what of that is given back is kept aside, so that the warm-up
   takes as many slices as it asks for. `id` is the capture's, and not 0. */
void manager_prepare(struct manager *manager, uint64_t id);
/* F3: what was kept is free, and for each slice that the warm-up took and still has there is another free one, if there
   is memory for it. */
void manager_record(struct manager *manager);
/* From either state: the capture is over. */
void manager_finish(struct manager *manager);

/* ---- letting go ---------------------------------------------------------------------------------------------- */

/* Takes out all empty pages, or those that `passed` calls done. Linked by `older`, to be freed by pages_free. */
void manager_detach(struct manager *manager, marks_passed passed, void *user, struct page **list);
/* A slice that is a page of its own leaves with it, in use as it is; one that left becomes a manager's, free. */
void manager_leave(struct slice *slice);
void manager_adopt(struct manager *manager, struct slice *slice);

/* ---- figures ------------------------------------------------------------------------------------------------- */

/* Calls visit for every pool: dynamic ones in order, then those of earlier layouts, overflow, persistent. */
typedef void (*pool_visitor)(void *user, const struct pool *pool, const char *role);
void manager_visit(const struct manager *manager, pool_visitor visit, void *user);

struct manager_figures {
  size_t live, in_use, padding, reserved, cached;
};
void manager_add_figures(const struct manager *manager, struct manager_figures *figures);

#endif
