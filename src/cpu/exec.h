/*
 * exec.h - running one launch on the CPU device's thread pool, and surviving what it does.
 */
#ifndef LUHIP_CPU_EXEC_H
#define LUHIP_CPU_EXEC_H

#include <signal.h>

#include "cpu/abi.h"
#include "hip/api.h"

struct cpu_launch {
  const struct luhip_cpu_kernel *kernel;
  const char *name; /* for faults and messages */
  uint32_t grid[3], block[3];
  uint32_t shared;  /* dynamic shared memory, bytes */
  size_t local;     /* bytes of the module's thread-local block: shared memory, and what the device headers keep */
  const void *args; /* packed as kernel->params says; must stay valid until return */
  uint64_t tag;
  unsigned warp;       /* 32 or 64: what the module was compiled for */
  unsigned timeout_ms; /* 0: none */
  int checked;         /* non-zero: slower, but the thread of every fault is known, and waiting at different
                               barriers is a fault */
};

enum { CPU_MAX_THREADS = LUHIP_CPU_MAX_THREADS, CPU_SHARED_BYTES = 64 * 1024 };

/* Runs the launch to its end on the pool; the calling thread helps. May be called from several threads: one launch
   has the pool at a time. Returns 0, or 1 with *fault filled (nearest buffer included, by cpu_arena_nearest); then
   blocks that had not begun were not run. Takes over SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP: those that no
   kernel raised go to the handlers that were there before. */
int cpu_exec_run(const struct cpu_launch *launch, struct hip_fault *fault);
/* The same for launches one after the other: what the thread's signals need is done once for all of them. */
void cpu_exec_enter(sigset_t *mask);
int cpu_exec_run_entered(const struct cpu_launch *launch, struct hip_fault *fault);
void cpu_exec_leave(const sigset_t *mask);

/* The runtime's entry table for modules (`luhip_cpu_rt` is set to it at load). */
extern const struct luhip_cpu_rt *const cpu_exec_runtime;
/* What `luhip_cpu_rt_local` is set to. The same for every thread. */
long cpu_exec_local_offset(void);
enum { CPU_LOCAL_ALIGN = 4096 }; /* what a module's thread-local block may be aligned to */

/* Where device printf goes; NULL: stdout. Thread-safe. The writer is called by one thread at a time, on a thread of the
   device, once for each printf with its whole text, and may not launch. */
void cpu_exec_set_writer(void (*writer)(void *user, const char *text, size_t bytes), void *user);
/* In the child of a fork; cpu_exec_run has it called by itself (pthread_atfork). */
void cpu_exec_after_fork(void);
unsigned cpu_exec_workers(void); /* threads of the pool: LUHIP_CPU_THREADS or the cores this process may use */

/* arena.c: base and requested size of the live allocation nearest to address (containing it, or ending or
   beginning within 1 MiB of it). Returns 0 when there is none. Any thread, no signal handler. */
int cpu_arena_nearest(uintptr_t address, uintptr_t *base, size_t *bytes);

#endif
