/*
 * sizes.h - free slices by size: the smallest that is large enough, in time that grows with the logarithm of how many
 * different sizes there are.
 *
 * Slices of one size are a ring; the rings' heads are a treap by size (Seidel and Aragon, "Randomized search trees",
 * 1996). All links lie in the slices, so nothing is allocated.
 */
#ifndef LUHIP_MEMORY_SIZES_H
#define LUHIP_MEMORY_SIZES_H

#include "memory/page.h"

struct sizes {
  struct slice *root;
};

void sizes_add(struct sizes *sizes, struct slice *slice);
void sizes_remove(struct sizes *sizes, struct slice *slice);
/* A slice of the smallest size from `least` to `most` whose users `passed` calls done. When the few that are looked at
   are all in use, NULL, and *busy is the one that fits best, or NULL when there is none at all. */
struct slice *sizes_find(const struct sizes *sizes, size_t least, size_t most, marks_passed passed, void *user,
                         struct slice **busy);

#endif
