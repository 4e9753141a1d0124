/*
 * abi.h - what a compiled kernel module and the CPU device's runtime know of each other.
 *
 * Included by the C runtime (src/cpu/) and, as text, by the C++ device header (src/cpu/include/), so it
 * includes nothing and uses only built-in types.
 *
 *   module -> runtime   for each marked kernel i a descriptor, symbol `luhip_kd_<i>` of type
 *                       struct luhip_cpu_kernel; LUHIP_MARK(i, name) of the source makes it (LUHIP_EXPORT).
 *   runtime -> module   the pointer variable `luhip_cpu_rt` is set to the runtime's entry table right
 *                       after the module is loaded, before any kernel runs.
 */
#ifndef LUHIP_CPU_ABI_H
#define LUHIP_CPU_ABI_H

#define LUHIP_CPU_ABI 1

struct luhip_cpu_block; /* one block being run by one worker: exec.c */

struct luhip_cpu_param {
  unsigned offset; /* in the packed argument buffer */
  unsigned size;
};

struct luhip_cpu_kernel {
  unsigned abi;                         /* LUHIP_CPU_ABI */
  unsigned nparams;
  unsigned args_bytes, args_align;      /* of the packed argument buffer */
  const struct luhip_cpu_param *params; /* [nparams] */
  void (*function)(void);               /* the user's __global__ function: its symbol is the lowered name */
  /* Runs threads [start, block size) of one block until one of them blocks or all are done; see exec.c. */
  void (*run)(struct luhip_cpu_block *block, const void *args, unsigned start);
};

#endif
