/*
 * disk.h - the disk side of the cache (cache.h).
 */
#ifndef LUHIP_KERNEL_DISK_H
#define LUHIP_KERNEL_DISK_H

#include "kernel/depend.h"
#include "kernel/kernel.h"

/* NULL: not there, refused, damaged or stale; *rejected when it was refused or damaged. */
struct kernel_image *disk_load(const uint8_t key[HASH_BYTES], struct dependencies *dependencies, bool *rejected);
void disk_store(const uint8_t key[HASH_BYTES], const struct kernel_image *image,
                const struct dependencies *dependencies);

#endif
