/*
 * pool_watch.c - the watchdog: a thread that ends launches that take too long.
 *
 * Launches are short and deadlines are far, so setting one must cost nothing: the watchdog sleeps until the earliest
 * moment at which it could have work and then looks what the deadline is by now. It is only woken when a deadline is
 * nearer than that, or when it sleeps for good because nothing was launched for a while.
 *
 * When the time is over no further block is handed out, and every worker in a kernel is kicked, again and again, until
 * the launching thread says that the launch has ended. All under one lock, so no kick comes after that.
 */
#include <errno.h>
#include <time.h>

#include "cpu/fault.h"
#include "cpu/pool.h"

#define FOREVER UINT64_MAX
static const uint64_t kick_interval = 1000000;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool started, has_text;
  uint64_t wakes_at; /* when the watchdog will look without being woken */
  uint64_t deadline; /* of the present launch; FOREVER: none */
  uint64_t latest;   /* the last deadline there was: while it is ahead, the next one will be later */
  struct fiber_launch *launch;
  struct fault_text text; /* the module's code: found when it is needed */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .deadline = FOREVER};

static void kick(struct worker *worker, void *user) {
  (void)user;
  cpu_fault_kick(worker, &watch.text);
}

static void end_launch(struct fiber_launch *launch) {
  if (!watch.has_text) {
    watch.text = cpu_fault_find_text((void (*)(void))launch->ask->kernel->run);
    watch.has_text = true;
  }
  atomic_store(&launch->timed_out, 1);
  atomic_store(&launch->next, launch->blocks);
  cpu_pool_each_running(kick, NULL);
}

static void *watch_main(void *argument) {
  (void)argument;
  pthread_mutex_lock(&watch.lock);
  for (;;) {
    uint64_t now = cpu_pool_now();
    watch.wakes_at = watch.deadline == FOREVER && watch.latest > now ? watch.latest : watch.deadline;
    if (watch.deadline <= now) {
      end_launch(watch.launch);
      watch.wakes_at = now + kick_interval;
    }
    if (watch.wakes_at == FOREVER) {
      pthread_cond_wait(&watch.wake, &watch.lock);
    } else {
      struct timespec until = {(time_t)(watch.wakes_at / 1000000000u), (long)(watch.wakes_at % 1000000000u)};
      pthread_cond_timedwait(&watch.wake, &watch.lock, &until);
    }
  }
  return NULL;
}

static void start(void) {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&watch.wake, &clock);
  pthread_condattr_destroy(&clock);
  watch.wakes_at = 0;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t mask;
  cpu_fault_block_others(&mask);
  pthread_t thread;
  watch.started = pthread_create(&thread, &attributes, watch_main, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  pthread_attr_destroy(&attributes);
  if (watch.started) pthread_setname_np(thread, "luhip-cpu-watch");
}

/* With the lock held. */
static void set_deadline(uint64_t deadline) {
  watch.deadline = deadline;
  if (deadline == FOREVER) return;
  watch.latest = deadline;
  if (!watch.started) start();
  if (watch.started && deadline < watch.wakes_at) pthread_cond_signal(&watch.wake);
}

void cpu_watch_begin(struct fiber_launch *launch, unsigned timeout_ms) {
  uint64_t deadline = timeout_ms ? cpu_pool_now() + (uint64_t)timeout_ms * 1000000u : FOREVER;
  pthread_mutex_lock(&watch.lock);
  watch.launch = launch;
  watch.has_text = false;
  set_deadline(deadline);
  pthread_mutex_unlock(&watch.lock);
}

void cpu_watch_end(void) {
  pthread_mutex_lock(&watch.lock);
  watch.deadline = FOREVER;
  watch.launch = NULL;
  pthread_mutex_unlock(&watch.lock);
}

void cpu_watch_hurry(unsigned timeout_ms) {
  uint64_t deadline = cpu_pool_now() + (uint64_t)timeout_ms * 1000000u;
  pthread_mutex_lock(&watch.lock);
  if (deadline < watch.deadline) set_deadline(deadline);
  pthread_mutex_unlock(&watch.lock);
}

void cpu_watch_after_fork(void) {
  pthread_mutex_init(&watch.lock, NULL);
  watch.started = false;
  watch.deadline = FOREVER;
  watch.launch = NULL;
}
