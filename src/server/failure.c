/*
 * failure.c - the store of failures, and what a caller is told of them.
 */
#include "server/failure.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the store ----------------------------------------------------------------------------------------------- */

void failure_store_open(struct failure_store *store) {
  *store = (struct failure_store){0};
  store->spare.store = store;
  store->spare.error = error_new(LUHIP_E_MEMORY, "the host had no memory to note a failure");
  store->spare.held = 1;
}

static struct failure *store_add(struct failure_store *store) {
  struct failure *failure = calloc(1, sizeof *failure);
  if (!failure) return NULL;
  failure->store = store;
  failure->held = 1;
  failure->next = store->first;
  if (failure->next) failure->next->previous = failure;
  store->first = failure;
  store->count++;
  return failure;
}

static void store_remove(struct failure *failure) {
  if (failure->previous) {
    failure->previous->next = failure->next;
  } else {
    failure->store->first = failure->next;
  }
  if (failure->next) failure->next->previous = failure->previous;
  failure->store->count--;
}

struct failure *failure_new(struct failure_store *store, luhip_error *error) {
  struct failure *failure = store_add(store);
  if (!failure) {
    luhip_error_release(error);
    return failure_hold(&store->spare);
  }
  failure->error = error;
  return failure;
}

static void failure_destroy(struct failure *failure) {
  store_remove(failure);
  for (size_t i = 0; i < failure->nparts; i++) failure_release(failure->parts[i]);
  free(failure->parts);
  for (size_t i = 0; i < SKIP_RECORDS; i++) free(failure->skips[i].text);
  luhip_error_release(failure->error);
  free(failure);
}

void failure_carry(struct failure *failure) {
  failure->carried++;
}

void failure_drop(struct failure *failure) {
  if (--failure->carried == 0 && failure->held == 0) failure_destroy(failure);
}

struct failure *failure_hold(struct failure *failure) {
  failure->held++;
  return failure;
}

void failure_let_go(struct failure *failure) {
  if (--failure->held == 0 && failure->carried == 0) failure_destroy(failure);
}

bool failure_includes(const struct failure *failure, const struct failure *other) {
  if (failure == other) return true;
  for (size_t i = 0; i < failure->nparts; i++) {
    if (failure->parts[i] == other) return true;
  }
  return false;
}

/* ---- unclaimed ----------------------------------------------------------------------------------------------- */

void failure_unclaimed(struct failure *failure) {
  struct failure_store *store = failure->store;
  if (!store->unclaimed) store->unclaimed = failure_hold(failure);
  store->nunclaimed++;
}

void failure_unclaimed_forget(struct failure_store *store) {
  failure_release(store->unclaimed);
  store->unclaimed = NULL;
  store->nunclaimed = 0;
}

void failure_told(const struct failure *failure) {
  if (failure->store->unclaimed == failure) failure_unclaimed_forget(failure->store);
}

luhip_status failure_unclaimed_take(struct failure_store *store, const char *what, luhip_error **error) {
  if (!store->unclaimed) return LUHIP_OK;
  char counted[96];
  snprintf(counted, sizeof counted, "%s: %" PRIu64 " failures, the first is", what, store->nunclaimed);
  struct failure_set set = {0};
  failure_set_add(&set, store->unclaimed);
  luhip_error *report = failure_set_report(&set, store->nunclaimed > 1 ? counted : what, NULL, 0, NULL);
  failure_set_free(&set);
  failure_unclaimed_forget(store);
  return error_give(error, report);
}

/* ---- sets ---------------------------------------------------------------------------------------------------- */

/* Without capacity the list is the `self` of the one failure that is in it. */
static bool set_grow(struct failure_set *set) {
  size_t capacity = set->capacity ? set->capacity * 2 : 8;
  struct failure **list = realloc(set->capacity ? set->list : NULL, capacity * sizeof *list);
  if (!list) return false;
  if (!set->capacity && set->count) list[0] = set->list[0];
  set->list = list;
  set->capacity = capacity;
  return true;
}

static void set_add_one(struct failure_set *set, struct failure *failure) {
  for (size_t i = 0; i < set->count; i++) {
    if (set->list[i] == failure) return;
  }
  if (set->count < set->capacity || set_grow(set)) {
    set->list[set->count++] = failure_hold(failure);
  } else if (!set->count) { /* never none: what reads the set would take stale memory for good */
    failure->self[0] = failure_hold(failure);
    set->list = failure->self;
    set->count = 1;
  } /* else one failure less in the report */
}

void failure_set_add(struct failure_set *set, struct failure *failure) {
  if (!failure->nparts) set_add_one(set, failure);
  for (size_t i = 0; i < failure->nparts; i++) set_add_one(set, failure->parts[i]);
}

void failure_set_empty(struct failure_set *set) {
  struct failure **owned = set->capacity ? set->list : NULL;
  for (size_t i = 0; i < set->count; i++) failure_release(set->list[i]);
  free(owned);
  *set = (struct failure_set){0};
}

static bool same_parts(const struct failure *failure, const struct failure_set *set) {
  if (failure->nparts != set->count) return false;
  for (size_t i = 0; i < set->count; i++) {
    bool found = false;
    for (size_t j = 0; j < failure->nparts && !found; j++) found = failure->parts[j] == set->list[i];
    if (!found) return false;
  }
  return true;
}

struct failure *failure_of_set(struct failure_store *store, const struct failure_set *set) {
  if (set->count == 1) return failure_hold(set->list[0]);
  for (struct failure *failure = store->first; failure; failure = failure->next) {
    if (same_parts(failure, set)) return failure_hold(failure);
  }
  struct failure **parts = malloc(set->count * sizeof(struct failure *));
  struct failure *failure = parts ? store_add(store) : NULL;
  if (!failure) {
    free(parts);
    return failure_hold(set->list[0]);
  }
  for (size_t i = 0; i < set->count; i++) parts[i] = failure_hold(set->list[i]);
  failure->parts = parts;
  failure->nparts = set->count;
  return failure;
}

/* ---- skip records -------------------------------------------------------------------------------------------- */

static void add_skip(struct failure *failure, const char *text, const struct skip *ids) {
  struct skip *skip = &failure->skips[failure->skip_total++ % SKIP_RECORDS];
  free(skip->text);
  *skip = *ids;
  skip->text = strdup(text);
}

void failure_set_skip(const struct failure_set *set, const char *text, const struct skip *ids) {
  for (size_t i = 0; i < set->count; i++) add_skip(set->list[i], text, ids);
}

enum { CHAIN_IDS = 64 };

struct chain {
  uint64_t ids[CHAIN_IDS]; /* allocations whose history is followed */
  size_t nids;
};

static bool chain_has(const struct chain *chain, uint64_t id) {
  for (size_t i = 0; i < chain->nids; i++) {
    if (chain->ids[i] == id) return true;
  }
  return false;
}

static void chain_add(struct chain *chain, uint64_t id) {
  if (chain->nids < CHAIN_IDS && !chain_has(chain, id)) chain->ids[chain->nids++] = id;
}

/* Whether the record explains one of the chain's allocations; then what it needed is followed too. */
static bool chain_follow(struct chain *chain, const struct skip *skip) {
  bool explains = false;
  for (unsigned i = 0; i < skip->nwritten && !explains; i++) explains = chain_has(chain, skip->written[i]);
  for (unsigned i = 0; explains && i < skip->nneeded; i++) chain_add(chain, skip->needed[i]);
  return explains;
}

/* The launches between these buffers and the root, oldest first. */
static void add_chain(luhip_error *error, const struct failure *failure, const uint64_t *ids, size_t nids) {
  struct chain chain = {.nids = 0};
  for (size_t i = 0; i < nids; i++) chain_add(&chain, ids[i]);
  const struct skip *found[SKIP_RECORDS];
  size_t nfound = 0;
  uint64_t kept = failure->skip_total < SKIP_RECORDS ? failure->skip_total : SKIP_RECORDS;
  for (uint64_t i = 0; i < kept; i++) {
    const struct skip *skip = &failure->skips[(failure->skip_total - 1 - i) % SKIP_RECORDS];
    if (skip->text && chain_follow(&chain, skip)) found[nfound++] = skip;
  }
  while (nfound > 0) error_add_skip(error, found[--nfound]->text);
  error_set_skip_total(error, failure->skip_total);
}

/* ---- reports ------------------------------------------------------------------------------------------------- */

luhip_error *failure_set_report(const struct failure_set *set, const char *what, const uint64_t *ids, size_t nids,
                                const size_t *carriers) {
  if (!set->count) return error_new(LUHIP_E_MEMORY, "%s: failed, and the host has no memory to say why", what);
  luhip_error *root = set->list[0]->error, *report;
  if (set->count == 1) {
    report = error_wrap(root, luhip_error_kind(root), "%s: %s", what, luhip_error_message(root));
  } else {
    report = error_wrap(root, luhip_error_kind(root), "%s: %zu failures, the first is: %s", what, set->count,
                        luhip_error_message(root));
  }
  if (report == root) return report; /* out of host memory: the root itself is what can be told */
  for (size_t i = 0; i < set->count; i++) {
    struct failure *failure = set->list[i];
    luhip_error *entry =
        error_wrap(failure->error, luhip_error_kind(failure->error), "%s", luhip_error_message(failure->error));
    if (entry != failure->error) {
      error_set_carriers(entry, carriers ? carriers[i] : 0);
      add_chain(entry, failure, ids, nids);
    }
    error_add_failure(report, entry);
    luhip_error_release(entry);
  }
  if (set->count == 1) add_chain(report, set->list[0], ids, nids);
  return report;
}
