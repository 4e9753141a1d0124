/*
 * dependencies.h - the list of files that a compile has read.
 */
#ifndef LUHIP_CPU_DEPENDENCIES_H
#define LUHIP_CPU_DEPENDENCIES_H

#include <stdbool.h>

/* Reads the Makefile rule that the compiler wrote into a NULL-terminated list of absolute or relative paths as they
   were written, leaving out what lies in the given folders (NULL-terminated). A missing file gives an empty list.
   NULL when memory runs out. */
char **cpu_dependencies_read(const char *path, const char *const *folders);
void cpu_dependencies_free(char **list);

#endif
