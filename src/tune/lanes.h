/*
 * lanes.h - sums over arrays of floats, eight lanes at a time: the inner loops of the surrogate.
 *
 * With and without AVX the same lanes are added in the same order and nothing is contracted, so that a search takes the
 * same way on every processor. Arrays are as long as the next multiple of LANES_BLOCK, and rows of matrices that far
 * apart.
 */
#ifndef LUHIP_TUNE_LANES_H
#define LUHIP_TUNE_LANES_H

#include <stddef.h>

enum { LANES_BLOCK = 32 };

/* The sum of a[i] * b[i] over n values, and over those behind them up to a multiple of eight: one of the arrays is zero
   there. */
float lanes_dot(const float *a, const float *b, size_t n);
/* y[i] += factor * x[i]; n is a multiple of eight. */
void lanes_add(float *y, float factor, const float *x, size_t n);
/* y[i] = the sum over k < rows of factors[k * step] * x[k * stride + i], for n values; n is a multiple of LANES_BLOCK. */
void lanes_sum(float *y, const float *factors, size_t step, const float *x, size_t rows, size_t stride, size_t n);
/* y = L factors, of n values, where columns[k * stride + i] is the element of row i and column k, zero where i < k. What
   is behind them in y is undefined. */
void lanes_lower(float *y, const float *factors, const float *columns, size_t n, size_t stride);
/* y = L' factors, of n values, where rows[i * stride + k] is the element of L, zero where i < k. */
void lanes_upper(float *y, const float *factors, const float *rows, size_t n, size_t stride);
/* y[i] = the root of x[i], which counts as at least `least`; n is a multiple of eight. */
void lanes_roots(float *y, const float *x, float least, size_t n);
/* The place of the least sign * (x[i] + factor * y[i]) + out[i], the first of equal ones; n is a multiple of eight. */
size_t lanes_least(const float *x, const float *y, const float *out, float factor, float sign, size_t n);

#endif
