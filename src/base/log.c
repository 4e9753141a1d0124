/*
 * log.c - the warning sink. One lock serialises the calls, so that after log_set_sink returns the old sink
 * is not running any more and its user data may go.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*current)(void *user, const char *text);
static void *current_user;

void log_set_sink(void (*sink)(void *user, const char *text), void *user) {
  pthread_mutex_lock(&lock);
  current = sink;
  current_user = user;
  pthread_mutex_unlock(&lock);
}

void log_warning(const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  pthread_mutex_lock(&lock);
  if (current) current(current_user, text);
  pthread_mutex_unlock(&lock);
}
