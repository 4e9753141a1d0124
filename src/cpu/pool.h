/*
 * pool.h - the threads that run blocks, and the watchdog over them.
 */
#ifndef LUHIP_CPU_POOL_H
#define LUHIP_CPU_POOL_H

#include "cpu/fiber.h"

/* pool.c. One launch has the pool at a time: cpu_pool_begin waits for it, and gives the worker that the calling
   thread is until cpu_pool_end; NULL when memory is short. */
struct worker *cpu_pool_begin(void);
void cpu_pool_end(void);
/* Lets others take part in a launch, which stays valid until cpu_pool_close has returned: by then none is in it. */
void cpu_pool_open(struct fiber_launch *launch);
void cpu_pool_close(void);
unsigned cpu_pool_size(void);
/* Calls fn for each worker that runs a kernel at this moment, roughly. Between cpu_watch_begin and cpu_watch_end. */
void cpu_pool_each_running(void (*fn)(struct worker *worker, void *user), void *user);

/* pool_watch.c. Ends the launch when it takes longer than timeout_ms (0: any time). */
void cpu_watch_begin(struct fiber_launch *launch, unsigned timeout_ms);
void cpu_watch_end(void);
/* The launch is to be over in this time, as it has failed. */
void cpu_watch_hurry(unsigned timeout_ms);
void cpu_watch_after_fork(void);

/* exec.c: runs blocks of the launch until none is left. */
void cpu_exec_run_blocks(struct worker *worker, struct fiber_launch *launch);

/* exec_print.c. */
void cpu_print_write(const char *text, size_t bytes);
void cpu_print_after_fork(void);

uint64_t cpu_pool_now(void); /* nanoseconds, monotonic */

#endif
