/*
 * surrogate.c - the posterior of the process, for the pool. See surrogate.h.
 *
 * With K the correlations of the costs so far, K = L L', M = L^-1 and V = M K(costs, pool), the prediction for the pool
 * is V' M y and its variance 1 - the sum over rows of V^2. A new cost adds a row to M and to V and changes nothing else.
 * M is kept by row and by column, so that all products with it are sums of rows of numbers, without a division.
 *
 * Targets y are the logarithm of how much worse than the best a cost is, plus a tenth: differences near the best count,
 * those among bad ones hardly do. They are scaled anew when the best changes, which costs a pass over V.
 */
#include "tune/surrogate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/exact.h"
#include "tune/lanes.h"
#include "tune/surrogate_fields.h"

enum { POOL = SURROGATE_POOL, MOST = SURROGATE_MOST, FIT_FIRST = 6, FIT_GROWTH = 2 };
#define RESOLUTION 0.1
#define LEAST 1e-6f

/* A variance that rounding has not made nothing or less. */
static inline float at_least(float variance) {
  return variance > LEAST ? variance : LEAST;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static bool allocate(struct surrogate *s, uint32_t axis_count) {
  s->axes = calloc(axis_count, sizeof *s->axes);
  s->costs = malloc(MOST * sizeof *s->costs);
  s->raw = malloc(MOST * sizeof *s->raw);
  s->digits = malloc((size_t)axis_count * MOST * sizeof *s->digits);
  s->by_row = calloc((size_t)MOST * MOST, sizeof *s->by_row);
  s->by_column = calloc((size_t)MOST * MOST, sizeof *s->by_column);
  s->solved = calloc(MOST, sizeof *s->solved);
  s->weights = calloc(MOST, sizeof *s->weights);
  s->joint = calloc((size_t)axis_count * MOST, sizeof *s->joint);
  s->pool_joint = calloc((size_t)axis_count * POOL, sizeof *s->pool_joint);
  s->own_joint = calloc(axis_count, sizeof *s->own_joint);
  s->pool_rows = malloc((size_t)MOST * POOL * sizeof *s->pool_rows);
  s->mean = calloc(POOL, sizeof *s->mean);
  s->variance = calloc(POOL, sizeof *s->variance);
  s->deviation = calloc(POOL, sizeof *s->deviation);
  s->hole = malloc(POOL * sizeof *s->hole);
  return s->axes && s->costs && s->raw && s->digits && s->by_row && s->by_column && s->solved && s->weights &&
         s->joint && s->pool_joint && s->own_joint && s->pool_rows && s->mean && s->variance && s->deviation && s->hole;
}

struct surrogate *surrogate_new(const struct surrogate_axis *axes, uint32_t axis_count) {
  struct surrogate *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->axis_count = axis_count;
  if (!allocate(s, axis_count)) goto fail;
  for (uint32_t i = 0; i < axis_count; i++)
    if (!correlation_init(&s->axes[i], axes[i].count, axes[i].values)) goto fail;
  if (!alike_init(&s->alike, s->axes, axis_count)) goto fail;
  for (uint32_t p = 0; p < POOL; p++) s->hole[p] = INFINITY;
  s->next_fit = FIT_FIRST;
  surrogate_unfit(s);
  return s;
fail:
  surrogate_free(s);
  return NULL;
}

void surrogate_free(struct surrogate *s) {
  if (!s) return;
  alike_free(&s->alike);
  for (uint32_t i = 0; s->axes && i < s->axis_count; i++) correlation_free(&s->axes[i]);
  free(s->axes);
  free(s->costs);
  free(s->raw);
  free(s->digits);
  free(s->by_row);
  free(s->by_column);
  free(s->solved);
  free(s->weights);
  free(s->joint);
  free(s->pool_joint);
  free(s->own_joint);
  free(s->pool_rows);
  free(s->mean);
  free(s->variance);
  free(s->deviation);
  free(s->hole);
  free(s);
}

/* ---- costs ----------------------------------------------------------------------------------------------------- */

static void note_cost(struct surrogate *s, double cost) {
  if (!isfinite(cost)) return;
  if (s->finite == 0 || cost < s->best) s->best = cost, s->framed = 0;
  if (s->finite == 0 || cost > s->worst) s->worst = cost;
  s->finite++;
}

static double mean_cost(const struct surrogate *s) {
  double sum = 0;
  uint32_t finite = 0;
  for (uint32_t i = 0; i < s->size; i++)
    if (isfinite(s->costs[i])) sum += s->costs[i], finite++;
  return finite ? sum / finite : s->best;
}

/* Moves one cost and its digits to an earlier place. */
static void move_cost(struct surrogate *s, uint32_t from, uint32_t to) {
  s->costs[to] = s->costs[from];
  for (uint32_t a = 0; a < s->axis_count; a++) s->digits[a * MOST + to] = s->digits[a * MOST + from];
  for (uint32_t g = 0; g < s->alike.group_count; g++) s->joint[g * MOST + to] = s->joint[g * MOST + from];
}

static int compare_costs(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Makes room: of the older three quarters, the worse two thirds go. */
static void forget(struct surrogate *s) {
  double sorted[MOST] = {0};
  uint32_t old = s->size - s->size / 4, kept = 0, room = old / 3;
  for (uint32_t i = 0; i < old; i++) sorted[i] = isfinite(s->costs[i]) ? s->costs[i] : INFINITY;
  qsort(sorted, old, sizeof *sorted, compare_costs);
  double limit = sorted[room];
  for (uint32_t i = 0; i < s->size; i++) {
    bool good = isfinite(s->costs[i]) && s->costs[i] <= limit && room > 0;
    if (i >= old || good) move_cost(s, i, kept++);
    if (i < old && good) room--;
  }
  s->size = kept;
  s->rows = s->framed = 0;
}

void surrogate_add(struct surrogate *s, const uint32_t *digits, double cost) {
  if (s->size == MOST) forget(s);
  for (uint32_t a = 0; a < s->axis_count; a++) s->digits[a * MOST + s->size] = digits[a];
  alike_join(&s->alike, digits, s->joint + s->size, MOST);
  s->costs[s->size++] = isfinite(cost) ? cost : NAN;
  s->told++;
  note_cost(s, cost);
}

uint32_t surrogate_size(const struct surrogate *s) {
  return s->size;
}

/* ---- targets --------------------------------------------------------------------------------------------------- */

/* How much worse than the best, relative to it where costs have one sign, else to the spread. */
static double excess(const struct surrogate *s, double cost, double spread) {
  if (s->best > 0) return exact_log(fmin(cost / s->best, DBL_MAX));
  if (s->worst < 0) return exact_log(fmin(s->best / cost, DBL_MAX));
  return spread > 0 ? (cost - s->best) / spread : 0;
}

static float target(const struct surrogate *s, double cost, double spread) {
  double x = isnan(cost) ? s->worst : cost;
  return s->finite == 0 ? 0 : (float)exact_log(excess(s, x, spread) + RESOLUTION);
}

static void frame(struct surrogate *s) {
  double spread = s->finite ? mean_cost(s) - s->best : 0, sum = 0, squares = 0;
  s->lowest = INFINITY;
  for (uint32_t i = 0; i < s->size; i++) {
    s->raw[i] = target(s, s->costs[i], spread);
    if (s->raw[i] < s->lowest) s->lowest = s->raw[i];
    sum += s->raw[i];
  }
  double mean = sum / s->size;
  for (uint32_t i = 0; i < s->size; i++) squares += (s->raw[i] - mean) * (s->raw[i] - mean);
  s->centre = (float)mean;
  s->scale = (float)sqrt(squares / s->size) + 1e-6f;
  s->framed = s->size;
}

static float scaled(const struct surrogate *s, uint32_t i) {
  return (s->raw[i] - s->centre) / s->scale;
}

/* Everything that follows from the targets, for the rows that are there. */
static void reframe(struct surrogate *s) {
  float targets[MOST];
  frame(s);
  for (uint32_t i = 0; i < s->rows; i++) targets[i] = scaled(s, i);
  lanes_lower(s->solved, targets, s->by_column, s->rows, MOST);
  lanes_upper(s->weights, s->solved, s->by_row, s->rows, MOST);
  lanes_sum(s->mean, s->solved, 1, s->pool_rows, s->rows, POOL, POOL);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static struct alike_list costs_of(const struct surrogate *s) {
  return (struct alike_list){s->joint, MOST};
}

/* One of them, or of the pool, and those behind it. */
static struct alike_list from(struct alike_list list, uint32_t first) {
  return (struct alike_list){list.joint + first, list.stride};
}

static struct alike_list pool_of(const struct surrogate *s) {
  return (struct alike_list){s->pool_joint, POOL};
}

/* column = M * the correlations of one configuration, zero behind that. */
static void project(const struct surrogate *s, struct alike_list own, float *column) {
  float row[MOST];
  alike_row(&s->alike, own, UINT32_MAX, costs_of(s), s->rows, row);
  lanes_lower(column, row, s->by_column, s->rows, MOST);
  memset(column + s->rows, 0, (MOST - s->rows) * sizeof *column);
}

/* The row of M below those that are there: -column' M / diagonal, 1 / diagonal. */
static void add_inverse_row(struct surrogate *s, const float *column, float inverse) {
  uint32_t n = s->rows;
  float *row = s->by_row + (size_t)n * MOST;
  memset(row, 0, MOST * sizeof *row);
  lanes_upper(row, column, s->by_row, n, MOST);
  for (uint32_t i = 0; i < n; i++) row[i] *= -inverse;
  row[n] = inverse;
  for (uint32_t i = 0; i <= n; i++) s->by_column[(size_t)i * MOST + n] = row[i];
}

/* The row of V, what it takes from the variances and adds to the means. */
static void add_pool_row(struct surrogate *s, const float *column, float inverse) {
  float *row = s->pool_rows + (size_t)s->rows * POOL, sum[POOL], solved = s->solved[s->rows];
  alike_row(&s->alike, from(costs_of(s), s->rows), UINT32_MAX, pool_of(s), POOL, row);
  lanes_sum(sum, column, 1, s->pool_rows, s->rows, POOL, POOL);
  for (uint32_t p = 0; p < POOL; p++) {
    row[p] = (row[p] - sum[p]) * inverse;
    s->variance[p] -= row[p] * row[p];
    s->mean[p] += solved * row[p];
  }
}

/* Takes the next cost in. */
static void add_row(struct surrogate *s, double spread) {
  float column[MOST];
  uint32_t n = s->rows;
  project(s, from(costs_of(s), n), column);
  float inverse = 1 / sqrtf(at_least(1 + SURROGATE_NOISE - lanes_dot(column, column, n)));
  s->raw[n] = target(s, s->costs[n], spread);
  s->solved[n] = (scaled(s, n) - lanes_dot(column, s->solved, n)) * inverse;
  add_inverse_row(s, column, inverse);
  lanes_add(s->weights, s->solved[n], s->by_row + (size_t)n * MOST, MOST);
  add_pool_row(s, column, inverse);
  s->rows++;
}

void surrogate_update(struct surrogate *s) {
  /* Once costs were forgotten, only when some are again: everything is computed anew then. */
  if (s->told >= s->next_fit && (s->told < MOST || s->rows == 0)) {
    s->next_fit = s->told * FIT_GROWTH;
    frame(s);
    if (surrogate_fit(s)) {
      s->rows = 0;
      alike_renew(&s->alike);
    }
    s->framed = 0;
  }
  if (s->rows == 0) {
    for (uint32_t p = 0; p < POOL; p++) s->variance[p] = 1;
    memset(s->weights, 0, MOST * sizeof *s->weights);
    s->framed = 0;
  }
  if (s->size > 0 && (s->framed == 0 || s->size > s->framed + s->framed / 4 + 4)) reframe(s);
  double spread = s->finite ? mean_cost(s) - s->best : 0;
  while (s->rows < s->size) add_row(s, spread);
  lanes_roots(s->deviation, s->variance, LEAST, POOL);
}

/* ---- the pool -------------------------------------------------------------------------------------------------- */

void surrogate_put(struct surrogate *s, uint32_t place, const uint32_t *digits) {
  float column[MOST];
  alike_join(&s->alike, digits, s->pool_joint + place, POOL);
  s->hole[place] = 0;
  project(s, from(pool_of(s), place), column);
  for (uint32_t i = 0; i < s->rows; i++) s->pool_rows[(size_t)i * POOL + place] = column[i];
  s->variance[place] = 1 - lanes_dot(column, column, s->rows);
  s->deviation[place] = sqrtf(at_least(s->variance[place]));
  s->mean[place] = lanes_dot(column, s->solved, s->rows);
}

void surrogate_clear(struct surrogate *s, uint32_t place) {
  s->hole[place] = INFINITY;
}

uint32_t surrogate_groups(const struct surrogate *s) {
  return s->alike.group_count;
}

/* What does not depend on the group's digits is summed by joint digit first. */
uint32_t surrogate_sweep(const struct surrogate *s, const uint32_t *digits, uint32_t group, float *estimates) {
  const struct alike_group *g = &s->alike.groups[group];
  float row[MOST], sums[SURROGATE_SWEEP] = {0};
  if (!g->rows || g->size == 1) return 0;
  alike_join(&s->alike, digits, s->own_joint, 1);
  alike_row(&s->alike, (struct alike_list){s->own_joint, 1}, group, costs_of(s), s->rows, row);
  const uint32_t *joint = s->joint + (size_t)group * MOST;
  for (uint32_t i = 0; i < s->rows; i++) sums[joint[i]] += s->weights[i] * row[i];
  lanes_sum(estimates, sums, 1, g->rows, g->size, g->stride, g->stride);
  return g->size;
}

void surrogate_set(const struct surrogate *s, uint32_t group, uint32_t joint, uint32_t *digits) {
  alike_split(&s->alike, group, joint, digits);
}

/* The deviation that the data show, where the model takes it to be 1. */
static float magnitude(const struct surrogate *s) {
  return s->rows ? sqrtf(lanes_dot(s->solved, s->solved, s->rows) / (float)s->rows) : 1;
}

void surrogate_predict(const struct surrogate *s, uint32_t place, double *mean, double *deviation) {
  *mean = s->mean[place];
  *deviation = s->deviation[place] * magnitude(s);
}

static uint32_t extreme(const struct surrogate *s, double caution, float sign) {
  float factor = (float)caution * magnitude(s);
  size_t place = lanes_least(s->mean, s->deviation, s->hole, -factor, sign, POOL);
  return s->hole[place] == 0 ? (uint32_t)place : POOL;
}

uint32_t surrogate_lowest(const struct surrogate *s, double caution) {
  return extreme(s, caution, 1);
}

uint32_t surrogate_highest(const struct surrogate *s, double caution) {
  return extreme(s, caution, -1);
}

uint32_t surrogate_most_improving(const struct surrogate *s) {
  double found = -1, goal = s->size ? (s->lowest - s->centre) / s->scale : 0;
  uint32_t place = POOL;
  for (uint32_t p = 0; p < POOL; p++) {
    if (s->hole[p] != 0) continue;
    double mean, deviation;
    surrogate_predict(s, p, &mean, &deviation);
    double u = (goal - mean) / deviation;
    double gain = deviation * (u * 0.5 * erfc(-u * 0.70710678118654752) + exp(-u * u / 2) * 0.3989422804014327);
    if (gain > found) found = gain, place = p;
  }
  return place;
}
