/*
 * listed.c - a space whose configurations are listed, as those of a recorded run are. See space.h; layout.h has the
 * fields. It is one group of all axes, whose rows were not enumerated but given.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

static int compare_rows(const void *a, const void *b, void *bytes) {
  return memcmp(a, b, *(const size_t *)bytes);
}

static void write_row(const struct tune_group *g, const uint32_t *digits, uint8_t *row) {
  for (uint32_t a = 0; a < g->count; a++)
    for (uint32_t b = g->width; b-- > 0;) *row++ = (uint8_t)(digits[a] >> (8 * b));
}

/* Sorts the rows and drops those that are there twice. */
static void order(struct tune_group *g) {
  uint64_t kept = 0;
  qsort_r(g->rows, g->valid, g->row_bytes, compare_rows, &g->row_bytes);
  for (uint64_t i = 0; i < g->valid; i++) {
    uint8_t *row = g->rows + i * g->row_bytes, *last = g->rows + (kept - (kept > 0)) * g->row_bytes;
    if (kept > 0 && memcmp(row, last, g->row_bytes) == 0) continue;
    if (kept < i) memcpy(g->rows + kept * g->row_bytes, row, g->row_bytes);
    kept++;
  }
  g->valid = kept;
}

bool tune_space_list(struct tune_space *s, const uint32_t *digits, uint64_t count) {
  uint32_t n = s->axis_count, widest = 0;
  for (uint32_t a = 0; a < n; a++)
    if (s->axes[a].count > widest) widest = s->axes[a].count;
  struct tune_group *g = calloc(1, sizeof *g);
  if (!g) return false;
  g->count = n;
  g->width = widest <= 0x100 ? 1 : widest <= 0x10000 ? 2 : 4;
  g->row_bytes = (size_t)g->width * n;
  g->axes = malloc(n * sizeof *g->axes);
  g->rows = count <= SIZE_MAX / 2 / g->row_bytes ? malloc(count * g->row_bytes + TUNE_SLACK) : NULL;
  if (!g->axes || !g->rows) {
    free(g->axes);
    free(g->rows);
    free(g);
    return false;
  }
  for (uint32_t a = 0; a < n; a++) g->axes[a] = a, s->axes[a].group = 0;
  for (uint64_t i = 0; i < count; i++) write_row(g, digits + i * n, g->rows + i * g->row_bytes);
  g->valid = g->capacity = count;
  g->stride = 1;
  order(g);
  s->groups = g;
  s->group_count = 1;
  s->count = g->valid;
  s->planned = s->built = true;
  return true;
}
