/*
 * marks.c - growing the readers of a piece of memory beyond the few that fit inline.
 */
#include "memory/marks.h"

#include <string.h>

static bool make_room(struct marks *marks, uint32_t wanted) {
  uint32_t room = marks->capacity ? marks->capacity : MARKS_INLINE;
  if (wanted <= room) return true;
  while (room < wanted) room *= 2;
  struct mark *more = realloc(marks->more, room * sizeof *more);
  if (!more) return false;
  if (!marks->capacity) memcpy(more, marks->few, sizeof marks->few);
  marks->more = more;
  marks->capacity = room;
  return true;
}

void marks_add_reader(struct marks *marks, uint32_t slot, uint64_t position) {
  struct mark mark = {.position = position, .slot = slot};
  if (!make_room(marks, marks->nreaders + 1)) {
    marks->writer = mark;
    return;
  }
  struct mark *readers = marks->capacity ? marks->more : marks->few;
  readers[marks->nreaders++] = mark;
}

/* There is room for one more. */
static void merge_mark(struct marks *marks, struct mark mark) {
  if (!mark.position) return;
  if (!marks->writer.position || marks->writer.slot == mark.slot) {
    if (marks->writer.position < mark.position) marks->writer = mark;
    return;
  }
  struct mark *readers = marks->capacity ? marks->more : marks->few;
  for (uint32_t i = 0; i < marks->nreaders; i++) {
    if (readers[i].slot != mark.slot) continue;
    if (readers[i].position < mark.position) readers[i].position = mark.position;
    return;
  }
  readers[marks->nreaders++] = mark;
}

bool marks_merge(struct marks *marks, const struct marks *more) {
  if (!make_room(marks, marks->nreaders + more->nreaders + 1)) return false;
  merge_mark(marks, more->writer);
  for (uint32_t i = 0; i < more->nreaders; i++) merge_mark(marks, marks_readers(more)[i]);
  return true;
}
