/*
 * compile.c - from source text to a kernel image: options, cache, markers, compiler, signatures.
 *
 * One compile is enough for nearly every source. Two things make it longer: macros that make whole kernels, for which
 * the text is scanned a second time after preprocessing, where the provider can; and kernels in files of include
 * folders, which are known only after the compiler named the files it read, and then take a second run.
 */
#include "kernel/cache.h"
#include "kernel/diagnose.h"
#include "kernel/image.h"
#include "kernel/names.h"
#include "kernel/setup.h"
#include "kernel/signature.h"
#include "kernel/source.h"

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static luhip_status no_memory(luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "out of host memory");
}

/* ---- the provider's compiler ------------------------------------------------------------------------------------ */

static unsigned timeout_ms(const struct setup *setup) {
  uint64_t ms = 60000; /* for a wrong setting, which luhip_open has refused */
  if (setup->options->timeout_ms) return setup->options->timeout_ms;
  config_number(CONFIG_COMPILE_TIMEOUT, &ms, NULL);
  return (unsigned)ms;
}

static struct hip_compile_request base_request(const struct setup *setup, const char *text) {
  return (struct hip_compile_request){
      .source = text,
      .name = setup->program,
      .arch = setup->target->arch,
      .header_names = (const char *const *)setup->names.list,
      .header_texts = (const char *const *)setup->texts.list,
      .headers = setup->names.n,
      .options = (const char *const *)setup->flags.list,
      .noptions = setup->flags.n,
      .timeout_ms = timeout_ms(setup),
  };
}

static luhip_status tell_failure(const struct setup *setup, const struct source *source, hip_error_t result,
                                 const char *log, luhip_error **error) {
  const char *said = log && *log ? log : hip_error_name(result);
  luhip_error *made;
  switch (result) {
  case hip_ErrorInvalidSource:
    return diagnose_failure(setup, source, said, error);
  case hip_ErrorOutOfMemory:
    return no_memory(error);
  case hip_ErrorFileNotFound:
    return error_set(error, LUHIP_E_NOT_FOUND, "there is no compiler for kernels of %s: %s", setup->target->arch, said);
  case hip_ErrorLaunchTimeOut:
    made = error_new(LUHIP_E_TIMEOUT, "compiling '%s' took longer than %u ms", setup->program, timeout_ms(setup));
    break;
  case hip_ErrorInvalidValue:
  case hip_ErrorInvalidDevice: /* an arch that the compiler does not know */
    made = error_new(LUHIP_E_ARGUMENT, "cannot compile '%s': %.*s", setup->program, (int)strcspn(said, "\n"), said);
    break;
  case hip_ErrorUnknown:
    made = error_new(LUHIP_E_COMPILE, "the compiler crashed on '%s': %.*s", setup->program, (int)strcspn(said, "\n"),
                     said);
    break;
  default:
    made = error_new(LUHIP_E_DRIVER, "compiling '%s' failed: %s", setup->program, hip_error_name(result));
    break;
  }
  error_set_log(made, log ? log : "");
  return error_give(error, made);
}

/* One run of the compiler. The result is valid, and the caller's to free, on every return. */
static luhip_status run_compiler(const struct setup *setup, struct source *source, struct hip_compile_result *result,
                                 luhip_error **error) {
  *result = (struct hip_compile_result){0};
  char *text = source_assemble(source);
  struct hip_compile_kernel *kernels = calloc(source->nwanted + 1, sizeof *kernels);
  luhip_status status = LUHIP_OK;
  if (text && kernels) {
    for (size_t i = 0; i < source->nwanted; i++)
      kernels[i] = (struct hip_compile_kernel){source->wanted[i].expression, source->wanted[i].c_linkage,
                                               source->wanted[i].optional};
    struct hip_compile_request request = base_request(setup, text);
    request.kernels = kernels;
    request.nkernels = source->nwanted;
    cache_count_compile();
    hip_error_t code = setup->target->api->hipxCompile(&request, result);
    if (code != hip_Success) status = tell_failure(setup, source, code, result->log, error);
  } else
    status = no_memory(error);
  free(kernels);
  free(text);
  return status;
}

/* Kernels that macros make show after preprocessing. What the source itself does wrong is left to the compile, which
   says it better; any other failure ends here, since an image without those kernels must not get into the caches. */
static luhip_status find_hidden(const struct setup *setup, struct source *source, luhip_error **error) {
  const struct hip_api *api = setup->target->api;
  if (!source->hidden || !api->hipxPreprocess) return LUHIP_OK;
  char *text = source_plain(source);
  if (!text) return no_memory(error);
  struct hip_compile_request request = base_request(setup, text);
  struct hip_compile_result result = {0};
  luhip_status status = LUHIP_OK;
  bool grown;
  hip_error_t code = api->hipxPreprocess(&request, &result);
  if (code == hip_Success) {
    source->hidden = false;
    status = source_scan_more(source, result.code, result.code_bytes, &grown, error);
  } else if (code != hip_ErrorInvalidSource)
    status = tell_failure(setup, source, code, result.log, error);
  api->hipxCompileFree(&result);
  free(text);
  return status;
}

/* Kernels in the files that were included. */
static luhip_status scan_files(struct source *source, char *const *files, bool *grown, luhip_error **error) {
  luhip_status status = LUHIP_OK;
  *grown = false;
  for (; files && *files && status == LUHIP_OK; files++) {
    struct file_content content;
    bool more = false;
    if (file_read(*files, &content) != 0) continue;
    if (strstr(content.data, "__global__"))
      status = source_scan_more(source, content.data, content.bytes, &more, error);
    *grown |= more;
    free(content.data);
  }
  return status;
}

/* ---- what the compiler made ------------------------------------------------------------------------------------- */

static luhip_status tell_bad_signature(const struct setup *setup, const struct wanted *wanted,
                                       enum signature_state state, luhip_error **error) {
  const char *program = setup->program, *kernel = wanted->name;
  switch (state) {
  case SIGNATURE_TOO_MANY:
    return error_set(error, LUHIP_E_COMPILE, "cannot compile '%s': kernel '%s' has more than %d parameters", program,
                     kernel, LUHIP_MAX_ARGS);
  case SIGNATURE_NO_MEMORY:
    return no_memory(error);
  case SIGNATURE_ABSENT:
    return error_set(error, LUHIP_E_COMPILE, "cannot compile '%s': the compiler left out kernel '%s'", program, kernel);
  default:
    return error_set(error, LUHIP_E_COMPILE,
                     "cannot compile '%s': the compiler's description of kernel '%s' is damaged", program, kernel);
  }
}

static bool has_kernel(const struct kernel_image *image, const char *name) {
  for (size_t i = 0; i < image->nkernels; i++)
    if (strcmp(image->kernels[i].name, name) == 0) return true;
  return false;
}

/* Adds wanted kernel i to the image, unless it is not there and need not be. */
static luhip_status add_kernel(const struct setup *setup, const struct source *source, size_t i,
                               const struct hip_compile_result *result, struct kernel_image *image,
                               luhip_error **error) {
  const struct wanted *wanted = &source->wanted[i];
  struct kernel_signature read = {0};
  const char *lowered = result->lowered ? result->lowered[i] : NULL;
  if (wanted->optional && (!lowered || has_kernel(image, wanted->name))) return LUHIP_OK;
  enum signature_state state = signature_read(result->code, result->code_bytes, i, &read);
  if (state == SIGNATURE_ABSENT && wanted->optional) return LUHIP_OK;
  if (state == SIGNATURE_GOOD && !lowered) {
    signature_free(&read);
    state = SIGNATURE_ABSENT;
  }
  if (state != SIGNATURE_GOOD) return tell_bad_signature(setup, wanted, state, error);
  struct kernel_signature *kernel = image_add(image);
  if (!kernel) {
    signature_free(&read);
    return no_memory(error);
  }
  *kernel = read;
  kernel->name = strdup(wanted->name);
  kernel->lowered = strdup(lowered);
  bool ok = signature_name_params(kernel, wanted->source) && kernel->name && kernel->lowered;
  return ok ? LUHIP_OK : no_memory(error);
}

static luhip_status make_image(const struct setup *setup, const struct source *source,
                               const struct hip_compile_result *result, struct kernel_image **made,
                               luhip_error **error) {
  struct kernel_image *image = image_new();
  if (!image) return no_memory(error);
  image->code = malloc(result->code_bytes ? result->code_bytes : 1);
  image->program = strdup(setup->program);
  image->log = diagnose_clean_log(source, result->log ? result->log : "");
  image->templates = source_templates(source);
  image->hidden = source->hidden;
  memcpy(image->hash, setup->key, sizeof image->hash);
  luhip_status status = LUHIP_OK;
  if (!image->code || !image->program || !image->log || !image->templates) status = no_memory(error);
  if (status == LUHIP_OK && result->code_bytes) memcpy(image->code, result->code, result->code_bytes);
  image->code_bytes = result->code_bytes;
  for (size_t i = 0; i < source->nwanted && status == LUHIP_OK; i++)
    status = add_kernel(setup, source, i, result, image, error);
  if (status == LUHIP_OK)
    *made = image;
  else
    kernel_image_release(image);
  return status;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static luhip_status compile_source(const struct setup *setup, struct source *source, struct hip_compile_result *result,
                                   luhip_error **error) {
  bool grown = false;
  luhip_status status = run_compiler(setup, source, result, error);
  if (status == LUHIP_OK) status = scan_files(source, result->dependencies, &grown, error);
  if (status != LUHIP_OK || !grown) return status;
  setup->target->api->hipxCompileFree(result);
  return run_compiler(setup, source, result, error);
}

/* Whether the source is wrong wherever it is compiled: the compiler points at a line, and nothing outside the key was
   read. What it says of a full disk has no line. */
static bool is_lasting(const struct setup *setup, luhip_status status, const luhip_error *error) {
  if (status != LUHIP_E_COMPILE || !error || dependencies_possible(setup)) return false;
  const luhip_diagnostic *list;
  return luhip_error_diagnostics(error, &list) > 0 && list[0].line > 0 && strcmp(list[0].severity, "error") == 0;
}

static luhip_status build(void *user, struct kernel_image **image, struct dependencies *dependencies, bool *lasting,
                          luhip_error **error) {
  struct setup *setup = user;
  struct source source;
  struct hip_compile_result result = {0};
  struct timespec since = dependencies_now();
  setup->compiled = true;
  luhip_status status = source_start(&source, setup->source, setup->options, setup->program, error);
  source.definitions = (const char *const *)setup->definitions.list;
  source.ndefinitions = setup->definitions.n;
  if (status == LUHIP_OK) status = find_hidden(setup, &source, error);
  if (status == LUHIP_OK) status = compile_source(setup, &source, &result, error);
  if (status == LUHIP_OK) status = make_image(setup, &source, &result, image, error);
  if (status == LUHIP_OK)
    *lasting = dependencies_collect(dependencies, result.dependencies, setup, since);
  else
    *lasting = is_lasting(setup, status, error ? *error : NULL);
  setup->target->api->hipxCompileFree(&result);
  source_free(&source);
  return status;
}

static luhip_status fetch(struct setup *setup, struct kernel_image **image, luhip_error **error) {
  if (!setup->options->no_cache) return cache_fetch(setup->key, build, setup, image, error);
  struct dependencies dependencies = {0};
  bool lasting;
  luhip_status status = build(setup, image, &dependencies, &lasting, error);
  dependencies_free(&dependencies);
  return status;
}

/* L2: what came of it, and at full level with what. */
static void log_compile(const struct setup *setup, luhip_status status, const struct timespec *start,
                        luhip_error *const *error) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  double ms = (double)(end.tv_sec - start->tv_sec) * 1e3 + (double)(end.tv_nsec - start->tv_nsec) * 1e-6;
  const char *arch = setup->target->arch;
  if (status != LUHIP_OK)
    log_write(LOG_COMPILE, LOG_BASIC, "'%s' for %s failed after %.1f ms: %s", setup->program, arch, ms,
              error ? luhip_error_message(*error) : luhip_error_kind_name(status));
  else
    log_write(LOG_COMPILE, LOG_BASIC, "'%s' for %s %s in %.1f ms", setup->program, arch,
              setup->compiled ? "compiled" : "found in the cache", ms);
  if (!log_on(LOG_COMPILE, LOG_FULL)) return;
  for (size_t i = 0; i < setup->definitions.n; i++)
    log_write(LOG_COMPILE, LOG_FULL, "'%s': define %s", setup->program, setup->definitions.list[i]);
  for (size_t i = 0; i < setup->flags.n; i++)
    log_write(LOG_COMPILE, LOG_FULL, "'%s': flag %s", setup->program, setup->flags.list[i]);
  if (status != LUHIP_OK && error)
    log_write(LOG_COMPILE, LOG_FULL, "'%s': %s", setup->program, luhip_error_full(*error));
}

luhip_status kernel_compile(const struct kernel_target *target, const char *source,
                            const luhip_compile_options *options, struct kernel_image **image, luhip_error **error) {
  static const luhip_compile_options none;
  struct setup setup;
  struct kernel_image *found = NULL;
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  luhip_status status = setup_start(&setup, target, source, options ? options : &none, error);
  if (status == LUHIP_OK) {
    status = fetch(&setup, &found, error);
    if (log_on(LOG_COMPILE, LOG_BASIC)) log_compile(&setup, status, &start, error);
  }
  if (status == LUHIP_OK && setup.options->naccess) {
    struct kernel_image *plain = found;
    status = image_with_access(plain, setup.options->access, setup.options->naccess, &found, error);
    kernel_image_release(plain);
  }
  if (status == LUHIP_OK) *image = found;
  setup_free(&setup);
  return status;
}
