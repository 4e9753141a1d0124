/*
 * scratch.h - private temporary folders.
 */
#ifndef LUHIP_CPU_SCRATCH_H
#define LUHIP_CPU_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { SCRATCH_PATH = 512 };

/* Makes a new folder (mode 0700) below TMPDIR or /tmp. 0 or an errno value. */
int cpu_scratch_make(char path[SCRATCH_PATH]);
/* Removes it with all that is in it. */
void cpu_scratch_remove(const char *path);
/* Whether a name is relative, not empty, and does not lead upwards. */
bool cpu_scratch_is_below(const char *name);
/* Writes a file there; folders in `name` are made. EINVAL for a name that is not below. */
int cpu_scratch_write(const char *path, const char *name, const void *data, size_t bytes);

#endif
