/*
 * capture.c - the steps of a capture, and what each operation becomes while its stream records.
 *
 * Steps: none, prepared, recording, none (F1). All state is here and in the graph that is being made; the driver is not
 * told of a capture before it has ended well (see graph.h), so cancelling is forgetting.
 *
 * What cannot be recorded is refused before anything was done, and costs the recording nothing (F4). What goes wrong
 * inside - a stale input, no host memory for a node - dooms the recording: it goes on, and its end refuses (F5).
 */
#include "server/capture.h"

#include "base/log.h"
#include "memory/layout.h"
#include "server/array.h"
#include "server/buffer.h"
#include "server/graph.h"
#include "server/memory.h"
#include "server/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- refusing ------------------------------------------------------------------------------------------------ */

static luhip_status refuse(const char *call, luhip_error **error) {
  return error_set(error, LUHIP_E_CAPTURE, "%s: not possible while the stream records; the recording goes on", call);
}

luhip_status capture_refuse(const luhip_device *device, uint32_t slot, const char *call, luhip_error **error) {
  return capture_recording(device, slot) ? refuse(call, error) : LUHIP_OK;
}

luhip_status capture_refuse_all(const luhip_device *device, const char *call, luhip_error **error) {
  if (!device->recordings) return LUHIP_OK;
  return error_set(error, LUHIP_E_CAPTURE,
                   "%s: not possible while a stream of device %s records; the recording goes on", call,
                   device->info.id);
}

luhip_status capture_refuse_open(const luhip_device *device, const char *call, luhip_error **error) {
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    if (!device->captures[slot]) continue;
    return error_set(error, LUHIP_E_CAPTURE, "%s: not possible while a capture is open on device %s; it goes on", call,
                     device->info.id);
  }
  return LUHIP_OK;
}

static uintptr_t this_thread(void) {
  return (uintptr_t)pthread_self();
}

luhip_status capture_refuse_thread(const luhip_device *device, const char *call, luhip_error **error) {
  for (uint32_t slot = 0; device->recordings && slot < SLOTS; slot++) {
    const struct capture *capture = capture_recording(device, slot);
    if (capture && capture->thread == this_thread()) return capture_refuse_all(device, call, error);
  }
  return LUHIP_OK;
}

/* ---- memory of the warm-up ----------------------------------------------------------------------------------- */

luhip_status capture_memory(struct capture *capture, struct allocation *allocation, const char *what,
                            luhip_error **error) {
  if (allocation_take_existing(allocation, capture->slot)) return LUHIP_OK;
  char made[128];
  layout_describe(&allocation->made, made, sizeof made);
  return error_set(error, LUHIP_E_CAPTURE,
                   "%s: new device memory for a buffer of %s (%zu bytes) would be needed, which a recording cannot "
                   "take; write the buffer before, or run the same once as a warm-up; the recording goes on",
                   what, made, allocation->bytes);
}

/* Memory for everything the operation uses. */
static luhip_status find_memory(struct capture *capture, const struct command *command, const char *what,
                                luhip_error **error) {
  luhip_status status = LUHIP_OK;
  for (uint32_t i = 0; i < command->nuses && !status; i++) {
    struct allocation *allocation = command->uses[i].allocation;
    if (allocation->address || region_empty(&command->uses[i].region)) continue;
    status = capture_memory(capture, allocation, what, error);
  }
  return status;
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

/* Enters the device and finds the slot. */
static luhip_status enter(luhip_device *device, luhip_stream *stream, uint32_t *slot, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = slot_of(device, stream, slot, error);
  if (status) device_leave(device);
  return status;
}

static const char *state_text(const struct capture *capture) {
  if (!capture) return "is not being captured";
  return capture->state == LUHIP_CAPTURE_PREPARED ? "is prepared for a capture" : "records already";
}

static luhip_status wrong_step(const struct capture *capture, const char *call, const char *wanted,
                               luhip_error **error) {
  return error_set(error, LUHIP_E_CAPTURE, "%s: the stream %s; %s", call, state_text(capture), wanted);
}

static luhip_status prepare(luhip_device *device, uint32_t slot, luhip_error **error) {
  struct capture *capture = device->captures[slot];
  if (capture) return wrong_step(capture, "prepare_capture", "end or cancel that capture first", error);
  luhip_status status = device_sound(device, error);
  if (status) return status;
  struct manager *memory = memory_of(device, slot);
  capture = memory ? calloc(1, sizeof *capture) : NULL;
  if (!capture) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a capture");
  *capture = (struct capture){.state = LUHIP_CAPTURE_PREPARED, .slot = slot, .since = next_id()};
  device->captures[slot] = capture;
  manager_prepare(memory, capture->since);
  return LUHIP_OK;
}

static luhip_status begin(luhip_device *device, uint32_t slot, luhip_error **error) {
  struct capture *capture = device->captures[slot];
  if (!capture || capture->state != LUHIP_CAPTURE_PREPARED)
    return wrong_step(capture, "begin_capture", "prepare_capture comes first", error);
  luhip_status status = device_sound(device, error);
  if (status) return status;
  luhip_graph *graph = graph_new(device);
  if (!graph) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a graph");
  slots_poll(device);
  manager_record(memory_of(device, slot));
  capture->state = LUHIP_CAPTURE_RECORDING;
  capture->thread = this_thread();
  capture->graph = graph;
  graph->slot = slot;
  device->recordings++;
  return LUHIP_OK;
}

/* The capture is over; its graph, if it was not taken, goes with it. */
static void finish(luhip_device *device, struct capture *capture) {
  device->captures[capture->slot] = NULL;
  if (capture->state == LUHIP_CAPTURE_RECORDING) device->recordings--;
  manager_finish(memory_of(device, capture->slot));
  if (capture->graph) graph_drop(capture->graph);
  metadata_release_pins(device, &capture->pins);
  luhip_error_release(capture->doom);
  free(capture);
}

/* F7: nothing of it will ever be written. */
static luhip_status fail_end(luhip_device *device, struct capture *capture, luhip_error **error) {
  luhip_error *why =
      error_wrap(capture->doom, LUHIP_E_CAPTURE, "end_capture: there is no graph, since of what was recorded %s",
                 luhip_error_message(capture->doom));
  struct failure *failure = failure_new(&device->failures, luhip_error_retain(why));
  graph_claim(capture->graph, failure);
  failure_release(failure);
  return error_give(error, why);
}

static luhip_status end(luhip_device *device, uint32_t slot, luhip_graph **graph, luhip_error **error) {
  struct capture *capture = device->captures[slot];
  if (!capture || capture->state != LUHIP_CAPTURE_RECORDING)
    return wrong_step(capture, "end_capture", "begin_capture comes first", error);
  if (!capture->doom && !graph_seal(capture->graph))
    capture->doom = error_new(LUHIP_E_MEMORY, "the host has no memory for a graph");
  luhip_status status = LUHIP_OK;
  if (capture->doom) {
    status = fail_end(device, capture, error);
  } else {
    *graph = capture->graph;
    capture->graph = NULL;
  }
  finish(device, capture);
  return status;
}

luhip_status luhip_stream_prepare_capture(luhip_device *device, luhip_stream *stream, luhip_error **error) {
  uint32_t slot;
  luhip_status status = enter(device, stream, &slot, error);
  if (status) return status;
  status = prepare(device, slot, error);
  if (!status) LOG(LOG_STREAMS, LOG_BASIC, "%s: capture on stream slot %u prepared", device->info.id, slot);
  device_leave(device);
  return status;
}

luhip_status luhip_stream_begin_capture(luhip_device *device, luhip_stream *stream, luhip_error **error) {
  uint32_t slot;
  luhip_status status = enter(device, stream, &slot, error);
  if (status) return status;
  status = begin(device, slot, error);
  if (!status) LOG(LOG_STREAMS, LOG_BASIC, "%s: stream slot %u records", device->info.id, slot);
  device_leave(device);
  return status;
}

luhip_status luhip_stream_end_capture(luhip_device *device, luhip_stream *stream, luhip_graph **graph,
                                      luhip_error **error) {
  uint32_t slot;
  luhip_status status = enter(device, stream, &slot, error);
  if (status) return status;
  status = end(device, slot, graph, error);
  LOG(LOG_STREAMS, LOG_BASIC, "%s: recording of stream slot %u %s", device->info.id, slot, status ? "failed" : "ended");
  device_leave(device);
  return status;
}

luhip_status luhip_stream_cancel_capture(luhip_device *device, luhip_stream *stream, luhip_error **error) {
  uint32_t slot;
  luhip_status status = device_enter_host(device, error);
  if (status) return status;
  status = slot_of(device, stream, &slot, error);
  if (!status) capture_end_with(device, slot);
  device_leave(device);
  return status;
}

luhip_status luhip_stream_capture_state(luhip_device *device, luhip_stream *stream, luhip_capture_state *state,
                                        luhip_error **error) {
  uint32_t slot;
  luhip_status status = enter(device, stream, &slot, error);
  if (status) return status;
  *state = device->captures[slot] ? device->captures[slot]->state : LUHIP_CAPTURE_NONE;
  device_leave(device);
  return LUHIP_OK;
}

bool luhip_device_is_recording(luhip_device *device) {
  if (device_enter_host(device, NULL)) return false;
  bool recording = device->recordings;
  device_leave(device);
  return recording;
}

void capture_end_with(luhip_device *device, uint32_t slot) {
  if (device->captures[slot]) finish(device, device->captures[slot]);
}

void captures_close(luhip_device *device) {
  for (uint32_t slot = 0; slot < SLOTS; slot++) capture_end_with(device, slot);
}

/* ---- dooming ------------------------------------------------------------------------------------------------- */

/* The first reason is the one that is told. Takes over the error. */
static void doom(struct capture *capture, luhip_error *error) {
  profiler_lost(capture->graph->device, error);
  if (capture->doom) {
    luhip_error_release(error);
  } else {
    capture->doom = error;
  }
}

void luhip_stream_doom_capture(luhip_device *device, luhip_stream *stream, luhip_error *reason) {
  uint32_t slot;
  if (enter(device, stream, &slot, NULL)) return;
  struct capture *capture = capture_recording(device, slot);
  if (capture) doom(capture, luhip_error_retain(reason));
  device_leave(device);
}

/* What it reads is stale now and is not written by what was recorded before: it would be skipped (D7). */
static void doom_if_stale(struct capture *capture, const struct command *command, const char *what) {
  struct failure_set set = {0};
  for (uint32_t i = 0; i < command->nuses; i++) {
    if (command->uses[i].access & USE_READ) graph_taints(capture->graph, &command->uses[i], &set);
  }
  if (set.count && set.list[0]->error) {
    luhip_error *why = set.list[0]->error;
    doom(capture, error_wrap(why, luhip_error_kind(why), "the %s was skipped, as what it reads is stale: %s", what,
                             luhip_error_message(why)));
  }
  failure_set_free(&set);
}

/* ---- recording ----------------------------------------------------------------------------------------------- */

/* Adds the node, which is complete but for its uses. On failure what the node owns is the caller's. */
static luhip_status add(struct capture *capture, const struct command *command, struct node *node, const char *what,
                        luhip_error **error) {
  doom_if_stale(capture, command, what);
  node->nuses = command->nuses;
  node->uses = command->uses;
  if (graph_add(capture->graph, node)) return LUHIP_OK;
  luhip_error *none = error_new(LUHIP_E_MEMORY, "%s: the host has no memory to record it", what);
  doom(capture, luhip_error_retain(none));
  return error_give(error, none);
}

/* A node that does nothing stands for it; a doomed graph is never seen. */
void capture_uncompiled(struct capture *capture, const struct command *command, luhip_error *reason) {
  struct node node = {.kind = LUHIP_NODE_COPY, .nuses = command->nuses, .uses = command->uses};
  doom(capture, luhip_error_retain(reason));
  graph_add(capture->graph, &node);
}

luhip_status capture_launch(struct capture *capture, struct command *command, const struct recorded_launch *launch,
                            luhip_error **error) {
  char what[160];
  struct node node = {.kind = LUHIP_NODE_KERNEL,
                      .narguments = launch->narguments,
                      .launch = {.kernel = launch->kernel, .shared = launch->shared}};
  memcpy(node.launch.grid, launch->grid, sizeof launch->grid);
  memcpy(node.launch.block, launch->block, sizeof launch->block);
  node_describe(&node, what, sizeof what);
  luhip_status status = find_memory(capture, command, what, error);
  if (status) return status;
  if (node_pack(&node, launch->packed, command->uses, launch->arguments)) {
    status = add(capture, command, &node, what, error);
  } else {
    status = error_set(error, LUHIP_E_MEMORY, "%s: the host has no memory to record it", what);
  }
  if (status) {
    free(node.launch.packed);
    free(node.launch.layouts);
  }
  return status;
}

luhip_status capture_write(struct capture *capture, struct command *command, const void *data, luhip_error **error) {
  luhip_device *device = command->device;
  luhip_status status = find_memory(capture, command, "write", error);
  if (status) return status;
  size_t bytes = region_bytes(&command->uses[0].region);
  struct slice *block = staging_take(device, capture->slot, bytes);
  void *copy = block ? block->address : malloc(bytes);
  if (!copy) return error_set(error, LUHIP_E_MEMORY, "write: the host has no memory for a copy of %zu bytes", bytes);
  memcpy(copy, data, bytes);
  struct node node = {.kind = LUHIP_NODE_WRITE, .write = {.to = command->uses[0].region, .data = copy, .block = block}};
  status = add(capture, command, &node, "write", error);
  if (status && block) manager_give(block);
  if (status && !block) free(copy);
  return status;
}

luhip_status capture_fill(struct capture *capture, struct command *command, const struct filling *filling,
                          luhip_error **error) {
  struct node node = {.kind = LUHIP_NODE_FILL, .fill = *filling};
  luhip_status status = find_memory(capture, command, "fill", error);
  if (!status) status = add(capture, command, &node, "fill", error);
  if (status && filling->block) manager_give(filling->block);
  return status;
}

luhip_status capture_copy(struct capture *capture, struct command *command, const struct region *to,
                          const struct region *from, luhip_error **error) {
  struct node node = {.kind = LUHIP_NODE_COPY, .copy = {.to = *to, .from = *from}};
  luhip_status status = find_memory(capture, command, "copy", error);
  return status ? status : add(capture, command, &node, "copy", error);
}
