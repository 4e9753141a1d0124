/*
 * gzip.c - core.read_gzip: a gzipped file as a string, for recorded tuning runs.
 *
 * zlib is loaded when the first such file is read, and only its functions over files are used, whose types are simple;
 * who reads no gzipped files needs no zlib.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lua/tune.h"

struct zlib {
  void *(*open)(const char *path, const char *mode);
  int (*read)(void *file, void *buffer, unsigned bytes);
  int (*close)(void *file);
};

struct text {
  char *data;
  size_t bytes, capacity;
};

enum { PIECE = 1 << 20 };

static bool load(struct zlib *z) {
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  *(void **)&z->open = dlsym(library, "gzopen");
  *(void **)&z->read = dlsym(library, "gzread");
  *(void **)&z->close = dlsym(library, "gzclose");
  return z->open && z->read && z->close;
}

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
static const char *read_all(const struct zlib *z, const char *path, struct text *text) {
  void *file = z->open(path, "rb");
  if (!file) return "cannot be opened";
  int got = -1;
  while (more_room(text) && (got = z->read(file, text->data + text->bytes, PIECE)) > 0) text->bytes += (size_t)got;
  bool whole = z->close(file) == 0; /* which is how a file that ends too early shows */
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
  struct zlib z = {0};
  struct text text = {0};
  const char *why = "is gzipped, and zlib (libz.so.1) is not installed; on Debian: apt-get install zlib1g";
  if (load(&z)) why = read_all(&z, path, &text);
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
