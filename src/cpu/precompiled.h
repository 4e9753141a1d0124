/*
 * precompiled.h - the device headers precompiled, which halves the time of a small compile.
 */
#ifndef LUHIP_CPU_PRECOMPILED_H
#define LUHIP_CPU_PRECOMPILED_H

#include <stdbool.h>

#include "cpu/headers.h"
#include "cpu/toolchain.h"

struct precompiled {
  char path[HEADERS_PATH + 64];
};

/* True when there is one that fits this compiler, its usual options and the headers (which must be kept ones). The
   second time a process asks in vain, one is made. */
bool cpu_precompiled_get(struct precompiled *precompiled, const struct toolchain *toolchain,
                         const struct cpu_headers *headers, unsigned warp, const char *const *environment);
/* Removes one that the compiler did not like. */
void cpu_precompiled_discard(const struct precompiled *precompiled);

#endif
