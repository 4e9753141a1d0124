/*
 * spans.h - a set of bytes as disjoint ranges in order; ranges that touch are one.
 */
#ifndef LUHIP_MEMORY_SPANS_H
#define LUHIP_MEMORY_SPANS_H

#include <stdbool.h>
#include <stddef.h>

struct span {
  size_t first, end; /* [first, end) */
};

struct spans {
  struct span *list;
  size_t count, capacity;
};

/* Adds [first, end). False, and the set as it was, when the host has no memory. */
bool spans_add(struct spans *spans, size_t first, size_t end);
/* The first part of [first, end) that is not in the set; false when all of it is. */
bool spans_gap(const struct spans *spans, size_t first, size_t end, struct span *gap);
void spans_free(struct spans *spans);

#endif
