/*
 * exact.h - exponential and logarithm of basic operations alone, so that they are the same on every machine: those of C
 * libraries differ in their last digit, also by processor. Within 1e-12 of the value.
 */
#ifndef LUHIP_TUNE_EXACT_H
#define LUHIP_TUNE_EXACT_H

#include <math.h>

#define EXACT_LOG_2 0.69314718055994530942

/* Of a positive finite number: m 2^e with m within a factor of sqrt 2 of 1, and log m = 2 artanh((m - 1) / (m + 1)). */
static inline double exact_log(double x) {
  int e;
  double m = frexp(x, &e);
  if (m < 0.70710678118654752) m *= 2, e--;
  double s = (m - 1) / (m + 1), q = s * s, sum = 0;
  for (int k = 17; k > 0; k -= 2) sum = sum * q + 1.0 / k;
  return 2 * s * sum + e * EXACT_LOG_2;
}

/* Of a number from -700 to 700: 2^e times the first terms of the series for what remains. */
static inline double exact_exp(double x) {
  static const double inverses[] = {1,       1,       1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5,
                                    1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9, 1.0 / 10};
  double e = floor(x / EXACT_LOG_2 + 0.5), r = x - e * EXACT_LOG_2, sum = 1;
  for (int k = 10; k > 0; k--) sum = 1 + sum * (r * inverses[k]);
  return ldexp(sum, (int)e);
}

#endif
