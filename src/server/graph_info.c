/*
 * graph_info.c - what a graph tells of itself.
 */
#include "base/text.h"
#include "memory/layout.h"
#include "server/graph.h"
#include "server/program.h"

#include <string.h>

static luhip_status enter(luhip_graph *graph, luhip_error **error) {
  luhip_status status = device_enter(graph->device, error);
  if (status || !graph->freed) return status;
  device_leave(graph->device);
  return error_set(error, LUHIP_E_FREED, "the graph was freed");
}

static luhip_status find_node(luhip_graph *graph, size_t index, const struct node **node, luhip_error **error) {
  luhip_status status = enter(graph, error);
  if (status) return status;
  if (index < graph->nnodes) {
    *node = &graph->nodes[index];
    return LUHIP_OK;
  }
  device_leave(graph->device);
  return error_set(error, LUHIP_E_RANGE, "node %zu of a graph with %u nodes", index + 1, graph->nnodes);
}

luhip_status luhip_graph_kind(luhip_graph *graph, const char **kind, luhip_error **error) {
  luhip_status status = enter(graph, error);
  if (status) return status;
  *kind = graph->exec ? "driver" : "list";
  device_leave(graph->device);
  return LUHIP_OK;
}

luhip_status luhip_graph_nodes(luhip_graph *graph, size_t *count, luhip_error **error) {
  luhip_status status = enter(graph, error);
  if (status) return status;
  *count = graph->nnodes;
  device_leave(graph->device);
  return LUHIP_OK;
}

/* ---- one node ------------------------------------------------------------------------------------------------ */

static size_t launches_before(const luhip_graph *graph, size_t index) {
  size_t count = 0;
  for (size_t i = 0; i < index; i++) count += graph->nodes[i].kind == LUHIP_NODE_KERNEL;
  return count;
}

luhip_status luhip_graph_node(luhip_graph *graph, size_t index, luhip_node *out, luhip_error **error) {
  const struct node *node = NULL;
  luhip_status status = find_node(graph, index, &node, error);
  if (status) return status;
  *out = (luhip_node){.kind = node->kind};
  switch (node->kind) {
  case LUHIP_NODE_KERNEL:
    out->kernel = luhip_kernel_retain(node->launch.kernel);
    out->launch = launches_before(graph, index);
    memcpy(out->grid, node->launch.grid, sizeof out->grid);
    memcpy(out->block, node->launch.block, sizeof out->block);
    out->shared = node->launch.shared;
    out->nargs = node->launch.kernel->signature->nparams;
    break;
  case LUHIP_NODE_WRITE:
    out->bytes = region_bytes(&node->write.to);
    break;
  case LUHIP_NODE_FILL:
    out->bytes = region_bytes(&node->fill.region);
    break;
  case LUHIP_NODE_COPY:
    out->bytes = region_bytes(&node->copy.to);
    break;
  }
  device_leave(graph->device);
  return LUHIP_OK;
}

/* ---- one argument -------------------------------------------------------------------------------------------- */

static bool plain_dtype(const struct kernel_param *param, luhip_dtype *dtype) {
  static const unsigned char own[SIGNATURE_CODE_COUNT] = {
      [SIGNATURE_BOOL] = 1 + LUHIP_BOOL, [SIGNATURE_CHAR] = 1 + LUHIP_I8, [SIGNATURE_I8] = 1 + LUHIP_I8,
      [SIGNATURE_U8] = 1 + LUHIP_U8,     [SIGNATURE_I16] = 1 + LUHIP_I16, [SIGNATURE_U16] = 1 + LUHIP_U16,
      [SIGNATURE_I32] = 1 + LUHIP_I32,   [SIGNATURE_U32] = 1 + LUHIP_U32, [SIGNATURE_I64] = 1 + LUHIP_I64,
      [SIGNATURE_U64] = 1 + LUHIP_U64,   [SIGNATURE_F16] = 1 + LUHIP_F16, [SIGNATURE_BF16] = 1 + LUHIP_BF16,
      [SIGNATURE_F32] = 1 + LUHIP_F32,   [SIGNATURE_F64] = 1 + LUHIP_F64};
  if (param->lanes != 1 || !own[param->code]) return false;
  *dtype = (luhip_dtype)(own[param->code] - 1);
  return true;
}

static void describe_argument(const struct node *node, size_t argument, luhip_node_arg *out) {
  const struct kernel_param *param = &node->launch.kernel->signature->params[argument];
  *out = (luhip_node_arg){.size = param->shown.bytes};
  for (uint32_t i = 0; i < node->narguments; i++) {
    if (node->uses[i].param != argument) continue;
    out->is_buffer = true;
    out->layout = node->launch.layouts[i];
    out->allocation = node->uses[i].allocation->id;
    return;
  }
  if (param->access != ACCESS_VALUE) {
    out->is_null = true;
    return;
  }
  out->has_dtype = plain_dtype(param, &out->dtype);
  memcpy(out->bytes, node->launch.packed + param->offset,
         out->size < sizeof out->bytes ? out->size : sizeof out->bytes);
}

luhip_status luhip_graph_node_arg(luhip_graph *graph, size_t index, size_t argument, luhip_node_arg *out,
                                  luhip_error **error) {
  const struct node *node = NULL;
  luhip_status status = find_node(graph, index, &node, error);
  if (status) return status;
  if (node->kind != LUHIP_NODE_KERNEL || argument >= node->launch.kernel->signature->nparams) {
    status = error_set(error, LUHIP_E_RANGE, "node %zu has no argument %zu", index + 1, argument + 1);
  } else {
    describe_argument(node, argument, out);
  }
  device_leave(graph->device);
  return status;
}

/* ---- a drawing ----------------------------------------------------------------------------------------------- */

static void add_escaped(struct text *dot, const char *name) {
  for (; *name; name++) text_printf(dot, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
}

static void add_node(struct text *dot, const struct node *node, uint32_t index) {
  static const char *const names[] = {
      [LUHIP_NODE_WRITE] = "write", [LUHIP_NODE_FILL] = "fill", [LUHIP_NODE_COPY] = "copy"};
  text_printf(dot, "  n%u [label=\"%u ", index + 1, index + 1);
  if (node->kind == LUHIP_NODE_KERNEL) {
    const uint32_t *grid = node->launch.grid, *block = node->launch.block;
    add_escaped(dot, luhip_kernel_name(node->launch.kernel));
    text_printf(dot, "\\n%u x %u x %u blocks of %u x %u x %u\"", grid[0], grid[1], grid[2], block[0], block[1],
                block[2]);
  } else {
    const struct region *region = node->kind == LUHIP_NODE_WRITE  ? &node->write.to
                                  : node->kind == LUHIP_NODE_FILL ? &node->fill.region
                                                                  : &node->copy.to;
    text_printf(dot, "%s\\n%zu bytes\", style=rounded", names[node->kind], region_bytes(region));
  }
  text_add(dot, "];\n");
  if (index) text_printf(dot, "  n%u -> n%u;\n", index, index + 1);
}

luhip_status luhip_graph_dot(luhip_graph *graph, char **out, luhip_error **error) {
  luhip_status status = enter(graph, error);
  if (status) return status;
  struct text dot = {0};
  text_add(&dot, "digraph luhip {\n  node [shape=box];\n");
  for (uint32_t i = 0; i < graph->nnodes; i++) add_node(&dot, &graph->nodes[i], i);
  text_add(&dot, "}\n");
  device_leave(graph->device);
  char *text = text_take(&dot);
  if (!text) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for the text of a graph");
  *out = text;
  return LUHIP_OK;
}
