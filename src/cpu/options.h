/*
 * options.h - which compiler options a kernel's author may give.
 */
#ifndef LUHIP_CPU_OPTIONS_H
#define LUHIP_CPU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* False with a sentence in `why` that names the first option that may not be given. */
bool cpu_options_allowed(const char *const *options, size_t count, char *why, size_t len);
/* Whether they leave a precompiled header usable: only folders to look in and diagnostics. */
bool cpu_options_are_light(const char *const *options, size_t count);

#endif
