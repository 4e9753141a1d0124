/*
 * gzip.c - core.read_gzip: a gzipped file as a string, for recorded tuning runs.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lua/tune.h"

struct text {
  char *data;
  size_t bytes, capacity;
};

enum { PIECE = 1 << 20 };

static bool more_room(struct text *text) {
  if (text->capacity - text->bytes >= PIECE) return true;
  size_t capacity = text->capacity * 2 + PIECE;
  char *data = realloc(text->data, capacity);
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  return true;
}

/* Why not, or NULL. */
static const char *read_all(const char *path, struct text *text) {
  gzFile file = gzopen(path, "rb");
  if (!file) return "cannot be opened";
  int got = -1;
  while (more_room(text) && (got = gzread(file, text->data + text->bytes, PIECE)) > 0) text->bytes += (size_t)got;
  bool whole = gzclose(file) == Z_OK; /* which is how a file that ends too early shows */
  return got == 0 && whole ? NULL : got > 0 ? "is too large for memory" : "is damaged, or ends too early";
}

static int push_text(lua_State *L) {
  const struct text *text = lua_touserdata(L, 1);
  lua_pushlstring(L, text->data ? text->data : "", text->bytes);
  return 1;
}

/* core.read_gzip(path) -> bytes, or nil and why */
int lb_read_gzip(lua_State *L) {
  const char *path = lb_check_text(L, 1, "path");
  struct text text = {0};
  const char *why = read_all(path, &text);
  if (why) {
    free(text.data);
    lua_pushnil(L);
    lua_pushfstring(L, "%s %s", path, why);
    return 2;
  }
  lua_pushcfunction(L, push_text);
  lua_pushlightuserdata(L, &text);
  int status = lua_pcall(L, 1, 1, 0);
  free(text.data);
  return status == LUA_OK ? 1 : lua_error(L);
}
