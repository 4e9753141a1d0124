/*
 * image.c - code objects compiled for an architecture, with no device: core.compile_for.
 *
 * image.code is the ELF image as a string, image.log the compiler's warnings, image.kernels a list of tables.
 */
#include "lua/binding.h"

struct lb_image {
  luhip_image *image;
};

static struct lb_image *check_image(lua_State *L, int idx) {
  struct lb_image *image = lb_check(L, idx, LB_IMAGE);
  if (!image->image) lb_argument(L, idx, LUHIP_E_FREED, "the image was freed");
  return image;
}

/* core.compile_for(arch, source [, options]) -> image */
int lb_compile_for(lua_State *L) {
  const char *arch = lb_check_text(L, 1, "arch");
  const char *source = lb_check_text(L, 2, "source");
  lua_settop(L, 3);
  struct lb_image *image = lb_new(L, LB_IMAGE, sizeof *image, 0);
  luhip_compile_options options;
  lb_compile_options(L, 3, NULL, &options, NULL);
  luhip_error *error = NULL;
  luhip_status status = luhip_compile_for(arch, source, &options, &image->image, &error);
  if (status != LUHIP_OK) lb_fail(L, status, error);
  lua_settop(L, 4);
  return 1;
}

static int image_free(lua_State *L) {
  struct lb_image *image = lb_check(L, 1, LB_IMAGE);
  luhip_image *native = image->image;
  image->image = NULL;
  luhip_image_release(native);
  return 0;
}

static int field_code(lua_State *L) {
  size_t bytes;
  const void *code = luhip_image_code(check_image(L, 1)->image, &bytes);
  lua_pushlstring(L, code, bytes);
  return 1;
}

static int field_log(lua_State *L) {
  lua_pushstring(L, luhip_image_log(check_image(L, 1)->image));
  return 1;
}

/* What the code object itself tells of a kernel. */
static void set_facts(lua_State *L, const luhip_image_kernel *kernel) {
  const struct {
    const char *name;
    uint64_t value;
  } facts[] = {
      {"registers", kernel->vector_registers},
      {"accumulator_registers", kernel->accumulator_registers},
      {"scalar_registers", kernel->scalar_registers},
      {"spills", kernel->vector_spills + kernel->scalar_spills},
      {"shared_bytes", kernel->shared_bytes},
      {"local_bytes", kernel->private_bytes},
      {"argument_bytes", kernel->argument_bytes},
      {"max_threads", kernel->max_threads},
      {"warp_size", kernel->warp_size},
  };
  for (size_t i = 0; kernel->described && i < sizeof facts / sizeof *facts; i++) {
    lua_pushinteger(L, (lua_Integer)facts[i].value);
    lua_setfield(L, -2, facts[i].name);
  }
}

/* The image is named afresh after every allocation: a finaliser may have freed it. */
static int field_kernels(lua_State *L) {
  lua_newtable(L);
  size_t n = luhip_image_kernels(check_image(L, 1)->image);
  for (size_t i = 0; i < n; i++) {
    luhip_image_kernel kernel;
    lua_createtable(L, 0, 12);
    luhip_image_get_kernel(check_image(L, 1)->image, i, &kernel);
    set_facts(L, &kernel);
    luhip_image_get_kernel(check_image(L, 1)->image, i, &kernel);
    lua_pushstring(L, kernel.name);
    lua_setfield(L, -2, "name");
    luhip_image_get_kernel(check_image(L, 1)->image, i, &kernel);
    lua_pushstring(L, kernel.lowered);
    lua_setfield(L, -2, "lowered");
    luhip_image_get_kernel(check_image(L, 1)->image, i, &kernel);
    lb_push_params(L, kernel.params, kernel.nparams);
    lua_setfield(L, -2, "params");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int image_tostring(lua_State *L) {
  const struct lb_image *image = lb_check(L, 1, LB_IMAGE);
  if (!image->image) {
    lua_pushliteral(L, "luhip.image (freed)");
    return 1;
  }
  size_t bytes;
  luhip_image_code(image->image, &bytes);
  lua_pushfstring(L, "luhip.image: %I bytes, %I kernels", (LUAI_UACINT)bytes,
                  (LUAI_UACINT)luhip_image_kernels(image->image));
  return 1;
}

void lb_open_image(lua_State *L) {
  static const luaL_Reg methods[] = {{"free", image_free}, {NULL, NULL}};
  static const luaL_Reg fields[] = {{"code", field_code}, {"log", field_log}, {"kernels", field_kernels}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", image_tostring}, {"__close", image_free}, {"__gc", image_free}, {NULL, NULL}};
  lb_class_register(L, LB_IMAGE, &(struct lb_class_functions){methods, fields, meta});
}
