/*
 * host.c - for the specs of the CPU device around kernels: its driver table called bare.
 *
 * `testing.hip` has the table's entries with integers for pointers and handles. Each gives its result (true where
 * there is none), or nil and the error's name.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>

#include "cpu/provider.h"
#include "testing/testing.h"

const struct hip_api *testing_cpu_table(lua_State *L) {
  char reason[256] = "";
  const struct hip_api *api = cpu_provider.load(reason, sizeof reason);
  if (!api) luaL_error(L, "the CPU device cannot be loaded: %s", reason);
  return api;
}

static int refuse(lua_State *L, hip_error_t rc) {
  lua_pushnil(L);
  lua_pushstring(L, hip_error_name(rc));
  return 2;
}

static int answer(lua_State *L, hip_error_t rc) {
  if (rc) return refuse(L, rc);
  lua_pushboolean(L, 1);
  return 1;
}

static int answer_integer(lua_State *L, hip_error_t rc, lua_Integer value) {
  if (rc) return refuse(L, rc);
  lua_pushinteger(L, value);
  return 1;
}

static void *pointer(lua_State *L, int arg) {
  return (void *)(uintptr_t)luaL_checkinteger(L, arg);
}
static size_t size(lua_State *L, int arg) {
  return (size_t)luaL_checkinteger(L, arg);
}

/* ---- devices and memory --------------------------------------------------------------------------------------- */

static int test_set_device(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipSetDevice((int)luaL_checkinteger(L, 1)));
}
static int test_device_sync(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipDeviceSynchronize());
}

static int test_last_error(lua_State *L) {
  lua_pushstring(L, hip_error_name(testing_cpu_table(L)->hipGetLastError()));
  return 1;
}

static int test_attribute(lua_State *L) {
  int value = 0;
  hip_device_attribute_t attribute = (hip_device_attribute_t)luaL_checkinteger(L, 1);
  hip_error_t rc = testing_cpu_table(L)->hipDeviceGetAttribute(&value, attribute, (int)luaL_optinteger(L, 2, 0));
  return answer_integer(L, rc, value);
}

static int test_arch(lua_State *L) {
  char arch[128] = "";
  hip_error_t rc = testing_cpu_table(L)->hipxDeviceArch(arch, sizeof arch, (int)luaL_optinteger(L, 1, 0));
  if (rc) return refuse(L, rc);
  lua_pushstring(L, arch);
  return 1;
}

static int test_toolchain(lua_State *L) {
  char identity[512] = "";
  hip_error_t rc = testing_cpu_table(L)->hipxToolchain(identity, sizeof identity, (int)luaL_optinteger(L, 1, 0));
  lua_pushstring(L, identity);
  lua_pushstring(L, hip_error_name(rc));
  return 2;
}

static int test_malloc(lua_State *L) {
  void *ptr = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipMalloc(&ptr, size(L, 1));
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)ptr);
}

static int test_host_malloc(lua_State *L) {
  void *ptr = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipHostMalloc(&ptr, size(L, 1), 0);
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)ptr);
}

static int test_free(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipFree(pointer(L, 1)));
}
static int test_host_free(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipHostFree(pointer(L, 1)));
}
static int test_checked(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipxSetChecked(lua_toboolean(L, 1)));
}

static int test_mem_info(lua_State *L) {
  size_t available = 0, total = 0;
  hip_error_t rc = testing_cpu_table(L)->hipMemGetInfo(&available, &total);
  if (rc) return refuse(L, rc);
  lua_pushinteger(L, (lua_Integer)available);
  lua_pushinteger(L, (lua_Integer)total);
  return 2;
}

/* peek(address, bytes) -> string; poke(address, string): plain host accesses. */
static int test_peek(lua_State *L) {
  lua_pushlstring(L, pointer(L, 1), size(L, 2));
  return 1;
}

static int test_poke(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 2, &length);
  memcpy(pointer(L, 1), text, length);
  return 0;
}

/* pageable(bytes) -> userdata that keeps it, address */
static int test_pageable(lua_State *L) {
  size_t bytes = size(L, 1);
  void *memory = lua_newuserdatauv(L, bytes, 0);
  memset(memory, 0, bytes);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)memory);
  return 2;
}

/* ---- copies and fills -------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"h2h", "h2d", "d2h", "d2d", "default", NULL};

/* copy(to, from, bytes, kind, stream) */
static int test_copy(lua_State *L) {
  hip_memcpy_kind_t kind = (hip_memcpy_kind_t)luaL_checkoption(L, 4, NULL, kinds);
  return answer(L, testing_cpu_table(L)->hipMemcpyAsync(pointer(L, 1), pointer(L, 2), size(L, 3), kind, pointer(L, 5)));
}

/* copy2d(to, pitch, from, pitch, width, height, kind, stream) */
static int test_copy2d(lua_State *L) {
  hip_memcpy_kind_t kind = (hip_memcpy_kind_t)luaL_checkoption(L, 7, NULL, kinds);
  return answer(L, testing_cpu_table(L)->hipMemcpy2DAsync(pointer(L, 1), size(L, 2), pointer(L, 3), size(L, 4),
                                                          size(L, 5), size(L, 6), kind, pointer(L, 8)));
}

/* fill(to, value, count, bits, stream) */
static int test_fill(lua_State *L) {
  const struct hip_api *api = testing_cpu_table(L);
  int value = (int)luaL_checkinteger(L, 2);
  switch (luaL_checkinteger(L, 4)) {
  case 8:
    return answer(L, api->hipMemsetAsync(pointer(L, 1), value, size(L, 3), pointer(L, 5)));
  case 16:
    return answer(L, api->hipMemsetD16Async(pointer(L, 1), (unsigned short)value, size(L, 3), pointer(L, 5)));
  default:
    return answer(L, api->hipMemsetD32Async(pointer(L, 1), value, size(L, 3), pointer(L, 5)));
  }
}

/* fill2d(to, pitch, value, width, height, stream) */
static int test_fill2d(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipMemset2DAsync(pointer(L, 1), size(L, 2), (int)luaL_checkinteger(L, 3),
                                                          size(L, 4), size(L, 5), pointer(L, 6)));
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

static int test_stream(lua_State *L) {
  hip_stream_t stream = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipStreamCreateWithFlags(&stream, (unsigned)luaL_optinteger(L, 1, 0));
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)stream);
}

static int test_stream_destroy(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipStreamDestroy(pointer(L, 1)));
}
static int test_stream_sync(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipStreamSynchronize(pointer(L, 1)));
}
static int test_stream_query(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipStreamQuery(pointer(L, 1)));
}
static int test_stream_wait(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipStreamWaitEvent(pointer(L, 1), pointer(L, 2), 0));
}

static int test_event(lua_State *L) {
  hip_event_t event = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipEventCreateWithFlags(&event, (unsigned)luaL_optinteger(L, 1, 0));
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)event);
}

static int test_event_destroy(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipEventDestroy(pointer(L, 1)));
}
static int test_event_sync(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipEventSynchronize(pointer(L, 1)));
}
static int test_event_query(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipEventQuery(pointer(L, 1)));
}
static int test_event_record(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipEventRecord(pointer(L, 1), pointer(L, 2)));
}

static int test_elapsed(lua_State *L) {
  float ms = 0;
  hip_error_t rc = testing_cpu_table(L)->hipEventElapsedTime(&ms, pointer(L, 1), pointer(L, 2));
  if (rc) return refuse(L, rc);
  lua_pushnumber(L, (lua_Number)ms);
  return 1;
}

/* A gate is a callback that holds its stream until it is opened: the only way to see a stream busy without a clock. */
static atomic_int gates_open, callbacks_run;

static void wait_at_gate(hip_stream_t stream, hip_error_t status, void *user) {
  (void)stream, (void)status, (void)user;
  while (!atomic_load(&gates_open)) usleep(100); /* many may wait at once */
  atomic_fetch_add(&callbacks_run, 1);
}

/* gate(stream): what follows in the stream waits for open_gates(). */
static int test_gate(lua_State *L) {
  atomic_store(&gates_open, 0);
  return answer(L, testing_cpu_table(L)->hipStreamAddCallback(pointer(L, 1), wait_at_gate, NULL, 0));
}

static int test_open_gates(lua_State *L) {
  (void)L;
  atomic_store(&gates_open, 1);
  return 0;
}

static int test_callbacks_run(lua_State *L) {
  lua_pushinteger(L, atomic_load(&callbacks_run));
  return 1;
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static int test_load(lua_State *L) {
  hip_module_t module = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipModuleLoadData(&module, luaL_checkstring(L, 1));
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)module);
}

static int test_unload(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipModuleUnload(pointer(L, 1)));
}

static int test_function(lua_State *L) {
  hip_function_t function = NULL;
  hip_error_t rc = testing_cpu_table(L)->hipModuleGetFunction(&function, pointer(L, 1), luaL_optstring(L, 2, NULL));
  return answer_integer(L, rc, (lua_Integer)(uintptr_t)function);
}

static int test_global(lua_State *L) {
  hip_deviceptr_t address = NULL;
  size_t bytes = 0;
  hip_error_t rc =
      testing_cpu_table(L)->hipModuleGetGlobal(&address, &bytes, pointer(L, 1), luaL_optstring(L, 2, NULL));
  if (rc) return refuse(L, rc);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)address);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 2;
}

static int test_function_attribute(lua_State *L) {
  int value = 0;
  hip_func_attribute_t attribute = (hip_func_attribute_t)luaL_checkinteger(L, 2);
  hip_error_t rc = testing_cpu_table(L)->hipFuncGetAttribute(&value, attribute, pointer(L, 1));
  return answer_integer(L, rc, value);
}

static int test_occupancy(lua_State *L) {
  int blocks = 0;
  hip_error_t rc = testing_cpu_table(L)->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, pointer(L, 1), (int)luaL_checkinteger(L, 2), size(L, 3));
  return answer_integer(L, rc, blocks);
}

static void read_triple(lua_State *L, int arg, unsigned triple[3]) {
  luaL_checktype(L, arg, LUA_TTABLE);
  for (int i = 0; i < 3; i++) {
    lua_rawgeti(L, arg, i + 1);
    triple[i] = (unsigned)luaL_optinteger(L, -1, 1);
    lua_pop(L, 1);
  }
}

/* launch(function, grid, block, shared, stream, packed arguments or nil) */
static int test_launch(lua_State *L) {
  unsigned grid[3], block[3];
  size_t bytes = 0;
  read_triple(L, 2, grid);
  read_triple(L, 3, block);
  void *packed = (void *)luaL_optlstring(L, 6, NULL, &bytes);
  void *extra[] = {(void *)1, packed, (void *)2, &bytes, (void *)3};
  return answer(L, testing_cpu_table(L)->hipModuleLaunchKernel(pointer(L, 1), grid[0], grid[1], grid[2], block[0],
                                                               block[1], block[2], (unsigned)luaL_checkinteger(L, 4),
                                                               pointer(L, 5), NULL, packed ? extra : NULL));
}

static int test_tag(lua_State *L) {
  return answer(L, testing_cpu_table(L)->hipxLaunchTag((uint64_t)luaL_checkinteger(L, 1)));
}

static int test_take_fault(lua_State *L) {
  struct hip_fault fault;
  hip_error_t rc = testing_cpu_table(L)->hipxTakeFault(&fault);
  if (rc) return refuse(L, rc);
  lua_newtable(L);
  lua_pushinteger(L, fault.kind);
  lua_setfield(L, -2, "kind");
  lua_pushinteger(L, (lua_Integer)fault.tag);
  lua_setfield(L, -2, "tag");
  lua_pushstring(L, fault.kernel);
  lua_setfield(L, -2, "kernel");
  lua_pushinteger(L, (lua_Integer)fault.nearest);
  lua_setfield(L, -2, "nearest");
  lua_pushinteger(L, (lua_Integer)fault.nearest_bytes);
  lua_setfield(L, -2, "nearest_bytes");
  lua_pushstring(L, fault.text);
  lua_setfield(L, -2, "text");
  return 1;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static const char *text_field(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  const char *text = lua_tostring(L, -1);
  lua_pop(L, 1); /* the table keeps it */
  return text;
}

/* A list of strings, borrowed from the table; in a userdata that stays on the stack. */
static const char **list_field(lua_State *L, const char *name, size_t *count) {
  *count = 0;
  if (lua_getfield(L, 1, name) == LUA_TTABLE) *count = lua_rawlen(L, -1);
  const char **list = lua_newuserdatauv(L, (*count + 1) * sizeof *list, 0);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    list[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return list;
}

static void push_result(lua_State *L, const struct hip_compile_request *request,
                        const struct hip_compile_result *result, hip_error_t rc) {
  lua_newtable(L);
  lua_pushstring(L, hip_error_name(rc));
  lua_setfield(L, -2, "rc");
  lua_pushstring(L, result->log);
  lua_setfield(L, -2, "log");
  if (result->code) {
    lua_pushlstring(L, result->code, result->code_bytes);
    lua_setfield(L, -2, "code");
  }
  lua_newtable(L);
  for (size_t i = 0; result->lowered && i < request->nkernels; i++) {
    lua_pushstring(L, result->lowered[i] ? result->lowered[i] : "");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "lowered");
  lua_newtable(L);
  for (size_t i = 0; result->dependencies && result->dependencies[i]; i++) {
    lua_pushstring(L, result->dependencies[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "dependencies");
}

/* compile{ source=, name=, arch=, options={}, header_names={}, header_texts={}, kernels={}, optional=bool, timeout=,
   preprocess=bool } -> { rc=, log=, code=, lowered={}, dependencies={} }. Kernels have their markers in the source. */
static int test_compile(lua_State *L) {
  const struct hip_api *api = testing_cpu_table(L);
  struct hip_compile_result result;
  struct hip_compile_request request = {.source = text_field(L, "source"), .name = text_field(L, "name")};
  char arch[128];
  size_t texts;
  luaL_checktype(L, 1, LUA_TTABLE);
  api->hipxDeviceArch(arch, sizeof arch, 0);
  request.arch = text_field(L, "arch");
  if (!request.arch) request.arch = arch;
  request.options = list_field(L, "options", &request.noptions);
  request.header_names = list_field(L, "header_names", &request.headers);
  request.header_texts = list_field(L, "header_texts", &texts);
  const char **names = list_field(L, "kernels", &request.nkernels);
  struct hip_compile_kernel *kernels = lua_newuserdatauv(L, (request.nkernels + 1) * sizeof *kernels, 0);
  lua_getfield(L, 1, "optional");
  for (size_t i = 0; i < request.nkernels; i++)
    kernels[i] = (struct hip_compile_kernel){.expression = names[i], .optional = lua_toboolean(L, -1)};
  request.kernels = kernels;
  lua_getfield(L, 1, "timeout");
  request.timeout_ms = (unsigned)lua_tointeger(L, -1);
  lua_getfield(L, 1, "preprocess");
  hip_error_t rc = (lua_toboolean(L, -1) ? api->hipxPreprocess : api->hipxCompile)(&request, &result);
  push_result(L, &request, &result, rc);
  api->hipxCompileFree(&result);
  api->hipxCompileFree(&result); /* idempotent */
  return 1;
}

static const luaL_Reg hip_functions[] = {
    {"set_device", test_set_device},
    {"device_sync", test_device_sync},
    {"last_error", test_last_error},
    {"attribute", test_attribute},
    {"arch", test_arch},
    {"toolchain", test_toolchain},
    {"malloc", test_malloc},
    {"free", test_free},
    {"host_malloc", test_host_malloc},
    {"host_free", test_host_free},
    {"checked", test_checked},
    {"mem_info", test_mem_info},
    {"peek", test_peek},
    {"poke", test_poke},
    {"pageable", test_pageable},
    {"copy", test_copy},
    {"copy2d", test_copy2d},
    {"fill", test_fill},
    {"fill2d", test_fill2d},
    {"stream", test_stream},
    {"stream_destroy", test_stream_destroy},
    {"stream_sync", test_stream_sync},
    {"stream_query", test_stream_query},
    {"stream_wait", test_stream_wait},
    {"event", test_event},
    {"event_destroy", test_event_destroy},
    {"event_record", test_event_record},
    {"event_sync", test_event_sync},
    {"event_query", test_event_query},
    {"elapsed", test_elapsed},
    {"gate", test_gate},
    {"open_gates", test_open_gates},
    {"callbacks_run", test_callbacks_run},
    {"load", test_load},
    {"unload", test_unload},
    {"get_function", test_function},
    {"global", test_global},
    {"function_attribute", test_function_attribute},
    {"occupancy", test_occupancy},
    {"launch", test_launch},
    {"tag", test_tag},
    {"take_fault", test_take_fault},
    {"compile", test_compile},
    {NULL, NULL},
};

void testing_open_host(lua_State *L) {
  lua_newtable(L);
  luaL_setfuncs(L, hip_functions, 0);
  lua_setfield(L, -2, "hip");
}
