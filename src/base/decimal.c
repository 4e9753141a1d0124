/*
 * decimal.c - doubles and decimal digits. See decimal.h.
 */
#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if LDBL_MANT_DIG == 64
/* What a long double of 64 bits holds exactly. */
static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                     1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                     1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/* The quotient is off by half a unit of a long double at most: unless that leaves open which side of a tie between two
   doubles it is on, rounding it gives the right one (the idea of Clinger, "How to read floating point numbers accurately",
   1990). */
bool decimal_read(uint64_t digits, int decimals, double *number) {
  if (decimals >= (int)(sizeof powers / sizeof *powers)) return false;
  long double quotient = (long double)digits / powers[decimals];
  uint64_t mantissa;
  memcpy(&mantissa, &quotient, sizeof mantissa);
  unsigned below = mantissa & 2047;
  if (below >= 1023 && below <= 1025) return false;
  *number = (double)quotient;
  return true;
}

/* With 16 digits, or 17, which do where they are off by less than half a unit; whether they do is tried. */
static bool many_digits(double number, uint64_t *digits, int *decimals) {
  double back;
  if (!(number >= 1e-5 && number < 1e15)) return false;
  int n = 15 - (int)floor(ilogb(number) * 0.30102999566398120);
  if ((long double)number * powers[n] >= 1e16L) n--;
  for (int i = 0; i < 2; i++, n++) {
    uint64_t found = (uint64_t)llrintl((long double)number * powers[n]);
    if (!decimal_read(found, n, &back) || back != number) continue;
    *digits = found;
    *decimals = n;
    return true;
  }
  return false;
}
#else
bool decimal_read(uint64_t digits, int decimals, double *number) {
  (void)digits, (void)decimals, (void)number;
  return false;
}

static bool many_digits(double number, uint64_t *digits, int *decimals) {
  (void)number, (void)digits, (void)decimals;
  return false;
}
#endif

bool decimal_write(double number, uint64_t *digits, int *decimals) {
  double scaled = number * 1e9; /* both are exact below 2^53, so their quotient is what reading the digits gives */
  if (scaled < 0x1p53) {
    uint64_t n = (uint64_t)llrint(scaled);
    if (n > 0 && (double)n / 1e9 == number) {
      *digits = n;
      *decimals = 9;
      return true;
    }
  }
  return many_digits(number, digits, decimals);
}
