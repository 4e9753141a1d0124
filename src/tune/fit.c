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

#include "tune/exact.h"
#include "tune/lanes.h"
#include "tune/surrogate_fields.h"

enum { SPAN = LANES_BLOCK, TAKEN = SPAN - 1, MOST = SURROGATE_MOST, CELLS = TAKEN * SPAN };
#define FIRST_LENGTH 2.0f
#define SHORTEST 0.05f
#define LONGEST 20.0f
#define PRIOR 0.7

/* Matrices are upper triangles, SPAN a row. */
struct fit {
  struct surrogate *s;
  uint32_t n;
  float y[TAKEN];
  uint32_t *terms;   /* by axis, CELLS each: which of its terms a correlation is */
  float all[CELLS];  /* correlations: the product of all axes, */
  float rest[CELLS]; /* that of all but one, */
  float k[CELLS];    /* and what becomes the factor; the last column is y, and then L^-1 y */
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

static void load_axis(struct fit *f, uint32_t axis, const uint32_t *taken) {
  const uint32_t *digits = f->s->digits + axis * MOST;
  uint32_t *terms = f->terms + axis * CELLS;
  if (f->s->axes[axis].count == 1) return;
  for (uint32_t i = 0; i < f->n; i++)
    for (uint32_t j = i + 1; j < f->n; j++)
      terms[i * SPAN + j] = correlation_index(&f->s->axes[axis], digits[taken[i]], digits[taken[j]]);
}

static void load(struct fit *f) {
  uint32_t taken[TAKEN];
  f->n = take(f->s, taken);
  float sum = 0;
  for (uint32_t i = 0; i < f->n; i++) sum += f->s->raw[taken[i]];
  for (uint32_t i = 0; i < f->n; i++) f->y[i] = (f->s->raw[taken[i]] - sum / (float)f->n) / f->s->scale;
  for (uint32_t a = 0; a < f->s->axis_count; a++) load_axis(f, a, taken);
}

/* ---- likelihood -------------------------------------------------------------------------------------------------- */

/* Multiplies the cells behind the diagonal by one axis's correlations. */
static void multiply(const struct fit *f, uint32_t axis, float *cells) {
  const uint32_t *terms = f->terms + axis * CELLS;
  const float *values = f->s->axes[axis].terms;
  if (f->s->axes[axis].count == 1) return;
  for (uint32_t i = 0; i < f->n; i++)
    for (uint32_t j = i + 1; j < f->n; j++) cells[i * SPAN + j] *= values[terms[i * SPAN + j]];
}

static void fill(const struct fit *f, float *cells) {
  for (uint32_t i = 0; i < f->n * SPAN; i++) cells[i] = 1;
}

static void fill_all(struct fit *f) {
  fill(f, f->all);
  for (uint32_t a = 0; a < f->s->axis_count; a++) multiply(f, a, f->all);
}

/* By division: no correlation is close to nothing. */
static void fill_rest(struct fit *f, uint32_t but) {
  fill(f, f->k);
  multiply(f, but, f->k);
  for (uint32_t i = 0; i < f->n * SPAN; i++) f->rest[i] = f->all[i] / f->k[i];
}

/* Factors k in place, row by row, and solves for y with it; the log likelihood. Cells before the diagonal are not used. */
static double likelihood(struct fit *f) {
  double pivots = 1, squares = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    float sum[SPAN], *row = f->k + i * SPAN;
    row[i] = 1 + SURROGATE_NOISE;
    row[TAKEN] = f->y[i];
    lanes_sum(sum, f->k + i, SPAN, f->k, i, SPAN, SPAN);
    float pivot = row[i] - sum[i] > 1e-6f ? row[i] - sum[i] : 1e-6f, inverse = 1 / sqrtf(pivot);
    for (uint32_t j = 0; j < SPAN; j++) row[j] = (row[j] - sum[j]) * inverse;
    pivots *= pivot; /* TAKEN of them do not underflow */
    squares += row[TAKEN] * row[TAKEN];
  }
  return -0.5 * (exact_log(pivots) + f->n * exact_log(squares / f->n + 1e-12));
}

static double prior(const struct surrogate *s) {
  double sum = 0;
  for (uint32_t a = 0; a < s->axis_count; a++) {
    double off = exact_log(s->axes[a].length / FIRST_LENGTH);
    sum += off * off;
  }
  return PRIOR * sum;
}

/* How well the model fits as it is now. */
static double fitness_of_all(struct fit *f) {
  memcpy(f->k, f->all, f->n * SPAN * sizeof *f->k);
  return likelihood(f) - prior(f->s);
}

/* The same where `rest` holds all axes but this one. */
static double fitness(struct fit *f, uint32_t axis) {
  memcpy(f->k, f->rest, f->n * SPAN * sizeof *f->k);
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
  fill_all(f);
  double now = fitness_of_all(f);
  if (now > f->best) {
    f->best = now;
    return true;
  }
  align_all(s, before);
  fill_all(f);
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
  if (good == before) return false;
  memcpy(f->all, f->rest, f->n * SPAN * sizeof *f->all);
  multiply(f, axis, f->all);
  return true;
}

void surrogate_unfit(struct surrogate *s) {
  for (uint32_t a = 0; a < s->axis_count; a++) correlation_set(&s->axes[a], FIRST_LENGTH, true);
}

bool surrogate_fit(struct surrogate *s) {
  struct fit *f = malloc(sizeof *f);
  uint32_t *terms = malloc((size_t)s->axis_count * CELLS * sizeof *terms);
  bool changed = false;
  if (f && terms) { /* without memory the lengths stay what they are */
    f->s = s, f->terms = terms;
    load(f);
    fill_all(f);
    f->best = fitness_of_all(f);
    changed = try_alignment(f);
    for (uint32_t a = 0; a < s->axis_count; a++) changed |= try_axis(f, a);
  }
  free(terms);
  free(f);
  return changed;
}
