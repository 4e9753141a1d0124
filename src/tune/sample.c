/*
 * sample.c - drawing without repeating from a range of any size: the shuffle of Fisher and Yates over a list that is
 * never written down; a table holds only the places that differ from it. Random numbers are those of splitmix64
 * (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
 */
#include <stdlib.h>

#include "tune/space.h"

static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Below `limit`, every number as likely: the few values that would favour some are drawn again. */
static uint64_t below(uint64_t *state, uint64_t limit) {
  uint64_t unfair = (UINT64_MAX % limit + 1) % limit, r;
  do r = next_random(state);
  while (r > UINT64_MAX - unfair);
  return r % limit;
}

struct place {
  uint64_t at, holds; /* at: place + 1; 0: empty */
};

static struct place *find_place(struct place *table, uint64_t mask, uint64_t at) {
  uint64_t state = at, i = next_random(&state) & mask;
  while (table[i].at != 0 && table[i].at != at + 1) i = (i + 1) & mask;
  return &table[i];
}

bool tune_sample(uint64_t count, uint64_t n, uint64_t seed, uint64_t *list) {
  uint64_t size = 16, state = seed;
  while (size < n * 4) size *= 2;
  struct place *table = calloc(size, sizeof *table);
  if (!table) return false;
  for (uint64_t k = 0; k < n; k++) {
    uint64_t j = k + below(&state, count - k);
    struct place *there = find_place(table, size - 1, j);
    list[k] = there->at ? there->holds : j;
    struct place *here = find_place(table, size - 1, k);
    uint64_t own = here->at ? here->holds : k;
    there = find_place(table, size - 1, j);
    *there = (struct place){j + 1, own};
  }
  free(table);
  return true;
}
