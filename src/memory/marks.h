/*
 * marks.h - who used a piece of memory last, as places in streams.
 *
 * A device has numbered stream slots; every slot counts what was enqueued on it. A mark (slot, position) is
 * one enqueued operation; position 0 is none. A piece of memory remembers its last writer and who read it since.
 * Marks outlive the stream they name: a slot's count never goes back, also when another stream takes the slot.
 */
#ifndef LUHIP_MEMORY_MARKS_H
#define LUHIP_MEMORY_MARKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct mark {
  uint64_t position;
  uint32_t slot;
};

enum { MARKS_INLINE = 4 };

struct marks {
  struct mark writer;
  uint32_t nreaders, capacity; /* capacity counts `more`; 0: the readers are in `few` */
  struct mark few[MARKS_INLINE];
  struct mark *more;
};

static inline const struct mark *marks_readers(const struct marks *marks) {
  return marks->capacity ? marks->more : marks->few;
}

/* The one place that adds a reader which is not there yet. Out of memory, the reader takes the writer's place:
   it was ordered behind that writer, so nobody waits for too little, and later readers wait for a little more. */
void marks_add_reader(struct marks *marks, uint32_t slot, uint64_t position);

static inline void marks_read(struct marks *marks, uint32_t slot, uint64_t position) {
  struct mark *readers = marks->capacity ? marks->more : marks->few;
  for (uint32_t i = 0; i < marks->nreaders; i++) {
    if (readers[i].slot != slot) continue;
    readers[i].position = position;
    return;
  }
  marks_add_reader(marks, slot, position);
}

/* A write comes after everything that was marked: it alone remains. */
static inline void marks_write(struct marks *marks, uint32_t slot, uint64_t position) {
  marks->writer = (struct mark){.position = position, .slot = slot};
  marks->nreaders = 0;
}

/* Adds all that `more` marks, for memory that is made of two pieces; what is there of the same slot stays the later one.
   Writers become readers where two are needed, which a first write waits for like for a writer, and nothing is read
   before. False when the host has no memory; nothing changed then. */
bool marks_merge(struct marks *marks, const struct marks *more);

static inline void marks_clear(struct marks *marks) {
  marks->writer.position = 0;
  marks->nreaders = 0;
}

static inline void marks_free(struct marks *marks) {
  free(marks->more);
  *marks = (struct marks){0};
}

/* Answers whether all that is marked has passed, for a user on `slot` or for the host. */
typedef bool (*marks_passed)(void *user, const struct marks *marks);

#endif
