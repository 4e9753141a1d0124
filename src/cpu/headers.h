/*
 * headers.h - the device headers as files, for the compiler to read.
 */
#ifndef LUHIP_CPU_HEADERS_H
#define LUHIP_CPU_HEADERS_H

#include <stdbool.h>

#include "base/hash.h"

enum { HEADERS_PATH = 512 };

struct cpu_headers {
  char folder[HEADERS_PATH]; /* for -isystem */
  bool kept;                 /* lies in the user's cache and serves other compiles too */
};

/* Writes the headers into the user's cache folder, or below `scratch` where that cannot be used. 0 or an errno value.
   */
int cpu_headers_prepare(struct cpu_headers *headers, const char *scratch);
/* Of all headers' names and texts. */
void cpu_headers_digest(uint8_t digest[HASH_BYTES]);

#endif
