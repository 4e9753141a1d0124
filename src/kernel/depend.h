/*
 * depend.h - the files that a compile read, so that a cached result can be told from a stale one.
 */
#ifndef LUHIP_KERNEL_DEPEND_H
#define LUHIP_KERNEL_DEPEND_H

#include "base/hash.h"
#include "kernel/setup.h"

#include <time.h>

struct dependency {
  char *path;
  bool absent; /* must not exist: it would be found before the file that was read */
  uint8_t digest[HASH_BYTES];
};

struct dependencies {
  struct dependency *list;
  size_t n;
};

/* When a compile begins; on the clock of file times. */
struct timespec dependencies_now(void);
/* Notes content and shadowing candidates of the files (NULL-terminated, NULL: the compiler does not say). False when
   they cannot be told: one vanished or changed while the compiler ran, one or the source asks whether files are there
   (__has_include), the compiler does not say and could read some, or memory ran out. */
bool dependencies_collect(struct dependencies *dependencies, char *const *files, const struct setup *setup,
                          struct timespec since);
/* Whether a file may have been read that is none of the compiler's own and none of the setup's headers. */
bool dependencies_possible(const struct setup *setup);
bool dependencies_add(struct dependencies *dependencies, const char *path, bool absent,
                      const uint8_t digest[HASH_BYTES]);
/* Whether all is as it was. */
bool dependencies_hold(const struct dependencies *dependencies);
void dependencies_free(struct dependencies *dependencies);

#endif
