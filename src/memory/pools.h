/*
 * pools.h - layouts: the ordered lists of pools that a manager is made with.
 */
#ifndef LUHIP_MEMORY_POOLS_H
#define LUHIP_MEMORY_POOLS_H

#include "luhip.h"

/* An owned copy of a checked list. */
struct pools {
  luhip_pool *list;
  size_t count;
};

/* The preset of that name for a device of `total` bytes; E_ARGUMENT when there is none of that name. */
luhip_status pools_preset(const char *name, size_t total, struct pools *pools, luhip_error **error);
/* A checked copy of a list. */
luhip_status pools_copy(const luhip_pool *list, size_t count, struct pools *pools, luhip_error **error);
void pools_free(struct pools *pools);
bool pools_equal(const luhip_pool *a, size_t na, const luhip_pool *b, size_t nb);

#endif
