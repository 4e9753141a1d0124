/*
 * memory.c - a memory manager over plain bytes of the host, for specs.
 *
 * Slices have numbers; streams are numbers with a position each. What a slice was used by is said when it is given back.
 */
#include "testing/testing.h"

#include "lua/binding.h"
#include "memory/manager.h"
#include "memory/pools.h"

#include <stdlib.h>
#include <string.h>

enum { SLICES = 4096, STREAMS = 16, OUT_OF_MEMORY = 2 };

struct box {
  struct storage storage;
  struct manager manager;
  struct page *trash;
  struct slice *slices[SLICES];
  uint64_t passed[STREAMS];
  size_t allocations, warnings; /* live pages of the storage; calls of warn */
  int refuse;                   /* the code that allocate returns; 0: none */
};

static const char box_name[] = "luhip.testing.memory";

static struct box *check_box(lua_State *L) {
  return luaL_checkudata(L, 1, box_name);
}

/* ---- the storage ------------------------------------------------------------------------------------------------ */

static int allocate(void *user, size_t bytes, void **address) {
  struct box *box = user;
  size_t held = box->storage.reserved;
  if (box->refuse) return box->refuse;
  if (bytes > box->storage.total || held > box->storage.total - bytes) return OUT_OF_MEMORY;
  *address = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*address) return OUT_OF_MEMORY;
  box->allocations++;
  return 0;
}

static void release(void *user, void *address) {
  struct box *box = user;
  box->allocations--;
  free(address);
}

static void warn(void *user, const struct manager *manager, size_t pool, size_t bytes) {
  struct box *box = user;
  (void)manager;
  (void)pool;
  (void)bytes;
  box->warnings++;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

struct view {
  const struct box *box;
  uint32_t stream; /* STREAMS: the host */
};

static bool done(const struct view *view, struct mark mark) {
  return !mark.position || mark.slot == view->stream || mark.position <= view->box->passed[mark.slot];
}

static bool passed(void *user, const struct marks *marks) {
  const struct view *view = user;
  if (!done(view, marks->writer)) return false;
  for (uint32_t i = 0; i < marks->nreaders; i++)
    if (!done(view, marks_readers(marks)[i])) return false;
  return true;
}

static bool idle(void *user, const struct marks *marks) {
  struct view host = {user, STREAMS};
  return passed(&host, marks);
}

static uint32_t check_stream(lua_State *L, int idx) {
  lua_Integer stream = luaL_checkinteger(L, idx);
  luaL_argcheck(L, stream >= 0 && stream < STREAMS, idx, "no such stream");
  return (uint32_t)stream;
}

/* box:pass(stream, position) */
static int box_pass(lua_State *L) {
  check_box(L)->passed[check_stream(L, 2)] = (uint64_t)luaL_checkinteger(L, 3);
  return 0;
}

/* ---- taking and giving ------------------------------------------------------------------------------------------ */

static struct slice *check_slice(lua_State *L, struct box *box, int idx) {
  lua_Integer i = luaL_checkinteger(L, idx);
  luaL_argcheck(L, i >= 1 && i <= SLICES && box->slices[i - 1], idx, "no such slice");
  return box->slices[i - 1];
}

static int push_slice(lua_State *L, struct box *box, struct slice *slice) {
  int i = 0;
  while (i < SLICES && box->slices[i]) i++;
  if (i == SLICES) return luaL_error(L, "too many slices");
  box->slices[i] = slice;
  lua_pushinteger(L, i + 1);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)slice->address);
  lua_pushinteger(L, (lua_Integer)slice->bytes);
  return 3;
}

/* box:take(bytes [, flags [, stream]]) -> slice, address, rounded bytes | nil, result. flags: "last", "existing", "once" */
static int box_take(lua_State *L) {
  static const char *const results[] = {"ok", "release", "limit", "driver", "too_big", "host", "nothing"};
  struct box *box = check_box(L);
  const char *words = luaL_optstring(L, 3, "");
  unsigned flags = (strstr(words, "last") ? TAKE_LAST : 0u) | (strstr(words, "existing") ? TAKE_EXISTING : 0u) |
                   (strstr(words, "once") ? TAKE_ONCE : 0u);
  struct view view = {box, lua_isnoneornil(L, 4) ? 0 : check_stream(L, 4)};
  struct slice *slice;
  int code;
  enum manager_result result =
      manager_take(&box->manager, (size_t)luaL_checkinteger(L, 2), flags, passed, &view, &slice, &code);
  if (result == MANAGER_OK) return push_slice(L, box, slice);
  lua_pushnil(L);
  lua_pushstring(L, results[result]);
  return 2;
}

/* box:give(slice, stream, position, ...): its first user wrote, the others read */
static int box_give(lua_State *L) {
  struct box *box = check_box(L);
  struct slice *slice = check_slice(L, box, 2);
  marks_free(&slice->marks);
  for (int i = 3; i + 1 <= lua_gettop(L); i += 2) {
    uint32_t stream = check_stream(L, i);
    uint64_t position = (uint64_t)luaL_checkinteger(L, i + 1);
    if (i == 3) marks_write(&slice->marks, stream, position);
    if (i != 3) marks_read(&slice->marks, stream, position);
  }
  box->slices[lua_tointeger(L, 2) - 1] = NULL;
  manager_give(slice);
  return 0;
}

/* box:marks(slice) -> { [stream] = position } of who it has to come after */
static int box_marks(lua_State *L) {
  const struct marks *marks = &check_slice(L, check_box(L), 2)->marks;
  lua_newtable(L);
  if (marks->writer.position) {
    lua_pushinteger(L, (lua_Integer)marks->writer.position);
    lua_rawseti(L, -2, marks->writer.slot);
  }
  for (uint32_t i = 0; i < marks->nreaders; i++) {
    lua_pushinteger(L, (lua_Integer)marks_readers(marks)[i].position);
    lua_rawseti(L, -2, marks_readers(marks)[i].slot);
  }
  return 1;
}

/* box:fill(slice, byte), box:holds(slice, byte): of all its bytes */
static int box_fill(lua_State *L) {
  const struct slice *slice = check_slice(L, check_box(L), 2);
  memset(slice->address, (int)luaL_checkinteger(L, 3), slice->bytes);
  return 0;
}

static int box_holds(lua_State *L) {
  const struct slice *slice = check_slice(L, check_box(L), 2);
  const unsigned char *bytes = slice->address;
  bool same = true;
  for (size_t i = 0; i < slice->bytes && same; i++) same = bytes[i] == luaL_checkinteger(L, 3);
  lua_pushboolean(L, same);
  return 1;
}

/* ---- the rest of a manager -------------------------------------------------------------------------------------- */

static void empty_trash(struct box *box) {
  pages_free(box->trash);
  box->trash = NULL;
}

/* box:cleanup(): what is empty and idle goes back to the storage. box:sweep(): what was let go of already */
static int box_cleanup(lua_State *L) {
  struct box *box = check_box(L);
  manager_detach(&box->manager, idle, box, &box->trash);
  empty_trash(box);
  return 0;
}

static int box_sweep(lua_State *L) {
  empty_trash(check_box(L));
  return 0;
}

/* box:refuse(code): what the storage answers from now on; 2: out of memory, 0: it serves */
static int box_refuse(lua_State *L) {
  check_box(L)->refuse = (int)luaL_checkinteger(L, 2);
  return 0;
}

/* box:limit(bytes) */
static int box_limit(lua_State *L) {
  check_box(L)->storage.limit = (size_t)luaL_checkinteger(L, 2);
  return 0;
}

static void set_size(lua_State *L, const char *name, size_t size) {
  lua_pushinteger(L, (lua_Integer)size);
  lua_setfield(L, -2, name);
}

static void push_pool(void *user, const struct pool *pool, const char *role) {
  lua_State *L = user;
  lua_createtable(L, 0, 16);
  lua_pushstring(L, luhip_pool_kind_name(pool->config.kind));
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, role);
  lua_setfield(L, -2, "role");
  set_size(L, "page", pool->config.page);
  set_size(L, "slice", pool->config.slice);
  set_size(L, "cap", pool->config.cap);
  set_size(L, "live", pool->live);
  set_size(L, "in_use", pool->in_use);
  set_size(L, "padding", pool->rounded - pool->in_use);
  set_size(L, "reserved", pool->reserved);
  set_size(L, "cached", pool->cached);
  set_size(L, "pages", pool->pages);
  set_size(L, "peak", pool->peak);
  set_size(L, "peak_pages", pool->peak_pages);
  set_size(L, "largest", pool->largest);
  set_size(L, "average", (size_t)pool->average);
  set_size(L, "period", (size_t)pool->period);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* box:pools() -> { { kind=, role=, ... }, ... } */
static int box_pools(lua_State *L) {
  struct box *box = check_box(L);
  luaL_checkstack(L, 8, NULL);
  lua_newtable(L);
  manager_visit(&box->manager, push_pool, L);
  return 1;
}

/* box:figures() -> { live=, in_use=, padding=, reserved=, cached=, held=, empty=, allocations=, warnings= } */
static int box_figures(lua_State *L) {
  const struct box *box = check_box(L);
  struct manager_figures figures = {0};
  manager_add_figures(&box->manager, &figures);
  lua_createtable(L, 0, 9);
  set_size(L, "live", figures.live);
  set_size(L, "in_use", figures.in_use);
  set_size(L, "padding", figures.padding);
  set_size(L, "reserved", figures.reserved);
  set_size(L, "cached", figures.cached);
  set_size(L, "held", box->storage.reserved);
  set_size(L, "empty", box->storage.cached);
  set_size(L, "allocations", box->allocations);
  set_size(L, "warnings", box->warnings);
  return 1;
}

/* box:install(pools) */
static int box_install(lua_State *L) {
  struct box *box = check_box(L);
  size_t count;
  const luhip_pool *list = lb_push_pools(L, 2, "pools", &count);
  lua_pushboolean(L, manager_install(&box->manager, list, count));
  return 1;
}

/* box:in_use() -> slices, bytes of the dynamic pools */
static int box_in_use(lua_State *L) {
  size_t bytes, live = manager_live(&check_box(L)->manager, &bytes);
  lua_pushinteger(L, (lua_Integer)live);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 2;
}

/* box:capture("prepare"|"record"|"finish") */
static int box_capture(lua_State *L) {
  static const char *const steps[] = {"prepare", "record", "finish", NULL};
  struct manager *manager = &check_box(L)->manager;
  switch (luaL_checkoption(L, 2, NULL, steps)) {
  case 0:
    manager_prepare(manager, 7);
    break;
  case 1:
    manager_record(manager);
    break;
  default:
    manager_finish(manager);
  }
  return 0;
}

/* box:mode("auto"|"persistent"), box:window(id, mode), box:window_close(id) -> boolean */
static int box_mode(lua_State *L) {
  static const char *const modes[] = {"auto", "persistent", NULL};
  check_box(L)->manager.mode = (luhip_memory_mode)luaL_checkoption(L, 2, NULL, modes);
  return 0;
}

static int box_window(lua_State *L) {
  static const char *const modes[] = {"auto", "persistent", NULL};
  luhip_memory_mode mode = (luhip_memory_mode)luaL_checkoption(L, 3, NULL, modes);
  manager_window_open(&check_box(L)->manager, (uint64_t)luaL_checkinteger(L, 2), mode);
  return 0;
}

static int box_window_close(lua_State *L) {
  lua_pushboolean(L, manager_window_close(&check_box(L)->manager, (uint64_t)luaL_checkinteger(L, 2)));
  return 1;
}

static int box_collect(lua_State *L) {
  struct box *box = check_box(L);
  for (int i = 0; i < SLICES; i++) {
    if (box->slices[i]) manager_give(box->slices[i]);
    box->slices[i] = NULL;
  }
  if (box->manager.pools) manager_close(&box->manager);
  empty_trash(box);
  storage_close(&box->storage);
  return 0;
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

static size_t option(lua_State *L, const char *name, size_t standard) {
  lua_Integer value = lua_getfield(L, 1, name) == LUA_TNIL ? (lua_Integer)standard : luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return (size_t)value;
}

/* memory_manager { pools=, total=, limit=, alignment=, host=, policy=0|1|2 } */
static int box_new(lua_State *L) {
  static const luaL_Reg methods[] = {{"pass", box_pass},       {"take", box_take},
                                     {"give", box_give},       {"marks", box_marks},
                                     {"fill", box_fill},       {"holds", box_holds},
                                     {"cleanup", box_cleanup}, {"sweep", box_sweep},
                                     {"refuse", box_refuse},   {"limit", box_limit},
                                     {"pools", box_pools},     {"figures", box_figures},
                                     {"install", box_install}, {"in_use", box_in_use},
                                     {"capture", box_capture}, {"mode", box_mode},
                                     {"window", box_window},   {"window_close", box_window_close},
                                     {"__gc", box_collect},    {NULL, NULL}};
  size_t count;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "pools");
  const luhip_pool *list = lb_push_pools(L, 2, "pools", &count);
  struct box *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  if (luaL_newmetatable(L, box_name)) {
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  box->storage = (struct storage){.user = box,
                                  .allocate = allocate,
                                  .release = release,
                                  .full = OUT_OF_MEMORY,
                                  .alignment = option(L, "alignment", 32),
                                  .total = option(L, "total", (size_t)1 << 30),
                                  .limit = option(L, "limit", 0)};
  box->manager = (struct manager){.storage = &box->storage,
                                  .alignment = box->storage.alignment,
                                  .host = option(L, "host", 0),
                                  .idle = idle,
                                  .idle_user = box,
                                  .trash = &box->trash,
                                  .warn = warn,
                                  .warn_user = box,
                                  .policy = (luhip_persistent_policy)option(L, "policy", 0)};
  if (!manager_open(&box->manager, list, count)) return luaL_error(L, "no memory");
  return 1;
}

/* pools_preset(name, total) -> list */
static int preset(lua_State *L) {
  luhip_pool list[LUHIP_MAX_POOLS];
  luhip_error *error = NULL;
  size_t count;
  luhip_status status =
      luhip_pools_preset(luaL_checkstring(L, 1), (size_t)luaL_checkinteger(L, 2), list, &count, &error);
  if (status != LUHIP_OK) return lb_fail(L, status, error);
  lua_newtable(L);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, luhip_pool_kind_name(list[i].kind));
    lua_setfield(L, -2, "kind");
    if (list[i].page) set_size(L, "page", list[i].page);
    if (list[i].slice) set_size(L, "slice", list[i].slice);
    if (list[i].reclaim_at) set_size(L, "reclaim_at", list[i].reclaim_at);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void testing_open_memory(lua_State *L) {
  static const luaL_Reg functions[] = {{"memory_manager", box_new}, {"pools_preset", preset}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
