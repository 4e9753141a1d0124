/*
 * validate_stream.c - streams and events: alive, outside captures where they must be, recorded before they are asked.
 */
#include "testing/validate.h"

#include <stdlib.h>

/* ---- streams ------------------------------------------------------------------------------------------------- */

hip_error_t check_hipStreamCreateWithFlags(hip_stream_t *stream, unsigned int flags) {
  hip_error_t rc = faults_table.hipStreamCreateWithFlags(stream, flags);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_stream, *stream, validate_device());
    validate_unlock();
  }
  return validate_noted(rc);
}

hip_error_t check_hipStreamDestroy(hip_stream_t stream) {
  if (!validate_remove(ENTRY_hipStreamDestroy, OBJECT_stream, stream, false)) return hip_ErrorInvalidHandle;
  return validate_noted(faults_table.hipStreamDestroy(stream));
}

/* Where the stream is now; after the call, that has passed. */
static bool stream_place(enum entry entry, hip_stream_t stream, struct use *place) {
  validate_lock();
  struct object *object = validate_outside_capture(entry, stream);
  if (object) *place = (struct use){object->timeline, object->timeline->enqueued};
  validate_unlock();
  return object;
}

static hip_error_t place_passed(hip_error_t rc, const struct use *place) {
  if (rc != hip_Success || !place->timeline) return validate_noted(rc);
  validate_lock();
  timeline_passed(place->timeline, place->position);
  validate_unlock();
  return rc;
}

hip_error_t check_hipStreamSynchronize(hip_stream_t stream) {
  struct use place;
  if (!stream_place(ENTRY_hipStreamSynchronize, stream, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipStreamSynchronize(stream), &place);
}

hip_error_t check_hipStreamQuery(hip_stream_t stream) {
  struct use place;
  if (!stream_place(ENTRY_hipStreamQuery, stream, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipStreamQuery(stream), &place);
}

/* Words that streams will write; what is before them has passed when they are there. */
enum { WORDS = 1024 };
static struct word {
  const uint32_t *at;
  uint32_t value;
  struct use place;
} words[WORDS];
static unsigned nwords;

void validate_look_at_words(void) {
  unsigned kept = 0;
  for (unsigned i = 0; i < nwords; i++) {
    if ((int32_t)(__atomic_load_n(words[i].at, __ATOMIC_ACQUIRE) - words[i].value) >= 0) {
      timeline_passed(words[i].place.timeline, words[i].place.position);
    } else {
      words[kept++] = words[i];
    }
  }
  nwords = kept;
}

void validate_forget_words(const void *memory, size_t bytes) {
  unsigned kept = 0;
  for (unsigned i = 0; i < nwords; i++) {
    bool inside = (uintptr_t)words[i].at - (uintptr_t)memory < bytes;
    if (!inside) words[kept++] = words[i];
  }
  nwords = kept;
}

static void note_word(const struct word *word) {
  if (nwords == WORDS) validate_look_at_words();
  if (nwords < WORDS) words[nwords++] = *word;
}

hip_error_t check_hipxStreamWrite32(hip_stream_t stream, uint32_t *host, uint32_t value) {
  struct word word = {.at = host, .value = value};
  if (!stream_place(ENTRY_hipxStreamWrite32, stream, &word.place)) return hip_ErrorInvalidHandle;
  validate_lock();
  const struct object *memory = object_holding(host);
  bool pinned = memory && memory->kind == OBJECT_pinned;
  if (!pinned) WRONG(hipxStreamWrite32, "%p is no pinned memory", (void *)host);
  if (pinned) note_word(&word);
  validate_unlock();
  if (!pinned) return hip_ErrorInvalidValue;
  return validate_noted(faults_table.hipxStreamWrite32(stream, host, value));
}

static bool captures_here(const struct object *stream, const void *device) {
  return stream->capturing && stream->tap == tap && stream->device == *(const int *)device;
}

hip_error_t check_hipDeviceSynchronize(void) {
  int device = validate_device();
  validate_lock();
  if (object_search(OBJECT_stream, captures_here, &device)) WRONG(hipDeviceSynchronize, "a stream captures");
  validate_unlock();
  hip_error_t rc = faults_table.hipDeviceSynchronize();
  if (rc == hip_Success) {
    validate_lock();
    device_passed(tap, device);
    validate_unlock();
  }
  return validate_noted(rc);
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

hip_error_t check_hipStreamAddCallback(hip_stream_t stream, hip_stream_callback_t callback, void *user,
                                       unsigned int flags) {
  struct use place;
  if (flags) WRONG(hipStreamAddCallback, "flags must be 0");
  if (!stream_place(ENTRY_hipStreamAddCallback, stream, &place)) return hip_ErrorInvalidHandle;
  struct callback *inner = malloc(sizeof *inner);
  if (!inner) return hip_ErrorOutOfMemory;
  *inner = (struct callback){callback, user};
  hip_error_t rc = faults_table.hipStreamAddCallback(stream, run_callback, inner, flags);
  if (rc != hip_Success) free(inner);
  return validate_noted(rc);
}

/* ---- events -------------------------------------------------------------------------------------------------- */

hip_error_t check_hipEventCreateWithFlags(hip_event_t *event, unsigned flags) {
  hip_error_t rc = faults_table.hipEventCreateWithFlags(event, flags);
  if (rc == hip_Success) {
    validate_lock();
    object_add(OBJECT_event, *event, validate_device())->timing = !(flags & hip_EventDisableTiming);
    validate_unlock();
  }
  return validate_noted(rc);
}

hip_error_t check_hipEventDestroy(hip_event_t event) {
  if (!validate_remove(ENTRY_hipEventDestroy, OBJECT_event, event, false)) return hip_ErrorInvalidHandle;
  return validate_noted(faults_table.hipEventDestroy(event));
}

hip_error_t check_hipEventRecord(hip_event_t event, hip_stream_t stream) {
  validate_lock();
  struct object *on = validate_live_stream(ENTRY_hipEventRecord, stream);
  struct object *object = validate_live(ENTRY_hipEventRecord, OBJECT_event, event);
  if (on && object && on->device != object->device) WRONG(hipEventRecord, "the event is of another device");
  struct object copy = on ? *on : (struct object){0}; /* as it is before the call: others may enqueue meanwhile */
  struct timeline line = on ? *on->timeline : (struct timeline){0};
  validate_unlock();
  if (!on || !object) return hip_ErrorInvalidHandle;
  hip_error_t rc = faults_table.hipEventRecord(event, stream);
  if (rc == hip_Success) {
    validate_lock();
    object = object_find(OBJECT_event, event);
    if (object) validate_recorded(object, &copy);
    if (object) object->position = line.enqueued;
    validate_unlock();
  }
  return validate_noted(rc);
}

/* An event that the host asks about; *place is where it was recorded. */
static bool event_place(enum entry entry, hip_event_t event, struct use *place) {
  validate_lock();
  struct object *object = validate_live(entry, OBJECT_event, event);
  if (object && !object->recorded) validate_violation(entry, "the event was never recorded");
  if (object && object->capturing) validate_violation(entry, "the event was recorded in a capture");
  if (object) *place = (struct use){object->timeline, object->position};
  validate_unlock();
  return object;
}

hip_error_t check_hipEventSynchronize(hip_event_t event) {
  struct use place;
  if (!event_place(ENTRY_hipEventSynchronize, event, &place)) return hip_ErrorInvalidHandle;
  return place_passed(faults_table.hipEventSynchronize(event), &place);
}

hip_error_t check_hipEventQuery(hip_event_t event) {
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

hip_error_t check_hipEventElapsedTime(float *ms, hip_event_t start, hip_event_t stop) {
  struct use first, last;
  if (!event_place(ENTRY_hipEventElapsedTime, start, &first)) return hip_ErrorInvalidHandle;
  if (!event_place(ENTRY_hipEventElapsedTime, stop, &last)) return hip_ErrorInvalidHandle;
  check_timing(start);
  check_timing(stop);
  if (first.timeline && last.timeline && first.timeline->device != last.timeline->device) {
    WRONG(hipEventElapsedTime, "the events were recorded on different devices");
  }
  return validate_noted(faults_table.hipEventElapsedTime(ms, start, stop));
}

hip_error_t check_hipStreamWaitEvent(hip_stream_t stream, hip_event_t event, unsigned int flags) {
  validate_lock();
  struct object *on = validate_live_stream(ENTRY_hipStreamWaitEvent, stream);
  struct object *object = validate_live(ENTRY_hipStreamWaitEvent, OBJECT_event, event);
  if (flags) WRONG(hipStreamWaitEvent, "flags must be 0");
  if (object && !object->recorded) WRONG(hipStreamWaitEvent, "the event was never recorded");
  if (on && object && on->capturing != object->capturing) {
    WRONG(hipStreamWaitEvent, "%s",
          on->capturing ? "the stream captures, and the event was recorded outside"
                        : "the event was recorded in a capture");
  }
  bool both = on && object;
  validate_unlock();
  return both ? validate_noted(faults_table.hipStreamWaitEvent(stream, event, flags)) : hip_ErrorInvalidHandle;
}
