/*
 * explorer.c - see explorer.h.
 *
 * Every index that was proposed, told or is in the pool has a mark, so that no candidate is there twice. A candidate
 * that comes when the pool is full takes the place of the one with the highest bound.
 */
#include "tune/explorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/random.h"
#include "tune/space.h"
#include "tune/surrogate.h"
#include "tune/visited.h"

enum { POOL = SURROGATE_POOL, NEAR = 64, OFFERED = 2, SWEPT = 6, TRIES = 8, TOLD = 256 };
enum { FREE, TAKEN, POOLED };

struct explorer {
  const struct tune_space *space;
  struct surrogate *model;
  struct visited visited;
  uint64_t random, count, taken;
  uint32_t axes, first;
  uint32_t *open, open_count; /* the axes with more than one value */
  uint64_t pool[POOL];
  bool filled[POOL];
  uint32_t empty; /* places of the pool */
  double caution;
  uint64_t told[TOLD]; /* a sample of those with a cost, for mutation */
  double costs[TOLD];
  uint32_t told_count;
  uint64_t best, centre; /* centre: whose neighbours were offered */
  double best_cost;
  uint32_t *digits, *other;
  uint64_t *near;
};

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* The values as numbers; false: some are text. */
static bool to_numbers(const struct tune_value *values, uint32_t count, double *numbers) {
  for (uint32_t i = 0; i < count; i++) {
    if (values[i].kind != TUNE_INT && values[i].kind != TUNE_FLOAT && values[i].kind != TUNE_BOOL) return false;
    numbers[i] = values[i].kind == TUNE_FLOAT ? values[i].u.f : (double)values[i].u.i;
  }
  return true;
}

static struct surrogate *make_model(const struct tune_space *space) {
  uint32_t n = tune_space_axes(space), made = 0;
  struct surrogate_axis *axes = calloc(n, sizeof *axes);
  struct surrogate *model = NULL;
  for (; axes && made < n; made++) {
    const struct tune_value *values;
    uint32_t count = tune_space_values(space, made, &values);
    double *numbers = malloc(count * sizeof *numbers);
    if (!numbers) goto end;
    bool ordered = to_numbers(values, count, numbers);
    if (!ordered) free(numbers);
    axes[made] = (struct surrogate_axis){count, ordered ? numbers : NULL};
  }
  if (axes) model = surrogate_new(axes, n);
end:
  for (uint32_t i = 0; i < made; i++) free((void *)axes[i].values);
  free(axes);
  return model;
}

struct explorer *explorer_new(const struct tune_space *space, uint64_t seed, uint32_t first) {
  struct explorer *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->space = space, e->random = seed, e->first = first;
  e->count = tune_space_count(space), e->axes = tune_space_axes(space);
  e->empty = POOL;
  e->best = e->centre = UINT64_MAX;
  e->digits = calloc(e->axes, sizeof *e->digits);
  e->other = calloc(e->axes, sizeof *e->other);
  e->near = malloc(NEAR * sizeof *e->near);
  e->model = make_model(space);
  e->open = calloc(e->axes, sizeof *e->open);
  const struct tune_value *values;
  for (uint32_t a = 0; e->open && a < e->axes; a++)
    if (tune_space_values(space, a, &values) > 1) e->open[e->open_count++] = a;
  if (e->digits && e->other && e->near && e->open && e->model) return e;
  explorer_free(e);
  return NULL;
}

void explorer_free(struct explorer *e) {
  if (!e) return;
  surrogate_free(e->model);
  visited_free(&e->visited);
  free(e->digits);
  free(e->other);
  free(e->near);
  free(e->open);
  free(e);
}

/* ---- candidates ------------------------------------------------------------------------------------------------ */

/* Puts a candidate into an empty place, or that of the highest bound. false: no memory. */
static bool put(struct explorer *e, uint64_t index, const uint32_t *digits) {
  uint32_t place = 0;
  if (!visited_set(&e->visited, index, POOLED)) return false;
  if (e->empty == 0) {
    place = surrogate_highest(e->model, isnan(e->caution) ? 1 : e->caution);
    visited_set(&e->visited, e->pool[place], FREE); /* it is in the table: no memory is needed */
  } else {
    while (e->filled[place]) place++;
    e->filled[place] = true;
    e->empty--;
  }
  e->pool[place] = index;
  surrogate_put(e->model, place, digits);
  return true;
}

static bool offer_index(struct explorer *e, uint64_t index) {
  if (visited_get(&e->visited, index) != FREE) return true;
  tune_space_nth(e->space, index, e->other);
  return put(e, index, e->other);
}

static bool offer_random(struct explorer *e) {
  for (int i = 0; i < TRIES; i++) {
    uint64_t index = random_below(&e->random, e->count);
    if (visited_get(&e->visited, index) == FREE) return offer_index(e, index);
  }
  return true;
}

/* One that did well: the best, or the best of three. */
static uint64_t parent(struct explorer *e) {
  if (e->best != UINT64_MAX && random_next(&e->random) >> 63) return e->best;
  uint32_t found = (uint32_t)random_below(&e->random, e->told_count);
  for (int i = 0; i < 2; i++) {
    uint32_t other = (uint32_t)random_below(&e->random, e->told_count);
    if (e->costs[other] < e->costs[found]) found = other;
  }
  return e->told[found];
}

/* A good configuration, two times of three with one digit drawn anew. */
static void mutate(struct explorer *e, uint32_t *digits) {
  tune_space_nth(e->space, parent(e), digits);
  if (random_below(&e->random, 3) == 0) return;
  uint32_t axis = e->open[random_below(&e->random, e->open_count)];
  const struct tune_value *values;
  digits[axis] = (uint32_t)random_below(&e->random, tune_space_values(e->space, axis, &values));
}

static bool is_new(const struct explorer *e, const uint32_t *digits, uint64_t *index) {
  return tune_space_find(e->space, digits, index) && visited_get(&e->visited, *index) == FREE;
}

/* A new configuration with the lowest estimate of those that differ in one group of axes; false: the lowest ones are none
   or not new. */
static bool sweep(struct explorer *e, uint32_t *digits, uint64_t *index) {
  float estimates[SURROGATE_SWEEP];
  uint32_t group = (uint32_t)random_below(&e->random, surrogate_groups(e->model));
  uint32_t count = surrogate_sweep(e->model, digits, group, estimates);
  if (count == 0) return is_new(e, digits, index);
  for (uint32_t i = 0; i < SWEPT && i < count; i++) {
    uint32_t least = 0;
    for (uint32_t j = 1; j < count; j++)
      if (estimates[j] < estimates[least]) least = j;
    surrogate_set(e->model, group, least, digits);
    if (is_new(e, digits, index)) return true;
    estimates[least] = INFINITY;
  }
  return false;
}

/* A configuration like a good one, and made better by what the model tells. */
static bool offer_mutant(struct explorer *e) {
  uint64_t index;
  if (e->told_count == 0 || e->open_count == 0) return true;
  mutate(e, e->other);
  return sweep(e, e->other, &index) ? put(e, index, e->other) : offer_random(e);
}

/* Neighbours of the best, a random sample where there are many: axis and digit are drawn, not listed, where listing
   would be long. */
static bool offer_neighbours(struct explorer *e) {
  uint32_t kept = 0;
  uint64_t met = 0, index;
  e->centre = e->best;
  tune_space_nth(e->space, e->best, e->digits);
  for (uint32_t a = 0; a < e->axes; a++) {
    const struct tune_value *values;
    uint32_t n = tune_space_values(e->space, a, &values), own = e->digits[a], step = n > NEAR * 4 ? n / (NEAR * 4) : 1;
    for (uint32_t d = step > 1 ? (uint32_t)random_below(&e->random, step) : 0; d < n; d += step) {
      e->digits[a] = d;
      if (d == own || !is_new(e, e->digits, &index)) continue;
      uint64_t at = met < NEAR ? met : random_below(&e->random, met + 1); /* reservoir sampling */
      if (at < NEAR) e->near[at] = index;
      met++;
    }
    e->digits[a] = own;
  }
  kept = met < NEAR ? (uint32_t)met : NEAR;
  for (uint32_t i = 0; i < kept; i++)
    if (!offer_index(e, e->near[i])) return false;
  return true;
}

/* ---- what is next ---------------------------------------------------------------------------------------------- */

static bool take(struct explorer *e, uint64_t index) {
  if (visited_get(&e->visited, index) != TAKEN) e->taken++;
  return visited_set(&e->visited, index, TAKEN);
}

/* One that nobody took: drawn, or the next such one behind the last draw. */
static bool take_any(struct explorer *e, uint64_t *found) {
  if (e->taken >= e->count) return false;
  uint64_t index = 0;
  for (int i = 0; i < TRIES; i++) {
    index = random_below(&e->random, e->count);
    if (visited_get(&e->visited, index) == FREE) break;
  }
  while (visited_get(&e->visited, index) == TAKEN) index = (index + 1) % e->count;
  for (uint32_t p = 0; p < POOL; p++) {
    if (!e->filled[p] || e->pool[p] != index) continue;
    e->filled[p] = false;
    e->empty++;
    surrogate_clear(e->model, p);
  }
  *found = index;
  return take(e, index);
}

static bool fill(struct explorer *e) {
  uint32_t wanted = e->empty;
  if (wanted == POOL) { /* the first time */
    for (uint32_t i = 0; i < wanted; i++)
      if (!offer_random(e)) return false;
  } else if (!offer_random(e)) {
    return false;
  }
  return true;
}

bool explorer_next(struct explorer *e, double caution, uint64_t *index) {
  e->caution = caution;
  if (surrogate_size(e->model) == 0 || e->taken < e->first) return take_any(e, index);
  if (!fill(e)) return false;
  surrogate_update(e->model);
  if (e->best != UINT64_MAX && e->best != e->centre && !offer_neighbours(e)) return false;
  for (int i = 0; i < OFFERED; i++)
    if (!offer_mutant(e)) return false;
  uint32_t place = isnan(caution) ? surrogate_most_improving(e->model) : surrogate_lowest(e->model, caution);
  if (place == POOL) return take_any(e, index);
  *index = e->pool[place];
  e->filled[place] = false;
  e->empty++;
  surrogate_clear(e->model, place);
  return take(e, *index);
}

/* A cost for mutation to choose from; beyond TOLD of them a random one makes room. */
static void remember(struct explorer *e, uint64_t index, double cost) {
  uint32_t at = e->told_count < TOLD ? e->told_count++ : (uint32_t)random_below(&e->random, TOLD);
  e->told[at] = index;
  e->costs[at] = cost;
}

bool explorer_tell(struct explorer *e, uint64_t index, double cost) {
  for (uint32_t p = 0; visited_get(&e->visited, index) == POOLED && p < POOL; p++) {
    if (!e->filled[p] || e->pool[p] != index) continue;
    e->filled[p] = false;
    e->empty++;
    surrogate_clear(e->model, p);
  }
  if (!take(e, index)) return false;
  tune_space_nth(e->space, index, e->digits);
  surrogate_add(e->model, e->digits, cost);
  if (!isfinite(cost)) return true;
  remember(e, index, cost);
  if (e->best == UINT64_MAX || cost < e->best_cost) e->best = index, e->best_cost = cost;
  return true;
}
