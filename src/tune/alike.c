/*
 * alike.c - see alike.h.
 */
#include "tune/alike.h"

#include <stdlib.h>
#include <string.h>

enum { JOINT = 64, AT_ONCE = 4 };

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static void make_groups(struct alike *a) {
  for (uint32_t i = 0; i < a->axis_count; i++) {
    struct alike_group *g = a->group_count ? &a->groups[a->group_count - 1] : NULL;
    uint32_t count = a->axes[i].count;
    if (g && (uint64_t)g->size * count <= JOINT) {
      g->size *= count;
      g->count++;
    } else {
      a->groups[a->group_count++] = (struct alike_group){.first = i, .count = 1, .size = count};
    }
  }
}

bool alike_init(struct alike *a, struct correlation *axes, uint32_t axis_count) {
  *a = (struct alike){.axes = axes, .axis_count = axis_count};
  a->groups = calloc(axis_count, sizeof *a->groups);
  if (!a->groups) return false;
  make_groups(a);
  for (uint32_t i = 0; i < a->group_count; i++) {
    struct alike_group *g = &a->groups[i];
    if (g->size > JOINT) continue;
    g->rows = malloc((size_t)g->size * g->size * sizeof *g->rows);
    g->there = calloc(g->size, sizeof *g->there);
    if (!g->rows || !g->there) return false;
  }
  return true;
}

void alike_free(struct alike *a) {
  for (uint32_t i = 0; i < a->group_count; i++) {
    free(a->groups[i].rows);
    free(a->groups[i].there);
  }
  free(a->groups);
  memset(a, 0, sizeof *a);
}

void alike_renew(struct alike *a) {
  for (uint32_t i = 0; i < a->group_count; i++)
    if (a->groups[i].there) memset(a->groups[i].there, 0, a->groups[i].size * sizeof *a->groups[i].there);
}

void alike_join(const struct alike *a, const uint32_t *digits, uint32_t *joint, size_t stride) {
  for (uint32_t i = 0; i < a->group_count; i++) {
    const struct alike_group *g = &a->groups[i];
    uint32_t sum = 0;
    for (uint32_t axis = g->first + g->count; axis-- > g->first;) sum = sum * a->axes[axis].count + digits[axis];
    joint[i * stride] = sum;
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The correlations of a joint digit with all: grown axis by axis, the last ones first. */
static void fill_row(const struct alike *a, const struct alike_group *g, uint32_t joint, float *row) {
  uint32_t size = 1;
  row[0] = 1;
  for (uint32_t axis = g->first; axis < g->first + g->count; axis++) {
    uint32_t count = a->axes[axis].count;
    if (count == 1) continue;
    float own[JOINT];
    correlation_row(&a->axes[axis], joint % count, own);
    joint /= count;
    for (uint32_t r = count; r-- > 0;)
      for (uint32_t k = 0; k < size; k++) row[r * size + k] = own[r] * row[k];
    size *= count;
  }
}

static const float *row_of(const struct alike *a, const struct alike_group *g, uint32_t joint) {
  float *row = g->rows + (size_t)joint * g->size;
  if (!g->there[joint]) {
    fill_row(a, g, joint, row);
    g->there[joint] = true;
  }
  return row;
}

static inline __attribute__((always_inline)) void look_up(const float *const *rows, const uint32_t *const *others,
                                                          uint32_t count, size_t n, float *restrict out) {
  for (size_t i = 0; i < n; i++) {
    float product = rows[0][others[0][i]];
    for (uint32_t k = 1; k < count; k++) product *= rows[k][others[k][i]];
    out[i] *= product;
  }
}

/* A loop of its own for each number of groups, without a loop over them. */
static void look_up_some(const float *const *rows, const uint32_t *const *others, uint32_t count, size_t n,
                         float *out) {
  if (count == 1) look_up(rows, others, 1, n, out);
  if (count == 2) look_up(rows, others, 2, n, out);
  if (count == 3) look_up(rows, others, 3, n, out);
  if (count == AT_ONCE) look_up(rows, others, AT_ONCE, n, out);
}

void alike_row(const struct alike *a, const uint32_t *joint, size_t step, const uint32_t *others, size_t stride,
               size_t n, float *out) {
  const float *rows[AT_ONCE];
  const uint32_t *digits[AT_ONCE];
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++) out[i] = 1;
  for (uint32_t i = 0; i < a->group_count; i++) {
    const struct alike_group *g = &a->groups[i];
    if (!g->rows) {
      correlation_multiply(&a->axes[g->first], joint[i * step], others + i * stride, n, out);
      continue;
    }
    rows[count] = row_of(a, g, joint[i * step]);
    digits[count++] = others + i * stride;
    if (count == AT_ONCE) look_up_some(rows, digits, count, n, out), count = 0;
  }
  look_up_some(rows, digits, count, n, out);
}
