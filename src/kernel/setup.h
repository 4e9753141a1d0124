/*
 * setup.h - a compile's options made even: everything that decides the result, in the form in which it is hashed
 * and handed to the provider.
 */
#ifndef LUHIP_KERNEL_SETUP_H
#define LUHIP_KERNEL_SETUP_H

#include "base/hash.h"
#include "kernel/kernel.h"

/* A growing list of strings that it owns. */
struct strings {
  char **list;
  size_t n;
};

struct setup {
  const struct kernel_target *target;
  const luhip_compile_options *options;
  const char *program; /* name in messages */
  const char *source;
  struct strings definitions; /* "NAME value", from `defines` and from -D among the flags */
  struct strings folders;     /* include dirs, absolute, from `include_dirs` and from -I among the flags */
  struct strings flags;       /* the other flags, then -I<folder> each */
  struct strings names;       /* headers */
  struct strings texts;
  char toolchain[256];
  uint8_t key[HASH_BYTES]; /* of all that decides the compiled code */
  bool compiled;           /* it was not found in a cache */
};

/* Checks the options; wrong ones are LUHIP_E_ARGUMENT. Also asks the provider for its toolchain, and
   hashes it all. */
luhip_status setup_start(struct setup *setup, const struct kernel_target *target, const char *source,
                         const luhip_compile_options *options, luhip_error **error);
/* "searched: /a, /b; headers given: x.h": for an include that is not found. The caller frees it. */
char *setup_search_path(const struct setup *setup);
void setup_free(struct setup *setup);

#endif
