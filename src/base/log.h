/*
 * log.h - warnings and log lines (L2).
 *
 * Warnings are sentences without a final newline; nothing is printed until a host sets a sink for them: the Lua
 * binding does. Log lines belong to a topic and are written when the topic's level asks for them: to stderr, to a
 * file, or into a queue that a Lua state empties when no lock is held. A topic that is off costs one load of a byte.
 * Any thread, under any lock; a warning's sink must not log.
 */
#ifndef LUHIP_BASE_LOG_H
#define LUHIP_BASE_LOG_H

#include <stdbool.h>

void log_set_sink(void (*sink)(void *user, const char *text), void *user); /* of warnings; NULL: dropped */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- topics --------------------------------------------------------------------------------------------------- */

/* In the order of the settings log.compile, ... */
#define LOG_ALL_TOPICS(X)                                                                                              \
  X(COMPILE, "compile") X(MEMORY, "memory") X(STREAMS, "streams") X(LAUNCHES, "launches") X(TUNE, "tune")

enum log_topic {
#define X(ID, name) LOG_##ID,
  LOG_ALL_TOPICS(X)
#undef X
      LOG_TOPICS
};

enum log_level { LOG_OFF, LOG_BASIC, LOG_FULL };

extern unsigned char log_levels[LOG_TOPICS]; /* atomic */

static inline bool log_on(enum log_topic topic, enum log_level level) {
  return __atomic_load_n(&log_levels[topic], __ATOMIC_RELAXED) >= level;
}

const char *log_topic_name(enum log_topic topic);
void log_set_level(enum log_topic topic, enum log_level level);
/* Writes one line whatever the levels are. Newlines in it are kept. */
void log_write(enum log_topic topic, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Nothing is computed when the topic is off. */
#define LOG(topic, level, ...)                                                                                         \
  do {                                                                                                                 \
    if (__builtin_expect(log_on(topic, level), 0)) log_write(topic, level, __VA_ARGS__);                               \
  } while (0)

/* ---- where lines go --------------------------------------------------------------------------------------------- */

/* Appends to this file, made if it is missing; NULL: stderr. An errno value, and then nothing changed. A queue that is
   set stays in front. */
int log_set_file(const char *path);

/* Lines wait in a queue from now on, for `owner` to take them; NULL: no more, what waits is dropped. */
void log_set_queue(const void *owner);
const void *log_queue_owner(void);

struct log_line {
  enum log_topic topic;
  enum log_level level;
  char *text; /* the taker frees it */
};
bool log_take(struct log_line *line); /* the oldest; false when none waits */
unsigned log_lost(void);              /* lines that found the queue full since the last call */

extern int log_queued; /* atomic: how many lines wait */
static inline int log_waiting(void) {
  return __atomic_load_n(&log_queued, __ATOMIC_RELAXED);
}

#endif
