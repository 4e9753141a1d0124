/*
 * random.h - a small generator of random numbers, the same everywhere: SplitMix64 (Steele, Lea and Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014). Any seed will do.
 */
#ifndef LUHIP_TUNE_RANDOM_H
#define LUHIP_TUNE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* A whole number below n, which is at least 1. The bias of at most n / 2^64 does not matter to a search. */
static inline uint64_t random_below(uint64_t *state, uint64_t n) {
  return (uint64_t)(((unsigned __int128)random_next(state) * n) >> 64);
}

/* A number of [0, 1). */
static inline double random_unit(uint64_t *state) {
  return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
