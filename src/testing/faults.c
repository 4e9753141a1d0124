/*
 * faults.c - driver calls that are counted, and that fail when a spec asks for it.
 *
 * A rule names an entry of the table, which of its calls from now on, and what is answered instead of making the call.
 * What gives something back is called all the same, so that nothing leaks that the server could do anything about. An
 * error may be sticky: then every call after it fails alike, as a device does whose context is lost. The error
 * "hipSuccess" drops the call.
 *
 *   testing.driver_fail { call = "hipMalloc", nth = 2, error = "hipErrorOutOfMemory", times = 1, sticky = false }
 *   testing.driver_struck()   how many calls were answered by rules since the last driver_reset
 *   testing.driver_calls()    { hipMalloc = 3, ... } since the last driver_reset
 *   testing.driver_reset()    no rules, no counts
 *   testing.driver_pause(on)  while on, calls are neither counted nor failed: for what a spec asks in between
 */
#include "testing/driver.h"

#include <lauxlib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 16 };

struct rule {
  enum entry entry;
  uint64_t first, end; /* of the entry's calls, counted from 1 */
  hip_error_t rc;
  bool sticky;
};

static struct {
  pthread_mutex_t lock;
  uint64_t calls[ENTRIES], struck;
  struct rule rules[RULES];
  unsigned nrules;
  hip_error_t lost; /* of a sticky rule that has struck */
  bool paused;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER};

void faults_lock(void) {
  pthread_mutex_lock(&faults.lock);
}

void faults_unlock(void) {
  pthread_mutex_unlock(&faults.lock);
}

/* These are not about work of the device. */
static bool survives(enum entry entry) {
  switch (entry) {
  case ENTRY_hipInit:
  case ENTRY_hipGetDeviceCount:
  case ENTRY_hipSetDevice:
  case ENTRY_hipGetDevice:
  case ENTRY_hipDeviceGetName:
  case ENTRY_hipDeviceTotalMem:
  case ENTRY_hipDeviceGetAttribute:
  case ENTRY_hipDriverGetVersion:
  case ENTRY_hipGetLastError:
  case ENTRY_hipxDeviceArch:
  case ENTRY_hipxToolchain:
  case ENTRY_hipxCompile:
  case ENTRY_hipxCompileFree:
  case ENTRY_hipxPreprocess:
  case ENTRY_hipxLaunchTag:
  case ENTRY_hipxTakeFault:
  case ENTRY_hipxSetChecked:
  case ENTRY_hipxSetTimeout:
  case ENTRY_hipxSetWriter:
    return true;
  default:
    return false;
  }
}

/* Whether the call is answered with *rc instead. */
static bool strikes(enum entry entry, hip_error_t *rc) {
  bool struck = false;
  faults_lock();
  if (faults.paused) {
    faults_unlock();
    return false;
  }
  uint64_t call = ++faults.calls[entry];
  if (faults.lost != hip_Success && !survives(entry)) {
    *rc = faults.lost;
    struck = true;
  }
  for (unsigned i = 0; i < faults.nrules && !struck; i++) {
    const struct rule *rule = &faults.rules[i];
    if (rule->entry != entry || call < rule->first || call >= rule->end) continue;
    *rc = rule->rc;
    if (rule->sticky) faults.lost = rule->rc;
    struck = true;
  }
  faults.struck += struck;
  faults_unlock();
  return struck;
}

static bool gives_back(enum entry entry) {
  switch (entry) {
  case ENTRY_hipFree:
  case ENTRY_hipHostFree:
  case ENTRY_hipStreamDestroy:
  case ENTRY_hipEventDestroy:
  case ENTRY_hipModuleUnload:
  case ENTRY_hipGraphDestroy:
  case ENTRY_hipGraphExecDestroy:
  case ENTRY_hipxLaunchForget:
  case ENTRY_hipxCompileFree:
    return true;
  default:
    return false;
  }
}

#define FAULT(name, parameters, arguments)                                                                             \
  static __attribute__((unused)) hip_error_t faults_##name parameters {                                                \
    hip_error_t rc;                                                                                                    \
    if (!strikes(ENTRY_##name, &rc)) return tap->inner->name arguments;                                                \
    if (gives_back(ENTRY_##name)) tap->inner->name arguments;                                                          \
    return rc;                                                                                                         \
  }
HIP_API(FAULT, FAULT)

/* The capture ends either way. */
static hip_error_t end_capture(hip_stream_t stream, hip_graph_t *graph) {
  hip_error_t rc;
  if (!strikes(ENTRY_hipStreamEndCapture, &rc)) return tap->inner->hipStreamEndCapture(stream, graph);
  hip_graph_t made;
  if (tap->inner->hipStreamEndCapture(stream, &made) == hip_Success) tap->inner->hipGraphDestroy(made);
  return rc;
}

/* The result is valid on every return. */
static hip_error_t compile(const struct hip_compile_request *request, struct hip_compile_result *result) {
  hip_error_t rc;
  if (!strikes(ENTRY_hipxCompile, &rc)) return tap->inner->hipxCompile(request, result);
  *result = (struct hip_compile_result){.log = strdup("")};
  return rc;
}

static hip_error_t preprocess(const struct hip_compile_request *request, struct hip_compile_result *result) {
  hip_error_t rc;
  if (!strikes(ENTRY_hipxPreprocess, &rc)) return tap->inner->hipxPreprocess(request, result);
  *result = (struct hip_compile_result){.log = strdup("")};
  return rc;
}

/* clang-format off */
#define faults_hipStreamEndCapture end_capture
#define faults_hipxCompile compile
#define faults_hipxPreprocess preprocess
const struct hip_api faults_table = {
#define X(name, parameters, arguments) .name = faults_##name,
  HIP_API(X, X)
#undef X
};
/* clang-format on */

/* ---- for specs ----------------------------------------------------------------------------------------------- */

static enum entry check_entry(lua_State *L, const char *name) {
  for (int i = 0; i < ENTRIES; i++) {
    if (strcmp(entry_names[i], name) == 0) return (enum entry)i;
  }
  return (enum entry)luaL_error(L, "the driver table has no entry '%s'", name);
}

static hip_error_t check_error(lua_State *L, const char *name) {
#define X(word, value)                                                                                                 \
  if (strcmp(name, "hip" #word) == 0) return hip_##word;
  HIP_ERRORS(X)
#undef X
  return (hip_error_t)luaL_error(L, "the driver has no error '%s'", name);
}

static int driver_fail(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "call");
  lua_getfield(L, 1, "error");
  lua_getfield(L, 1, "nth");
  lua_getfield(L, 1, "times");
  lua_getfield(L, 1, "sticky");
  enum entry entry = check_entry(L, luaL_checkstring(L, 2));
  struct rule rule = {.entry = entry, .rc = check_error(L, luaL_checkstring(L, 3)), .sticky = lua_toboolean(L, 6)};
  lua_Integer nth = luaL_optinteger(L, 4, 1), times = luaL_optinteger(L, 5, 1);
  luaL_argcheck(L, nth > 0 && times > 0, 1, "nth and times count from 1");
  faults_lock();
  rule.first = faults.calls[entry] + (uint64_t)nth;
  rule.end = rule.first + (uint64_t)times;
  bool room = faults.nrules < RULES;
  if (room) faults.rules[faults.nrules++] = rule;
  faults_unlock();
  return room ? 0 : luaL_error(L, "more than %d rules", RULES);
}

static int driver_reset(lua_State *L) {
  (void)L;
  faults_lock();
  memset(faults.calls, 0, sizeof faults.calls);
  faults.nrules = 0;
  faults.struck = 0;
  faults.lost = hip_Success;
  faults.paused = false;
  faults_unlock();
  return 0;
}

static int driver_pause(lua_State *L) {
  faults_lock();
  faults.paused = lua_toboolean(L, 1);
  faults_unlock();
  return 0;
}

static int driver_struck(lua_State *L) {
  faults_lock();
  lua_Integer struck = (lua_Integer)faults.struck;
  faults_unlock();
  lua_pushinteger(L, struck);
  return 1;
}

static int driver_calls(lua_State *L) {
  uint64_t calls[ENTRIES];
  faults_lock();
  memcpy(calls, faults.calls, sizeof calls);
  faults_unlock();
  lua_createtable(L, 0, ENTRIES);
  for (int i = 0; i < ENTRIES; i++) {
    lua_pushinteger(L, (lua_Integer)calls[i]);
    lua_setfield(L, -2, entry_names[i]);
  }
  return 1;
}

void faults_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"driver_fail", driver_fail},     {"driver_reset", driver_reset},
                                       {"driver_struck", driver_struck}, {"driver_pause", driver_pause},
                                       {"driver_calls", driver_calls},   {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
