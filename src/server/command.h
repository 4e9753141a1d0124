/*
 * command.h - the scope of one operation on buffers (D8).
 *
 * Every write, fill, copy, read and launch is a command: what it reads and writes, on which slot. It goes
 *
 *   command_tainted   claims on what it reads: not carried out when there are any
 *   command_prepare   memory for everything, order behind earlier users, room to note it
 *   (the caller enqueues)
 *   command_done      noted in flight, marked in the memory it used, claims on what it wrote are released
 *   command_failed    instead of done, wherever it stops: what it would have written carries the failure
 *
 * The lock is held from begin to end, so nobody sees a scope half way; a scope that has to drop the lock
 * (a chunked write) claims its write set provisionally before it does.
 */
#ifndef LUHIP_SERVER_COMMAND_H
#define LUHIP_SERVER_COMMAND_H

#include "server/allocation.h"

struct command {
  luhip_device *device;
  struct op_use *uses; /* the caller's array */
  uint32_t nuses;
  uint32_t slot;
  bool held;           /* the allocations are held by this, since the lock was dropped */
  uint32_t span;       /* sequence numbers beyond the first one */
  struct op_keep keep; /* retained by what is noted, not by this */
};

static inline void command_use(struct command *command, struct allocation *allocation, const struct region *region,
                               unsigned access, unsigned param) {
  command->uses[command->nuses++] =
      (struct op_use){.allocation = allocation, .region = *region, .param = (uint16_t)param, .access = (uint8_t)access};
}

enum command_state {
  COMMAND_READY,
  COMMAND_AGAIN,   /* the lock was dropped to make memory: look at the claims again */
  COMMAND_FAILED,  /* *failure, held */
  COMMAND_RETURNED /* the same, but it is for the caller alone, who will repeat the operation or gave it up: nothing is
                      claimed */
};

bool command_find_taints(const struct command *command, struct failure_set *set);
/* Adds what the bytes it reads carry to the set; false when there is nothing, which is all the device has as a rule. */
static inline bool command_tainted(const struct command *command, struct failure_set *set) {
  return command->device->failures.count && command_find_taints(command, set);
}
/* `last`: memory was released before, do not answer COMMAND_AGAIN. */
enum command_state command_prepare(struct command *command, bool last, struct failure **failure);
/* The latter part of it, for a command whose memory is there: never AGAIN or RETURNED. */
enum command_state command_order(struct command *command, struct failure **failure);
/* It was enqueued under this sequence number. `carried`: what its writes carry all the same, because the scope goes
   on (a provisional claim) or because the driver refused a later part; NULL releases them. */
void command_done(struct command *command, uint64_t sequence, struct failure *carried);
/* It has failed before it came to what it reads: what becomes known of that later makes no difference. */
void command_reads_nothing(struct command *command);
/* Nothing of it was enqueued. */
void command_failed(struct command *command, struct failure *failure);
/* The error of a command that was returned; releases the failure. */
luhip_status command_returned(struct failure *failure, luhip_error **error);
/* All of the above for an operation that only writes and copies: prepares, calls `enqueue`, settles. The error of what
   went wrong is returned as well as claimed. */
luhip_status command_run(struct command *command, hip_error_t (*enqueue)(struct command *command, void *user),
                         void *user, const char *what, struct failure *provisional, luhip_error **error);
/* The allocations stay although the lock is dropped and their buffers are freed meanwhile. */
void command_hold(struct command *command);
void command_unhold(struct command *command);
/* Ends every command, whatever became of it. */
static inline void command_close(struct command *command) {
  if (command->held) command_unhold(command);
}
/* Claims what it writes, for a scope that drops the lock; ended by done or failed. */
void command_claim(struct command *command, struct failure *failure);
luhip_status slot_make_room(luhip_device *device, uint32_t slot, luhip_error **error);
/* Before an entry point enqueues on a slot: waits while the slot has too much in flight. */
static inline luhip_status slot_throttle(luhip_device *device, uint32_t index, luhip_error **error) {
  const struct slot *slot = &device->slots[index];
  if (slot->tail - slot->passed < BACKLOG && !device->profiler.trace) return LUHIP_OK;
  return slot_make_room(device, index, error);
}

#endif
