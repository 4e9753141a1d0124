/*
 * pools.c - presets, and whether a list of pools makes sense (J4).
 *
 * "sub-slices" cuts pages of four sizes or so, each a quarter of the one above, so that small buffers share pages and
 * large ones do not leave much of a page unused; the smaller the page the finer it is cut. "exclusive" has one size class
 * after the other instead, with a page per buffer. "direct" leaves the work to the driver and keeps what is freed.
 */
#include "memory/pools.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum { BUCKETS = 24 };
static const size_t SMALLEST_PAGE = 32 * MIB, SMALLEST_BUCKET = 32 * KIB, UNIT = 256;

static const char *const kind_names[] = {[LUHIP_POOL_SLICED] = "sliced",
                                         [LUHIP_POOL_EXCLUSIVE] = "exclusive",
                                         [LUHIP_POOL_DIRECT] = "direct",
                                         [LUHIP_POOL_PERSISTENT] = "persistent"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

const char *luhip_pool_kind_name(luhip_pool_kind kind) {
  return (unsigned)kind < KINDS ? kind_names[kind] : "?";
}

bool luhip_pool_kind_parse(const char *text, luhip_pool_kind *kind) {
  for (unsigned i = 0; i < KINDS; i++) {
    if (strcmp(text, kind_names[i]) != 0) continue;
    *kind = (luhip_pool_kind)i;
    return true;
  }
  return false;
}

/* ---- presets ------------------------------------------------------------------------------------------------- */

static size_t largest_page(size_t total) {
  size_t page = total / 4 / UNIT * UNIT;
  return page ? page : UNIT;
}

/* From a quarter of the device divide by 4 while at least 32 MiB are left; the k-th of n levels, smallest first, is cut
   into pieces of at least page / 2^j. On 16 GiB: pages of 16, 64, 256, 1024 MiB for slices up to 1, 8, 64, 512 MiB. */
static size_t sub_slices(size_t total, luhip_pool *list) {
  size_t largest = largest_page(total), count = 0;
  size_t pages[LUHIP_MAX_POOLS];
  for (size_t page = largest; page >= SMALLEST_PAGE && count < LUHIP_MAX_POOLS;) pages[count++] = page /= 4;
  for (size_t k = 0; k < count; k++) {
    size_t page = pages[count - 1 - k] / UNIT * UNIT, slice = page >> (count - k);
    list[k] = (luhip_pool){.kind = LUHIP_POOL_SLICED, .page = page, .slice = slice / UNIT * UNIT};
  }
  list[count++] = (luhip_pool){.kind = LUHIP_POOL_EXCLUSIVE, .page = largest};
  return count;
}

/* 24 buckets from 32 KiB to a quarter of the device, each larger than the one before by the same factor. Buckets that
   would be of one size on a small device are one. */
static size_t exclusive(size_t total, luhip_pool *list) {
  size_t largest = largest_page(total), count = 0;
  double factor = 1;
  for (double low = 1, high = 1e6; high - low > 1e-9 * low; factor = (low + high) / 2) {
    double product = (double)SMALLEST_BUCKET, middle = (low + high) / 2;
    for (int i = 1; i < BUCKETS; i++) product *= middle;
    if (product < (double)largest) {
      low = middle;
    } else {
      high = middle;
    }
  }
  double size = (double)SMALLEST_BUCKET;
  for (int i = 0; i < BUCKETS; i++, size *= factor) {
    size_t page = i == BUCKETS - 1 || size >= (double)largest ? largest : ((size_t)size + UNIT - 1) / UNIT * UNIT;
    if (!count || list[count - 1].page < page) list[count++] = (luhip_pool){.kind = LUHIP_POOL_EXCLUSIVE, .page = page};
  }
  return count;
}

static size_t direct(size_t total, luhip_pool *list) {
  list[0] = (luhip_pool){.kind = LUHIP_POOL_DIRECT, .reclaim_at = largest_page(total)};
  return 1;
}

static const struct {
  const char *name;
  size_t (*make)(size_t total, luhip_pool *list);
} presets[] = {{"sub-slices", sub_slices}, {"exclusive", exclusive}, {"direct", direct}};

luhip_status luhip_pools_preset(const char *name, size_t total, luhip_pool list[LUHIP_MAX_POOLS], size_t *count,
                                luhip_error **error) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    if (strcmp(name, presets[i].name) != 0) continue;
    *count = presets[i].make(total, list);
    return LUHIP_OK;
  }
  return error_set(error, LUHIP_E_ARGUMENT,
                   "pools: no preset \"%s\"; there are \"sub-slices\", \"exclusive\" and \"direct\"", name);
}

luhip_status pools_preset(const char *name, size_t total, struct pools *pools, luhip_error **error) {
  luhip_pool list[LUHIP_MAX_POOLS];
  size_t count = 0;
  luhip_status status = luhip_pools_preset(name, total, list, &count, error);
  return status ? status : pools_copy(list, count, pools, error);
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

/* Everything that is wrong with a list, in one sentence. */
struct faults {
  char text[512];
  size_t length;
};

static void fault(struct faults *faults, size_t pool, const char *format, ...) PRINTF_LIKE(3, 4);
static void fault(struct faults *faults, size_t pool, const char *format, ...) {
  char what[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  if (faults->length >= sizeof faults->text) return;
  int n = snprintf(faults->text + faults->length, sizeof faults->text - faults->length, "%spools[%zu].%s",
                   faults->length ? "; " : "", pool + 1, what);
  faults->length += n > 0 ? (size_t)n : 0;
}

static void check_needed(struct faults *faults, size_t i, const luhip_pool *pool) {
  bool sliced = pool->kind == LUHIP_POOL_SLICED, direct_ = pool->kind == LUHIP_POOL_DIRECT;
  const char *kind = luhip_pool_kind_name(pool->kind);
  if (!pool->page && !direct_) fault(faults, i, "page is 0: a pool of kind \"%s\" needs the size of its pages", kind);
  if (!pool->slice && sliced) fault(faults, i, "slice is 0: the largest slice that a page is cut into is needed");
  if (pool->slice && !sliced) fault(faults, i, "slice is given for a pool of kind \"%s\", which is not cut", kind);
  if (pool->reclaim_at && !direct_)
    fault(faults, i, "reclaim_at is given for a pool of kind \"%s\"; it is for \"direct\"", kind);
}

static void check_pool(struct faults *faults, size_t i, const luhip_pool *pool) {
  if (pool->kind == LUHIP_POOL_PERSISTENT) {
    fault(faults, i, "kind is \"persistent\": every manager has that pool anyway");
    return;
  }
  if ((unsigned)pool->kind >= KINDS) {
    fault(faults, i, "kind is %d, which is none", (int)pool->kind);
    return;
  }
  check_needed(faults, i, pool);
  if (pool->page > PTRDIFF_MAX || pool->cap > PTRDIFF_MAX) fault(faults, i, "page or cap has more than 2^63 - 1 bytes");
  if (pool->slice > pool->page && pool->page)
    fault(faults, i, "slice (%zu) is larger than its page (%zu)", pool->slice, pool->page);
  if (pool->cap && pool->cap < pool->page)
    fault(faults, i, "cap (%zu) is less than a page (%zu)", pool->cap, pool->page);
}

luhip_status luhip_pools_check(const luhip_pool *list, size_t count, luhip_error **error) {
  struct faults faults = {0};
  if (count == 0) return error_set(error, LUHIP_E_ARGUMENT, "pools: the list is empty; at least one pool is needed");
  if (count > LUHIP_MAX_POOLS) {
    return error_set(error, LUHIP_E_ARGUMENT, "pools: the list has %zu pools, %d is the most", count, LUHIP_MAX_POOLS);
  }
  for (size_t i = 0; i < count; i++) check_pool(&faults, i, &list[i]);
  return faults.length ? error_set(error, LUHIP_E_ARGUMENT, "%s", faults.text) : LUHIP_OK;
}

/* ---- copies -------------------------------------------------------------------------------------------------- */

luhip_status pools_copy(const luhip_pool *list, size_t count, struct pools *pools, luhip_error **error) {
  luhip_status status = luhip_pools_check(list, count, error);
  if (status) return status;
  luhip_pool *copy = malloc(count * sizeof *copy);
  if (!copy) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a list of pools");
  memcpy(copy, list, count * sizeof *copy);
  pools->list = copy;
  pools->count = count;
  return LUHIP_OK;
}

void pools_free(struct pools *pools) {
  free(pools->list);
  *pools = (struct pools){0};
}

bool pools_equal(const luhip_pool *a, size_t na, const luhip_pool *b, size_t nb) {
  if (na != nb) return false;
  for (size_t i = 0; i < na; i++) {
    if (a[i].kind != b[i].kind || a[i].page != b[i].page || a[i].slice != b[i].slice || a[i].cap != b[i].cap ||
        a[i].reclaim_at != b[i].reclaim_at)
      return false;
  }
  return true;
}
