/*
 * fake_calls.h - for the drivers of specs' own: how often each function was called, and which one is to fail.
 *
 * Included once by each, after its `result`, OK and UNKNOWN, and FAIL_VARIABLE, the environment variable that names the
 * function that fails.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 256 };

static struct {
  const char *name;
  unsigned calls;
} counts[MOST_NAMES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static result count(const char *name) {
  const char *fail = getenv(FAIL_VARIABLE);
  pthread_mutex_lock(&lock);
  int i = 0;
  while (counts[i].name && strcmp(counts[i].name, name)) i++;
  counts[i].name = name;
  counts[i].calls++;
  pthread_mutex_unlock(&lock);
  return fail && !strcmp(fail, name) ? UNKNOWN : OK;
}

/* For package.loadlib: "cuInit 1\ncuDeviceGet 3\n", in the order of first calls; the counts start again. */
__attribute__((weak)) extern const char *lua_pushstring(void *lua, const char *text);
static int push_calls(void *lua) {
  char text[8192];
  size_t at = 0;
  *text = '\0';
  pthread_mutex_lock(&lock);
  for (int i = 0; counts[i].name; i++) {
    if (counts[i].calls && at < sizeof text)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s %u\n", counts[i].name, counts[i].calls);
    counts[i].calls = 0;
  }
  pthread_mutex_unlock(&lock);
  lua_pushstring(lua, text);
  return 1;
}

#define CALL                                                                                                           \
  result counted = count(__func__);                                                                                    \
  if (counted) return counted;
