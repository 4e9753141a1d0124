/*
 * fiber.c - the threads of a block taking turns: what runs on a kernel's own stacks. See fiber.h for the rules.
 *
 * The regular case is fast: at a barrier a thread counts itself and goes on to its neighbour in the ring; the last
 * one to come advances the epoch, which lets all others run, and goes on itself. A warp operation does the same
 * among the lanes of a warp, and the last lane works out every lane's result. Everything irregular (threads not started, ended,
 * waiting elsewhere) ends in `choose`.
 */
#include <time.h>

#include "cpu/fiber.h"

/* The stack of a fiber whose turn is near: by then it is in the first-level cache, which cannot hold them all. */
#if defined(CPU_CONTEXT_SLOW)
#define FIBER_PREFETCH(fiber) ((void)(fiber))
#else
#define FIBER_PREFETCH(fiber)                                                                                          \
  do {                                                                                                                 \
    const char *stack_ = (fiber)->context.sp;                                                                          \
    __builtin_prefetch(stack_);                                                                                        \
    __builtin_prefetch(stack_ + 64);                                                                                   \
    __builtin_prefetch(stack_ + 128);                                                                                  \
  } while (0)
#endif

FIBER_INLINE struct worker *worker_of(struct fiber_block *block) { return FIBER_WORKER(block); }
FIBER_INLINE struct fiber_block *block_of(struct luhip_cpu_block *shown) { return (struct fiber_block *)(void *)shown; }

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

/* ---- choosing who goes on ------------------------------------------------------------------------------------------ */

/* The next thread, on a new carrier. */
FIBER_CODE static struct context *start_next(struct fiber_block *block) {
  struct worker *worker = worker_of(block);
  uint32_t stack = fiber_stack_take(worker);
  if (stack == FIBER_STACKS) fail(worker, HIP_FAULT_TRAP, "no memory for the stack of a thread");
  worker->carrier = stack;
  worker->start = block->next_start;
  block->current = NULL;
  context_make(&worker->fresh, fiber_stack_top(worker, stack), fiber_carrier);
  return &worker->fresh;
}

FIBER_INLINE struct context *resume(struct fiber_block *block, struct fiber *fiber) {
  block->current = fiber;
  return &fiber->context;
}

/* Can a fiber run? */
FIBER_INLINE bool runs(const struct fiber_block *block, uint32_t thread) {
  const struct fiber_warp *warp = &block->warps[thread >> block->warp_shift];
  return block->fibers[thread].wait < block->epoch && !(warp->waiting >> (thread & block->lane_mask) & 1);
}

/* How many fibers can? */
FIBER_INLINE uint32_t count_running(const struct fiber_block *block) {
  uint32_t running = block->live - block->arrived;
  if (!block->asking) return running;
  for (uint32_t i = 0; i <= (block->threads - 1) >> block->warp_shift; i++)
    running -= (uint32_t)__builtin_popcountll(block->warps[i].waiting);
  return running;
}

/* Who goes on when the current thread cannot: from `thread` on the first fiber in the ring that can run, or a new thread.
   There is one or the other, by the invariants. */
FIBER_CODE static struct context *choose(struct fiber_block *block, uint32_t thread) {
  if (count_running(block) == 0) return start_next(block);
  while (!runs(block, thread)) thread = block->fibers[thread].next;
  return resume(block, &block->fibers[thread]);
}

/* ---- warps --------------------------------------------------------------------------------------------------------- */

/* All lanes of a group wait at the same site, so all ask for the same. */
FIBER_INLINE void answer(struct fiber_warp *warp, uint64_t group) {
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
   the order of the source, mostly, so these lanes have yet to reach the place where the others are, and are let go first:
   so lanes come together again after a branch, as they do on a GPU. */
FIBER_CODE static const void *site_behind(const struct fiber_block *block, const struct fiber_warp *warp) {
  const struct worker *worker = FIBER_WORKER(block);
  uint32_t first = (uint32_t)(warp - block->warps) << block->warp_shift;
  const void *site = NULL;
  ptrdiff_t depth = -1;
  for (uint64_t rest = warp->waiting; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(rest);
    const char *top = fiber_stack_top(worker, block->stack_of[first + lane]);
    ptrdiff_t its_depth = top - warp->frames[lane];
    if (its_depth > depth || (its_depth == depth && warp->sites[lane] < site)) {
      depth = its_depth;
      site = warp->sites[lane];
    }
  }
  return site;
}

/* Lets a group go, with its results. */
FIBER_CODE static void release_group(struct fiber_block *block, struct fiber_warp *warp) {
  uint64_t group = warp->waiting;
  if (warp->mixed) {
    const void *site = site_behind(block, warp);
    for (uint64_t rest = group; rest; rest &= rest - 1) {
      if (warp->sites[__builtin_ctzll(rest)] != site) group &= ~(rest & -rest);
    }
  }
  answer(warp, group);
  warp->waiting &= ~group;
  if (!warp->waiting) block->asking--;
}

/* Releases a group if no lane of the warp can run but `leaving` (CPU_MAX_THREADS: none), which is about to stop. */
FIBER_CODE static void settle(struct fiber_block *block, uint32_t index, uint32_t leaving) {
  struct fiber_warp *warp = &block->warps[index];
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
FIBER_CODE static void mix(struct fiber_warp *warp, uint32_t lane, const void *site) {
  if (!warp->mixed) {
    for (uint64_t rest = warp->waiting; rest; rest &= rest - 1) warp->sites[__builtin_ctzll(rest)] = warp->site;
    warp->mixed = true;
  }
  warp->sites[lane] = site;
}

/* After a lane has come to wait and others of its warp have not: who goes on; NULL when the lane itself can. */
FIBER_CODE static struct context *after_asking(struct fiber_block *block, struct fiber_warp *warp, uint32_t thread) {
  uint32_t index = thread >> block->warp_shift, first = index << block->warp_shift, lane = thread - first;
  uint64_t rest = warp->live & ~warp->waiting, later = rest >> lane << lane; /* lane itself is not in rest */
  if (rest) {
    uint32_t next = first + (uint32_t)__builtin_ctzll(later ? later : rest);
    if (next >= block->next_start) return start_next(block);
    if (block->fibers[next].wait < block->epoch) return resume(block, &block->fibers[next]);
  }
  settle(block, index, CPU_MAX_THREADS);
  return runs(block, thread) ? NULL : choose(block, thread);
}

FIBER_CODE static unsigned long long rt_warp(struct luhip_cpu_block *shown, unsigned long long value, unsigned ask) {
  struct fiber_block *block = block_of(shown);
  struct fiber *fiber = block->current;
  uint32_t thread = (uint32_t)(fiber - block->fibers), lane = thread & block->lane_mask;
  struct fiber_warp *warp = &block->warps[thread >> block->warp_shift];
  const void *site = __builtin_return_address(0);

  warp->value[lane] = value;
  warp->ask[lane] = (uint8_t)ask;
  warp->frames[lane] = __builtin_frame_address(0);
  if (!warp->waiting) {
    warp->site = site;
    warp->mixed = false;
    block->asking++;
  } else if (__builtin_expect(warp->site != site || warp->mixed, 0)) {
    mix(warp, lane, site);
  }
  warp->waiting |= UINT64_C(1) << lane;
  if (warp->waiting == warp->live && !warp->mixed) { /* the last to come */
    answer(warp, warp->live);
    warp->waiting = 0;
    block->asking--;
    return warp->result[lane];
  }
  struct fiber *next = fiber + 1;
  struct context *to;
  if (__builtin_expect((warp->live & ~warp->waiting) >> lane & 2 && thread + 1 < block->next_start &&
                           next->wait < block->epoch, 1)) {
    FIBER_PREFETCH(next + 1);
    to = resume(block, next);
  } else {
    to = after_asking(block, warp, thread);
  }
  if (to) context_switch(&fiber->context, to);
  return warp->result[lane];
}

/* ---- the block's barrier -------------------------------------------------------------------------------------------- */

FIBER_INLINE void release_barrier(struct fiber_block *block) {
  block->vote_result = block->votes | (uint64_t)block->live << 32;
  block->votes = 0;
  block->arrived = 0;
  block->epoch++;
}

/* Before a thread waits at the barrier: checks that it is the one where others wait; lanes of its warp that wait in
   an operation must not wait for it. */
FIBER_CODE static void before_barrier(struct fiber_block *block, struct fiber *fiber, const void *site) {
  uint32_t thread = (uint32_t)(fiber - block->fibers);
  if (block->checked) {
    if (block->arrived == 0) block->barrier_site = site;
    if (block->barrier_site != site)
      fail(worker_of(block), HIP_FAULT_BARRIER, "threads of one block wait at different barriers");
  }
  if (block->asking) settle(block, thread >> block->warp_shift, thread);
}

FIBER_INLINE void wait_at_barrier(struct fiber_block *block, const void *site) {
  struct fiber *fiber = block->current;
  if (__builtin_expect(block->asking != 0 || block->checked, 0)) before_barrier(block, fiber, site);
  if (block->arrived + 1 == block->expected) {
    release_barrier(block);
    return;
  }
  block->arrived++;
  fiber->wait = block->epoch;
  struct fiber *next = &block->fibers[fiber->next];
  FIBER_PREFETCH(&block->fibers[next->next]);
  if (__builtin_expect(next->wait < block->epoch && block->asking == 0, 1))
    context_switch(&fiber->context, resume(block, next));
  else
    context_switch(&fiber->context, choose(block, fiber->next));
}

FIBER_CODE static void rt_barrier(struct luhip_cpu_block *shown) {
  wait_at_barrier(block_of(shown), __builtin_return_address(0));
}

FIBER_CODE static unsigned long long rt_vote(struct luhip_cpu_block *shown, unsigned yes) {
  struct fiber_block *block = block_of(shown);
  block->votes += yes;
  wait_at_barrier(block, __builtin_return_address(0));
  return block->vote_result;
}

FIBER_CODE static void rt_yield(struct luhip_cpu_block *shown) {
  struct fiber_block *block = block_of(shown);
  struct fiber *fiber = block->current;
  if (block->next_start < block->threads)
    context_switch(&fiber->context, start_next(block));
  else if (count_running(block) > 1)
    context_switch(&fiber->context, choose(block, fiber->next));
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------------- */

/* The first thread of the block that blocks. */
FIBER_CODE static void begin_fibers(struct fiber_block *block) {
  uint32_t warp_size = UINT32_C(1) << block->warp_shift;
  for (uint32_t first = 0; first < block->threads; first += warp_size) {
    uint32_t lanes = block->threads - first < warp_size ? block->threads - first : warp_size;
    struct fiber_warp *warp = &block->warps[first >> block->warp_shift];
    warp->live = ~UINT64_C(0) >> (64 - lanes);
    warp->waiting = 0;
  }
  block->epoch = 1;
  block->arrived = block->asking = block->live = block->votes = block->next_start = 0;
  block->expected = UINT32_MAX;
  block->fibers_used = true;
}

/* Threads up to `end` have ended on the carrier, without blocking. `next_start` is beyond them already. */
FIBER_CODE static void ended_on_carrier(struct fiber_block *block, uint32_t thread, uint32_t end) {
  uint32_t index = thread >> block->warp_shift;
  for (; thread < end; thread++) {
    uint32_t first = thread >> block->warp_shift << block->warp_shift;
    block->warps[thread >> block->warp_shift].live &= ~(UINT64_C(1) << (thread - first));
  }
  settle(block, index, CPU_MAX_THREADS); /* later warps have no fiber yet */
}

FIBER_CODE static void rt_promote(struct luhip_cpu_block *shown, unsigned thread) {
  struct fiber_block *block = block_of(shown);
  struct worker *worker = worker_of(block);
  if (worker->replaying) request(worker, FIBER_BLOCKED);
  if (!block->fibers_used) begin_fibers(block);

  struct fiber *fiber = &block->fibers[thread];
  fiber->wait = 0;
  if (block->live == 0) {
    block->first = thread;
    fiber->next = fiber->prev = (uint16_t)thread;
  } else {
    struct fiber *first = &block->fibers[block->first];
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
FIBER_INLINE void end_fiber(struct fiber_block *block, struct fiber *fiber) {
  uint32_t thread = (uint32_t)(fiber - block->fibers), index = thread >> block->warp_shift;
  block->warps[index].live &= ~(UINT64_C(1) << (thread - (index << block->warp_shift)));
  block->fibers[fiber->prev].next = fiber->next;
  block->fibers[fiber->next].prev = fiber->prev;
  block->first = fiber->next;
  block->live--;
  worker_of(block)->carrier = block->stack_of[thread];
  if (block->warps[index].waiting) settle(block, index, CPU_MAX_THREADS);
}

/* A thread, or the last ones on a carrier, have ended in a block with fibers. Gives the thread to start with on this
   stack, or 0 when the block is done; or goes on elsewhere and never returns. */
FIBER_CODE static uint32_t thread_ended(struct worker *worker) {
  struct fiber_block *block = &worker->block;
  struct fiber *fiber = block->current;
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
      block->fibers_used = false;
      return 0;
    }
    if (block->arrived == block->live) release_barrier(block);
  }
  if (count_running(block) == 0) return block->next_start;
  uint32_t next = fiber ? fiber->next : block->first;
  fiber_stack_give(worker, worker->carrier);
  context_switch(&worker->paused, choose(block, next));
  __builtin_unreachable();
}

FIBER_CODE bool fiber_next_block(struct worker *worker) {
  struct fiber_launch *launch = worker->launch;
  const uint32_t *grid = worker->block.shown.grid;
  unsigned *index = worker->block.shown.index;
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

FIBER_CODE void fiber_carrier(struct context *fresh) {
  struct worker *worker = (struct worker *)(void *)((char *)fresh - offsetof(struct worker, fresh));
  struct fiber_block *block = &worker->block;
  uint32_t start = worker->start;
  for (;;) {
    worker->start = start;
    worker->run(&block->shown, worker->args, start);
    start = block->fibers_used ? thread_ended(worker) : 0;
    if (start == 0 && (worker->replaying || !fiber_next_block(worker))) break;
  }
  request(worker, FIBER_DONE);
  __builtin_unreachable();
}

/* ---- what a kernel asks of the host ------------------------------------------------------------------------------------ */

FIBER_CODE static int rt_print(struct luhip_cpu_block *shown, const char *format, va_list arguments) {
  struct worker *worker = worker_of(block_of(shown));
  if (worker->replaying) return 0;
  va_list copy;
  va_copy(copy, arguments);
  worker->format = format;
  worker->arguments = &copy;
  request(worker, FIBER_PRINT);
  va_end(copy);
  return worker->text_length;
}

FIBER_CODE static void rt_fail(struct luhip_cpu_block *shown, enum luhip_cpu_failure failure, unsigned thread,
                               const char *expression, const char *file, unsigned line) {
  struct worker *worker = worker_of(block_of(shown));
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
                                            rt_yield,      rt_print,   rt_fail,    rt_nanoseconds};
const struct luhip_cpu_rt *const cpu_exec_runtime = &runtime;

/* ---- the section ----------------------------------------------------------------------------------------------------------- */

extern const char code_begin[] __asm__("__start_luhip_fiber") __attribute__((visibility("hidden")));
extern const char code_end[] __asm__("__stop_luhip_fiber") __attribute__((visibility("hidden")));

bool fiber_owns(uintptr_t pc) { return pc >= (uintptr_t)code_begin && pc < (uintptr_t)code_end; }
