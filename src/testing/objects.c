/*
 * objects.c - handles in a hash table; memory in a sorted list besides, since it is found by addresses inside it.
 */
#include "testing/objects.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };

static struct object *buckets[BUCKETS];
static size_t counts[OBJECT_KIND_COUNT];
static struct timeline *timelines;
static struct {
  struct object **list;
  size_t count, capacity;
} memory;

static void *grown(void *list, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity) return list;
  *capacity = *capacity ? *capacity * 2 : 8;
  list = realloc(list, *capacity * size);
  if (!list) abort(); /* only specs run this */
  return list;
}

static struct object **bucket_of(const void *handle) {
  return &buckets[((uintptr_t)handle * 0x9E3779B97F4A7C15u) >> 50];
}

/* How many blocks of memory begin at or before the address. */
static size_t memory_rank(const void *address) {
  size_t low = 0, high = memory.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)memory.list[middle]->handle <= (uintptr_t)address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool is_memory(enum object_kind kind) {
  return kind == OBJECT_memory || kind == OBJECT_pinned;
}

static void memory_insert(struct object *object) {
  memory.list = grown(memory.list, &memory.capacity, memory.count, sizeof *memory.list);
  size_t at = memory_rank(object->handle);
  memmove(memory.list + at + 1, memory.list + at, (memory.count - at) * sizeof *memory.list);
  memory.list[at] = object;
  memory.count++;
}

static void memory_remove(const struct object *object) {
  size_t at = memory_rank(object->handle);
  while (at > 0 && memory.list[at - 1] != object) at--;
  if (!at) return;
  memmove(memory.list + at - 1, memory.list + at, (memory.count - at) * sizeof *memory.list);
  memory.count--;
}

static struct timeline *timeline_new(int device) {
  struct timeline *timeline = calloc(1, sizeof *timeline);
  if (!timeline) abort();
  *timeline = (struct timeline){.tap = tap, .device = device, .next = timelines};
  timelines = timeline;
  return timeline;
}

struct object *object_add(enum object_kind kind, const void *handle, int device) {
  static uint64_t last;
  struct object *object = calloc(1, sizeof *object), **bucket = bucket_of(handle);
  if (!object) abort();
  *object =
      (struct object){.next = *bucket, .kind = kind, .handle = handle, .id = ++last, .tap = tap, .device = device};
  if (kind == OBJECT_stream) object->timeline = timeline_new(device);
  *bucket = object;
  counts[kind]++;
  if (is_memory(kind)) memory_insert(object);
  return object;
}

struct object *object_find(enum object_kind kind, const void *handle) {
  struct object *object = *bucket_of(handle);
  while (object && (object->kind != kind || object->handle != handle)) object = object->next;
  return object;
}

void object_remove(struct object *object) {
  struct object **link = bucket_of(object->handle);
  while (*link != object) link = &(*link)->next;
  *link = object->next;
  counts[object->kind]--;
  if (is_memory(object->kind)) memory_remove(object);
  references_free(&object->refs);
  free(object->uses);
  free(object);
}

struct object *object_holding(const void *address) {
  size_t rank = memory_rank(address);
  if (!rank) return NULL;
  struct object *object = memory.list[rank - 1];
  return (uintptr_t)address - (uintptr_t)object->handle < object->bytes ? object : NULL;
}

size_t object_count(enum object_kind kind) {
  return counts[kind];
}

struct object *object_search(enum object_kind kind, bool (*matches)(const struct object *, const void *),
                             const void *user) {
  for (size_t i = 0; i < BUCKETS; i++) {
    for (struct object *object = buckets[i]; object; object = object->next) {
      if (object->kind == kind && matches(object, user)) return object;
    }
  }
  return NULL;
}

/* ---- uses ---------------------------------------------------------------------------------------------------- */

void object_use(struct object *object, struct timeline *timeline) {
  size_t kept = 0;
  for (size_t i = 0; i < object->nuses; i++) {
    const struct use *use = &object->uses[i];
    if (use->timeline != timeline && use->position > use->timeline->passed) object->uses[kept++] = *use;
  }
  object->uses = grown(object->uses, &object->capacity, kept, sizeof *object->uses);
  object->uses[kept++] = (struct use){timeline, timeline->enqueued};
  object->nuses = kept;
}

bool object_in_use(const struct object *object) {
  for (size_t i = 0; i < object->nuses; i++) {
    if (object->uses[i].position > object->uses[i].timeline->passed) return true;
  }
  return false;
}

void timeline_passed(struct timeline *timeline, uint64_t position) {
  if (position > timeline->passed) timeline->passed = position;
}

void device_passed(const struct tap *of, int device) {
  for (struct timeline *timeline = timelines; timeline; timeline = timeline->next) {
    if (timeline->tap == of && timeline->device == device) timeline->passed = timeline->enqueued;
  }
}

/* ---- references ---------------------------------------------------------------------------------------------- */

void reference_add(struct references *refs, const struct object *object) {
  for (size_t i = 0; i < refs->count; i++) {
    if (refs->list[i].id == object->id) return;
  }
  refs->list = grown(refs->list, &refs->capacity, refs->count, sizeof *refs->list);
  refs->list[refs->count++] = (struct reference){object->kind, object->handle, object->id};
}

void references_copy(struct references *to, const struct references *from) {
  references_free(to);
  if (!from->count) return;
  to->list = malloc(from->count * sizeof *to->list);
  if (!to->list) abort();
  memcpy(to->list, from->list, from->count * sizeof *to->list);
  to->count = to->capacity = from->count;
}

void references_free(struct references *refs) {
  free(refs->list);
  *refs = (struct references){0};
}

struct object *reference_find(const struct reference *reference) {
  struct object *object = object_find(reference->kind, reference->handle);
  return object && object->id == reference->id ? object : NULL;
}

void objects_forget(void) {
  for (size_t i = 0; i < BUCKETS; i++) {
    while (buckets[i]) object_remove(buckets[i]);
  }
}
