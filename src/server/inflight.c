/*
 * inflight.c - the ring of operations in flight, and the replay that a late fault causes.
 *
 * Operations leave at the head, in order. One that takes long holds back those behind it, so when the ring is
 * full the passed ones behind the head are squeezed out before it grows: what has passed cannot have read from
 * what has not.
 *
 * Replay. When operation f turns out to have failed, the claims are brought to where they would be had that been
 * known at once: f's written bytes take the failure; then each later operation in order passes the failure on if it
 * read some of it, claims again for one of its own (it was skipped, refused, or failed later), or worked and releases
 * what it wrote. Claims outside what these operations wrote are not touched.
 */
#include "server/inflight.h"

#include "server/allocation.h"
#include "server/array.h"
#include "server/future.h"
#include "server/graph.h"
#include "server/program.h"

#include <stdlib.h>

struct op_use *inflight_use(struct luhip_device *device, const struct op *op, uint32_t index) {
  struct inflight *inflight = &device->inflight;
  return &inflight->uses[(op->first_use + index) & inflight->uses_mask];
}

static struct op *op_at(struct inflight *inflight, uint64_t index) {
  return &inflight->ops[index & inflight->mask];
}

/* ---- room ---------------------------------------------------------------------------------------------------- */

static bool grow_ops(struct inflight *inflight) {
  uint64_t capacity = inflight->ops ? (inflight->mask + 1) * 2 : 64;
  struct op *ops = malloc(capacity * sizeof *ops);
  if (!ops) return false;
  for (uint64_t i = inflight->head; i < inflight->tail; i++) ops[i & (capacity - 1)] = *op_at(inflight, i);
  free(inflight->ops);
  inflight->ops = ops;
  inflight->mask = capacity - 1;
  return true;
}

static bool grow_uses(struct inflight *inflight, uint32_t more) {
  uint64_t capacity = inflight->uses ? (inflight->uses_mask + 1) * 2 : 256;
  while (capacity < inflight->uses_tail - inflight->uses_head + more) capacity *= 2;
  struct op_use *uses = malloc(capacity * sizeof *uses);
  if (!uses) return false;
  for (uint64_t i = inflight->uses_head; i < inflight->uses_tail; i++)
    uses[i & (capacity - 1)] = inflight->uses[i & inflight->uses_mask];
  free(inflight->uses);
  inflight->uses = uses;
  inflight->uses_mask = capacity - 1;
  return true;
}

static bool full(const struct inflight *inflight, uint32_t nuses) {
  return !inflight->ops || inflight->tail - inflight->head > inflight->mask || !inflight->uses ||
         inflight->uses_tail - inflight->uses_head + nuses > inflight->uses_mask + 1;
}

static bool passed(const struct luhip_device *device, const struct op *op) {
  return device->slots[op->slot].passed >= op->position;
}

static inline void land_use(struct allocation *allocation) {
  if (allocation->flights > 1 && !allocation->program) {
    allocation->flights--;
  } else {
    allocation_land(allocation);
  }
}

static void land(struct luhip_device *device, struct op *op) {
  for (uint32_t i = 0; i < op->nuses; i++) land_use(inflight_use(device, op, i)->allocation);
  if (op->keep.kernel) program_land(op->keep.kernel->program);
  if (op->keep.future) future_release_locked(op->keep.future);
  if (op->keep.array) array_release_locked(op->keep.array);
  if (op->keep.graph) graph_land(op->keep.graph);
  failure_release(op->failure);
}

/* Squeezes out what has passed behind the head. */
static void squeeze(struct luhip_device *device) {
  struct inflight *inflight = &device->inflight;
  uint64_t to = inflight->head, uses_to = inflight->uses_head;
  for (uint64_t from = inflight->head; from < inflight->tail; from++) {
    struct op op = *op_at(inflight, from);
    if (passed(device, &op)) {
      land(device, &op);
      continue;
    }
    for (uint32_t i = 0; i < op.nuses; i++)
      inflight->uses[(uses_to + i) & inflight->uses_mask] = *inflight_use(device, &op, i);
    op.first_use = uses_to;
    uses_to += op.nuses;
    *op_at(inflight, to++) = op;
  }
  inflight->tail = to;
  inflight->uses_tail = uses_to;
}

void inflight_sweep(struct luhip_device *device) {
  if (device->inflight.ops) squeeze(device);
}

bool inflight_reserve(struct luhip_device *device, uint32_t nuses) {
  struct inflight *inflight = &device->inflight;
  if (!full(inflight, nuses)) return true;
  if (inflight->ops) {
    slots_poll(device);
    squeeze(device);
  }
  /* Squeezing is worth its time only when it made much room. */
  if (!inflight->ops || inflight->tail - inflight->head > inflight->mask / 2) {
    if (!grow_ops(inflight) && full(inflight, nuses)) return false;
  }
  if (!inflight->uses || inflight->uses_tail - inflight->uses_head + nuses > inflight->uses_mask / 2) {
    if (!grow_uses(inflight, nuses) && full(inflight, nuses)) return false;
  }
  return true;
}

/* ---- coming and going ---------------------------------------------------------------------------------------- */

struct op *inflight_push(struct luhip_device *device, const struct op_use *uses, uint32_t nuses,
                         const struct op_keep *keep) {
  struct inflight *inflight = &device->inflight;
  struct op *op = op_at(inflight, inflight->tail++);
  struct op_use *ring = inflight->uses;
  uint64_t at = inflight->uses_tail, mask = inflight->uses_mask;
  op->keep = *keep;
  op->first_use = at;
  op->nuses = nuses;
  inflight->uses_tail = at + nuses;
  for (uint32_t i = 0; i < nuses; i++) {
    ring[at++ & mask] = uses[i];
    if (uses[i].allocation->program) {
      allocation_fly(uses[i].allocation);
    } else {
      uses[i].allocation->flights++;
    }
  }
  if (keep->kernel) program_fly(keep->kernel->program);
  if (keep->future) luhip_future_retain(keep->future);
  if (keep->array) luhip_array_retain(keep->array);
  if (keep->graph) graph_fly(keep->graph);
  return op;
}

void inflight_retire(struct luhip_device *device) {
  struct inflight *inflight = &device->inflight;
  while (inflight->head < inflight->tail && passed(device, op_at(inflight, inflight->head))) {
    struct op op = *op_at(inflight, inflight->head++);
    inflight->uses_head = op.first_use + op.nuses;
    land(device, &op);
  }
}

void inflight_close(struct luhip_device *device) {
  struct inflight *inflight = &device->inflight;
  while (inflight->head < inflight->tail) {
    struct op op = *op_at(inflight, inflight->head++);
    land(device, &op);
  }
  free(inflight->ops);
  free(inflight->uses);
  *inflight = (struct inflight){0};
}

struct op *inflight_find(struct luhip_device *device, uint64_t sequence) {
  struct inflight *inflight = &device->inflight;
  uint64_t low = inflight->head, high = inflight->tail;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    struct op *op = op_at(inflight, middle);
    if (sequence >= op->sequence && sequence - op->sequence <= op->span) return op;
    if (op->sequence < sequence) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

/* ---- replay -------------------------------------------------------------------------------------------------- */

static bool reads_from(const struct op_use *use, const struct failure *failure) {
  const struct claims *claims = &use->allocation->claims;
  if (!(use->access & USE_READ) || !claims->count) return false;
  for (uint32_t i = claims_next(claims, &use->region, 0); i < claims->count;
       i = claims_next(claims, &use->region, i + 1)) {
    if (failure_includes(claims->list[i].failure, failure)) return true;
  }
  return false;
}

static bool op_reads_from(struct luhip_device *device, const struct op *op, const struct failure *failure) {
  for (uint32_t i = 0; i < op->nuses; i++) {
    if (reads_from(inflight_use(device, op, i), failure)) return true;
  }
  return false;
}

static void op_writes(struct luhip_device *device, const struct op *op) {
  for (uint32_t i = 0; i < op->nuses; i++) {
    struct op_use *use = inflight_use(device, op, i);
    if (use->access & USE_WRITE) claims_set_region(&use->allocation->claims, &use->region, op->failure);
  }
}

static bool writes_any(struct luhip_device *device, const struct op *op) {
  for (uint32_t i = 0; i < op->nuses; i++) {
    const struct op_use *use = inflight_use(device, op, i);
    if ((use->access & USE_WRITE) && !region_empty(&use->region)) return true;
  }
  return false;
}

static void op_set_failure(struct op *op, struct failure *failure) {
  if (failure) failure_hold(failure);
  failure_release(op->failure);
  op->failure = failure;
}

/* On top of what it carries already, as if all had been known when it was launched. */
static void op_add_failure(struct luhip_device *device, struct op *op, struct failure *failure) {
  struct failure_set set = {0};
  if (op->failure) failure_set_add(&set, op->failure);
  failure_set_add(&set, failure);
  struct failure *both = set.count ? failure_of_set(&device->failures, &set) : failure_hold(failure);
  op_set_failure(op, both);
  failure_release(both);
  failure_set_free(&set);
}

static void replay(struct luhip_device *device, struct op *op, struct failure *failure) {
  if (op_reads_from(device, op, failure)) {
    op_add_failure(device, op, failure);
    profiler_failed(&device->profiler, device, op->sequence, failure);
    if (op->keep.future) future_taint(op->keep.future, failure);
  }
  op_writes(device, op);
}

/* The dead carry nothing: their bytes were claimed only to trace the failure through them. */
static void bury(struct luhip_device *device, const struct op *op) {
  for (uint32_t i = 0; i < op->nuses; i++) {
    struct allocation *allocation = inflight_use(device, op, i)->allocation;
    if (!allocation->refs) claims_free(&allocation->claims);
  }
}

void inflight_fail(struct luhip_device *device, struct op *first, struct failure *failure) {
  struct inflight *inflight = &device->inflight;
  uint64_t sequence = first->sequence;
  failure_hold(failure);
  /* One that read stale bytes should not have run: what it did then is told by whoever carries those. */
  if (!first->failure && !writes_any(device, first)) failure_unclaimed(failure);
  op_set_failure(first, failure);
  profiler_failed(&device->profiler, device, sequence, failure);
  for (uint64_t i = inflight->head; i < inflight->tail; i++) {
    struct op *op = op_at(inflight, i);
    if (op->sequence == sequence) op_writes(device, op);
    if (op->sequence > sequence) replay(device, op, failure);
  }
  for (uint64_t i = inflight->head; i < inflight->tail; i++) {
    struct op *op = op_at(inflight, i);
    if (op->sequence >= sequence) bury(device, op);
  }
  failure_release(failure);
}

void inflight_settle(struct luhip_device *device, struct failure *provisional, struct failure *outcome) {
  struct inflight *inflight = &device->inflight;
  for (uint64_t i = inflight->head; i < inflight->tail; i++) {
    struct op *op = op_at(inflight, i);
    if (op->failure == provisional) op_set_failure(op, outcome);
  }
}
