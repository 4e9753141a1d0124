/*
 * claims.h - which bytes of an allocation carry which failure.
 *
 * A set of disjoint byte ranges in order, each with one failure; ranges that touch and carry the same failure
 * are one. Claims are set, not added: the newest failure has the bytes. Guarded by the device lock.
 */
#ifndef LUHIP_SERVER_CLAIMS_H
#define LUHIP_SERVER_CLAIMS_H

#include "memory/layout.h"

struct failure;

struct claim {
  size_t first, end; /* [first, end) */
  struct failure *failure;
};

struct claims {
  uint32_t count, capacity; /* capacity 0 with a count of 1: list is &one */
  struct claim *list;
  struct claim one; /* so that a claim is possible when the host is out of memory */
};

/* The bytes of [first, end) carry failure from now on, or nothing for NULL. Never fails: out of host memory the
   whole allocation is claimed, or a release does not happen, which errs on the side of the truth. */
void claims_set(struct claims *claims, size_t first, size_t end, struct failure *failure);
void claims_set_region(struct claims *claims, const struct region *region, struct failure *failure);
void claims_free(struct claims *claims);

/* The first claim at or after list[from] that meets the region; claims->count when there is none. */
uint32_t claims_next(const struct claims *claims, const struct region *region, uint32_t from);

static inline bool claims_meet(const struct claims *claims, const struct region *region) {
  return claims->count && claims_next(claims, region, 0) < claims->count;
}

#endif
