/*
 * memory.c - memory of a device: figures, pools, persistent mode, and plans.
 *
 * What is text and tables for people is made of this in lua/luhip/memory.lua.
 */
#include <string.h>

#include "lua/binding.h"

static void set_size(lua_State *L, const char *name, size_t size) {
  lua_pushinteger(L, (lua_Integer)size);
  lua_setfield(L, -2, name);
}

/* ---- layouts --------------------------------------------------------------------------------------------------------------- */

enum key { KIND, PAGE, SLICE, CAP, RECLAIM_AT };
static const char *const keys[] = {"kind", "page", "slice", "cap", "reclaim_at", NULL};

/* Bytes of the pool's field on top; 0 is no size of anything. */
static size_t pool_size(lua_State *L, const char *where, enum key key) {
  const char *what = lua_pushfstring(L, "%s.%s", where, keys[key]);
  size_t size = (size_t)lb_to_integer(L, -2, what, 1, LUA_MAXINTEGER);
  lua_pop(L, 1);
  return size;
}

static void read_pool(lua_State *L, int idx, const char *where, luhip_pool *pool) {
  bool has_kind = false;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    enum key key = (enum key)lb_check_key(L, -2, keys, where);
    size_t *const sizes[] = {NULL, &pool->page, &pool->slice, &pool->cap, &pool->reclaim_at};
    if (key != KIND) {
      *sizes[key] = pool_size(L, where, key);
      continue;
    }
    if (lua_type(L, -1) != LUA_TSTRING)
      lb_raise(L, LUHIP_E_TYPE, "%s.kind must be a string, got %s", where, lb_type_name(L, -1));
    if (!luhip_pool_kind_parse(lua_tostring(L, -1), &pool->kind))
      lb_raise(L, LUHIP_E_ARGUMENT, "%s.kind is \"%s\"; there are \"sliced\", \"exclusive\" and \"direct\"", where,
               lua_tostring(L, -1));
    has_kind = true;
  }
  if (!has_kind)
    lb_raise(L, LUHIP_E_ARGUMENT, "%s.kind is missing; there are \"sliced\", \"exclusive\" and \"direct\"", where);
}

const luhip_pool *lb_push_pools(lua_State *L, int idx, const char *what, size_t *count) {
  idx = lua_absindex(L, idx);
  if (lua_type(L, idx) != LUA_TTABLE)
    lb_raise(L, LUHIP_E_TYPE, "%s must be the name of a preset or a list of pools, got %s", what, lb_type_name(L, idx));
  size_t n = lb_check_list(L, idx, what);
  if (n > LUHIP_MAX_POOLS)
    lb_raise(L, LUHIP_E_ARGUMENT, "%s: the list has %I pools, %d is the most", what, (LUAI_UACINT)n, LUHIP_MAX_POOLS);
  luhip_pool *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  memset(list, 0, (n + 1) * sizeof *list);
  for (size_t i = 0; i < n; i++) {
    const char *where = lua_pushfstring(L, "pools[%d]", (int)i + 1);
    if (lua_rawgeti(L, idx, (lua_Integer)i + 1) != LUA_TTABLE)
      lb_raise(L, LUHIP_E_TYPE, "%s: %s must be a table, got %s", what, where, lb_type_name(L, -1));
    read_pool(L, lua_gettop(L), where, &list[i]);
    lua_pop(L, 2);
  }
  luhip_error *error = NULL;
  luhip_status status = luhip_pools_check(list, n, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  *count = n;
  return list;
}

static void set_config(lua_State *L, const luhip_pool *pool) {
  lua_pushstring(L, luhip_pool_kind_name(pool->kind));
  lua_setfield(L, -2, "kind");
  if (pool->page) set_size(L, "page", pool->page);
  if (pool->slice) set_size(L, "slice", pool->slice);
  if (pool->cap) set_size(L, "cap", pool->cap);
  if (pool->reclaim_at) set_size(L, "reclaim_at", pool->reclaim_at);
}

static void push_layout(lua_State *L, const luhip_pool *list, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 4);
    set_config(L, &list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The current stream of the device at 1. */
static luhip_stream *current_stream(lua_State *L, const struct lb_device *device) {
  return lb_scope(L, lb_state(L), device).stream;
}

/* dev:install_pools(layout): a preset's name, a list of pools, or what dev:plan gave */
static int device_install_pools(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 2);
  luhip_error *error = NULL;
  luhip_status status = LUHIP_OK;
  luhip_pool preset[LUHIP_MAX_POOLS];
  const luhip_pool *list = preset;
  size_t count = 0;
  if (lua_type(L, 2) == LUA_TSTRING) {
    status = luhip_device_preset(device->device, lua_tostring(L, 2), preset, &count, &error);
  } else {
    list = lb_push_pools(L, 2, "install_pools", &count);
  }
  luhip_stream *stream = current_stream(L, device);
  if (status == LUHIP_OK) status = luhip_stream_install_pools(lb_owner(L, device), stream, list, count, &error);
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

/* dev:pools() -> the layout of the current stream, a list */
static int device_pools(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  luhip_pool list[LUHIP_MAX_POOLS];
  luhip_error *error = NULL;
  size_t count;
  luhip_status status = luhip_stream_pools(device->device, current_stream(L, device), list, &count, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  push_layout(L, list, count);
  return 1;
}

/* ---- figures --------------------------------------------------------------------------------------------------------------- */

/* Pushes a userdata with the pools of all streams. */
static const luhip_pool_info *push_infos(lua_State *L, struct lb_device *device, size_t *count) {
  size_t max = luhip_device_pool_infos(device->device, NULL, 0);
  luhip_pool_info *infos = lua_newuserdatauv(L, (max + 1) * sizeof *infos, 0);
  *count = luhip_device_pool_infos(lb_owner(L, device), infos, max);
  if (*count > max) *count = max;
  return infos;
}

static void push_info(lua_State *L, const luhip_pool_info *info) {
  lua_createtable(L, 0, 18);
  set_config(L, &info->config);
  lua_pushinteger(L, (lua_Integer)info->stream);
  lua_setfield(L, -2, "stream");
  lua_pushboolean(L, info->pinned);
  lua_setfield(L, -2, "pinned");
  lua_pushboolean(L, info->capped);
  lua_setfield(L, -2, "capped");
  lua_pushstring(L, *info->role ? info->role : "layout");
  lua_setfield(L, -2, "role");
  set_size(L, "live", info->live);
  set_size(L, "in_use", info->in_use);
  set_size(L, "padding", info->padding);
  set_size(L, "reserved", info->reserved);
  set_size(L, "cached", info->cached);
  set_size(L, "pages", info->pages);
  set_size(L, "peak_pages", info->peak_pages);
  set_size(L, "peak", info->peak);
  set_size(L, "largest", info->largest);
}

/* dev:memory_pools() -> { { stream=, pinned=, role=, kind=, ... }, ... } */
static int device_memory_pools(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  size_t count;
  const luhip_pool_info *infos = push_infos(L, device, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_info(L, &infos[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* dev:memory_holders() -> { { id=, stream=, role=, bytes=, padding=, what= }, ... } */
static int device_memory_holders(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  size_t max = luhip_device_holders(device->device, NULL, 0);
  luhip_holder *list = lua_newuserdatauv(L, (max + 1) * sizeof *list, 0);
  size_t count = luhip_device_holders(lb_owner(L, device), list, max);
  if (count > max) count = max;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 6);
    set_size(L, "id", (size_t)list[i].allocation);
    set_size(L, "stream", (size_t)list[i].stream);
    set_size(L, "bytes", list[i].bytes);
    set_size(L, "padding", list[i].padding);
    lua_pushstring(L, *list[i].role ? list[i].role : "layout");
    lua_setfield(L, -2, "role");
    lua_pushstring(L, list[i].made);
    lua_setfield(L, -2, "what");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Sets streams = { { stream=, in_use=, ..., pinned = {...} }, ... }: infos come stream by stream. */
static void set_streams(lua_State *L, const luhip_pool_info *infos, size_t count) {
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < count;) {
    luhip_pool_info sums[2] = {{.stream = infos[i].stream}, {.pinned = true}};
    for (bool pinned = false; i < count && infos[i].stream == sums[0].stream && !(pinned && !infos[i].pinned); i++) {
      luhip_pool_info *sum = &sums[infos[i].pinned];
      pinned = infos[i].pinned;
      sum->live += infos[i].live;
      sum->in_use += infos[i].in_use;
      sum->padding += infos[i].padding;
      sum->reserved += infos[i].reserved;
      sum->cached += infos[i].cached;
    }
    for (int pinned = 0; pinned < 2; pinned++) {
      lua_createtable(L, 0, 7);
      set_size(L, "live", sums[pinned].live);
      set_size(L, "in_use", sums[pinned].in_use);
      set_size(L, "padding", sums[pinned].padding);
      set_size(L, "reserved", sums[pinned].reserved);
      set_size(L, "cached", sums[pinned].cached);
    }
    lua_setfield(L, -2, "pinned");
    set_size(L, "stream", (size_t)sums[0].stream);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, "streams");
}

/* dev:memory() -> { buffers=, in_use=, ..., pinned = { in_use=, padding=, reserved= }, streams = { ... } } */
static int device_memory(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  luhip_memory_info info;
  luhip_error *error = NULL;
  size_t count;
  const luhip_pool_info *infos = push_infos(L, device, &count);
  luhip_status status = luhip_device_memory(lb_owner(L, device), &info, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_createtable(L, 0, 10);
  set_size(L, "buffers", info.buffers);
  set_size(L, "in_use", info.in_use);
  set_size(L, "padding", info.padding);
  set_size(L, "reserved", info.reserved);
  set_size(L, "cached", info.cached);
  set_size(L, "limit", info.limit);
  set_size(L, "device_free", info.device_free);
  set_size(L, "device_total", info.device_total);
  lua_createtable(L, 0, 3);
  set_size(L, "in_use", info.pinned_in_use);
  set_size(L, "padding", info.pinned_padding);
  set_size(L, "reserved", info.pinned_reserved);
  lua_setfield(L, -2, "pinned");
  set_streams(L, infos, count);
  return 1;
}

static int device_memory_cleanup(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 1);
  luhip_error *error = NULL;
  struct lb_tries tries = {0};
  luhip_status status;
  do {
    luhip_device *native = lb_owner(L, device);
    lb_try(L, lb_state(L), &tries);
    status = luhip_device_memory_cleanup(native, &error);
  } while (lb_retry(L, device, status, &error, &tries));
  return status == LUHIP_OK ? lb_logged(L, 0) : lb_fail(L, status, error);
}

/* ---- persistent mode ------------------------------------------------------------------------------------------------------- */

static luhip_memory_mode check_mode(lua_State *L, int idx) {
  const char *mode = lb_check_text(L, idx, "mode");
  if (strcmp(mode, "persistent") == 0) return LUHIP_MEMORY_PERSISTENT;
  if (strcmp(mode, "auto") != 0)
    lb_argument(L, idx, LUHIP_E_ARGUMENT, "the mode is \"persistent\" or \"auto\", not \"%s\"", mode);
  return LUHIP_MEMORY_AUTO;
}

/* core.memory_mode(dev, mode) */
static int core_memory_mode(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  luhip_memory_mode mode = check_mode(L, 2);
  luhip_error *error = NULL;
  luhip_status status = luhip_stream_memory_mode(device->device, current_stream(L, device), mode, &error);
  return status == LUHIP_OK ? 0 : lb_fail(L, status, error);
}

/* core.memory_window(dev, mode) -> id */
static int core_memory_window(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  luhip_memory_mode mode = check_mode(L, 2);
  luhip_error *error = NULL;
  uint64_t window;
  luhip_status status = luhip_memory_window_open(device->device, current_stream(L, device), mode, &window, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_pushinteger(L, (lua_Integer)window);
  return 1;
}

/* core.memory_window_close(dev, id): of a closed device too */
static int core_memory_window_close(lua_State *L) {
  const struct lb_device *device = lb_check(L, 1, LB_DEVICE);
  uint64_t window = (uint64_t)lb_check_integer(L, 2, "window", 0, LUA_MAXINTEGER);
  if (device->device) luhip_memory_window_close(device->device, window);
  return 0;
}

/* ---- plans ----------------------------------------------------------------------------------------------------------------- */

/* core.plan(dev) -> plan */
static int core_plan(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  struct lb_plan *plan = lb_new(L, LB_PLAN, sizeof *plan, 0);
  luhip_error *error = NULL;
  luhip_status status = luhip_plan_new(lb_owner(L, device), current_stream(L, device), &plan->plan, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

struct lb_plan *lb_check_plan(lua_State *L, int idx) {
  struct lb_plan *plan = lb_check(L, idx, LB_PLAN);
  if (!plan->plan) lb_argument(L, idx, LUHIP_E_FREED, "the plan was freed");
  return plan;
}

/* plan:layout() -> list of pools */
static int plan_layout(lua_State *L) {
  luhip_pool list[LUHIP_MAX_POOLS];
  luhip_error *error = NULL;
  size_t count;
  luhip_status status = luhip_plan_pools(lb_check_plan(L, 1)->plan, list, &count, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  push_layout(L, list, count);
  return 1;
}

/* plan:peak() -> bytes held at most, bytes in use at most, buffers */
static int plan_peak(lua_State *L) {
  size_t reserved, in_use, buffers;
  luhip_plan_peak(lb_check_plan(L, 1)->plan, &reserved, &in_use, &buffers);
  lua_pushinteger(L, (lua_Integer)reserved);
  lua_pushinteger(L, (lua_Integer)in_use);
  lua_pushinteger(L, (lua_Integer)buffers);
  return 3;
}

static int plan_free(lua_State *L) {
  struct lb_plan *plan = lb_check(L, 1, LB_PLAN);
  luhip_plan *native = plan->plan;
  plan->plan = NULL;
  luhip_plan_free(native);
  return 0;
}

void lb_open_plan(lua_State *L) {
  static const luaL_Reg methods[] = {{"layout", plan_layout}, {"peak", plan_peak}, {"free", plan_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", plan_free}, {"__close", plan_free}, {NULL, NULL}};
  lb_class_register(L, LB_PLAN, &(struct lb_class_functions){methods, NULL, meta});
}

const luaL_Reg lb_memory_methods[] = {{"memory", device_memory},
                                      {"memory_cleanup", device_memory_cleanup},
                                      {"memory_pools", device_memory_pools},
                                      {"memory_holders", device_memory_holders},
                                      {"install_pools", device_install_pools},
                                      {"pools", device_pools},
                                      {NULL, NULL}};
const luaL_Reg lb_memory_functions[] = {{"memory_mode", core_memory_mode},
                                        {"memory_window", core_memory_window},
                                        {"memory_window_close", core_memory_window_close},
                                        {"plan", core_plan},
                                        {NULL, NULL}};
