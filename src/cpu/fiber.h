/*
 * fiber.h - one worker running blocks: the data that the code in a kernel's stacks (fiber.c) and the code on the
 * worker's own stack (exec.c) share.
 *
 * A worker is an OS thread that runs the blocks of a launch, one at a time. Everything here belongs to one worker and
 * is touched by its thread alone, its signal handler included; `next` of a launch is the only thing shared.
 *
 * The life of a block. Its threads are run one after the other on one stack, the carrier. A thread that blocks is
 * promoted: the carrier becomes its fiber, and the next thread starts on a new carrier. A fiber waits for the block's
 * barrier, or for its warp; or it runs. Invariants:
 *   - threads start in order: all below `next_start` have started, and those of them with no fiber have ended;
 *   - a fiber waits at the barrier when its `wait` is the epoch, and in a warp operation when its bit in the warp's
 *     `waiting` is set; otherwise it can run. `arrived` counts the first; the lower half of `irregular` the warps
 *     with any of the second;
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

enum { FIBER_STACK_BYTES = 64 * 1024, FIBER_GUARD_BYTES = 4096, FIBER_STACKS = LUHIP_CPU_MAX_THREADS + 2 };

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
  _Atomic uint64_t next; /* the next block nobody has taken; >= blocks when the launch is over or given up */
  _Atomic int faulted;   /* the first worker with a fault takes this */
  _Atomic int timed_out;
  struct hip_fault *fault; /* written by that worker alone */
};

struct worker {
  struct luhip_cpu_block block; /* first: a kernel's pointer to its block is one to its worker */
  /* The launch, copied to where the code on the fibers finds it. */
  struct fiber_launch *launch;
  void (*run)(struct luhip_cpu_block *, const void *, unsigned);
  const void *args;
  char *local; /* thread-local variables of the module that runs; shared memory is among them */
  size_t local_bytes;
  uint64_t next_block, end_block;
  uint32_t start; /* thread at which the carrier's present call of run began */
  bool tracing;   /* `run` is the kernel's trace: block.thread counts */
  bool replaying;

  struct luhip_cpu_context home, fresh, paused, formatter;
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
  const struct luhip_cpu_block *block = &worker->block;
  if (block->current) return (int32_t)(block->current - block->fibers);
  return worker->tracing ? (int32_t)block->thread : -1;
}

/* fiber.c: entry of a carrier; begins with thread `worker->start` of the worker's block, and runs blocks until none
   is left. */
void cpu_fiber_carrier(struct luhip_cpu_context *fresh);
/* Takes a chunk of blocks and sets up the first; false when there is none. */
bool cpu_fiber_next_block(struct worker *worker);

/* fiber_stack.c. True when the stacks are there or could be made. */
bool cpu_fiber_stacks_prepare(struct worker *worker);
/* Takes a stack; FIBER_STACKS when there is no memory for one. */
uint32_t cpu_fiber_stack_take(struct worker *worker);
void cpu_fiber_stack_give(struct worker *worker, uint32_t stack);
void *cpu_fiber_stack_top(const struct worker *worker, uint32_t stack);
void cpu_fiber_stacks_reset(struct worker *worker); /* none is in use any more */
/* Is address one that a stack that ran over would touch? */
bool cpu_fiber_stack_overrun(const struct worker *worker, uintptr_t address);

/* True when pc is in the code that runs on fibers. */
bool cpu_fiber_owns(uintptr_t pc);

#endif
