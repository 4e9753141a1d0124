/*
 * event.c - an event is a place in a stream and the time it was reached.
 *
 * hipEventRecord puts a command into the stream and keeps the command's position, so that whether the event
 * waiting for it is the stream's affair: a wait for an earlier record stays right when the event is recorded again
 * elsewhere. The command notes the time and that it came, unless a later record has made it obsolete (`generation`).
 * One lock guards all events; nothing waits under it. Asking whether an event has come takes no lock, since who asks
 * again and again would keep the stream's thread from answering. What was recorded before a fork has come for the
 * child (`epoch`), where nobody will run it.
 */
#include "cpu/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "cpu/stream.h"

struct hip_event_impl {
  int refs;
  unsigned flags;
  _Atomic uint64_t generation; /* counts records */
  _Atomic uint64_t reached;    /* the generation whose command has run last */
  atomic_uint epoch;           /* of the last record */
  hip_stream_t stream;         /* of the last record, a reference; NULL: never recorded */
  uint64_t position;
  int64_t time_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint epoch; /* counts forks */

/* The lock is held. Gives the stream whose reference is to be dropped after unlocking. */
static hip_stream_t drop(hip_event_t event) {
  if (--event->refs) return NULL;
  hip_stream_t stream = event->stream;
  free(event);
  return stream;
}

hip_error_t cpu_event_create(hip_event_t *event, unsigned flags) {
  if (!event || flags & ~(unsigned)(hip_EventBlockingSync | hip_EventDisableTiming)) return hip_ErrorInvalidValue;
  hip_event_t made = calloc(1, sizeof *made);
  if (!made) return hip_ErrorOutOfMemory;
  made->refs = 1;
  made->flags = flags;
  *event = made;
  return hip_Success;
}

hip_error_t cpu_event_destroy(hip_event_t event) {
  if (!event) return hip_ErrorInvalidHandle;
  pthread_mutex_lock(&lock);
  hip_stream_t stream = drop(event);
  pthread_mutex_unlock(&lock);
  cpu_stream_release(stream);
  return hip_Success;
}

hip_error_t cpu_event_record(hip_event_t event, hip_stream_t stream) {
  if (!event || !stream) return hip_ErrorInvalidHandle;
  struct command *command = cpu_stream_command(stream, COMMAND_RECORD, 0);
  if (!command) return hip_ErrorOutOfMemory;
  pthread_mutex_lock(&lock);
  uint64_t position;
  unsigned old_epoch = event->epoch;
  event->epoch = epoch;
  command->record = (struct command_record){.event = event, .generation = ++event->generation};
  event->refs++;
  hip_error_t rc = cpu_stream_commit(stream, command, &position);
  hip_stream_t old = NULL;
  if (rc) {
    event->generation--;
    event->epoch = old_epoch;
    event->refs--;
  } else {
    old = event->stream;
    event->stream = cpu_stream_retain(stream);
    event->position = position;
  }
  pthread_mutex_unlock(&lock);
  cpu_stream_release(old);
  return rc;
}

/* The command records it. The lock is held, so that the command cannot have run. Gives the stream whose reference is to
   be dropped after unlocking. */
static hip_stream_t note_record(hip_event_t event, hip_stream_t stream, uint64_t position) {
  hip_stream_t old = event->stream;
  event->epoch = epoch;
  event->generation++;
  event->refs++;
  event->stream = cpu_stream_retain(stream);
  event->position = position;
  return old;
}

hip_error_t cpu_events_commit(hip_event_t start, hip_event_t stop, hip_stream_t stream, struct command *command) {
  if (!start || !stop || start == stop) {
    cpu_stream_drop(stream, command);
    return hip_ErrorInvalidHandle;
  }
  pthread_mutex_lock(&lock);
  uint64_t position;
  hip_stream_t old[2] = {NULL, NULL};
  command->before = (struct command_record){.event = start, .generation = start->generation + 1};
  command->after = (struct command_record){.event = stop, .generation = stop->generation + 1};
  hip_error_t rc = cpu_stream_commit(stream, command, &position);
  if (!rc) {
    old[0] = note_record(start, stream, position);
    old[1] = note_record(stop, stream, position);
  }
  pthread_mutex_unlock(&lock);
  cpu_stream_release(old[0]);
  cpu_stream_release(old[1]);
  return rc;
}

int64_t cpu_event_clock(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The lock is held; as drop. */
static hip_stream_t reach(const struct command_record *record, int64_t time_ns) {
  if (record->event->generation == record->generation) {
    record->event->time_ns = time_ns;
    record->event->reached = record->generation;
  }
  return drop(record->event);
}

void cpu_event_reached(const struct command_record *record) {
  int64_t now = cpu_event_clock();
  pthread_mutex_lock(&lock);
  hip_stream_t stream = reach(record, now);
  pthread_mutex_unlock(&lock);
  cpu_stream_release(stream);
}

void cpu_events_reached(const struct command *command, int64_t before_ns, int64_t after_ns) {
  pthread_mutex_lock(&lock);
  hip_stream_t first = reach(&command->before, before_ns), second = reach(&command->after, after_ns);
  pthread_mutex_unlock(&lock);
  cpu_stream_release(first);
  cpu_stream_release(second);
}

/* In this order: a record by another thread meanwhile cannot make it look done. */
static bool has_come(hip_event_t event) {
  uint64_t reached = event->reached;
  return reached == event->generation || event->epoch != epoch;
}

/* Where the event stands, with a reference; NULL when there is nothing to wait for. */
static hip_stream_t place(hip_event_t event, uint64_t *position) {
  pthread_mutex_lock(&lock);
  hip_stream_t stream = has_come(event) ? NULL : cpu_stream_retain(event->stream);
  *position = event->position;
  pthread_mutex_unlock(&lock);
  return stream;
}

hip_error_t cpu_event_query(hip_event_t event) {
  if (!event) return hip_ErrorInvalidHandle;
  return has_come(event) ? hip_Success : hip_ErrorNotReady;
}

hip_error_t cpu_event_synchronize(hip_event_t event) {
  uint64_t position;
  if (!event) return hip_ErrorInvalidHandle;
  hip_stream_t stream = place(event, &position);
  if (stream) {
    cpu_stream_wait(stream, position);
    cpu_stream_release(stream);
  }
  return hip_Success;
}

hip_error_t cpu_stream_wait_event(hip_stream_t stream, hip_event_t event, unsigned flags) {
  uint64_t position;
  if (!stream || !event) return hip_ErrorInvalidHandle;
  if (flags) return hip_ErrorInvalidValue;
  hip_stream_t other = place(event, &position);
  if (!other || other == stream) {
    cpu_stream_release(other);
    return hip_Success;
  }
  struct command *command = cpu_stream_command(stream, COMMAND_WAIT, 0);
  if (!command) {
    cpu_stream_release(other);
    return hip_ErrorOutOfMemory;
  }
  command->wait = (struct command_wait){.stream = other, .position = position};
  hip_error_t rc = cpu_stream_commit(stream, command, NULL);
  if (rc) cpu_stream_release(other);
  return rc;
}

hip_error_t cpu_event_elapsed(float *ms, hip_event_t start, hip_event_t stop) {
  if (!ms) return hip_ErrorInvalidValue;
  if (!start || !stop) return hip_ErrorInvalidHandle;
  hip_error_t rc = hip_Success;
  pthread_mutex_lock(&lock);
  if (!start->stream || !stop->stream || (start->flags | stop->flags) & hip_EventDisableTiming ||
      cpu_stream_device(start->stream) != cpu_stream_device(stop->stream))
    rc = hip_ErrorInvalidHandle;
  else if (!has_come(start) || !has_come(stop))
    rc = hip_ErrorNotReady;
  else
    *ms = (float)((double)(stop->time_ns - start->time_ns) / 1e6);
  pthread_mutex_unlock(&lock);
  return rc;
}

void cpu_events_fork_prepare(void) {
  pthread_mutex_lock(&lock);
}
void cpu_events_fork_parent(void) {
  pthread_mutex_unlock(&lock);
}
void cpu_events_fork_child(void) {
  pthread_mutex_init(&lock, NULL);
}
