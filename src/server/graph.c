/*
 * graph.c - what a graph owns, and the sets that follow from it.
 */
#include "server/graph.h"

#include "server/array.h"
#include "server/metadata.h"
#include "server/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes --------------------------------------------------------------------------------------------------- */

void node_describe(const struct node *node, char *text, size_t len) {
  static const char *const names[] = {
      [LUHIP_NODE_WRITE] = "write", [LUHIP_NODE_FILL] = "fill", [LUHIP_NODE_COPY] = "copy"};
  if (node->kind == LUHIP_NODE_KERNEL) {
    snprintf(text, len, "launch of kernel '%.128s'", luhip_kernel_name(node->launch.kernel));
  } else {
    snprintf(text, len, "%s", names[node->kind]);
  }
}

bool node_pack(struct node *node, unsigned char *packed, const struct op_use *uses,
               const struct kernel_use *arguments) {
  const struct kernel_signature *signature = node->launch.kernel->signature;
  unsigned char *copy = malloc(signature->args_bytes ? signature->args_bytes : 1);
  luhip_layout *layouts = malloc((node->narguments ? node->narguments : 1) * sizeof *layouts);
  if (!copy || !layouts) {
    free(copy);
    free(layouts);
    return false;
  }
  memcpy(copy, packed, signature->args_bytes);
  for (uint32_t i = 0; i < node->narguments; i++) {
    char *address = uses[i].allocation->address;
    if (address) address += uses[i].region.offset;
    memcpy(copy + arguments[i].offset, &address, sizeof address);
    layouts[i] = argument_layout(signature, &arguments[i]);
  }
  node->launch.packed = copy;
  node->launch.layouts = layouts;
  return true;
}

static void drop_uses(struct op_use *uses, uint32_t nuses) {
  for (uint32_t i = 0; i < nuses; i++) {
    metadata_unhold(uses[i].allocation);
    allocation_unhold(uses[i].allocation);
  }
  free(uses);
}

static struct op_use *hold_uses(const struct op_use *uses, uint32_t nuses) {
  struct op_use *copy = malloc((nuses ? nuses : 1) * sizeof *copy);
  if (!copy) return NULL;
  if (nuses) memcpy(copy, uses, nuses * sizeof *copy);
  for (uint32_t i = 0; i < nuses; i++) {
    allocation_hold(copy[i].allocation);
    metadata_hold(copy[i].allocation);
  }
  return copy;
}

static void node_drop(struct node *node) {
  switch (node->kind) {
  case LUHIP_NODE_KERNEL:
    program_release_locked(node->launch.kernel->program);
    free(node->launch.packed);
    free(node->launch.layouts);
    break;
  case LUHIP_NODE_WRITE:
    if (node->write.block) {
      manager_give(node->write.block);
    } else {
      free((void *)node->write.data);
    }
    break;
  case LUHIP_NODE_FILL:
    if (node->fill.block) manager_give(node->fill.block);
    break;
  case LUHIP_NODE_COPY:
    break;
  }
  drop_uses(node->uses, node->nuses);
}

static char *address_of(const struct op_use *use, const struct region *region) {
  return (char *)use->allocation->address + region->offset;
}

static hip_error_t enqueue_launch(luhip_device *device, const struct node *node, hip_stream_t stream) {
  const struct kernel_signature *signature = node->launch.kernel->signature;
  const uint32_t *grid = node->launch.grid, *block = node->launch.block;
  void *params[LUHIP_MAX_ARGS];
  for (size_t i = 0; i < signature->nparams; i++) params[i] = node->launch.packed + signature->params[i].offset;
  return device->api->hipModuleLaunchKernel(node->launch.kernel->function, grid[0], grid[1], grid[2], block[0],
                                            block[1], block[2], node->launch.shared, stream, params, NULL);
}

hip_error_t node_enqueue(luhip_device *device, const struct node *node, hip_stream_t stream, size_t *calls) {
  const struct op_use *uses = node->uses;
  if (node->kind == LUHIP_NODE_FILL) return fill_enqueue(&node->fill, uses[0].allocation, stream, calls);
  (*calls)++;
  if (node->kind == LUHIP_NODE_KERNEL) return enqueue_launch(device, node, stream);
  if (node->kind == LUHIP_NODE_WRITE) {
    const struct region *to = &node->write.to;
    struct place there = {address_of(&uses[0], to), to->pitch}, here = {(char *)node->write.data, to->width};
    return enqueue_copy_in(device, stream, there, here, to->width, to->rows, hip_MemcpyHostToDevice);
  }
  const struct region *from = &node->copy.from, *to = &node->copy.to;
  struct place source = {address_of(&uses[0], from), from->pitch}, target = {address_of(&uses[1], to), to->pitch};
  return enqueue_copy_in(device, stream, target, source, to->width, to->rows, hip_MemcpyDeviceToDevice);
}

/* ---- sets ---------------------------------------------------------------------------------------------------- */

struct sets {
  struct touched *list;
  size_t count, capacity;
};

static void sets_free(struct sets *sets) {
  for (size_t i = 0; i < sets->count; i++) {
    spans_free(&sets->list[i].reads);
    spans_free(&sets->list[i].writes);
  }
  free(sets->list);
  *sets = (struct sets){0};
}

static struct touched *sets_find(const struct sets *sets, const struct allocation *allocation) {
  for (size_t i = sets->count; i-- > 0;) {
    if (sets->list[i].allocation == allocation) return &sets->list[i];
  }
  return NULL;
}

static struct touched *sets_of(struct sets *sets, struct allocation *allocation) {
  struct touched *found = sets_find(sets, allocation);
  if (found) return found;
  if (sets->count == sets->capacity) {
    size_t capacity = sets->capacity ? sets->capacity * 2 : 8;
    struct touched *list = realloc(sets->list, capacity * sizeof *list);
    if (!list) return NULL;
    sets->list = list;
    sets->capacity = capacity;
  }
  sets->list[sets->count] = (struct touched){.allocation = allocation};
  return &sets->list[sets->count++];
}

/* The rows of a region, or all of it where they follow each other without gaps. */
static size_t pieces_of(const struct region *region) {
  if (region_empty(region)) return 0;
  return region->pitch == region->width ? 1 : region->rows;
}

static struct span piece(const struct region *region, size_t index) {
  size_t first = region->offset + index * region->pitch;
  size_t width = region->pitch == region->width ? region_bytes(region) : region->width;
  return (struct span){first, first + width};
}

/* What is read and was not written before. */
static bool add_read(struct touched *touched, struct span span) {
  struct span gap;
  while (spans_gap(&touched->writes, span.first, span.end, &gap)) {
    if (!spans_add(&touched->reads, gap.first, gap.end)) return false;
    span.first = gap.end;
  }
  return true;
}

static bool trace_use(struct sets *sets, const struct op_use *use, unsigned access) {
  if (!(use->access & access)) return true;
  struct touched *touched = sets_of(sets, use->allocation);
  for (size_t i = 0; touched && i < pieces_of(&use->region); i++) {
    struct span span = piece(&use->region, i);
    bool added = access == USE_READ ? add_read(touched, span) : spans_add(&touched->writes, span.first, span.end);
    if (!added) return false;
  }
  return touched != NULL;
}

/* All reads of a node come before its writes. */
static bool trace_node(struct sets *sets, const struct op_use *uses, uint32_t nuses) {
  for (uint32_t i = 0; i < nuses; i++) {
    if (!trace_use(sets, &uses[i], USE_READ)) return false;
  }
  for (uint32_t i = 0; i < nuses; i++) {
    if (!trace_use(sets, &uses[i], USE_WRITE)) return false;
  }
  return true;
}

/* The uses of a replay: each range once. NULL when the host has no memory. */
static struct op_use *list_uses(const struct sets *sets, uint32_t *nuses) {
  size_t count = 0;
  for (size_t i = 0; i < sets->count; i++) count += sets->list[i].reads.count + sets->list[i].writes.count;
  struct op_use *uses = malloc((count ? count : 1) * sizeof *uses), *use = uses;
  if (!uses) return NULL;
  for (size_t i = 0; i < sets->count; i++) {
    const struct touched *touched = &sets->list[i];
    for (int write = 0; write < 2; write++) {
      const struct spans *spans = write ? &touched->writes : &touched->reads;
      for (size_t s = 0; s < spans->count; s++) {
        size_t bytes = spans->list[s].end - spans->list[s].first;
        *use++ = (struct op_use){.allocation = touched->allocation,
                                 .region = {spans->list[s].first, bytes, 1, bytes},
                                 .param = NO_PARAM,
                                 .access = write ? USE_WRITE : USE_READ};
      }
    }
  }
  *nuses = (uint32_t)count;
  return uses;
}

static struct sets sets_of_graph(const luhip_graph *graph) {
  return (struct sets){graph->touched, graph->ntouched, graph->touched_capacity};
}

static void graph_set_sets(luhip_graph *graph, const struct sets *sets) {
  graph->touched = sets->list;
  graph->ntouched = sets->count;
  graph->touched_capacity = sets->capacity;
}

void graph_taints(const luhip_graph *graph, const struct op_use *use, struct failure_set *set) {
  static const struct spans nothing;
  if (!use->allocation->claims.count) return;
  struct sets sets = sets_of_graph(graph);
  const struct touched *touched = sets_find(&sets, use->allocation);
  const struct spans *written = touched ? &touched->writes : &nothing;
  for (size_t i = 0; i < pieces_of(&use->region); i++) {
    struct span span = piece(&use->region, i), gap;
    while (spans_gap(written, span.first, span.end, &gap)) {
      struct region region = {gap.first, gap.end - gap.first, 1, gap.end - gap.first};
      allocation_failures(use->allocation, &region, set);
      span.first = gap.end;
    }
  }
}

void graph_claim(luhip_graph *graph, struct failure *failure) {
  for (size_t i = 0; i < graph->ntouched; i++) {
    const struct spans *writes = &graph->touched[i].writes;
    for (size_t s = 0; s < writes->count; s++)
      claims_set(&graph->touched[i].allocation->claims, writes->list[s].first, writes->list[s].end, failure);
  }
}

/* ---- making -------------------------------------------------------------------------------------------------- */

luhip_graph *graph_new(luhip_device *device) {
  luhip_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return NULL;
  graph->refs = 1;
  graph->id = next_id();
  graph->device = device_retain(device);
  return graph;
}

static bool make_room(luhip_graph *graph) {
  if (graph->nnodes < graph->capacity) return true;
  uint32_t capacity = graph->capacity ? graph->capacity * 2 : 16;
  struct node *nodes = capacity > graph->capacity ? realloc(graph->nodes, capacity * sizeof *nodes) : NULL;
  if (!nodes) return false;
  graph->nodes = nodes;
  graph->capacity = capacity;
  return true;
}

bool graph_add(luhip_graph *graph, const struct node *node) {
  if (!make_room(graph)) return false;
  struct op_use *uses = hold_uses(node->uses, node->nuses);
  if (!uses) return false;
  struct sets sets = sets_of_graph(graph);
  bool traced = trace_node(&sets, uses, node->nuses);
  graph_set_sets(graph, &sets); /* too large a set, when it failed half way, harms nobody: the capture is doomed */
  if (!traced) {
    drop_uses(uses, node->nuses);
    return false;
  }
  struct node *added = &graph->nodes[graph->nnodes++];
  *added = *node;
  added->uses = uses;
  if (node->kind == LUHIP_NODE_KERNEL) luhip_kernel_retain(node->launch.kernel);
  return true;
}

static void list_add(luhip_graph *graph) {
  luhip_device *device = graph->device;
  graph->next = device->graphs;
  if (graph->next) graph->next->previous = graph;
  device->graphs = graph;
}

bool graph_seal(luhip_graph *graph) {
  struct sets sets = sets_of_graph(graph);
  graph->uses = list_uses(&sets, &graph->nuses);
  if (!graph->uses) return false;
  list_add(graph);
  graph_build(graph);
  return true;
}

static bool same_uses(const struct node *node, const struct op_use *uses, uint32_t nuses) {
  if (node->nuses != nuses) return false;
  for (uint32_t i = 0; i < nuses; i++) {
    const struct op_use *a = &node->uses[i], *b = &uses[i];
    if (a->allocation != b->allocation || a->param != b->param || a->access != b->access ||
        a->region.offset != b->region.offset || a->region.width != b->region.width ||
        a->region.rows != b->region.rows || a->region.pitch != b->region.pitch)
      return false;
  }
  return true;
}

bool graph_exchange_uses(luhip_graph *graph, struct node *node, const struct op_use *uses, uint32_t nuses) {
  if (same_uses(node, uses, nuses)) return true;
  struct sets sets = {0};
  bool traced = true;
  for (uint32_t i = 0; i < graph->nnodes && traced; i++) {
    const struct node *other = &graph->nodes[i];
    traced = other == node ? trace_node(&sets, uses, nuses) : trace_node(&sets, other->uses, other->nuses);
  }
  uint32_t count = 0;
  struct op_use *all = traced ? list_uses(&sets, &count) : NULL;
  struct op_use *held = all ? hold_uses(uses, nuses) : NULL;
  if (!held) {
    free(all);
    sets_free(&sets);
    return false;
  }
  struct sets old = sets_of_graph(graph);
  sets_free(&old);
  graph_set_sets(graph, &sets);
  free(graph->uses);
  graph->uses = all;
  graph->nuses = count;
  drop_uses(node->uses, node->nuses);
  node->uses = held;
  node->nuses = nuses;
  return true;
}

/* ---- going --------------------------------------------------------------------------------------------------- */

void graph_empty(luhip_graph *graph) {
  if (graph->emptied) return;
  graph->emptied = true;
  for (uint32_t i = 0; i < graph->nnodes; i++) node_drop(&graph->nodes[i]);
  struct sets sets = sets_of_graph(graph);
  sets_free(&sets);
  graph_set_sets(graph, &sets);
  free(graph->nodes);
  free(graph->uses);
  graph->nodes = NULL;
  graph->uses = NULL;
  graph->nnodes = graph->nuses = 0;
  graph_discard_exec(graph);
}

static void list_remove(luhip_graph *graph) {
  luhip_device *device = graph->device;
  if (graph->previous) {
    graph->previous->next = graph->next;
  } else if (device->graphs == graph) {
    device->graphs = graph->next;
  }
  if (graph->next) graph->next->previous = graph->previous;
}

/* Somebody else holds the device. */
void graph_drop(luhip_graph *graph) {
  luhip_device *device = graph->device;
  graph_empty(graph);
  list_remove(graph);
  marks_free(&graph->replays);
  free(graph);
  device_release(device);
}

void graph_fly(luhip_graph *graph) {
  graph->flights++;
}

void graph_land(luhip_graph *graph) {
  if (--graph->flights || !graph->freed) return;
  graph_empty(graph);
  if (graph->released) graph_drop(graph);
}

/* Handles stay as husks. */
void graphs_close(luhip_device *device, bool destroy) {
  for (luhip_graph *graph = device->graphs; graph; graph = graph->next) {
    if (!destroy) graph->exec = NULL; /* it may still run */
    graph_empty(graph);
  }
  if (device->graph_stream && destroy) device->api->hipStreamDestroy(device->graph_stream);
  device->graph_stream = NULL;
}
