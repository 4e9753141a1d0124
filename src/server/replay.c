/*
 * replay.c - graphs in use: replaying, changing arguments, freeing (F9 to F11).
 *
 * A replay is one operation to everybody else: claims are tested and settled, and order is made, by the graph's own
 * sets. Its nodes have tags in a row, so a fault of one finds the replay and the node.
 */
#include "base/log.h"
#include "memory/layout.h"
#include "server/buffer.h"
#include "server/capture.h"
#include "server/graph.h"
#include "server/program.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- handles ------------------------------------------------------------------------------------------------- */

luhip_graph *luhip_graph_retain(luhip_graph *graph) {
  if (graph) __atomic_fetch_add(&graph->refs, 1, __ATOMIC_RELAXED);
  return graph;
}

/* Its replays run to their end; the last one lets go of what it owns. */
void luhip_graph_release(luhip_graph *graph) {
  if (!graph || __atomic_sub_fetch(&graph->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_device *device = device_retain(graph->device);
  if (device_enter_quietly(device)) {
    __atomic_store_n(&graph->freed, 1, __ATOMIC_RELEASE);
    graph->released = true;
    if (!graph->flights) graph_drop(graph);
    device_leave_quietly(device);
  }
  device_release(device);
}

bool luhip_graph_is_freed(const luhip_graph *graph) {
  return __atomic_load_n(&graph->freed, __ATOMIC_ACQUIRE) || !luhip_device_is_open(graph->device);
}

uint64_t luhip_graph_id(const luhip_graph *graph) {
  return graph->id;
}

static luhip_status graph_enter(luhip_graph *graph, const char *call, luhip_error **error) {
  luhip_status status = device_enter(graph->device, error);
  if (status || !graph->freed) return status;
  device_leave(graph->device);
  return error_set(error, LUHIP_E_FREED, "%s: the graph was freed", call);
}

luhip_status luhip_graph_free(luhip_graph *graph, const luhip_wait *wait, luhip_error **error) {
  luhip_device *device = graph->device;
  luhip_error *failed = NULL;
  if (device_enter(device, NULL)) return LUHIP_OK; /* closed: it owns nothing any more */
  struct waiting waiting = waiting_start(wait);
  luhip_status status = graph->freed ? LUHIP_OK : wait_marks(device, &graph->replays, &waiting, &failed);
  if (status == LUHIP_E_INTERRUPTED || status == LUHIP_E_TIMEOUT) {
    device_leave(device);
    return error_give(error, failed);
  }
  if (status) { /* nobody knows what its replays have written */
    struct failure *failure = failure_new(&device->failures, luhip_error_retain(failed));
    graph_claim(graph, failure);
    failure_release(failure);
  }
  luhip_error_release(failed);
  if (graph->flights && !graph->freed) inflight_sweep(device); /* its replays have passed, others may not have */
  __atomic_store_n(&graph->freed, 1, __ATOMIC_RELEASE);
  if (!graph->flights) graph_empty(graph);
  device_leave(device);
  return LUHIP_OK;
}

/* ---- replaying ----------------------------------------------------------------------------------------------- */

/* The first node that would read stale bytes from outside, and where: "'x' of kernel 'axpy'". */
static void name_stale(const luhip_graph *graph, char *text, size_t len) {
  for (uint32_t i = 0; i < graph->nnodes; i++) {
    const struct node *node = &graph->nodes[i];
    for (uint32_t u = 0; u < node->nuses; u++) {
      const struct op_use *use = &node->uses[u];
      if (!(use->access & USE_READ) || !claims_meet(&use->allocation->claims, &use->region)) continue;
      if (node->kind == LUHIP_NODE_KERNEL && use->param != NO_PARAM) {
        kernel_describe_param(node->launch.kernel->signature, use->param, text, len);
        return;
      }
      char what[160];
      node_describe(node, what, sizeof what);
      snprintf(text, len, "a buffer of the %s", what);
      return;
    }
  }
  snprintf(text, len, "a buffer");
}

static void list_ids(const struct command *command, unsigned access, uint64_t ids[SKIP_IDS], unsigned *count) {
  for (uint32_t i = 0; i < command->nuses && *count < SKIP_IDS; i++) {
    const struct op_use *use = &command->uses[i];
    if (!(use->access & access)) continue;
    if (access == USE_READ && !claims_meet(&use->allocation->claims, &use->region)) continue;
    if (*count && ids[*count - 1] == use->allocation->id) continue;
    ids[(*count)++] = use->allocation->id;
  }
}

static void skip(const luhip_graph *graph, struct command *command, const struct failure_set *set) {
  char stale[256], text[512];
  struct skip record = {0};
  list_ids(command, USE_READ, record.needed, &record.nneeded);
  list_ids(command, USE_WRITE, record.written, &record.nwritten);
  name_stale(graph, stale, sizeof stale);
  snprintf(text, sizeof text,
           "a replay of a graph of %u operations was skipped, since what it reads from %s is stale; nothing of it was "
           "written (write it again)",
           graph->nnodes, stale);
  failure_set_skip(set, text, &record);
  struct failure *failure = failure_of_set(&command->device->failures, set);
  command_failed(command, failure);
  failure_release(failure);
}

static hip_error_t enqueue_list(const luhip_graph *graph, hip_stream_t stream, uint64_t sequence, uint32_t *at) {
  const struct hip_api *api = graph->device->api;
  size_t calls = 0;
  hip_error_t rc = hip_Success;
  for (*at = 0; *at < graph->nnodes; (*at)++) {
    if (api->hipxLaunchTag) api->hipxLaunchTag(sequence + *at);
    rc = node_enqueue(graph->device, &graph->nodes[*at], stream, &calls);
    if (rc != hip_Success) return rc;
  }
  return rc;
}

static luhip_error *enqueue(luhip_graph *graph, hip_stream_t stream, uint64_t sequence) {
  const struct hip_api *api = graph->device->api;
  uint32_t at;
  hip_error_t rc;
  if (graph->exec) {
    if (api->hipxLaunchTag) api->hipxLaunchTag(sequence);
    rc = api->hipGraphLaunch(graph->exec, stream);
    if (rc == hip_Success) return NULL;
    device_poison(graph->device, rc);
    return driver_error(rc, LUHIP_E_LAUNCH, "replay of a graph of %u operations", graph->nnodes);
  }
  rc = enqueue_list(graph, stream, sequence, &at);
  if (rc == hip_Success) return NULL;
  char what[160];
  node_describe(&graph->nodes[at], what, sizeof what);
  device_poison(graph->device, rc);
  return driver_error(rc, LUHIP_E_LAUNCH, "replay of a graph: the %s, operation %u of %u", what, at + 1, graph->nnodes);
}

static luhip_status carry_out(luhip_graph *graph, struct command *command, luhip_error **error) {
  luhip_device *device = graph->device;
  struct failure *failure = NULL;
  if (graph->stale && graph->exec) graph_build(graph);
  enum command_state state = command_prepare(command, true, &failure);
  if (state == COMMAND_READY) {
    uint64_t sequence = next_sequences(device, graph->nnodes);
    struct record *record = trace_before(&device->profiler, device, command->slot);
    luhip_error *failed = enqueue(graph, device->slots[command->slot].handle, sequence);
    trace_after(device, record, !failed, &(struct traced){.kind = "replay", .name = "replay"});
    if (failed) {
      LOG(LOG_LAUNCHES, LOG_BASIC, "%s", luhip_error_message(failed));
      failure = failure_new(&device->failures, failed);
      profiler_failed(&device->profiler, device, sequence, failure);
    }
    if (!failed)
      LOG(LOG_LAUNCHES, LOG_FULL, "graph %llu on %s, stream slot %u: %u operations", (unsigned long long)graph->id,
          device->info.id, command->slot, graph->nnodes);
    command_done(command, sequence, failure);
    marks_read(&graph->replays, command->slot, device->slots[command->slot].tail);
  } else if (state == COMMAND_FAILED) {
    command_failed(command, failure);
  }
  return failure ? command_returned(failure, error) : LUHIP_OK;
}

static luhip_status replay_locked(luhip_graph *graph, uint32_t slot, luhip_error **error) {
  if (graph->freed)
    return error_set(error, LUHIP_E_FREED, "replay: the graph was freed"); /* while the lock was dropped */
  if (!graph->nnodes) return LUHIP_OK;
  faults_take(graph->device);
  struct command command = {.device = graph->device,
                            .uses = graph->uses,
                            .nuses = graph->nuses,
                            .slot = slot,
                            .span = graph->nnodes - 1,
                            .keep = {.graph = graph}};
  struct failure_set set = {0};
  luhip_status status = LUHIP_OK;
  if (command_tainted(&command, &set)) {
    skip(graph, &command, &set);
  } else {
    status = carry_out(graph, &command, error);
  }
  failure_set_free(&set);
  return status;
}

luhip_status luhip_graph_replay(luhip_graph *graph, luhip_stream *stream, luhip_error **error) {
  luhip_device *device = graph->device;
  luhip_status status = graph_enter(graph, "replay", error);
  if (status) return status;
  uint32_t slot;
  status = slot_of(device, stream, &slot, error);
  if (!status) status = device_sound(device, error);
  if (!status) status = capture_refuse(device, slot, "replay", error);
  if (!status) status = slot_throttle(device, slot, error);
  if (!status) status = replay_locked(graph, slot, error);
  device_leave(device);
  return status;
}

/* ---- other arguments ----------------------------------------------------------------------------------------- */

enum { MAX_USES = 2 * LUHIP_MAX_ARGS, PACKED_BYTES = 4096 };

static luhip_status find_launch(luhip_graph *graph, size_t launch, struct node **out, luhip_error **error) {
  size_t count = 0;
  for (uint32_t i = 0; i < graph->nnodes; i++) {
    if (graph->nodes[i].kind != LUHIP_NODE_KERNEL || count++ != launch) continue;
    *out = &graph->nodes[i];
    return LUHIP_OK;
  }
  return error_set(error, LUHIP_E_RANGE, "update: launch %zu of a graph with %zu launches", launch + 1, count);
}

/* The new arguments' buffers, then what the launch touched besides. */
static luhip_status collect_uses(luhip_device *device, const struct node *node, const struct kernel_use *arguments,
                                 size_t narguments, struct op_use *uses, uint32_t *nuses, luhip_error **error) {
  *nuses = 0;
  for (size_t i = 0; i < narguments; i++) {
    const luhip_buffer *buffer = arguments[i].buffer;
    char what[256];
    kernel_describe_param(node->launch.kernel->signature, arguments[i].param, what, sizeof what);
    luhip_status status = buffer ? buffer_usable(buffer, device, what, error) : LUHIP_OK;
    if (status) return status;
    uses[(*nuses)++] = (struct op_use){.allocation = argument_allocation(&arguments[i]),
                                       .region = argument_region(&arguments[i]),
                                       .param = (uint16_t)arguments[i].param,
                                       .access = (uint8_t)arguments[i].access};
  }
  for (uint32_t i = node->narguments; i < node->nuses; i++) uses[(*nuses)++] = node->uses[i];
  return LUHIP_OK;
}

static luhip_status find_memory(const struct op_use *uses, uint32_t nuses, luhip_error **error) {
  for (uint32_t i = 0; i < nuses; i++) {
    luhip_error *none;
    if (uses[i].allocation->address || region_empty(&uses[i].region)) continue;
    if (allocation_materialise(uses[i].allocation, DEFAULT_SLOT, true, &none) != MANAGER_OK)
      return error_give(error, none);
  }
  return LUHIP_OK;
}

static luhip_status exchange(luhip_graph *graph, struct node *node, unsigned char *packed,
                             const struct kernel_use *arguments, size_t narguments, const struct op_use *uses,
                             uint32_t nuses, luhip_error **error) {
  struct node changed = *node;
  changed.narguments = (uint32_t)narguments;
  if (!node_pack(&changed, packed, uses, arguments) || !graph_exchange_uses(graph, node, uses, nuses)) {
    if (changed.launch.packed != node->launch.packed) free(changed.launch.packed);
    if (changed.launch.layouts != node->launch.layouts) free(changed.launch.layouts);
    return error_set(error, LUHIP_E_MEMORY, "update: the host has no memory for other arguments");
  }
  free(node->launch.packed);
  free(node->launch.layouts);
  node->narguments = changed.narguments;
  node->launch.packed = changed.launch.packed;
  node->launch.layouts = changed.launch.layouts;
  graph->stale = true;
  return LUHIP_OK;
}

static luhip_status change(luhip_graph *graph, struct node *node, unsigned char *packed,
                           const struct kernel_use *arguments, size_t narguments, luhip_error **error) {
  struct op_use uses[MAX_USES];
  uint32_t nuses = 0;
  luhip_status status = collect_uses(graph->device, node, arguments, narguments, uses, &nuses, error);
  if (!status) status = find_memory(uses, nuses, error);
  if (!status) status = exchange(graph, node, packed, arguments, narguments, uses, nuses, error);
  return status;
}

static luhip_status update_locked(luhip_graph *graph, size_t launch, const luhip_arg *args, size_t nargs,
                                  luhip_error **error) {
  alignas(16) unsigned char packed[PACKED_BYTES];
  struct kernel_use arguments[LUHIP_MAX_ARGS];
  struct node *node = NULL;
  size_t narguments = 0;
  luhip_status status = find_launch(graph, launch, &node, error);
  if (status) return status;
  const struct kernel_signature *signature = node->launch.kernel->signature;
  status = kernel_pack(signature, args, nargs, packed, arguments, &narguments, error);
  if (status) return status;
  status = metadata_resolve(graph->device, graph->slot, signature, arguments, narguments, error);
  if (!status && graph->freed) /* while the lock was dropped */
    status = error_set(error, LUHIP_E_FREED, "update: the graph was freed");
  if (!status) status = change(graph, node, packed, arguments, narguments, error);
  metadata_done(arguments, narguments);
  return status;
}

luhip_status luhip_graph_update(luhip_graph *graph, size_t launch, const luhip_arg *args, size_t nargs,
                                luhip_error **error) {
  luhip_status status = graph_enter(graph, "update", error);
  if (status) return status;
  status = update_locked(graph, launch, args, nargs, error);
  device_leave(graph->device);
  return status;
}
