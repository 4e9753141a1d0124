/*
 * function.h - one kernel of a loaded module.
 */
#ifndef LUHIP_CPU_FUNCTION_H
#define LUHIP_CPU_FUNCTION_H

#include "cpu/exec.h"
#include "cpu/image.h"

struct hip_function_impl {
  int device;
  const struct luhip_cpu_kernel *kernel;
  const char *lowered;  /* in the module's image */
  char name[96];        /* for people: without parameters and template arguments */
  unsigned max_threads; /* of a block: __launch_bounds__ or the device's */
  size_t shared;        /* bytes of shared variables that it declares or may reach */
  size_t local;         /* bytes of the module's thread-local block */
};

/* Sums up the shared variables of a module's kernels: each kernel's own, and for all of them those that belong to
   no kernel (of device functions, and global ones). */
void cpu_function_find_shared(const struct cpu_image *image, struct hip_function_impl *functions, size_t count);

#endif
