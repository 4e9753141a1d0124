/*
 * entry.h - one entry of the disk cache as bytes.
 */
#ifndef LUHIP_KERNEL_ENTRY_H
#define LUHIP_KERNEL_ENTRY_H

#include "base/text.h"
#include "kernel/depend.h"
#include "kernel/kernel.h"

#define ENTRY_VERSION 2

/* The bytes of an entry; false when memory runs out. */
bool entry_encode(const uint8_t key[HASH_BYTES], const struct kernel_image *image,
                  const struct dependencies *dependencies, struct text *bytes);
/* Reads an entry back. NULL when it is not whole, not this version's, or another key's; dependencies are then empty. */
struct kernel_image *entry_decode(const uint8_t key[HASH_BYTES], const void *bytes, size_t length,
                                  struct dependencies *dependencies);

#endif
