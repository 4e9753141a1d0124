/*
 * arena.c - device and pinned memory from one range of reserved addresses.
 *
 * The range is reserved without access at the first fixed address that is free, so that pointers look the same in
 * every run. It is cut into two zones of blocks, whole pages each:
 *
 *   guarded   every block is followed by a page without access, and preceded by its neighbour's: a kernel that
 *             leaves a buffer faults instead of writing into the next one. Costs two mappings a block, of which
 *             Linux allows 65530, so at most MAX_GUARDED blocks live here.
 *   packed    all others, side by side without guards, in one mapping that only grows.
 *
 * Blocks of a zone are linked by address (before, after), so a freed one fuses with free neighbours. Free blocks lie
 * in bins by size, live ones in a treap by address; every operation is O(log n) at most. Freed blocks up to
 * CACHE_PAGES keep their memory for the next request of that many pages, CACHE_BYTES in all, oldest given back
 * first; larger ones go back to the system at once.
 *
 * Memory is anonymous and private: after fork() the child has a copy of its own, and huge pages can be had (the
 * first touch of 64 MiB in small pages takes longer than most kernels).
 */
#include "cpu/arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/exec.h"
#include "cpu/limits.h"

#ifdef __has_feature
#define LUHIP_HAS_FEATURE(x) __has_feature(x)
#else
#define LUHIP_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || LUHIP_HAS_FEATURE(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

#define PAGE ((size_t)4096)
#define GIB ((size_t)1 << 30)
#define NEAR ((size_t)1 << 20) /* how far from a block an address still counts as near it */

enum {
  MAX_GUARDED = 20000,
  HUGE_PAGES = 512,    /* small pages in a huge one */
  HUGE_FROM = 1024,    /* pages from which a block is aligned for huge pages */
  CACHE_PAGES = 4096,  /* the largest block that is kept */
  CACHE_BLOCKS = 4096, /* at most so many are kept */
  GROW_PAGES = 16384,  /* the packed zone opens this much at a time */
  BINS = 288,          /* exact below 16 pages, then eight per power of two */
};
#define CACHE_BYTES ((size_t)64 << 20)

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

static struct {
  pthread_mutex_t lock;
  bool started;
  uintptr_t base, end;
  size_t limit; /* bytes in live blocks */
  struct zone guarded, packed;
  struct block *live_root;
  struct block *newest, *oldest; /* cached blocks */
  size_t live, live_bytes, cached, cached_bytes, guards;
  uint32_t random;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER, .random = 2463534242u, .guarded.guard = 1};

/* ---- live blocks by address: a treap ------------------------------------------------------------------ */

static void live_insert(struct block *block) {
  arena.random ^= arena.random << 13;
  arena.random ^= arena.random >> 17;
  arena.random ^= arena.random << 5;
  block->priority = arena.random;
  struct block **link = &arena.live_root;
  while (*link && (*link)->priority >= block->priority)
    link = block->base < (*link)->base ? &(*link)->left : &(*link)->right;
  struct block *rest = *link, **left = &block->left, **right = &block->right;
  *link = block;
  while (rest) {
    if (rest->base < block->base) {
      *left = rest;
      left = &rest->right;
      rest = rest->right;
    } else {
      *right = rest;
      right = &rest->left;
      rest = rest->left;
    }
  }
  *left = *right = NULL;
}

static void live_remove(struct block *block) {
  struct block **link = &arena.live_root;
  while (*link != block) link = block->base < (*link)->base ? &(*link)->left : &(*link)->right;
  struct block *left = block->left, *right = block->right;
  while (left && right) {
    if (left->priority > right->priority) {
      *link = left;
      link = &left->right;
      left = left->right;
    } else {
      *link = right;
      link = &right->left;
      right = right->left;
    }
  }
  *link = left ? left : right;
}

/* The live block with the greatest base at or below address, and the one after it. */
static void live_around(uintptr_t address, struct block **below, struct block **above) {
  *below = *above = NULL;
  for (struct block *at = arena.live_root; at;) {
    if (at->base <= address) {
      *below = at;
      at = at->right;
    } else {
      *above = at;
      at = at->left;
    }
  }
}

/* ---- free blocks by size: bins -------------------------------------------------------------------------- */

/* The bin of a block with so many pages: blocks of bin i are at least as large as bin_of(size) == i says. */
static unsigned bin_of(size_t pages) {
  if (pages < 16) return (unsigned)pages;
  unsigned top = 63 - (unsigned)__builtin_clzll(pages);
  return 16 + (top - 4) * 8 + (unsigned)((pages >> (top - 3)) & 7);
}

/* The first bin whose every block has at least so many pages. */
static unsigned bin_from(size_t pages) {
  if (pages >= 16) {
    unsigned top = 63 - (unsigned)__builtin_clzll(pages);
    pages += ((size_t)1 << (top - 3)) - 1;
  }
  return bin_of(pages);
}

static void list_push(struct block **head, struct block *block) {
  block->next = *head;
  block->link = head;
  if (block->next) block->next->link = &block->next;
  *head = block;
}

static void list_remove(struct block *block) {
  *block->link = block->next;
  if (block->next) block->next->link = block->link;
}

static void bin_push(struct block *block) {
  unsigned bin = bin_of(block->pages + block->zone->guard);
  list_push(&block->zone->bins[bin], block);
  block->zone->used[bin / 64] |= (uint64_t)1 << bin % 64;
  block->state = BLOCK_FREE;
}

static void bin_remove(struct block *block) {
  unsigned bin = bin_of(block->pages + block->zone->guard);
  list_remove(block);
  if (!block->zone->bins[bin]) block->zone->used[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

static struct block *bin_find(struct zone *zone, size_t pages) {
  unsigned bin = bin_from(pages);
  for (unsigned word = bin / 64; word < sizeof zone->used / sizeof zone->used[0]; word++) {
    uint64_t bits = zone->used[word];
    if (word == bin / 64) bits &= ~(uint64_t)0 << bin % 64;
    if (bits) return zone->bins[word * 64 + (unsigned)__builtin_ctzll(bits)];
  }
  return NULL;
}

/* ---- cutting and fusing ----------------------------------------------------------------------------------- */

/* Cuts a block that is in no list: it keeps `pages` and its guard, what follows becomes the returned block (which may
   consist of a guard alone). NULL: no memory. */
static struct block *cut(struct block *block, size_t pages) {
  struct block *rest = calloc(1, sizeof *rest);
  if (!rest) return NULL;
  size_t guard = block->zone->guard;
  rest->zone = block->zone;
  rest->base = block->base + (pages + guard) * PAGE;
  rest->pages = block->pages - pages - guard;
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  block->pages = pages;
  return rest;
}

/* Appends the block after it, which is in no list, and forgets that one. */
static void fuse(struct block *block) {
  struct block *gone = block->after;
  block->pages += gone->pages + block->zone->guard;
  block->after = gone->after;
  if (block->after) block->after->before = block;
  free(gone);
}

static void give_space(struct block *block) {
  if (block->after && block->after->state == BLOCK_FREE) {
    bin_remove(block->after);
    fuse(block);
  }
  if (block->before && block->before->state == BLOCK_FREE) {
    block = block->before;
    bin_remove(block);
    fuse(block);
  }
  bin_push(block);
}

/* A block of exactly so many pages, aligned to `align` pages, in no list; NULL when there is no room. */
static struct block *take_space(struct zone *zone, size_t pages, size_t align) {
  struct block *block = bin_find(zone, pages + zone->guard + (align - 1));
  if (!block) return NULL;
  bin_remove(block);
  uintptr_t wanted = (block->base + align * PAGE - 1) / (align * PAGE) * (align * PAGE);
  size_t skip = (wanted - block->base) / PAGE; /* 0 in the packed zone, which aligns to pages */
  if (skip) {
    struct block *rest = cut(block, skip - zone->guard);
    bin_push(block);
    if (!rest) return NULL;
    block = rest;
  }
  if (block->pages > pages) {
    struct block *rest = cut(block, pages);
    if (!rest) {
      give_space(block);
      return NULL;
    }
    bin_push(rest);
  }
  return block;
}

/* ---- memory behind blocks --------------------------------------------------------------------------------- */

/* Makes a guarded block accessible, or the packed zone up to the block's end. */
static bool open_block(struct block *block) {
  struct zone *zone = block->zone;
  if (zone->guard) {
    if (mprotect((void *)block->base, block->pages * PAGE, PROT_READ | PROT_WRITE)) return false;
    if (block->pages >= HUGE_FROM) madvise((void *)block->base, block->pages * PAGE, MADV_HUGEPAGE); /* only advice */
    return true;
  }
  uintptr_t end = block->base + block->pages * PAGE;
  if (end <= zone->open) return true;
  size_t step = GROW_PAGES * PAGE;
  uintptr_t open = zone->start + (end - zone->start + step - 1) / step * step;
  if (open > zone->end) open = zone->end;
  if (mprotect((void *)zone->open, open - zone->open, PROT_READ | PROT_WRITE)) return false;
  zone->open = open;
  return true;
}

/* Gives the memory back to the system. A guarded block becomes inaccessible again: a fresh mapping over it also
   forgets the huge page advice, so that it fuses with what lies around it. */
static void close_block(struct block *block) {
  void *base = (void *)block->base;
  size_t bytes = block->pages * PAGE;
  if (block->zone->guard) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(base, bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED) return;
  }
  madvise(base, bytes, MADV_DONTNEED);
}

/* ---- freed blocks that keep their memory ------------------------------------------------------------------ */

static void cache_remove(struct block *block) {
  list_remove(block);
  *(block->newer ? &block->newer->older : &arena.newest) = block->older;
  *(block->older ? &block->older->newer : &arena.oldest) = block->newer;
  arena.cached--;
  arena.cached_bytes -= block->pages * PAGE;
}

static void release(struct block *block) {
  close_block(block);
  arena.guards -= block->zone->guard;
  give_space(block);
}

/* Gives back cached blocks, oldest first, until at most so many bytes and blocks are kept. */
static void cache_shrink(size_t bytes, size_t blocks) {
  while (arena.oldest && (arena.cached_bytes > bytes || arena.cached > blocks)) {
    struct block *block = arena.oldest;
    cache_remove(block);
    release(block);
  }
}

static void cache_push(struct block *block) {
  list_push(&block->zone->cache[block->pages], block);
  block->state = BLOCK_CACHED;
  block->newer = NULL;
  block->older = arena.newest;
  *(arena.newest ? &arena.newest->newer : &arena.oldest) = block;
  arena.newest = block;
  arena.cached++;
  arena.cached_bytes += block->pages * PAGE;
  cache_shrink(CACHE_BYTES, CACHE_BLOCKS);
}

/* ---- allocating --------------------------------------------------------------------------------------------- */

static struct block *fresh(struct zone *zone, size_t pages) {
  struct block *block = take_space(zone, pages, zone->guard && pages >= HUGE_FROM ? HUGE_PAGES : 1);
  if (!block) return NULL;
  arena.guards += zone->guard;
  if (open_block(block)) return block;
  release(block);
  return NULL;
}

static struct block *take(size_t pages) {
  bool guarded = arena.guards < MAX_GUARDED;
  struct zone *zones[] = {guarded ? &arena.guarded : &arena.packed, guarded ? &arena.packed : &arena.guarded};
  for (int i = 0; i < 2; i++) {
    struct block *block = pages <= CACHE_PAGES ? zones[i]->cache[pages] : NULL;
    if (block) {
      cache_remove(block);
      return block;
    }
    block = fresh(zones[i], pages);
    if (!block && arena.cached) { /* out of mappings, perhaps: the cached blocks have some */
      cache_shrink(0, 0);
      block = fresh(zones[i], pages);
    }
    if (block) return block;
  }
  return NULL;
}

hip_error_t cpu_arena_alloc(void **ptr, size_t bytes, enum arena_kind kind, bool checked) {
  if (bytes > arena.limit) return hip_ErrorOutOfMemory;
  size_t pages = (bytes + PAGE - 1) / PAGE;
  pthread_mutex_lock(&arena.lock);
  struct block *block = NULL;
  if (arena.live_bytes + pages * PAGE <= arena.limit) {
    if (arena.live_bytes + arena.cached_bytes + pages * PAGE > arena.limit) cache_shrink(0, 0);
    block = take(pages);
  }
  if (block) {
    block->state = BLOCK_LIVE;
    block->kind = kind;
    block->checked = checked;
    block->bytes = bytes;
    block->ptr = checked ? block->base + pages * PAGE - (bytes + 15) / 16 * 16 : block->base;
    live_insert(block);
    arena.live++;
    arena.live_bytes += pages * PAGE;
    *ptr = (void *)block->ptr;
  }
  pthread_mutex_unlock(&arena.lock);
  return block ? hip_Success : hip_ErrorOutOfMemory;
}

bool cpu_arena_free(void *ptr, enum arena_kind kind) {
  struct block *block, *above;
  pthread_mutex_lock(&arena.lock);
  live_around((uintptr_t)ptr, &block, &above);
  bool found = block && block->ptr == (uintptr_t)ptr && block->kind == kind;
  if (found) {
    live_remove(block);
    arena.live--;
    arena.live_bytes -= block->pages * PAGE;
    if (block->pages <= CACHE_PAGES && !block->checked)
      cache_push(block);
    else
      release(block);
  }
  pthread_mutex_unlock(&arena.lock);
  return found;
}

/* ---- asking -------------------------------------------------------------------------------------------------- */

bool cpu_arena_contains(const void *ptr) {
  return (uintptr_t)ptr >= arena.base && (uintptr_t)ptr < arena.end;
}

bool cpu_arena_covers(const void *ptr, size_t bytes) {
  if (!cpu_arena_contains(ptr)) return false;
  struct block *block, *above;
  pthread_mutex_lock(&arena.lock);
  live_around((uintptr_t)ptr, &block, &above);
  bool covers = block && (uintptr_t)ptr >= block->ptr && (uintptr_t)ptr - block->ptr <= block->bytes &&
                bytes <= block->bytes - ((uintptr_t)ptr - block->ptr);
  pthread_mutex_unlock(&arena.lock);
  return covers;
}

int cpu_arena_nearest(uintptr_t address, uintptr_t *base, size_t *bytes) {
  struct block *below, *above, *best = NULL;
  size_t distance = NEAR;
  pthread_mutex_lock(&arena.lock);
  live_around(address, &below, &above);
  if (below && address < below->ptr) { /* before a checked block, on its first page */
    distance = below->ptr - address;
    best = below;
  } else if (below && (address - below->ptr < below->bytes || address - below->ptr - below->bytes < distance)) {
    distance = address - below->ptr < below->bytes ? 0 : address - below->ptr - below->bytes;
    best = below;
  }
  if (above && above->ptr - address < distance) best = above;
  if (best) {
    *base = best->ptr;
    *bytes = best->bytes;
  }
  pthread_mutex_unlock(&arena.lock);
  return best != NULL;
}

void cpu_arena_info(size_t *available, size_t *total) {
  pthread_mutex_lock(&arena.lock);
  *available = arena.limit - arena.live_bytes;
  *total = arena.limit;
  pthread_mutex_unlock(&arena.lock);
}

void cpu_arena_get_stats(struct arena_stats *stats) {
  pthread_mutex_lock(&arena.lock);
  *stats = (struct arena_stats){.live = arena.live,
                                .guarded = arena.guards,
                                .cached = arena.cached,
                                .live_bytes = arena.live_bytes,
                                .cached_bytes = arena.cached_bytes,
                                .total = arena.limit,
                                .base = arena.base};
  pthread_mutex_unlock(&arena.lock);
}

/* ---- starting ------------------------------------------------------------------------------------------------- */

static bool reserve(uintptr_t where, size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED_NOREPLACE : 0);
  void *got = mmap((void *)where, bytes, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) return false;
  if (where && got != (void *)where) { /* a kernel that does not know the flag takes it for a hint */
    munmap(got, bytes);
    return false;
  }
  arena.base = (uintptr_t)got;
  arena.end = arena.base + bytes;
  return true;
}

/* As much as can be had, at the first address that is free. Thread sanitizer ends the process over a mapping that
   does not fit its own, so it gets the only place that does. */
static bool reserve_somewhere(void) {
  static const uintptr_t places[] = {UNDER_TSAN ? 0x550000000000 : 0x200000000000, 0x550000000000, 0x300000000000, 0};
  for (size_t bytes = UNDER_TSAN ? 256 * GIB : 1024 * GIB; bytes >= GIB; bytes /= 4)
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
      if (!(UNDER_TSAN && places[i] == 0x300000000000) && reserve(places[i], bytes)) return true;
  return false;
}

static bool zone_start(struct zone *zone, uintptr_t start, uintptr_t end) {
  struct block *all = calloc(1, sizeof *all);
  if (!all) return false;
  zone->start = zone->open = start;
  zone->end = end;
  all->zone = zone;
  all->base = start;
  all->pages = (end - start) / PAGE - zone->guard;
  bin_push(all);
  return true;
}

static bool start(char *reason, size_t len) {
  size_t limit = cpu_limits_memory(reason, len);
  if (!limit) return false;
  if (!reserve_somewhere()) {
    snprintf(reason, len, "no address space for device memory: %s", strerror(errno));
    return false;
  }
  /* Three quarters are guarded; the first page of the range guards the first block. */
  uintptr_t middle = arena.base + (arena.end - arena.base) / 4 * 3;
  if (!zone_start(&arena.guarded, arena.base + PAGE, middle) || !zone_start(&arena.packed, middle, arena.end)) {
    snprintf(reason, len, "out of host memory");
    return false;
  }
  size_t room = (arena.end - arena.base) / 4 * 3;
  arena.limit = limit < room ? limit : room;
  return true;
}

bool cpu_arena_start(char *reason, size_t len) {
  pthread_mutex_lock(&arena.lock);
  if (!arena.started) arena.started = start(reason, len);
  bool started = arena.started;
  pthread_mutex_unlock(&arena.lock);
  return started;
}

void cpu_arena_fork_prepare(void) {
  pthread_mutex_lock(&arena.lock);
}
void cpu_arena_fork_parent(void) {
  pthread_mutex_unlock(&arena.lock);
}
void cpu_arena_fork_child(void) {
  pthread_mutex_init(&arena.lock, NULL);
}
