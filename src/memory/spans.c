/*
 * spans.c - sets of bytes.
 */
#include "memory/spans.h"

#include <stdlib.h>
#include <string.h>

/* The first range that ends at `at` or behind it. */
static size_t find(const struct spans *spans, size_t at) {
  size_t low = 0, high = spans->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (spans->list[middle].end < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool make_room(struct spans *spans) {
  if (spans->count < spans->capacity) return true;
  size_t capacity = spans->capacity ? spans->capacity * 2 : 4;
  struct span *list = realloc(spans->list, capacity * sizeof *list);
  if (!list) return false;
  spans->list = list;
  spans->capacity = capacity;
  return true;
}

bool spans_add(struct spans *spans, size_t first, size_t end) {
  if (first >= end) return true;
  size_t at = find(spans, first), behind = at;
  for (; behind < spans->count && spans->list[behind].first <= end; behind++) {
    if (spans->list[behind].first < first) first = spans->list[behind].first;
    if (spans->list[behind].end > end) end = spans->list[behind].end;
  }
  if (behind == at && !make_room(spans)) return false;
  size_t kept = spans->count - behind;
  struct span *list = spans->list;
  memmove(list + at + 1, list + behind, kept * sizeof *list);
  list[at] = (struct span){first, end};
  spans->count = at + 1 + kept;
  return true;
}

bool spans_gap(const struct spans *spans, size_t first, size_t end, struct span *gap) {
  for (size_t i = find(spans, first); first < end; i++) {
    bool before = i == spans->count || spans->list[i].first >= end;
    if (before || spans->list[i].first > first) {
      *gap = (struct span){first, before ? end : spans->list[i].first};
      return true;
    }
    first = spans->list[i].end;
  }
  return false;
}

void spans_free(struct spans *spans) {
  free(spans->list);
  *spans = (struct spans){0};
}
