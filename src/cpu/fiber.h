/*
 * fiber.h - one worker running blocks: the data that the code in a kernel's stacks (fiber.c) and the code on the
 * worker's own stack (exec.c) share.
 *
 * A worker is an OS thread that runs the blocks of a launch, one at a time. Everything here belongs to one worker and is
 * touched by its thread alone, its signal handler included; `next` of a launch is the only thing shared.
 *
 * The life of a block. Its threads are run one after the other on one stack, the carrier. A thread that blocks is
 * promoted: the carrier becomes its fiber, and the next thread starts on a new carrier. A fiber waits for the
 * block's barrier, or for its warp; or it runs. Invariants:
 *   - threads start in order: all below `next_start` have started, and those of them with no fiber have ended;
 *   - a fiber waits at the barrier when its `wait` is the epoch, and in a warp operation when its bit in the warp's
 *     `waiting` is set; otherwise it can run. `arrived` and `asking` count the first and the warps with any of the second;
 *   - expected is `live` once all threads have started, and more than `live` before;
 *   - in a warp where some lanes wait in an operation, some other lane can still run, or has not started: whoever takes
 *     the last such lane away releases a group (settle);
 *   - fibers are in a ring in order of their threads, which is the order they run in.
 */
#ifndef LUHIP_CPU_FIBER_H
#define LUHIP_CPU_FIBER_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cpu/context.h"
#include "cpu/exec.h"

enum { FIBER_STACK_BYTES = 64 * 1024, FIBER_GUARD_BYTES = 4096, FIBER_STACKS = CPU_MAX_THREADS + 2 };

struct fiber {
  struct context context; /* valid while it does not run */
  uint32_t wait;          /* the epoch in which it last came to the barrier */
  uint16_t next, prev; /* threads, in the ring */
};

struct fiber_warp {
  uint64_t live;    /* lanes that have not ended, started or not */
  uint64_t waiting; /* lanes in a warp operation */
  const void *site; /* where they wait, unless it is mixed: then each has its own */
  bool mixed;
  /* What each waiting lane brings and asks for, and what it gets. */
  uint8_t ask[64];
  uint64_t value[64], result[64];
  const char *frames[64]; /* on the lane's stack, at a place that depends on the depth of its calls alone */
  const void *sites[64];
};

struct fiber_block {
  struct luhip_cpu_block shown; /* first: a kernel's pointer to its block is one to this */
  uint32_t threads;
  uint32_t warp_shift;   /* log2 of the warp's size */
  uint32_t lane_mask;    /* the warp's size - 1 */
  struct fiber *current; /* NULL: on the carrier, not promoted */
  uint32_t epoch, arrived, expected, asking, live, next_start;
  uint32_t first; /* any fiber, when live > 0: the ring begins here */
  bool fibers_used; /* has any thread of this block been promoted? */
  bool checked;
  const void *barrier_site; /* checked: where the first to wait at this barrier waits */
  uint32_t votes;
  uint64_t vote_result;
  struct fiber_warp warps[CPU_MAX_THREADS / 32];
  struct fiber fibers[CPU_MAX_THREADS];
  uint16_t stack_of[CPU_MAX_THREADS];
};

/* Why the worker's own stack goes on. */
enum fiber_request {
  FIBER_DONE,      /* no block is left */
  FIBER_FAULT,     /* the signal handler ended the kernel: worker->raw */
  FIBER_FAIL,      /* the kernel ended itself, or a barrier was wrong: worker->raw */
  FIBER_PRINT,     /* worker->format, worker->arguments; go on at worker->paused */
  FIBER_FORMATTED, /* the text of a print is ready */
  FIBER_BLOCKED,   /* replay: a thread blocked */
};

/* A fault as it was met. */
struct fiber_fault {
  enum hip_fault_kind kind;
  int32_t thread; /* linear, -1 unknown */
  uintptr_t address;
  int is_write;
  const char *expression, *file; /* assert: in the module */
  unsigned line;
  const char *phrase;
};

struct fiber_launch {
  const struct cpu_launch *ask;
  uint64_t blocks, chunk;
  _Atomic uint64_t next;     /* the next block nobody has taken; >= blocks when the launch is over or given up */
  _Atomic int faulted;       /* the first worker with a fault takes this */
  _Atomic int timed_out;
  struct hip_fault *fault;   /* written by that worker alone */
};

struct worker {
  struct fiber_block block; /* first: see FIBER_WORKER */
  /* The launch, copied to where the code on the fibers finds it. */
  struct fiber_launch *launch;
  void (*run)(struct luhip_cpu_block *, const void *, unsigned);
  const void *args;
  uint64_t next_block, end_block;
  uint32_t start; /* thread at which the carrier's present call of run began */
  bool tracing;   /* `run` is the kernel's trace: block.shown.thread counts */
  bool replaying;

  struct context home, fresh, paused, formatter;
  enum fiber_request request;
  struct fiber_fault raw;
  const char *format;
  va_list *arguments;
  char *text; /* of prints; grows */
  size_t text_size;
  int text_length;

  /* Stacks: one range of addresses, made usable one by one. free_stacks is a heap-like stack of those not in use. */
  char *stacks;
  uint32_t stacks_made, carrier;
  uint32_t nfree;
  uint16_t free_stacks[FIBER_STACKS];
  bool stacks_guarded;

  /* Read by the worker's signal handler, and by the watchdog. */
  _Atomic int in_kernel; /* on a kernel's stack: a fault is the kernel's */
  pthread_t thread;
  unsigned index;
  uint32_t seen_generation; /* pool.c: of a new thread */
};

/* The linear index of the thread that runs, -1 when it is not known. */
static inline int32_t fiber_thread(const struct worker *worker) {
  const struct fiber_block *block = &worker->block;
  if (block->current) return (int32_t)(block->current - block->fibers);
  return worker->tracing ? (int32_t)block->shown.thread : -1;
}

#define FIBER_WORKER(pointer) ((struct worker *)(void *)(pointer))

/* fiber.c: entry of a carrier; begins with thread `worker->start` of the worker's block, and runs blocks until none is left. */
void fiber_carrier(struct context *fresh);
/* Takes a chunk of blocks and sets up the first; false when there is none. */
bool fiber_next_block(struct worker *worker);

/* fiber_stack.c. True when the stacks are there or could be made. */
bool fiber_stacks_prepare(struct worker *worker);
/* Takes a stack; FIBER_STACKS when there is no memory for one. */
uint32_t fiber_stack_take(struct worker *worker);
void fiber_stack_give(struct worker *worker, uint32_t stack);
void *fiber_stack_top(const struct worker *worker, uint32_t stack);
void fiber_stacks_reset(struct worker *worker); /* none is in use any more */
/* Is address one that a stack that ran over would touch? */
bool fiber_stack_overrun(const struct worker *worker, uintptr_t address);

/* True when pc is in the code that runs on fibers. */
bool fiber_owns(uintptr_t pc);

#endif
