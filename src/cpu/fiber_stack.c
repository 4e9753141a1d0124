/*
 * fiber_stack.c - the stacks that a worker's threads run on.
 *
 * One range of addresses per worker holds them all; a stack becomes usable when it is first needed, and
 * stays so. Below each lies a guard page, until the workers together have so many that the guards would use
 * up the process's mappings: later workers have none. The tops are at different distances from the page,
 * or else the hot ends of all stacks would compete for the same few sets of the cache.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/valgrind.h"
#include "cpu/fiber.h"

enum { STRIDE = FIBER_STACK_BYTES + FIBER_GUARD_BYTES, RANGE = FIBER_STACKS * STRIDE };
/* Workers with guards: each takes two mappings a stack, of the 65530 that Linux allows. */
enum { GUARDED_WORKERS = 16 };

bool cpu_fiber_stacks_prepare(struct worker *worker) {
  if (worker->stacks) return true;
  worker->stacks_guarded = worker->index < GUARDED_WORKERS;
  int protection = worker->stacks_guarded ? PROT_NONE : PROT_READ | PROT_WRITE;
  void *range = mmap(NULL, RANGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (range == MAP_FAILED) return false;
  /* Huge pages would make every stack touched cost 2 MiB. */
  madvise(range, RANGE, MADV_NOHUGEPAGE);
  worker->stacks = range;
  return true;
}

/* The first use of a stack, in order. */
FIBER_CODE static uint32_t make_stack(struct worker *worker) {
  uint32_t stack = worker->stacks_made;
  if (stack == FIBER_STACKS) return FIBER_STACKS;
  char *low = worker->stacks + (size_t)stack * STRIDE + FIBER_GUARD_BYTES;
  if (worker->stacks_guarded && mprotect(low, FIBER_STACK_BYTES, PROT_READ | PROT_WRITE) != 0) return FIBER_STACKS;
  valgrind_register_stack(low, low + FIBER_STACK_BYTES);
  worker->stacks_made++;
  return stack;
}

FIBER_CODE uint32_t cpu_fiber_stack_take(struct worker *worker) {
  return worker->nfree ? worker->free_stacks[--worker->nfree] : make_stack(worker);
}

FIBER_CODE void cpu_fiber_stack_give(struct worker *worker, uint32_t stack) {
  worker->free_stacks[worker->nfree++] = (uint16_t)stack;
}

FIBER_CODE void *cpu_fiber_stack_top(const struct worker *worker, uint32_t stack) {
  return worker->stacks + (size_t)(stack + 1) * STRIDE - (size_t)(stack % 32) * 192;
}

void cpu_fiber_stacks_reset(struct worker *worker) {
  worker->nfree = worker->stacks_made;
  for (uint32_t i = 0; i < worker->stacks_made; i++) worker->free_stacks[i] = (uint16_t)(worker->stacks_made - 1 - i);
}

bool cpu_fiber_stack_overrun(const struct worker *worker, uintptr_t address) {
  uintptr_t offset = address - (uintptr_t)worker->stacks;
  bool in_guard = offset % STRIDE < FIBER_GUARD_BYTES || offset / STRIDE >= worker->stacks_made;
  return worker->stacks && offset < RANGE && in_guard;
}
