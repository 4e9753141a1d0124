/*
 * explorer.c - core.explorer: the model-guided search of luhip.tune.strategies.model. User value 1 is the space, whose
 * memory the explorer borrows. Positions count from 1.
 */
#include <math.h>

#include "lua/tune.h"
#include "tune/explorer.h"
#include "tune/space.h"

struct lb_explorer {
  struct explorer *explorer;
};

/* The explorer at idx, whose space is still there: it may have been freed by hand. */
static struct explorer *check_explorer(lua_State *L, int idx, const struct tune_space **space) {
  struct lb_explorer *e = lb_check(L, idx, LB_EXPLORER);
  if (!e->explorer) lb_argument(L, idx, LUHIP_E_FREED, "the explorer was freed");
  lua_getiuservalue(L, idx, 1);
  *space = lb_check_space(L, -1);
  lua_pop(L, 1);
  return e->explorer;
}

/* core.explorer(space, seed, first) -> explorer */
int lb_make_explorer(lua_State *L) {
  const struct tune_space *space = lb_check_space(L, 1);
  lua_Integer seed = lb_check_integer(L, 2, "seed", INT64_MIN, INT64_MAX);
  lua_Integer first = lb_check_integer(L, 3, "first", 1, INT32_MAX);
  if (tune_space_count(space) == 0) return lb_argument(L, 1, LUHIP_E_ARGUMENT, "the space has no configurations");
  struct lb_explorer *e = lb_new(L, LB_EXPLORER, sizeof *e, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  e->explorer = explorer_new(lb_check_space(L, 1), (uint64_t)seed, (uint32_t)first);
  if (!e->explorer) return lb_raise(L, LUHIP_E_MEMORY, "out of memory for a search");
  return 1;
}

/* explorer:next([caution]) -> position, or nil when all were tried; without caution the expected improvement decides */
static int explorer_lua_next(lua_State *L) {
  const struct tune_space *space;
  struct explorer *e = check_explorer(L, 1, &space);
  uint64_t index;
  if (!explorer_next(e, luaL_optnumber(L, 2, (lua_Number)NAN), &index)) return 0;
  lua_pushinteger(L, (lua_Integer)index + 1);
  return 1;
}

/* explorer:tell(position, cost): what is no finite number failed */
static int explorer_lua_tell(lua_State *L) {
  const struct tune_space *space;
  struct explorer *e = check_explorer(L, 1, &space);
  lua_Integer i = lb_check_integer(L, 2, "position", 1, (lua_Integer)tune_space_count(space));
  if (!explorer_tell(e, (uint64_t)i - 1, luaL_checknumber(L, 3)))
    return lb_raise(L, LUHIP_E_MEMORY, "out of memory for a search");
  return 0;
}

static int explorer_lua_free(lua_State *L) {
  struct lb_explorer *e = lb_check(L, 1, LB_EXPLORER);
  explorer_free(e->explorer);
  e->explorer = NULL;
  return 0;
}

void lb_open_explorer(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"next", explorer_lua_next},
      {"tell", explorer_lua_tell},
      {"free", explorer_lua_free},
      {NULL, NULL},
  };
  static const luaL_Reg meta[] = {{"__gc", explorer_lua_free}, {"__close", explorer_lua_free}, {NULL, NULL}};
  lb_class_register(L, LB_EXPLORER, &(struct lb_class_functions){methods, NULL, meta});
}
