/*
 * cache.h - compiled images in memory and on disk, by a hash of everything that decides them (setup_hash).
 *
 * On disk: $LUHIP_CACHE_DIR, else $XDG_CACHE_HOME/luhip, else ~/.cache/luhip; LUHIP_CACHE=off: none. Trouble with the
 * disk never fails a compile: it is a warning (base/log.h), once per folder and cause.
 */
#ifndef LUHIP_KERNEL_CACHE_H
#define LUHIP_KERNEL_CACHE_H

#include "kernel/depend.h"
#include "kernel/kernel.h"

/* Compiles. *lasting false: the result must not be kept (a file changed meanwhile). A failure that lasts is kept in
   memory alone. */
typedef luhip_status cache_build(void *user, struct kernel_image **image, struct dependencies *dependencies,
                                 bool *lasting, luhip_error **error);

/* The image of the key: from memory, from disk, or built. Two threads that want one key at once build it once; the
   second waits and shares the result, an error too. Errors are never changed, so one may be given to many. */
luhip_status cache_fetch(const uint8_t key[HASH_BYTES], cache_build *build, void *user, struct kernel_image **image,
                         luhip_error **error);
/* Counts a run of a compiler (luhip_compile_get_stats). */
void cache_count_compile(void);
/* Forgets what is in memory. */
void cache_clear(void);

#endif
