/*
 * half.h - 16-bit floats from doubles, rounded to nearest, ties to even, in one step.
 */
#ifndef LUHIP_KERNEL_HALF_H
#define LUHIP_KERNEL_HALF_H

#include <stdint.h>

/* IEEE binary16, bfloat16. What is too large becomes infinity; a NaN stays one. */
uint16_t half_from_double(double value);
uint16_t bfloat16_from_double(double value);

#endif
