/*
 * objects.h - what exists in the drivers, as far as validate.c has seen it made and given back.
 *
 * All functions are called with validate_lock.
 */
#ifndef LUHIP_TESTING_OBJECTS_H
#define LUHIP_TESTING_OBJECTS_H

#include "testing/driver.h"

#define OBJECT_KINDS(X)                                                                                                \
  X(stream)                                                                                                            \
  X(event)                                                                                                             \
  X(module)                                                                                                            \
  X(function)                                                                                                          \
  X(graph)                                                                                                             \
  X(exec)                                                                                                              \
  X(memory)                                                                                                            \
  X(pinned)

enum object_kind {
#define X(kind) OBJECT_##kind,
  OBJECT_KINDS(X)
#undef X
      OBJECT_KIND_COUNT
};

/* What was enqueued on a stream, and how much of that the host was told has passed. Never freed: uses name it. */
struct timeline {
  uint64_t enqueued, passed;
  const struct tap *tap;
  int device;
  struct timeline *next;
};

struct use {
  struct timeline *timeline;
  uint64_t position;
};

/* Another object, which may be gone. */
struct reference {
  enum object_kind kind;
  const void *handle;
  uint64_t id;
};

struct references {
  struct reference *list;
  size_t count, capacity;
};

struct object {
  struct object *next; /* of its bucket */
  enum object_kind kind;
  const void *handle;
  uint64_t id; /* handles are used again */
  const struct tap *tap;
  int device;
  size_t bytes;              /* of memory */
  struct timeline *timeline; /* of a stream; where an event was recorded last */
  uint64_t position;         /* of that record */
  bool timing, recorded;     /* events */
  bool capturing;            /* streams: records; events: recorded in a capture */
  const void *module;        /* of a function */
  int most_threads;          /* of a function */
  struct references refs;    /* what a capture, a graph or an exec uses */
  struct use *uses;          /* pending ones, of memory and modules */
  size_t nuses, capacity;
};

struct object *object_add(enum object_kind kind, const void *handle, int device);
struct object *object_find(enum object_kind kind, const void *handle);
/* Takes it out of the table and frees it. */
void object_remove(struct object *object);
/* The memory, of device or host, that holds the address; NULL when none does. */
struct object *object_holding(const void *address);
size_t object_count(enum object_kind kind);
/* The first object of a kind that `matches`. */
struct object *object_search(enum object_kind kind, bool (*matches)(const struct object *, const void *), const void *);
/* An operation on the stream uses it. */
void object_use(struct object *object, struct timeline *timeline);
/* Whether a use has not been seen to pass. */
bool object_in_use(const struct object *object);
void reference_add(struct references *refs, const struct object *object);
void references_copy(struct references *to, const struct references *from);
void references_free(struct references *refs);
struct object *reference_find(const struct reference *reference);
/* Everything enqueued on the tap's device, or on one timeline up to a place, has passed. */
void device_passed(const struct tap *of, int device);
void timeline_passed(struct timeline *timeline, uint64_t position);
void objects_forget(void);

#endif
