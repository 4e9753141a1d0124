/*
 * lanes.h - sums over arrays of floats, eight lanes at a time: the inner loops of the surrogate.
 *
 * With and without AVX the same lanes are added in the same order and nothing is contracted, so that a search takes the
 * same way on every processor.
 */
#ifndef LUHIP_TUNE_LANES_H
#define LUHIP_TUNE_LANES_H

#include <stddef.h>

/* The sum of a[i] * b[i] over n values, and over those behind them up to a multiple of eight: one of the arrays is zero
   there. */
float lanes_dot(const float *a, const float *b, size_t n);
/* y[i] -= the sum over k < rows of factors[k] * x[k * stride + i], for n values; n is a multiple of eight. */
void lanes_reduce(float *y, const float *factors, const float *x, size_t rows, size_t stride, size_t n);
/* y[i] += factor * x[i]; n is a multiple of eight. */
void lanes_add(float *y, float factor, const float *x, size_t n);

#endif
