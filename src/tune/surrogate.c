/*
 * surrogate.c - the posterior of the process, for the pool. See surrogate.h.
 *
 * With K the correlations of the costs so far, K = L L', and V = L^-1 K(costs, pool), the prediction for the pool is
 * V' L^-1 y and its variance 1 - the sum over rows of V^2. A new cost adds a row to L and to V and changes nothing else.
 *
 * Targets y are the logarithm of how much worse than the best a cost is, plus a fifth: differences near the best count,
 * those among bad ones hardly do. They are scaled anew when the best changes, which costs a pass over V.
 */
#include "tune/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/lanes.h"
#include "tune/surrogate_fields.h"

enum { POOL = SURROGATE_POOL, MOST = SURROGATE_MOST, FIT_FIRST = 6, FIT_LAST = 70, JOINT = 128 };
#define FIT_GROWTH 1.7f
#define RESOLUTION 0.2

/* A variance that rounding has not made nothing or less. */
static inline float at_least(float variance) {
  return variance > 1e-6f ? variance : 1e-6f;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static bool allocate(struct surrogate *s, uint32_t axis_count) {
  s->axes = calloc(axis_count, sizeof *s->axes);
  s->costs = malloc(MOST * sizeof *s->costs);
  s->raw = malloc(MOST * sizeof *s->raw);
  s->digits = malloc((size_t)axis_count * MOST * sizeof *s->digits);
  s->factor = calloc((size_t)MOST * MOST, sizeof *s->factor);
  s->diagonal = malloc(MOST * sizeof *s->diagonal);
  s->solved = calloc(MOST, sizeof *s->solved);
  s->weights = calloc(MOST, sizeof *s->weights);
  s->groups = calloc(axis_count, sizeof *s->groups);
  s->joint = calloc((size_t)axis_count * MOST, sizeof *s->joint);
  s->pool_joint = calloc((size_t)axis_count * POOL, sizeof *s->pool_joint);
  s->pool_rows = malloc((size_t)MOST * POOL * sizeof *s->pool_rows);
  s->mean = calloc(POOL, sizeof *s->mean);
  s->variance = calloc(POOL, sizeof *s->variance);
  s->deviation = calloc(POOL, sizeof *s->deviation);
  s->filled = calloc(POOL, sizeof *s->filled);
  return s->axes && s->costs && s->raw && s->digits && s->factor && s->diagonal && s->solved && s->weights &&
         s->groups && s->joint && s->pool_joint && s->pool_rows && s->mean && s->variance && s->deviation && s->filled;
}

static void make_groups(struct surrogate *s) {
  for (uint32_t a = 0; a < s->axis_count; a++) {
    struct surrogate_group *g = s->group_count ? &s->groups[s->group_count - 1] : NULL;
    uint32_t count = s->axes[a].count;
    if (g && (uint64_t)g->size * count <= JOINT) {
      g->size *= count;
      g->count++;
    } else {
      s->groups[s->group_count++] = (struct surrogate_group){a, 1, count};
    }
  }
}

struct surrogate *surrogate_new(const struct surrogate_axis *axes, uint32_t axis_count) {
  struct surrogate *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->axis_count = axis_count;
  if (!allocate(s, axis_count)) goto fail;
  for (uint32_t i = 0; i < axis_count; i++)
    if (!correlation_init(&s->axes[i], axes[i].count, axes[i].values)) goto fail;
  make_groups(s);
  s->next_fit = FIT_FIRST;
  surrogate_unfit(s);
  return s;
fail:
  surrogate_free(s);
  return NULL;
}

void surrogate_free(struct surrogate *s) {
  if (!s) return;
  for (uint32_t i = 0; s->axes && i < s->axis_count; i++) correlation_free(&s->axes[i]);
  free(s->axes);
  free(s->costs);
  free(s->raw);
  free(s->digits);
  free(s->factor);
  free(s->diagonal);
  free(s->solved);
  free(s->weights);
  free(s->groups);
  free(s->joint);
  free(s->pool_joint);
  free(s->pool_rows);
  free(s->mean);
  free(s->variance);
  free(s->deviation);
  free(s->filled);
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
  for (uint32_t i = 0; i < s->size; i++) sum += isfinite(s->costs[i]) ? s->costs[i] : 0;
  return sum / s->finite;
}

/* Moves one cost and its digits to an earlier place. */
static void move_cost(struct surrogate *s, uint32_t from, uint32_t to) {
  s->costs[to] = s->costs[from];
  for (uint32_t a = 0; a < s->axis_count; a++) s->digits[a * MOST + to] = s->digits[a * MOST + from];
  for (uint32_t g = 0; g < s->group_count; g++) s->joint[g * MOST + to] = s->joint[g * MOST + from];
}

static int compare_costs(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Makes room: of the older three quarters, the worse half goes. */
static void forget(struct surrogate *s) {
  double sorted[MOST] = {0};
  uint32_t old = s->size - s->size / 4, kept = 0, room = old / 2;
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

static void join(const struct surrogate *s, const uint32_t *digits, uint32_t *joint, size_t stride) {
  for (uint32_t i = 0; i < s->group_count; i++) {
    const struct surrogate_group *g = &s->groups[i];
    uint32_t sum = 0;
    for (uint32_t a = g->first + g->count; a-- > g->first;) sum = sum * s->axes[a].count + digits[a];
    joint[i * stride] = sum;
  }
}

void surrogate_add(struct surrogate *s, const uint32_t *digits, double cost) {
  if (s->size == MOST) forget(s);
  for (uint32_t a = 0; a < s->axis_count; a++) s->digits[a * MOST + s->size] = digits[a];
  join(s, digits, s->joint + s->size, MOST);
  s->costs[s->size++] = isfinite(cost) ? cost : NAN;
  note_cost(s, cost);
}

uint32_t surrogate_size(const struct surrogate *s) {
  return s->size;
}

/* ---- targets --------------------------------------------------------------------------------------------------- */

/* How much worse than the best, relative to it where costs have one sign, else to the spread. */
static double excess(const struct surrogate *s, double cost, double spread) {
  if (s->best > 0) return log(cost / s->best);
  if (s->worst < 0) return log(s->best / cost);
  return spread > 0 ? (cost - s->best) / spread : 0;
}

static float target(const struct surrogate *s, double cost, double spread) {
  double x = isnan(cost) ? s->worst : cost;
  return s->finite == 0 ? 0 : (float)log(excess(s, x, spread) + RESOLUTION);
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

static void solve_target(struct surrogate *s, uint32_t i) {
  const float *row = s->factor + (size_t)i * MOST;
  s->solved[i] = ((s->raw[i] - s->centre) / s->scale - lanes_dot(s->solved, row, i)) / s->diagonal[i];
}

/* Everything that follows from the targets, for the rows that are there. */
static void reframe(struct surrogate *s) {
  frame(s);
  memset(s->mean, 0, POOL * sizeof *s->mean);
  for (uint32_t i = 0; i < s->rows; i++) {
    solve_target(s, i);
    lanes_add(s->mean, s->solved[i], s->pool_rows + (size_t)i * POOL, POOL);
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* out[i] *= the correlation of these digits with the joint digits others[i], for one group of axes. */
static void correlate_group(const struct surrogate *s, const struct surrogate_group *g, const uint32_t *digits,
                            size_t step, const uint32_t *others, size_t n, float *out) {
  if (g->count == 1) {
    correlation_multiply(&s->axes[g->first], digits[g->first * step], others, n, out);
    return;
  }
  float table[JOINT] = {1}, row[JOINT];
  uint32_t size = 1;
  for (uint32_t a = g->first; a < g->first + g->count; a++) {
    uint32_t count = s->axes[a].count;
    if (count == 1) continue;
    correlation_row(&s->axes[a], digits[a * step], row);
    for (uint32_t r = count; r-- > 0;)
      for (uint32_t k = 0; k < size; k++) table[r * size + k] = row[r] * table[k];
    size *= count;
  }
  for (size_t i = 0; i < n; i++) out[i] *= table[others[i]];
}

/* out[i] = the correlation of digits (one every `step`) with the i-th of n configurations, given by joint digits. */
static void correlate(const struct surrogate *s, const uint32_t *digits, size_t step, const uint32_t *joint,
                      size_t stride, size_t n, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = 1;
  for (uint32_t g = 0; g < s->group_count; g++)
    correlate_group(s, &s->groups[g], digits, step, joint + g * stride, n, out);
}

static void add_factor_row(struct surrogate *s, uint32_t i) {
  float *row = s->factor + (size_t)i * MOST;
  correlate(s, s->digits + i, MOST, s->joint, MOST, i, row);
  for (uint32_t j = 0; j < i; j++) {
    const float *other = s->factor + (size_t)j * MOST;
    row[j] = (row[j] - lanes_dot(row, other, j)) / s->diagonal[j];
  }
  s->diagonal[i] = sqrtf(at_least(1 + SURROGATE_NOISE - lanes_dot(row, row, i)));
}

static void add_pool_row(struct surrogate *s, uint32_t i) {
  float *row = s->pool_rows + (size_t)i * POOL;
  const float *factor = s->factor + (size_t)i * MOST;
  correlate(s, s->digits + i, MOST, s->pool_joint, POOL, POOL, row);
  lanes_reduce(row, factor, s->pool_rows, i, POOL, POOL);
  float inverse = 1 / s->diagonal[i];
  for (uint32_t p = 0; p < POOL; p++) {
    row[p] *= inverse;
    s->variance[p] -= row[p] * row[p];
  }
}

/* The mean of any configuration is the sum of its correlations with the costs, each times its weight. */
static void weigh(struct surrogate *s) {
  memcpy(s->weights, s->solved, s->rows * sizeof *s->weights);
  for (uint32_t i = s->rows; i-- > 0;) {
    s->weights[i] /= s->diagonal[i];
    lanes_add(s->weights, -s->weights[i], s->factor + (size_t)i * MOST, i);
  }
}

void surrogate_update(struct surrogate *s) {
  if (s->size >= s->next_fit && s->size <= FIT_LAST) {
    s->next_fit = (uint32_t)((float)s->size * FIT_GROWTH);
    frame(s);
    if (surrogate_fit(s)) s->rows = 0;
    s->framed = 0;
  }
  if (s->rows == 0)
    for (uint32_t p = 0; p < POOL; p++) s->variance[p] = 1;
  if (s->size > 0 && (s->framed == 0 || s->size > s->framed + s->framed / 4 + 4)) reframe(s);
  double spread = s->finite ? mean_cost(s) - s->best : 0;
  for (; s->rows < s->size; s->rows++) {
    add_factor_row(s, s->rows);
    add_pool_row(s, s->rows);
    s->raw[s->rows] = target(s, s->costs[s->rows], spread);
    solve_target(s, s->rows);
    lanes_add(s->mean, s->solved[s->rows], s->pool_rows + (size_t)s->rows * POOL, POOL);
  }
  for (uint32_t p = 0; p < POOL; p++) s->deviation[p] = sqrtf(at_least(s->variance[p]));
  weigh(s);
}

/* ---- the pool -------------------------------------------------------------------------------------------------- */

void surrogate_put(struct surrogate *s, uint32_t place, const uint32_t *digits) {
  float column[MOST] = {0};
  join(s, digits, s->pool_joint + place, POOL);
  s->filled[place] = true;
  correlate(s, digits, 1, s->joint, MOST, s->rows, column);
  for (uint32_t i = 0; i < s->rows; i++) {
    const float *row = s->factor + (size_t)i * MOST;
    column[i] = (column[i] - lanes_dot(row, column, i)) / s->diagonal[i];
    s->pool_rows[(size_t)i * POOL + place] = column[i];
  }
  s->variance[place] = 1 - lanes_dot(column, column, s->rows);
  s->deviation[place] = sqrtf(at_least(s->variance[place]));
  s->mean[place] = lanes_dot(column, s->solved, s->rows);
}

void surrogate_clear(struct surrogate *s, uint32_t place) {
  s->filled[place] = false;
}

double surrogate_estimate(const struct surrogate *s, const uint32_t *digits) {
  float column[MOST] = {0};
  correlate(s, digits, 1, s->joint, MOST, s->rows, column);
  return lanes_dot(column, s->weights, s->rows);
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
  float factor = (float)caution * magnitude(s), found = INFINITY;
  uint32_t place = POOL;
  for (uint32_t p = 0; p < POOL; p++) {
    if (!s->filled[p]) continue;
    float bound = sign * (s->mean[p] - factor * s->deviation[p]);
    if (bound < found || place == POOL) found = bound, place = p;
  }
  return place;
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
    if (!s->filled[p]) continue;
    double mean, deviation;
    surrogate_predict(s, p, &mean, &deviation);
    double u = (goal - mean) / deviation;
    double gain = deviation * (u * 0.5 * erfc(-u * 0.70710678118654752) + exp(-u * u / 2) * 0.3989422804014327);
    if (gain > found) found = gain, place = p;
  }
  return place;
}
