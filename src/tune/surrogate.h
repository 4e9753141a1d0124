/*
 * surrogate.h - a model of cost over configurations, learned from those measured so far: a Gaussian process.
 *
 * Configurations are digits, one per axis. Two are alike as far as their digits are close, axis by axis: the correlation
 * is a product of exponential terms with a length for each axis. Where it explains the data better, an axis's values also
 * count as close when equally large powers of two divide them, since alignment matters to devices. Lengths are found by
 * maximising the likelihood of (at most 31 of) the data.
 *
 * A pool of candidates is kept at hand: the prediction for each is updated, not computed anew, when a cost is added.
 * Time per added cost grows with the number of costs; the oldest bad ones are dropped beyond SURROGATE_MOST.
 *
 * Single precision, in a fixed order of operations: the same calls give the same answers. One thread at a time.
 * The method: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1 and chapter 5;
 * lower confidence bounds: Srinivas et al., ICML 2010.
 */
#ifndef LUHIP_TUNE_SURROGATE_H
#define LUHIP_TUNE_SURROGATE_H

#include <stdbool.h>
#include <stdint.h>

enum { SURROGATE_POOL = 128, SURROGATE_MOST = 96, SURROGATE_SWEEP = 64 };

struct surrogate;

/* An axis: how many values it has, and these as numbers; NULL: they have no order (texts). */
struct surrogate_axis {
  uint32_t count;
  const double *values;
};

/* NULL: no memory. The axes' values are copied. */
struct surrogate *surrogate_new(const struct surrogate_axis *axes, uint32_t axis_count);
void surrogate_free(struct surrogate *s);

/* What a configuration cost: lower is better; not a finite number: it failed, and counts as the worst so far. */
void surrogate_add(struct surrogate *s, const uint32_t *digits, double cost);
/* How many costs the model rests on. */
uint32_t surrogate_size(const struct surrogate *s);

/* Places of the pool, 0 to SURROGATE_POOL - 1. A place is empty until it is given a candidate, and after it is cleared. */
void surrogate_put(struct surrogate *s, uint32_t place, const uint32_t *digits);
void surrogate_clear(struct surrogate *s, uint32_t place);
/* Brings the predictions up to date; before best and worst. */
void surrogate_update(struct surrogate *s);
/* Predictions, as of the last update, for configurations that differ in some axes, a group, alone: their joint digit is
   each of its values in turn. How many groups there are; how many values, at most SURROGATE_SWEEP, for which estimates
   has room; 0: the group has one, or too many. */
uint32_t surrogate_groups(const struct surrogate *s);
uint32_t surrogate_sweep(const struct surrogate *s, const uint32_t *digits, uint32_t group, float *estimates);
/* The digits with a joint digit of a group. */
void surrogate_set(const struct surrogate *s, uint32_t group, uint32_t joint, uint32_t *digits);
/* The place whose candidate has the lowest bound, prediction - caution * deviation, or the highest, or the highest
   expected improvement; SURROGATE_POOL when all are empty. */
uint32_t surrogate_lowest(const struct surrogate *s, double caution);
uint32_t surrogate_highest(const struct surrogate *s, double caution);
uint32_t surrogate_most_improving(const struct surrogate *s);
/* Prediction and deviation for a place, in the model's own units (smaller is better, 0 is the mean of the data). */
void surrogate_predict(const struct surrogate *s, uint32_t place, double *mean, double *deviation);

#endif
