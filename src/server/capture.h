/*
 * capture.h - recording what a stream would do.
 *
 * A capture belongs to a slot. While it is prepared, the slot's memory manager keeps what operations take and what is
 * freed again, so that the recording finds as many slices as the warm-up needed (F2, F3; memory/manager.h).
 * While it records, each operation becomes a node of the graph to be; it runs nothing, claims nothing and leaves no
 * mark (F8).
 */
#ifndef LUHIP_SERVER_CAPTURE_H
#define LUHIP_SERVER_CAPTURE_H

#include "kernel/kernel.h"
#include "server/command.h"
#include "server/metadata.h"
#include "server/transfer.h"

struct capture {
  luhip_capture_state state;
  uint32_t slot;
  uint64_t since;   /* when it was prepared, as an id */
  uintptr_t thread; /* that began to record */
  struct metadata_pins pins;
  luhip_graph *graph; /* while recording */
  luhip_error *doom;  /* why it cannot end well; NULL: it can */
};

/* The capture of a slot that records, else NULL. */
static inline struct capture *capture_recording(const luhip_device *device, uint32_t slot) {
  struct capture *capture = device->captures[slot];
  return capture && capture->state == LUHIP_CAPTURE_RECORDING ? capture : NULL;
}

/* E_CAPTURE for a call that cannot be recorded: on a slot that records; on any; by the thread that began one (F4). */
luhip_status capture_refuse(const luhip_device *device, uint32_t slot, const char *call, luhip_error **error);
luhip_status capture_refuse_all(const luhip_device *device, const char *call, luhip_error **error);
/* While any capture is prepared or records. */
luhip_status capture_refuse_open(const luhip_device *device, const char *call, luhip_error **error);
luhip_status capture_refuse_thread(const luhip_device *device, const char *call, luhip_error **error);

/* The slot's stream goes: so does its capture. */
void capture_end_with(luhip_device *device, uint32_t slot);
void captures_close(luhip_device *device);

/* Memory for an allocation that what is recorded will use, none of it new (F4): E_CAPTURE when there is none. */
luhip_status capture_memory(struct capture *capture, struct allocation *allocation, const char *what,
                            luhip_error **error);

/* Recording one operation; the command holds its uses. */
struct recorded_launch {
  luhip_kernel *kernel;
  uint32_t grid[3], block[3], shared;
  unsigned char *packed;              /* addresses are filled in here */
  const struct kernel_use *arguments; /* the first uses of the command */
  uint32_t narguments;
};
luhip_status capture_launch(struct capture *capture, struct command *command, const struct recorded_launch *launch,
                            luhip_error **error);
/* A launch that cannot be a node, as its kernel did not compile: dooms the recording, whose end claims what it would
   have written. */
void capture_uncompiled(struct capture *capture, const struct command *command, luhip_error *reason);
luhip_status capture_write(struct capture *capture, struct command *command, const void *data, luhip_error **error);
/* Takes over the filling's seed, also when it fails. */
luhip_status capture_fill(struct capture *capture, struct command *command, const struct filling *filling,
                          luhip_error **error);
luhip_status capture_copy(struct capture *capture, struct command *command, const struct region *to,
                          const struct region *from, luhip_error **error);

#endif
