/*
 * claims.c - interval sets of failures.
 *
 * One operation does everything: replace what lies in a range by one piece or none. What is left of the ranges
 * at both ends stays, neighbours with the same failure fuse, and the affected part of the sorted list is
 * spliced once. Sets are almost always empty and small otherwise, so a sorted array serves.
 */
#include "server/claims.h"

#include "server/failure.h"

#include <stdlib.h>
#include <string.h>

/* Index of the first claim that ends after `at`. */
static uint32_t first_ending_after(const struct claims *claims, size_t at) {
  uint32_t low = 0, high = claims->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (claims->list[middle].end > at) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static bool make_room(struct claims *claims, uint32_t count) {
  if (count <= claims->capacity) return true;
  uint32_t capacity = claims->capacity ? claims->capacity * 2 : 4;
  if (capacity < count) capacity = count;
  struct claim *list = realloc(claims->capacity ? claims->list : NULL, capacity * sizeof *list);
  if (!list) return false;
  if (!claims->capacity && claims->count) list[0] = claims->one;
  claims->list = list;
  claims->capacity = capacity;
  return true;
}

/* The pieces that replace list[low, high): at most three, fused among themselves and with their neighbours. */
struct pieces {
  uint32_t low, high, count;
  struct claim list[3];
};

static void add_piece(struct pieces *pieces, size_t first, size_t end, struct failure *failure) {
  if (first >= end || !failure) return;
  struct claim *last = pieces->count ? &pieces->list[pieces->count - 1] : NULL;
  if (last && last->end == first && last->failure == failure) {
    last->end = end;
    return;
  }
  pieces->list[pieces->count++] = (struct claim){first, end, failure};
}

static struct pieces cut(const struct claims *claims, size_t first, size_t end, struct failure *failure) {
  struct pieces pieces = {.low = first_ending_after(claims, first)};
  pieces.high = pieces.low;
  while (pieces.high < claims->count && claims->list[pieces.high].first < end) pieces.high++;
  struct claim none = {0}, left = none, right = none;
  if (pieces.low < pieces.high) {
    left = claims->list[pieces.low];
    right = claims->list[pieces.high - 1];
  }
  if (failure && pieces.low > 0) { /* the neighbour before touches: take it in */
    const struct claim *before = &claims->list[pieces.low - 1];
    if (before->end == first && before->failure == failure) {
      pieces.low--;
      add_piece(&pieces, before->first, before->end, failure);
    }
  }
  add_piece(&pieces, left.first, left.first < first ? first : left.first, left.failure);
  add_piece(&pieces, first, end, failure);
  add_piece(&pieces, end, right.end > end ? right.end : end, right.failure);
  if (failure && pieces.high < claims->count) {
    const struct claim *after = &claims->list[pieces.high];
    if (after->first == end && after->failure == failure) {
      pieces.high++;
      add_piece(&pieces, after->first, after->end, failure);
    }
  }
  return pieces;
}

static void splice(struct claims *claims, const struct pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++)
    failure_carry(pieces->list[i].failure); /* before the old ones go: it may be the same failure */
  for (uint32_t i = pieces->low; i < pieces->high; i++) failure_drop(claims->list[i].failure);
  memmove(&claims->list[pieces->low + pieces->count], &claims->list[pieces->high],
          (claims->count - pieces->high) * sizeof *claims->list);
  memcpy(&claims->list[pieces->low], pieces->list, pieces->count * sizeof *claims->list);
  claims->count += pieces->count - (pieces->high - pieces->low);
}

/* Out of host memory: one claim over everything fits in what is there. */
static void claim_everything(struct claims *claims, struct failure *failure) {
  failure_carry(failure);
  for (uint32_t i = 0; i < claims->count; i++) failure_drop(claims->list[i].failure);
  if (!claims->capacity) claims->list = &claims->one;
  claims->list[0] = (struct claim){0, SIZE_MAX, failure};
  claims->count = 1;
}

void claims_set(struct claims *claims, size_t first, size_t end, struct failure *failure) {
  if (first >= end || (!claims->count && !failure)) return;
  struct pieces pieces = cut(claims, first, end, failure);
  uint32_t count = claims->count + pieces.count - (pieces.high - pieces.low);
  if (!make_room(claims, count)) {
    if (failure) claim_everything(claims, failure);
    return;
  }
  splice(claims, &pieces);
  if (!claims->count) claims_free(claims);
}

void claims_set_region(struct claims *claims, const struct region *region, struct failure *failure) {
  if (region_empty(region) || (!claims->count && !failure)) return;
  for (size_t row = 0; row < region->rows; row++) {
    size_t first = region->offset + row * region->pitch;
    claims_set(claims, first, first + region->width, failure);
    if (!failure && !claims->count) return;
  }
}

void claims_free(struct claims *claims) {
  for (uint32_t i = 0; i < claims->count; i++) failure_drop(claims->list[i].failure);
  if (claims->capacity) free(claims->list);
  *claims = (struct claims){0};
}

/* Whether [first, end) holds a byte of one of the region's rows. */
static bool region_meets(const struct region *region, size_t first, size_t end) {
  if (first < region->offset) first = region->offset;
  if (first >= end || first >= region_end(region)) return false;
  if (region->rows == 1) return true;
  size_t row = (first - region->offset) / region->pitch, at = region->offset + row * region->pitch;
  return first < at + region->width || (row + 1 < region->rows && end > at + region->pitch);
}

uint32_t claims_next(const struct claims *claims, const struct region *region, uint32_t from) {
  if (region_empty(region)) return claims->count;
  uint32_t i = first_ending_after(claims, region->offset);
  if (i < from) i = from;
  for (size_t end = region_end(region); i < claims->count && claims->list[i].first < end; i++) {
    if (region_meets(region, claims->list[i].first, claims->list[i].end)) return i;
  }
  return claims->count;
}
