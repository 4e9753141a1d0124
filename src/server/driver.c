/*
 * driver.c - the driver's errors in our words, and devices that did not survive one.
 */
#include "server/graph.h"
#include "server/program.h"
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>

static luhip_status kind_of(hip_error_t rc) {
  switch (rc) {
  case hip_ErrorOutOfMemory:
    return LUHIP_E_OOM;
  case hip_ErrorNoDevice:
  case hip_ErrorInvalidDevice:
  case hip_ErrorInsufficientDriver:
    return LUHIP_E_NO_DEVICE;
  case hip_ErrorLaunchTimeOut:
    return LUHIP_E_TIMEOUT;
  default:
    return LUHIP_E_DRIVER;
  }
}

luhip_error *driver_error(hip_error_t rc, luhip_status kind, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  if (kind == LUHIP_E_DRIVER) kind = kind_of(rc);
  return error_new(kind, "%s: the driver answered %s (%d)", what, hip_error_name(rc), (int)rc);
}

static const char *first_kernel(const luhip_graph *graph) {
  for (uint32_t i = 0; i < graph->nnodes; i++) {
    if (graph->nodes[i].kind == LUHIP_NODE_KERNEL) return luhip_kernel_name(graph->nodes[i].launch.kernel);
  }
  return NULL;
}

/* The oldest launch in flight is the first that can be to blame. */
static const char *suspect(luhip_device *device) {
  struct inflight *inflight = &device->inflight;
  for (uint64_t i = inflight->head; i < inflight->tail; i++) {
    const struct op *op = &inflight->ops[i & inflight->mask];
    if (op->failure) continue;
    if (op->keep.kernel) return luhip_kernel_name(op->keep.kernel);
    const char *kernel = op->keep.graph ? first_kernel(op->keep.graph) : NULL;
    if (kernel) return kernel;
  }
  return NULL;
}

void device_poison(luhip_device *device, hip_error_t rc) {
  if (device->poison || !hip_error_is_sticky(rc)) return;
  const char *kernel = suspect(device);
  luhip_error *error =
      error_new(LUHIP_E_POISONED,
                "device %s did not survive an error of the driver, %s (%d); the first launch suspected "
                "is of %s%s%s; close the device and open it again",
                device->info.id, hip_error_name(rc), (int)rc, kernel ? "kernel '" : "no kernel", kernel ? kernel : "",
                kernel ? "'" : "");
  device->poison = failure_new(&device->failures, error);
}

luhip_status device_sound(luhip_device *device, luhip_error **error) {
  if (!device->poison) return LUHIP_OK;
  return error_give(error, luhip_error_retain(device->poison->error));
}
