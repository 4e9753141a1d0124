/*
 * marks.c - growing the readers of a piece of memory beyond the few that fit inline.
 */
#include "memory/marks.h"

#include <string.h>

static bool make_room(struct marks *marks) {
  uint32_t room = marks->capacity ? marks->capacity : MARKS_INLINE;
  if (marks->nreaders < room) return true;
  struct mark *more = realloc(marks->more, 2 * room * sizeof *more);
  if (!more) return false;
  if (!marks->capacity) memcpy(more, marks->few, sizeof marks->few);
  marks->more = more;
  marks->capacity = 2 * room;
  return true;
}

void marks_add_reader(struct marks *marks, uint32_t slot, uint64_t position) {
  struct mark mark = {.position = position, .slot = slot};
  if (!make_room(marks)) {
    marks->writer = mark;
    return;
  }
  struct mark *readers = marks->capacity ? marks->more : marks->few;
  readers[marks->nreaders++] = mark;
}
