/*
 * limits.h - what this machine and the CPU device's settings allow.
 */
#ifndef LUHIP_CPU_LIMITS_H
#define LUHIP_CPU_LIMITS_H

#include <stddef.h>

/* Bytes of device memory to advertise: LUHIP_CPU_MEMORY (bytes, or a number with K, M, G or T), else seven eighths of
   the machine's memory or of the control group's limit. 0 with a sentence in `reason` when the setting is wrong. */
size_t limits_memory(char *reason, size_t len);

/* Host name of the processor ("AMD EPYC 9655"), and a text that tells apart what -march=native means: family and
   model, with a hash of the feature flags. */
void limits_cpu_name(char *name, size_t len);
void limits_cpu_identity(char *identity, size_t len);

int limits_clock_khz(void);    /* 0 when unknown */
int limits_l2_bytes(void);     /* 0 when unknown */

#endif
