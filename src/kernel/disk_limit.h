/*
 * disk_limit.h - how large the compile cache may grow on disk (K2).
 */
#ifndef LUHIP_KERNEL_DISK_LIMIT_H
#define LUHIP_KERNEL_DISK_LIMIT_H

#include <stddef.h>

/* An entry was used: it is the last that goes. */
void disk_used(int folder, const char *name);
/* An entry of so many bytes was stored. From time to time the folder is looked at, and what was not used for longest is
   removed until it is within the limit (cache.limit), but never the entry that is named. Any thread, any number of
   processes. */
void disk_stored(int folder, const char *name, size_t bytes);

#endif
