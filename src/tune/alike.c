/*
 * alike.c - see alike.h.
 */
#include "tune/alike.h"

#include <stdlib.h>
#include <string.h>

#include "tune/lanes.h"

enum { JOINT = ALIKE_JOINT, AT_ONCE = 4 };

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
    g->stride = (g->size + LANES_BLOCK - 1) / LANES_BLOCK * LANES_BLOCK;
    g->rows = calloc((size_t)g->size * g->stride, sizeof *g->rows);
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

void alike_split(const struct alike *a, uint32_t group, uint32_t joint, uint32_t *digits) {
  const struct alike_group *g = &a->groups[group];
  for (uint32_t axis = g->first; axis < g->first + g->count; axis++) {
    digits[axis] = joint % a->axes[axis].count;
    joint /= a->axes[axis].count;
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The correlations of a joint digit with all: grown axis by axis. */
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
  float *row = g->rows + (size_t)joint * g->stride;
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

void alike_row(const struct alike *a, struct alike_list own, uint32_t but, struct alike_list others, size_t n,
               float *out) {
  const float *rows[AT_ONCE];
  const uint32_t *digits[AT_ONCE];
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++) out[i] = 1;
  for (uint32_t i = 0; i < a->group_count; i++) {
    const struct alike_group *g = &a->groups[i];
    uint32_t joint = own.joint[i * own.stride];
    if (i == but || g->size == 1) continue;
    if (!g->rows) {
      correlation_multiply(&a->axes[g->first], joint, others.joint + i * others.stride, n, out);
      continue;
    }
    rows[count] = row_of(a, g, joint);
    digits[count++] = others.joint + i * others.stride;
    if (count == AT_ONCE) look_up_some(rows, digits, count, n, out), count = 0;
  }
  look_up_some(rows, digits, count, n, out);
}
