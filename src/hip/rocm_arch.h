/*
 * rocm_arch.h - target ids ("gfx90a:sramecc+:xnack-") held against what comgr knows, before hiprtc sees them.
 */
#ifndef LUHIP_HIP_ROCM_ARCH_H
#define LUHIP_HIP_ROCM_ARCH_H

#include "base/text.h"

/* Whether hiprtc can be given this target id; if not, one line in the log says why and what is known. */
bool rocm_arch_known(const char *arch, struct text *log);

#endif
