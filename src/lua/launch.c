/*
 * launch.c - launching kernels: the path that is taken most.
 *
 * Lua values become an array of luhip_arg on the C stack, in which the library converts each to the type its
 * parameter declares; what does not fit is its error. Nothing is allocated, unless a table argument is longer
 * than the pool beside the array. k:launch reads its geometry from a table at each call; k:bind and
 * k(grid, block) read it once and give a launcher, whose call goes straight to the arguments.
 *
 * The functions here carry the state as an upvalue, so that it costs no look-up. It knows where the metatables are by
 * which buffers and launchers are told from other userdata.
 */
#include "lua/binding.h"

#define POOL 64

struct arguments {
  luhip_arg args[LUHIP_MAX_ARGS];
  luhip_arg pool[POOL]; /* elements of table arguments */
  size_t n, pooled;
};

static struct lb_state *state_upvalue(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- arguments --------------------------------------------------------------------------------------------------------- */

/* A number or boolean as a scalar argument; false for anything else. */
static inline bool read_scalar(lua_State *L, int idx, int type, luhip_arg *arg) {
  if (type == LUA_TNUMBER) {
    int whole = lua_isinteger(L, idx);
    arg->tag = whole ? LUHIP_ARG_INT : LUHIP_ARG_FLOAT;
    if (whole)
      arg->i = lua_tointeger(L, idx);
    else
      arg->f = lua_tonumber(L, idx);
    return true;
  }
  if (type != LUA_TBOOLEAN) return false;
  arg->tag = LUHIP_ARG_BOOL;
  arg->i = lua_toboolean(L, idx);
  return true;
}

static void read_other(lua_State *L, int idx, luhip_arg *arg) {
  arg->tag = LUHIP_ARG_OTHER;
  arg->text = lb_type_name(L, idx);
}

static inline void read_userdata(lua_State *L, int idx, luhip_arg *arg) {
  const struct lb_buffer *buffer = lb_test(L, idx, LB_BUFFER);
  if (!buffer) {
    read_other(L, idx, arg);
    return;
  }
  arg->tag = LUHIP_ARG_BUFFER;
  arg->buffer = buffer->buffer;
  if (!arg->buffer) lb_raise(L, LUHIP_E_FREED, "a buffer that was never made");
}

/* A table: numbers for a vector or for a table of integers. Read raw; what is no number is the library's to refuse. */
static void read_table(lua_State *L, int idx, struct arguments *arguments, luhip_arg *arg) {
  size_t n = (size_t)lua_rawlen(L, idx);
  luhip_arg *list = arguments->pool + arguments->pooled;
  luaL_checkstack(L, 4, NULL);
  if (n == 0 && (lua_pushnil(L), lua_next(L, idx))) {
    lua_pop(L, 2);
    arg->tag = LUHIP_ARG_OTHER;
    arg->text = "a table with keys (a list is {1, 2, 3})";
    return;
  }
  if (n > POOL - arguments->pooled)
    list = lua_newuserdatauv(L, n * sizeof *list, 0); /* stays on the stack, and so alive */
  else
    arguments->pooled += n;
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, idx, (lua_Integer)i + 1);
    if (!read_scalar(L, -1, lua_type(L, -1), &list[i]))
      read_other(L, -1, &list[i]); /* the name of a type, which lasts */
    lua_pop(L, 1);
  }
  arg->tag = LUHIP_ARG_LIST;
  arg->list = list;
  arg->size = n;
}

static inline void read_arguments(lua_State *L, int first, int last, struct arguments *arguments) {
  arguments->n = 0;
  arguments->pooled = 0;
  if (last - first + 1 > LUHIP_MAX_ARGS)
    lb_raise(L, LUHIP_E_ARGUMENT, "%d arguments; a launch takes at most %d", last - first + 1, LUHIP_MAX_ARGS);
  for (int idx = first; idx <= last; idx++) {
    luhip_arg *arg = &arguments->args[arguments->n++];
    int type = lua_type(L, idx);
    if (read_scalar(L, idx, type, arg)) continue;
    switch (type) {
    case LUA_TUSERDATA:
      read_userdata(L, idx, arg);
      break;
    case LUA_TTABLE:
      read_table(L, idx, arguments, arg);
      break;
    case LUA_TSTRING:
      arg->tag = LUHIP_ARG_BYTES;
      arg->bytes = lua_tolstring(L, idx, &arg->size);
      break;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, idx))
        read_other(L, idx, arg);
      else
        arg->tag = LUHIP_ARG_NULL;
      break;
    default:
      read_other(L, idx, arg);
      break;
    }
  }
}

/* ---- geometry ----------------------------------------------------------------------------------------------------------- */

struct geometry {
  luhip_launch_config config;
  const struct lb_stream *stream; /* given; else the current one */
};

/* For messages. */
static const char *kernel_name(const struct lb_kernel *kernel) {
  return kernel->kernel ? luhip_kernel_name(kernel->kernel) : "(not compiled)";
}

/* A whole number, of any size: the library knows the limits and names them. */
static int64_t read_whole(lua_State *L, int idx, const struct lb_kernel *kernel, const char *what) {
  if (lua_isinteger(L, idx)) return lua_tointeger(L, idx);
  const char *text = lua_pushfstring(L, "kernel '%s': %s", kernel_name(kernel), what);
  lua_Integer value = lb_to_integer(L, idx < 0 ? idx - 1 : idx, text, LUA_MININTEGER, LUA_MAXINTEGER);
  lua_pop(L, 1);
  return value;
}

/* A number or a list of up to three at idx (absolute). */
static void read_dims(lua_State *L, int idx, const struct lb_kernel *kernel, const char *what, int64_t dims[3]) {
  dims[1] = dims[2] = 1;
  if (!lua_istable(L, idx)) {
    dims[0] = read_whole(L, idx, kernel, what);
    return;
  }
  lua_Unsigned n = lua_rawlen(L, idx);
  if (n < 1 || n > 3)
    lb_raise(L, LUHIP_E_ARGUMENT, "kernel '%s': %s has 1 to 3 dimensions, not %I", kernel_name(kernel), what,
             (LUAI_UACINT)n);
  for (int i = 0; i < (int)n; i++) {
    lua_rawgeti(L, idx, i + 1);
    dims[i] = read_whole(L, -1, kernel, what);
    lua_pop(L, 1);
  }
}

static void read_grid(lua_State *L, int idx, const struct lb_kernel *kernel, luhip_launch_config *config) {
  const struct lb_buffer *buffer = lb_test(L, idx, LB_BUFFER);
  if (buffer)
    config->grid_buffer = buffer->buffer;
  else
    read_dims(L, idx, kernel, "grid", config->grid);
}

static const struct lb_stream *read_stream(lua_State *L, int idx) {
  const struct lb_stream *stream = lb_test(L, idx, LB_STREAM);
  if (!stream) lb_raise(L, LUHIP_E_TYPE, "stream: luhip.stream expected, got %s", lb_type_name(L, idx));
  if (!stream->stream) lb_raise(L, LUHIP_E_FREED, "stream: the stream was freed");
  return stream;
}

/* { grid=, block=, shared=, stream=, touches= } at idx. The array of touched buffers is pushed. */
static void read_geometry(lua_State *L, int idx, const struct lb_kernel *kernel, struct geometry *geometry) {
  static const char *const names[] = {"grid", "block", "shared", "stream", "touches", NULL};
  luhip_launch_config *config = &geometry->config;
  unsigned given = 0;
  *geometry = (struct geometry){0};
  if (!lua_istable(L, idx))
    lb_argument(L, idx, LUHIP_E_TYPE, "a table { grid =, block = } expected, got %s", lb_type_name(L, idx));
  luaL_checkstack(L, 10, NULL);
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    int key = lb_check_key(L, -2, names, "launch"), value = lua_gettop(L);
    given |= 1u << key;
    switch (key) {
    case 0:
      read_grid(L, value, kernel, config);
      break;
    case 1:
      read_dims(L, value, kernel, "block", config->block);
      break;
    case 2:
      config->shared = read_whole(L, value, kernel, "shared");
      break;
    case 3:
      geometry->stream = read_stream(L, value);
      break;
    default:
      break; /* pushes; see below */
    }
  }
  for (int key = 0; key < 2; key++)
    if (!(given & (1u << key)))
      lb_raise(L, LUHIP_E_ARGUMENT, "kernel '%s': no %s was given", kernel_name(kernel), names[key]);
  if (!(given & 1u << 4)) return;
  lua_pushliteral(L, "touches");
  lua_rawget(L, idx);
  config->touches = lb_push_buffers(L, lua_gettop(L), "touches", &config->ntouches);
}

/* ---- launches ------------------------------------------------------------------------------------------------------------- */

/* The native kernel and stream, at the last moment. */
static luhip_kernel *live_kernel(lua_State *L, const struct lb_kernel *kernel) {
  if (!kernel->kernel) lb_raise(L, LUHIP_E_FREED, "the kernel was freed");
  return kernel->kernel;
}

static luhip_stream *live_stream(lua_State *L, const struct lb_stream *stream) {
  if (!stream) return NULL;
  if (!stream->stream) lb_raise(L, LUHIP_E_FREED, "the stream was freed");
  return stream->stream;
}

/* The launch of a kernel that did not compile, the last argument at `last` and the error object behind it. A dry run
   tells it at once. */
static int launch_uncompiled(lua_State *L, const struct lb_kernel *kernel, int last) {
  struct geometry geometry;
  struct arguments arguments;
  struct lb_recipe recipe;
  luhip_error *error = NULL;
  read_geometry(L, 2, kernel, &geometry);
  read_arguments(L, 3, last, &arguments);
  lb_push_recipe(L, 1, &recipe);
  struct lb_scope scope = lb_scope(L, state_upvalue(L), kernel->owner);
  geometry.config.dry = scope.dry;
  geometry.config.stream = geometry.stream ? live_stream(L, geometry.stream) : scope.stream;
  luhip_status status =
      luhip_launch_uncompiled(lb_owner(L, kernel->owner), recipe.source, &recipe.options, recipe.name, &geometry.config,
                              arguments.args, arguments.n, lb_native_error(L, last + 1), &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_settop(L, last + 1);
  return scope.dry ? lb_throw(L) : 0;
}

/* k:launch({ grid=, block=, ... }, arguments...) */
static int kernel_launch(lua_State *L) {
  struct lb_tries tries = {0};
  int last = lua_gettop(L);
  const struct lb_kernel *kernel = lb_check_launched(L, 1);
  const struct lb_state *state = state_upvalue(L);
  struct geometry geometry;
  struct arguments arguments;
  luhip_error *error = NULL;
  luhip_status status;
  if (!kernel->kernel) return launch_uncompiled(L, kernel, last);
  read_geometry(L, 2, kernel, &geometry);
  read_arguments(L, 3, last, &arguments);
  do {
    struct lb_scope scope = lb_scope(L, state, kernel->owner);
    geometry.config.dry = scope.dry;
    geometry.config.stream = geometry.stream ? live_stream(L, geometry.stream) : scope.stream;
    luhip_kernel *native = live_kernel(L, kernel);
    lb_try(L, state, &tries);
    status = luhip_launch(native, &geometry.config, arguments.args, arguments.n, &error);
  } while (lb_retry(L, kernel->owner, status, &error, &tries));
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

/* The call of a launcher, with the kernel's arguments. */
static int launcher_call(lua_State *L) {
  const struct lb_state *state = state_upvalue(L);
  const struct lb_launcher *launcher = lb_check(L, 1, LB_LAUNCHER);
  struct arguments arguments;
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  read_arguments(L, 2, lua_gettop(L), &arguments);
  do {
    struct lb_scope scope = lb_scope(L, state, launcher->owner);
    if (!launcher->launcher) lb_raise(L, LUHIP_E_FREED, "the launcher was freed");
    lb_try(L, state, &tries);
    status = luhip_launcher_run(launcher->launcher, scope.stream, scope.dry, arguments.args, arguments.n, &error);
  } while (lb_retry(L, launcher->owner, status, &error, &tries));
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

/* Pushes a launcher of the kernel at 1. */
static int push_launcher(lua_State *L, const struct lb_kernel *kernel, struct geometry *geometry) {
  struct lb_launcher *launcher = lb_new(L, LB_LAUNCHER, sizeof *launcher, 2);
  launcher->owner = kernel->owner;
  lua_getiuservalue(L, 1, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 2);
  luhip_error *error = NULL;
  geometry->config.stream = live_stream(L, geometry->stream);
  luhip_status status = luhip_bind(live_kernel(L, kernel), &geometry->config, &launcher->launcher, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

/* k:bind { grid=, block=, ... } -> launcher */
static int kernel_bind(lua_State *L) {
  const struct lb_kernel *kernel = lb_check_kernel(L, 1);
  struct geometry geometry;
  lua_settop(L, 2);
  read_geometry(L, 2, kernel, &geometry);
  return push_launcher(L, kernel, &geometry);
}

/* k(grid, block [, shared]) -> launcher */
static int kernel_call(lua_State *L) {
  const struct lb_kernel *kernel = lb_check_kernel(L, 1);
  struct geometry geometry = {0};
  lua_settop(L, 4);
  read_grid(L, 2, kernel, &geometry.config);
  read_dims(L, 3, kernel, "block", geometry.config.block);
  if (!lua_isnil(L, 4)) geometry.config.shared = read_whole(L, 4, kernel, "shared");
  return push_launcher(L, kernel, &geometry);
}

/* g:update(i, arguments...): of the i-th launch of a graph */
static int graph_update(lua_State *L) {
  struct lb_graph *graph = lb_check_graph(L, 1);
  struct arguments arguments;
  luhip_error *error = NULL;
  luhip_status status;
  struct lb_tries tries = {0};
  lua_Integer launch = lb_check_integer(L, 2, "launch", 1, LUA_MAXINTEGER);
  read_arguments(L, 3, lua_gettop(L), &arguments);
  do {
    status = luhip_graph_update(lb_check_graph(L, 1)->graph, (size_t)launch - 1, arguments.args, arguments.n, &error);
  } while (lb_retry(L, graph->owner, status, &error, &tries));
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

/* ---- launchers -------------------------------------------------------------------------------------------------------------- */

static int launcher_free(lua_State *L) {
  struct lb_launcher *launcher = lb_check(L, 1, LB_LAUNCHER);
  luhip_launcher *native = launcher->launcher;
  launcher->launcher = NULL;
  if (native) luhip_launcher_release(native);
  return 0;
}

static int field_kernel(lua_State *L) {
  lb_check(L, 1, LB_LAUNCHER);
  lua_getiuservalue(L, 1, 2);
  return 1;
}

static int launcher_tostring(lua_State *L) {
  const struct lb_launcher *launcher = lb_check(L, 1, LB_LAUNCHER);
  if (launcher->launcher)
    lua_pushfstring(L, "luhip.launcher: %s on %s", luhip_kernel_name(luhip_launcher_kernel(launcher->launcher)),
                    launcher->owner->info.id);
  else
    lua_pushliteral(L, "luhip.launcher (freed)");
  return 1;
}

void lb_open_launcher(lua_State *L) {
  static const luaL_Reg methods[] = {{"free", launcher_free}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"kernel", field_kernel}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", launcher_tostring}, {"__close", launcher_free}, {"__gc", launcher_free}, {NULL, NULL}};
  lb_class_register(L, LB_LAUNCHER, &(struct lb_class_functions){methods, fields, meta});
}

/* Adds the functions, with their upvalues, to the table on top, which is popped. */
static void add(lua_State *L, const luaL_Reg *functions) {
  lua_pushlightuserdata(L, lb_state(L));
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
}

void lb_open_launch(lua_State *L) {
  static const luaL_Reg kernel_methods[] = {{"launch", kernel_launch}, {"bind", kernel_bind}, {NULL, NULL}};
  static const luaL_Reg kernel_meta[] = {{"__call", kernel_call}, {NULL, NULL}};
  static const luaL_Reg graph_methods[] = {{"update", graph_update}, {NULL, NULL}};
  static const luaL_Reg launcher_meta[] = {{"__call", launcher_call}, {NULL, NULL}};
  lb_push_methods(L, LB_KERNEL);
  add(L, kernel_methods);
  lb_push_metatable(L, LB_KERNEL);
  add(L, kernel_meta);
  lb_push_metatable(L, LB_LAUNCHER);
  add(L, launcher_meta);
  lb_push_methods(L, LB_GRAPH);
  add(L, graph_methods);
}
