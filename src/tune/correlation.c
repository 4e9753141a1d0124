/*
 * correlation.c - the terms of one axis, tabulated by distance. See correlation.h.
 */
#include "tune/correlation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/exact.h"

enum { MOST_POWER = 8 };
#define FLOOR 0.4f

/* The power of two in a whole number; 0 for what is none. */
static uint8_t power_of_two(double value) {
  if (value == 0 || fabs(value) > 1e15 || value != floor(value)) return 0;
  int64_t whole = (int64_t)fabs(value);
  uint8_t power = 0;
  for (; whole % 2 == 0 && power < MOST_POWER; whole /= 2) power++;
  return power;
}

bool correlation_init(struct correlation *c, uint32_t count, const double *values) {
  *c = (struct correlation){.count = count, .ordered = values != NULL, .powers = 1};
  c->steps = count < CORRELATION_STEPS ? count : CORRELATION_STEPS;
  c->power = calloc(count, 1);
  if (!c->power) return false;
  for (uint32_t i = 0; values && count > 2 && i < count; i++) {
    c->power[i] = power_of_two(values[i]);
    if (c->power[i] >= c->powers) c->powers = c->power[i] + 1u;
  }
  c->terms = malloc((size_t)c->steps * c->powers * sizeof *c->terms);
  return c->terms != NULL;
}

void correlation_free(struct correlation *c) {
  free(c->power);
  free(c->terms);
  memset(c, 0, sizeof *c);
}

void correlation_set(struct correlation *c, float length, bool align) {
  c->length = length;
  c->align = align && c->powers > 1;
  double step = exact_exp(-1.0 / (length * (c->ordered && c->steps > 1 ? c->steps - 1 : 1)));
  double skew = c->align ? exact_exp(-0.5 / (length * (c->powers - 1))) : 1, apart = 1;
  for (uint32_t i = 0; i < c->steps; i++) {
    double shared = apart; /* the exponential of a distance is a product of those of its parts */
    for (uint32_t k = 0; k < c->powers; k++, shared *= skew)
      c->terms[i * c->powers + k] = FLOOR + (1 - FLOOR) * (float)shared;
    apart = c->ordered ? apart * step : step;
  }
}

void correlation_row(const struct correlation *c, uint32_t digit, float *row) {
  uint32_t i = 0;
  do row[i] = c->terms[correlation_index(c, digit, i)];
  while (++i < c->count);
}

void correlation_multiply(const struct correlation *c, uint32_t digit, const uint32_t *others, size_t n, float *out) {
  for (size_t i = 0; i < n; i++) out[i] *= c->terms[correlation_index(c, digit, others[i])];
}
