/*
 * command_line.h - how the compiler is called.
 */
#ifndef LUHIP_CPU_COMMAND_LINE_H
#define LUHIP_CPU_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "cpu/toolchain.h"

/* An argument vector, always NULL-terminated. The strings are borrowed. */
struct command_line {
  const char **items;
  size_t count, capacity;
  bool failed; /* out of memory */
};

void cpu_line_add(struct command_line *line, const char *item);
void cpu_line_free(struct command_line *line);

/* The compiler, and the options that every compile of kernels has: what decides whether a precompiled header fits. */
void cpu_line_begin(struct command_line *line, const struct toolchain *toolchain, unsigned warp);
/* The environment for compilers and linkers: little, so that nothing of the user's settings reaches them. The
   strings are allocated; free with cpu_environment_free. */
const char **cpu_environment_new(const char *scratch);
void cpu_environment_free(const char **environment);
/* Programs, options and headers. */
void cpu_line_identity(const struct toolchain *toolchain, unsigned warp, uint8_t digest[HASH_BYTES]);

#endif
