/*
 * fit.c - the lengths of the surrogate's axes, by maximum likelihood. See surrogate.h.
 *
 * A coordinate search from where the lengths are: whether alignment counts, then each axis's length halved or doubled
 * while that helps. Lengths far from the first ones are held back by a prior, since a dozen costs cannot tell much. The
 * variance is the one that fits best, so what is maximised is -sum(log diagonal) - n/2 log(y' K^-1 y / n).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/lanes.h"
#include "tune/surrogate_fields.h"

enum { TAKEN = 48, MOST = SURROGATE_MOST, CELLS = TAKEN * TAKEN };
#define FIRST_LENGTH 1.5f
#define SHORTEST 0.05f
#define LONGEST 20.0f
#define PRIOR 0.4

struct fit {
  struct surrogate *s;
  uint32_t n;
  float y[TAKEN];
  uint32_t *digits;  /* by axis, TAKEN each */
  float rest[CELLS]; /* the product of all axes but one */
  float k[CELLS];
  double best;
};

/* ---- which costs ----------------------------------------------------------------------------------------------- */

static int compare_targets(const void *a, const void *b, void *raw) {
  float x = ((const float *)raw)[*(const uint32_t *)a], y = ((const float *)raw)[*(const uint32_t *)b];
  if (x != y) return x < y ? -1 : 1;
  return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* All, or the best ones and some of the others, evenly. */
static uint32_t take(const struct surrogate *s, uint32_t *taken) {
  uint32_t order[MOST] = {0}, n = s->size < TAKEN ? s->size : TAKEN, half = TAKEN / 2;
  for (uint32_t i = 0; i < s->size; i++) order[i] = i;
  if (n == TAKEN) qsort_r(order, s->size, sizeof *order, compare_targets, s->raw);
  for (uint32_t i = 0; i < n; i++)
    taken[i] = n < TAKEN || i < half ? order[i] : order[half + (i - half) * (s->size - half) / (TAKEN - half)];
  return n;
}

static void load(struct fit *f) {
  uint32_t taken[TAKEN];
  f->n = take(f->s, taken);
  float sum = 0;
  for (uint32_t i = 0; i < f->n; i++) sum += f->s->raw[taken[i]];
  for (uint32_t i = 0; i < f->n; i++) {
    f->y[i] = (f->s->raw[taken[i]] - sum / (float)f->n) / f->s->scale;
    for (uint32_t a = 0; a < f->s->axis_count; a++) f->digits[a * TAKEN + i] = f->s->digits[a * MOST + taken[i]];
  }
}

/* ---- likelihood -------------------------------------------------------------------------------------------------- */

/* Multiplies the lower triangle of `cells` by one axis's correlations. */
static void multiply(const struct fit *f, uint32_t axis, float *cells) {
  const uint32_t *digits = f->digits + axis * TAKEN;
  for (uint32_t i = 1; i < f->n; i++) correlation_multiply(&f->s->axes[axis], digits[i], digits, i, cells + i * TAKEN);
}

static void fill_rest(struct fit *f, uint32_t but) {
  for (uint32_t i = 0; i < f->n; i++)
    for (uint32_t j = 0; j < TAKEN; j++) f->rest[i * TAKEN + j] = j < i;
  for (uint32_t a = 0; a < f->s->axis_count; a++)
    if (a != but) multiply(f, a, f->rest);
}

/* Factors k in place; the log likelihood. */
static double likelihood(struct fit *f) {
  double diagonal = 0, squares = 0;
  float z[TAKEN] = {0}, pivots[TAKEN];
  for (uint32_t i = 0; i < f->n; i++) {
    float *row = f->k + i * TAKEN; /* zero from the diagonal on */
    for (uint32_t j = 0; j < i; j++) row[j] = (row[j] - lanes_dot(row, f->k + j * TAKEN, j)) / pivots[j];
    float pivot = 1 + SURROGATE_NOISE - lanes_dot(row, row, i);
    pivots[i] = sqrtf(pivot > 1e-6f ? pivot : 1e-6f);
    z[i] = (f->y[i] - lanes_dot(row, z, i)) / pivots[i];
    diagonal += log(pivots[i]);
    squares += z[i] * z[i];
  }
  return -diagonal - 0.5 * f->n * log(squares / f->n + 1e-12);
}

static double prior(const struct surrogate *s) {
  double sum = 0;
  for (uint32_t a = 0; a < s->axis_count; a++) {
    double off = log(s->axes[a].length / FIRST_LENGTH);
    sum += off * off;
  }
  return PRIOR * sum;
}

/* How well the model fits as it is now; `rest` holds all axes but this one. */
static double fitness(struct fit *f, uint32_t axis) {
  memcpy(f->k, f->rest, f->n * TAKEN * sizeof *f->k);
  multiply(f, axis, f->k);
  return likelihood(f) - prior(f->s);
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static void align_all(struct surrogate *s, bool align) {
  for (uint32_t a = 0; a < s->axis_count; a++) correlation_set(&s->axes[a], s->axes[a].length, align);
}

static bool try_alignment(struct fit *f) {
  struct surrogate *s = f->s;
  bool before = false, possible = false;
  for (uint32_t a = 0; a < s->axis_count; a++) {
    before |= s->axes[a].align;
    possible |= s->axes[a].powers > 1;
  }
  if (!possible) return false;
  align_all(s, !before);
  fill_rest(f, 0);
  double now = fitness(f, 0);
  if (now > f->best) {
    f->best = now;
    return true;
  }
  align_all(s, before);
  return false;
}

/* Lengths in steps of one factor, while that helps. */
static float try_lengths(struct fit *f, uint32_t axis, float from, float factor) {
  struct correlation *c = &f->s->axes[axis];
  float good = from;
  for (float length = from * factor; length > SHORTEST && length < LONGEST; length *= factor) {
    correlation_set(c, length, c->align);
    double now = fitness(f, axis);
    if (now <= f->best) break;
    f->best = now;
    good = length;
  }
  return good;
}

static bool try_axis(struct fit *f, uint32_t axis) {
  struct correlation *c = &f->s->axes[axis];
  if (c->count == 1) return false;
  float before = c->length;
  fill_rest(f, axis);
  float good = try_lengths(f, axis, before, 0.5f);
  if (good == before) good = try_lengths(f, axis, before, 2);
  correlation_set(c, good, c->align);
  return good != before;
}

void surrogate_unfit(struct surrogate *s) {
  for (uint32_t a = 0; a < s->axis_count; a++) correlation_set(&s->axes[a], FIRST_LENGTH, true);
}

bool surrogate_fit(struct surrogate *s) {
  struct fit *f = malloc(sizeof *f);
  uint32_t *digits = malloc((size_t)s->axis_count * TAKEN * sizeof *digits);
  bool changed = false;
  if (f && digits) { /* without memory the lengths stay what they are */
    f->s = s, f->digits = digits;
    load(f);
    fill_rest(f, 0);
    f->best = fitness(f, 0);
    changed = try_alignment(f);
    for (uint32_t a = 0; a < s->axis_count; a++) changed |= try_axis(f, a);
  }
  free(digits);
  free(f);
  return changed;
}
