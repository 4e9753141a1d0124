/*
 * link.h - from the compiler's object file to a module image.
 */
#ifndef LUHIP_CPU_LINK_H
#define LUHIP_CPU_LINK_H

#include "base/text.h"
#include "cpu/toolchain.h"

struct cpu_link {
  const struct toolchain *toolchain;
  const char *scratch; /* the folder with kernel.o */
  const char *name;    /* of the program, for messages */
  const char *const *envp;
  unsigned warp;
  unsigned timeout_ms;
};

/* The image with its trailer, malloc'ed. Complaints are added to the log. */
hip_error_t cpu_link_module(const struct cpu_link *link, void **image, size_t *bytes, struct text *log);

#endif
