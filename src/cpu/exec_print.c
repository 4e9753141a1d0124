/*
 * exec_print.c - where device printf goes.
 *
 * A call's text is made by its worker and handed on whole, one call at a time.
 */
#include <pthread.h>
#include <stdio.h>

#include "cpu/pool.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*writer)(void *user, const char *text, size_t bytes);
static void *writer_user;

void cpu_exec_set_writer(void (*function)(void *, const char *, size_t), void *user) {
  pthread_mutex_lock(&lock);
  writer = function;
  writer_user = user;
  pthread_mutex_unlock(&lock);
}

void cpu_print_write(const char *text, size_t bytes) {
  pthread_mutex_lock(&lock);
  if (writer)
    writer(writer_user, text, bytes);
  else
    fwrite(text, 1, bytes, stdout);
  pthread_mutex_unlock(&lock);
}

void cpu_print_after_fork(void) {
  pthread_mutex_init(&lock, NULL);
}
