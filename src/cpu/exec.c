/*
 * exec.c - a launch from beginning to end, and a worker's own stack: it starts the first carrier, serves what a kernel
 * asks of the host, and clears up after a fault.
 *
 * Which thread of the block a fault belongs to is known when that thread was promoted, when an assert says so, and
 * always in checked mode, where the wrapper keeps count. Otherwise the loop over the threads may be vectorised and its
 * counter nowhere; then the threads that may have been the one are run again, one at a time and counted, until one of
 * them does the same. The launch's results are lost at this point, so that they are computed twice does no harm. The
 * thread is reported only if the kind of fault is the same; its address is then exact too, where a vector access tells
 * only the first byte that was missing.
 */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/valgrind.h"
#include "cpu/fault.h"
#include "cpu/pool.h"

/* Time that the other workers, and a replay, have after a fault. */
enum { GRACE_MS = 100 };

/* ---- on a kernel's stacks
   ------------------------------------------------------------------------------------------- */

static void enter_kernel(struct worker *worker, struct luhip_cpu_context *to) {
  atomic_store_explicit(&worker->in_kernel, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  context_switch(&worker->home, to);
  atomic_signal_fence(memory_order_seq_cst);
  atomic_store_explicit(&worker->in_kernel, 0, memory_order_relaxed);
  if (worker->request == FIBER_FAULT) valgrind_note_stack();
}

static enum fiber_request start_carrier(struct worker *worker, uint32_t start) {
  worker->start = start;
  worker->carrier = cpu_fiber_stack_take(worker);
  context_make(&worker->fresh, cpu_fiber_stack_top(worker, worker->carrier), cpu_fiber_carrier);
  enter_kernel(worker, &worker->fresh);
  return worker->request;
}

/* Nothing that ran on the worker's stacks goes on. */
static void abandon_fibers(struct worker *worker) {
  worker->block.fibers_used = 0;
  worker->block.current = NULL;
  cpu_fiber_stacks_reset(worker);
}

/* ---- printing
   ---------------------------------------------------------------------------------------------------------- */

/* %n writes to memory; the C library may end the process over it. */
static bool writes_back(const char *format) {
  while ((format = strchr(format, '%'))) {
    format += 1 + strspn(format + 1, "0123456789.*+-# '$hlqjztL");
    if (*format == 'n') return true;
    if (*format) format++;
  }
  return false;
}

/* On a stack of its own: it needs more than a kernel may have left, and its arguments may point anywhere. */
static void format_text(struct luhip_cpu_context *fresh) {
  struct worker *worker = (struct worker *)(void *)((char *)fresh - offsetof(struct worker, formatter));
  va_list arguments;
  va_copy(arguments, *worker->arguments);
  worker->text_length = writes_back(worker->format)
                            ? snprintf(worker->text, worker->text_size, "%s", worker->format)
                            : vsnprintf(worker->text, worker->text_size, worker->format, arguments);
  va_end(arguments);
  worker->request = FIBER_FORMATTED;
  context_switch(&worker->formatter, &worker->home);
  __builtin_unreachable();
}

/* Gives how to go on: FIBER_FORMATTED, or FIBER_FAULT. */
static enum fiber_request print(struct worker *worker) {
  uint32_t stack = cpu_fiber_stack_take(worker);
  if (stack == FIBER_STACKS) return FIBER_FORMATTED;
  for (;;) {
    context_make(&worker->formatter, cpu_fiber_stack_top(worker, stack), format_text);
    enter_kernel(worker, &worker->formatter);
    if (worker->request != FIBER_FORMATTED) return worker->request;
    if (worker->text_length < 0 || (size_t)worker->text_length < worker->text_size) break;
    char *larger = realloc(worker->text, (size_t)worker->text_length + 1);
    if (!larger) break;
    worker->text = larger;
    worker->text_size = (size_t)worker->text_length + 1;
  }
  cpu_fiber_stack_give(worker, stack);
  if (worker->text_length > 0 && (size_t)worker->text_length < worker->text_size)
    cpu_print_write(worker->text, (size_t)worker->text_length);
  return FIBER_FORMATTED;
}

/* ---- faults
   -------------------------------------------------------------------------------------------------------------- */

/* Runs threads from worker->start on, counted, until one faults or blocks. */
static void replay(struct worker *worker) {
  struct fiber_fault first = worker->raw;
  uint32_t start = worker->start;
  abandon_fibers(worker);
  worker->run = worker->launch->ask->kernel->trace;
  worker->tracing = worker->replaying = true;
  worker->block.thread = start;
  enum fiber_request request = start_carrier(worker, start);
  worker->tracing = worker->replaying = false;
  if (request != FIBER_FAULT || worker->raw.kind != first.kind) worker->raw = first;
}

static void set_text(struct hip_fault *fault, const struct fiber_fault *raw, unsigned timeout_ms) {
  if (raw->kind == HIP_FAULT_TIMEOUT)
    snprintf(fault->text, sizeof fault->text, "took longer than %u ms", timeout_ms);
  else if (raw->expression)
    snprintf(fault->text, sizeof fault->text, "%s (%s:%u)", raw->expression, raw->file, raw->line);
  else
    snprintf(fault->text, sizeof fault->text, "%s", raw->phrase);
}

static void fill_fault(struct hip_fault *fault, const struct cpu_launch *ask, const struct fiber_fault *raw,
                       const unsigned index[3]) {
  *fault = (struct hip_fault){.kind = raw->kind, .tag = ask->tag, .is_write = raw->is_write, .address = raw->address};
  snprintf(fault->kernel, sizeof fault->kernel, "%s", ask->name);
  for (int i = 0; i < 3; i++) {
    fault->block[i] = index[i];
    fault->thread[i] = -1;
  }
  if (raw->thread >= 0) {
    uint32_t thread = (uint32_t)raw->thread;
    fault->thread[0] = (int32_t)(thread % ask->block[0]);
    fault->thread[1] = (int32_t)(thread / ask->block[0] % ask->block[1]);
    fault->thread[2] = (int32_t)(thread / ask->block[0] / ask->block[1]);
  }
  set_text(fault, raw, ask->timeout_ms);
}

static bool worth_a_replay(const struct fiber_fault *raw) {
  return raw->thread < 0 && (raw->kind == HIP_FAULT_ADDRESS || raw->kind == HIP_FAULT_STACK ||
                             raw->kind == HIP_FAULT_DIVIDE || raw->kind == HIP_FAULT_TRAP);
}

/* The first worker to fault tells of it; the others only stop. */
static void take_fault(struct worker *worker, enum fiber_request request) {
  struct fiber_launch *launch = worker->launch;
  atomic_store(&launch->next, launch->blocks);
  if (!atomic_exchange(&launch->faulted, 1)) {
    cpu_watch_hurry(GRACE_MS);
    if (request == FIBER_FAULT && worth_a_replay(&worker->raw)) replay(worker);
    fill_fault(launch->fault, launch->ask, &worker->raw, worker->block.index);
  }
  abandon_fibers(worker);
}

/* ---- thread-local variables
   --------------------------------------------------------------------------------------------------- */

/* In static TLS: at the same place about every thread's pointer. */
static __thread __attribute__((tls_model("initial-exec"))) char *local;

long cpu_exec_local_offset(void) {
  return (long)((intptr_t)&local - (intptr_t)__builtin_thread_pointer());
}

/* Shared memory begins with anything, and the rest is set before it is read, so the block is any module's. */
static bool prepare_local(struct worker *worker, size_t bytes) {
  if (bytes > worker->local_bytes) {
    size_t rounded = (bytes + CPU_LOCAL_ALIGN - 1) & ~(size_t)(CPU_LOCAL_ALIGN - 1);
    char *larger = aligned_alloc(CPU_LOCAL_ALIGN, rounded);
    if (!larger) return false;
    memset(larger, 0, rounded);
    free(worker->local);
    worker->local = larger;
    worker->local_bytes = rounded;
  }
  local = worker->local;
  return true;
}

/* ---- a worker's share
   --------------------------------------------------------------------------------------------------------- */

static void set_up(struct worker *worker, struct fiber_launch *launch) {
  const struct cpu_launch *ask = launch->ask;
  struct luhip_cpu_block *block = &worker->block;
  memcpy(block->grid, ask->grid, sizeof ask->grid);
  memcpy(block->block, ask->block, sizeof ask->block);
  block->threads = ask->block[0] * ask->block[1] * ask->block[2];
  block->warp_shift = ask->warp == 64 ? 6 : 5;
  block->lane_mask = ask->warp == 64 ? 63 : 31;
  block->irregular = ask->checked ? LUHIP_CPU_CHECKED : 0;
  block->fibers_used = 0; /* not so after a fork in the middle of a launch */
  block->current = NULL;
  worker->tracing = ask->checked;
  worker->replaying = false;
  worker->launch = launch;
  worker->run = ask->checked ? ask->kernel->trace : ask->kernel->run;
  worker->args = ask->args;
  worker->next_block = worker->end_block = 0;
}

void cpu_exec_run_blocks(struct worker *worker, struct fiber_launch *launch) {
  if (!prepare_local(worker, launch->ask->local)) return; /* the launching thread, which has its own, runs the blocks */
  set_up(worker, launch);
  if (!cpu_fiber_next_block(worker)) return;
  enum fiber_request request = start_carrier(worker, 0);
  while (request == FIBER_PRINT) {
    request = print(worker);
    if (request == FIBER_FORMATTED) {
      enter_kernel(worker, &worker->paused);
      request = worker->request;
    }
  }
  if (request == FIBER_DONE)
    cpu_fiber_stacks_reset(worker);
  else
    take_fault(worker, request);
}

/* ---- launches
   ------------------------------------------------------------------------------------------------------------------
   */

/* Few chunks for many small blocks, many for few: each worker comes back about eight times. */
static uint64_t chunk_of(uint64_t blocks) {
  uint64_t chunk = blocks / (cpu_pool_size() * 8u);
  return chunk < 1 ? 1 : chunk > 1024 ? 1024 : chunk;
}

static void no_memory(const struct cpu_launch *ask, struct hip_fault *fault) {
  const struct fiber_fault raw = {
      .kind = HIP_FAULT_TRAP, .thread = -1, .is_write = -1, .phrase = "no memory for stacks and shared memory"};
  fill_fault(fault, ask, &raw, (const unsigned[3]){0, 0, 0});
}

static int ended_early(const struct cpu_launch *ask, struct hip_fault *fault) {
  const struct fiber_fault raw = {.kind = HIP_FAULT_TIMEOUT, .thread = -1, .is_write = -1};
  fill_fault(fault, ask, &raw, (const unsigned[3]){0, 0, 0});
  return 1;
}

void cpu_exec_enter(sigset_t *mask) {
  cpu_fault_install();
  cpu_fault_open(mask);
}

void cpu_exec_leave(const sigset_t *mask) {
  cpu_fault_close(mask);
}

int cpu_exec_run_entered(const struct cpu_launch *ask, struct hip_fault *fault) {
  struct worker *worker = cpu_pool_begin();
  if (!worker || !prepare_local(worker, ask->local)) {
    if (worker) cpu_pool_end();
    no_memory(ask, fault);
    return 1;
  }
  uint64_t blocks = (uint64_t)ask->grid[0] * ask->grid[1] * ask->grid[2];
  struct fiber_launch launch = {.ask = ask, .blocks = blocks, .chunk = chunk_of(blocks), .fault = fault};
  cpu_fault_become(worker);
  cpu_watch_begin(&launch, ask->timeout_ms);
  cpu_pool_open(&launch);
  cpu_exec_run_blocks(worker, &launch);
  cpu_pool_close();
  cpu_watch_end();
  cpu_fault_become(NULL);
  cpu_pool_end();
  if (!atomic_load(&launch.faulted)) return atomic_load(&launch.timed_out) ? ended_early(ask, fault) : 0;
  if (fault->kind == HIP_FAULT_ADDRESS) cpu_arena_nearest(fault->address, &fault->nearest, &fault->nearest_bytes);
  return 1;
}

int cpu_exec_run(const struct cpu_launch *ask, struct hip_fault *fault) {
  sigset_t mask;
  cpu_exec_enter(&mask);
  int failed = cpu_exec_run_entered(ask, fault);
  cpu_exec_leave(&mask);
  return failed;
}

unsigned cpu_exec_workers(void) {
  return cpu_pool_size();
}
