/*
 * geometry.c - the limits of a launch's geometry. Each error names the kernel, what was given and what is possible.
 */
#include "server/geometry.h"

#include <inttypes.h>

#include "memory/layout.h"
#include "server/program.h"

static const char axes[] = "xyz";

luhip_status geometry_check_grid(const luhip_kernel *kernel, const int64_t grid[3], luhip_error **error) {
  const luhip_device_info *info = &kernel->program->device->info;
  for (int i = 0; i < 3; i++) {
    if (grid[i] >= 0 && grid[i] <= info->max_grid[i]) continue;
    return error_set(error, LUHIP_E_LIMITS, "kernel '%s': grid %c is %" PRId64 ", 0 to %" PRId64 " are possible on %s",
                     luhip_kernel_name(kernel), axes[i], grid[i], info->max_grid[i], info->id);
  }
  return LUHIP_OK;
}

static luhip_status check_block(const luhip_kernel *kernel, const int64_t block[3], luhip_error **error) {
  const luhip_device_info *info = &kernel->program->device->info;
  for (int i = 0; i < 3; i++) {
    if (block[i] >= 1 && block[i] <= info->max_block[i]) continue;
    return error_set(error, LUHIP_E_LIMITS, "kernel '%s': block %c is %" PRId64 ", 1 to %d are possible on %s",
                     luhip_kernel_name(kernel), axes[i], block[i], info->max_block[i], info->id);
  }
  int most = kernel->info.max_threads < info->max_threads ? kernel->info.max_threads : info->max_threads;
  int64_t threads = block[0] * block[1] * block[2];
  if (threads <= most) return LUHIP_OK;
  return error_set(error, LUHIP_E_LIMITS,
                   "kernel '%s': a block of %" PRId64 " x %" PRId64 " x %" PRId64 " is %" PRId64
                   " threads, at most %d are possible for it on %s",
                   luhip_kernel_name(kernel), block[0], block[1], block[2], threads, most, info->id);
}

static luhip_status check_shared(const luhip_kernel *kernel, int64_t shared, luhip_error **error) {
  size_t fixed = kernel->info.shared_bytes, most = kernel->shared_most;
  if (shared >= 0 && fixed <= most && (uint64_t)shared <= most - fixed) return LUHIP_OK;
  return error_set(error, LUHIP_E_LIMITS,
                   "kernel '%s': shared memory is %zu bytes of its own and %" PRId64
                   " dynamic, at most %zu together are possible on %s",
                   luhip_kernel_name(kernel), fixed, shared, most, kernel->program->device->info.id);
}

/* A grid buffer holds three u32, in a row. Whether it was freed is looked at with the lock. */
static luhip_status check_grid_buffer(const luhip_kernel *kernel, const luhip_buffer *buffer, luhip_error **error) {
  const luhip_layout *layout = &buffer->layout;
  if (layout->dtype == LUHIP_U32 && layout->count == 3 && buffer->contiguous) return LUHIP_OK;
  char text[128];
  layout_describe(layout, text, sizeof text);
  return error_set(error, LUHIP_E_TYPE, "kernel '%s': a grid from a buffer is u32[3], contiguous, not %s%s",
                   luhip_kernel_name(kernel), text, buffer->contiguous ? "" : " with strides");
}

luhip_status geometry_check(const luhip_kernel *kernel, const luhip_launch_config *config, struct geometry *out,
                            luhip_error **error) {
  luhip_status status = check_block(kernel, config->block, error);
  if (!status) status = check_shared(kernel, config->shared, error);
  if (!status && config->grid_buffer) status = check_grid_buffer(kernel, config->grid_buffer, error);
  if (!status && !config->grid_buffer) status = geometry_check_grid(kernel, config->grid, error);
  if (!status && config->ntouches > MAX_TOUCHES) {
    status = error_set(error, LUHIP_E_ARGUMENT, "kernel '%s': %zu buffers are touched, at most %d can be",
                       luhip_kernel_name(kernel), config->ntouches, MAX_TOUCHES);
  }
  if (status) return status;
  *out = (struct geometry){.shared = (uint32_t)config->shared,
                           .grid_buffer = config->grid_buffer,
                           .touches = config->touches,
                           .ntouches = config->ntouches};
  for (int i = 0; i < 3; i++) {
    out->block[i] = (uint32_t)config->block[i];
    out->grid[i] = config->grid_buffer ? 0 : (uint32_t)config->grid[i];
  }
  out->simple = !out->ntouches && out->grid[0] && out->grid[1] && out->grid[2];
  return LUHIP_OK;
}
