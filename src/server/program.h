/*
 * program.h - a compiled image loaded on a device, and its kernels.
 *
 * A program owns its kernels: whoever holds a kernel holds its program, so there is one count, the same kernel
 * is given each time, and the module is unloaded with the last of them (K4) - when the launches in flight, which
 * count apart, have passed too. Everything but the counts and the globals is immutable once made.
 */
#ifndef LUHIP_SERVER_PROGRAM_H
#define LUHIP_SERVER_PROGRAM_H

#include "kernel/kernel.h"
#include "server/allocation.h"

struct luhip_kernel {
  luhip_program *program;
  const struct kernel_signature *signature;
  const luhip_param *shown; /* the signature's parameters as the public API gives them */
  hip_function_t function;  /* NULL: the driver refused it (refused), or the device was closed */
  hip_error_t refused;
  luhip_kernel_info info;
  size_t shared_most;        /* static and dynamic together */
  struct prepared *prepared; /* of its launches that are not a launcher's; NULL until the first */
};

struct program_global {
  char *name;
  struct allocation *allocation; /* one ref is the program's */
  struct program_global *next;
};

struct luhip_program {
  int refs;             /* atomic: programs, kernels and buffers on globals, held by callers */
  unsigned flights;     /* launches, and uses of globals, in flight or under way */
  bool dead;            /* refs reached 0 */
  luhip_device *device; /* retained */
  struct kernel_image *image;
  hip_module_t module;
  luhip_kernel *kernels; /* image->nkernels */
  luhip_param *shown;
  struct program_global *globals;
  struct luhip_program *next, *previous; /* the device's programs; next also in a trash list */
};

/* Something in flight, or under way without the lock, needs the module. */
static inline void program_fly(luhip_program *program) {
  program->flights++;
}
void program_landed(luhip_program *program); /* a dead one, for the last time */
static inline void program_land(luhip_program *program) {
  if (--program->flights == 0 && program->dead) program_landed(program);
}
void program_release_locked(luhip_program *program);
/* Close: modules are unloaded, programs stay as husks. */
void programs_close(luhip_device *device, bool unload);
/* Around what drivers do badly from two threads at once: loading and unloading modules. */
void module_lock(void);
void module_unlock(void);

#endif
