/*
 * records.h - the text of a file, and where in it the records are: see records.c.
 */
#ifndef LUHIP_LUA_RECORDS_H
#define LUHIP_LUA_RECORDS_H

#include "lua/json.h"

struct lb_span {
  size_t start, length;
};

struct lb_records {
  char *text;
  size_t bytes;
  struct lb_span *spans;
  size_t count, capacity;
  size_t charged;
  struct lb_json_hints hints;
};

/* Pushes records of a file whose text is read, gzipped or not, or NULL and why not: the path and a reason. */
struct lb_records *lb_push_records(lua_State *L, const char *path);
/* JSON that lb_walk_json accepts. */
void lb_records_add(lua_State *L, struct lb_records *records, size_t start, size_t length);

/* text.c: all of a file, decompressed if it is gzipped, in a malloc'ed *text, NULL if it is empty. Why not, or NULL: a
   reason of its own, or strerror's. */
const char *lb_read_text(const char *path, char **text, size_t *bytes);

#endif
