/*
 * visited.h - what a search knows of the configurations it has met, by index: a hash table that only grows.
 */
#ifndef LUHIP_TUNE_VISITED_H
#define LUHIP_TUNE_VISITED_H

#include <stdbool.h>
#include <stdint.h>

struct visited {
  uint64_t *keys; /* index + 1; 0: free */
  uint8_t *marks;
  uint64_t count, capacity; /* a power of two, or 0 */
};

void visited_free(struct visited *v);
/* The mark of an index, 0 for one that has none. */
uint8_t visited_get(const struct visited *v, uint64_t index);
/* false: no memory, and nothing is changed. */
bool visited_set(struct visited *v, uint64_t index, uint8_t mark);

#endif
