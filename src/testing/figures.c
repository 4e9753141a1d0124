/*
 * figures.c - the figures that the rules name, as they are compiled in.
 */
#include "testing/testing.h"

#include <lauxlib.h>

#include "server/drops.h"
#include "server/failure.h"
#include "server/metadata.h"
#include "server/profiler.h"
#include "server/slot.h"
#include "server/transfer.h"

/* figures() -> a table of them */
static int figures(lua_State *L) {
  static const struct {
    const char *name;
    lua_Integer value;
  } all[] = {
      {"streams", USER_STREAMS},
      {"drops", DROPS_ITEMS},
      {"drops_integrated", DROPS_ITEMS_INTEGRATED},
      {"drops_bytes", (lua_Integer)DROPS_BYTES},
      {"metadata_bytes", METADATA_BYTES},
      {"metadata_entries", METADATA_ENTRIES},
      {"skips", SKIP_RECORDS},
      {"anchor_ms", (lua_Integer)PROFILER_ANCHOR_MS},
      {"chunked_from", (lua_Integer)WRITE_CHUNKED_FROM},
  };
  lua_newtable(L);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    lua_pushinteger(L, all[i].value);
    lua_setfield(L, -2, all[i].name);
  }
  return 1;
}

void testing_open_figures(lua_State *L) {
  lua_pushcfunction(L, figures);
  lua_setfield(L, -2, "figures");
}
