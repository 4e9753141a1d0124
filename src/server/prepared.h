/*
 * prepared.h - the arguments of a kernel's last launch, packed.
 *
 * Programs launch a kernel again and again with the same buffers and a scalar or two that change. What a launch found out
 * of its arguments is kept: which fit, as which bytes, and what is read and written where. The next one compares, and
 * looks into what is another argument only. A buffer is told by its id, which no other ever has, so nothing is held.
 *
 * It serves arguments of numbers, booleans and buffers that have memory. For all others, and whenever one does not
 * fit, launch.c takes its long way, which makes the errors. Guarded by the device lock.
 */
#ifndef LUHIP_SERVER_PREPARED_H
#define LUHIP_SERVER_PREPARED_H

#include "server/allocation.h"

struct kernel_signature;

/* One argument of the last launch. */
struct prepared_argument {
  luhip_arg_tag tag;  /* LUHIP_ARG_OTHER: not known */
  uint64_t value;     /* the bits of a number; a buffer's id */
  struct op_use *use; /* of a buffer */
};

struct prepared {
  uint32_t nuses;
  uint32_t launches;      /* of it, up to AGAIN_AFTER */
  bool changed;           /* since the last by hipxLaunchAgain */
  struct hip_again again; /* for that */
  struct op_use *uses;    /* of its buffers, with the addresses that are packed */
  void **params;          /* for the driver: where each argument is */
  unsigned char *packed;
  struct prepared_argument arguments[];
};

/* Launches that a provider's shorter way (hipxLaunchAgain) is not taken for: making it ready has its cost. */
enum { AGAIN_AFTER = 64 };

/* NULL when the host has no memory, or the kernel takes something else: every launch goes the long way then. */
struct prepared *prepared_new(const struct kernel_signature *signature);
/* The arguments, as many as the kernel has, are the prepared ones from now on. False: it does not serve them. */
bool prepared_take(struct prepared *prepared, const struct kernel_signature *signature, const luhip_device *device,
                   const luhip_arg *args);
/* With the device's lock, if it was ever used. */
void prepared_free(struct prepared *prepared, const struct hip_api *api);

#endif
