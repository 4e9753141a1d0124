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
#include "testing/validate.h"

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
  validate_forget_words(NULL, SIZE_MAX);
  objects_forget();
  lost = pinned_refused = false;
}

/* By this thread: a copy or fill with one is not made. */
static _Thread_local unsigned told;

unsigned validate_told(void) {
  return told;
}

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

/* ---- what calls share ---------------------------------------------------------------------------------------- */

/* Each is replaced by the one of its name in validate_memory.c, validate_stream.c or validate_launch.c, if there is one. */
#define PASS(name, parameters, arguments)                                                                              \
  __attribute__((weak)) hip_error_t check_##name parameters {                                                          \
    return faults_table.name arguments;                                                                                \
  }
HIP_API(PASS, PASS)

int validate_device(void) {
  int device = 0;
  tap->inner->hipGetDevice(&device);
  return device;
}

hip_error_t validate_noted(hip_error_t rc) {
  if (hip_error_is_sticky(rc)) {
    validate_lock();
    lost = true;
    validate_unlock();
  }
  return rc;
}

struct object *validate_live(enum entry entry, enum object_kind kind, const void *handle) {
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

struct object *validate_live_stream(enum entry entry, hip_stream_t stream) {
  return validate_live(entry, OBJECT_stream, stream);
}

struct object *validate_outside_capture(enum entry entry, hip_stream_t stream) {
  struct object *object = validate_live_stream(entry, stream);
  if (object && object->capturing) validate_violation(entry, "the stream captures");
  return object;
}

void validate_use(struct object *stream, struct object *object) {
  if (!object) return;
  if (stream->capturing) {
    reference_add(&stream->refs, object);
  } else {
    object_use(object, stream->timeline);
  }
}

hip_error_t validate_enqueued(hip_error_t rc, hip_stream_t handle, const void *one, const void *other) {
  if (rc != hip_Success) return validate_noted(rc);
  validate_lock();
  struct object *stream = object_find(OBJECT_stream, handle);
  if (stream && !stream->capturing) stream->timeline->enqueued++;
  if (stream && one) validate_use(stream, object_holding(one));
  if (stream && other) validate_use(stream, object_holding(other));
  validate_unlock();
  return rc;
}

bool validate_remove(enum entry entry, enum object_kind kind, const void *handle, bool must_be_idle) {
  validate_lock();
  struct object *object = validate_live(entry, kind, handle);
  if (object && must_be_idle) validate_look_at_words();
  if (object && kind == OBJECT_pinned) validate_forget_words(handle, object->bytes);
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

void validate_recorded(struct object *event, const struct object *stream) {
  event->recorded = true;
  event->capturing = stream->capturing;
  event->timeline = stream->timeline;
  event->position = stream->timeline->enqueued;
}

bool validate_pageable(void) {
  return pageable_allowed || pinned_refused;
}

void validate_pinned_refused(void) {
  validate_lock();
  pinned_refused = true;
  validate_unlock();
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

/* clang-format off */
const struct hip_api validate_table = {
#define X(name, parameters, arguments) .name = check_##name,
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
