/*
 * pool.h - one pool of a manager: pages, and the rule by which requests are cut from them.
 *
 * What the kinds have in common is here and in pool.c: growing by a page, handing a free slice out and taking it back,
 * figures, and which pages nothing lives in. A kind is a small table of the rest, one file each:
 *
 *   pool_sliced.c      pages of one size, cut; neighbours fuse when they are free
 *   pool_exclusive.c   a page is one slice; the size of new pages follows what was asked for
 *   pool_direct.c      a page is one slice of just the size that was asked for; a watermark on what is kept
 *   pool_persistent.c  the same, kept until clean-up: for what will be asked for again in the same size
 *
 * No operation's cost grows with the number of live slices. Nothing here locks; the device lock guards it.
 */
#ifndef LUHIP_MEMORY_POOL_H
#define LUHIP_MEMORY_POOL_H

#include "luhip.h"
#include "memory/sizes.h"

struct manager;
struct pool;

/* A request: bytes are rounded already. */
struct search {
  size_t bytes;
  marks_passed passed; /* done, as seen from the stream that asks */
  void *user;
};

struct pool_ops {
  /* A free slice of the pool's set that can serve: an idle one, or NULL and in *busy one that others still use. */
  struct slice *(*find)(struct pool *pool, const struct search *search, struct slice **busy);
  /* Bytes of the page to take for a request. */
  size_t (*page_bytes)(struct pool *pool, size_t bytes);
  /* A slice was taken out of the free set for a request. NULL: it goes as it is. */
  void (*cut)(struct slice *slice, size_t bytes);
  /* A slice that is free again; returns the slice that goes into the free set. NULL: the same. */
  struct slice *(*join)(struct slice *slice);
};

extern const struct pool_ops pool_sliced, pool_exclusive, pool_direct, pool_persistent;

struct pool {
  const struct pool_ops *ops;
  struct manager *manager;
  luhip_pool asked, config;  /* as it was given, and with sizes rounded to the alignment */
  size_t accepts;            /* requests up to this size, */
  size_t near_from, near_to; /* and of these sizes too, which waste little of a page */
  struct sizes free;
  struct page *oldest, *newest; /* empty pages, by when they were emptied */
  size_t cached;                /* bytes of these */
  size_t reserved, pages;       /* now, */
  size_t peak, peak_pages;      /* and at most so far */
  size_t live, in_use, rounded; /* slices handed out, bytes asked for, bytes they have */
  size_t largest;               /* request, rounded */
  double average;               /* exclusive: of the requests */
  uint64_t period, look, next;  /* exclusive: reservations from one look at the empty pages to the next; how many looks
                                   there were; at which reservation the next one is due */
  bool warned;                  /* that it was full at its cap */
  bool retired;                 /* of an earlier layout */
};

void pool_open(struct pool *pool, struct manager *manager, const luhip_pool *config);
static inline bool pool_accepts(const struct pool *pool, size_t bytes) {
  return bytes <= pool->accepts || (bytes >= pool->near_from && bytes <= pool->near_to);
}

enum pool_result {
  POOL_OK,
  POOL_CAPPED,  /* the pool's own cap does not allow another page */
  POOL_LIMIT,   /* the storage's limit does not */
  POOL_FULL,    /* the storage has no more */
  POOL_FAILED,  /* it refused for another reason: *code */
  POOL_NO_HOST, /* no host memory for the records */
  POOL_NOTHING  /* nothing free, and the pool must not grow */
};

/* A slice for the request: reuse, then grow, then, where `patient` says so, what others still use. */
enum pool_result pool_take(struct pool *pool, const struct search *search, size_t asked, bool grow, bool patient,
                           struct slice **slice, int *code);
/* One more page, empty. */
enum pool_result pool_grow(struct pool *pool, size_t bytes, int *code);
/* The slice is free; its marks say of whom. */
void pool_give(struct slice *slice);
/* In two steps: no longer in use, but not free either; then free. */
void pool_settle(struct slice *slice);
void pool_free_settled(struct slice *slice);
/* Takes an empty page out of the pool, onto the list. */
void pool_release(struct pool *pool, struct page *page, struct page **list);
/* Takes out the empty pages that `passed` calls done, all where it is NULL. */
void pool_detach(struct pool *pool, marks_passed passed, void *user, struct page **list);
/* Whether all users of the slices of an empty page are done. */
bool page_passed(const struct page *page, marks_passed passed, void *user);
/* A page that is one slice leaves its pool for good, in use as it is; and one from elsewhere becomes the pool's, free. */
void pool_leave(struct slice *slice);
void pool_adopt(struct pool *pool, struct slice *slice);
/* pool_exclusive.c: when the manager has come to `next` reservations. */
void pool_exclusive_look(struct pool *pool, struct page **list);

#endif
