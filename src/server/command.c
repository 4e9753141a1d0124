/*
 * command.c - claims, memory, order, and settling: the same for every operation.
 */
#include "server/command.h"

#include "server/future.h"
#include "server/memory.h"

bool command_find_taints(const struct command *command, struct failure_set *set) {
  for (uint32_t i = 0; i < command->nuses; i++) {
    const struct op_use *use = &command->uses[i];
    if (!use->allocation->claims.count || !(use->access & USE_READ)) continue;
    allocation_failures(use->allocation, &use->region, set);
  }
  return set->count > 0;
}

/* ---- before -------------------------------------------------------------------------------------------------- */

/* An allocation that cannot have memory carries that, whole (A4). */
static struct failure *claim_no_memory(struct allocation *allocation, luhip_error *error) {
  struct failure *failure = failure_new(&allocation->device->failures, error);
  claims_set(&allocation->claims, 0, allocation->bytes, failure);
  return failure;
}

static enum command_state materialise(struct command *command, struct allocation *allocation, bool last,
                                      struct failure **failure) {
  luhip_error *error = NULL;
  luhip_status status;
  /* While something is recorded nothing is given back to the driver, so there is nothing to be had by it. */
  switch (allocation_materialise(allocation, command->slot, last || command->device->recordings, &error)) {
  case MANAGER_OK:
    return COMMAND_READY;
  case MANAGER_RELEASE:
    command_hold(command);
    status = memory_release(command->device, &error);
    if (!status) return COMMAND_AGAIN;
    *failure = failure_new(&command->device->failures, error);
    return status == LUHIP_E_FREED ? COMMAND_FAILED : COMMAND_RETURNED;
  default:
    if (luhip_error_kind(error) == LUHIP_E_OOM && host_repeats()) {
      *failure = failure_new(&command->device->failures, error);
      return COMMAND_RETURNED;
    }
    *failure = claim_no_memory(allocation, error);
    return COMMAND_FAILED;
  }
}

static struct failure *fail_with(struct command *command, luhip_error *error) {
  return failure_new(&command->device->failures, error);
}

enum command_state command_prepare(struct command *command, bool last, struct failure **failure) {
  for (uint32_t i = 0; i < command->nuses; i++) {
    struct allocation *allocation = command->uses[i].allocation;
    if (allocation->address || region_empty(&command->uses[i].region)) continue;
    enum command_state state = materialise(command, allocation, last, failure);
    if (state != COMMAND_READY) return state;
  }
  return command_order(command, failure);
}

enum command_state command_order(struct command *command, struct failure **failure) {
  luhip_device *device = command->device;
  if (!inflight_reserve(device, command->nuses)) {
    *failure = fail_with(command, error_new(LUHIP_E_MEMORY, "the host has no memory to note an operation"));
    return COMMAND_FAILED;
  }
  if (device->slots[command->slot].fence) slot_mark_fence(device, command->slot);
  for (uint32_t i = 0; i < command->nuses; i++) {
    const struct op_use *use = &command->uses[i];
    hip_error_t rc = order_after(device, command->slot, &use->allocation->marks, use->access & USE_WRITE);
    if (rc == hip_Success) continue;
    *failure = fail_with(command, driver_error(rc, LUHIP_E_DRIVER, "ordering behind another stream"));
    return COMMAND_FAILED;
  }
  return COMMAND_READY;
}

/* ---- after --------------------------------------------------------------------------------------------------- */

/* A fault may have been heard of between the look at the claims and here, when room was made or the lock was dropped.
   What was enqueued has then read stale bytes, which is as if the fault were heard of later (E6). Held, or NULL. */
static struct failure *heard_meanwhile(struct command *command) {
  struct failure_set set = {0};
  struct failure *failure = NULL;
  if (command_tainted(command, &set)) {
    failure = failure_of_set(&command->device->failures, &set);
    if (command->keep.future) future_taint(command->keep.future, failure);
  }
  failure_set_free(&set);
  return failure;
}

/* Reads first: whoever reads and writes the same memory has written it last. */
static void mark_uses(struct command *command, uint64_t position, struct failure *carried) {
  bool writes = false;
  for (uint32_t i = 0; i < command->nuses; i++) {
    struct op_use *use = &command->uses[i];
    struct allocation *allocation = use->allocation;
    use->base = (uintptr_t)allocation->address;
    if (use->access & USE_WRITE) {
      writes = true;
    } else {
      marks_read(&allocation->marks, command->slot, position);
    }
  }
  for (uint32_t i = 0; writes && i < command->nuses; i++) {
    const struct op_use *use = &command->uses[i];
    struct allocation *allocation = use->allocation;
    if (!(use->access & USE_WRITE)) continue;
    marks_write(&allocation->marks, command->slot, position);
    if (carried || allocation->claims.count) claims_set_region(&allocation->claims, &use->region, carried);
  }
}

void command_done(struct command *command, uint64_t sequence, struct failure *carried) {
  luhip_device *device = command->device;
  uint64_t position = ++device->slots[command->slot].tail;
  struct failure *stale = device->failures.count ? heard_meanwhile(command) : NULL;
  if (!carried) carried = stale;
  if (stale) profiler_failed(&device->profiler, device, sequence, stale);
  mark_uses(command, position, carried);
  struct op *op = inflight_push(device, command->uses, command->nuses, &command->keep);
  op->sequence = sequence;
  op->span = command->span;
  op->position = position;
  op->slot = command->slot;
  op->failure = carried ? failure_hold(carried) : NULL;
  failure_release(stale);
  slot_tick(device, command->slot, position);
}

void command_claim(struct command *command, struct failure *failure) {
  for (uint32_t i = 0; i < command->nuses; i++) {
    const struct op_use *use = &command->uses[i];
    if (use->access & USE_WRITE) claims_set_region(&use->allocation->claims, &use->region, failure);
  }
}

void command_reads_nothing(struct command *command) {
  for (uint32_t i = 0; i < command->nuses; i++) command->uses[i].access &= (uint8_t)~USE_READ;
}

void command_failed(struct command *command, struct failure *failure) {
  luhip_device *device = command->device;
  struct inflight *inflight = &device->inflight;
  /* A fault of something earlier must not take these bytes from this failure when it is heard of. Making room can be
     when one is heard of, so it comes before the claim. */
  bool noted = inflight->head < inflight->tail && inflight_reserve(device, command->nuses);
  uint64_t sequence = next_sequence(device);
  command_claim(command, failure);
  profiler_failed(&device->profiler, device, sequence, failure);
  if (!noted) return;
  static const struct op_keep nothing;
  struct op *op = inflight_push(device, command->uses, command->nuses, &nothing);
  op->sequence = sequence;
  op->span = 0;
  op->position = device->slots[command->slot].tail;
  op->slot = command->slot;
  op->failure = failure_hold(failure);
}

static hip_error_t run_enqueue(struct command *command, hip_error_t (*enqueue)(struct command *command, void *user),
                               void *user, const char *what) {
  luhip_device *device = command->device;
  struct record *record = trace_before(&device->profiler, device, command->slot);
  hip_error_t rc = enqueue(command, user);
  if (!record) return rc;
  const char *kind = command->keep.future ? "read" : what;
  struct traced traced = {.kind = kind, .name = kind, .bytes = region_bytes(&command->uses[command->nuses - 1].region)};
  trace_after(device, record, rc == hip_Success, &traced);
  return rc;
}

luhip_status command_run(struct command *command, hip_error_t (*enqueue)(struct command *command, void *user),
                         void *user, const char *what, struct failure *provisional, luhip_error **error) {
  struct failure *failure = NULL;
  enum command_state state = command_prepare(command, false, &failure);
  if (state == COMMAND_AGAIN) state = command_prepare(command, true, &failure);
  if (state == COMMAND_READY) {
    uint64_t sequence = next_sequence(command->device);
    hip_error_t rc = run_enqueue(command, enqueue, user, what);
    if (rc != hip_Success) {
      device_poison(command->device, rc);
      failure = fail_with(command, driver_error(rc, LUHIP_E_DRIVER, "%s", what));
      profiler_failed(&command->device->profiler, command->device, sequence, failure);
    }
    command_done(command, sequence, failure ? failure : provisional);
  } else if (state == COMMAND_FAILED) {
    command_failed(command, failure);
  }
  return failure ? command_returned(failure, error) : LUHIP_OK;
}

luhip_status command_returned(struct failure *failure, luhip_error **error) {
  luhip_status status = error_give(error, luhip_error_retain(failure->error));
  failure_release(failure);
  return status;
}

void command_hold(struct command *command) {
  if (command->held) return;
  command->held = true;
  for (uint32_t i = 0; i < command->nuses; i++) allocation_hold(command->uses[i].allocation);
}

void command_unhold(struct command *command) {
  command->held = false;
  for (uint32_t i = 0; i < command->nuses; i++) allocation_unhold(command->uses[i].allocation);
}

luhip_status slot_make_room(luhip_device *device, uint32_t index, luhip_error **error) {
  struct slot *slot = &device->slots[index];
  if (device->profiler.trace) {
    anchor_refresh(device); /* places of long traces stay exact */
    if (device_closing(device)) return error_set(error, LUHIP_E_FREED, "device %s was closed", device->info.id);
  }
  if (slot->tail - slot->passed < BACKLOG) return LUHIP_OK;
  slot_poll(device, index);
  if (slot->tail - slot->passed < BACKLOG) return LUHIP_OK;
  struct waiting waiting = waiting_start(NULL);
  return wait_position(device, index, slot->tail - BACKLOG / 2, &waiting, error);
}
