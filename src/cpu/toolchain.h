/*
 * toolchain.h - the programs that compile and link kernels for the CPU device, found without starting one.
 */
#ifndef LUHIP_CPU_TOOLCHAIN_H
#define LUHIP_CPU_TOOLCHAIN_H

#include <stdbool.h>

#include "base/hash.h"
#include "cpu/arch.h"
#include "hip/api.h"

enum { TOOLCHAIN_PATH = 512 };

struct toolchain {
  char compiler[TOOLCHAIN_PATH];
  bool is_clang;
  char march[ARCH_OPTION]; /* "-march=native" */
  char linker[TOOLCHAIN_PATH];
  char libgcc[TOOLCHAIN_PATH]; /* helpers for half conversions and the like; "" when there is none */
  char libm[TOOLCHAIN_PATH], libmvec[TOOLCHAIN_PATH], libc[TOOLCHAIN_PATH]; /* the host's own; libmvec may be "" */
  uint8_t identity[HASH_BYTES]; /* of the programs, by path, size and time of change */
};

/* False with the reason in words, and how to help it. LUHIP_CLANG overrides where to look,
   LUHIP_CPU_ARCH what is compiled for. */
bool cpu_toolchain_find(struct toolchain *toolchain, char *reason, size_t len);
/* Loads libm and libmvec, which kernels are linked with, for good. Idempotent. */
void cpu_toolchain_load_math(void);
/* Whether libm or libmvec has a function of this name. */
bool cpu_toolchain_is_math(const char *name);

#endif
