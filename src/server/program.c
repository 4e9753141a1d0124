/*
 * program.c - compiling, loading, kernels, module globals, unloading (K1, K4).
 *
 * Compiling and loading happen without the device lock. A program is complete before anybody sees it: the module
 * is loaded, every kernel's function and figures are known. A kernel that the driver refuses stays in the list and
 * says so when it is asked for.
 */
#include "server/program.h"

#include "server/buffer.h"
#include "server/prepared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

enum { MAX_ARGS_BYTES = 4096 };

void module_lock(void) {
  pthread_mutex_lock(&loading);
}

void module_unlock(void) {
  pthread_mutex_unlock(&loading);
}

/* ---- making -------------------------------------------------------------------------------------------------- */

static size_t attribute(const struct hip_api *api, hip_function_t function, hip_func_attribute_t which) {
  int value;
  if (api->hipFuncGetAttribute(&value, which, function) != hip_Success || value < 0) return 0;
  return (size_t)value;
}

/* Some devices give more shared memory than usual to kernels that ask for it: all do, once and for good. */
static void allow_shared(luhip_kernel *kernel) {
  const luhip_device *device = kernel->program->device;
  const struct hip_api *api = device->api;
  size_t fixed = kernel->info.shared_bytes;
  int usual;
  kernel->shared_most = device->info.shared_bytes;
  hip_error_t rc = api->hipDeviceGetAttribute(&usual, hip_DeviceAttributeMaxSharedMemoryPerBlock, device->ordinal);
  if (rc != hip_Success || usual < 0 || (size_t)usual >= kernel->shared_most || fixed > kernel->shared_most) return;
  rc = hip_ErrorNotSupported;
  if (api->hipFuncSetAttribute)
    rc = api->hipFuncSetAttribute(kernel->function, hip_FuncAttributeMaxDynamicSharedMemorySize,
                                  (int)(kernel->shared_most - fixed));
  if (rc != hip_Success) kernel->shared_most = (size_t)usual;
}

static void load_kernel(luhip_kernel *kernel) {
  const luhip_device *device = kernel->program->device;
  const struct hip_api *api = device->api;
  hip_function_t function;
  kernel->refused = api->hipModuleGetFunction(&function, kernel->program->module, kernel->signature->lowered);
  if (kernel->refused != hip_Success) return;
  kernel->function = function;
  size_t threads = attribute(api, function, hip_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  kernel->info = (luhip_kernel_info){
      .registers = (int)attribute(api, function, hip_FUNC_ATTRIBUTE_NUM_REGS),
      .max_threads = threads ? (int)threads : device->info.max_threads,
      .shared_bytes = attribute(api, function, hip_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
      .local_bytes = attribute(api, function, hip_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
      .const_bytes = attribute(api, function, hip_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
  };
  allow_shared(kernel);
}

static hip_error_t load_module(luhip_program *program) {
  module_lock();
  hip_error_t rc = program->device->api->hipModuleLoadData(&program->module, program->image->code);
  for (size_t i = 0; rc == hip_Success && i < program->image->nkernels; i++) load_kernel(&program->kernels[i]);
  module_unlock();
  return rc;
}

static void program_free(luhip_program *program) {
  for (size_t i = 0; program->kernels && i < program->image->nkernels; i++)
    prepared_free(program->kernels[i].prepared, program->device->api);
  kernel_image_release(program->image);
  free(program->shown);
  free(program->kernels);
  free(program);
}

/* Takes over the image; NULL when the host has no memory. */
static luhip_program *program_make(luhip_device *device, struct kernel_image *image) {
  size_t nshown = 0;
  for (size_t i = 0; i < image->nkernels; i++) nshown += image->kernels[i].nparams;
  luhip_program *program = calloc(1, sizeof *program);
  if (!program) {
    kernel_image_release(image);
    return NULL;
  }
  *program = (luhip_program){.refs = 1, .device = device, .image = image};
  program->kernels = calloc(image->nkernels ? image->nkernels : 1, sizeof *program->kernels);
  program->shown = calloc(nshown ? nshown : 1, sizeof *program->shown);
  if (!program->kernels || !program->shown) {
    program_free(program);
    return NULL;
  }
  luhip_param *shown = program->shown;
  for (size_t i = 0; i < image->nkernels; i++) {
    const struct kernel_signature *signature = &image->kernels[i];
    program->kernels[i] = (luhip_kernel){.program = program, .signature = signature, .shown = shown};
    for (size_t p = 0; p < signature->nparams; p++) *shown++ = signature->params[p].shown;
  }
  return program;
}

static void list_add(luhip_program *program) {
  program->next = program->device->programs;
  if (program->next) program->next->previous = program;
  program->device->programs = program;
}

static void list_remove(luhip_program *program) {
  if (program->previous) {
    program->previous->next = program->next;
  } else {
    program->device->programs = program->next;
  }
  if (program->next) program->next->previous = program->previous;
  program->next = program->previous = NULL;
}

/* A module is loaded without the device's lock: what shows there that the device is lost is noted afterwards. */
static void note_loss(luhip_device *device, hip_error_t rc) {
  if (!hip_error_is_sticky(rc) || device_enter(device, NULL)) return;
  device_poison(device, rc);
  device_leave(device);
}

static luhip_status program_new(luhip_device *device, struct kernel_image *image, luhip_program **out,
                                luhip_error **error) {
  luhip_program *program = program_make(device, image);
  if (!program) return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a program");
  hip_error_t rc = load_module(program);
  if (rc != hip_Success) {
    luhip_error *failed = driver_error(rc, LUHIP_E_DRIVER, "loading program '%s'", image->program);
    program_free(program);
    note_loss(device, rc);
    return error_give(error, failed);
  }
  luhip_status status = device_enter(device, error);
  if (status) { /* closed while it compiled */
    device->api->hipModuleUnload(program->module);
    program_free(program);
    return status;
  }
  device_retain(device);
  list_add(program);
  device_leave(device);
  *out = program;
  return LUHIP_OK;
}

luhip_status luhip_compile(luhip_device *device, const char *source, const luhip_compile_options *options,
                           luhip_program **program, luhip_error **error) {
  luhip_status status = device_enter(device, error);
  if (status) return status;
  device_leave(device);
  static const luhip_compile_options none;
  struct kernel_target target = {.api = device->api, .device = device->ordinal, .arch = device->info.arch};
  struct kernel_image *image;
  status = kernel_compile(&target, source, options ? options : &none, &image, error);
  return status ? status : program_new(device, image, program, error);
}

/* ---- unloading ----------------------------------------------------------------------------------------------- */

/* Nobody holds it and nothing of it runs: unloaded by whoever leaves the device next. */
static void discard(luhip_program *program) {
  while (program->globals) {
    struct program_global *global = program->globals;
    program->globals = global->next;
    allocation_unref(global->allocation);
    free(global->name);
    free(global);
  }
  list_remove(program);
  program->next = program->device->trash.programs;
  program->device->trash.programs = program;
}

static void program_died(luhip_program *program) {
  program->dead = true;
  if (!program->flights) discard(program);
}

void program_unload_list(const struct hip_api *api, luhip_program *list) {
  for (luhip_program *next; list; list = next) {
    next = list->next;
    luhip_device *device = list->device;
    if (list->module) {
      module_lock();
      api->hipModuleUnload(list->module);
      module_unlock();
    }
    program_free(list);
    device_release(device);
  }
}

void programs_close(luhip_device *device, bool unload) {
  for (luhip_program *program = device->trash.programs; program && !unload; program = program->next)
    program->module = NULL; /* it may still run */
  for (luhip_program *program = device->programs; program; program = program->next) {
    if (unload) device->api->hipModuleUnload(program->module);
    program->module = NULL;
    for (size_t i = 0; i < program->image->nkernels; i++) program->kernels[i].function = NULL;
  }
}

void program_landed(luhip_program *program) {
  discard(program);
}

luhip_program *luhip_program_retain(luhip_program *program) {
  if (program) __atomic_fetch_add(&program->refs, 1, __ATOMIC_RELAXED);
  return program;
}

static bool last_release(luhip_program *program) {
  return __atomic_sub_fetch(&program->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

void program_release_locked(luhip_program *program) {
  if (last_release(program)) program_died(program);
}

void luhip_program_release(luhip_program *program) {
  if (!program || !last_release(program)) return;
  luhip_device *device = device_retain(program->device);
  if (device_enter_quietly(device)) {
    program_died(program);
    device_leave_quietly(device);
  }
  device_release(device);
}

/* ---- programs ------------------------------------------------------------------------------------------------ */

size_t luhip_program_kernels(const luhip_program *program) {
  return program->image->nkernels;
}

const char *luhip_program_kernel_name(const luhip_program *program, size_t index) {
  return index < program->image->nkernels ? program->image->kernels[index].name : NULL;
}

const char *luhip_program_log(const luhip_program *program) {
  return program->image->log ? program->image->log : "";
}

luhip_status luhip_program_kernel(luhip_program *program, const char *name, luhip_kernel **out, luhip_error **error) {
  if (!luhip_device_is_open(program->device)) {
    luhip_status status = device_enter(program->device, error); /* says why */
    if (!status) device_leave(program->device);
    if (status) return status;
  }
  size_t index;
  luhip_status status = kernel_image_find(program->image, name, &index, error);
  if (status) return status;
  luhip_kernel *kernel = &program->kernels[index];
  if (kernel->refused != hip_Success) {
    return error_give(error, driver_error(kernel->refused, LUHIP_E_DRIVER, "kernel '%s'", kernel->signature->name));
  }
  if (kernel->signature->args_bytes > MAX_ARGS_BYTES || kernel->signature->nparams > LUHIP_MAX_ARGS) {
    return error_set(error, LUHIP_E_LIMITS,
                     "kernel '%s' takes %zu bytes in %zu parameters, at most %d bytes and %d parameters are possible",
                     kernel->signature->name, kernel->signature->args_bytes, kernel->signature->nparams, MAX_ARGS_BYTES,
                     LUHIP_MAX_ARGS);
  }
  *out = luhip_kernel_retain(kernel);
  return LUHIP_OK;
}

/* ---- module globals ------------------------------------------------------------------------------------------ */

/* One allocation per global, as long as the program: order and claims hold whoever asks for it, however often. */
static luhip_status make_global(luhip_program *program, const char *name, hip_deviceptr_t address, size_t bytes,
                                struct allocation **out, luhip_error **error) {
  luhip_layout layout;
  luhip_status status = layout_packed(LUHIP_U8, 1, &bytes, &layout, error);
  if (status) return status;
  struct program_global *global = calloc(1, sizeof *global);
  char *copy = strdup(name);
  struct allocation *allocation = global && copy ? allocation_of_global(program, address, bytes, &layout) : NULL;
  if (!allocation) {
    free(global);
    free(copy);
    return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a buffer");
  }
  global->name = copy;
  global->allocation = allocation;
  global->next = program->globals;
  program->globals = global;
  *out = allocation;
  return LUHIP_OK;
}

static luhip_status find_global(luhip_program *program, const char *name, struct allocation **out,
                                luhip_error **error) {
  for (struct program_global *global = program->globals; global; global = global->next) {
    if (strcmp(global->name, name) != 0) continue;
    *out = global->allocation;
    return LUHIP_OK;
  }
  hip_deviceptr_t address;
  size_t bytes;
  hip_error_t rc = program->device->api->hipModuleGetGlobal(&address, &bytes, program->module, name);
  if (rc == hip_Success) return make_global(program, name, address, bytes, out, error);
  if (rc != hip_ErrorNotFound) return error_give(error, driver_error(rc, LUHIP_E_DRIVER, "global '%s'", name));
  return error_set(error, LUHIP_E_NOT_FOUND, "program '%s' has no global '%s'", program->image->program, name);
}

static luhip_status global_layout(const struct allocation *allocation, const char *name, luhip_dtype dtype,
                                  luhip_layout *layout, luhip_error **error) {
  size_t element = luhip_dtype_bytes(dtype), count = element ? allocation->bytes / element : 0;
  if (!element || count * element == allocation->bytes) return layout_packed(dtype, 1, &count, layout, error);
  return error_set(error, LUHIP_E_SHAPE, "global '%s' has %zu bytes, which are no whole number of %s", name,
                   allocation->bytes, luhip_dtype_name(dtype));
}

luhip_status luhip_program_global(luhip_program *program, const char *name, luhip_dtype dtype, luhip_buffer **out,
                                  luhip_error **error) {
  luhip_device *device = program->device;
  luhip_status status = device_enter(device, error);
  if (status) return status;
  struct allocation *allocation = NULL;
  luhip_layout layout;
  status = find_global(program, name, &allocation, error);
  if (!status) status = global_layout(allocation, name, dtype, &layout, error);
  luhip_buffer *buffer = status ? NULL : buffer_on(device, allocation, &layout);
  if (!status && !buffer) status = error_set(error, LUHIP_E_MEMORY, "the host has no memory for a buffer");
  device_leave(device);
  if (!status) *out = buffer;
  return status;
}

/* ---- kernels ------------------------------------------------------------------------------------------------- */

luhip_kernel *luhip_kernel_retain(luhip_kernel *kernel) {
  if (kernel) luhip_program_retain(kernel->program);
  return kernel;
}

void luhip_kernel_release(luhip_kernel *kernel) {
  if (kernel) luhip_program_release(kernel->program);
}

const char *luhip_kernel_name(const luhip_kernel *kernel) {
  return kernel->signature->name;
}

size_t luhip_kernel_params(const luhip_kernel *kernel, const luhip_param **list) {
  if (list) *list = kernel->shown;
  return kernel->signature->nparams;
}

luhip_status luhip_kernel_get_info(luhip_kernel *kernel, luhip_kernel_info *info, luhip_error **error) {
  luhip_status status = device_enter(kernel->program->device, error);
  if (status) return status;
  device_leave(kernel->program->device);
  *info = kernel->info;
  return LUHIP_OK;
}

luhip_status luhip_kernel_occupancy(luhip_kernel *kernel, int block, size_t shared, int *blocks, luhip_error **error) {
  luhip_device *device = kernel->program->device;
  if (block < 1 || block > kernel->info.max_threads) {
    return error_set(error, LUHIP_E_LIMITS, "kernel '%s': a block of %d threads, 1 to %d are possible",
                     kernel->signature->name, block, kernel->info.max_threads);
  }
  luhip_status status = device_enter(device, error);
  if (status) return status;
  hip_error_t rc =
      device->api->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel->function, block, shared);
  if (rc != hip_Success) {
    status = error_give(error, driver_error(rc, LUHIP_E_DRIVER, "occupancy of kernel '%s'", kernel->signature->name));
  }
  device_leave(device);
  return status;
}
