/*
 * coverage.c - counts of processes that do not end by exit.
 *
 * gcov writes its counts when a process exits. Children of specs end by a signal or by _exit as well: the signals that a
 * spec or its watchdog sends write the counts first, and coverage_write is called before an _exit. Nothing of this is
 * there in other builds.
 */
#include "testing/testing.h"

#ifdef LUHIP_COVERAGE
#include <signal.h>
#include <stdlib.h>

void __gcov_dump(void); /* gcc's */

void coverage_write(void) {
  __gcov_dump();
}

static void die(int number) {
  coverage_write();
  signal(number, SIG_DFL);
  raise(number);
}

/* Only where nobody else handles it: an interpreter's own handler of SIGINT stays. */
__attribute__((constructor)) static void watch(void) {
  static const int numbers[] = {SIGTERM, SIGABRT, SIGALRM};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) signal(numbers[i], die);
  }
}
#else
void coverage_write(void) {
}
#endif
