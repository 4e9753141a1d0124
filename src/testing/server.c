/*
 * server.c - the server's insides for specs: claims as a set of their own, what a device keeps, and a child process.
 */
#include "testing/testing.h"

#include "lua/binding.h"
#include "server/allocation.h"
#include "server/event.h"
#include "server/metadata.h"
#include "server/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- claims -------------------------------------------------------------------------------------------------- */

/* A claims set with a store of its own; failures are named by numbers. */
enum { NAMES = 64 };

struct claims_box {
  struct failure_store store;
  struct claims claims;
  struct failure *named[NAMES]; /* not held: only while they are carried */
};

static const char box_name[] = "luhip.testing.claims";

static struct claims_box *check_box(lua_State *L) {
  return luaL_checkudata(L, 1, box_name);
}

static void forget_gone(struct claims_box *box) {
  for (int i = 0; i < NAMES; i++) {
    bool found = false;
    for (struct failure *f = box->store.first; f && !found; f = f->next) found = f == box->named[i];
    if (!found) box->named[i] = NULL;
  }
}

static int name_of(struct claims_box *box, const struct failure *failure) {
  for (int i = 0; i < NAMES; i++) {
    if (box->named[i] == failure) return i;
  }
  return -1;
}

static struct region check_region(lua_State *L, int idx) {
  struct region region = {.offset = (size_t)luaL_checkinteger(L, idx), .width = (size_t)luaL_checkinteger(L, idx + 1)};
  region.rows = (size_t)luaL_optinteger(L, idx + 2, 1);
  region.pitch = (size_t)luaL_optinteger(L, idx + 3, (lua_Integer)region.width);
  return region;
}

/* box:set(name or nil, offset, width [, rows, pitch]) */
static int box_set(lua_State *L) {
  struct claims_box *box = check_box(L);
  struct failure *failure = NULL;
  if (!lua_isnil(L, 2)) {
    lua_Integer name = luaL_checkinteger(L, 2);
    luaL_argcheck(L, name >= 0 && name < NAMES, 2, "no such name");
    failure = box->named[name];
    if (failure) failure_hold(failure);
    if (!failure) failure = failure_new(&box->store, error_new(LUHIP_E_FAULT, "%d", (int)name));
    box->named[name] = failure;
  }
  struct region region = check_region(L, 3);
  claims_set_region(&box->claims, &region, failure);
  failure_release(failure);
  forget_gone(box);
  return 0;
}

/* box:list() -> { {first, end, name}, ... } */
static int box_list(lua_State *L) {
  struct claims_box *box = check_box(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < box->claims.count; i++) {
    const struct claim *claim = &box->claims.list[i];
    lua_createtable(L, 3, 0);
    lua_pushinteger(L, (lua_Integer)claim->first);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, (lua_Integer)claim->end);
    lua_rawseti(L, -2, 2);
    lua_pushinteger(L, name_of(box, claim->failure));
    lua_rawseti(L, -2, 3);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* box:meets(offset, width [, rows, pitch]) -> boolean */
static int box_meets(lua_State *L) {
  struct claims_box *box = check_box(L);
  struct region region = check_region(L, 2);
  lua_pushboolean(L, claims_meet(&box->claims, &region));
  return 1;
}

/* box:failures() -> how many the store holds */
static int box_failures(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_box(L)->store.count);
  return 1;
}

static int box_collect(lua_State *L) {
  struct claims_box *box = check_box(L);
  claims_free(&box->claims);
  luhip_error_release(box->store.spare.error);
  box->store.spare.error = NULL;
  return 0;
}

static int box_new(lua_State *L) {
  struct claims_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  failure_store_open(&box->store);
  if (luaL_newmetatable(L, box_name)) {
    static const luaL_Reg methods[] = {
        {"set", box_set}, {"list", box_list}, {"meets", box_meets}, {"failures", box_failures}, {NULL, NULL}};
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, box_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return 1;
}

/* ---- devices ------------------------------------------------------------------------------------------------- */

static void set_count(lua_State *L, const char *name, size_t count) {
  lua_pushinteger(L, (lua_Integer)count);
  lua_setfield(L, -2, name);
}

/* server_counts(dev) -> { inflight =, failures =, allocations =, programs =, events =, streams =, markers = } */
static int server_counts(lua_State *L) {
  luhip_device *device = lb_check_device(L, 1)->device;
  if (!device_enter_quietly(device)) return luaL_error(L, "the device cannot be entered");
  size_t allocations = 0, programs = 0, events = 0, streams = 0, markers = 0;
  for (const struct allocation *a = device->allocations; a; a = a->next) allocations++;
  for (const luhip_program *p = device->programs; p; p = p->next) programs++;
  for (const luhip_event *e = device->events; e; e = e->next) events++;
  for (const struct marker *m = device->spare_markers; m; m = m->next) markers++;
  for (uint32_t i = 0; i < SLOTS; i++) {
    streams += device->slots[i].handle != NULL;
    for (const struct marker *m = device->slots[i].first_marker; m; m = m->next) markers++;
  }
  size_t inflight = device->inflight.tail - device->inflight.head, failures = device->failures.count;
  device_leave(device);
  lua_newtable(L);
  set_count(L, "inflight", inflight);
  set_count(L, "failures", failures);
  set_count(L, "allocations", allocations);
  set_count(L, "programs", programs);
  set_count(L, "events", events);
  set_count(L, "streams", streams);
  set_count(L, "markers", markers);
  return 1;
}

/* Enters the device at 1, and gives the slot of the stream at 2, or of the default stream. */
static luhip_device *enter_slot(lua_State *L, uint32_t *slot) {
  luhip_device *device = lb_check_device(L, 1)->device;
  luhip_stream *stream = lua_isnoneornil(L, 2) ? NULL : lb_check_stream(L, 2)->stream;
  if (!device_enter_quietly(device)) luaL_error(L, "the device cannot be entered");
  if (slot_of(device, stream, slot, NULL) == LUHIP_OK) return device;
  device_leave(device);
  luaL_error(L, "no such stream");
  return NULL;
}

/* metadata_counts(dev [, stream]) -> { entries =, pinned =, hits =, uploads = } */
static int metadata_counts(lua_State *L) {
  uint32_t slot;
  luhip_device *device = enter_slot(L, &slot);
  struct metadata_counts counts = metadata_count(device, slot);
  device_leave(device);
  lua_newtable(L);
  set_count(L, "entries", counts.entries);
  set_count(L, "pinned", counts.pinned);
  set_count(L, "hits", counts.hits);
  set_count(L, "uploads", counts.uploads);
  return 1;
}

/* drops(dev [, stream]) -> { items =, bytes =, pending =, pending_bytes =, turns =, waits = } */
static int drops(lua_State *L) {
  uint32_t slot;
  luhip_device *device = enter_slot(L, &slot);
  struct drops now = device->slots[slot].drops;
  device_leave(device);
  lua_newtable(L);
  set_count(L, "items", now.staged.items);
  set_count(L, "bytes", now.staged.bytes);
  set_count(L, "pending", now.pending.items);
  set_count(L, "pending_bytes", now.pending.bytes);
  set_count(L, "turns", now.turns);
  set_count(L, "waits", now.waits);
  return 1;
}

/* ---- a device with opt-in shared memory ------------------------------------------------------------------------ */

static struct {
  const struct hip_api *real;
  struct hip_api table;
  int usual, set; /* of MaxSharedMemoryPerBlock; the last hipFuncSetAttribute */
  bool refuse;
} optin;

static hip_error_t optin_attribute(int *value, hip_device_attribute_t attribute, int device) {
  hip_error_t rc = optin.real->hipDeviceGetAttribute(value, attribute, device);
  if (rc == hip_Success && attribute == hip_DeviceAttributeMaxSharedMemoryPerBlock) *value = optin.usual;
  return rc;
}

static hip_error_t optin_set(const void *function, hip_func_setting_t attribute, int value) {
  if (optin.refuse) return hip_ErrorInvalidValue;
  optin.set = value;
  return optin.real->hipFuncSetAttribute(function, attribute, value);
}

/* shared_optin(dev, usual, refuse): from now on kernels have so many bytes of shared memory unless they ask for more,
   which is granted or not. shared_optin() -> the bytes that were asked for last. */
static int shared_optin(lua_State *L) {
  lua_settop(L, 3);
  if (!lua_isnil(L, 1)) {
    luhip_device *device = lb_check_device(L, 1)->device;
    optin.real = device->api == &optin.table ? optin.real : device->api;
    optin.table = *optin.real;
    optin.table.hipDeviceGetAttribute = optin_attribute;
    optin.table.hipFuncSetAttribute = optin_set;
    optin.usual = (int)luaL_checkinteger(L, 2);
    optin.refuse = lua_toboolean(L, 3);
    optin.set = -1;
    device->api = &optin.table;
  }
  lua_pushinteger(L, optin.set);
  return 1;
}

/* ---- child processes ----------------------------------------------------------------------------------------- */

static void run_child(lua_State *L, int fd) {
  lua_pushvalue(L, 1);
  bool worked = lua_pcall(L, 0, 1, 0) == LUA_OK;
  size_t length;
  const char *text = luaL_tolstring(L, -1, &length);
  ssize_t written = write(fd, text, length);
  coverage_write();
  _exit(worked && written == (ssize_t)length ? 0 : 1);
}

/* fork(fn) -> text, code: calls fn in a child process; its first result, or its error, as text. code is negative when
   a signal ended it. */
static int fork_and_call(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  int ends[2];
  if (pipe(ends)) return luaL_error(L, "no pipe");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) run_child(L, ends[1]);
  close(ends[1]);
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  for (ssize_t got = 1; child > 0 && got > 0;) {
    char *space = luaL_prepbuffsize(&buffer, 4096);
    got = read(ends[0], space, 4096);
    if (got > 0) luaL_addsize(&buffer, (size_t)got);
  }
  close(ends[0]);
  luaL_pushresult(&buffer);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return luaL_error(L, "no child process");
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  return 2;
}

void testing_open_server(lua_State *L) {
  static const luaL_Reg functions[] = {{"claims", box_new},
                                       {"server_counts", server_counts},
                                       {"metadata_counts", metadata_counts},
                                       {"shared_optin", shared_optin},
                                       {"drops", drops},
                                       {"fork", fork_and_call},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
