/*
 * pool.c - the threads of the CPU device.
 *
 * The thread that launches is a worker itself, and runs blocks like the others; those are asleep, or spin for a few
 * microseconds in case the next launch is near. A launch is a door: it is opened, workers that have noticed go in, take
 * blocks and leave; when the launching thread finds no block left it closes the door and waits for those inside. A
 * worker that comes late finds the door closed, and nobody waits for it: a small launch costs one wake at most.
 *
 * The threads are never joined: they sleep until the process ends, hold no lock while they do, and keep no exit
 * waiting. After fork() a child has none, and starts its own when it needs them.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "cpu/fault.h"
#include "cpu/limits.h"
#include "cpu/pool.h"

enum { MAX_WORKERS = 1024, DOOR_OPEN = 1 << 30, SPIN_NANOSECONDS = 30000, THREAD_STACK_BYTES = 1 << 20 };

static struct {
  pthread_mutex_t launch_lock; /* held from cpu_pool_begin to cpu_pool_end */
  pthread_mutex_t init_lock;
  unsigned size;    /* threads, the launching one included; 0: not known yet */
  unsigned started; /* workers that have a thread; workers[0] is the launching thread */
  struct worker *workers[MAX_WORKERS];
  struct fiber_launch *launch;
  _Atomic uint32_t generation; /* grows with each launch: what sleepers wait for */
  _Atomic uint32_t door;       /* DOOR_OPEN and the number of workers inside */
  _Atomic uint32_t sleepers;
  _Atomic bool closing; /* the launching thread sleeps until the door's count is 0 */
} pool = {.launch_lock = PTHREAD_MUTEX_INITIALIZER, .init_lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t cpu_pool_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, uint32_t count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void pause_processor(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- workers
   ------------------------------------------------------------------------------------------------------- */

static bool enter_door(void) {
  uint32_t door = atomic_load(&pool.door);
  do {
    if (!(door & DOOR_OPEN)) return false;
  } while (!atomic_compare_exchange_weak(&pool.door, &door, door + 1));
  return true;
}

static void leave_door(void) {
  uint32_t left = atomic_fetch_sub(&pool.door, 1) - 1;
  if (left == 0 && atomic_load(&pool.closing)) futex_wake(&pool.door, 1);
}

/* Returns when the generation is no longer `seen`, and gives it. */
static uint32_t wait_for_launch(uint32_t seen) {
  uint32_t generation;
  uint64_t end = cpu_pool_now() + SPIN_NANOSECONDS;
  do {
    for (int i = 0; i < 32; i++) {
      generation = atomic_load_explicit(&pool.generation, memory_order_acquire);
      if (generation != seen) return generation;
      pause_processor();
    }
    sched_yield(); /* who launches next may be on this processor */
  } while (cpu_pool_now() < end);
  atomic_fetch_add(&pool.sleepers, 1);
  while ((generation = atomic_load(&pool.generation)) == seen) futex_wait(&pool.generation, seen);
  atomic_fetch_sub(&pool.sleepers, 1);
  return generation;
}

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  sigset_t mask;
  cpu_fault_enter(worker, &mask);
  uint32_t seen = worker->seen_generation;
  for (;;) {
    seen = wait_for_launch(seen);
    if (!enter_door()) continue;
    cpu_exec_run_blocks(worker, pool.launch);
    leave_door();
  }
  return NULL;
}

static struct worker *make_worker(unsigned index) {
  struct worker *worker = pool.workers[index];
  if (!worker) {
    worker = aligned_alloc(64, (sizeof *worker + 63) & ~(size_t)63);
    if (!worker) return NULL;
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    pool.workers[index] = worker;
  }
  return cpu_fiber_stacks_prepare(worker) ? worker : NULL;
}

static bool start_thread(struct worker *worker) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
  worker->seen_generation = atomic_load(&pool.generation);
  sigset_t mask;
  cpu_fault_block_others(&mask);
  int failed = pthread_create(&worker->thread, &attributes, worker_main, worker);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  pthread_attr_destroy(&attributes);
  if (failed) return false;
  char name[16];
  snprintf(name, sizeof name, "luhip-cpu-%u", worker->index % 1000);
  pthread_setname_np(worker->thread, name);
  return true;
}

/* Threads that cannot be had are done without. */
static void start_threads(unsigned wanted) {
  while (pool.started < wanted) {
    struct worker *worker = make_worker(pool.started + 1);
    if (!worker || !start_thread(worker)) return;
    pool.started++;
  }
}

/* ---- fork
   ---------------------------------------------------------------------------------------------------------- */

void cpu_exec_after_fork(void) {
  pthread_mutex_init(&pool.launch_lock, NULL);
  pthread_mutex_init(&pool.init_lock, NULL);
  pool.started = 0;
  pool.launch = NULL;
  atomic_store(&pool.door, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.closing, false);
  for (unsigned i = 0; i < MAX_WORKERS && pool.workers[i]; i++) {
    atomic_store(&pool.workers[i]->in_kernel, 0);
    cpu_fiber_stacks_reset(pool.workers[i]);
  }
  cpu_fault_after_fork();
  cpu_watch_after_fork();
  cpu_print_after_fork();
}

/* ---- size
   ---------------------------------------------------------------------------------------------------------- */

static unsigned measure(void) {
  char reason[256];
  long size = cpu_limits_threads(reason, sizeof reason); /* a wrong one has kept the device from being opened */
  cpu_set_t set;
  config_freeze(CONFIG_CPU_THREADS);
  if (size <= 0 && sched_getaffinity(0, sizeof set, &set) == 0) size = CPU_COUNT(&set);
  if (size <= 0) size = sysconf(_SC_NPROCESSORS_ONLN);
  return size < 1 ? 1 : size > MAX_WORKERS ? MAX_WORKERS : (unsigned)size;
}

unsigned cpu_pool_size(void) {
  pthread_mutex_lock(&pool.init_lock);
  if (pool.size == 0) {
    pool.size = measure();
    pthread_atfork(NULL, NULL, cpu_exec_after_fork);
  }
  unsigned size = pool.size;
  pthread_mutex_unlock(&pool.init_lock);
  return size;
}

/* ---- launches
   ------------------------------------------------------------------------------------------------------ */

struct worker *cpu_pool_begin(void) {
  cpu_pool_size();
  pthread_mutex_lock(&pool.launch_lock);
  struct worker *worker = make_worker(0);
  if (!worker) {
    pthread_mutex_unlock(&pool.launch_lock);
    return NULL;
  }
  worker->thread = pthread_self();
  return worker;
}

void cpu_pool_end(void) {
  pthread_mutex_unlock(&pool.launch_lock);
}

void cpu_pool_open(struct fiber_launch *launch) {
  uint64_t chunks = (launch->blocks + launch->chunk - 1) / launch->chunk;
  unsigned wanted = chunks < pool.size ? (unsigned)chunks - 1 : pool.size - 1;
  if (wanted == 0) return;
  start_threads(wanted);
  pool.launch = launch;
  atomic_store(&pool.door, DOOR_OPEN);
  atomic_fetch_add(&pool.generation, 1);
  if (atomic_load(&pool.sleepers)) futex_wake(&pool.generation, wanted);
}

void cpu_pool_close(void) {
  uint32_t door = atomic_fetch_and(&pool.door, ~(uint32_t)DOOR_OPEN) & ~(uint32_t)DOOR_OPEN;
  if (door == 0) return;
  uint64_t end = cpu_pool_now() + SPIN_NANOSECONDS;
  do {
    for (int i = 0; i < 32; i++) {
      if (atomic_load(&pool.door) == 0) return;
      pause_processor();
    }
  } while (cpu_pool_now() < end);
  atomic_store(&pool.closing, true);
  while ((door = atomic_load(&pool.door)) != 0) futex_wait(&pool.door, door);
  atomic_store(&pool.closing, false);
}

void cpu_pool_each_running(void (*fn)(struct worker *, void *), void *user) {
  for (unsigned i = 0; i <= pool.started; i++) {
    if (atomic_load(&pool.workers[i]->in_kernel)) fn(pool.workers[i], user);
  }
}
