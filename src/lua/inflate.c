/*
 * inflate.c - compressed bytes, by libdeflate, for files that hold them.
 */
#include <libdeflate.h>
#include <string.h>

#include "lua/binding.h"

enum { LEVEL = 6 }; /* of 1 to 12, as zlib's */

/* core.inflate(bytes, size [, "deflate" | "gzip"]) -> bytes, or nil, message: the stream of just `size` bytes, either bare
   (RFC 1951, as zip files have it) or with gzip's header and checksum (RFC 1952) */
int lb_inflate(lua_State *L) {
  static const char *const formats[] = {"deflate", "gzip", NULL};
  size_t bytes;
  const char *data = luaL_checklstring(L, 1, &bytes);
  lua_Integer size = luaL_checkinteger(L, 2);
  int gzip = luaL_checkoption(L, 3, "deflate", formats);
  luaL_argcheck(L, size >= 0 && (lua_Unsigned)size < SIZE_MAX / 2, 2, "not a size");
  char *to = lua_newuserdatauv(L, (size_t)size + 1, 0);
  struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
  if (!d) return luaL_error(L, "not enough memory");
  enum libdeflate_result result = gzip ? libdeflate_gzip_decompress(d, data, bytes, to, (size_t)size, NULL)
                                       : libdeflate_deflate_decompress(d, data, bytes, to, (size_t)size, NULL);
  libdeflate_free_decompressor(d);
  if (result == LIBDEFLATE_SUCCESS) {
    lua_pushlstring(L, to, (size_t)size);
    return 1;
  }
  luaL_pushfail(L);
  lua_pushstring(L, result == LIBDEFLATE_BAD_DATA ? "the stream is damaged" : "the size is another");
  return 2;
}

/* core.deflate(bytes) -> bytes: a bare stream (RFC 1951) */
int lb_deflate(lua_State *L) {
  size_t bytes;
  const char *data = luaL_checklstring(L, 1, &bytes);
  char *to = lua_newuserdatauv(L, libdeflate_deflate_compress_bound(NULL, bytes), 0);
  struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
  if (!c) return luaL_error(L, "not enough memory");
  size_t made = libdeflate_deflate_compress(c, data, bytes, to, libdeflate_deflate_compress_bound(NULL, bytes));
  libdeflate_free_compressor(c);
  lua_pushlstring(L, to, made);
  return 1;
}

/* core.crc32(bytes [, so far]) -> integer: that of zip, gzip and PNG */
int lb_crc32(lua_State *L) {
  size_t bytes;
  const char *data = luaL_checklstring(L, 1, &bytes);
  lua_pushinteger(L, libdeflate_crc32((uint32_t)luaL_optinteger(L, 2, 0), data, bytes));
  return 1;
}
