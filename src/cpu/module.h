/*
 * module.h - the table's entries for loaded modules, their kernels and globals.
 */
#ifndef LUHIP_CPU_MODULE_H
#define LUHIP_CPU_MODULE_H

#include <stdbool.h>

#include "hip/api.h"

hip_error_t cpu_module_load(hip_module_t *module, const void *image, int device);
hip_error_t cpu_module_unload(hip_module_t module);
hip_error_t cpu_module_function(hip_function_t *function, hip_module_t module, const char *name);
hip_error_t cpu_module_global(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name);
/* True when [ptr, ptr + bytes) lies within one global of a loaded module, and may be written if it is to be. */
bool cpu_module_covers(const void *ptr, size_t bytes, bool written);

struct launch_geometry {
  unsigned grid[3], block[3], shared;
};
/* launch_timed: between the records of two events. */
hip_error_t cpu_function_launch_timed(hip_function_t function, const struct launch_geometry *geometry,
                                      hip_stream_t stream, void **params, void **extra, hip_event_t start,
                                      hip_event_t stop);
hip_error_t cpu_function_launch(hip_function_t function, const struct launch_geometry *geometry, hip_stream_t stream,
                                void **params, void **extra);
hip_error_t cpu_function_attribute(int *value, hip_func_attribute_t attribute, hip_function_t function);
hip_error_t cpu_function_occupancy(int *blocks, hip_function_t function, int block, size_t shared);

void cpu_modules_fork_prepare(void);
void cpu_modules_fork_parent(void);
void cpu_modules_fork_child(void);

#endif
