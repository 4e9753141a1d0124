/*
 * graph.c - captures as lists of commands, and one command that runs a list.
 *
 * While a stream captures, what would be enqueued is appended to a list. The list never changes after the capture has
 * ended; the graph, what is instantiated from it, and every launch that has not run yet hold a reference. So an update
 * exchanges the list of an instantiated graph and touches no launch under way, and both may be destroyed at any time.
 *
 * Modes are taken and make no difference: nothing else of this device is disturbed by a capture.
 */
#include "cpu/graph.h"

#include <stdlib.h>

#include "cpu/device.h"
#include "cpu/stream.h"

struct hip_graph_impl {
  struct command_list *list;
};

struct hip_graph_exec_impl {
  struct command_list *list;
};

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static struct command_list *list_retain(struct command_list *list) {
  __atomic_fetch_add(&list->refs, 1, __ATOMIC_RELAXED);
  return list;
}

void cpu_command_list_release(struct command_list *list) {
  if (!list || __atomic_sub_fetch(&list->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  while (list->first) {
    struct command *command = list->first;
    list->first = command->next;
    cpu_command_free(command);
  }
  free(list);
}

/* A kernel's fault carries its own tag plus that of the graph. */
static void run_launch(hip_stream_t stream, const struct cpu_launch *launch, uint64_t tag) {
  struct hip_fault fault;
  if (!cpu_exec_run_entered(launch, &fault)) return;
  fault.tag += tag;
  cpu_device_add_fault(cpu_stream_device(stream), &fault);
}

void cpu_graph_run(hip_stream_t stream, const struct command_graph *graph) {
  sigset_t mask;
  cpu_exec_enter(&mask);
  for (struct command *command = graph->list->first; command; command = command->next) {
    if (command->kind == COMMAND_LAUNCH)
      run_launch(stream, &command->launch, graph->tag);
    else
      cpu_command_run(stream, command);
  }
  cpu_exec_leave(&mask);
}

/* ---- capturing --------------------------------------------------------------------------------------------------- */

hip_error_t cpu_graph_begin(hip_stream_t stream, hip_stream_capture_mode_t mode) {
  if (!stream) return hip_ErrorInvalidHandle;
  if ((unsigned)mode > hip_StreamCaptureModeRelaxed) return hip_ErrorInvalidValue;
  struct command_list *list = calloc(1, sizeof *list);
  if (!list) return hip_ErrorOutOfMemory;
  list->refs = 1;
  list->tail = &list->first;
  if (cpu_stream_begin_capture(stream, list)) return hip_Success;
  free(list);
  return hip_ErrorIllegalState;
}

hip_error_t cpu_graph_end(hip_stream_t stream, hip_graph_t *graph) {
  if (!stream) return hip_ErrorInvalidHandle;
  if (!graph) return hip_ErrorInvalidValue;
  struct command_list *list = cpu_stream_end_capture(stream);
  if (!list) return hip_ErrorIllegalState;
  hip_graph_t made = list->invalid ? NULL : malloc(sizeof *made);
  if (!made) {
    hip_error_t rc = list->invalid ? hip_ErrorStreamCaptureInvalidated : hip_ErrorOutOfMemory;
    cpu_command_list_release(list);
    return rc;
  }
  made->list = list;
  *graph = made;
  return hip_Success;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static hip_graph_node_t node_of(struct command *command) {
  return (hip_graph_node_t)(void *)command;
}

/* As HIP has it: *count is the room in `nodes`, then how many were put there; what room is left over is set to NULL. */
hip_error_t cpu_graph_nodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count) {
  if (!graph || !count) return hip_ErrorInvalidValue;
  if (!nodes) {
    *count = graph->list->count;
    return hip_Success;
  }
  struct command *command = graph->list->first;
  for (size_t i = 0; i < *count; i++) {
    nodes[i] = command ? node_of(command) : NULL;
    if (command) command = command->next;
  }
  if (*count > graph->list->count) *count = graph->list->count;
  return hip_Success;
}

hip_error_t cpu_graph_destroy(hip_graph_t graph) {
  if (!graph) return hip_ErrorInvalidValue;
  cpu_command_list_release(graph->list);
  free(graph);
  return hip_Success;
}

hip_error_t cpu_graph_instantiate(hip_graph_exec_t *exec, hip_graph_t graph) {
  if (!exec || !graph) return hip_ErrorInvalidValue;
  hip_graph_exec_t made = malloc(sizeof *made);
  if (!made) return hip_ErrorOutOfMemory;
  made->list = list_retain(graph->list);
  *exec = made;
  return hip_Success;
}

hip_error_t cpu_graph_launch(hip_graph_exec_t exec, hip_stream_t stream) {
  if (!exec) return hip_ErrorInvalidValue;
  if (!stream) return hip_ErrorInvalidHandle;
  struct command *command = cpu_stream_command(stream, COMMAND_GRAPH, 0);
  if (!command) return hip_ErrorOutOfMemory;
  struct command_list *list = list_retain(exec->list);
  command->graph = (struct command_graph){.list = list, .tag = cpu_device_tag()};
  hip_error_t rc = cpu_stream_commit(stream, command, NULL);
  if (rc) cpu_command_list_release(list);
  return rc;
}

/* What may change is what a node works on, not what kind of work it is. */
static hip_graph_exec_update_result_t compare(const struct command_list *from, const struct command_list *to,
                                              hip_graph_node_t *error_node) {
  const struct command *old = from->first;
  if (from->count != to->count) return hip_GraphExecUpdateErrorTopologyChanged;
  for (struct command *new = to->first; new; new = new->next, old = old->next) {
    *error_node = node_of(new);
    if (old->kind != new->kind) return hip_GraphExecUpdateErrorNodeTypeChanged;
    if (old->kind == COMMAND_LAUNCH && old->launch.kernel != new->launch.kernel)
      return hip_GraphExecUpdateErrorFunctionChanged;
  }
  *error_node = NULL;
  return hip_GraphExecUpdateSuccess;
}

hip_error_t cpu_graph_exec_update(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                  hip_graph_exec_update_result_t *result) {
  hip_graph_node_t different = NULL;
  if (!exec || !graph || !result) return hip_ErrorInvalidValue;
  *result = compare(exec->list, graph->list, &different);
  if (error_node) *error_node = different;
  if (*result != hip_GraphExecUpdateSuccess) return hip_ErrorGraphExecUpdateFailure;
  struct command_list *old = exec->list;
  exec->list = list_retain(graph->list);
  cpu_command_list_release(old);
  return hip_Success;
}

hip_error_t cpu_graph_exec_destroy(hip_graph_exec_t exec) {
  if (!exec) return hip_ErrorInvalidValue;
  cpu_command_list_release(exec->list);
  free(exec);
  return hip_Success;
}
