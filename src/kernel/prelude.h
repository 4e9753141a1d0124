/*
 * prelude.h - what stands before the user's first line: see markers.h.
 */
#ifndef LUHIP_KERNEL_PRELUDE_H
#define LUHIP_KERNEL_PRELUDE_H

extern const char kernel_prelude[]; /* ends with a newline */

/* The namespace and the type of the stand-ins that optional markers fall back to (source.c). */
#define PRELUDE_MISSING "::luhip_signature::luhip_missing"

#endif
