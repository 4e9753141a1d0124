/*
 * arena.h - all device and pinned memory of the CPU device.
 *
 * One range of addresses, reserved once at a fixed place and shared by the device's ordinals; see arena.c.
 * All functions are thread-safe.
 */
#ifndef LUHIP_CPU_ARENA_H
#define LUHIP_CPU_ARENA_H

#include <stdbool.h>

#include "hip/api.h"

enum arena_kind { ARENA_DEVICE, ARENA_PINNED };

/* Reserves the addresses and settles the limit. Idempotent. False with a sentence in `reason` when it cannot be had. */
bool cpu_arena_start(char *reason, size_t len);

/* bytes > 0. `checked`: the block ends at its guard page (16-byte alignment), and is never handed out again
   at once after it was freed; otherwise 256-byte alignment. hip_ErrorOutOfMemory beyond the limit. */
hip_error_t cpu_arena_alloc(void **ptr, size_t bytes, enum arena_kind kind, bool checked);
/* False when ptr is not what arena_alloc gave for this kind. */
bool cpu_arena_free(void *ptr, enum arena_kind kind);
/* True when [ptr, ptr + bytes) lies within one live block. */
bool cpu_arena_covers(const void *ptr, size_t bytes);
/* True when ptr points into the arena's addresses at all. */
bool cpu_arena_contains(const void *ptr);
void cpu_arena_info(size_t *available, size_t *total);

struct arena_stats {
  size_t live, guarded, cached;    /* blocks; guarded includes cached ones */
  size_t live_bytes, cached_bytes; /* in whole pages */
  size_t total;
  uintptr_t base;
};
void cpu_arena_get_stats(struct arena_stats *stats);

/* Around fork(): the child keeps a private copy of everything. */
void cpu_arena_fork_prepare(void);
void cpu_arena_fork_parent(void);
void cpu_arena_fork_child(void);

#endif
