/*
 * device.c - opening and closing, the registry of open devices, and forks.
 *
 * One server per device and process: the registry maps (back end, ordinal) to the one that is open. It has a lock
 * of its own, never held together with waiting. The last close takes the device out of use, waits for its work
 * without a lock, gives everything back and only then leaves the registry, so that an open that comes meanwhile
 * finds the driver's memory free again. The struct stays until the last object made from it is released.
 *
 * A child process inherits the structs but neither the driver's threads nor a sane lock: what was opened before
 * the fork answers E_FORKED there and is never touched. The child's registry starts empty.
 */
#include "base/config.h"
#include "base/log.h"
#include "server/allocation.h"
#include "server/array.h"
#include "server/background.h"
#include "server/capture.h"
#include "server/event.h"
#include "server/graph.h"
#include "server/memory.h"
#include "server/prepared.h"
#include "server/program.h"
#include "server/server.h"
#include "server/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  luhip_device *first;
  unsigned forks; /* of this process's line; atomic */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static const double CLOSE_MOST_MS = 60000; /* a device that is not done by then is left alone, memory and all */

/* ---- forks --------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
  pthread_mutex_lock(&registry.lock);
  module_lock();
}

static void after_fork_in_parent(void) {
  module_unlock();
  pthread_mutex_unlock(&registry.lock);
}

static void after_fork_in_child(void) {
  registry.first = NULL;
  __atomic_add_fetch(&registry.forks, 1, __ATOMIC_RELAXED);
  pthread_cond_init(&registry.changed, NULL);
  after_fork_in_parent();
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

unsigned fork_count(void) {
  return __atomic_load_n(&registry.forks, __ATOMIC_RELAXED);
}

uint64_t next_id(void) {
  static uint64_t last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* ---- entering and leaving ------------------------------------------------------------------------------------ */

static int state_of(luhip_device *device) {
  return __atomic_load_n(&device->state, __ATOMIC_ACQUIRE);
}

bool device_closing(luhip_device *device) {
  return state_of(device) != DEVICE_OPEN;
}

luhip_status device_enter_host(luhip_device *device, luhip_error **error) {
  if (device->fork_count != fork_count()) {
    return error_set(error, LUHIP_E_FORKED, "device %s was opened before this process was forked; open it again here",
                     device->info.id);
  }
  pthread_mutex_lock(&device->lock);
  if (state_of(device) != DEVICE_OPEN) {
    pthread_mutex_unlock(&device->lock);
    return error_set(error, LUHIP_E_FREED, "device %s was closed", device->info.id);
  }
  return LUHIP_OK;
}

luhip_status device_enter(luhip_device *device, luhip_error **error) {
  luhip_status status = device_enter_host(device, error);
  if (status) return status;
  hip_error_t rc = device->api->hipSetDevice(device->ordinal);
  if (rc == hip_Success) return LUHIP_OK;
  device_poison(device, rc);
  pthread_mutex_unlock(&device->lock); /* on another device nothing may be done in its name */
  return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "device %s cannot be made current", device->info.id));
}

bool device_enter_quietly(luhip_device *device) {
  if (device->fork_count != fork_count()) return false;
  pthread_mutex_lock(&device->lock);
  device->api->hipSetDevice(device->ordinal);
  return true;
}

bool handles_add(struct handles *handles, void *handle) {
  if (handles->count == handles->capacity) {
    size_t capacity = handles->capacity ? handles->capacity * 2 : 8;
    void **list = realloc(handles->list, capacity * sizeof *list);
    if (!list) return false;
    handles->list = list;
    handles->capacity = capacity;
  }
  handles->list[handles->count++] = handle;
  return true;
}

static bool has_trash(const struct trash *trash) {
  return trash->pages || trash->programs || trash->graphs.count || trash->events.count || trash->prepared.count;
}

static void empty_trash(luhip_device *device) {
  struct trash trash = device->trash;
  device->trash = (struct trash){0};
  device_drop(device);
  pages_free(trash.pages);
  program_unload_list(device->api, trash.programs);
  for (size_t i = 0; i < trash.graphs.count; i++) device->api->hipGraphExecDestroy(trash.graphs.list[i]);
  for (size_t i = 0; i < trash.events.count; i++) device->api->hipEventDestroy(trash.events.list[i]);
  for (size_t i = 0; i < trash.prepared.count; i++) prepared_free(trash.prepared.list[i], device->api);
  free(trash.graphs.list);
  free(trash.events.list);
  free(trash.prepared.list);
  device_retake(device);
}

void device_leave(luhip_device *device) {
  while (!device->recordings && has_trash(&device->trash)) empty_trash(device);
  pthread_mutex_unlock(&device->lock);
}

void device_leave_quietly(luhip_device *device) {
  /* Nobody comes after the close, and nothing is left that could wait. */
  if (state_of(device) == DEVICE_CLOSED) {
    device_leave(device);
  } else {
    pthread_mutex_unlock(&device->lock);
  }
}

void device_drop(luhip_device *device) {
  device->dropped++;
  pthread_mutex_unlock(&device->lock);
}

void device_retake(luhip_device *device) {
  pthread_mutex_lock(&device->lock);
  device->dropped--;
  device->api->hipSetDevice(device->ordinal);
}

luhip_device *device_retain(luhip_device *device) {
  __atomic_fetch_add(&device->refs, 1, __ATOMIC_RELAXED);
  return device;
}

void device_release(luhip_device *device) {
  if (__atomic_sub_fetch(&device->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (device->fork_count == fork_count()) pthread_mutex_destroy(&device->lock);
  luhip_error_release(device->failures.spare.error);
  memory_free(device);
  free(device);
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* What the caller left open. A device without a checked mode is not asked for one by a setting. */
static luhip_status fill_options(const luhip_device *device, luhip_open_options *options, luhip_error **error) {
  uint64_t timeout = options->timeout_ms, limit = options->memory_limit, persistent = options->persistent;
  luhip_status status = timeout ? LUHIP_OK : config_number(CONFIG_TIMEOUT, &timeout, error);
  if (!status && !limit) status = config_number(CONFIG_MEMORY_LIMIT, &limit, error);
  if (!status && !persistent) status = config_number(CONFIG_MEMORY_PERSISTENT, &persistent, error);
  if (status) return status;
  options->timeout_ms = (unsigned)timeout;
  options->memory_limit = (size_t)limit;
  options->persistent = (luhip_persistent_policy)persistent;
  if (device->api->hipxSetChecked && config_is_on(CONFIG_CPU_CHECKED)) options->checked = true;
  return LUHIP_OK;
}

static luhip_status not_started(const luhip_device *device, hip_error_t rc, luhip_error **error) {
  return error_give(error, driver_error(rc, LUHIP_E_NO_DEVICE, "device %s cannot be started", device->info.id));
}

static luhip_status start_driver(luhip_device *device, luhip_error **error) {
  const struct hip_api *api = device->api;
  hip_error_t rc = api->hipInit(0);
  if (rc == hip_Success) rc = api->hipSetDevice(device->ordinal);
  if (rc != hip_Success) return not_started(device, rc, error);
  if (device->options.checked && !api->hipxSetChecked) {
    return error_set(error, LUHIP_E_ARGUMENT, "device %s has no checked mode", device->info.id);
  }
  if (api->hipxSetChecked) api->hipxSetChecked(device->options.checked);
  if (api->hipxSetTimeout) api->hipxSetTimeout(device->options.timeout_ms);
  rc = stream_open_default(device);
  if (rc == hip_Success) return LUHIP_OK;
  return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "device %s: no stream", device->info.id));
}

/* No two servers of the process have a sequence number in common, for longer than a fault can come late. */
static uint64_t before_first_sequence(void) {
  static uint64_t opened;
  return __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED) << 40;
}

static luhip_status device_new(const struct device_name *name, const luhip_open_options *options, luhip_device **out,
                               luhip_error **error) {
  luhip_device *device = calloc(1, sizeof *device);
  if (!device) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a device");
  *device = (luhip_device){.refs = 1,
                           .users = 1,
                           .fork_count = fork_count(),
                           .provider = name->provider,
                           .api = name->api,
                           .ordinal = name->ordinal,
                           .sequence = before_first_sequence(),
                           .options = *options};
  pthread_mutex_init(&device->lock, NULL);
  failure_store_open(&device->failures);
  luhip_status status = fill_options(device, &device->options, error);
  if (!status) {
    hip_error_t rc = devices_describe(name, &device->info);
    status = rc == hip_Success ? memory_open(device, error) : not_started(device, rc, error);
  }
  if (!status) status = start_driver(device, error);
  if (status) {
    device_release(device);
    return status;
  }
  int pitch = 0;
  if (name->api->hipDeviceGetAttribute(&pitch, hip_DeviceAttributeTexturePitchAlignment, name->ordinal) !=
      hip_Success) {
    pitch = 0;
  }
  device->pitch_alignment = pitch > 0 ? (size_t)pitch : device->info.alignment;
  *out = device;
  return LUHIP_OK;
}

static luhip_status conflict(const luhip_device *device, const char *option, const char *wanted, const char *has,
                             luhip_error **error) {
  return error_set(error, LUHIP_E_OPTIONS_CONFLICT, "device %s is open already with %s = %s, %s was asked for",
                   device->info.id, option, has, wanted);
}

static luhip_status check_options(const luhip_device *device, const luhip_open_options *wanted, luhip_error **error) {
  const luhip_open_options *has = &device->options;
  char a[32], b[32];
  if (wanted->checked && !has->checked) return conflict(device, "checked", "true", "false", error);
  if (wanted->memory_limit && wanted->memory_limit != has->memory_limit) {
    snprintf(a, sizeof a, "%zu", wanted->memory_limit);
    snprintf(b, sizeof b, "%zu", has->memory_limit);
    return conflict(device, "limit", a, has->memory_limit ? b : "none", error);
  }
  if (!memory_layout_is(device, wanted)) return conflict(device, "pools", "others", "its own", error);
  if (wanted->persistent && wanted->persistent != has->persistent) {
    static const char *const policies[] = {"auto", "disabled", "enforced"};
    return conflict(device, "persistent", policies[wanted->persistent], policies[has->persistent], error);
  }
  if (wanted->timeout_ms && wanted->timeout_ms != has->timeout_ms) {
    snprintf(a, sizeof a, "%u", wanted->timeout_ms);
    snprintf(b, sizeof b, "%u", has->timeout_ms);
    return conflict(device, "timeout", a, has->timeout_ms ? b : "none", error);
  }
  return LUHIP_OK;
}

static luhip_device *registry_find(const struct hip_provider *provider, int ordinal) {
  for (luhip_device *device = registry.first; device; device = device->next) {
    if (device->provider == provider && device->ordinal == ordinal) return device;
  }
  return NULL;
}

luhip_device *device_successor(const luhip_device *closed) {
  pthread_mutex_lock(&registry.lock);
  luhip_device *device = registry_find(closed->provider, closed->ordinal);
  if (device) device_retain(device);
  pthread_mutex_unlock(&registry.lock);
  return device;
}

static luhip_status open_locked(const struct device_name *name, const luhip_open_options *options, luhip_device **out,
                                luhip_error **error) {
  luhip_device *device;
  while ((device = registry_find(name->provider, name->ordinal)) && !device->users)
    pthread_cond_wait(&registry.changed, &registry.lock); /* it is being closed */
  if (device) {
    luhip_status status = check_options(device, options, error);
    if (status) return status;
    device->users++;
    *out = device_retain(device);
    return LUHIP_OK;
  }
  luhip_status status = device_new(name, options, &device, error);
  if (status) return status;
  device_retain(device); /* the registry's own */
  device->next = registry.first;
  registry.first = device;
  LOG(LOG_STREAMS, LOG_BASIC, "device %s opened: %s, %s", device->info.id, device->info.name, device->info.arch);
  *out = device;
  return LUHIP_OK;
}

luhip_status luhip_open(const char *id, const luhip_open_options *options, luhip_device **device, luhip_error **error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static const luhip_open_options none;
  struct device_name name;
  luhip_status status = config_check(error);
  if (!status) status = devices_find(id, &name, error);
  if (status) return status;
  /* After the provider has been loaded: what is registered last is called first before a fork, and the registry's lock
     comes before every lock of a provider. */
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&registry.lock);
  status = open_locked(&name, options ? options : &none, device, error);
  pthread_mutex_unlock(&registry.lock);
  return status;
}

/* ---- closing ------------------------------------------------------------------------------------------------- */

static void registry_remove(luhip_device *device) {
  pthread_mutex_lock(&registry.lock);
  for (luhip_device **link = &registry.first; *link; link = &(*link)->next) {
    if (*link != device) continue;
    *link = device->next;
    break;
  }
  pthread_cond_broadcast(&registry.changed);
  pthread_mutex_unlock(&registry.lock);
}

/* With the lock: true when no other thread is inside and all work has passed. On a lost device nothing runs any more, and
   it may only be had again when the driver got everything back. */
static bool quiesce(luhip_device *device) {
  luhip_wait most = {.timeout_ms = CLOSE_MOST_MS};
  struct waiting waiting = waiting_start(&most);
  waiting.closing = true;
  bool idle = wait_all(device, &waiting, NULL) == LUHIP_OK || device->poison;
  while (device->dropped && clock_ms() - waiting.start_ms < CLOSE_MOST_MS) {
    pthread_mutex_unlock(&device->lock);
    struct timespec nap = {.tv_nsec = 100000};
    nanosleep(&nap, NULL);
    pthread_mutex_lock(&device->lock);
  }
  return idle && !device->dropped;
}

static void give_back(luhip_device *device, bool idle) {
  faults_take(device);
  captures_close(device);
  inflight_close(device);
  profiler_close(device, idle);
  graphs_close(device, idle);
  metadata_close(device);
  arrays_orphan(device);
  allocations_close(device);
  memory_close(device, idle); /* waits, as hipFree does, also where the waits above were refused */
  programs_close(device, idle);
  events_close(device, idle);
  slots_close(device, idle);
  flags_close(device, idle);
  stream_close_default(device);
  failure_unclaimed_forget(&device->failures);
  failure_release(device->poison);
  device->poison = NULL;
}

static void close_last(luhip_device *device) {
  background_close(device);
  pthread_mutex_lock(&device->lock);
  __atomic_store_n(&device->state, DEVICE_CLOSING, __ATOMIC_RELEASE);
  device->api->hipSetDevice(device->ordinal);
  bool idle = quiesce(device);
  give_back(device, idle);
  __atomic_store_n(&device->state, DEVICE_CLOSED, __ATOMIC_RELEASE);
  device_leave(device);
  registry_remove(device);
  device_release(device); /* the registry's */
}

void luhip_device_close(luhip_device *device) {
  if (!device) return;
  if (device->fork_count != fork_count()) {
    device_release(device);
    return;
  }
  pthread_mutex_lock(&registry.lock);
  bool last = --device->users == 0;
  pthread_mutex_unlock(&registry.lock);
  if (last) close_last(device);
  device_release(device);
}

luhip_status luhip_device_may_close(luhip_device *device, luhip_error **error) {
  pthread_mutex_lock(&registry.lock);
  bool last = device->users == 1;
  pthread_mutex_unlock(&registry.lock);
  if (!last || !luhip_device_is_recording(device)) return LUHIP_OK;
  return error_set(error, LUHIP_E_CAPTURE, "close: a stream of device %s is recording; end or cancel the capture first",
                   device->info.id);
}

bool luhip_device_is_open(luhip_device *device) {
  return !device_closing(device); /* in a child process too: there every call says what is the matter */
}

const luhip_device_info *luhip_device_get_info(luhip_device *device) {
  return &device->info;
}

luhip_open_options luhip_device_get_options(luhip_device *device) {
  const luhip_open_options *has = &device->options;
  return (luhip_open_options){.checked = has->checked,
                              .memory_limit = has->memory_limit,
                              .timeout_ms = has->timeout_ms,
                              .persistent = has->persistent};
}

luhip_status luhip_device_toolchain(luhip_device *device, char *text, size_t bytes, luhip_error **error) {
  char identity[512] = "";
  hip_error_t rc = device->api->hipxToolchain(identity, sizeof identity, device->ordinal);
  if (rc == hip_ErrorFileNotFound)
    return error_set(error, LUHIP_E_NOT_FOUND, "there is no compiler for kernels of %s: %s", device->info.arch,
                     identity[0] ? identity : "none was found");
  if (rc != hip_Success)
    return error_set(error, LUHIP_E_DRIVER, "the compiler cannot be identified: %s", hip_error_name(rc));
  snprintf(text, bytes, "%s", identity);
  return LUHIP_OK;
}
