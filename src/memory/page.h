/*
 * page.h - pages, which are one allocation of the storage each, and the slices they are cut into.
 *
 * The slices of a page are linked by address and cover it without gaps. A free slice has the marks of its last users,
 * so that it can be handed out again at once: whoever takes it is ordered behind them like behind any earlier use (B3).
 * Nothing here locks; the device lock guards it.
 */
#ifndef LUHIP_MEMORY_PAGE_H
#define LUHIP_MEMORY_PAGE_H

#include "memory/marks.h"
#include "memory/storage.h"

struct pool;

struct slice {
  void *address;
  size_t bytes;                 /* rounded, a part of its page */
  size_t asked;                 /* of them, by who has it; 0 while it is free */
  struct marks marks;           /* of its last users, while nobody has it */
  struct page *page;            /* and by this its pool and manager */
  struct slice *before, *after; /* in the page */
  struct slice *next,
      *previous;              /* free: a ring of free slices of this size (sizes.h). Else, in a list of its capture */
  struct slice *left, *right; /* free, and its ring's head: in a tree of sizes */
  uint64_t window;            /* of the capture it was taken in; 0: none */
  bool live;                  /* handed out */
  bool head;                  /* free: its ring hangs on it in the tree */
};

struct page {
  char *address;
  size_t bytes;
  struct storage *storage;
  struct pool *pool;          /* NULL: it left for good */
  struct slice *first;        /* by address */
  unsigned live;              /* slices handed out or kept for a capture */
  uint64_t emptied;           /* at which look of its pool it became empty */
  struct page *newer, *older; /* empty: by when it was emptied. On a list to be freed: older is the next */
};

enum page_result { PAGE_OK, PAGE_LIMIT, PAGE_FULL, PAGE_FAILED, PAGE_NO_HOST };

/* A page of one free slice. PAGE_LIMIT: it would go beyond the storage's limit; PAGE_FULL: the storage has no more,
   PAGE_FAILED: it refused for another reason, *code says which; PAGE_NO_HOST: no host memory for the records. */
enum page_result page_new(struct storage *storage, size_t bytes, struct page **page, int *code);
/* No longer counted as held: it will be freed, or it outlives its manager. */
void page_leave(struct page *page);
/* Frees pages linked by `older`, memory and records. May wait for the device; needs no lock and touches no manager. */
void pages_free(struct page *list);
void pages_forget(struct page *list); /* the records alone */

/* Cuts a slice: it keeps `bytes`, what follows becomes a slice of its own with a copy of the marks. NULL when the host
   has no memory for that; nothing changed then. */
struct slice *slice_cut(struct slice *slice, size_t bytes);
/* Appends the slice behind it, with its marks, and forgets that one. False when the host has no memory for the marks;
   nothing changed then. */
bool slice_fuse(struct slice *slice);

#endif
