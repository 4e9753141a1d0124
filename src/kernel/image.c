/*
 * image.c - kernel images: life, look-up, and declared access.
 *
 * Images are shared by the caches and by every program made from them, so nothing in one changes after it was made:
 * access overrides give a new image.
 */
#include "kernel/image.h"
#include "kernel/names.h"
#include "kernel/signature.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct kernel_image *image_new(void) {
  struct kernel_image *image = calloc(1, sizeof *image);
  if (image) image->refs = 1;
  return image;
}

struct kernel_image *kernel_image_retain(struct kernel_image *image) {
  if (image) __atomic_add_fetch(&image->refs, 1, __ATOMIC_RELAXED);
  return image;
}

void kernel_image_release(struct kernel_image *image) {
  if (!image || __atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  for (size_t i = 0; i < image->nkernels; i++) signature_free(&image->kernels[i]);
  free(image->kernels);
  free(image->code);
  free(image->program);
  free(image->log);
  free(image->templates);
  free(image);
}

struct kernel_signature *image_add(struct kernel_image *image) {
  size_t n = image->nkernels;
  if ((n & (n - 1)) == 0) { /* a power of two, or none yet: full */
    struct kernel_signature *kernels = realloc(image->kernels, (n ? 2 * n : 1) * sizeof *kernels);
    if (!kernels) return NULL;
    image->kernels = kernels;
  }
  image->kernels[n] = (struct kernel_signature){0};
  image->nkernels++;
  return &image->kernels[n];
}

/* ---- look-up ---------------------------------------------------------------------------------------------------- */

void image_list(const struct kernel_image *image, struct text *text) {
  for (size_t i = 0; i < image->nkernels; i++) text_printf(text, "%s%s", i ? ", " : "", image->kernels[i].name);
  if (!image->nkernels) text_add(text, "no kernels");
  if (*image->templates) text_printf(text, "; templates, to be named in `names` with arguments: %s", image->templates);
  if (image->hidden) text_add(text, "; kernels that macros make are found when named in `names`");
}

static luhip_status not_found(const struct kernel_image *image, const char *name, luhip_error **error) {
  struct text list = {0};
  image_list(image, &list);
  const char *has = list.data ? list.data : "";
  luhip_status status;
  if (!name && !image->nkernels)
    status = error_set(error, LUHIP_E_NOT_FOUND, "program '%s' has %s", image->program, has);
  else if (!name)
    status =
        error_set(error, LUHIP_E_NOT_FOUND, "program '%s' has several kernels, name one of: %s", image->program, has);
  else
    status =
        error_set(error, LUHIP_E_NOT_FOUND, "kernel '%s' not found; program '%s' has: %s", name, image->program, has);
  text_free(&list);
  return status;
}

luhip_status kernel_image_find(const struct kernel_image *image, const char *name, size_t *index, luhip_error **error) {
  if (!name && image->nkernels == 1) {
    *index = 0;
    return LUHIP_OK;
  }
  for (size_t i = 0; name && i < image->nkernels; i++)
    if (name_equal(image->kernels[i].name, name)) {
      *index = i;
      return LUHIP_OK;
    }
  return not_found(image, name, error);
}

/* ---- access ----------------------------------------------------------------------------------------------------- */

static char *copy_string(const char *string) {
  return strdup(string ? string : "");
}

static bool copy_signature(struct kernel_signature *to, const struct kernel_signature *from) {
  to->params = calloc(from->nparams ? from->nparams : 1, sizeof *to->params);
  if (!to->params) return false;
  to->args_bytes = from->args_bytes;
  to->name = copy_string(from->name);
  to->lowered = copy_string(from->lowered);
  bool ok = to->name && to->lowered;
  for (; to->nparams < from->nparams; to->nparams++) {
    struct kernel_param *param = &to->params[to->nparams];
    *param = from->params[to->nparams];
    param->shown.name = copy_string(param->shown.name);
    param->shown.type = copy_string(param->shown.type);
    ok &= param->shown.name && param->shown.type;
  }
  return ok;
}

static struct kernel_image *copy_image(const struct kernel_image *from) {
  struct kernel_image *to = image_new();
  if (!to) return NULL;
  to->code = malloc(from->code_bytes ? from->code_bytes : 1);
  to->program = copy_string(from->program);
  to->log = copy_string(from->log);
  to->templates = copy_string(from->templates);
  bool ok = to->code && to->program && to->log && to->templates;
  if (ok) memcpy(to->code, from->code, from->code_bytes);
  to->code_bytes = from->code_bytes;
  to->hidden = from->hidden;
  memcpy(to->hash, from->hash, sizeof to->hash);
  for (size_t i = 0; ok && i < from->nkernels; i++) {
    struct kernel_signature *kernel = image_add(to);
    ok = kernel && copy_signature(kernel, &from->kernels[i]);
  }
  if (ok) return to;
  kernel_image_release(to);
  return NULL;
}

static bool parse_access(const char *text, enum access *access) {
  if (strcmp(text, "in") == 0)
    *access = ACCESS_IN;
  else if (strcmp(text, "out") == 0)
    *access = ACCESS_OUT;
  else if (strcmp(text, "inout") == 0)
    *access = ACCESS_INOUT;
  else
    return false;
  return true;
}

static luhip_status unknown_parameter(const struct kernel_signature *kernel, const luhip_access *wish,
                                      luhip_error **error) {
  struct text list = {0};
  for (size_t i = 0; i < kernel->nparams; i++)
    text_printf(&list, "%s%s", i ? ", " : "",
                *kernel->params[i].shown.name ? kernel->params[i].shown.name : "(unnamed)");
  luhip_status status = error_set(error, LUHIP_E_NOT_FOUND, "access names parameter '%s' of kernel '%s', which has: %s",
                                  wish->parameter, kernel->name, list.length ? list.data : "no parameters");
  text_free(&list);
  return status;
}

static luhip_status apply_wish(struct kernel_signature *kernel, const luhip_access *wish, enum access access,
                               luhip_error **error) {
  size_t i = 0;
  while (i < kernel->nparams && strcmp(kernel->params[i].shown.name, wish->parameter) != 0) i++;
  if (i == kernel->nparams) return unknown_parameter(kernel, wish, error);
  struct kernel_param *param = &kernel->params[i];
  if (param->access == ACCESS_VALUE)
    return error_set(error, LUHIP_E_ARGUMENT, "access of parameter '%s' of kernel '%s': '%s' is no pointer",
                     wish->parameter, kernel->name, param->shown.type);
  if (param->constant && access != ACCESS_IN)
    return error_set(error, LUHIP_E_ARGUMENT, "access of parameter '%s' of kernel '%s': '%s' cannot be written",
                     wish->parameter, kernel->name, param->shown.type);
  signature_set_access(param, access);
  return LUHIP_OK;
}

/* A wish for a template's name holds for all kernels made from it. */
static luhip_status apply_all(struct kernel_image *image, const luhip_access *wish, luhip_error **error) {
  enum access access;
  if (!wish->kernel || !wish->parameter || !wish->access || !parse_access(wish->access, &access))
    return error_set(error, LUHIP_E_ARGUMENT, "access of kernel '%s': '%s' is not one of in, out, inout",
                     wish->kernel ? wish->kernel : "", wish->access ? wish->access : "");
  char *normal = name_normal(wish->kernel);
  if (!normal) return error_set(error, LUHIP_E_MEMORY, "out of host memory");
  bool found = false;
  luhip_status status = LUHIP_OK;
  for (size_t i = 0; i < image->nkernels && status == LUHIP_OK; i++) {
    struct kernel_signature *kernel = &image->kernels[i];
    char *name = name_normal(kernel->name);
    if (name && (strcmp(name, normal) == 0 || name_has_base(name, normal))) {
      found = true;
      status = apply_wish(kernel, wish, access, error);
    }
    free(name);
  }
  free(normal);
  return status != LUHIP_OK || found ? status : not_found(image, wish->kernel, error);
}

luhip_status image_with_access(const struct kernel_image *image, const luhip_access *access, size_t naccess,
                               struct kernel_image **changed, luhip_error **error) {
  struct kernel_image *copy = copy_image(image);
  if (!copy) return error_set(error, LUHIP_E_MEMORY, "out of host memory");
  for (size_t i = 0; i < naccess; i++) {
    luhip_status status = apply_all(copy, &access[i], error);
    if (status == LUHIP_OK) continue;
    kernel_image_release(copy);
    return status;
  }
  *changed = copy;
  return LUHIP_OK;
}
