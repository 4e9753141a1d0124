/*
 * text.c - files as text: whole, and decompressed when they are gzipped.
 *
 * Neither size is trusted, since files grow while they are read and gzip's trailer may lie: each is only what memory is
 * taken for at first. gzip members that follow each other are one text (RFC 1952, 2.2); what follows the last one and is
 * none is left out, as gzip does. libdeflate wants a member's text to fit, so where its size is not told right, more room
 * is tried until it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua/records.h"
#include "lua/tune.h"

struct text {
  char *data;
  size_t bytes, capacity;
};

enum {
  PIECE = 1 << 16,       /* more room than this is left for the next step */
  RATIO = 1032,          /* deflate makes no more bytes of one */
  LARGE_PAGE = 2u << 20, /* of the processors that have such */
};

static const char no_memory[] = "it is too large for memory";
static const char damaged[] = "it is damaged, or ends too early";

static bool resize(struct text *text, size_t capacity) {
  char *data = realloc(text->data, capacity);
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  /* Most of the time of reading a large file goes into first touches of its pages: fewer ones. Only a wish. */
  uintptr_t start = ((uintptr_t)data + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE, end = (uintptr_t)data + capacity;
  if (end > start && end - start >= LARGE_PAGE)
    madvise((void *)start, (end - start) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
  return true;
}

static bool more_room(struct text *text) {
  if (text->capacity - text->bytes >= PIECE) return true;
  return text->capacity < SIZE_MAX / 4 && resize(text, text->capacity * 2 + 2 * PIECE);
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static const char *read_open(int fd, struct text *text) {
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 && (uintmax_t)info.st_size < SIZE_MAX / 4 &&
      !resize(text, (size_t)info.st_size + PIECE + 1))
    return no_memory;
  for (;;) {
    if (!more_room(text)) return no_memory;
    ssize_t n = read(fd, text->data + text->bytes, text->capacity - text->bytes);
    if (n == 0) return NULL;
    if (n < 0 && errno != EINTR) return strerror(errno);
    if (n > 0) text->bytes += (size_t)n;
  }
}

static const char *read_file(const char *path, struct text *text) {
  int fd;
  do fd = open(path, O_RDONLY | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return strerror(errno);
  const char *why = read_open(fd, text);
  close(fd);
  return why;
}

/* ---- gzip ---------------------------------------------------------------------------------------------------------- */

static bool is_gzip(const char *data, size_t bytes) {
  return bytes > 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b;
}

/* The size that the last member says it has, as far as that can be. */
static size_t said_size(const struct text *packed) {
  size_t size = 0;
  for (size_t i = 4; i > 0 && packed->bytes > 18; i--)
    size = size << 8 | (unsigned char)packed->data[packed->bytes - 5 + i];
  return size / RATIO < packed->bytes ? size : 0;
}

/* One member, at packed->data + *at, which moves behind it. */
static enum libdeflate_result inflate_member(struct libdeflate_decompressor *d, const struct text *packed, size_t *at,
                                             struct text *text) {
  for (;;) {
    size_t read, made;
    enum libdeflate_result result =
        libdeflate_gzip_decompress_ex(d, packed->data + *at, packed->bytes - *at, text->data + text->bytes,
                                      text->capacity - text->bytes, &read, &made);
    if (result == LIBDEFLATE_SUCCESS) {
      *at += read;
      text->bytes += made;
      return result;
    }
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) return result;
    /* Not for ever: what is damaged makes no more than deflate can. */
    if (text->capacity - text->bytes > (packed->bytes - *at) * RATIO + PIECE) return LIBDEFLATE_BAD_DATA;
    if (text->capacity > SIZE_MAX / 4 || !resize(text, text->capacity * 2)) return result;
  }
}

static const char *inflate_all(const struct text *packed, struct text *text) {
  size_t at = 0;
  struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
  enum libdeflate_result result = LIBDEFLATE_SUCCESS;
  if (!d || !resize(text, said_size(packed) + PIECE)) result = LIBDEFLATE_INSUFFICIENT_SPACE;
  while (result == LIBDEFLATE_SUCCESS && is_gzip(packed->data + at, packed->bytes - at))
    result = inflate_member(d, packed, &at, text);
  libdeflate_free_decompressor(d);
  return result == LIBDEFLATE_SUCCESS ? NULL : result == LIBDEFLATE_INSUFFICIENT_SPACE ? no_memory : damaged;
}

const char *lb_read_text(const char *path, char **text, size_t *bytes) {
  struct text read = {0}, made = {0};
  const char *why = read_file(path, &read);
  if (!why && is_gzip(read.data, read.bytes)) {
    why = inflate_all(&read, &made);
    free(read.data);
    read = made;
  }
  if (why) {
    free(read.data);
    return why;
  }
  *text = read.data;
  *bytes = read.bytes;
  return NULL;
}

/* ---- core.read_text -------------------------------------------------------------------------------------------------- */

static int push_text(lua_State *L) {
  const struct text *text = lua_touserdata(L, 1);
  lua_pushlstring(L, text->data ? text->data : "", text->bytes);
  return 1;
}

/* core.read_text(path) -> the file's bytes, decompressed if they are gzipped; or nil and why not: the path and a reason */
int lb_read_text_file(lua_State *L) {
  const char *path = lb_check_text(L, 1, "path");
  struct text text = {0};
  const char *why = lb_read_text(path, &text.data, &text.bytes);
  if (why) {
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", path, why);
    return 2;
  }
  lua_pushcfunction(L, push_text);
  lua_pushlightuserdata(L, &text);
  int status = lua_pcall(L, 1, 1, 0);
  free(text.data);
  return status == LUA_OK ? 1 : lua_error(L);
}
