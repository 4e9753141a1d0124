/*
 * space.c - core.space: the engine of luhip.tune.space, which is what users see.
 *
 * User value 1 keeps the lists of values and the expressions, whose texts are borrowed. User value 2 is the list of the
 * parameters' names. Parameters, digits and positions count from 1 here.
 */
#include <stdlib.h>
#include <string.h>

#include "lua/tune.h"
#include "tune/space.h"

struct lb_space {
  struct tune_space *space; /* NULL only if making it failed */
  size_t charged;
  bool started, done;
};

static struct lb_space *check_space(lua_State *L, int idx) {
  struct lb_space *s = lb_check(L, idx, LB_SPACE);
  if (!s->space) lb_argument(L, idx, LUHIP_E_FREED, "the space was freed");
  return s;
}

static struct lb_space *check_built(lua_State *L, int idx) {
  struct lb_space *s = check_space(L, idx);
  if (!s->done) lb_argument(L, idx, LUHIP_E_ARGUMENT, "the space is not built yet");
  return s;
}

const struct tune_space *lb_check_space(lua_State *L, int idx) {
  return check_built(L, idx)->space;
}

static int no_memory(lua_State *L) {
  return lb_raise(L, LUHIP_E_MEMORY, "out of memory for a tuning space");
}

/* Room for a digit per parameter, on the Lua stack. */
static uint32_t *push_digits(lua_State *L, const struct lb_space *s) {
  return lua_newuserdatauv(L, tune_space_axes(s->space) * sizeof(uint32_t) + 1, 0);
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void add_axis(lua_State *L, struct lb_space *s, int list) {
  size_t n = lua_rawlen(L, list);
  if (n < 1 || n > INT32_MAX / 2) lb_raise(L, LUHIP_E_ARGUMENT, "core.space: a parameter has no values, or too many");
  struct tune_value *values = lua_newuserdatauv(L, n * sizeof *values, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    values[i] = lb_to_tune_value(L, -1);
    lua_pop(L, 1);
  }
  if (!tune_space_axis(s->space, values, (uint32_t)n)) no_memory(L);
  lua_pop(L, 1);
}

/* core.space(names, lists of values, most rows of one group) -> space */
int lb_make_space(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer most = lb_check_integer(L, 3, "most", 1, INT64_MAX);
  lua_settop(L, 3);
  struct lb_space *s = lb_new(L, LB_SPACE, sizeof *s, 2);
  lua_newtable(L);
  lua_setiuservalue(L, 4, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 4, 2);
  s->space = tune_space_new((uint64_t)most);
  if (!s->space) return no_memory(L);
  lua_getiuservalue(L, 4, 1);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 2); i++) {
    lua_rawgeti(L, 2, i);
    luaL_checktype(L, -1, LUA_TTABLE);
    add_axis(L, s, lua_gettop(L));
    lua_rawseti(L, 5, i);
  }
  lua_settop(L, 4);
  return 1;
}

static struct lb_space *check_unbuilt(lua_State *L) {
  struct lb_space *s = check_space(L, 1);
  if (s->started) lb_argument(L, 1, LUHIP_E_ARGUMENT, "the space is built already");
  return s;
}

/* The list of parameters at idx, as axes, on the Lua stack. */
static uint32_t *push_axes(lua_State *L, const struct lb_space *s, int idx, uint32_t *count) {
  luaL_checktype(L, idx, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
  uint32_t *axes = lua_newuserdatauv(L, (size_t)n * sizeof *axes + 1, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, idx, i + 1);
    axes[i] = (uint32_t)lb_to_integer(L, -1, "parameter", 1, tune_space_axes(s->space)) - 1;
    lua_pop(L, 1);
  }
  *count = (uint32_t)n;
  return axes;
}

/* space:expression(expression, parameters): adds a constraint; which parameter each of its names is */
static int space_expression(lua_State *L) {
  struct lb_space *s = check_unbuilt(L);
  const struct tune_expr *expr = lb_check_expression(L, 2);
  uint32_t count;
  const uint32_t *axes = push_axes(L, s, 3, &count);
  if (count != expr->name_count) return lb_argument(L, 3, LUHIP_E_ARGUMENT, "a parameter for each name expected");
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  luaL_ref(L, -2);
  return tune_space_expr(s->space, expr, axes) ? 0 : no_memory(L);
}

/* space:asked(parameters in ascending order): adds a constraint that Lua answers */
static int space_asked(lua_State *L) {
  struct lb_space *s = check_unbuilt(L);
  uint32_t count;
  const uint32_t *axes = push_axes(L, s, 2, &count);
  if (count == 0) return lb_argument(L, 2, LUHIP_E_ARGUMENT, "at least one parameter expected");
  return tune_space_asked(s->space, axes, count) ? 0 : no_memory(L);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

/* space:build(nodes, digits) -> "more"; "done"; "many"; "ask", constraint, and the digits so far in the list given */
static int space_build(lua_State *L) {
  struct lb_space *s = check_space(L, 1);
  lua_Integer nodes = lb_check_integer(L, 2, "nodes", 1, INT64_MAX);
  luaL_checktype(L, 3, LUA_TTABLE);
  const uint32_t *digits;
  s->started = true;
  switch (tune_space_build(s->space, (uint64_t)nodes)) {
  case TUNE_NO_MEMORY:
    return no_memory(L);
  case TUNE_MORE:
    lua_pushliteral(L, "more");
    return 1;
  case TUNE_TOO_MANY:
    lua_pushliteral(L, "many");
    return 1;
  case TUNE_DONE:
    if (!s->done) lb_charge(L, &s->charged, tune_space_bytes(s->space));
    s->done = true;
    lua_pushliteral(L, "done");
    return 1;
  default:
    break;
  }
  lua_pushliteral(L, "ask");
  lua_pushinteger(L, (lua_Integer)tune_space_question(s->space, &digits) + 1);
  for (uint32_t i = 0; i < tune_space_axes(s->space); i++) {
    lua_pushinteger(L, (lua_Integer)digits[i] + 1);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  return 2;
}

/* space:list(digits of all configurations, one behind the other) -> the position of each; the space is built */
static int space_list(lua_State *L) {
  struct lb_space *s = check_unbuilt(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  uint32_t axes = tune_space_axes(s->space);
  size_t n = lua_rawlen(L, 2);
  if (axes == 0 || n % axes != 0) return lb_argument(L, 2, LUHIP_E_ARGUMENT, "a digit for each parameter expected");
  uint32_t *digits = lua_newuserdatauv(L, n * sizeof *digits + 1, 0);
  for (size_t i = 0; i < n; i++) {
    const struct tune_value *values;
    uint32_t most = tune_space_values(s->space, (uint32_t)(i % axes), &values);
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    digits[i] = (uint32_t)lb_to_integer(L, -1, "digit", 1, most) - 1;
    lua_pop(L, 1);
  }
  if (!tune_space_list(s->space, digits, n / axes)) return no_memory(L);
  s->started = s->done = true;
  lb_charge(L, &s->charged, tune_space_bytes(s->space));
  lua_createtable(L, (int)(n / axes), 0);
  for (size_t i = 0; i < n / axes; i++) {
    uint64_t index;
    if (!tune_space_find(s->space, digits + i * axes, &index)) continue; /* it is there */
    lua_pushinteger(L, (lua_Integer)index + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* space:answer(boolean) */
static int space_answer(lua_State *L) {
  struct lb_space *s = check_space(L, 1);
  tune_space_answer(s->space, lua_toboolean(L, 2) ? TUNE_ANSWER_TRUE : TUNE_ANSWER_FALSE);
  return 0;
}

/* space:progress() -> how much was looked at (0 to 1), rows found in this group */
static int space_progress(lua_State *L) {
  uint64_t rows;
  lua_pushnumber(L, tune_space_progress(check_space(L, 1)->space, &rows));
  lua_pushinteger(L, (lua_Integer)rows);
  return 2;
}

/* space:removal(constraint) -> removed of its group's product, that product, undefined, bad, why the first one was bad */
static int space_removal(lua_State *L) {
  struct lb_space *s = check_space(L, 1);
  lua_Integer i = lb_check_integer(L, 2, "constraint", 1, INT32_MAX);
  struct tune_removal removal = tune_space_removal(s->space, (uint32_t)i - 1);
  char text[128];
  lua_pushnumber(L, removal.removed);
  lua_pushnumber(L, removal.share);
  lua_pushinteger(L, (lua_Integer)removal.undefined);
  lua_pushinteger(L, (lua_Integer)removal.bad);
  if (removal.bad == 0) return 4;
  tune_bad_text(&removal.first_bad, text, sizeof text);
  lua_pushstring(L, text);
  return 5;
}

/* space:group(constraint) -> the parameters of its group */
static int space_group(lua_State *L) {
  struct lb_space *s = check_space(L, 1);
  lua_Integer constraint = lb_check_integer(L, 2, "constraint", 1, INT32_MAX);
  uint32_t axes = tune_space_axes(s->space);
  uint8_t *marks = lua_newuserdatauv(L, axes + 1, 0);
  tune_space_group_of(s->space, (uint32_t)constraint - 1, marks);
  lua_newtable(L);
  lua_Integer n = 0;
  for (uint32_t i = 0; i < axes; i++) {
    if (!marks[i]) continue;
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* ---- using ----------------------------------------------------------------------------------------------------- */

static int space_count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)tune_space_count(check_built(L, 1)->space));
  return 1;
}

static const uint32_t *nth_digits(lua_State *L, const struct lb_space *s) {
  lua_Integer i = lb_check_integer(L, 2, "position", 1, (lua_Integer)tune_space_count(s->space));
  uint32_t *digits = push_digits(L, s);
  tune_space_nth(s->space, (uint64_t)i - 1, digits);
  return digits;
}

/* space:digits(position) -> list */
static int space_digits(lua_State *L) {
  const struct lb_space *s = check_built(L, 1);
  const uint32_t *digits = nth_digits(L, s);
  int n = (int)tune_space_axes(s->space);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)digits[i] + 1);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* space:config(position) -> values by name */
static int space_config(lua_State *L) {
  const struct lb_space *s = check_built(L, 1);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 2);
  const uint32_t *digits = nth_digits(L, s);
  int n = (int)tune_space_axes(s->space);
  lua_createtable(L, 0, n);
  for (int i = 0; i < n; i++) {
    const struct tune_value *values;
    tune_space_values(s->space, (uint32_t)i, &values);
    lua_rawgeti(L, 3, i + 1);
    lb_push_tune_value(L, &values[digits[i]]);
    lua_rawset(L, -3);
  }
  return 1;
}

/* The digits at idx, on the Lua stack; NULL where one is no value's. */
static const uint32_t *to_digits(lua_State *L, const struct lb_space *s, int idx) {
  luaL_checktype(L, idx, LUA_TTABLE);
  uint32_t *digits = push_digits(L, s);
  for (uint32_t i = 0; i < tune_space_axes(s->space); i++) {
    const struct tune_value *values;
    lua_rawgeti(L, idx, (lua_Integer)i + 1);
    lua_Integer digit = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    lua_pop(L, 1);
    if (digit < 1 || digit > tune_space_values(s->space, i, &values)) return NULL;
    digits[i] = (uint32_t)digit - 1;
  }
  return digits;
}

/* space:find(digits) -> position, or nil */
static int space_find(lua_State *L) {
  const struct lb_space *s = check_built(L, 1);
  const uint32_t *digits = to_digits(L, s, 2);
  uint64_t index;
  if (!digits || !tune_space_find(s->space, digits, &index)) return 0;
  lua_pushinteger(L, (lua_Integer)index + 1);
  return 1;
}

static void push_positions(lua_State *L, const uint64_t *list, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)list[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

struct near {
  const struct lb_space *s;
  const uint32_t *digits;
  enum tune_near kind;
  uint64_t *list, count;
};

static int push_near(lua_State *L) {
  const struct near *near = lua_touserdata(L, 1);
  lua_createtable(L, (int)near->count, 0);
  push_positions(L, near->list, near->count);
  return 1;
}

enum { NEAR_MOST = 1 << 20 };

/* space:near(digits, kind) -> positions, ascending; nil where there are more than a million */
static int space_near(lua_State *L) {
  static const char *const kinds[] = {"hamming", "adjacent", "strictly-adjacent", NULL};
  struct near near = {.s = check_built(L, 1)};
  near.kind = (enum tune_near)luaL_checkoption(L, 3, "hamming", kinds);
  near.digits = to_digits(L, near.s, 2);
  if (!near.digits) return lb_argument(L, 2, LUHIP_E_RANGE, "a digit is no value's");
  if (!tune_space_near(near.s->space, near.digits, near.kind, NEAR_MOST, &near.list, &near.count))
    return near.count > NEAR_MOST ? 0 : no_memory(L);
  lua_pushcfunction(L, push_near);
  lua_pushlightuserdata(L, &near);
  int status = lua_pcall(L, 1, 1, 0);
  free(near.list);
  return status == LUA_OK ? 1 : lua_error(L);
}

/* core.sample(count, n, seed) -> n different numbers of 1 to count, in random order */
int lb_tune_sample(lua_State *L) {
  lua_Integer count = lb_check_integer(L, 1, "count", 0, INT64_MAX);
  lua_Integer n = lb_check_integer(L, 2, "n", 0, INT32_MAX);
  lua_Integer seed = lb_check_integer(L, 3, "seed", INT64_MIN, INT64_MAX);
  if (n > count) n = count;
  uint64_t *list = lua_newuserdatauv(L, (size_t)n * sizeof *list + 1, 0);
  if (!tune_sample((uint64_t)count, (uint64_t)n, (uint64_t)seed, list)) return no_memory(L);
  lua_createtable(L, (int)n, 0);
  push_positions(L, list, (uint64_t)n);
  return 1;
}

static int space_free(lua_State *L) {
  struct lb_space *s = lb_check(L, 1, LB_SPACE);
  tune_space_free(s->space);
  s->space = NULL;
  lb_discharge(&s->charged);
  return 0;
}

void lb_open_space(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"expression", space_expression},
      {"asked", space_asked},
      {"build", space_build},
      {"list", space_list},
      {"answer", space_answer},
      {"progress", space_progress},
      {"removal", space_removal},
      {"group", space_group},
      {"digits", space_digits},
      {"config", space_config},
      {"find", space_find},
      {"near", space_near},
      {"free", space_free},
      {NULL, NULL},
  };
  static const luaL_Reg fields[] = {{"count", space_count}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", space_free}, {"__close", space_free}, {NULL, NULL}};
  lb_class_register(L, LB_SPACE, &(struct lb_class_functions){methods, fields, meta});
}
