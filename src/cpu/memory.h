/*
 * memory.h - the table's entries that allocate, copy and fill.
 */
#ifndef LUHIP_CPU_MEMORY_H
#define LUHIP_CPU_MEMORY_H

#include "cpu/stream.h"

hip_error_t cpu_memory_free(void *ptr);
hip_error_t cpu_memory_free_host(void *ptr);
hip_error_t cpu_memory_copy(struct command_copy copy, hip_memcpy_kind_t kind, hip_stream_t stream);
hip_error_t cpu_memory_fill(struct command_fill fill, hip_stream_t stream);

#endif
