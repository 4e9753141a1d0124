/*
 * arch.h - the processor that kernels are compiled for.
 */
#ifndef LUHIP_CPU_ARCH_H
#define LUHIP_CPU_ARCH_H

#include <stdbool.h>
#include <stddef.h>

enum { ARCH_OPTION = 32 };

/* The compiler's option, "-march=...", for what LUHIP_CPU_ARCH names: "native", which it is where that is not set, or a
   level of x86-64. False with a sentence in `reason` when there is no such level or this processor lacks it. Reads the
   environment at each call; any thread. */
bool cpu_arch_option(char option[ARCH_OPTION], char *reason, size_t len);

/* Whether what a compiler option of the user asks for can run here; true for options about something else, and for
   processors that have no level. False with a sentence in `reason`. */
bool cpu_arch_allows(const char *option, char *reason, size_t len);

#endif
