/*
 * arena_block.h - blocks of the arena's addresses: where they are, which are free, which are live. No memory is touched.
 *
 * Nothing here locks; arena.c does.
 */
#ifndef LUHIP_CPU_ARENA_BLOCK_H
#define LUHIP_CPU_ARENA_BLOCK_H

#include "cpu/arena.h"

#define PAGE ((size_t)4096)

enum {
  CACHE_PAGES = 4096, /* the largest block that keeps its memory when it is freed */
  BINS = 288,         /* exact below 16 pages, then eight per power of two */
};

enum block_state { BLOCK_FREE, BLOCK_LIVE, BLOCK_CACHED };

struct block {
  uintptr_t base;
  size_t pages; /* without the guard page after it */
  struct zone *zone;
  enum block_state state;
  enum arena_kind kind;
  bool checked;
  uintptr_t ptr;                /* what the caller got */
  size_t bytes;                 /* what the caller asked for */
  struct block *before, *after; /* neighbours by address */
  struct block *left, *right;   /* treap of live blocks */
  uint32_t priority;
  struct block *next, **link;  /* bin or cache of its size */
  struct block *newer, *older; /* cached: order of age */
};

struct zone {
  size_t guard; /* pages after each block: 1 or 0 */
  uintptr_t start, end;
  uintptr_t open; /* packed: everything below it is accessible */
  uint64_t used[(BINS + 63) / 64];
  struct block *bins[BINS];
  struct block *cache[CACHE_PAGES + 1];
};

/* One free block for the whole zone, whose start and end are set. False: out of host memory. */
bool cpu_zone_fill(struct zone *zone);
/* A block of exactly so many pages, its base aligned to `align` pages, in no list; NULL when there is no room, or no
   host memory. Zones without guards align to pages alone. */
struct block *cpu_zone_take(struct zone *zone, size_t pages, size_t align);
/* Makes the block free; it may be gone afterwards, fused with its neighbours. */
void cpu_zone_give(struct block *block);

/* Lists of one size. */
void cpu_block_push(struct block **head, struct block *block);
void cpu_block_remove(struct block *block);

/* Live blocks by address. */
void cpu_live_insert(struct block **root, struct block *block);
void cpu_live_remove(struct block **root, struct block *block);
/* The one with the greatest base at or below address, and the one after it. */
void cpu_live_around(struct block *root, uintptr_t address, struct block **below, struct block **above);

#endif
