/*
 * rocm_options.h - the compiler options that a kernel's author gives, where hiprtc compiles.
 */
#ifndef LUHIP_HIP_ROCM_OPTIONS_H
#define LUHIP_HIP_ROCM_OPTIONS_H

#include <stddef.h>

#include "base/text.h"

/* False, with a line in the log that names the first option that may not be given. */
bool rocm_options_allowed(const char *const *options, size_t count, struct text *log);

#endif
