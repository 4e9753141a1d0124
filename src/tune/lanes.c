/*
 * lanes.c - see lanes.h. Each function is compiled twice, for what every x86-64 has and for AVX; AVX alone has no fused
 * multiplication, so both round alike.
 */
#include "tune/lanes.h"

enum { LANES = 8 };

static inline __attribute__((always_inline)) float dot(const float *a, const float *b, size_t n) {
  float sums[LANES] = {0};
  for (size_t i = 0; i < n; i += LANES)
    for (size_t k = 0; k < LANES; k++) sums[k] += a[i + k] * b[i + k];
  float pairs[LANES / 2];
  for (size_t k = 0; k < LANES / 2; k++) pairs[k] = sums[k] + sums[k + LANES / 2];
  return (pairs[0] + pairs[2]) + (pairs[1] + pairs[3]);
}

static inline __attribute__((always_inline)) void reduce(float *restrict y, const float *f, const float *restrict x,
                                                         size_t rows, size_t stride, size_t n) {
  size_t k = 0;
  for (; k + 4 <= rows; k += 4, x += 4 * stride) {
    const float *a = x, *b = x + stride, *c = b + stride, *d = c + stride;
    for (size_t i = 0; i < n; i += LANES)
      for (size_t j = i; j < i + LANES; j++)
        y[j] -= (f[k] * a[j] + f[k + 1] * b[j]) + (f[k + 2] * c[j] + f[k + 3] * d[j]);
  }
  for (; k < rows; k++, x += stride)
    for (size_t i = 0; i < n; i++) y[i] -= f[k] * x[i];
}

static inline __attribute__((always_inline)) void add(float *restrict y, float factor, const float *restrict x,
                                                      size_t n) {
  for (size_t i = 0; i < n; i++) y[i] += factor * x[i];
}

#if defined __x86_64__
#define AVX __attribute__((target("avx")))
AVX static float dot_avx(const float *a, const float *b, size_t n) {
  return dot(a, b, n);
}

AVX static void reduce_avx(float *y, const float *f, const float *x, size_t rows, size_t stride, size_t n) {
  reduce(y, f, x, rows, stride, n);
}

AVX static void add_avx(float *y, float factor, const float *x, size_t n) {
  add(y, factor, x, n);
}

#define HAS_AVX() __builtin_cpu_supports("avx")
#else
#define HAS_AVX() 0
#define dot_avx dot
#define reduce_avx reduce
#define add_avx add
#endif

float lanes_dot(const float *a, const float *b, size_t n) {
  return HAS_AVX() ? dot_avx(a, b, n) : dot(a, b, n);
}

void lanes_reduce(float *y, const float *factors, const float *x, size_t rows, size_t stride, size_t n) {
  if (HAS_AVX())
    reduce_avx(y, factors, x, rows, stride, n);
  else
    reduce(y, factors, x, rows, stride, n);
}

void lanes_add(float *y, float factor, const float *x, size_t n) {
  if (HAS_AVX())
    add_avx(y, factor, x, n);
  else
    add(y, factor, x, n);
}
