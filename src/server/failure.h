/*
 * failure.h - the failures that buffers carry.
 *
 * A failure is one node in its device's store: the error, the launches that were skipped because of it, and how
 * many claims carry it. It lives exactly as long as something carries or holds it (E1). An operation with several
 * stale inputs gives what it would have written a combination, which stands for all of them.
 * Guarded by the device lock.
 */
#ifndef LUHIP_SERVER_FAILURE_H
#define LUHIP_SERVER_FAILURE_H

#include "luhip.h"

enum { SKIP_RECORDS = 16, SKIP_IDS = 8 };

/* A launch that did not run. The ids are of allocations: what was stale, and what stays unwritten. */
struct skip {
  char *text;
  unsigned nneeded, nwritten;
  uint64_t needed[SKIP_IDS], written[SKIP_IDS];
};

struct failure {
  luhip_error *error;     /* NULL for a combination */
  struct failure **parts; /* of a combination: held, none a combination itself, in the order of the store */
  size_t nparts;
  size_t carried, held; /* claims; others */
  struct failure_store *store;
  struct failure *next, *previous;
  struct skip skips[SKIP_RECORDS]; /* ring: skips[i % SKIP_RECORDS] for the newest i < skip_total */
  uint64_t skip_total;
  struct failure *self[1]; /* the list of a set that the host has no memory for */
};

struct failure_store {
  struct failure *first;
  size_t count;
  struct failure *unclaimed; /* held: the oldest that nothing carries and nobody was told of; NULL: none */
  uint64_t nunclaimed;       /* it and those after it */
  struct failure spare;      /* stands in when the host has no memory for another */
};

void failure_store_open(struct failure_store *store);

/* A new failure with one hold, which takes over the error. */
struct failure *failure_new(struct failure_store *store, luhip_error *error);
void failure_carry(struct failure *failure);
void failure_drop(struct failure *failure);
struct failure *failure_hold(struct failure *failure);
void failure_let_go(struct failure *failure);
static inline void failure_release(struct failure *failure) { /* NULL is fine */
  if (failure) failure_let_go(failure);
}
/* An operation that writes nothing has failed: no claim will ever say so. The oldest is kept for whoever waits next. */
void failure_unclaimed(struct failure *failure);
/* Somebody was told of it otherwise. */
void failure_told(const struct failure *failure);
/* What a wait returns: the failure that is kept, once, or OK. */
luhip_status failure_unclaimed_take(struct failure_store *store, const char *what, luhip_error **error);
void failure_unclaimed_forget(struct failure_store *store);
/* Whether it is the other, or a combination with it. */
bool failure_includes(const struct failure *failure, const struct failure *other);

/* Distinct failures, combinations taken apart. Zero-initialise; failure_set_free releases its holds. */
struct failure_set {
  struct failure **list;
  size_t count, capacity;
};

void failure_set_add(struct failure_set *set, struct failure *failure);
void failure_set_empty(struct failure_set *set);
static inline void failure_set_free(struct failure_set *set) {
  if (set->list) failure_set_empty(set);
}
/* One failure that stands for the set (count > 0), with a hold: itself, or a combination. */
struct failure *failure_of_set(struct failure_store *store, const struct failure_set *set);
/* Adds a skip record to every failure of the set; the text is copied. */
void failure_set_skip(const struct failure_set *set, const char *text, const struct skip *ids);

/* The error that a caller gets: `what` is its operation ("read of f32[4]"), ids the allocations it asked about, from
   which the chain of skipped launches is followed back; carriers[i] says how many allocations carry list[i]. */
luhip_error *failure_set_report(const struct failure_set *set, const char *what, const uint64_t *ids, size_t nids,
                                const size_t *carriers);

#endif
