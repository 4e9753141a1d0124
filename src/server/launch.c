/*
 * launch.c - launches, in the order of D1 to D10.
 *
 * A launch is checked first, without the lock and without touching the device: arguments against the kernel's own
 * parameters, geometry against the device's limits. What is wrong there is the caller's and returned. From then on
 * whatever fails is the work's: it claims the buffers that would have been written, and the launch returns OK.
 */
#include "base/log.h"
#include "server/capture.h"
#include "server/command.h"
#include "server/future.h"
#include "server/geometry.h"
#include "server/prepared.h"
#include "server/program.h"
#include "server/transfer.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_USES = LUHIP_MAX_ARGS + MAX_TOUCHES, PACKED_BYTES = 4096 };

/* One launch under way. */
struct launching {
  luhip_device *device;
  luhip_kernel *kernel;
  const struct geometry *geometry;
  uint32_t grid[3];
  unsigned char *packed;
  struct kernel_use *arguments;
  size_t narguments;
  struct failure_set grid_failures; /* that the grid's buffer carries */
  bool returned; /* the grid was not waited for, or there will be memory for it: nothing is claimed */
};

/* ---- D3: buffers, with the lock ------------------------------------------------------------------------------ */

static luhip_status argument_unusable(const struct launching *l, const struct kernel_use *argument,
                                      luhip_error **error) {
  char what[256];
  kernel_describe_param(l->kernel->signature, argument->param, what, sizeof what);
  return buffer_usable(argument->buffer, l->device, what, error);
}

static luhip_status check_other_buffers(const struct launching *l, luhip_error **error) {
  const struct geometry *geometry = l->geometry;
  luhip_status status = LUHIP_OK;
  if (geometry->grid_buffer) status = buffer_usable(geometry->grid_buffer, l->device, "the grid", error);
  for (size_t i = 0; i < geometry->ntouches && !status; i++)
    status = buffer_usable(geometry->touches[i], l->device, "a touched buffer", error);
  return status;
}

static inline luhip_status check_buffers(const struct launching *l, luhip_error **error) {
  for (size_t i = 0; i < l->narguments; i++) {
    const luhip_buffer *buffer = l->arguments[i].buffer;
    if (!buffer || (buffer->device == l->device && buffer->allocation)) continue;
    return argument_unusable(l, &l->arguments[i], error);
  }
  bool others = l->geometry->grid_buffer || l->geometry->ntouches;
  return others ? check_other_buffers(l, error) : LUHIP_OK;
}

/* ---- D5: a grid from a buffer -------------------------------------------------------------------------------- */

/* Reads the three numbers; the lock is dropped while waiting. */
static luhip_status read_grid(struct launching *l, uint32_t slot, int64_t grid[3], luhip_error **error) {
  luhip_buffer *buffer = l->geometry->grid_buffer;
  luhip_future *future;
  luhip_status status = read_start(l->device, slot, &buffer, 1, &future, error);
  l->returned = status == LUHIP_E_OOM && host_repeats();
  if (status) return status;
  struct waiting waiting = waiting_start(NULL);
  status = wait_position(l->device, slot, future->position, &waiting, error);
  l->returned = status == LUHIP_E_INTERRUPTED || status == LUHIP_E_TIMEOUT;
  if (!status) {
    faults_take(l->device);
    status = future_finish(future, error);
  }
  const uint32_t *numbers = luhip_array_data(luhip_future_array(future, 0));
  for (int i = 0; i < 3 && !status; i++) grid[i] = numbers[i];
  future_release_locked(future);
  return status;
}

static luhip_status resolve_grid(struct launching *l, uint32_t slot, luhip_error **error) {
  memcpy(l->grid, l->geometry->grid, sizeof l->grid);
  if (!l->geometry->grid_buffer) return LUHIP_OK;
  int64_t grid[3] = {0};
  luhip_status status = read_grid(l, slot, grid, error);
  luhip_buffer *buffer = l->geometry->grid_buffer;
  struct region region = buffer_span(buffer);
  if (status && !l->returned && buffer->allocation) allocation_failures(buffer->allocation, &region, &l->grid_failures);
  if (!status) status = geometry_check_grid(l->kernel, grid, error);
  for (int i = 0; i < 3 && !status; i++) l->grid[i] = (uint32_t)grid[i];
  return status;
}

static bool nothing_to_do(const struct launching *l) {
  return !l->grid[0] || !l->grid[1] || !l->grid[2];
}

/* ---- D7: skipping -------------------------------------------------------------------------------------------- */

static void name_use(const struct launching *l, const struct op_use *use, char *text, size_t len) {
  if (use->param == NO_PARAM) {
    snprintf(text, len, "a touched buffer");
    return;
  }
  const char *name = l->kernel->signature->params[use->param].shown.name;
  if (*name) {
    snprintf(text, len, "'%s'", name);
  } else {
    snprintf(text, len, "argument %u", use->param + 1u);
  }
}

/* Lists the uses that `wanted` picks, by name into text and by allocation into ids. */
static unsigned list_uses(const struct launching *l, const struct command *command,
                          bool (*wanted)(const struct op_use *), char *text, size_t len, uint64_t ids[SKIP_IDS]) {
  unsigned count = 0;
  size_t at = 0;
  *text = '\0';
  for (uint32_t i = 0; i < command->nuses; i++) {
    const struct op_use *use = &command->uses[i];
    if (!wanted(use)) continue;
    char name[128];
    name_use(l, use, name, sizeof name);
    if (at < len) at += (size_t)snprintf(text + at, len - at, "%s%s", count ? ", " : "", name);
    if (count < SKIP_IDS) ids[count] = use->allocation->id;
    count++;
  }
  return count < SKIP_IDS ? count : SKIP_IDS;
}

static bool is_stale(const struct op_use *use) {
  return (use->access & USE_READ) && claims_meet(&use->allocation->claims, &use->region);
}

static bool is_written(const struct op_use *use) {
  return use->access & USE_WRITE;
}

/* Its grid, or what it reads, is stale. */
static void skip(const struct launching *l, struct command *command, const struct failure_set *set) {
  char stale[256] = "its grid", written[256], text[1280];
  struct skip record = {.nneeded = 1};
  if (set == &l->grid_failures) {
    record.needed[0] = l->geometry->grid_buffer->allocation->id;
    command_reads_nothing(command);
  } else {
    record.nneeded = list_uses(l, command, is_stale, stale, sizeof stale, record.needed);
  }
  record.nwritten = list_uses(l, command, is_written, written, sizeof written, record.written);
  snprintf(text, sizeof text,
           "kernel '%.200s' was skipped, since what it reads from %s is stale; %s %s not written (write %s again, or "
           "declare "
           "it out if it is only written)",
           luhip_kernel_name(l->kernel), stale, *written ? written : "nothing", record.nwritten > 1 ? "were" : "was",
           stale);
  LOG(LOG_LAUNCHES, LOG_BASIC, "%s", text);
  failure_set_skip(set, text, &record);
  struct failure *failure = failure_of_set(&l->device->failures, set);
  command_failed(command, failure);
  failure_release(failure);
}

/* It cannot run, for a reason that may be no claim yet. */
static void fail_with(struct command *command, struct failure *failure) {
  command_failed(command, failure);
  if (!failure->carried) failure_unclaimed(failure);
}

static void fail(const struct launching *l, struct command *command, luhip_error *error) {
  LOG(LOG_LAUNCHES, LOG_BASIC, "kernel '%s' failed: %s", luhip_kernel_name(l->kernel), luhip_error_message(error));
  struct failure *failure = failure_new(&l->device->failures, error);
  fail_with(command, failure);
  failure_release(failure);
}

/* ---- D8: enqueueing ------------------------------------------------------------------------------------------ */

static void collect_uses(const struct launching *l, struct command *command) {
  for (size_t i = 0; i < l->narguments; i++) {
    const struct kernel_use *argument = &l->arguments[i];
    struct region region = argument_region(argument);
    if (argument_allocation(argument))
      command_use(command, argument_allocation(argument), &region, argument->access, argument->param);
  }
  for (size_t i = 0; i < l->geometry->ntouches; i++) {
    struct region region = buffer_reach(l->geometry->touches[i]);
    command_use(command, l->geometry->touches[i]->allocation, &region, USE_READ | USE_WRITE, NO_PARAM);
  }
}

/* Addresses are known now: the first uses of the command are the arguments, in their order. */
static void fill_addresses(const struct launching *l, const struct command *command) {
  for (size_t i = 0; i < l->narguments; i++) {
    const struct op_use *use = &command->uses[i];
    char *address = use->allocation->address;
    if (address) address += use->region.offset;
    memcpy(l->packed + l->arguments[i].offset, &address, sizeof address);
  }
}

static inline hip_error_t submit(luhip_kernel *kernel, const uint32_t grid[3], const struct geometry *geometry,
                                 uint32_t slot, uint64_t sequence, void **params) {
  const luhip_device *device = kernel->program->device;
  const struct hip_api *api = device->api;
  const uint32_t *block = geometry->block;
  if (api->hipxLaunchTag) api->hipxLaunchTag(sequence);
  return api->hipModuleLaunchKernel(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                    geometry->shared, device->slots[slot].handle, params, NULL);
}

static hip_error_t enqueue(const struct launching *l, uint32_t slot, uint64_t sequence, const struct record *timed) {
  const struct hip_api *api = l->device->api;
  const struct kernel_signature *signature = l->kernel->signature;
  const uint32_t *grid = l->grid, *block = l->geometry->block;
  void *params[LUHIP_MAX_ARGS];
  unsigned char *packed = l->packed;
  const struct kernel_param *param = signature->params;
  for (size_t i = 0, n = signature->nparams; i < n; i++, param++) params[i] = packed + param->offset;
  if (!timed) return submit(l->kernel, grid, l->geometry, slot, sequence, params);
  hip_event_t start, stop;
  trace_events(timed, &start, &stop);
  if (api->hipxLaunchTag) api->hipxLaunchTag(sequence);
  return api->hipxLaunchTimed(l->kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                              l->geometry->shared, l->device->slots[slot].handle, params, NULL, start, stop);
}

/* Enqueues it while a trace is on. */
static hip_error_t enqueue_traced(const struct launching *l, uint32_t slot, uint64_t sequence) {
  bool timed = l->device->api->hipxLaunchTimed;
  struct record *record = trace_enter(l->device, slot, timed);
  hip_error_t rc = enqueue(l, slot, sequence, timed ? record : NULL);
  struct traced traced = {.kind = "launch",
                          .name = luhip_kernel_name(l->kernel),
                          .kernel = l->kernel,
                          .grid = l->grid,
                          .block = l->geometry->block,
                          .shared = l->geometry->shared};
  trace_after(l->device, record, rc == hip_Success, &traced);
  return rc;
}

static void log_launch(const struct launching *l, uint32_t slot) {
  const uint32_t *block = l->geometry->block;
  LOG(LOG_LAUNCHES, LOG_FULL, "kernel '%s' on %s, stream slot %u: grid %u, %u, %u, block %u, %u, %u, shared %u",
      luhip_kernel_name(l->kernel), l->device->info.id, slot, l->grid[0], l->grid[1], l->grid[2], block[0], block[1],
      block[2], l->geometry->shared);
}

static void run_command(const struct launching *l, struct command *command) {
  uint64_t sequence = next_sequence(l->device);
  fill_addresses(l, command);
  hip_error_t rc = l->device->profiler.trace ? enqueue_traced(l, command->slot, sequence)
                                             : enqueue(l, command->slot, sequence, NULL);
  if (rc == hip_Success) {
    command_done(command, sequence, NULL);
    log_launch(l, command->slot);
    return;
  }
  device_poison(l->device, rc);
  fail(l, command, driver_error(rc, LUHIP_E_LAUNCH, "launch of kernel '%s'", luhip_kernel_name(l->kernel)));
}

/* D7 and D8. */
static luhip_status carry_out(const struct launching *l, struct command *command, luhip_error **error) {
  struct failure_set set = {0};
  struct failure *failure = NULL;
  luhip_status status = LUHIP_OK;
  for (bool last = false;; last = true) {
    if (command_tainted(command, &set)) {
      skip(l, command, &set);
      break;
    }
    enum command_state state = command_prepare(command, last, &failure);
    if (state == COMMAND_AGAIN) continue;
    if (state == COMMAND_READY) run_command(l, command);
    if (state == COMMAND_FAILED) fail_with(command, failure);
    if (state == COMMAND_RETURNED) status = command_returned(failure_hold(failure), error);
    break;
  }
  failure_release(failure);
  failure_set_free(&set);
  return status;
}

/* ---- the launch ---------------------------------------------------------------------------------------------- */

/* The launch becomes a node of the stream's capture. */
static luhip_status record(const struct launching *l, struct command *command, struct capture *capture,
                           luhip_error **error) {
  struct recorded_launch launch = {.kernel = l->kernel,
                                   .shared = l->geometry->shared,
                                   .packed = l->packed,
                                   .arguments = l->arguments,
                                   .narguments = (uint32_t)l->narguments};
  memcpy(launch.grid, l->grid, sizeof launch.grid);
  memcpy(launch.block, l->geometry->block, sizeof launch.block);
  return capture_launch(capture, command, &launch, error);
}

/* What it reads and writes is known: it is recorded, carried out, or fails for the given reason, which is taken over. */
static luhip_status launch_collected(struct launching *l, uint32_t slot, luhip_error *reason, luhip_error **error) {
  struct op_use uses[MAX_USES];
  struct command command = {.device = l->device, .uses = uses, .slot = slot, .keep = {.kernel = l->kernel}};
  struct capture *capture = capture_recording(l->device, slot);
  collect_uses(l, &command);
  if (capture) return reason ? error_give(error, reason) : record(l, &command, capture, error);
  luhip_status status = LUHIP_OK;
  if (l->grid_failures.count) {
    luhip_error_release(reason);
    skip(l, &command, &l->grid_failures);
  } else if (reason) {
    command_reads_nothing(&command);
    fail(l, &command, reason);
  } else {
    status = carry_out(l, &command, error);
  }
  command_close(&command);
  return status;
}

/* Tables of integers get their memory first, for which the lock may be dropped. */
static luhip_status launch_tables(struct launching *l, uint32_t slot, luhip_error **error) {
  luhip_error *reason = NULL;
  luhip_status status = metadata_resolve(l->device, slot, l->kernel->signature, l->arguments, l->narguments, &reason);
  bool returned = status == LUHIP_E_INTERRUPTED || status == LUHIP_E_TIMEOUT ||
                  (status == LUHIP_E_OOM && host_repeats()); /* nothing is claimed */
  if (status && !reason) reason = error_new(LUHIP_E_MEMORY, "the host has no memory for a table of integers");
  if (!returned) {
    status = device_closing(l->device) ? error_set(error, LUHIP_E_FREED, "device %s was closed", l->device->info.id)
                                       : check_buffers(l, error);
  }
  if (returned) {
    error_give(error, reason);
  } else if (status) {
    luhip_error_release(reason);
  } else {
    status = launch_collected(l, slot, reason, error);
  }
  metadata_done(l->arguments, l->narguments);
  return status;
}

static bool has_tables(const struct launching *l) {
  for (size_t i = 0; i < l->narguments; i++) {
    if (l->arguments[i].table) return true;
  }
  return false;
}

static luhip_status launch_locked(struct launching *l, uint32_t slot, luhip_error **error) {
  faults_take(l->device);
  struct capture *capture = capture_recording(l->device, slot);
  if (capture && l->geometry->grid_buffer) return capture_refuse(l->device, slot, "a grid from a buffer", error);
  luhip_error *grid_error = NULL;
  luhip_status grid_status = resolve_grid(l, slot, &grid_error);
  if (l->returned) return error_give(error, grid_error);
  luhip_status status = l->geometry->grid_buffer ? check_buffers(l, error) : LUHIP_OK; /* the lock was dropped */
  if (status || (!grid_status && nothing_to_do(l))) {
    luhip_error_release(grid_error);
    return status;
  }
  return !grid_status && has_tables(l) ? launch_tables(l, slot, error) : launch_collected(l, slot, grid_error, error);
}

/* The long way. */
static luhip_status launch_entered(luhip_kernel *kernel, const struct geometry *geometry, uint32_t slot, bool dry,
                                   const luhip_arg *args, size_t nargs, luhip_error **error) {
  alignas(16) unsigned char packed[PACKED_BYTES];
  struct kernel_use arguments[LUHIP_MAX_ARGS];
  struct launching l = {.device = kernel->program->device,
                        .kernel = kernel,
                        .geometry = geometry,
                        .packed = packed,
                        .arguments = arguments};
  luhip_status status = dry ? LUHIP_OK : device_sound(l.device, error);
  if (!status && !dry)
    status = slot_throttle(l.device, slot, error); /* may drop the lock: before buffers are looked at */
  if (!status) status = kernel_pack(kernel->signature, args, nargs, packed, arguments, &l.narguments, error);
  if (!status) status = check_buffers(&l, error);
  if (!status && !dry) status = launch_locked(&l, slot, error);
  failure_set_free(&l.grid_failures);
  return status;
}

/* ---- the short way: arguments that were prepared ---------------------------------------------------------------- */

/* With nothing that concerns this launch but order: no failure is known of, nothing is recorded or traced, there is room. */
static inline bool is_quiet(luhip_device *device, uint32_t index) {
  const struct slot *slot = &device->slots[index];
  return !device->failures.count && !device->poison && !device->recordings && !device->profiler.trace &&
         slot->tail - slot->passed < BACKLOG && !log_on(LOG_LAUNCHES, LOG_FULL);
}

/* What is measured is launched as it always is: the shorter way takes another time on the device. */
static inline hip_error_t submit_prepared(struct prepared *prepared, luhip_kernel *kernel,
                                          const struct geometry *geometry, uint32_t slot, uint64_t sequence) {
  const luhip_device *device = kernel->program->device;
  const uint32_t *grid = geometry->grid, *block = geometry->block;
  if (prepared->launches < AGAIN_AFTER || !device->api->hipxLaunchAgain || device->profiler.watches) {
    if (prepared->launches < AGAIN_AFTER) prepared->launches++;
    return submit(kernel, grid, geometry, slot, sequence, prepared->params);
  }
  bool same = !prepared->changed, idle = device->inflight.head == device->inflight.tail;
  prepared->changed = false;
  return device->api->hipxLaunchAgain(&prepared->again, same, idle, kernel->function, grid[0], grid[1], grid[2],
                                      block[0], block[1], block[2], geometry->shared, device->slots[slot].handle,
                                      prepared->params);
}

/* The driver refused it, or the host has no memory to note it. */
static __attribute__((noinline)) void prepared_failed(luhip_kernel *kernel, struct command *command, hip_error_t rc,
                                                      struct failure *failure) {
  struct launching l = {.device = command->device, .kernel = kernel};
  if (failure) {
    fail_with(command, failure);
    failure_release(failure);
    return;
  }
  device_poison(command->device, rc);
  fail(&l, command, driver_error(rc, LUHIP_E_LAUNCH, "launch of kernel '%s'", luhip_kernel_name(kernel)));
}

/* False: it was not served, and nothing has happened. */
static bool launch_prepared(struct prepared *prepared, luhip_kernel *kernel, const struct geometry *geometry,
                            uint32_t slot, const luhip_arg *args, size_t nargs) {
  luhip_device *device = kernel->program->device;
  if (!geometry->simple || nargs != kernel->signature->nparams) return false;
  faults_take(device);
  if (!is_quiet(device, slot) || !prepared_take(prepared, kernel->signature, device, args)) return false;
  struct command command = {
      .device = device, .uses = prepared->uses, .nuses = prepared->nuses, .slot = slot, .keep = {.kernel = kernel}};
  struct failure *failure = NULL;
  hip_error_t rc = hip_Success;
  if (command_order(&command, &failure) == COMMAND_READY) {
    uint64_t sequence = next_sequence(device);
    rc = submit_prepared(prepared, kernel, geometry, slot, sequence);
    if (__builtin_expect(rc == hip_Success, 1)) {
      command_done(&command, sequence, NULL);
      return true;
    }
  }
  prepared_failed(kernel, &command, rc, failure);
  return true;
}

static luhip_status launch_run(struct prepared **prepared, luhip_kernel *kernel, const struct geometry *geometry,
                               luhip_stream *stream, bool dry, const luhip_arg *args, size_t nargs,
                               luhip_error **error) {
  luhip_device *device = kernel->program->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  uint32_t slot;
  status = slot_of(device, stream, &slot, error);
  if (!*prepared) *prepared = prepared_new(kernel->signature);
  if (!status && (dry || !*prepared || !launch_prepared(*prepared, kernel, geometry, slot, args, nargs)))
    status = launch_entered(kernel, geometry, slot, dry, args, nargs, error);
  device_leave(device);
  return status;
}

luhip_status luhip_launch(luhip_kernel *kernel, const luhip_launch_config *config, const luhip_arg *args, size_t nargs,
                          luhip_error **error) {
  struct geometry geometry;
  luhip_status status = geometry_check(kernel, config, &geometry, error);
  if (status) return status;
  return launch_run(&kernel->prepared, kernel, &geometry, config->stream, config->dry, args, nargs, error);
}

/* ---- bound launchers ----------------------------------------------------------------------------------------- */

struct luhip_launcher {
  luhip_kernel *kernel;
  luhip_stream *stream; /* NULL: given at each run */
  bool dry;
  struct geometry geometry;
  struct prepared *prepared; /* NULL until the first run */
  luhip_buffer *touches[];   /* retained */
};

luhip_status luhip_bind(luhip_kernel *kernel, const luhip_launch_config *config, luhip_launcher **out,
                        luhip_error **error) {
  struct geometry geometry;
  luhip_status status = geometry_check(kernel, config, &geometry, error);
  if (status) return status;
  luhip_launcher *launcher = malloc(sizeof *launcher + config->ntouches * sizeof launcher->touches[0]);
  if (!launcher) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a launcher");
  *launcher = (luhip_launcher){.kernel = luhip_kernel_retain(kernel),
                               .stream = luhip_stream_retain(config->stream),
                               .dry = config->dry,
                               .geometry = geometry};
  luhip_buffer_retain(geometry.grid_buffer);
  for (size_t i = 0; i < geometry.ntouches; i++) launcher->touches[i] = luhip_buffer_retain(config->touches[i]);
  launcher->geometry.touches = launcher->touches;
  *out = launcher;
  return LUHIP_OK;
}

luhip_status luhip_launcher_run(luhip_launcher *launcher, luhip_stream *stream, bool dry, const luhip_arg *args,
                                size_t nargs, luhip_error **error) {
  return launch_run(&launcher->prepared, launcher->kernel, &launcher->geometry,
                    launcher->stream ? launcher->stream : stream, dry || launcher->dry, args, nargs, error);
}

/* What the driver holds for it may take a wait to be given back, which a finaliser must not make. */
static void forget_prepared(luhip_launcher *launcher) {
  luhip_device *device = launcher->kernel->program->device;
  bool known = launcher->prepared && launcher->prepared->again.owner;
  if (!known || !device_enter_quietly(device)) {
    free(launcher->prepared); /* nothing is known of it outside, or this is a child process */
    return;
  }
  if (!handles_add(&device->trash.prepared, launcher->prepared)) prepared_free(launcher->prepared, device->api);
  device_leave_quietly(device);
}

void luhip_launcher_release(luhip_launcher *launcher) {
  if (!launcher) return;
  for (size_t i = 0; i < launcher->geometry.ntouches; i++) luhip_buffer_release(launcher->touches[i]);
  luhip_buffer_release(launcher->geometry.grid_buffer);
  luhip_stream_release(launcher->stream);
  forget_prepared(launcher);
  luhip_kernel_release(launcher->kernel);
  free(launcher);
}

luhip_kernel *luhip_launcher_kernel(luhip_launcher *launcher) {
  return launcher->kernel;
}
