/*
 * decimal.h - doubles from decimal digits and the other way round, several times as fast as strtod and printf, for most
 * numbers that are met in files of measurements. What these functions decline is for those.
 */
#ifndef LUHIP_BASE_DECIMAL_H
#define LUHIP_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* digits / 10^decimals, correctly rounded; false where that takes more than a long double has. */
bool decimal_read(uint64_t digits, int decimals, double *number);
/* Digits, 17 at most, with which *digits / 10^*decimals, correctly rounded, is the number, which is positive and finite. They
   are few where the number has nine decimals at most. */
bool decimal_write(double number, uint64_t *digits, int *decimals);

#endif
