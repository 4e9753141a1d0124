/*
 * offline.c - code objects for an architecture that need not be here.
 */
#include "base/error.h"
#include "hip/amd_metadata.h"
#include "hip/rocm.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

struct luhip_image {
  struct kernel_image *kernels;
  luhip_param **params; /* of each kernel, as the public API shows them */
};

/* The public view of a signature's parameters; the strings stay the signature's. */
static luhip_param *show_params(const struct kernel_signature *signature) {
  luhip_param *params = calloc(signature->nparams + 1, sizeof *params);
  for (size_t i = 0; params && i < signature->nparams; i++) params[i] = signature->params[i].shown;
  return params;
}

static luhip_status wrap(struct kernel_image *kernels, luhip_image **image, luhip_error **error) {
  luhip_image *made = calloc(1, sizeof *made);
  if (made) {
    made->kernels = kernels;
    made->params = calloc(kernels->nkernels + 1, sizeof *made->params);
  } else {
    kernel_image_release(kernels);
  }
  bool ok = made && made->params;
  for (size_t i = 0; ok && i < kernels->nkernels; i++)
    ok = (made->params[i] = show_params(&kernels->kernels[i])) != NULL;
  if (!ok) {
    luhip_image_release(made);
    return error_set(error, LUHIP_E_MEMORY, "out of host memory");
  }
  *image = made;
  return LUHIP_OK;
}

luhip_status luhip_compile_for(const char *arch, const char *source, const luhip_compile_options *options,
                               luhip_image **image, luhip_error **error) {
  static const luhip_compile_options none = {0};
  if (!arch || !*arch || !source)
    return error_set(error, LUHIP_E_ARGUMENT, "an architecture such as gfx90a and a source are needed");
  char reason[256];
  struct kernel_target target = {.api = rocm_compiler(reason, sizeof reason), .arch = arch};
  if (!target.api) return error_set(error, LUHIP_E_NOT_FOUND, "no compiler for '%s': %s", arch, reason);
  struct kernel_image *kernels = NULL;
  luhip_status status = kernel_compile(&target, source, options ? options : &none, &kernels, error);
  return status ? status : wrap(kernels, image, error);
}

void luhip_image_release(luhip_image *image) {
  if (!image) return;
  for (size_t i = 0; image->params && i < image->kernels->nkernels; i++) free(image->params[i]);
  free(image->params);
  kernel_image_release(image->kernels);
  free(image);
}

const void *luhip_image_code(const luhip_image *image, size_t *bytes) {
  if (bytes) *bytes = image->kernels->code_bytes;
  return image->kernels->code;
}

const char *luhip_image_log(const luhip_image *image) {
  return image->kernels->log;
}

size_t luhip_image_kernels(const luhip_image *image) {
  return image->kernels->nkernels;
}

bool luhip_image_get_kernel(const luhip_image *image, size_t index, luhip_image_kernel *kernel) {
  if (index >= image->kernels->nkernels) return false;
  const struct kernel_signature *signature = &image->kernels->kernels[index];
  struct amd_kernel facts = {0};
  bool described = amd_metadata_kernel(image->kernels->code, image->kernels->code_bytes, signature->lowered, &facts);
  *kernel = (luhip_image_kernel){.name = signature->name,
                                 .lowered = signature->lowered,
                                 .params = image->params[index],
                                 .nparams = signature->nparams,
                                 .described = described,
                                 .vector_registers = facts.vector_registers,
                                 .accumulator_registers = facts.accumulator_registers,
                                 .scalar_registers = facts.scalar_registers,
                                 .vector_spills = facts.vector_spills,
                                 .scalar_spills = facts.scalar_spills,
                                 .shared_bytes = facts.shared_bytes,
                                 .private_bytes = facts.private_bytes,
                                 .argument_bytes = facts.argument_bytes,
                                 .max_threads = facts.max_threads,
                                 .warp_size = facts.warp_size};
  return true;
}
