/*
 * shared.h - telling `extern __shared__` from `__shared__` in a source.
 */
#ifndef LUHIP_CPU_SHARED_H
#define LUHIP_CPU_SHARED_H

/* Writes __shared_x for the __shared__ of each `extern __shared__` outside comments and literals. Nothing moves. */
void cpu_shared_mark(char *source);

#endif
