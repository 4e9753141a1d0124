/*
 * limits.h - what this machine and the CPU device's settings allow.
 */
#ifndef LUHIP_CPU_LIMITS_H
#define LUHIP_CPU_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Of a grid, in blocks. Those of a block are in exec.h. */
#define CPU_MAX_GRID_X INT32_MAX
#define CPU_MAX_GRID_YZ 65535

/* Bytes of device memory to advertise: the setting cpu.memory, else seven eighths of
   the machine's memory or of the control group's limit. 0 with a sentence in `reason` when the setting is wrong. */
size_t cpu_limits_memory(char *reason, size_t len);

/* Threads that the setting cpu.threads asks for, 0 when it is not set. -1 with a sentence in `reason` when it is wrong. */
int cpu_limits_threads(char *reason, size_t len);

/* Host name of the processor ("AMD EPYC 9655"), and a text that tells apart what -march=native means: family and
   model, with a hash of the feature flags. */
void cpu_limits_cpu_name(char *name, size_t len);
void cpu_limits_cpu_identity(char *identity, size_t len);

int cpu_limits_clock_khz(void); /* 0 when unknown */
int cpu_limits_l2_bytes(void);  /* the last-level cache: on a device that is the L2; 0 when unknown */

#endif
