/*
 * fault.h - signals that a kernel raises become faults of its launch; all others go where they went before.
 */
#ifndef LUHIP_CPU_FAULT_H
#define LUHIP_CPU_FAULT_H

#include <signal.h>

#include "cpu/fiber.h"

/* Installs the handlers, or installs them again when somebody has replaced them. Before each launch, one caller
   at a time. */
void cpu_fault_install(void);

/* The calling thread is `worker` from now on: it has an alternate stack and takes the signals of faults. `mask`
   receives its signal mask, for cpu_fault_leave. */
void cpu_fault_enter(struct worker *worker, sigset_t *mask);
void cpu_fault_leave(const sigset_t *mask);
/* The same in two steps: a thread that becomes worker after worker opens once. NULL: it is none. */
void cpu_fault_open(sigset_t *mask);
void cpu_fault_close(const sigset_t *mask);
void cpu_fault_become(struct worker *worker);
/* Blocks every signal that is not a fault's: for threads that the host does not know. Gives the old mask. */
void cpu_fault_block_others(sigset_t *mask);

/* From another thread: ends the kernel that the worker runs, if it is at a place that can be left now: in the
   module's code at [begin, end), or in fiber code. To be repeated until the worker has given up. */
struct fault_text {
  uintptr_t begin, end;
};
void cpu_fault_kick(struct worker *worker, const struct fault_text *text);
/* The code of the module that contains `function`. */
struct fault_text cpu_fault_find_text(void (*function)(void));

/* In a child process: the calling thread is no worker. */
void cpu_fault_after_fork(void);

#endif
