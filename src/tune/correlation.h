/*
 * correlation.h - how alike two configurations are: one axis's part of it. See surrogate.h.
 *
 * Digits i and j of an axis are |i - j| / (count - 1) apart; with `align`, the difference of the powers of two that
 * divide their values is added, scaled to at most a half. Values without order are 1 apart. The correlation falls with
 * the distance, but not to nothing: it is part of a product over axes, and configurations that differ in one axis alone
 * share all that does not depend on it (the ANOVA kernels of Stitson et al., 1999, and Duvenaud et al., NIPS 2011).
 */
#ifndef LUHIP_TUNE_CORRELATION_H
#define LUHIP_TUNE_CORRELATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { CORRELATION_STEPS = 256 }; /* distances told apart */

struct correlation {
  uint32_t count, steps;
  bool ordered;
  uint8_t *power; /* by digit: the power of two in its value */
  uint32_t powers;
  float length;
  bool align;   /* where powers > 1 */
  float *terms; /* by step and difference of powers: see correlation_index */
};

/* values: NULL for those without order. false: no memory; it can still be freed. */
bool correlation_init(struct correlation *c, uint32_t count, const double *values);
void correlation_free(struct correlation *c);
/* Sets the length (in units of the axis's whole width) and the use of alignment. */
void correlation_set(struct correlation *c, float length, bool align);
/* Which of the terms the correlation of two digits is, whatever length and alignment are. */
static inline uint32_t correlation_index(const struct correlation *c, uint32_t a, uint32_t b) {
  uint64_t step = a > b ? a - b : b - a;
  if (c->count > c->steps) step = (step * (c->steps - 1) + c->count - 2) / (c->count - 1); /* 0 for equal ones alone */
  return (uint32_t)step * c->powers + (uint32_t)abs(c->power[a] - c->power[b]);
}
/* row[i] = the correlation of `digit` with i. */
void correlation_row(const struct correlation *c, uint32_t digit, float *row);
/* out[i] *= the correlation of `digit` with others[i]. */
void correlation_multiply(const struct correlation *c, uint32_t digit, const uint32_t *others, size_t n, float *out);

#endif
