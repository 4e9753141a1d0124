/*
 * pinned.h - pinned host memory in blocks, cached by size class.
 *
 * A block is touched by the host, so it is handed out again only when the copies that use it have passed;
 * its marks tell. Sizes are rounded to classes of an eighth of a power of two, so that a stream of reads of
 * about the same size lives on a few blocks. Nothing here locks; the device lock guards it.
 */
#ifndef LUHIP_MEMORY_PINNED_H
#define LUHIP_MEMORY_PINNED_H

#include "hip/api.h"
#include "memory/marks.h"

struct pinned_block {
  void *data;
  size_t bytes;
  struct marks marks;
  struct pinned_block *next;
};

enum { PINNED_CLASSES = 8 * 64 };

struct pinned {
  const struct hip_api *api;
  size_t cache_limit;
  size_t reserved, cached;
  struct pinned_block *classes[PINNED_CLASSES]; /* first in, first out: the head was given back first */
  struct pinned_block *tails[PINNED_CLASSES];
};

/* A block of at least bytes, or NULL when the driver has none: never an error, there is plain memory then. Cached
   blocks let go for the cache limit are added to *trash. */
struct pinned_block *pinned_take(struct pinned *pinned, size_t bytes, marks_passed passed, void *user,
                                 struct pinned_block **trash);
void pinned_give(struct pinned *pinned, struct pinned_block *block);
/* A block that was never this cache's becomes so. */
void pinned_adopt(struct pinned *pinned, struct pinned_block *block);
/* A block leaves for good: it will be freed, or it outlives the device. */
void pinned_leave(struct pinned *pinned, const struct pinned_block *block);
/* Takes cached blocks out: all (passed NULL), or the idle ones. Linked by next. */
struct pinned_block *pinned_detach(struct pinned *pinned, marks_passed passed, void *user);
void pinned_free_list(const struct hip_api *api, struct pinned_block *list);
void pinned_forget_list(struct pinned_block *list);

#endif
