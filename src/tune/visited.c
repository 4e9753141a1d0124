/*
 * visited.c - see visited.h. Open addressing, at most half full.
 */
#include "tune/visited.h"

#include <stdlib.h>
#include <string.h>

void visited_free(struct visited *v) {
  free(v->keys);
  free(v->marks);
  memset(v, 0, sizeof *v);
}

/* Where the key is, or would go. */
static uint64_t slot_of(const struct visited *v, uint64_t key) {
  uint64_t slot = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
  for (slot &= v->capacity - 1; v->keys[slot] != 0 && v->keys[slot] != key; slot = (slot + 1) & (v->capacity - 1)) {
  }
  return slot;
}

uint8_t visited_get(const struct visited *v, uint64_t index) {
  if (v->capacity == 0) return 0;
  uint64_t slot = slot_of(v, index + 1);
  return v->keys[slot] ? v->marks[slot] : 0;
}

static bool grow(struct visited *v) {
  struct visited wider = {.capacity = v->capacity ? v->capacity * 2 : 1024, .count = v->count};
  wider.keys = calloc(wider.capacity, sizeof *wider.keys);
  wider.marks = calloc(wider.capacity, 1);
  if (!wider.keys || !wider.marks) {
    visited_free(&wider);
    return false;
  }
  for (uint64_t i = 0; i < v->capacity; i++) {
    if (v->keys[i] == 0) continue;
    uint64_t slot = slot_of(&wider, v->keys[i]);
    wider.keys[slot] = v->keys[i];
    wider.marks[slot] = v->marks[i];
  }
  visited_free(v);
  *v = wider;
  return true;
}

bool visited_set(struct visited *v, uint64_t index, uint8_t mark) {
  if (v->count * 2 >= v->capacity && !grow(v)) return false;
  uint64_t slot = slot_of(v, index + 1);
  v->count += v->keys[slot] == 0;
  v->keys[slot] = index + 1;
  v->marks[slot] = mark;
  return true;
}
