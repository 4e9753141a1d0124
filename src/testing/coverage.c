/*
 * coverage.c - counts of processes that do not end by exit.
 *
 * gcov writes its counts when a process exits. Children of specs end by a signal or by _exit as well: the signals that a
 * spec or its watchdog sends write the counts first, and coverage_write is called before an _exit. Nothing of this is
 * there in other builds.
 */
#include <signal.h>
#include <stdlib.h>

#include "testing/testing.h"

__attribute__((weak)) void __gcov_dump(void);

void coverage_write(void) {
  if (__gcov_dump) __gcov_dump();
}

static void die(int number) {
  coverage_write();
  signal(number, SIG_DFL);
  raise(number);
}

/* Only where nobody else handles it: an interpreter's own handler of SIGINT stays. */
__attribute__((constructor)) static void watch(void) {
  static const int numbers[] = {SIGTERM, SIGABRT, SIGALRM};
  if (!__gcov_dump) return;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) signal(numbers[i], die);
  }
}
