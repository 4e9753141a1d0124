/*
 * program.c - compiled programs, and how kernels are made from them.
 *
 * A program keeps a table of the kernel objects it gave (user value 2), so that asking twice gives the same
 * object. Its key is the native kernel, which the program holds as long as it lives; an object that was freed is
 * replaced. A lazy kernel keeps its recipe (source, name, options) and compiles when it is first needed; one in the
 * background has a job of the library as well, which is waited for then.
 */
#include <string.h>

#include "lua/binding.h"

/* ---- programs ----------------------------------------------------------------------------------------------------------- */

static struct lb_program *check_program(lua_State *L, int idx) {
  struct lb_program *program = lb_check(L, idx, LB_PROGRAM);
  if (!program->program) lb_argument(L, idx, LUHIP_E_FREED, "the program was freed");
  lb_owner(L, program->owner);
  return program;
}

/* Whether a compile failed for what it found, not for how it was asked. */
static bool is_of_the_work(luhip_status status) {
  return status == LUHIP_E_COMPILE || status == LUHIP_E_TIMEOUT || status == LUHIP_E_MEMORY || status == LUHIP_E_DRIVER;
}

struct awaited {
  struct lb_kernel *kernel;
  luhip_program **program;
};

static luhip_status await(void *object, const luhip_wait *wait, luhip_error **error) {
  const struct awaited *awaited = object;
  if (!awaited->kernel->compiling) return LUHIP_E_FREED; /* by a hook */
  return luhip_compile_wait(awaited->kernel->compiling, wait, awaited->program, error);
}

/* The job is over, well or not, unless the wait was only interrupted. */
static luhip_status await_background(lua_State *L, struct lb_kernel *kernel, luhip_program **program,
                                     luhip_error **error) {
  luhip_status status = lb_wait_status(L, await, &(struct awaited){kernel, program}, error);
  if (status == LUHIP_E_INTERRUPTED) return status;
  luhip_compiling *compiling = kernel->compiling;
  kernel->compiling = NULL;
  luhip_compiling_release(compiling);
  return status;
}

/* Compiles the text at `source` with the options at `options`, for a kernel that is lazy, or for NULL; pushes the program.
   `launched`: it is for a launch, so that a failure of the work is not raised but pushed, and NULL returned. */
static struct lb_program *push_program(lua_State *L, int device, int source, int options, const char *name,
                                       struct lb_kernel *lazy, bool launched) {
  luhip_compile_options native;
  enum lb_when when;
  struct lb_device *owner = lb_check(L, device, LB_DEVICE);
  lb_compile_options(L, options, name, &native, &when);
  struct lb_program *program = lb_new(L, LB_PROGRAM, sizeof *program, 2);
  program->owner = owner;
  lua_pushvalue(L, device);
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 2);
  luhip_error *error = NULL;
  luhip_status status;
  if (lazy && lazy->compiling)
    status = await_background(L, lazy, &program->program, &error);
  else
    status = luhip_compile(lb_owner(L, owner), lua_tostring(L, source), &native, &program->program, &error);
  if (status != LUHIP_OK && launched && error && is_of_the_work(status)) {
    lb_push_error(L, status, error);
    return NULL;
  }
  if (status != LUHIP_OK) {
    /* A kernel that was to be launched now: what is recorded or timed without that launch is not what was meant. */
    if (lazy && status != LUHIP_E_INTERRUPTED) {
      luhip_stream_doom_capture(owner->device, lb_scope(L, lb_state(L), owner).stream, error);
      luhip_profiles_fail(owner->device, error);
    }
    lb_fail(L, status, error);
  }
  lua_remove(L, -2); /* what owned the options */
  return program;
}

/* dev:compile(source [, options]) */
int lb_device_compile(lua_State *L) {
  lb_check_device(L, 1);
  lb_no_more(L, 3);
  luhip_compile_options options;
  lb_check_text(L, 2, "source");
  lua_settop(L, 3);
  lb_compile_options(L, 3, NULL, &options, NULL); /* those of kernels are none */
  lua_settop(L, 3);
  push_program(L, 1, 2, 3, NULL, NULL, false);
  return lb_logged(L, 1);
}

static int program_free(lua_State *L) {
  struct lb_program *program = lb_check(L, 1, LB_PROGRAM);
  luhip_program *native = program->program;
  program->program = NULL;
  luhip_program_release(native);
  return 0;
}

/* prog:kernels() -> list of names */
static int program_kernels(lua_State *L) {
  check_program(L, 1);
  lb_no_more(L, 1);
  lua_newtable(L);
  size_t n = luhip_program_kernels(check_program(L, 1)->program);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, luhip_program_kernel_name(check_program(L, 1)->program, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* prog:global(name [, dtype]) -> buffer over a __device__ or __constant__ variable */
static int program_global(lua_State *L) {
  struct lb_program *program = check_program(L, 1);
  lb_no_more(L, 3);
  const char *name = lb_check_text(L, 2, "name");
  luhip_dtype dtype = lua_isnoneornil(L, 3) ? LUHIP_U8 : lb_check_dtype(L, 3);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  struct lb_buffer *buffer = lb_new_buffer(L, -1, program->owner, 2);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 2);
  luhip_error *error = NULL;
  luhip_status status = luhip_program_global(check_program(L, 1)->program, name, dtype, &buffer->buffer, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

static int field_log(lua_State *L) {
  lua_pushstring(L, luhip_program_log(check_program(L, 1)->program));
  return 1;
}

static int program_tostring(lua_State *L) {
  const struct lb_program *program = lb_check(L, 1, LB_PROGRAM);
  if (program->program)
    lua_pushfstring(L, "luhip.program: %d kernels on %s", (int)luhip_program_kernels(program->program),
                    program->owner->info.id);
  else
    lua_pushliteral(L, "luhip.program (freed)");
  return 1;
}

/* ---- kernels of a program ------------------------------------------------------------------------------------------------------ */

/* Pushes an empty kernel object; user values: device, program, recipe. */
static struct lb_kernel *new_kernel(lua_State *L, int device, struct lb_device *owner) {
  struct lb_kernel *kernel = lb_new(L, LB_KERNEL, sizeof *kernel, 3);
  kernel->owner = owner;
  lua_pushvalue(L, device);
  lua_setiuservalue(L, -2, 1);
  return kernel;
}

/* The program's kernel of this name (NULL: its only one) into kernel, whose object is on top. */
static void find_kernel(lua_State *L, int program, const char *name, struct lb_kernel *kernel) {
  luhip_error *error = NULL;
  luhip_status status = luhip_program_kernel(check_program(L, program)->program, name, &kernel->kernel, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  lua_pushvalue(L, program);
  lua_setiuservalue(L, -2, 2);
}

/* Pushes the kernel object of the program at idx; the same one each time. */
static void push_kernel(lua_State *L, int idx, const char *name) {
  struct lb_program *program = check_program(L, idx);
  int base = lua_gettop(L);
  lua_getiuservalue(L, idx, 1);
  lua_getiuservalue(L, idx, 2);
  struct lb_kernel *kernel = new_kernel(L, base + 1, program->owner);
  find_kernel(L, idx, name, kernel);
  lua_rawgetp(L, base + 2, kernel->kernel);
  const struct lb_kernel *known = lb_test(L, -1, LB_KERNEL);
  if (!known || !known->kernel) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, base + 2, kernel->kernel);
  }
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
}

/* prog:kernel([name]) */
static int program_kernel(lua_State *L) {
  check_program(L, 1);
  lb_no_more(L, 2);
  const char *name = lua_isnoneornil(L, 2) ? NULL : lb_check_text(L, 2, "name");
  push_kernel(L, 1, name);
  return 1;
}

/* ---- dev:kernel ---------------------------------------------------------------------------------------------------------------- */

/* Pushes a kernel that compiles at its first use. The options are checked now. */
static int push_lazy(lua_State *L, struct lb_device *device, const luhip_compile_options *background) {
  struct lb_kernel *kernel = new_kernel(L, 1, device);
  kernel->lazy = true;
  lua_createtable(L, 3, 0);
  for (int i = 2; i <= 4; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, i);
  }
  lua_setiuservalue(L, -2, 3);
  if (!background) return 1;
  luhip_error *error = NULL;
  luhip_status status =
      luhip_compile_start(lb_owner(L, device), lua_tostring(L, 2), background, &kernel->compiling, &error);
  return status == LUHIP_OK ? 1 : lb_fail(L, status, error);
}

/* dev:kernel(source [, name [, options]]); options may stand in the place of the name */
int lb_device_kernel(lua_State *L) {
  struct lb_device *device = lb_check_device(L, 1);
  lb_no_more(L, 4);
  luhip_compile_options options;
  enum lb_when when;
  lb_check_text(L, 2, "source");
  if (lua_istable(L, 3) && lua_isnoneornil(L, 4)) {
    lua_settop(L, 3);
    lua_pushnil(L);
    lua_insert(L, 3);
  }
  lua_settop(L, 4);
  const char *name = lua_isnil(L, 3) ? NULL : lb_check_text(L, 3, "name");
  lb_compile_options(L, 4, name, &options, &when); /* pushes what owns them */
  if (when != LB_COMPILE_NOW) return push_lazy(L, device, when == LB_COMPILE_BACKGROUND ? &options : NULL);
  lua_settop(L, 4);
  push_program(L, 1, 2, 4, name, NULL, false);
  push_kernel(L, 5, name);
  return lb_logged(L, 1);
}

/* Compiles the lazy kernel at idx. When it is launched and does not compile, it stays lazy and the error object is
   pushed. */
static void compile_lazy(lua_State *L, int idx, struct lb_kernel *kernel, bool launched) {
  int base = lua_gettop(L);
  luaL_checkstack(L, 20, NULL);
  idx = lua_absindex(L, idx);
  lua_getiuservalue(L, idx, 1);
  lua_getiuservalue(L, idx, 3);
  for (int i = 2; i <= 4; i++) lua_rawgeti(L, base + 2, i);
  if (!push_program(L, base + 1, base + 3, base + 5, lua_tostring(L, base + 4), kernel, launched)) {
    lua_replace(L, base + 1);
    lua_settop(L, base + 1);
    return;
  }
  lua_pushvalue(L, idx);
  find_kernel(L, base + 6, lua_tostring(L, base + 4), kernel);
  kernel->lazy = false;
  lua_pushnil(L);
  lua_setiuservalue(L, idx, 3);
  lua_settop(L, base);
}

static inline struct lb_kernel *check_kernel(lua_State *L, int idx, bool launched) {
  struct lb_kernel *kernel = lb_check(L, idx, LB_KERNEL);
  lb_owner(L, kernel->owner);
  if (kernel->lazy) compile_lazy(L, idx, kernel, launched);
  if (!kernel->kernel && !kernel->lazy) lb_argument(L, idx, LUHIP_E_FREED, "the kernel was freed");
  return kernel;
}

struct lb_kernel *lb_check_kernel(lua_State *L, int idx) {
  return check_kernel(L, idx, false);
}

struct lb_kernel *lb_check_launched(lua_State *L, int idx) {
  return check_kernel(L, idx, true);
}

void lb_push_recipe(lua_State *L, int idx, struct lb_recipe *recipe) {
  enum lb_when when;
  luaL_checkstack(L, 8, NULL);
  lua_getiuservalue(L, idx, 3);
  int table = lua_gettop(L);
  for (int i = 2; i <= 4; i++) lua_rawgeti(L, table, i);
  recipe->source = lua_tostring(L, table + 1); /* the kernel keeps the table, and that the strings */
  recipe->name = lua_tostring(L, table + 2);
  lb_compile_options(L, table + 3, recipe->name, &recipe->options, &when);
}

void lb_open_program(lua_State *L) {
  static const luaL_Reg methods[] = {{"kernel", program_kernel},
                                     {"kernels", program_kernels},
                                     {"global", program_global},
                                     {"free", program_free},
                                     {NULL, NULL}};
  static const luaL_Reg fields[] = {{"log", field_log}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", program_tostring}, {"__close", program_free}, {"__gc", program_free}, {NULL, NULL}};
  lb_class_register(L, LB_PROGRAM, &(struct lb_class_functions){methods, fields, meta});
}
