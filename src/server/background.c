/*
 * background.c - compiling while the program goes on (K6).
 *
 * A job is a copy of what luhip_compile is asked, in one queue of the process. Threads are started for it as jobs come,
 * as many as there are processors, and end when there is nothing left to do, so that nothing runs in a program that
 * compiles nothing. A job that nobody waits for any more is not begun; one that has begun is finished, and its result
 * dropped. Closing a device ends its jobs that have not begun and waits for the others.
 *
 * All state is under one lock, which is never held while compiling. A child process starts with an empty queue.
 */
#include "server/background.h"

#include "base/file.h"
#include "server/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE };

/* Memory that goes with the job. */
struct piece {
  struct piece *next;
  max_align_t data[];
};

struct luhip_compiling {
  int refs; /* the caller's and the queue's */
  enum job_state state;
  unsigned fork_count;
  luhip_device *device; /* retained */
  struct piece *pieces;
  const char *source;
  luhip_compile_options options;
  luhip_program *program; /* the result */
  luhip_status status;
  luhip_error *error;
  luhip_compiling *next;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a job is done */
  luhip_compiling *first, **end;
  luhip_compiling *running;
  unsigned threads;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .end = &queue.first};

/* ---- copies -------------------------------------------------------------------------------------------------- */

static void *take(luhip_compiling *job, size_t bytes) {
  struct piece *piece = malloc(sizeof *piece + (bytes ? bytes : 1));
  if (!piece) return NULL;
  piece->next = job->pieces;
  job->pieces = piece;
  return piece->data;
}

static bool copy_text(luhip_compiling *job, const char **text) {
  if (!*text) return true;
  size_t bytes = strlen(*text) + 1;
  char *copy = take(job, bytes);
  if (copy) memcpy(copy, *text, bytes);
  *text = copy;
  return copy;
}

static bool copy_texts(luhip_compiling *job, const char *const **list, size_t n) {
  const char **copy = take(job, n * sizeof *copy);
  if (!copy) return false;
  for (size_t i = 0; i < n; i++) {
    copy[i] = (*list)[i];
    if (!copy_text(job, &copy[i])) return false;
  }
  *list = copy;
  return true;
}

static bool copy_pairs(luhip_compiling *job, const luhip_text_pair **list, size_t n) {
  luhip_text_pair *copy = take(job, n * sizeof *copy);
  if (!copy) return false;
  for (size_t i = 0; i < n; i++) {
    copy[i] = (*list)[i];
    if (!copy_text(job, &copy[i].name) || !copy_text(job, &copy[i].value)) return false;
  }
  *list = copy;
  return true;
}

static bool copy_access(luhip_compiling *job, const luhip_access **list, size_t n) {
  luhip_access *copy = take(job, n * sizeof *copy);
  if (!copy) return false;
  for (size_t i = 0; i < n; i++) {
    copy[i] = (*list)[i];
    if (!copy_text(job, &copy[i].kernel) || !copy_text(job, &copy[i].parameter) || !copy_text(job, &copy[i].access))
      return false;
  }
  *list = copy;
  return true;
}

/* Folders by the working directory of now. */
static bool copy_folders(luhip_compiling *job, const char *const **list, size_t n) {
  const char **copy = take(job, n * sizeof *copy);
  if (!copy) return false;
  for (size_t i = 0; i < n; i++) {
    char *absolute = file_absolute((*list)[i]);
    copy[i] = absolute;
    bool copied = absolute && copy_text(job, &copy[i]);
    free(absolute);
    if (!copied) return false;
  }
  *list = copy;
  return true;
}

static bool copy_request(luhip_compiling *job) {
  luhip_compile_options *o = &job->options;
  return copy_text(job, &job->source) && copy_text(job, &o->name) && copy_pairs(job, &o->defines, o->ndefines) &&
         copy_folders(job, &o->include_dirs, o->ninclude_dirs) && copy_pairs(job, &o->headers, o->nheaders) &&
         copy_texts(job, &o->flags, o->nflags) && copy_texts(job, &o->names, o->nnames) &&
         copy_access(job, &o->access, o->naccess);
}

/* ---- jobs; the functions that change the queue have its lock --------------------------------------------------- */

/* Without the lock: a program's release takes that of its device. */
static void destroy(luhip_compiling *job) {
  for (struct piece *next, *piece = job->pieces; piece; piece = next) {
    next = piece->next;
    free(piece);
  }
  luhip_program_release(job->program);
  luhip_error_release(job->error);
  device_release(job->device);
  free(job);
}

static bool unref(luhip_compiling *job) {
  return --job->refs == 0;
}

static luhip_compiling *pop(void) {
  luhip_compiling *job = queue.first;
  if (!job) return NULL;
  queue.first = job->next;
  if (!job->next) queue.end = &queue.first;
  job->next = queue.running;
  queue.running = job;
  job->state = JOB_RUNNING;
  return job;
}

static void remove_running(luhip_compiling *job) {
  luhip_compiling **link = &queue.running;
  while (*link != job) link = &(*link)->next;
  *link = job->next;
}

static void run(luhip_compiling *job) {
  pthread_mutex_unlock(&queue.lock);
  luhip_program *program = NULL;
  luhip_error *error = NULL;
  luhip_status status = luhip_compile(job->device, job->source, &job->options, &program, &error);
  pthread_mutex_lock(&queue.lock);
  job->program = program;
  job->error = error;
  job->status = status;
}

static void finish(luhip_compiling *job) {
  remove_running(job);
  job->state = JOB_DONE;
  bool last = unref(job);
  pthread_cond_broadcast(&queue.changed);
  if (!last) return;
  pthread_mutex_unlock(&queue.lock);
  destroy(job);
  pthread_mutex_lock(&queue.lock);
}

static void *work(void *nothing) {
  pthread_mutex_lock(&queue.lock);
  for (luhip_compiling *job; (job = pop()) != NULL;) {
    if (job->refs > 1) run(job); /* else only the queue has it */
    finish(job);
  }
  queue.threads--;
  pthread_mutex_unlock(&queue.lock);
  return nothing;
}

/* Signals are the program's own threads' to take. */
static bool start_thread(void) {
  sigset_t all, before;
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes)) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  bool started = pthread_create(&thread, &attributes, work, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (started) queue.threads++;
  return started;
}

static unsigned most_threads(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors > 1 ? (unsigned)processors : 1;
}

/* False: there is no thread to do it. */
static bool push(luhip_compiling *job) {
  bool served = queue.threads >= most_threads() || start_thread() || queue.threads;
  if (!served) return false;
  job->next = NULL;
  *queue.end = job;
  queue.end = &job->next;
  return true;
}

/* ---- forks --------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
  pthread_mutex_lock(&queue.lock);
}

static void after_fork_in_parent(void) {
  pthread_mutex_unlock(&queue.lock);
}

static void after_fork_in_child(void) {
  queue.first = queue.running = NULL;
  queue.end = &queue.first;
  queue.threads = 0;
  pthread_cond_init(&queue.changed, NULL);
  pthread_mutex_unlock(&queue.lock);
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- entry points -------------------------------------------------------------------------------------------- */

luhip_status luhip_compile_start(luhip_device *device, const char *source, const luhip_compile_options *options,
                                 luhip_compiling **out, luhip_error **error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static const luhip_compile_options none;
  pthread_once(&once, watch_forks);
  luhip_status status = device_enter(device, error);
  if (status) return status;
  device_leave(device);
  luhip_compiling *job = calloc(1, sizeof *job);
  if (!job) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a compile in the background");
  *job = (luhip_compiling){.refs = 2,
                           .fork_count = fork_count(),
                           .device = device_retain(device),
                           .source = source,
                           .options = options ? *options : none};
  if (!copy_request(job)) {
    destroy(job);
    return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a compile in the background");
  }
  pthread_mutex_lock(&queue.lock);
  bool pushed = push(job);
  pthread_mutex_unlock(&queue.lock);
  if (!pushed) { /* then it is done here and now */
    job->status = luhip_compile(device, job->source, &job->options, &job->program, &job->error);
    job->state = JOB_DONE;
    job->refs = 1;
  }
  *out = job;
  return LUHIP_OK;
}

bool luhip_compile_ready(luhip_compiling *job) {
  if (job->fork_count != fork_count()) return true; /* waiting says what is the matter */
  pthread_mutex_lock(&queue.lock);
  bool ready = job->state == JOB_DONE;
  pthread_mutex_unlock(&queue.lock);
  return ready;
}

/* With the lock: until the job is done. Wakes every millisecond for who wants to be asked. */
static luhip_status wait_done(luhip_compiling *job, const luhip_wait *wait, luhip_error **error) {
  double start = clock_ms();
  while (job->state != JOB_DONE) {
    if (!wait || (!wait->interrupted && wait->timeout_ms <= 0)) {
      pthread_cond_wait(&queue.changed, &queue.lock);
      continue;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      until.tv_sec++;
    }
    pthread_cond_timedwait(&queue.changed, &queue.lock, &until);
    if (job->state == JOB_DONE) break;
    pthread_mutex_unlock(&queue.lock);
    bool interrupted = wait->interrupted && wait->interrupted(wait->user);
    pthread_mutex_lock(&queue.lock);
    if (interrupted) return error_set(error, LUHIP_E_INTERRUPTED, "the wait for a compile was interrupted");
    if (wait->timeout_ms > 0 && clock_ms() - start >= wait->timeout_ms)
      return error_set(error, LUHIP_E_TIMEOUT, "the compile was not done after %g ms", wait->timeout_ms);
  }
  return LUHIP_OK;
}

luhip_status luhip_compile_wait(luhip_compiling *job, const luhip_wait *wait, luhip_program **program,
                                luhip_error **error) {
  if (job->fork_count != fork_count())
    return error_set(error, LUHIP_E_FORKED, "a compile was begun before this process was forked; begin it again here");
  pthread_mutex_lock(&queue.lock);
  luhip_status status = wait_done(job, wait, error);
  if (!status && job->status) {
    status = job->status;
    if (job->error) error_give(error, luhip_error_retain(job->error));
  } else if (!status) {
    *program = luhip_program_retain(job->program);
  }
  pthread_mutex_unlock(&queue.lock);
  return status;
}

void luhip_compiling_release(luhip_compiling *job) {
  if (!job || job->fork_count != fork_count()) return;
  pthread_mutex_lock(&queue.lock);
  bool last = unref(job);
  pthread_mutex_unlock(&queue.lock);
  if (last) destroy(job);
}

/* ---- closing ------------------------------------------------------------------------------------------------- */

static luhip_compiling *take_queued(const luhip_device *device) {
  for (luhip_compiling **link = &queue.first; *link; link = &(*link)->next) {
    luhip_compiling *job = *link;
    if (job->device != device) continue;
    *link = job->next;
    if (!*link) queue.end = link;
    return job;
  }
  return NULL;
}

static bool is_running(const luhip_device *device) {
  for (const luhip_compiling *job = queue.running; job; job = job->next) {
    if (job->device == device) return true;
  }
  return false;
}

void background_close(luhip_device *device) {
  luhip_compiling *dead = NULL;
  pthread_mutex_lock(&queue.lock);
  for (luhip_compiling *job; (job = take_queued(device)) != NULL;) {
    job->state = JOB_DONE;
    job->status =
        error_set(&job->error, LUHIP_E_FREED, "device %s was closed before this was compiled", device->info.id);
    if (!unref(job)) continue;
    job->next = dead;
    dead = job;
  }
  pthread_cond_broadcast(&queue.changed);
  while (is_running(device)) pthread_cond_wait(&queue.changed, &queue.lock);
  pthread_mutex_unlock(&queue.lock);
  while (dead) {
    luhip_compiling *job = dead;
    dead = job->next;
    destroy(job);
  }
}
