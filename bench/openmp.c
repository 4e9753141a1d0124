/*
 * openmp.c - the algorithms of the kernel comparison as a C programmer writes them, with OpenMP.
 *
 * Not the kernels translated: loops over rows and elements, one matrix product in cache-sized blocks. Compiled with -O3
 * -ffast-math -march=native, it is what the machine can do, not what a kernel is expected to reach.
 */
#include "bench.h"

static void axpy(const struct bench_problem *p) {
  const float *x = p->in;
  float *y = p->out;
#pragma omp parallel for simd
  for (int i = 0; i < p->n; i++) y[i] += bench_factor * x[i];
}

static void expf_sinf(const struct bench_problem *p) {
  const float *x = p->in;
  float *y = p->out;
#pragma omp parallel for simd
  for (int i = 0; i < p->n; i++) y[i] = expf(x[i]) + sinf(x[i]);
}

static void stencil(const struct bench_problem *p) {
  const float *in = p->in;
  float *out = p->out;
  int n = p->n;
#pragma omp parallel for
  for (int y = 0; y < n; y++) {
    const float *row = in + (size_t)y * n;
    float *to = out + (size_t)y * n;
    if (y == 0 || y == n - 1) {
      memcpy(to, row, (size_t)n * sizeof(float));
      continue;
    }
    to[0] = row[0], to[n - 1] = row[n - 1];
    for (int x = 1; x < n - 1; x++)
      to[x] = 0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] + row[x - n] + row[x + n]);
  }
}

static void nbody(const struct bench_problem *p) {
  const float *b = p->in;
  float *out = p->out;
#pragma omp parallel for
  for (int i = 0; i < p->n; i++) {
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < p->n; j++) {
      float dx = b[4 * j] - b[4 * i], dy = b[4 * j + 1] - b[4 * i + 1], dz = b[4 * j + 2] - b[4 * i + 2];
      float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      float s = b[4 * j + 3] * r * r * r;
      ax += dx * s, ay += dy * s, az += dz * s;
    }
    out[4 * i] = ax, out[4 * i + 1] = ay, out[4 * i + 2] = az, out[4 * i + 3] = 0;
  }
}

static void histogram(const struct bench_problem *p) {
  const uint8_t *data = p->in;
  unsigned *bins = p->out;
#pragma omp parallel
  {
    unsigned counts[256] = {0};
#pragma omp for
    for (int i = 0; i < p->n; i++) counts[data[i]]++;
#pragma omp critical
    for (int b = 0; b < 256; b++) bins[b] += counts[b];
  }
}

static void reduction(const struct bench_problem *p) {
  const float *x = p->in;
  float *sums = p->out;
  int blocks = (int)(p->out_bytes / sizeof(float));
#pragma omp parallel for
  for (int b = 0; b < blocks; b++) {
    float sum = 0;
    for (int i = 0; i < BENCH_REDUCTION_CHUNK; i++) sum += x[b * BENCH_REDUCTION_CHUNK + i];
    sums[b] = sum;
  }
}

static void matmul(const struct bench_problem *p) {
  enum { TILE = 64 };
  const float *a = p->in, *b = p->in2;
  float *c = p->out;
  int n = p->n;
#pragma omp parallel for collapse(2)
  for (int y0 = 0; y0 < n; y0 += TILE) {
    for (int x0 = 0; x0 < n; x0 += TILE) {
      float tile[TILE][TILE];
      memset(tile, 0, sizeof tile);
      for (int k = 0; k < n; k++)
        for (int y = 0; y < TILE; y++)
          for (int x = 0; x < TILE; x++) tile[y][x] += a[(y0 + y) * n + k] * b[k * n + x0 + x];
      for (int y = 0; y < TILE; y++) memcpy(&c[(y0 + y) * n + x0], tile[y], sizeof tile[y]);
    }
  }
}

static bool run(struct bench_problem *p, double *times) {
  static void (*const functions[])(const struct bench_problem *p) = {
      axpy, stencil, stencil, expf_sinf, nbody, histogram, reduction, matmul,
  };
  for (int i = 0; i < BENCH_RUNS; i++) {
    double start = bench_now_ms();
    functions[p->algorithm](p);
    times[i] = bench_now_ms() - start;
  }
  return true;
}

int main(int argc, char **argv) {
  return bench_main(argc, argv, run);
}
