/*
 * dtype.c - names and sizes of the element types.
 */
#include "luhip.h"

#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
#define X(name, text, bytes) {text, bytes},
    LUHIP_DTYPES(X)
#undef X
};

const char *luhip_dtype_name(luhip_dtype dtype) {
  return (unsigned)dtype < LUHIP_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

size_t luhip_dtype_bytes(luhip_dtype dtype) {
  return (unsigned)dtype < LUHIP_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

bool luhip_dtype_parse(const char *text, luhip_dtype *dtype) {
  for (unsigned i = 0; text && i < LUHIP_DTYPE_COUNT; i++) {
    if (strcmp(text, dtypes[i].name) != 0) continue;
    if (dtype) *dtype = (luhip_dtype)i;
    return true;
  }
  return false;
}
