/*
 * lanes.c - see lanes.h. Each function is compiled twice, for what every x86-64 has and for AVX; AVX alone has no fused
 * multiplication, so both round alike. Sums are kept in registers, four times eight lanes, while rows go by.
 */
#include "tune/lanes.h"

#include <math.h>
#include <stdint.h>

enum { LANES = 8, FOUR = LANES_BLOCK / LANES };

typedef float lane __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));

#define INLINE static inline __attribute__((always_inline))

INLINE float dot(const float *a, const float *b, size_t n) {
  lane sum = {0};
  for (size_t i = 0; i < n; i += LANES) sum += *(const lane *)(a + i) * *(const lane *)(b + i);
  float pairs[LANES / 2];
  for (size_t k = 0; k < LANES / 2; k++) pairs[k] = sum[k] + sum[k + LANES / 2];
  return (pairs[0] + pairs[2]) + (pairs[1] + pairs[3]);
}

INLINE void add(float *y, float factor, const float *x, size_t n) {
  for (size_t i = 0; i < n; i += LANES) *(lane *)(y + i) += factor * *(const lane *)(x + i);
}

/* One block of a sum over rows. */
INLINE void sum_block(float *y, const float *factors, size_t step, const float *x, size_t first, size_t behind,
                      size_t stride) {
  lane a = {0}, b = {0}, c = {0}, d = {0};
  for (size_t k = first; k < behind; k++) {
    const lane *row = (const lane *)(x + k * stride);
    float factor = factors[k * step];
    a += factor * row[0];
    b += factor * row[1];
    c += factor * row[2];
    d += factor * row[3];
  }
  lane *out = (lane *)y;
  out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

INLINE void sum(float *y, const float *factors, size_t step, const float *x, size_t rows, size_t stride, size_t n) {
  for (size_t i = 0; i < n; i += LANES_BLOCK) sum_block(y + i, factors, step, x + i, 0, rows, stride);
}

INLINE void lower(float *y, const float *factors, const float *columns, size_t n, size_t stride) {
  for (size_t i = 0; i < n; i += LANES_BLOCK)
    sum_block(y + i, factors, 1, columns + i, 0, i + LANES_BLOCK < n ? i + LANES_BLOCK : n, stride);
}

INLINE void upper(float *y, const float *factors, const float *rows, size_t n, size_t stride) {
  for (size_t k = 0; k < n; k += LANES_BLOCK) sum_block(y + k, factors, 1, rows + k, k, n, stride);
}

INLINE void roots(float *restrict y, const float *restrict x, float least, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = sqrtf(x[i] > least ? x[i] : least);
}

/* One of two by the mask of a comparison, lane by lane. */
INLINE void choose(lane *values, const lane *others, const mask *which) {
  *values = (lane)(((mask)*others & *which) | ((mask)*values & ~*which));
}

/* Each lane keeps its least value and where it was: places are exact as floats. */
INLINE size_t find_least(const float *x, const float *y, const float *out, float factor, float sign, size_t n) {
  lane values = {0}, places = {0, 1, 2, 3, 4, 5, 6, 7}, here = places;
  values += INFINITY;
  for (size_t i = 0; i < n; i += LANES, here += LANES) {
    lane value = sign * (*(const lane *)(x + i) + factor * *(const lane *)(y + i)) + *(const lane *)(out + i);
    mask less = value < values;
    choose(&places, &here, &less);
    choose(&values, &value, &less);
  }
  size_t best = 0;
  for (size_t k = 1; k < LANES; k++)
    if (values[k] < values[best] || (values[k] == values[best] && places[k] < places[best])) best = k;
  return (size_t)places[best];
}

#if defined __x86_64__
#define AVX __attribute__((target("avx"))) static
#define HAS_AVX() __builtin_cpu_supports("avx")
#else
#define AVX static
#define HAS_AVX() 0
#endif

/* A public function that calls the one or the other. */
#define TWICE(type, name, body, parameters, arguments)                                                                 \
  AVX type name##_avx parameters {                                                                                     \
    return body arguments;                                                                                             \
  }                                                                                                                    \
  type name parameters {                                                                                               \
    return HAS_AVX() ? name##_avx arguments : body arguments;                                                          \
  }

TWICE(float, lanes_dot, dot, (const float *a, const float *b, size_t n), (a, b, n))
TWICE(void, lanes_add, add, (float *y, float factor, const float *x, size_t n), (y, factor, x, n))
TWICE(void, lanes_sum, sum,
      (float *y, const float *factors, size_t step, const float *x, size_t rows, size_t stride, size_t n),
      (y, factors, step, x, rows, stride, n))
TWICE(void, lanes_lower, lower, (float *y, const float *factors, const float *columns, size_t n, size_t stride),
      (y, factors, columns, n, stride))
TWICE(void, lanes_upper, upper, (float *y, const float *factors, const float *rows, size_t n, size_t stride),
      (y, factors, rows, n, stride))
TWICE(void, lanes_roots, roots, (float *y, const float *x, float least, size_t n), (y, x, least, n))
TWICE(size_t, lanes_least, find_least,
      (const float *x, const float *y, const float *out, float factor, float sign, size_t n),
      (x, y, out, factor, sign, n))
