/*
 * stream.c - a stream is a queue of commands and a thread that runs them in order.
 *
 * The thread starts with the first command. Positions count commands: `enqueued` is the last one's, `completed` that
 * of the last one that has run, so "the work up to here" is one number and waiting needs no object. At most one
 * thread runs commands of a stream at a time (`busy`). Mostly it is the stream's own; a thread that waits for the
 * stream runs commands itself when nobody else does, which saves waking the other one, but never callbacks: the
 * waiting thread may hold locks that they want.
 *
 * Before sleeping, thread and waiters look again and again for some SPIN_NS: a launch that follows another, or ends
 * soon, then costs no system call. Commands are reused, and at most MAX_PENDING lie in a stream, so memory does not
 * grow with the number of launches. A wait for another stream always points to work that was enqueued earlier, so no
 * circle of waits can form.
 *
 * Lifetime: the caller's handle, the thread, events recorded here and waits for this stream hold a reference each. A
 * destroyed stream's thread runs what is left, then leaves the list of streams.
 */
#include "cpu/stream.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PENDING = 4096, SPIN_NS = 30000, STACK_BYTES = 512 << 10, KEEP_PAYLOAD = 4096 };

struct hip_stream_impl {
  atomic_int refs;
  int device;
  pthread_mutex_t lock;      /* guards all below but for reads of the two positions */
  pthread_cond_t wake, done; /* for the thread; for those who wait */
  struct command *head, **tail;
  struct command *unused;
  _Atomic uint64_t enqueued, completed;
  struct command_list *capture; /* what is committed goes there; NULL: it is done */
  bool busy;                    /* some thread is running a command */
  bool closing;                 /* destroyed by the caller */
  bool has_thread, sleeping;    /* sleeping: the thread must be woken */
  unsigned waiters;
  hip_stream_t previous, next; /* in the list of streams */
};

static struct {
  pthread_mutex_t lock;
  hip_stream_t first;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_size_t pending; /* commands of all streams */

static bool may_spin(void) {
  static atomic_int answer; /* 0: not asked yet, 1: no, 2: yes */
  int known = atomic_load_explicit(&answer, memory_order_relaxed);
  if (!known) {
    cpu_set_t set;
    known = sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) > 1 ? 2 : 1;
    atomic_store_explicit(&answer, known, memory_order_relaxed);
  }
  return known == 2;
}

/* Looks at a position until it differs from what it was, or the time is up. Yields, since the thread whose work is
   awaited may be on the same processor and would only run when this one sleeps. */
static void spin(const _Atomic uint64_t *position, uint64_t was) {
  struct timespec start, now;
  if (!may_spin()) return;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    for (int i = 0; i < 32; i++) {
      if (atomic_load_explicit(position, memory_order_acquire) != was) return;
      __builtin_ia32_pause();
    }
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000000L + (now.tv_nsec - start.tv_nsec) < SPIN_NS);
}

/* ---- commands ------------------------------------------------------------------------------------------------ */

static bool make_room(struct command *command, size_t payload) {
  if (payload <= command->capacity) return true;
  void *data = aligned_alloc(64, (payload + 63) / 64 * 64);
  if (!data) return false;
  if (command->payload != command->inlined) free(command->payload);
  command->payload = data;
  command->capacity = payload;
  return true;
}

void cpu_command_free(struct command *command) {
  if (command->payload != command->inlined) free(command->payload);
  free(command);
}

static struct command *command_new(void) {
  struct command *command = aligned_alloc(64, sizeof *command);
  if (command) {
    command->payload = command->inlined;
    command->capacity = COMMAND_INLINE;
  }
  return command;
}

/* Keeps a command that has run, or was never committed, for later. The lock is held. */
static void command_keep(hip_stream_t stream, struct command *command) {
  if (command->capacity > KEEP_PAYLOAD) {
    free(command->payload);
    command->payload = command->inlined;
    command->capacity = COMMAND_INLINE;
  }
  command->next = stream->unused;
  stream->unused = command;
}

struct command *cpu_stream_command(hip_stream_t stream, enum command_kind kind, size_t payload) {
  uint64_t last = cpu_stream_tail(stream);
  if (last - atomic_load(&stream->completed) >= MAX_PENDING) cpu_stream_wait(stream, last - MAX_PENDING * 3 / 4);
  pthread_mutex_lock(&stream->lock);
  struct command *command = stream->unused;
  if (command) stream->unused = command->next;
  pthread_mutex_unlock(&stream->lock);
  if (!command) command = command_new();
  if (command && !make_room(command, payload)) {
    cpu_command_free(command);
    return NULL;
  }
  if (command) {
    command->kind = kind;
    command->before.event = command->after.event = NULL;
  }
  return command;
}

void cpu_stream_drop(hip_stream_t stream, struct command *command) {
  pthread_mutex_lock(&stream->lock);
  command_keep(stream, command);
  pthread_mutex_unlock(&stream->lock);
}

/* Runs the first command. The lock is held, though not meanwhile. */
static void run_first(hip_stream_t stream) {
  struct command *command = stream->head;
  stream->head = command->next;
  if (!stream->head) stream->tail = &stream->head;
  stream->busy = true;
  pthread_mutex_unlock(&stream->lock);
  cpu_command_run(stream, command);
  pthread_mutex_lock(&stream->lock);
  stream->busy = false;
  command_keep(stream, command);
  atomic_fetch_add_explicit(&stream->completed, 1, memory_order_release);
  atomic_fetch_sub_explicit(&pending, 1, memory_order_release);
  if (stream->waiters) pthread_cond_broadcast(&stream->done);
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

static void unlist(hip_stream_t stream) {
  pthread_mutex_lock(&list.lock);
  *(stream->previous ? &stream->previous->next : &list.first) = stream->next;
  if (stream->next) stream->next->previous = stream->previous;
  pthread_mutex_unlock(&list.lock);
}

static void *work(void *argument) {
  hip_stream_t stream = argument;
  bool tired = false; /* has looked in vain for a while */
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    if (stream->head && !stream->busy) {
      run_first(stream);
      tired = false;
    } else if (!stream->head && !stream->busy && stream->closing) {
      break;
    } else if (!tired && !stream->head) {
      uint64_t seen = atomic_load_explicit(&stream->enqueued, memory_order_relaxed);
      pthread_mutex_unlock(&stream->lock);
      spin(&stream->enqueued, seen);
      pthread_mutex_lock(&stream->lock);
      tired = true;
    } else {
      stream->sleeping = true;
      pthread_cond_wait(&stream->wake, &stream->lock);
      stream->sleeping = false;
      tired = false;
    }
  }
  pthread_mutex_unlock(&stream->lock);
  unlist(stream);
  cpu_stream_release(stream);
  return NULL;
}

/* The lock is held. Signals of the host's are for its own threads, but faults of kernels belong to who runs them. */
static bool start_thread(hip_stream_t stream) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&blocked, faults[i]);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_t thread;
  cpu_stream_retain(stream);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  bool started = !pthread_create(&thread, &attributes, work, stream);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (!started) cpu_stream_release(stream);
  stream->has_thread = started;
  return started;
}

/* Whether the thread sleeps over work that nobody does; then the caller signals it, best after unlocking. */
static bool must_wake(hip_stream_t stream) {
  if (!stream->sleeping || stream->busy || !(stream->head || stream->closing)) return false;
  stream->sleeping = false;
  return true;
}

/* ---- capturing ------------------------------------------------------------------------------------------------- */

/* The lock is held. Marks, timed launches and callbacks have no place in a list: they speak of one run. */
static hip_error_t capture(hip_stream_t stream, struct command *command) {
  struct command_list *noted = stream->capture;
  if (command->kind > COMMAND_LAUNCH || command->after.event) {
    noted->invalid = true;
    command_keep(stream, command);
    return hip_ErrorStreamCaptureUnsupported;
  }
  command->next = NULL;
  *noted->tail = command;
  noted->tail = &command->next;
  noted->count++;
  return hip_Success;
}

bool cpu_stream_begin_capture(hip_stream_t stream, struct command_list *noted) {
  pthread_mutex_lock(&stream->lock);
  bool begun = !stream->capture;
  if (begun) stream->capture = noted;
  pthread_mutex_unlock(&stream->lock);
  return begun;
}

struct command_list *cpu_stream_end_capture(hip_stream_t stream) {
  pthread_mutex_lock(&stream->lock);
  struct command_list *noted = stream->capture;
  stream->capture = NULL;
  pthread_mutex_unlock(&stream->lock);
  return noted;
}

hip_stream_capture_status_t cpu_stream_capture_status(hip_stream_t stream) {
  hip_stream_capture_status_t status = hip_StreamCaptureStatusNone;
  pthread_mutex_lock(&stream->lock);
  if (stream->capture)
    status = stream->capture->invalid ? hip_StreamCaptureStatusInvalidated : hip_StreamCaptureStatusActive;
  pthread_mutex_unlock(&stream->lock);
  return status;
}

bool cpu_stream_spoil_capture(hip_stream_t stream) {
  pthread_mutex_lock(&stream->lock);
  bool capturing = stream->capture;
  if (capturing) stream->capture->invalid = true;
  pthread_mutex_unlock(&stream->lock);
  return capturing;
}

/* ---- enqueuing and waiting --------------------------------------------------------------------------------- */

hip_error_t cpu_stream_commit(hip_stream_t stream, struct command *command, uint64_t *position) {
  pthread_mutex_lock(&stream->lock);
  if (stream->capture) {
    hip_error_t rc = capture(stream, command);
    pthread_mutex_unlock(&stream->lock);
    return rc;
  }
  if (!stream->has_thread && !start_thread(stream)) {
    command_keep(stream, command);
    pthread_mutex_unlock(&stream->lock);
    return hip_ErrorOutOfMemory;
  }
  command->next = NULL;
  *stream->tail = command;
  stream->tail = &command->next;
  atomic_fetch_add_explicit(&pending, 1, memory_order_relaxed);
  uint64_t last = atomic_fetch_add_explicit(&stream->enqueued, 1, memory_order_release) + 1;
  bool wake = must_wake(stream);
  pthread_mutex_unlock(&stream->lock);
  if (wake) pthread_cond_signal(&stream->wake);
  if (position) *position = last;
  return hip_Success;
}

void cpu_stream_wait(hip_stream_t stream, uint64_t position) {
  bool tired = false;
  if (cpu_stream_passed(stream, position)) return;
  pthread_mutex_lock(&stream->lock);
  while (!cpu_stream_passed(stream, position)) {
    if (stream->head && !stream->busy && stream->head->kind != COMMAND_CALLBACK) {
      run_first(stream);
      continue;
    }
    if (must_wake(stream)) /* the first command is a callback, which came while somebody else was busy */
      pthread_cond_signal(&stream->wake);
    if (!tired) {
      uint64_t seen = atomic_load_explicit(&stream->completed, memory_order_relaxed);
      pthread_mutex_unlock(&stream->lock);
      spin(&stream->completed, seen);
      pthread_mutex_lock(&stream->lock);
      tired = atomic_load_explicit(&stream->completed, memory_order_relaxed) == seen;
    } else {
      stream->waiters++;
      pthread_cond_wait(&stream->done, &stream->lock);
      stream->waiters--;
    }
  }
  bool wake = must_wake(stream);
  pthread_mutex_unlock(&stream->lock);
  if (wake) pthread_cond_signal(&stream->wake);
}

bool cpu_stream_passed(hip_stream_t stream, uint64_t position) {
  return atomic_load_explicit(&stream->completed, memory_order_acquire) >= position;
}

uint64_t cpu_stream_tail(hip_stream_t stream) {
  return atomic_load_explicit(&stream->enqueued, memory_order_acquire);
}

int cpu_stream_device(hip_stream_t stream) {
  return stream->device;
}

size_t cpu_streams_pending(void) {
  return atomic_load_explicit(&pending, memory_order_acquire);
}

/* Waits in batches of streams that have work, each held by a reference, until a batch is not full: streams that appear
   meanwhile have nothing of what the caller enqueued before. */
void cpu_streams_wait_all(int device) {
  enum { BATCH = 64 };
  struct {
    hip_stream_t stream;
    uint64_t position;
  } found[BATCH];
  size_t count;
  if (!cpu_streams_pending()) return;
  do {
    count = 0;
    pthread_mutex_lock(&list.lock);
    for (hip_stream_t s = list.first; s && count < BATCH; s = s->next) {
      uint64_t tail = cpu_stream_tail(s);
      if ((device < 0 || s->device == device) && !cpu_stream_passed(s, tail)) {
        found[count].stream = cpu_stream_retain(s);
        found[count++].position = tail;
      }
    }
    pthread_mutex_unlock(&list.lock);
    for (size_t i = 0; i < count; i++) {
      cpu_stream_wait(found[i].stream, found[i].position);
      cpu_stream_release(found[i].stream);
    }
  } while (count == BATCH);
}

/* ---- lifetime ------------------------------------------------------------------------------------------------- */

hip_stream_t cpu_stream_retain(hip_stream_t stream) {
  atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
  return stream;
}

void cpu_stream_release(hip_stream_t stream) {
  if (!stream || atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) != 1) return;
  while (stream->unused) {
    struct command *command = stream->unused;
    stream->unused = command->next;
    cpu_command_free(command);
  }
  pthread_mutex_destroy(&stream->lock);
  pthread_cond_destroy(&stream->wake);
  pthread_cond_destroy(&stream->done);
  free(stream);
}

static void init_locks(hip_stream_t stream) {
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->wake, NULL);
  pthread_cond_init(&stream->done, NULL);
}

hip_error_t cpu_stream_create(hip_stream_t *stream, unsigned flags, int device) {
  if (!stream || flags & ~(unsigned)hip_StreamNonBlocking) return hip_ErrorInvalidValue;
  hip_stream_t made = calloc(1, sizeof *made);
  if (!made) return hip_ErrorOutOfMemory;
  atomic_init(&made->refs, 1);
  made->device = device;
  made->tail = &made->head;
  init_locks(made);
  pthread_mutex_lock(&list.lock);
  made->next = list.first;
  if (made->next) made->next->previous = made;
  list.first = made;
  pthread_mutex_unlock(&list.lock);
  *stream = made;
  return hip_Success;
}

hip_error_t cpu_stream_destroy(hip_stream_t stream) {
  if (!stream) return hip_ErrorInvalidHandle;
  cpu_command_list_release(cpu_stream_end_capture(stream));
  pthread_mutex_lock(&stream->lock);
  stream->closing = true;
  bool threaded = stream->has_thread;
  bool wake = must_wake(stream);
  pthread_mutex_unlock(&stream->lock);
  if (wake) pthread_cond_signal(&stream->wake);
  if (!threaded) unlist(stream);
  cpu_stream_release(stream);
  return hip_Success;
}

/* ---- fork ------------------------------------------------------------------------------------------------------ */

void cpu_streams_fork_prepare(void) {
  pthread_mutex_lock(&list.lock);
  for (hip_stream_t s = list.first; s; s = s->next) pthread_mutex_lock(&s->lock);
}

void cpu_streams_fork_parent(void) {
  for (hip_stream_t s = list.first; s; s = s->next) pthread_mutex_unlock(&s->lock);
  pthread_mutex_unlock(&list.lock);
}

/* What was under way is the parent's to do. References held by commands and by the thread are not counted back:
   the few bytes stay. A destroyed stream that the thread would have taken off the list stays there, empty. */
void cpu_streams_fork_child(void) {
  for (hip_stream_t s = list.first; s; s = s->next) {
    init_locks(s);
    s->head = NULL;
    s->tail = &s->head;
    s->busy = s->has_thread = s->sleeping = false;
    s->waiters = 0;
    atomic_store(&s->completed, atomic_load(&s->enqueued));
  }
  atomic_store(&pending, 0);
  pthread_mutex_init(&list.lock, NULL);
}
