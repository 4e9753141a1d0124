/*
 * kernel.c - kernels: what they are and what the device says of them. Launching is launch.c.
 */
#include "lua/binding.h"

static int kernel_free(lua_State *L) {
  struct lb_kernel *kernel = lb_check(L, 1, LB_KERNEL);
  luhip_kernel *native = kernel->kernel;
  luhip_compiling *compiling = kernel->compiling;
  kernel->kernel = NULL;
  kernel->compiling = NULL;
  kernel->lazy = false;
  luhip_compiling_release(compiling);
  luhip_kernel_release(native);
  return 0;
}

/* k:ready() -> whether a use of it would not have to wait for a compiler */
static int kernel_ready(lua_State *L) {
  const struct lb_kernel *kernel = lb_check(L, 1, LB_KERNEL);
  lb_owner(L, kernel->owner);
  if (!kernel->kernel && !kernel->lazy) lb_argument(L, 1, LUHIP_E_FREED, "the kernel was freed");
  lb_no_more(L, 1);
  lua_pushboolean(L, kernel->kernel || (kernel->compiling && luhip_compile_ready(kernel->compiling)));
  return 1;
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

/* How many blocks of this size a unit of the device holds at once. */
static int occupancy(lua_State *L, const struct lb_kernel *kernel, int block, size_t shared) {
  int blocks = 0;
  luhip_error *error = NULL;
  luhip_status status = luhip_kernel_occupancy(kernel->kernel, block, shared, &blocks, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  return blocks;
}

/* k:occupancy(block [, shared]) -> blocks */
static int kernel_occupancy(lua_State *L) {
  lb_check_kernel(L, 1);
  lb_no_more(L, 3);
  lua_Integer block = lb_check_integer(L, 2, "block", 1, INT32_MAX);
  lua_Integer shared = lua_isnoneornil(L, 3) ? 0 : lb_check_integer(L, 3, "shared", 0, LUA_MAXINTEGER);
  lua_pushinteger(L, occupancy(L, lb_check_kernel(L, 1), (int)block, (size_t)shared));
  return 1;
}

static luhip_kernel_info kernel_info(lua_State *L, const struct lb_kernel *kernel) {
  luhip_kernel_info info;
  luhip_error *error = NULL;
  luhip_status status = luhip_kernel_get_info(kernel->kernel, &info, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  return info;
}

/* k:suggest_block() -> the threads per block that keep most threads on a unit; the largest such */
static int kernel_suggest_block(lua_State *L) {
  const struct lb_kernel *kernel = lb_check_kernel(L, 1);
  lb_no_more(L, 1);
  int warp = kernel->owner->info.warp_size > 0 ? kernel->owner->info.warp_size : 1;
  int most = kernel_info(L, kernel).max_threads;
  if (most > kernel->owner->info.max_threads) most = kernel->owner->info.max_threads;
  int best = most < warp ? most : warp;
  int64_t best_threads = 0;
  for (int block = most / warp * warp; block >= warp; block -= warp) {
    int64_t threads = (int64_t)block * occupancy(L, kernel, block, 0);
    if (threads <= best_threads) continue;
    best_threads = threads;
    best = block;
  }
  lua_pushinteger(L, best);
  return 1;
}

/* ---- fields ------------------------------------------------------------------------------------------------------------ */

#define INFO_FIELD(name)                                                                                               \
  static int field_##name(lua_State *L) {                                                                              \
    lua_pushinteger(L, (lua_Integer)kernel_info(L, lb_check_kernel(L, 1)).name);                                       \
    return 1;                                                                                                          \
  }
INFO_FIELD(registers)
INFO_FIELD(max_threads)
INFO_FIELD(shared_bytes)
INFO_FIELD(local_bytes)
INFO_FIELD(const_bytes)

static int field_name(lua_State *L) {
  lua_pushstring(L, luhip_kernel_name(lb_check_kernel(L, 1)->kernel));
  return 1;
}

void lb_push_params(lua_State *L, const luhip_param *list, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, list[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, list[i].type);
    lua_setfield(L, -2, "type");
    lua_pushstring(L, list[i].kind);
    lua_setfield(L, -2, "kind");
    lua_pushinteger(L, (lua_Integer)list[i].bytes);
    lua_setfield(L, -2, "bytes");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* k.params. A second object keeps the kernel, whose list this is, while Lua allocates. */
static int field_params(lua_State *L) {
  struct lb_kernel *held = lb_new(L, LB_KERNEL, sizeof *held, 3);
  held->kernel = luhip_kernel_retain(lb_check_kernel(L, 1)->kernel);
  const luhip_param *list;
  size_t n = luhip_kernel_params(held->kernel, &list);
  lb_push_params(L, list, n);
  return 1;
}

static int kernel_tostring(lua_State *L) {
  const struct lb_kernel *kernel = lb_check(L, 1, LB_KERNEL);
  if (kernel->kernel)
    lua_pushfstring(L, "luhip.kernel: %s on %s", luhip_kernel_name(kernel->kernel), kernel->owner->info.id);
  else
    lua_pushstring(L, kernel->lazy ? "luhip.kernel (not compiled yet)" : "luhip.kernel (freed)");
  return 1;
}

void lb_open_kernel(lua_State *L) {
  static const luaL_Reg methods[] = {{"occupancy", kernel_occupancy},
                                     {"suggest_block", kernel_suggest_block},
                                     {"ready", kernel_ready},
                                     {"free", kernel_free},
                                     {NULL, NULL}};
  static const luaL_Reg fields[] = {
      {"name", field_name},
      {"params", field_params},
      {"registers", field_registers},
      {"max_threads", field_max_threads},
      {"shared_bytes", field_shared_bytes},
      {"local_bytes", field_local_bytes},
      {"const_bytes", field_const_bytes},
      {NULL, NULL},
  };
  static const luaL_Reg meta[] = {
      {"__tostring", kernel_tostring}, {"__close", kernel_free}, {"__gc", kernel_free}, {NULL, NULL}};
  lb_class_register(L, LB_KERNEL, &(struct lb_class_functions){methods, fields, meta});
}
