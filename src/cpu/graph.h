/*
 * graph.h - the table's entries for captures and graphs.
 */
#ifndef LUHIP_CPU_GRAPH_H
#define LUHIP_CPU_GRAPH_H

#include "hip/api.h"

hip_error_t cpu_graph_begin(hip_stream_t stream, hip_stream_capture_mode_t mode);
hip_error_t cpu_graph_end(hip_stream_t stream, hip_graph_t *graph);
hip_error_t cpu_graph_nodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count);
hip_error_t cpu_graph_destroy(hip_graph_t graph);
hip_error_t cpu_graph_instantiate(hip_graph_exec_t *exec, hip_graph_t graph);
hip_error_t cpu_graph_launch(hip_graph_exec_t exec, hip_stream_t stream);
hip_error_t cpu_graph_exec_update(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                  hip_graph_exec_update_result_t *result);
hip_error_t cpu_graph_exec_destroy(hip_graph_exec_t exec);

#endif
