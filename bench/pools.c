/*
 * pools.c - what the pools cost: an allocation and its free, and how that grows with the number of live buffers.
 *
 *   pools                        nanoseconds, one line for each layout and number of live buffers
 *   pools layout live pairs      so many pairs of take and give and nothing else, to be counted by callgrind
 *
 * Memory is addresses alone, so nothing but the pools is measured. A pair frees a random live buffer and takes another of a
 * random size, as a program does that runs for long; "same" takes and frees one size with nothing else going on.
 */
#include "memory/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_LIVE = 100000, PAIRS = 200000, ROUNDS = 7 };
#define MIB ((size_t)1 << 20)

static const struct layout {
  const char *name;
  luhip_pool pools[3];
  size_t count;
} layouts[] = {
    {"sliced", {{LUHIP_POOL_SLICED, 64 * MIB, 8 * MIB, 0, 0}}, 1},
    {"exclusive", {{LUHIP_POOL_EXCLUSIVE, 64 * MIB, 0, 0, 0}}, 1},
    {"direct", {{LUHIP_POOL_DIRECT, 0, 0, 0, (size_t)1 << 40}}, 1},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static size_t next_address = 1 << 20;

static int allocate(void *user, size_t bytes, void **address) {
  (void)user;
  *address = (char *)next_address;
  next_address += bytes;
  return 0;
}

static void release(void *user, void *address) {
  (void)user;
  (void)address;
}

static bool passed(void *user, const struct marks *marks) {
  const uint64_t *now = user;
  return marks->writer.position <= *now;
}

static uint64_t now, position;
static struct page *trash;
static struct slice *live[MOST_LIVE];

static size_t random_size(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return 256 + (size_t)(state % 64) * 256 + (size_t)(state >> 60 ? 0 : 65536);
}

static struct slice *take(struct manager *manager, size_t bytes) {
  struct slice *slice = NULL;
  int code;
  if (manager_take(manager, bytes, 0, passed, &now, &slice, &code) != MANAGER_OK) {
    fprintf(stderr, "pools: no memory\n");
    exit(1);
  }
  return slice;
}

static void give(struct slice *slice) {
  marks_write(&slice->marks, 0, ++position);
  now = position - 1;
  manager_give(slice);
}

static void one_pair(struct manager *manager, size_t count) {
  if (!count) {
    give(take(manager, 4096));
    return;
  }
  static uint32_t at = 1;
  at = at * 1664525u + 1013904223u;
  struct slice **place = &live[(at >> 8) % count];
  give(*place);
  *place = take(manager, random_size());
}

static void open_with(struct manager *manager, struct storage *storage, const struct layout *layout, size_t count) {
  *storage = (struct storage){.allocate = allocate, .release = release, .full = 2, .alignment = 256, .total = SIZE_MAX};
  *manager = (struct manager){.storage = storage, .alignment = 256, .idle = passed, .idle_user = &now, .trash = &trash};
  if (!manager_open(manager, layout->pools, layout->count)) exit(1);
  for (size_t i = 0; i < count; i++) live[i] = take(manager, random_size());
}

static void close_all(struct manager *manager, size_t count) {
  for (size_t i = 0; i < count; i++) give(live[i]);
  manager_close(manager);
  pages_free(trash);
  trash = NULL;
}

static double clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best round, since the others were disturbed. */
static void measure(const struct layout *layout, size_t count) {
  struct storage storage;
  struct manager manager;
  double best = 1e300;
  open_with(&manager, &storage, layout, count);
  for (int i = 0; i < PAIRS; i++) one_pair(&manager, count);
  for (int round = 0; round < ROUNDS; round++) {
    double start = clock_ns();
    for (int i = 0; i < PAIRS; i++) one_pair(&manager, count);
    double ns = (clock_ns() - start) / PAIRS;
    if (ns < best) best = ns;
  }
  if (count) printf("  %-10s %7zu live  %7.1f ns for allocate and free\n", layout->name, count, best);
  if (!count) printf("  %-10s %7s       %7.1f ns for allocate and free\n", layout->name, "same", best);
  close_all(&manager, count);
}

/* What callgrind is told to count. */
static __attribute__((noinline)) void measured(struct manager *manager, size_t count, long pairs) {
  for (long k = 0; k < pairs; k++) one_pair(manager, count);
}

static int count_pairs(char **argv) {
  struct storage storage;
  struct manager manager;
  size_t count = strtoul(argv[2], NULL, 10);
  long pairs = strtol(argv[3], NULL, 10);
  for (int i = 0; i < LAYOUTS && count <= MOST_LIVE; i++) {
    if (strcmp(argv[1], layouts[i].name) != 0) continue;
    open_with(&manager, &storage, &layouts[i], count);
    measured(&manager, count, pairs);
    close_all(&manager, count);
    return 0;
  }
  fprintf(stderr, "pools: layouts are sliced, exclusive and direct; at most %d live\n", MOST_LIVE);
  return 2;
}

int main(int argc, char **argv) {
  static const size_t counts[] = {0, 100, 1000, 10000, 100000};
  if (argc == 4) return count_pairs(argv);
  for (int i = 0; i < LAYOUTS; i++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) measure(&layouts[i], counts[k]);
  return 0;
}
