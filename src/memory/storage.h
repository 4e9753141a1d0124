/*
 * storage.h - where pages come from: a device, pinned host memory, or the plain bytes of a spec.
 *
 * Everything in pools is arithmetic over addresses; this small table is all that touches memory. One storage is shared
 * by the managers of all streams of a device, so it is where the device-wide figures are: what is held, what of it
 * could be let go, and the limit.
 */
#ifndef LUHIP_MEMORY_STORAGE_H
#define LUHIP_MEMORY_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

struct slice;

struct storage {
  void *user;
  const char *device, *what; /* for log lines, "cpu:0" and "pinned"; NULL: none, it is no memory */
  /* 0, or a code of the storage's own; *address is aligned at least as `alignment` says. bytes > 0. */
  int (*allocate)(void *user, size_t bytes, void **address);
  /* May wait for the device; called without a lock. */
  void (*release)(void *user, void *address);
  int full;            /* the code that says "out of memory" */
  size_t alignment;    /* that sizes are rounded to; 1 in checked mode, where a buffer ends at a guard page */
  size_t total;        /* bytes there are */
  size_t limit;        /* of reserved bytes; 0: none */
  size_t reserved;     /* held */
  size_t cached;       /* of these, in pages that nothing lives in */
  struct slice *spare; /* records for slices that will be cut, by `next`; page.c */
  unsigned nspare;
};

/* Frees the spare records; nothing is held any more. */
void storage_close(struct storage *storage);

static inline bool storage_within_limit(const struct storage *storage, size_t bytes) {
  return !storage->limit || (bytes <= storage->limit && storage->reserved <= storage->limit - bytes);
}

#endif
