/*
 * log.c - the warning sink, the levels, the sinks of log lines.
 *
 * One lock serialises warnings, so that after log_set_sink returns the old sink is not running any more and its
 * user data may go. Another serialises log lines: each is written by one call, so that lines of several threads do
 * not mix, and the file may be exchanged at any time. The queue is a ring of fixed size: what does not fit is
 * counted, not waited for.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- warnings -------------------------------------------------------------------------------------------------- */

static pthread_mutex_t warning_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*current)(void *user, const char *text);
static void *current_user;

void log_set_sink(void (*sink)(void *user, const char *text), void *user) {
  pthread_mutex_lock(&warning_lock);
  current = sink;
  current_user = user;
  pthread_mutex_unlock(&warning_lock);
}

void log_warning(const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  pthread_mutex_lock(&warning_lock);
  if (current) current(current_user, text);
  pthread_mutex_unlock(&warning_lock);
}

/* ---- levels ---------------------------------------------------------------------------------------------------- */

unsigned char log_levels[LOG_TOPICS];

const char *log_topic_name(enum log_topic topic) {
  static const char *const names[] = {
#define X(ID, name) name,
      LOG_ALL_TOPICS(X)
#undef X
  };
  return names[topic];
}

void log_set_level(enum log_topic topic, enum log_level level) {
  __atomic_store_n(&log_levels[topic], (unsigned char)level, __ATOMIC_RELAXED);
}

/* ---- sinks ----------------------------------------------------------------------------------------------------- */

enum { QUEUE_LINES = 4096 };

int log_queued;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  int file; /* 0: none; descriptor 0 is standard input's */
  char *path;
  const void *owner; /* of the queue; NULL: there is none */
  struct log_line ring[QUEUE_LINES];
  unsigned first, count, lost;
} sink;

static bool take_locked(struct log_line *line) {
  if (!sink.count) return false;
  *line = sink.ring[sink.first];
  sink.first = (sink.first + 1) % QUEUE_LINES;
  __atomic_store_n(&log_queued, (int)--sink.count, __ATOMIC_RELAXED);
  return true;
}

/* Takes over the text. */
static void queue_locked(enum log_topic topic, enum log_level level, char *text) {
  if (sink.count == QUEUE_LINES) {
    sink.lost++;
    free(text);
    return;
  }
  sink.ring[(sink.first + sink.count) % QUEUE_LINES] = (struct log_line){topic, level, text};
  __atomic_store_n(&log_queued, (int)++sink.count, __ATOMIC_RELAXED);
}

static void write_locked(enum log_topic topic, const char *text) {
  char start[64];
  int fd = sink.file ? sink.file : STDERR_FILENO;
  snprintf(start, sizeof start, "luhip: %s: ", log_topic_name(topic));
  size_t length = strlen(start), rest = strlen(text);
  char *line = malloc(length + rest + 1);
  if (!line) return;
  memcpy(line, start, length);
  memcpy(line + length, text, rest);
  line[length + rest] = '\n';
  for (size_t done = 0, all = length + rest + 1; done < all;) {
    ssize_t wrote = write(fd, line + done, all - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break; /* a full disk does not stop the work */
    done += (size_t)wrote;
  }
  free(line);
}

void log_write(enum log_topic topic, enum log_level level, const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  if (length < 0) return;
  pthread_mutex_lock(&lock);
  if (sink.owner) {
    queue_locked(topic, level, text);
    text = NULL;
  } else {
    write_locked(topic, text);
  }
  pthread_mutex_unlock(&lock);
  free(text);
}

int log_set_file(const char *path) {
  pthread_mutex_lock(&lock);
  bool same = path ? sink.path && strcmp(path, sink.path) == 0 : !sink.path;
  pthread_mutex_unlock(&lock);
  if (same) return 0;
  char *copy = path ? strdup(path) : NULL;
  if (path && !copy) return ENOMEM;
  int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666) : 0;
  if (file < 0) {
    int error = errno;
    free(copy);
    return error;
  }
  pthread_mutex_lock(&lock);
  int old_file = sink.file;
  char *old_path = sink.path;
  sink.file = file;
  sink.path = copy;
  pthread_mutex_unlock(&lock);
  if (old_file) close(old_file);
  free(old_path);
  return 0;
}

void log_set_queue(const void *owner) {
  struct log_line line;
  pthread_mutex_lock(&lock);
  sink.owner = owner;
  sink.lost = 0;
  while (take_locked(&line)) free(line.text);
  pthread_mutex_unlock(&lock);
}

const void *log_queue_owner(void) {
  pthread_mutex_lock(&lock);
  const void *owner = sink.owner;
  pthread_mutex_unlock(&lock);
  return owner;
}

bool log_take(struct log_line *line) {
  pthread_mutex_lock(&lock);
  bool taken = take_locked(line);
  pthread_mutex_unlock(&lock);
  return taken;
}

unsigned log_lost(void) {
  pthread_mutex_lock(&lock);
  unsigned lost = sink.lost;
  sink.lost = 0;
  pthread_mutex_unlock(&lock);
  return lost;
}
