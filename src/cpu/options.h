/*
 * options.h - the compiler options that a kernel's author gives.
 */
#ifndef LUHIP_CPU_OPTIONS_H
#define LUHIP_CPU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "cpu/command_line.h"

/* False with a sentence in `why` that names the first option that may not be given. The others below are for allowed
   ones. */
bool cpu_options_allowed(const char *const *options, size_t count, char *why, size_t len);
/* -D, -U and -include stand for lines of source: adds these lines. On the command line they would act on the device
   headers, which come before the source and know nothing of the author's macros. */
void cpu_options_add_lines(const char *const *options, size_t count, struct text *text);
/* Adds all others to the compiler's arguments. */
void cpu_options_add_arguments(const char *const *options, size_t count, struct command_line *line);
/* Whether these arguments leave a precompiled header usable: only folders to look in and diagnostics. */
bool cpu_options_are_light(const char *const *options, size_t count);

#endif
