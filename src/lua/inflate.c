/*
 * inflate.c - compressed bytes, by zlib, for files that hold them.
 */
#include <string.h>
#include <zlib.h>

#include "lua/binding.h"

/* zlib counts in 32 bits. */
enum { PIECE = 1 << 30 };

struct stream {
  z_stream z;
  const unsigned char *from;
  size_t left;
};

static void feed(struct stream *stream) {
  if (stream->z.avail_in || !stream->left) return;
  size_t piece = stream->left < PIECE ? stream->left : PIECE;
  stream->z.next_in = (Bytef *)stream->from;
  stream->z.avail_in = (uInt)piece;
  stream->from += piece;
  stream->left -= piece;
}

/* Into the buffer until the end: Z_STREAM_END, or zlib's error; Z_BUF_ERROR when there is no room left. */
static int run(struct stream *stream, int (*step)(z_streamp, int), unsigned char *to, size_t room, size_t *made) {
  int rc = Z_OK;
  while (rc == Z_OK) {
    feed(stream);
    size_t piece = room - *made < PIECE ? room - *made : PIECE;
    stream->z.next_out = to + *made;
    stream->z.avail_out = (uInt)piece;
    rc = step(&stream->z, stream->left ? Z_NO_FLUSH : Z_FINISH);
    *made += piece - stream->z.avail_out;
    if (rc == Z_BUF_ERROR || (rc == Z_OK && *made == room)) return Z_BUF_ERROR;
  }
  return rc;
}

/* core.inflate(bytes, size [, "deflate" | "gzip"]) -> bytes, or nil, message: the stream of just `size` bytes, either bare
   (RFC 1951, as zip files have it) or with gzip's header and checksum (RFC 1952) */
int lb_inflate(lua_State *L) {
  static const char *const formats[] = {"deflate", "gzip", NULL};
  struct stream stream = {.from = NULL};
  stream.from = (const unsigned char *)luaL_checklstring(L, 1, &stream.left);
  lua_Integer size = luaL_checkinteger(L, 2);
  int gzip = luaL_checkoption(L, 3, "deflate", formats);
  luaL_argcheck(L, size >= 0 && (lua_Unsigned)size < SIZE_MAX / 2, 2, "not a size");
  unsigned char *to = lua_newuserdatauv(L, (size_t)size + 1, 0); /* one more, to see that there is no more */
  size_t made = 0;
  if (inflateInit2(&stream.z, gzip ? MAX_WBITS + 16 : -MAX_WBITS) != Z_OK) return luaL_error(L, "not enough memory");
  int rc = run(&stream, inflate, to, (size_t)size + 1, &made);
  inflateEnd(&stream.z);
  if (rc == Z_STREAM_END && made == (size_t)size) {
    lua_pushlstring(L, (const char *)to, made);
    return 1;
  }
  luaL_pushfail(L);
  lua_pushstring(L, rc == Z_STREAM_END || made > (size_t)size ? "the size is another" : "the stream is damaged");
  return 2;
}

/* core.deflate(bytes) -> bytes: a bare stream (RFC 1951) */
int lb_deflate(lua_State *L) {
  struct stream stream = {.from = NULL};
  stream.from = (const unsigned char *)luaL_checklstring(L, 1, &stream.left);
  if (deflateInit2(&stream.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return luaL_error(L, "not enough memory");
  size_t room = deflateBound(&stream.z, (uLong)stream.left), made = 0;
  deflateEnd(&stream.z);
  unsigned char *to = lua_newuserdatauv(L, room + 1, 0);
  memset(&stream.z, 0, sizeof stream.z);
  if (deflateInit2(&stream.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return luaL_error(L, "not enough memory");
  int rc = run(&stream, deflate, to, room + 1, &made);
  deflateEnd(&stream.z);
  if (rc != Z_STREAM_END) return luaL_error(L, "zlib: %d", rc);
  lua_pushlstring(L, (const char *)to, made);
  return 1;
}

/* core.crc32(bytes [, so far]) -> integer: that of zip, gzip and PNG */
int lb_crc32(lua_State *L) {
  size_t bytes;
  const char *data = luaL_checklstring(L, 1, &bytes);
  uLong crc = (uLong)luaL_optinteger(L, 2, 0);
  for (size_t at = 0; at < bytes; at += PIECE)
    crc = crc32(crc, (const Bytef *)data + at, (uInt)(bytes - at < PIECE ? bytes - at : PIECE));
  lua_pushinteger(L, (lua_Integer)crc);
  return 1;
}
