/*
 * signature.h - from the bytes that a marker left in the compiled image (markers.h) to a kernel's parameters.
 */
#ifndef LUHIP_KERNEL_SIGNATURE_H
#define LUHIP_KERNEL_SIGNATURE_H

#include "kernel/kernel.h"
#include "kernel/scan.h"

enum signature_state {
  SIGNATURE_GOOD,
  SIGNATURE_ABSENT,   /* no such kernel in this image: it stands in a false #if, or an optional marker fell back */
  SIGNATURE_DAMAGED,  /* bytes that no prelude of this version writes */
  SIGNATURE_TOO_MANY, /* more than LUHIP_MAX_ARGS parameters */
  SIGNATURE_NO_MEMORY
};

/* Reads luhip_sig_<index>. On SIGNATURE_GOOD `signature` has its parameters, without names; its own name and lowered
   name are the caller's to set. */
enum signature_state signature_read(const void *code, size_t bytes, size_t index, struct kernel_signature *signature);
/* Gives the parameters the names, LUHIP_OUT and, for types of the user's own, the type texts of the source. `source`
   may be NULL. False when memory runs out. */
bool signature_name_params(struct kernel_signature *signature, const struct scan_kernel *source);
void signature_set_access(struct kernel_param *param, enum access access);
void signature_free(struct kernel_signature *signature);

#endif
