/*
 * mark.h - telling apart the two meanings of __shared__ and of __device__ in a source.
 */
#ifndef LUHIP_CPU_MARK_H
#define LUHIP_CPU_MARK_H

/* Writes __shared_x for the __shared__ of each `extern __shared__`, and __device_v for the __device__ of each variable,
   outside comments and literals. Nothing moves. */
void cpu_mark_source(char *source);

#endif
