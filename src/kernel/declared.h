/*
 * declared.h - what a source says of a kernel's parameters, for when there is no compiled kernel to ask.
 */
#ifndef LUHIP_KERNEL_DECLARED_H
#define LUHIP_KERNEL_DECLARED_H

#include "kernel/kernel.h"

/* How each of nargs arguments would be used. ACCESS_IN only where that is certain: the parameter is a pointer to
   const, or the options' access says so; ACCESS_INOUT for all that is not known. name NULL: the only kernel. */
void declared_access(const char *source, const luhip_compile_options *options, const char *name, size_t nargs,
                     enum access *access);

#endif
