/*
 * fiber.c - the threads of a block taking turns: what runs on a kernel's own stacks. See fiber.h for the rules.
 *
 * The regular case is fast: at a barrier a thread counts itself and goes on to its neighbour in the ring; the last one
 * to come advances the epoch, which lets all others run, and goes on itself. A warp operation does the same among the
 * lanes of a warp, and the last lane works out every lane's result. Everything irregular (threads not started, ended,
 * waiting elsewhere) ends in `choose`.
 */
#include <time.h>

#include "cpu/fiber.h"

/* The hot end of a stack that is needed soon: the first-level cache cannot hold them all. */
FIBER_INLINE void fetch_stack(const char *top) {
  for (int i = 1; i <= 5; i++) __builtin_prefetch(top - 64 * i, 1);
}
#if defined(CPU_CONTEXT_SLOW)
#define FIBER_PREFETCH(fiber) ((void)(fiber))
#else
#define FIBER_PREFETCH(fiber) fetch_stack((const char *)(fiber)->context.sp + 192)
#endif

FIBER_INLINE struct worker *worker_of(const struct luhip_cpu_block *block) {
  return (struct worker *)(void *)block;
}

/* Warps with lanes in an operation. */
FIBER_INLINE uint32_t asking(const struct luhip_cpu_block *block) {
  return block->irregular & (LUHIP_CPU_CHECKED - 1);
}

/* ---- leaving ---------------------------------------------------------------------------------------------------- */

/* Hands a request to the worker's own stack; comes back when that goes on at `paused`. */
FIBER_CODE static void request(struct worker *worker, enum fiber_request request) {
  worker->request = request;
  context_switch(&worker->paused, &worker->home);
}

FIBER_CODE static void fail(struct worker *worker, enum hip_fault_kind kind, const char *phrase) {
  worker->raw = (struct fiber_fault){.kind = kind, .thread = -1, .is_write = -1, .phrase = phrase};
  if (worker->block.current) worker->raw.thread = (int32_t)(worker->block.current - worker->block.fibers);
  request(worker, FIBER_FAIL);
}

/* ---- choosing who goes on
   ------------------------------------------------------------------------------------------ */

/* The next thread, on a new carrier. */
FIBER_CODE static struct luhip_cpu_context *start_next(struct luhip_cpu_block *block) {
  struct worker *worker = worker_of(block);
  uint32_t stack = cpu_fiber_stack_take(worker);
  if (stack == FIBER_STACKS) fail(worker, HIP_FAULT_TRAP, "no memory for the stack of a thread");
  worker->carrier = stack;
  worker->start = block->next_start;
  block->current = NULL;
  context_make(&worker->fresh, cpu_fiber_stack_top(worker, stack), cpu_fiber_carrier);
  if (worker->nfree) fetch_stack(cpu_fiber_stack_top(worker, worker->free_stacks[worker->nfree - 1]));
  return &worker->fresh;
}

FIBER_INLINE struct luhip_cpu_context *resume(struct luhip_cpu_block *block, struct luhip_cpu_fiber *fiber) {
  block->current = fiber;
  return &fiber->context;
}

/* Can a fiber run? */
FIBER_INLINE bool runs(const struct luhip_cpu_block *block, uint32_t thread) {
  const struct luhip_cpu_warp *warp = &block->warps[thread >> block->warp_shift];
  return block->fibers[thread].wait < block->epoch && !(warp->waiting >> (thread & block->lane_mask) & 1);
}

/* How many fibers can? */
FIBER_INLINE uint32_t count_running(const struct luhip_cpu_block *block) {
  uint32_t running = block->live - block->arrived;
  if (!asking(block)) return running;
  for (uint32_t i = 0; i <= (block->threads - 1) >> block->warp_shift; i++)
    running -= (uint32_t)__builtin_popcountll(block->warps[i].waiting);
  return running;
}

/* Who goes on when the current thread cannot: from `thread` on the first fiber in the ring that can run, or a new
   thread. There is one or the other, by the invariants. */
FIBER_CODE static struct luhip_cpu_context *choose(struct luhip_cpu_block *block, uint32_t thread) {
  if (count_running(block) == 0) return start_next(block);
  while (!runs(block, thread)) thread = block->fibers[thread].next;
  return resume(block, &block->fibers[thread]);
}

/* ---- warps
   --------------------------------------------------------------------------------------------------------- */

/* All lanes of a group wait at the same site, so all ask for the same. */
FIBER_INLINE void answer(struct luhip_cpu_warp *warp, uint64_t group) {
  if (warp->ask[__builtin_ctzll(group)] == LUHIP_CPU_BALLOT) {
    uint64_t ballot = 0;
    for (uint64_t rest = group; rest; rest &= rest - 1) {
      if (warp->value[__builtin_ctzll(rest)]) ballot |= rest & -rest;
    }
    for (uint64_t rest = group; rest; rest &= rest - 1) warp->result[__builtin_ctzll(rest)] = ballot;
    return;
  }
  for (uint64_t rest = group; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(rest), source = warp->ask[lane] & 63u;
    warp->result[lane] = group >> source & 1 ? warp->value[source] : 0;
  }
}

/* Where the lanes wait that are behind: deepest in calls, then at the lowest address. The compiler lays code out in
   the order of the source, mostly, so these lanes have yet to reach the place where the others are, and are let go
   first: so lanes come together again after a branch, as they do on a GPU. */
FIBER_CODE static const void *site_behind(const struct luhip_cpu_block *block, const struct luhip_cpu_warp *warp) {
  const struct worker *worker = worker_of(block);
  uint32_t first = (uint32_t)(warp - block->warps) << block->warp_shift;
  const void *site = NULL;
  ptrdiff_t depth = -1;
  for (uint64_t rest = warp->waiting; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(rest);
    const char *top = cpu_fiber_stack_top(worker, block->stack_of[first + lane]);
    ptrdiff_t its_depth = top - warp->frames[lane];
    if (its_depth > depth || (its_depth == depth && warp->sites[lane] < site)) {
      depth = its_depth;
      site = warp->sites[lane];
    }
  }
  return site;
}

/* Lets a group go, with its results. */
FIBER_CODE static void release_group(struct luhip_cpu_block *block, struct luhip_cpu_warp *warp) {
  uint64_t group = warp->waiting;
  if (!warp->site) {
    const void *site = site_behind(block, warp);
    for (uint64_t rest = group; rest; rest &= rest - 1) {
      if (warp->sites[__builtin_ctzll(rest)] != site) group &= ~(rest & -rest);
    }
  }
  answer(warp, group);
  warp->waiting &= ~group;
  if (!warp->waiting) block->irregular--;
}

/* Releases a group if no lane of the warp can run but `leaving` (UINT32_MAX: none), which is about to stop. */
FIBER_CODE static void settle(struct luhip_cpu_block *block, uint32_t index, uint32_t leaving) {
  struct luhip_cpu_warp *warp = &block->warps[index];
  uint32_t first = index << block->warp_shift;
  if (!warp->waiting) return;
  for (uint64_t rest = warp->live & ~warp->waiting; rest; rest &= rest - 1) {
    uint32_t thread = first + (uint32_t)__builtin_ctzll(rest);
    if (thread >= block->next_start) return;
    if (thread != leaving && block->fibers[thread].wait < block->epoch) return;
  }
  release_group(block, warp);
}

/* The lanes that wait do so at different sites: notes where. */
FIBER_CODE static void mix(struct luhip_cpu_warp *warp, uint32_t lane, const void *site) {
  if (warp->site) {
    for (uint64_t rest = warp->waiting; rest; rest &= rest - 1) warp->sites[__builtin_ctzll(rest)] = warp->site;
    warp->site = NULL;
  }
  warp->sites[lane] = site;
}

/* After a lane has come to wait and others of its warp have not: who goes on; NULL when the lane itself can. */
FIBER_CODE static struct luhip_cpu_context *after_asking(struct luhip_cpu_block *block, struct luhip_cpu_warp *warp,
                                                         uint32_t thread) {
  uint32_t index = thread >> block->warp_shift, first = index << block->warp_shift, lane = thread - first;
  uint64_t rest = warp->live & ~warp->waiting, later = rest >> lane << lane; /* lane itself is not in rest */
  if (rest) {
    uint32_t next = first + (uint32_t)__builtin_ctzll(later ? later : rest);
    if (next >= block->next_start) return start_next(block);
    if (block->fibers[next].wait < block->epoch) return resume(block, &block->fibers[next]);
  }
  settle(block, index, UINT32_MAX);
  return runs(block, thread) ? NULL : choose(block, thread);
}

FIBER_CODE static struct luhip_cpu_context *rt_warp(struct luhip_cpu_block *block, unsigned long long value,
                                                    unsigned ask, const void *site, const char *frame) {
  struct luhip_cpu_fiber *fiber = block->current;
  uint32_t thread = (uint32_t)(fiber - block->fibers), lane = thread & block->lane_mask;
  struct luhip_cpu_warp *warp = &block->warps[thread >> block->warp_shift];

  warp->value[lane] = value;
  warp->ask[lane] = (uint8_t)ask;
  warp->frames[lane] = frame;
  if (!warp->waiting) {
    warp->site = site;
    block->irregular++;
  } else if (__builtin_expect(warp->site != site, 0)) {
    mix(warp, lane, site);
  }
  warp->waiting |= UINT64_C(1) << lane;
  if (warp->waiting == warp->live && warp->site) { /* the last to come */
    answer(warp, warp->live);
    warp->waiting = 0;
    block->irregular--;
    return NULL;
  }
  return after_asking(block, warp, thread);
}

/* ---- the block's barrier
   -------------------------------------------------------------------------------------------- */

FIBER_INLINE void release_barrier(struct luhip_cpu_block *block) {
  block->vote_result = block->votes | (uint64_t)block->live << 32;
  block->votes = 0;
  block->arrived = 0;
  block->epoch++;
}

/* Before a thread waits at the barrier: checks that it is the one where others wait; lanes of its warp that wait in
   an operation must not wait for it. */
FIBER_CODE static void before_barrier(struct luhip_cpu_block *block, struct luhip_cpu_fiber *fiber, const void *site) {
  uint32_t thread = (uint32_t)(fiber - block->fibers);
  if (block->irregular & LUHIP_CPU_CHECKED) {
    if (block->arrived == 0) block->barrier_site = site;
    if (block->barrier_site != site)
      fail(worker_of(block), HIP_FAULT_BARRIER, "threads of one block wait at different barriers");
  }
  if (asking(block)) settle(block, thread >> block->warp_shift, thread);
}

FIBER_CODE static struct luhip_cpu_context *rt_barrier(struct luhip_cpu_block *block, const void *site) {
  struct luhip_cpu_fiber *fiber = block->current;
  if (block->irregular) before_barrier(block, fiber, site);
  if (block->arrived + 1 == block->expected) {
    release_barrier(block);
    return NULL;
  }
  block->arrived++;
  fiber->wait = block->epoch;
  struct luhip_cpu_fiber *next = &block->fibers[fiber->next];
  if (next->wait < block->epoch && asking(block) == 0) return resume(block, next);
  return choose(block, fiber->next);
}

FIBER_CODE static struct luhip_cpu_context *rt_vote(struct luhip_cpu_block *block, unsigned yes, const void *site) {
  block->votes += yes;
  return rt_barrier(block, site);
}

FIBER_CODE static struct luhip_cpu_context *rt_yield(struct luhip_cpu_block *block) {
  if (block->next_start < block->threads) return start_next(block);
  return count_running(block) > 1 ? choose(block, block->current->next) : NULL;
}

FIBER_CODE static void rt_go(struct luhip_cpu_context *from, struct luhip_cpu_context *to) {
  context_switch(from, to);
}

/* ---- beginning and ending
   ---------------------------------------------------------------------------------------------- */

/* The first thread of the block that blocks. */
FIBER_CODE static void begin_fibers(struct luhip_cpu_block *block) {
  uint32_t warp_size = UINT32_C(1) << block->warp_shift;
  for (uint32_t first = 0; first < block->threads; first += warp_size) {
    uint32_t lanes = block->threads - first < warp_size ? block->threads - first : warp_size;
    struct luhip_cpu_warp *warp = &block->warps[first >> block->warp_shift];
    warp->live = ~UINT64_C(0) >> (64 - lanes);
    warp->waiting = 0;
  }
  block->epoch = 1;
  block->arrived = block->live = block->votes = block->next_start = 0;
  block->irregular &= LUHIP_CPU_CHECKED;
  block->expected = UINT32_MAX;
  block->fibers_used = 1;
}

/* Threads up to `end` have ended on the carrier, without blocking. `next_start` is beyond them already. */
FIBER_CODE static void ended_on_carrier(struct luhip_cpu_block *block, uint32_t thread, uint32_t end) {
  uint32_t index = thread >> block->warp_shift;
  for (; thread < end; thread++) {
    uint32_t first = thread >> block->warp_shift << block->warp_shift;
    block->warps[thread >> block->warp_shift].live &= ~(UINT64_C(1) << (thread - first));
  }
  settle(block, index, UINT32_MAX); /* later warps have no fiber yet */
}

FIBER_CODE static void rt_promote(struct luhip_cpu_block *block, unsigned thread) {
  struct worker *worker = worker_of(block);
  if (worker->replaying) request(worker, FIBER_BLOCKED);
  if (!block->fibers_used) begin_fibers(block);

  struct luhip_cpu_fiber *fiber = &block->fibers[thread];
  fiber->wait = 0;
  if (block->live == 0) {
    block->first = thread;
    fiber->next = fiber->prev = (uint16_t)thread;
  } else {
    struct luhip_cpu_fiber *first = &block->fibers[block->first];
    fiber->next = (uint16_t)block->first;
    fiber->prev = first->prev;
    block->fibers[first->prev].next = (uint16_t)thread;
    first->prev = (uint16_t)thread;
  }
  block->live++;
  block->stack_of[thread] = (uint16_t)worker->carrier;
  block->current = fiber;
  uint32_t started = block->next_start;
  block->next_start = thread + 1;
  if (block->next_start == block->threads) block->expected = block->live;
  if (started < thread) ended_on_carrier(block, started, thread);
}

/* The current fiber's thread has ended: its stack becomes the carrier. */
FIBER_INLINE void end_fiber(struct luhip_cpu_block *block, struct luhip_cpu_fiber *fiber) {
  uint32_t thread = (uint32_t)(fiber - block->fibers), index = thread >> block->warp_shift;
  block->warps[index].live &= ~(UINT64_C(1) << (thread - (index << block->warp_shift)));
  block->fibers[fiber->prev].next = fiber->next;
  block->fibers[fiber->next].prev = fiber->prev;
  block->first = fiber->next;
  block->live--;
  worker_of(block)->carrier = block->stack_of[thread];
  if (block->warps[index].waiting) settle(block, index, UINT32_MAX);
}

/* A thread, or the last ones on a carrier, have ended in a block with fibers. Gives the thread to start with on this
   stack, or 0 when the block is done; or goes on elsewhere and never returns. */
FIBER_CODE static uint32_t thread_ended(struct worker *worker) {
  struct luhip_cpu_block *block = &worker->block;
  struct luhip_cpu_fiber *fiber = block->current;
  if (fiber) {
    end_fiber(block, fiber);
  } else {
    uint32_t started = block->next_start;
    block->next_start = block->threads;
    if (started < block->threads) ended_on_carrier(block, started, block->threads);
  }
  block->current = NULL;
  bool all_started = block->next_start == block->threads;
  if (all_started) {
    block->expected = block->live;
    if (block->live == 0) {
      block->fibers_used = 0;
      return 0;
    }
    if (block->arrived == block->live) release_barrier(block);
  }
  if (count_running(block) == 0) return block->next_start;
  uint32_t next = fiber ? fiber->next : block->first;
  cpu_fiber_stack_give(worker, worker->carrier);
  FIBER_PREFETCH(&block->fibers[block->fibers[next].next]);
  context_switch(&worker->paused, choose(block, next));
  __builtin_unreachable();
}

FIBER_CODE bool cpu_fiber_next_block(struct worker *worker) {
  struct fiber_launch *launch = worker->launch;
  const uint32_t *grid = worker->block.grid;
  unsigned *index = worker->block.index;
  if (worker->next_block + 1 < worker->end_block) {
    worker->next_block++;
    if (++index[0] < grid[0]) return true;
    index[0] = 0;
    if (++index[1] < grid[1]) return true;
    index[1] = 0;
    index[2]++;
    return true;
  }
  uint64_t first = atomic_fetch_add_explicit(&launch->next, launch->chunk, memory_order_relaxed);
  if (first >= launch->blocks) return false;
  worker->next_block = first;
  worker->end_block = launch->blocks - first < launch->chunk ? launch->blocks : first + launch->chunk;
  index[0] = (unsigned)(first % grid[0]);
  index[1] = (unsigned)(first / grid[0] % grid[1]);
  index[2] = (unsigned)(first / grid[0] / grid[1]);
  return true;
}

FIBER_CODE void cpu_fiber_carrier(struct luhip_cpu_context *fresh) {
  struct worker *worker = (struct worker *)(void *)((char *)fresh - offsetof(struct worker, fresh));
  struct luhip_cpu_block *block = &worker->block;
  uint32_t start = worker->start;
  for (;;) {
    worker->start = start;
    worker->run(block, worker->args, start);
    start = block->fibers_used ? thread_ended(worker) : 0;
    if (start == 0 && (worker->replaying || !cpu_fiber_next_block(worker))) break;
  }
  request(worker, FIBER_DONE);
  __builtin_unreachable();
}

/* ---- what a kernel asks of the host
   ------------------------------------------------------------------------------------ */

FIBER_CODE static int rt_print(struct luhip_cpu_block *block, const char *format, va_list arguments) {
  struct worker *worker = worker_of(block);
  if (worker->replaying) return 0;
  va_list copy;
  va_copy(copy, arguments);
  worker->format = format;
  worker->arguments = &copy;
  request(worker, FIBER_PRINT);
  va_end(copy);
  return worker->text_length;
}

FIBER_CODE static void rt_fail(struct luhip_cpu_block *block, enum luhip_cpu_failure failure, unsigned thread,
                               const char *expression, const char *file, unsigned line) {
  struct worker *worker = worker_of(block);
  worker->raw = (struct fiber_fault){.kind = failure == LUHIP_CPU_ASSERT ? HIP_FAULT_ASSERT : HIP_FAULT_TRAP,
                                     .thread = (int32_t)thread,
                                     .is_write = -1,
                                     .expression = failure == LUHIP_CPU_ASSERT ? expression : NULL,
                                     .file = file,
                                     .line = line,
                                     .phrase = "abort() was called"};
  request(worker, FIBER_FAIL);
}

static unsigned long long rt_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static const struct luhip_cpu_rt runtime = {LUHIP_CPU_ABI, rt_promote, rt_barrier, rt_vote, rt_warp,
                                            rt_go,         rt_yield,   rt_print,   rt_fail, rt_nanoseconds};
const struct luhip_cpu_rt *const cpu_exec_runtime = &runtime;

/* ---- the section
   ----------------------------------------------------------------------------------------------------------- */

extern const char code_begin[] __asm__("__start_luhip_fiber") __attribute__((visibility("hidden")));
extern const char code_end[] __asm__("__stop_luhip_fiber") __attribute__((visibility("hidden")));

bool cpu_fiber_owns(uintptr_t pc) {
  return pc >= (uintptr_t)code_begin && pc < (uintptr_t)code_end;
}
