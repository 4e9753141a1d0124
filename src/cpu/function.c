/*
 * function.c - launching kernels and telling what they need.
 *
 * Arguments are packed by the module's own table of offsets when a launch is enqueued, into the command itself. A
 * launch beyond the device's limits never gets into the stream.
 */
#include "cpu/function.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/device.h"
#include "cpu/event.h"
#include "cpu/limits.h"
#include "cpu/module.h"
#include "cpu/stream.h"

/* ---- shared memory ---------------------------------------------------------------------------------------------- */

/* The mangled name of a variable within a function is "_ZZ", the function's without its "_Z", "E", and so on. */
static bool belongs_to(const char *variable, const char *lowered) {
  char *name;
  size_t length = strlen(lowered);
  if (strncmp(variable, "_ZZ", 3) != 0) return false;
  if (strncmp(lowered, "_Z", 2) == 0)
    return strncmp(variable + 3, lowered + 2, length - 2) == 0 && variable[3 + length - 2] == 'E';
  return strtoul(variable + 3, &name, 10) == length && strncmp(name, lowered, length) == 0 && name[length] == 'E';
}

/* Thread-local variables of the device header are not the user's. */
static bool is_shared_variable(const struct cpu_image *image, const Elf64_Sym *symbol) {
  static const char *const internal[] = {"_ZL9threadIdx", "_ZL8blockIdx", "_ZL8blockDim", "_ZL7gridDim"};
  const char *name = cpu_image_name(image, symbol);
  if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS || symbol->st_shndx == SHN_UNDEF || !symbol->st_size ||
      strstr(name, "luhip_"))
    return false;
  for (size_t i = 0; i < sizeof internal / sizeof internal[0]; i++)
    if (strcmp(name, internal[i]) == 0) return false;
  return true;
}

void cpu_function_find_shared(const struct cpu_image *image, struct hip_function_impl *functions, size_t count) {
  size_t common = 0;
  for (size_t i = 0; i < image->nsymbols; i++) {
    const Elf64_Sym *symbol = &image->symbols[i];
    if (!is_shared_variable(image, symbol)) continue;
    size_t owner = 0;
    while (owner < count && !belongs_to(cpu_image_name(image, symbol), functions[owner].lowered)) owner++;
    *(owner < count ? &functions[owner].shared : &common) += symbol->st_size;
  }
  for (size_t i = 0; i < count; i++) functions[i].shared += common;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static bool within_limits(hip_function_t function, const struct launch_geometry *geometry) {
  const unsigned *grid = geometry->grid, *block = geometry->block;
  for (int i = 0; i < 3; i++)
    if (!grid[i] || grid[i] > (i ? CPU_MAX_GRID_YZ : CPU_MAX_GRID_X) || !block[i] || block[i] > CPU_MAX_THREADS)
      return false;
  return (uint64_t)block[0] * block[1] * block[2] <= function->max_threads &&
         (uint64_t)geometry->shared + function->shared <= CPU_SHARED_BYTES;
}

/* HIP's other way to give arguments: a list of keys with the address and the size of a packed buffer. */
static bool packed_arguments(void **extra, const void **data, size_t *bytes) {
  enum { KEY_POINTER = 1, KEY_SIZE = 2, KEY_END = 3 };
  *data = NULL;
  *bytes = 0;
  for (; (uintptr_t)extra[0] != KEY_END; extra += 2) {
    if ((uintptr_t)extra[0] == KEY_POINTER)
      *data = extra[1];
    else if ((uintptr_t)extra[0] == KEY_SIZE && extra[1])
      *bytes = *(const size_t *)extra[1];
    else
      return false;
  }
  return *data || !*bytes;
}

static bool pack(const struct luhip_cpu_kernel *kernel, void **params, void **extra, unsigned char *packed) {
  const void *data;
  size_t bytes;
  if (extra) {
    if (!packed_arguments(extra, &data, &bytes)) return false;
    size_t needed =
        kernel->nparams ? kernel->params[kernel->nparams - 1].offset + kernel->params[kernel->nparams - 1].size : 0;
    if (bytes < needed) return false;
    if (needed) memcpy(packed, data, needed);
    return true;
  }
  for (unsigned i = 0; i < kernel->nparams; i++) {
    if (!params || !params[i]) return false;
    memcpy(packed + kernel->params[i].offset, params[i], kernel->params[i].size);
  }
  return true;
}

static hip_error_t make_launch(hip_function_t function, const struct launch_geometry *geometry, hip_stream_t stream,
                               void **params, void **extra, struct command **out) {
  if (!function || !stream || function->device != cpu_stream_device(stream)) return hip_ErrorInvalidHandle;
  if (!within_limits(function, geometry)) return hip_ErrorInvalidConfiguration;
  if (params && extra) return hip_ErrorInvalidValue;
  struct command *command = cpu_stream_command(stream, COMMAND_LAUNCH, function->kernel->args_bytes);
  if (!command) return hip_ErrorOutOfMemory;
  if (!pack(function->kernel, params, extra, command->payload)) {
    cpu_stream_drop(stream, command);
    return hip_ErrorInvalidValue;
  }
  struct cpu_launch *launch = &command->launch;
  *launch = (struct cpu_launch){.kernel = function->kernel,
                                .name = function->name,
                                .shared = geometry->shared,
                                .local = function->local,
                                .args = command->payload,
                                .tag = cpu_device_tag(),
                                .warp = cpu_device_warp(function->device),
                                .timeout_ms = cpu_device_timeout(function->device),
                                .checked = cpu_device_checked(function->device)};
  memcpy(launch->grid, geometry->grid, sizeof launch->grid);
  memcpy(launch->block, geometry->block, sizeof launch->block);
  *out = command;
  return hip_Success;
}

hip_error_t cpu_function_launch(hip_function_t function, const struct launch_geometry *geometry, hip_stream_t stream,
                                void **params, void **extra) {
  struct command *command;
  hip_error_t rc = make_launch(function, geometry, stream, params, extra, &command);
  return rc ? rc : cpu_stream_commit(stream, command, NULL);
}

hip_error_t cpu_function_launch_timed(hip_function_t function, const struct launch_geometry *geometry,
                                      hip_stream_t stream, void **params, void **extra, hip_event_t start,
                                      hip_event_t stop) {
  struct command *command;
  hip_error_t rc = make_launch(function, geometry, stream, params, extra, &command);
  return rc ? rc : cpu_events_commit(start, stop, stream, command);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

hip_error_t cpu_function_attribute(int *value, hip_func_attribute_t attribute, hip_function_t function) {
  if (!value) return hip_ErrorInvalidValue;
  if (!function) return hip_ErrorInvalidHandle;
  size_t shared = function->shared < INT32_MAX ? function->shared : INT32_MAX;
  switch (attribute) {
  case hip_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = (int)function->max_threads;
    return hip_Success;
  case hip_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = (int)shared;
    return hip_Success;
  case hip_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = shared < CPU_SHARED_BYTES ? (int)(CPU_SHARED_BYTES - shared) : 0;
    return hip_Success;
  case hip_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case hip_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
  case hip_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 0; /* means nothing here */
    return hip_Success;
  }
  return hip_ErrorInvalidValue;
}

hip_error_t cpu_function_occupancy(int *blocks, hip_function_t function, int block, size_t shared) {
  if (!blocks || block <= 0) return hip_ErrorInvalidValue;
  if (!function) return hip_ErrorInvalidHandle;
  unsigned warp = cpu_device_warp(function->device);
  size_t threads = ((size_t)block + warp - 1) / warp * warp, used;
  int count =
      (unsigned)block <= function->max_threads && threads <= CPU_MAX_THREADS ? (int)(CPU_MAX_THREADS / threads) : 0;
  if (__builtin_add_overflow(shared, function->shared, &used)) used = SIZE_MAX;
  if (used && CPU_SHARED_BYTES / used < (size_t)count) count = (int)(CPU_SHARED_BYTES / used);
  *blocks = count;
  return hip_Success;
}
