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
 * Where blocks are is arena_block.c's affair; every operation is O(log n) at most. Freed blocks up to CACHE_PAGES keep
 * their memory for the next request of that many pages, CACHE_BYTES in all, oldest given back first; larger ones go
 * back to the system at once.
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

#include "base/config.h"
#include "cpu/arena_block.h"
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

#define GIB ((size_t)1 << 30)
#define NEAR ((size_t)1 << 20) /* how far from a block an address still counts as near it */

enum {
  MAX_GUARDED = 20000,
  HUGE_PAGES = 512,    /* small pages in a huge one */
  HUGE_FROM = 1024,    /* pages from which a block is aligned for huge pages */
  CACHE_BLOCKS = 4096, /* at most so many are kept */
  GROW_PAGES = 16384,  /* the packed zone opens this much at a time */
};
#define CACHE_BYTES ((size_t)64 << 20)

static struct {
  pthread_mutex_t lock;
  bool started;
  uintptr_t base, end;
  size_t limit; /* bytes in live blocks */
  struct zone guarded, packed;
  struct block *live_root;
  struct block *newest, *oldest; /* cached blocks */
  size_t live, live_bytes, cached, cached_bytes, guards;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER, .guarded.guard = 1};

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
  cpu_block_remove(block);
  *(block->newer ? &block->newer->older : &arena.newest) = block->older;
  *(block->older ? &block->older->newer : &arena.oldest) = block->newer;
  arena.cached--;
  arena.cached_bytes -= block->pages * PAGE;
}

static void release(struct block *block) {
  close_block(block);
  arena.guards -= block->zone->guard;
  cpu_zone_give(block);
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
  cpu_block_push(&block->zone->cache[block->pages], block);
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
  struct block *block = cpu_zone_take(zone, pages, zone->guard && pages >= HUGE_FROM ? HUGE_PAGES : 1);
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
    cpu_live_insert(&arena.live_root, block);
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
  cpu_live_around(arena.live_root, (uintptr_t)ptr, &block, &above);
  bool found = block && block->ptr == (uintptr_t)ptr && block->kind == kind;
  if (found) {
    cpu_live_remove(&arena.live_root, block);
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
  cpu_live_around(arena.live_root, (uintptr_t)ptr, &block, &above);
  bool covers = block && (uintptr_t)ptr >= block->ptr && (uintptr_t)ptr - block->ptr <= block->bytes &&
                bytes <= block->bytes - ((uintptr_t)ptr - block->ptr);
  pthread_mutex_unlock(&arena.lock);
  return covers;
}

int cpu_arena_nearest(uintptr_t address, uintptr_t *base, size_t *bytes) {
  struct block *below, *above, *best = NULL;
  size_t distance = NEAR;
  pthread_mutex_lock(&arena.lock);
  cpu_live_around(arena.live_root, address, &below, &above);
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

static bool zone_start(struct zone *zone, uintptr_t from, uintptr_t end) {
  zone->start = zone->open = from;
  zone->end = end;
  return cpu_zone_fill(zone);
}

static bool start(char *reason, size_t len) {
  size_t limit = cpu_limits_memory(reason, len);
  if (!limit) return false;
  config_freeze(CONFIG_CPU_MEMORY);
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
