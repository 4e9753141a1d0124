/*
 * validate.c - each call of the driver held against HIP's documented contract.
 *
 * A provider may be lenient where another one, or its next version, is not; so what is only documented is looked at
 * here, for whatever device a spec runs on: that handles live, that copies and fills stay inside memory that is there,
 * that the host's side of a copy is pinned, what a capture allows, which events may be asked, that pinned memory and
 * modules are not given back before the host has seen their last use pass, that geometry is within limits. What a
 * kernel does with its pointers cannot be seen.
 *
 * A violation is told on stderr and kept for the spec, which fails (spec/support/helper.lua). A call with a handle that
 * is not there is not made.
 *
 *   testing.driver_violations()   list of texts, which is emptied
 *   testing.driver_objects()      { stream =, event =, module =, graph =, exec =, memory =, pinned = }: what there is
 *   testing.driver_allow(on)      pageable host memory in copies is no violation while on
 */
#include "testing/objects.h"

#include <lauxlib.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 32, TEXT = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char texts[KEPT][TEXT];
  unsigned count;
  bool quiet;
} violations; /* guarded by its own lock: told with the mutex and without */
static pthread_mutex_t violations_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool pageable_allowed; /* guarded by the mutex, as what follows */
static bool pinned_refused;   /* a hipHostMalloc has failed: then pageable memory has to do */
static bool lost;             /* a device's context is: nothing can be seen to pass */

void validate_lock(void) {
  pthread_mutex_lock(&mutex);
}

void validate_unlock(void) {
  pthread_mutex_unlock(&mutex);
}

void validate_forget(void) {
  objects_forget();
  lost = pinned_refused = false;
}

/* By this thread: a copy or fill with one is not made. */
static _Thread_local unsigned told;

void validate_quiet(bool on) {
  pthread_mutex_lock(&violations_mutex);
  violations.quiet = on;
  pthread_mutex_unlock(&violations_mutex);
}

void validate_violation(enum entry entry, const char *format, ...) {
  char text[TEXT];
  int at = snprintf(text, sizeof text, "%s: ", entry_names[entry]);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + at, sizeof text - (size_t)at, format, arguments);
  va_end(arguments);
  told++;
  pthread_mutex_lock(&violations_mutex);
  if (!violations.quiet) fprintf(stderr, "driver contract violated: %s\n", text);
  if (violations.count < KEPT) memcpy(violations.texts[violations.count++], text, sizeof text);
  pthread_mutex_unlock(&violations_mutex);
}

#define WRONG(entry, ...) validate_violation(ENTRY_##entry, __VA_ARGS__)

/* ---- what calls share ---------------------------------------------------------------------------------------- */

#define PASS(name, parameters, arguments)                                                                              \
  static __attribute__((unused)) hip_error_t validate_##name parameters {                                              \
    return faults_table.name arguments;                                                                                \
  }
HIP_API(PASS, PASS)

static int current_device(void) {
  int device = 0;
  tap->inner->hipGetDevice(&device);
  return device;
}

/* After these nothing passes any more. */
static hip_error_t noted(hip_error_t rc) {
  switch (rc) {
  case hip_ErrorIllegalAddress:
  case hip_ErrorLaunchFailure:
  case hip_ErrorLaunchTimeOut:
  case hip_ErrorAssert:
  case hip_ErrorContextIsDestroyed:
  case hip_ErrorInvalidContext:
    validate_lock();
    lost = true;
    validate_unlock();
    break;
  default:
    break;
  }
  return rc;
}

/* The live object of this provider; NULL, and a violation, when there is none. */
static struct object *live(enum entry entry, enum object_kind kind, const void *handle) {
  static const char *const names[] = {
#define X(name) #name,
      OBJECT_KINDS(X)
#undef X
  };
  struct object *object = object_find(kind, handle);
  if (object && object->tap == tap) return object;
  validate_violation(entry, "%s %p was destroyed, never made, or is another device's", names[kind], handle);
  return NULL;
}

static struct object *live_stream(enum entry entry, hip_stream_t stream) {
  return live(entry, OBJECT_stream, stream);
}

/* A stream on which the call may not be made while it captures. */
static struct object *outside_capture(enum entry entry, hip_stream_t stream) {
  struct object *object = live_stream(entry, stream);
  if (object && object->capturing) validate_violation(entry, "the stream captures");
  return object;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* What one side of an operation reaches: rows of width bytes. */
struct extent {
  const void *address;
  size_t pitch, width, rows;
};

static size_t extent_bytes(const struct extent *extent) {
  return (extent->rows - 1) * extent->pitch + extent->width;
}

static void check_inside(enum entry entry, const struct object *object, const struct extent *extent, const char *side) {
  size_t offset = (uintptr_t)extent->address - (uintptr_t)object->handle, bytes = extent_bytes(extent);
  if (offset + bytes <= object->bytes) return;
  validate_violation(entry, "%s: bytes %zu to %zu of memory of %zu bytes", side, offset, offset + bytes, object->bytes);
}

/* Notes that work on the stream uses the object: now, or at each launch of what is captured. */
static void note_use(struct object *stream, struct object *object) {
  if (!object) return;
  if (stream->capturing) {
    reference_add(&stream->refs, object);
  } else {
    object_use(object, stream->timeline);
  }
}

/* A module's globals are device memory that nobody allocated. */
static void device_side(enum entry entry, const struct extent *extent, const char *side) {
  struct object *object = object_holding(extent->address);
  if (object && object->kind == OBJECT_memory && object->tap == tap) {
    check_inside(entry, object, extent, side);
  } else if (object || !object_count(OBJECT_module)) {
    validate_violation(entry, "%s: %p is not in device memory that is there", side, extent->address);
  }
}

static void host_side(enum entry entry, const struct extent *extent, const char *side) {
  struct object *object = object_holding(extent->address);
  if (object && object->kind == OBJECT_pinned) {
    check_inside(entry, object, extent, side);
  } else if (object) {
    validate_violation(entry, "%s: %p is device memory", side, extent->address);
  } else if (!pageable_allowed && !pinned_refused) {
    validate_violation(entry, "%s: %p is not pinned, so the copy blocks", side, extent->address);
  }
}

static void check_rows(enum entry entry, const struct extent *extent, const char *side) {
  if (!extent->width || !extent->rows) validate_violation(entry, "%s: no bytes", side);
  if (extent->rows > 1 && extent->width > extent->pitch) {
    validate_violation(entry, "%s: rows of %zu bytes at a pitch of %zu", side, extent->width, extent->pitch);
  }
}

/* The driver took an operation that uses what is at the addresses; NULL: nothing. */
static hip_error_t enqueued(hip_error_t rc, hip_stream_t handle, const void *one, const void *other) {
  if (rc != hip_Success) return noted(rc);
  validate_lock();
  struct object *stream = object_find(OBJECT_stream, handle);
  if (stream && !stream->capturing) stream->timeline->enqueued++;
  if (stream && one) note_use(stream, object_holding(one));
  if (stream && other) note_use(stream, object_holding(other));
  validate_unlock();
  return rc;
}

static bool check_copy(enum entry entry, const struct extent *to, const struct extent *from, hip_memcpy_kind_t kind,
                       hip_stream_t handle) {
  unsigned before = told;
  validate_lock();
  struct object *stream = live_stream(entry, handle);
  check_rows(entry, to, "destination");
  check_rows(entry, from, "source");
  if (stream && to->width && to->rows) {
    bool to_host = kind == hip_MemcpyDeviceToHost, from_host = kind == hip_MemcpyHostToDevice;
    if (!to_host && !from_host && kind != hip_MemcpyDeviceToDevice) {
      validate_violation(entry, "direction %d says nothing", (int)kind);
    }
    if (to_host) host_side(entry, to, "destination");
    if (from_host) host_side(entry, from, "source");
    if (!to_host) device_side(entry, to, "destination");
    if (!from_host) device_side(entry, from, "source");
  }
  validate_unlock();
  return told == before;
}

static hip_error_t check_hipMemcpyAsync(void *dst, const void *src, size_t bytes, hip_memcpy_kind_t kind,
                                        hip_stream_t stream) {
  struct extent to = {dst, bytes, bytes, 1}, from = {src, bytes, bytes, 1};
  if (!check_copy(ENTRY_hipMemcpyAsync, &to, &from, kind, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemcpyAsync(dst, src, bytes, kind, stream), stream, dst, src);
}

static hip_error_t check_hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                          size_t height, hip_memcpy_kind_t kind, hip_stream_t stream) {
  struct extent to = {dst, dpitch, width, height}, from = {src, spitch, width, height};
  if (!check_copy(ENTRY_hipMemcpy2DAsync, &to, &from, kind, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, stream), stream, dst,
                  src);
}

static bool check_fill(enum entry entry, const struct extent *to, size_t alignment, hip_stream_t handle) {
  unsigned before = told;
  validate_lock();
  struct object *stream = live_stream(entry, handle);
  check_rows(entry, to, "destination");
  if ((uintptr_t)to->address % alignment) validate_violation(entry, "%p is not aligned", to->address);
  if (stream && to->width && to->rows) {
    device_side(entry, to, "destination");
  }
  validate_unlock();
  return told == before;
}

static hip_error_t check_hipMemsetAsync(void *dst, int value, size_t bytes, hip_stream_t stream) {
  struct extent to = {dst, bytes, bytes, 1};
  if (!check_fill(ENTRY_hipMemsetAsync, &to, 1, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemsetAsync(dst, value, bytes, stream), stream, dst, NULL);
}

static hip_error_t check_hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
                                          hip_stream_t stream) {
  struct extent to = {dst, pitch, width, height};
  if (!check_fill(ENTRY_hipMemset2DAsync, &to, 1, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemset2DAsync(dst, pitch, value, width, height, stream), stream, dst, NULL);
}

static hip_error_t check_hipMemsetD16Async(hip_deviceptr_t dst, unsigned short value, size_t count,
                                           hip_stream_t stream) {
  struct extent to = {dst, 2 * count, 2 * count, 1};
  if (!check_fill(ENTRY_hipMemsetD16Async, &to, 2, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemsetD16Async(dst, value, count, stream), stream, dst, NULL);
}

static hip_error_t check_hipMemsetD32Async(hip_deviceptr_t dst, int value, size_t count, hip_stream_t stream) {
  struct extent to = {dst, 4 * count, 4 * count, 1};
  if (!check_fill(ENTRY_hipMemsetD32Async, &to, 4, stream)) return hip_ErrorInvalidValue;
  return enqueued(faults_table.hipMemsetD32Async(dst, value, count, stream), stream, dst, NULL);
}

static void add_memory(enum object_kind kind, void *address, size_t bytes) {
  if (!address) return;
  validate_lock();
  object_add(kind, address, current_device())->bytes = bytes;
  validate_unlock();
}

static hip_error_t check_hipMalloc(void **ptr, size_t bytes) {
  if (!bytes) WRONG(hipMalloc, "no bytes");
  hip_error_t rc = faults_table.hipMalloc(ptr, bytes);
  if (rc == hip_Success) add_memory(OBJECT_memory, *ptr, bytes);
  return noted(rc);
}

static hip_error_t check_hipHostMalloc(void **ptr, size_t bytes, unsigned int flags) {
  if (!bytes) WRONG(hipHostMalloc, "no bytes");
  hip_error_t rc = faults_table.hipHostMalloc(ptr, bytes, flags);
  if (rc == hip_Success) {
    add_memory(OBJECT_pinned, *ptr, bytes);
  } else {
    validate_lock();
    pinned_refused = true;
    validate_unlock();
  }
  return noted(rc);
}

/* Taken out before the call: another thread may be given the address before it returns. */
static bool remove_live(enum entry entry, enum object_kind kind, const void *handle, bool must_be_idle) {
  validate_lock();
  struct object *object = live(entry, kind, handle);
  if (object) {
    if (must_be_idle && !lost && object_in_use(object)) {
      validate_violation(entry, "%p was used by work that the host has not seen pass", handle);
    }
    if (kind == OBJECT_stream && object->capturing) validate_violation(entry, "the stream captures");
    object_remove(object);
  }
  validate_unlock();
  return object;
}

static hip_error_t check_hipFree(void *ptr) {
  if (ptr && !remove_live(ENTRY_hipFree, OBJECT_memory, ptr, false)) return hip_ErrorInvalidValue;
  return noted(faults_table.hipFree(ptr));
}

static hip_error_t check_hipHostFree(void *ptr) {
  if (!remove_live(ENTRY_hipHostFree, OBJECT_pinned, ptr, true)) return hip_ErrorInvalidValue;
  return noted(faults_table.hipHostFree(ptr));
}

/* ---- streams ------------------------------------------------------------------------------------------------- */

static hip_error_t check_hipStreamCreateWithFlags(hip_stream_t *stream, unsigned int flags) {
  hip_error_t rc = faults_table.hipStreamCreateWithFlags(stream, flags);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_stream, *stream, current_device());
    validate_unlock();
  }
  return noted(rc);
}

static hip_error_t check_hipStreamDestroy(hip_stream_t stream) {
  if (!remove_live(ENTRY_hipStreamDestroy, OBJECT_stream, stream, false)) return hip_ErrorInvalidHandle;
  return noted(faults_table.hipStreamDestroy(stream));
}

/* Where the stream is now; after the call, that has passed. */
static bool stream_place(enum entry entry, hip_stream_t stream, struct use *place) {
  validate_lock();
  struct object *object = outside_capture(entry, stream);
  if (object) *place = (struct use){object->timeline, object->timeline->enqueued};
  validate_unlock();
  return object;
}

static hip_error_t place_passed(hip_error_t rc, const struct use *place) {
  if (rc != hip_Success || !place->timeline) return noted(rc);
  validate_lock();
  timeline_passed(place->timeline, place->position);
  validate_unlock();
  return rc;
}

static hip_error_t check_hipStreamSynchronize(hip_stream_t stream) {
  struct use place;
  if (!stream_place(ENTRY_hipStreamSynchronize, stream, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipStreamSynchronize(stream), &place);
}

static hip_error_t check_hipStreamQuery(hip_stream_t stream) {
  struct use place;
  if (!stream_place(ENTRY_hipStreamQuery, stream, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipStreamQuery(stream), &place);
}

static bool captures_here(const struct object *stream, const void *device) {
  return stream->capturing && stream->tap == tap && stream->device == *(const int *)device;
}

static hip_error_t check_hipDeviceSynchronize(void) {
  int device = current_device();
  validate_lock();
  if (object_search(OBJECT_stream, captures_here, &device)) WRONG(hipDeviceSynchronize, "a stream captures");
  validate_unlock();
  hip_error_t rc = faults_table.hipDeviceSynchronize();
  if (rc == hip_Success) {
    validate_lock();
    device_passed(tap, device);
    validate_unlock();
  }
  return noted(rc);
}

/* The driver's thread may not call the table. */
struct callback {
  hip_stream_callback_t function;
  void *user;
};

static void run_callback(hip_stream_t stream, hip_error_t status, void *user) {
  struct callback callback = *(struct callback *)user;
  free(user);
  in_callback = true;
  callback.function(stream, status, callback.user);
  in_callback = false;
}

static hip_error_t check_hipStreamAddCallback(hip_stream_t stream, hip_stream_callback_t callback, void *user,
                                              unsigned int flags) {
  struct use place;
  if (flags) WRONG(hipStreamAddCallback, "flags must be 0");
  if (!stream_place(ENTRY_hipStreamAddCallback, stream, &place)) return hip_ErrorInvalidHandle;
  struct callback *inner = malloc(sizeof *inner);
  if (!inner) return hip_ErrorOutOfMemory;
  *inner = (struct callback){callback, user};
  hip_error_t rc = faults_table.hipStreamAddCallback(stream, run_callback, inner, flags);
  if (rc != hip_Success) free(inner);
  return noted(rc);
}

/* ---- events -------------------------------------------------------------------------------------------------- */

static hip_error_t check_hipEventCreateWithFlags(hip_event_t *event, unsigned flags) {
  hip_error_t rc = faults_table.hipEventCreateWithFlags(event, flags);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_event, *event, current_device())->timing = !(flags & hip_EventDisableTiming);
    validate_unlock();
  }
  return noted(rc);
}

static hip_error_t check_hipEventDestroy(hip_event_t event) {
  if (!remove_live(ENTRY_hipEventDestroy, OBJECT_event, event, false)) return hip_ErrorInvalidHandle;
  return noted(faults_table.hipEventDestroy(event));
}

static void event_recorded(struct object *event, const struct object *stream) {
  event->recorded = true;
  event->capturing = stream->capturing;
  event->timeline = stream->timeline;
  event->position = stream->timeline->enqueued;
}

static hip_error_t check_hipEventRecord(hip_event_t event, hip_stream_t stream) {
  validate_lock();
  struct object *on = live_stream(ENTRY_hipEventRecord, stream);
  struct object *object = live(ENTRY_hipEventRecord, OBJECT_event, event);
  if (on && object && on->device != object->device) WRONG(hipEventRecord, "the event is of another device");
  struct object copy = on ? *on : (struct object){0}; /* as it is before the call: others may enqueue meanwhile */
  struct timeline line = on ? *on->timeline : (struct timeline){0};
  validate_unlock();
  if (!on || !object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipEventRecord(event, stream);
  if (rc == hip_Success) {
    validate_lock();
    object = object_find(OBJECT_event, event);
    if (object) event_recorded(object, &copy);
    if (object) object->position = line.enqueued;
    validate_unlock();
  }
  return noted(rc);
}

/* An event that the host asks about; *place is where it was recorded. */
static bool event_place(enum entry entry, hip_event_t event, struct use *place) {
  validate_lock();
  struct object *object = live(entry, OBJECT_event, event);
  if (object && !object->recorded) validate_violation(entry, "the event was never recorded");
  if (object && object->capturing) validate_violation(entry, "the event was recorded in a capture");
  if (object) *place = (struct use){object->timeline, object->position};
  validate_unlock();
  return object;
}

static hip_error_t check_hipEventSynchronize(hip_event_t event) {
  struct use place;
  if (!event_place(ENTRY_hipEventSynchronize, event, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipEventSynchronize(event), &place);
}

static hip_error_t check_hipEventQuery(hip_event_t event) {
  struct use place;
  if (!event_place(ENTRY_hipEventQuery, event, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipEventQuery(event), &place);
}

static void check_timing(hip_event_t event) {
  validate_lock();
  const struct object *object = object_find(OBJECT_event, event);
  if (object && !object->timing) WRONG(hipEventElapsedTime, "the event was made without timing");
  validate_unlock();
}

static hip_error_t check_hipEventElapsedTime(float *ms, hip_event_t start, hip_event_t stop) {
  struct use first, last;
  if (!event_place(ENTRY_hipEventElapsedTime, start, &first)) return hip_ErrorInvalidHandle;
  if (!event_place(ENTRY_hipEventElapsedTime, stop, &last)) return hip_ErrorInvalidHandle;
  check_timing(start);
  check_timing(stop);
  if (first.timeline && last.timeline && first.timeline->device != last.timeline->device) {
    WRONG(hipEventElapsedTime, "the events were recorded on different devices");
  }
  return noted(faults_table.hipEventElapsedTime(ms, start, stop));
}

static hip_error_t check_hipStreamWaitEvent(hip_stream_t stream, hip_event_t event, unsigned int flags) {
  validate_lock();
  struct object *on = live_stream(ENTRY_hipStreamWaitEvent, stream);
  struct object *object = live(ENTRY_hipStreamWaitEvent, OBJECT_event, event);
  if (flags) WRONG(hipStreamWaitEvent, "flags must be 0");
  if (object && !object->recorded) WRONG(hipStreamWaitEvent, "the event was never recorded");
  if (on && object && on->capturing != object->capturing) {
    WRONG(hipStreamWaitEvent, "%s",
          on->capturing ? "the stream captures, and the event was recorded outside"
                        : "the event was recorded in a capture");
  }
  bool both = on && object;
  validate_unlock();
  return both ? noted(faults_table.hipStreamWaitEvent(stream, event, flags)) : hip_ErrorInvalidHandle;
}

/* ---- modules and launches ------------------------------------------------------------------------------------ */

static hip_error_t check_hipModuleLoadData(hip_module_t *module, const void *image) {
  if (!image) WRONG(hipModuleLoadData, "no image");
  hip_error_t rc = faults_table.hipModuleLoadData(module, image);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_module, *module, current_device());
    validate_unlock();
  }
  return noted(rc);
}

static bool is_of_module(const struct object *function, const void *module) {
  return function->module == module;
}

static hip_error_t check_hipModuleUnload(hip_module_t module) {
  if (!remove_live(ENTRY_hipModuleUnload, OBJECT_module, module, true)) return hip_ErrorInvalidHandle;
  validate_lock();
  for (struct object *f; (f = object_search(OBJECT_function, is_of_module, module));) object_remove(f);
  validate_unlock();
  return noted(faults_table.hipModuleUnload(module));
}

static hip_error_t check_hipModuleGetFunction(hip_function_t *function, hip_module_t module, const char *name) {
  validate_lock();
  const struct object *of = live(ENTRY_hipModuleGetFunction, OBJECT_module, module);
  int device = of ? of->device : 0;
  validate_unlock();
  if (!name || !*name) WRONG(hipModuleGetFunction, "no name");
  if (!of) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipModuleGetFunction(function, module, name);
  if (rc != hip_Success) return noted(rc);
  int most = 0;
  tap->inner->hipFuncGetAttribute(&most, hip_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *function);
  validate_lock();
  struct object *made = object_find(OBJECT_function, *function);
  if (!made) made = object_add(OBJECT_function, *function, device);
  made->module = module;
  made->most_threads = most;
  validate_unlock();
  return rc;
}

static hip_error_t check_hipModuleGetGlobal(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module,
                                            const char *name) {
  validate_lock();
  const struct object *of = live(ENTRY_hipModuleGetGlobal, OBJECT_module, module);
  validate_unlock();
  return of ? noted(faults_table.hipModuleGetGlobal(ptr, bytes, module, name)) : hip_ErrorInvalidHandle;
}

static hip_error_t check_hipFuncSetAttribute(const void *function, hip_func_setting_t attribute, int value) {
  validate_lock();
  const struct object *of = live(ENTRY_hipFuncSetAttribute, OBJECT_function, function);
  validate_unlock();
  return of ? noted(faults_table.hipFuncSetAttribute(function, attribute, value)) : hip_ErrorInvalidHandle;
}

struct geometry {
  unsigned int grid[3], block[3];
};

static void check_geometry(enum entry entry, const struct geometry *g, const struct object *function) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    int most = 0;
    if (!g->grid[i] || !g->block[i]) validate_violation(entry, "dimension %c is 0", "xyz"[i]);
    tap->inner->hipDeviceGetAttribute(&most, hip_DeviceAttributeMaxGridDimX + i, function->device);
    if (most > 0 && g->grid[i] > (unsigned)most) validate_violation(entry, "grid %c is %u", "xyz"[i], g -> grid[i]);
    tap->inner->hipDeviceGetAttribute(&most, hip_DeviceAttributeMaxBlockDimX + i, function->device);
    if (most > 0 && g->block[i] > (unsigned)most) validate_violation(entry, "block %c is %u", "xyz"[i], g -> block[i]);
    threads *= g->block[i];
  }
  if (function->most_threads > 0 && threads > (unsigned)function->most_threads) {
    validate_violation(entry, "%llu threads in a block of a kernel for %d", (unsigned long long)threads,
                       function->most_threads);
  }
}

static bool check_launch(enum entry entry, hip_function_t handle, const struct geometry *g, hip_stream_t on,
                         void **params, void **extra) {
  validate_lock();
  struct object *stream = live_stream(entry, on);
  struct object *function = live(entry, OBJECT_function, handle);
  if (extra) validate_violation(entry, "both ways of giving arguments");
  if (!params) validate_violation(entry, "no arguments");
  if (function) check_geometry(entry, g, function);
  if (stream && function) {
    if (stream->device != function->device) validate_violation(entry, "stream and kernel are of different devices");
  }
  validate_unlock();
  return stream && function;
}

static hip_error_t launched(hip_error_t rc, hip_function_t handle, hip_stream_t on) {
  enqueued(rc, on, NULL, NULL);
  if (rc != hip_Success) return rc;
  validate_lock();
  struct object *stream = object_find(OBJECT_stream, on), *function = object_find(OBJECT_function, handle);
  if (stream && function) note_use(stream, object_find(OBJECT_module, function->module));
  validate_unlock();
  return rc;
}

static hip_error_t check_hipModuleLaunchKernel(hip_function_t function, unsigned int gx, unsigned int gy,
                                               unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
                                               unsigned int shared, hip_stream_t stream, void **params, void **extra) {
  struct geometry g = {{gx, gy, gz}, {bx, by, bz}};
  if (!check_launch(ENTRY_hipModuleLaunchKernel, function, &g, stream, params, extra)) return hip_ErrorInvalidHandle;
  return launched(faults_table.hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
                  function, stream);
}

static hip_error_t check_hipxLaunchTimed(hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz,
                                         unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                         hip_stream_t stream, void **params, void **extra, hip_event_t start,
                                         hip_event_t stop) {
  struct geometry g = {{gx, gy, gz}, {bx, by, bz}};
  if (!check_launch(ENTRY_hipxLaunchTimed, function, &g, stream, params, extra)) return hip_ErrorInvalidHandle;
  validate_lock();
  struct object *on = outside_capture(ENTRY_hipxLaunchTimed, stream);
  struct object *events[2] = {live(ENTRY_hipxLaunchTimed, OBJECT_event, start),
                              live(ENTRY_hipxLaunchTimed, OBJECT_event, stop)};
  validate_unlock();
  if (!events[0] || !events[1]) return hip_ErrorInvalidHandle;
  hip_error_t rc =
      faults_table.hipxLaunchTimed(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra, start, stop);
  launched(rc, function, stream);
  validate_lock();
  for (int i = 0; i < 2 && rc == hip_Success; i++) event_recorded(events[i], on);
  validate_unlock();
  return rc;
}

/* ---- graphs -------------------------------------------------------------------------------------------------- */

static hip_error_t check_hipStreamBeginCapture(hip_stream_t stream, hip_stream_capture_mode_t mode) {
  validate_lock();
  struct object *object = outside_capture(ENTRY_hipStreamBeginCapture, stream);
  validate_unlock();
  if (!object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipStreamBeginCapture(stream, mode);
  validate_lock();
  if (rc == hip_Success) object->capturing = true;
  validate_unlock();
  return noted(rc);
}

/* The stream works on, whatever became of the capture. */
static void end_capture(struct object *stream, const void *graph) {
  if (graph) object_add(OBJECT_graph, graph, stream->device)->refs = stream->refs;
  if (!graph) references_free(&stream->refs);
  stream->refs = (struct references){0};
  stream->capturing = false;
}

static hip_error_t check_hipStreamEndCapture(hip_stream_t stream, hip_graph_t *graph) {
  validate_lock();
  struct object *object = live_stream(ENTRY_hipStreamEndCapture, stream);
  if (object && !object->capturing) WRONG(hipStreamEndCapture, "the stream does not capture");
  validate_unlock();
  if (!object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipStreamEndCapture(stream, graph);
  validate_lock();
  end_capture(object, rc == hip_Success ? *graph : NULL);
  validate_unlock();
  return noted(rc);
}

static hip_error_t check_hipGraphInstantiate(hip_graph_exec_t *exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                             char *log, size_t log_bytes) {
  validate_lock();
  struct object *from = live(ENTRY_hipGraphInstantiate, OBJECT_graph, graph);
  validate_unlock();
  if (!from) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipGraphInstantiate(exec, graph, error_node, log, log_bytes);
  if (rc == hip_Success) {
    validate_lock();
    references_copy(&object_add(OBJECT_exec, *exec, from->device)->refs, &from->refs);
    validate_unlock();
  }
  return noted(rc);
}

static hip_error_t check_hipGraphUpload(hip_graph_exec_t exec, hip_stream_t stream) {
  validate_lock();
  bool both = live(ENTRY_hipGraphUpload, OBJECT_exec, exec) && outside_capture(ENTRY_hipGraphUpload, stream);
  validate_unlock();
  return both ? noted(faults_table.hipGraphUpload(exec, stream)) : hip_ErrorInvalidHandle;
}

static hip_error_t check_hipGraphLaunch(hip_graph_exec_t exec, hip_stream_t stream) {
  validate_lock();
  struct object *object = live(ENTRY_hipGraphLaunch, OBJECT_exec, exec);
  struct object *on = outside_capture(ENTRY_hipGraphLaunch, stream);
  for (size_t i = 0; object && i < object->refs.count; i++) {
    if (!reference_find(&object->refs.list[i]))
      WRONG(hipGraphLaunch, "the graph uses %p, which was given back", object->refs.list[i].handle);
  }
  validate_unlock();
  if (!object || !on) return hip_ErrorInvalidHandle;
  hip_error_t rc = enqueued(faults_table.hipGraphLaunch(exec, stream), stream, NULL, NULL);
  validate_lock();
  for (size_t i = 0; rc == hip_Success && i < object->refs.count; i++)
    note_use(on, reference_find(&object->refs.list[i]));
  validate_unlock();
  return rc;
}

static hip_error_t check_hipGraphGetNodes(hip_graph_t graph, hip_graph_node_t *nodes, size_t *count) {
  validate_lock();
  bool there = live(ENTRY_hipGraphGetNodes, OBJECT_graph, graph);
  validate_unlock();
  return there ? noted(faults_table.hipGraphGetNodes(graph, nodes, count)) : hip_ErrorInvalidHandle;
}

static hip_error_t check_hipGraphDestroy(hip_graph_t graph) {
  if (!remove_live(ENTRY_hipGraphDestroy, OBJECT_graph, graph, false)) return hip_ErrorInvalidHandle;
  return noted(faults_table.hipGraphDestroy(graph));
}

static hip_error_t check_hipGraphExecDestroy(hip_graph_exec_t exec) {
  if (!remove_live(ENTRY_hipGraphExecDestroy, OBJECT_exec, exec, false)) return hip_ErrorInvalidHandle;
  return noted(faults_table.hipGraphExecDestroy(exec));
}

static hip_error_t check_hipGraphExecUpdate(hip_graph_exec_t exec, hip_graph_t graph, hip_graph_node_t *error_node,
                                            hip_graph_exec_update_result_t *result) {
  validate_lock();
  struct object *object = live(ENTRY_hipGraphExecUpdate, OBJECT_exec, exec);
  struct object *from = live(ENTRY_hipGraphExecUpdate, OBJECT_graph, graph);
  validate_unlock();
  if (!object || !from) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipGraphExecUpdate(exec, graph, error_node, result);
  validate_lock();
  if (rc == hip_Success) references_copy(&object->refs, &from->refs);
  validate_unlock();
  return noted(rc);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

#define validate_hipMemcpyAsync check_hipMemcpyAsync
#define validate_hipMemcpy2DAsync check_hipMemcpy2DAsync
#define validate_hipMemsetAsync check_hipMemsetAsync
#define validate_hipMemset2DAsync check_hipMemset2DAsync
#define validate_hipMemsetD16Async check_hipMemsetD16Async
#define validate_hipMemsetD32Async check_hipMemsetD32Async
#define validate_hipMalloc check_hipMalloc
#define validate_hipHostMalloc check_hipHostMalloc
#define validate_hipFree check_hipFree
#define validate_hipHostFree check_hipHostFree
#define validate_hipStreamCreateWithFlags check_hipStreamCreateWithFlags
#define validate_hipStreamDestroy check_hipStreamDestroy
#define validate_hipStreamSynchronize check_hipStreamSynchronize
#define validate_hipStreamQuery check_hipStreamQuery
#define validate_hipDeviceSynchronize check_hipDeviceSynchronize
#define validate_hipStreamAddCallback check_hipStreamAddCallback
#define validate_hipEventCreateWithFlags check_hipEventCreateWithFlags
#define validate_hipEventDestroy check_hipEventDestroy
#define validate_hipEventRecord check_hipEventRecord
#define validate_hipEventSynchronize check_hipEventSynchronize
#define validate_hipEventQuery check_hipEventQuery
#define validate_hipEventElapsedTime check_hipEventElapsedTime
#define validate_hipStreamWaitEvent check_hipStreamWaitEvent
#define validate_hipModuleLoadData check_hipModuleLoadData
#define validate_hipModuleUnload check_hipModuleUnload
#define validate_hipModuleGetFunction check_hipModuleGetFunction
#define validate_hipModuleGetGlobal check_hipModuleGetGlobal
#define validate_hipFuncSetAttribute check_hipFuncSetAttribute
#define validate_hipModuleLaunchKernel check_hipModuleLaunchKernel
#define validate_hipxLaunchTimed check_hipxLaunchTimed
#define validate_hipStreamBeginCapture check_hipStreamBeginCapture
#define validate_hipStreamEndCapture check_hipStreamEndCapture
#define validate_hipGraphInstantiate check_hipGraphInstantiate
#define validate_hipGraphUpload check_hipGraphUpload
#define validate_hipGraphLaunch check_hipGraphLaunch
#define validate_hipGraphGetNodes check_hipGraphGetNodes
#define validate_hipGraphDestroy check_hipGraphDestroy
#define validate_hipGraphExecDestroy check_hipGraphExecDestroy
#define validate_hipGraphExecUpdate check_hipGraphExecUpdate

/* clang-format off */
const struct hip_api validate_table = {
#define X(name, parameters, arguments) .name = validate_##name,
  HIP_API(X, X)
#undef X
};
/* clang-format on */

/* ---- for specs ----------------------------------------------------------------------------------------------- */

static int driver_violations(lua_State *L) {
  char texts[KEPT][TEXT];
  pthread_mutex_lock(&violations_mutex);
  unsigned count = violations.count;
  memcpy(texts, violations.texts, sizeof texts);
  violations.count = 0;
  pthread_mutex_unlock(&violations_mutex);
  lua_createtable(L, (int)count, 0);
  for (unsigned i = 0; i < count; i++) {
    lua_pushstring(L, texts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int driver_objects(lua_State *L) {
  size_t counts[OBJECT_KIND_COUNT];
  validate_lock();
  for (int i = 0; i < OBJECT_KIND_COUNT; i++) counts[i] = object_count((enum object_kind)i);
  validate_unlock();
  lua_createtable(L, 0, OBJECT_KIND_COUNT);
#define X(kind)                                                                                                        \
  lua_pushinteger(L, (lua_Integer)counts[OBJECT_##kind]);                                                              \
  lua_setfield(L, -2, #kind);
  OBJECT_KINDS(X)
#undef X
  return 1;
}

static int driver_allow(lua_State *L) {
  validate_lock();
  pageable_allowed = lua_toboolean(L, 1);
  validate_unlock();
  return 0;
}

/* What injected failures have done to the devices is over. */
static int driver_renew(lua_State *L) {
  (void)L;
  validate_lock();
  lost = pinned_refused = false;
  validate_unlock();
  return 0;
}

void validate_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"driver_violations", driver_violations},
                                       {"driver_objects", driver_objects},
                                       {"driver_allow", driver_allow},
                                       {"driver_renew", driver_renew},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
