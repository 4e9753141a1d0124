/*
 * uncompiled.c - a launch whose kernel could not be compiled (D2).
 *
 * There is no signature to hold the arguments against, so only the buffers among them are looked at. Those that the
 * kernel's declaration writes carry the compile error, as they would carry whatever else keeps a launch from running.
 */
#include "kernel/declared.h"
#include "server/buffer.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/geometry.h"

#include <stdio.h>

enum { MAX_USES = LUHIP_MAX_ARGS + MAX_TOUCHES };

/* What would have been launched. */
struct uncompiled {
  luhip_device *device;
  const char *kernel;
  const luhip_launch_config *config;
  const luhip_arg *args;
  size_t nargs;
};

static luhip_status check_buffers(const struct uncompiled *u, luhip_error **error) {
  luhip_status status = LUHIP_OK;
  for (size_t i = 0; i < u->nargs && !status; i++) {
    char what[256];
    if (u->args[i].tag != LUHIP_ARG_BUFFER) continue;
    snprintf(what, sizeof what, "argument %zu of kernel '%.160s'", i + 1, u->kernel);
    status = buffer_usable(u->args[i].buffer, u->device, what, error);
  }
  for (size_t i = 0; i < u->config->ntouches && !status; i++)
    status = buffer_usable(u->config->touches[i], u->device, "a touched buffer", error);
  return status;
}

static void use(struct command *command, const luhip_buffer *buffer, unsigned access) {
  struct region region = buffer_reach(buffer);
  command_use(command, buffer->allocation, &region, access, 0);
}

static void claim(const struct uncompiled *u, uint32_t slot, const enum access *access, luhip_error *reason) {
  struct op_use uses[MAX_USES];
  struct command command = {.device = u->device, .uses = uses, .slot = slot};
  for (size_t i = 0; i < u->nargs; i++)
    if (u->args[i].tag == LUHIP_ARG_BUFFER) use(&command, u->args[i].buffer, access[i]);
  for (size_t i = 0; i < u->config->ntouches; i++) use(&command, u->config->touches[i], USE_READ | USE_WRITE);
  struct capture *capture = capture_recording(u->device, slot);
  if (capture) {
    capture_uncompiled(capture, &command, reason);
    return;
  }
  struct failure *failure = failure_new(&u->device->failures, luhip_error_retain(reason));
  command_reads_nothing(&command);
  command_failed(&command, failure);
  if (!failure->carried) failure_unclaimed(failure);
  failure_release(failure);
}

luhip_status luhip_launch_uncompiled(luhip_device *device, const char *source, const luhip_compile_options *options,
                                     const char *kernel, const luhip_launch_config *config, const luhip_arg *args,
                                     size_t nargs, luhip_error *reason, luhip_error **error) {
  enum access access[LUHIP_MAX_ARGS];
  if (nargs > LUHIP_MAX_ARGS || config->ntouches > MAX_TOUCHES)
    return error_set(error, LUHIP_E_ARGUMENT, "%zu arguments and %zu touched buffers; a launch takes at most %d and %d",
                     nargs, config->ntouches, LUHIP_MAX_ARGS, MAX_TOUCHES);
  declared_access(source, options, kernel, nargs, access);
  const struct uncompiled u = {device, kernel ? kernel : "(the only one)", config, args, nargs};
  uint32_t slot;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  status = slot_of(device, config->stream, &slot, error);
  if (!status && !config->dry) status = device_sound(device, error);
  if (!status) status = check_buffers(&u, error);
  if (!status) {
    faults_take(device);
    if (config->dry) {
      profiler_lost(device, reason); /* what was to be measured is not what was meant */
    } else {
      claim(&u, slot, access, reason);
    }
  }
  device_leave(device);
  return status;
}
