/*
 * bench.h - the algorithms of the kernel comparison: sizes, inputs, checks, timing.
 *
 * luhip (kernels.lua), PoCL (pocl.c) and OpenMP (openmp.c) run the same algorithms on the same inputs: element i of an
 * input is bench_value(i). Each program is called as
 *
 *   program [--small] [algorithm]...
 *
 * and prints a line `name milliseconds` for each, the median of BENCH_SAMPLES runs after one to warm up. A wrong result ends
 * the program with status 1.
 */
#ifndef LUHIP_BENCH_H
#define LUHIP_BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_SAMPLES = 5, BENCH_RUNS = BENCH_SAMPLES + 1 };

/* X(name, n, small n): n elements, or an n by n grid. */
#define BENCH_ALGORITHMS(X)                                                                                            \
  X(axpy, 1 << 24, 1 << 14)                                                                                            \
  X(stencil_256x1, 4096, 256)                                                                                          \
  X(stencil_16x16, 4096, 256)                                                                                          \
  X(expf_sinf, 1 << 24, 1 << 14)                                                                                       \
  X(nbody, 1 << 14, 1 << 9)                                                                                            \
  X(histogram, 1 << 24, 1 << 14)                                                                                       \
  X(reduction, 1 << 24, 1 << 14)                                                                                       \
  X(matmul, 512, 64)

enum bench_algorithm {
#define X(name, n, small) BENCH_##name,
  BENCH_ALGORITHMS(X)
#undef X
      BENCH_COUNT
};

static const float bench_factor = 0.25f;                                   /* axpy's a */
enum { BENCH_HISTOGRAM_CHUNK = 1 << 14, BENCH_REDUCTION_CHUNK = 1 << 16 }; /* elements of one block */

struct bench_problem {
  enum bench_algorithm algorithm;
  const char *name;
  int n;
  size_t in_bytes, in2_bytes, out_bytes;
  void *in, *in2, *out; /* in2: matmul's b. axpy's out holds y before the first run */
};

/* In [0, 1). */
static inline float bench_value(uint32_t i) {
  return (float)((i * 2654435761u) >> 8) * (1.0f / 16777216.0f);
}

static inline double bench_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static inline void *bench_floats(size_t count, uint32_t first) {
  float *values = aligned_alloc(4096, (count * sizeof(float) + 4095) / 4096 * 4096);
  for (size_t i = 0; values && i < count; i++) values[i] = bench_value((uint32_t)i + first);
  return values;
}

static inline bool bench_make(enum bench_algorithm algorithm, bool small, struct bench_problem *p) {
  static const struct {
    const char *name;
    int n, small;
  } table[] = {
#define X(name, n, small) {#name, n, small},
      BENCH_ALGORITHMS(X)
#undef X
  };
  *p = (struct bench_problem){.algorithm = algorithm, .name = table[algorithm].name};
  p->n = small ? table[algorithm].small : table[algorithm].n;
  size_t n = (size_t)p->n, count = n;
  bool square = algorithm == BENCH_stencil_256x1 || algorithm == BENCH_stencil_16x16 || algorithm == BENCH_matmul;
  if (square) count = n * n;
  if (algorithm == BENCH_nbody) count = n * 4;
  p->in = bench_floats(count, 0);
  p->in_bytes = p->out_bytes = count * sizeof(float);
  if (algorithm == BENCH_matmul) p->in2 = bench_floats(count, 7), p->in2_bytes = p->in_bytes;
  if (algorithm == BENCH_histogram) {
    for (size_t i = 0; p->in && i < n; i++) {
      float value = bench_value((uint32_t)i); /* small bytes are more frequent */
      ((uint8_t *)p->in)[i] = (uint8_t)(value * value * 256.0f);
    }
    p->in_bytes = n, p->out_bytes = 256 * sizeof(unsigned);
  }
  if (algorithm == BENCH_reduction)
    p->out_bytes = (n + BENCH_REDUCTION_CHUNK - 1) / BENCH_REDUCTION_CHUNK * sizeof(float);
  p->out = bench_floats(p->out_bytes / sizeof(float), 3);
  if (algorithm == BENCH_histogram) memset(p->out, 0, p->out_bytes);
  return p->in && p->out && (p->in2 || !p->in2_bytes);
}

static inline void bench_free(struct bench_problem *p) {
  free(p->in);
  free(p->in2);
  free(p->out);
}

static inline bool bench_near(double got, double wanted, double tolerance) {
  return fabs(got - wanted) <= tolerance * (1.0 + fabs(wanted));
}

static inline bool bench_check_stencil(const struct bench_problem *p) {
  const float *in = p->in, *out = p->out;
  int n = p->n;
  for (int y = 0; y < n; y++) {
    for (int x = 0; x < n; x++) {
      int i = y * n + x;
      bool border = x == 0 || y == 0 || x == n - 1 || y == n - 1;
      double wanted = border ? in[i] : 0.5 * in[i] + 0.125 * ((double)in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
      if (!bench_near(out[i], wanted, 1e-6)) return false;
    }
  }
  return true;
}

static inline bool bench_check_nbody(const struct bench_problem *p) {
  const float *b = p->in, *out = p->out;
  for (int i = 0; i < p->n; i += p->n / 16) {
    double a[3] = {0, 0, 0};
    for (int j = 0; j < p->n; j++) {
      double d[3], square = 1e-4;
      for (int k = 0; k < 3; k++) d[k] = (double)b[4 * j + k] - b[4 * i + k], square += d[k] * d[k];
      for (int k = 0; k < 3; k++) a[k] += d[k] * b[4 * j + 3] / (square * sqrt(square));
    }
    for (int k = 0; k < 3; k++)
      if (!bench_near(out[4 * i + k], a[k], 1e-3)) return false;
  }
  return true;
}

static inline bool bench_check_matmul(const struct bench_problem *p) {
  const float *a = p->in, *b = p->in2, *c = p->out;
  int n = p->n;
  for (int s = 0; s < 200; s++) {
    int y = s * 37 % n, x = s * 101 % n;
    double sum = 0;
    for (int k = 0; k < n; k++) sum += (double)a[y * n + k] * b[k * n + x];
    if (!bench_near(c[y * n + x], sum, 1e-4)) return false;
  }
  return true;
}

/* Whether p->out is what BENCH_RUNS runs leave. */
static inline bool bench_check(const struct bench_problem *p) {
  const float *in = p->in, *out = p->out;
  switch (p->algorithm) {
  case BENCH_axpy:
    for (int i = 0; i < p->n; i++)
      if (!bench_near(out[i], bench_value((uint32_t)i + 3) + BENCH_RUNS * (double)bench_factor * in[i], 1e-5))
        return false;
    return true;
  case BENCH_expf_sinf:
    for (int i = 0; i < p->n; i++)
      if (!bench_near(out[i], exp(in[i]) + sin(in[i]), 1e-5)) return false;
    return true;
  case BENCH_stencil_256x1:
  case BENCH_stencil_16x16:
    return bench_check_stencil(p);
  case BENCH_nbody:
    return bench_check_nbody(p);
  case BENCH_histogram: {
    const unsigned *bins = p->out;
    unsigned wanted[256] = {0};
    for (int i = 0; i < p->n; i++) wanted[((const uint8_t *)p->in)[i]] += BENCH_RUNS;
    return memcmp(wanted, bins, sizeof wanted) == 0;
  }
  case BENCH_reduction: {
    double sum = 0, wanted = 0;
    for (size_t i = 0; i < p->out_bytes / sizeof(float); i++) sum += out[i];
    for (int i = 0; i < p->n; i++) wanted += in[i];
    return bench_near(sum, wanted, 1e-5);
  }
  case BENCH_matmul:
    return bench_check_matmul(p);
  default:
    return false;
  }
}

static inline int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A program's main: calls run(problem, times) for each algorithm that is asked for. run leaves the result in p->out
   and the milliseconds of each of BENCH_RUNS runs in times; false: it could not. */
static inline int bench_main(int argc, char **argv, bool (*run)(struct bench_problem *p, double *times)) {
  bool small = argc > 1 && strcmp(argv[1], "--small") == 0, all = argc == 1 + small;
  for (int algorithm = 0; algorithm < BENCH_COUNT; algorithm++) {
    struct bench_problem p;
    double times[BENCH_RUNS];
    bool wanted = all;
    if (!bench_make((enum bench_algorithm)algorithm, small, &p)) return 1;
    for (int i = 1 + small; i < argc; i++) wanted = wanted || strcmp(argv[i], p.name) == 0;
    if (wanted) {
      if (!run(&p, times) || !bench_check(&p)) {
        fprintf(stderr, "%s: %s failed or is WRONG\n", argv[0], p.name);
        return 1;
      }
      qsort(times + 1, BENCH_SAMPLES, sizeof *times, bench_compare); /* the first warmed up */
      printf("%s %.4f\n", p.name, times[1 + BENCH_SAMPLES / 2]);
      fflush(stdout);
    }
    bench_free(&p);
  }
  return 0;
}

#endif
