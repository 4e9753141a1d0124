/*
 * cuda_compile.c - hipxCompile over NVRTC.
 *
 *   code      a CUBIN for the device's own architecture, so that the driver has nothing left to compile.
 *   source    begins with luhip_cuda.h and is compiled with every function for the device, as HIP's sources and the
 *             CPU device's small standard library have it.
 *   options   those of clang's spelling that mean something are translated; NVRTC says what it does not know.
 *   headers   given ones win over ours (cuda_headers.c), and those over files of folders.
 *   names     as with hiprtc: kernel_names.h says why not all are asked of NVRTC.
 *
 * NVRTC compiles several programs at once, so there is no lock. It cannot be stopped: timeout_ms is not looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cpu/device_headers.h"
#include "hip/cuda.h"
#include "hip/cuda_includes.h"
#include "hip/cuda_log.h"
#include "hip/kernel_names.h"

enum { NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 };

hip_error_t cuda_toolchain(char *identity, size_t len, hip_device_t device) {
  const char *reason;
  const struct cuda_nvrtc *rtc = cuda_nvrtc_load(&reason);
  struct stat file = {0};
  (void)device;
  if (!rtc) {
    snprintf(identity, len, "%s", reason);
    return cuda_refuse(hip_ErrorFileNotFound);
  }
  stat(rtc->path, &file);
  snprintf(identity, len, "nvrtc %d.%d, %s %lld %lld, headers %s", rtc->major, rtc->minor, rtc->path,
           (long long)file.st_size, (long long)file.st_mtime, rtc->include[0][0] ? rtc->include[0] : "none");
  return hip_Success;
}

/* ---- options --------------------------------------------------------------------------------------------------- */

struct options {
  struct text *list; /* [count] */
  size_t count;
};

static void add_option(struct options *options, const char *a, const char *b) {
  struct text *option = &options->list[options->count++];
  text_add(option, a);
  text_add(option, b);
}

/* What changes no code here. */
static int is_dropped(const char *option) {
  static const char *const whole[] = {"-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-g", "-fPIC", "-pipe"};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (strcmp(option, whole[i]) == 0) return 1;
  return strncmp(option, "-W", 2) == 0;
}

/* What clang and NVRTC say in other words. */
static const char *translation(const char *option) {
  static const char *const pairs[][2] = {
      {"-ffast-math", "--use_fast_math"},  {"-Ofast", "--use_fast_math"},         {"-ffp-contract=off", "--fmad=false"},
      {"-ffp-contract=on", "--fmad=true"}, {"-ffp-contract=fast", "--fmad=true"}, {"-fno-fast-math", "--fmad=true"},
      {"-w", "--disable-warnings"},        {"-gline-tables-only", "-lineinfo"},   {"-std=gnu++11", "--std=c++11"},
      {"-std=gnu++14", "--std=c++14"},     {"-std=gnu++17", "--std=c++17"},       {"-std=gnu++20", "--std=c++20"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (strcmp(option, pairs[i][0]) == 0) return pairs[i][1];
  return NULL;
}

static int names_folder(const char *option) {
  return !strcmp(option, "-isystem") || !strcmp(option, "-iquote") || !strcmp(option, "-idirafter");
}

static void add_requested(struct options *options, const struct hip_compile_request *request, int *standard) {
  for (size_t i = 0; i < request->noptions; i++) {
    const char *option = request->options[i], *other = translation(option);
    int folder = names_folder(option);
    if (is_dropped(option)) continue;
    *standard |= !strncmp(option, "-std=", 5) || !strncmp(option, "--std=", 6);
    if (folder && i + 1 < request->noptions)
      add_option(options, "--include-path=", request->options[++i]);
    else if (!strncmp(option, "-I", 2))
      add_option(options, "--include-path=", option + 2);
    else if (!strcmp(option, "-include") && i + 1 < request->noptions)
      add_option(options, "--pre-include=", request->options[++i]);
    else
      add_option(options, other ? other : option, "");
  }
}

enum { FIXED_OPTIONS = 6 };

static int make_options(struct options *options, const struct cuda_nvrtc *rtc,
                        const struct hip_compile_request *request) {
  int standard = 0;
  options->list = calloc(FIXED_OPTIONS + request->noptions, sizeof *options->list);
  if (!options->list) return 0;
  add_option(options, "--gpu-architecture=", request->arch);
  add_option(options, "--device-as-default-execution-space", "");
  add_option(options, "--diag-suppress=47", ""); /* the toolkit's headers define INT_MAX and the like again */
  add_requested(options, request, &standard);
  if (!standard) add_option(options, "--std=c++17", "");
  for (int i = 0; i < 2; i++)
    if (rtc->include[i][0]) add_option(options, "--include-path=", rtc->include[i]);
  for (size_t i = 0; i < options->count; i++)
    if (options->list[i].failed || !options->list[i].data) return 0;
  return 1;
}

static void free_options(struct options *options) {
  for (size_t i = 0; i < options->count; i++) text_free(&options->list[i]);
  free(options->list);
}

/* ---- headers --------------------------------------------------------------------------------------------------- */

struct headers {
  const char **names, **texts;
  int count;
};

static int is_there(const struct headers *headers, const char *name) {
  for (int i = 0; i < headers->count; i++)
    if (!strcmp(headers->names[i], name)) return 1;
  return 0;
}

/* What was added first wins. */
static void add_header(struct headers *headers, const char *name, const char *text) {
  if (is_there(headers, name)) return;
  headers->names[headers->count] = name;
  headers->texts[headers->count++] = text;
}

static void add_list(struct headers *headers, const struct cuda_header *list) {
  for (; list->name; list++) add_header(headers, list->name, list->text);
}

/* Texts of the library that NVRTC reads, and under which name. */
static const char *const embedded[][2] = {{"hip/luhip_cuda.h", "luhip_cuda.h"},
                                          {"luhip_std.h", "luhip_std.h"},
                                          {"hip/luhip_cuda_half.h", "luhip_cuda_half.h"},
                                          {"hip/hip_fp16.h", "luhip_cpu/hip_fp16.h"},
                                          {"hip/hip_bf16.h", "luhip_cpu/hip_bf16.h"}};
enum { EMBEDDED = sizeof embedded / sizeof *embedded };

static size_t length_of(const struct cuda_header *list) {
  size_t n = 0;
  while (list[n].name) n++;
  return n;
}

static int collect_headers(const struct cuda_nvrtc *rtc, const struct hip_compile_request *request,
                           struct headers *headers) {
  size_t most = request->headers + EMBEDDED + length_of(cuda_headers) + length_of(cuda_own_halves);
  headers->names = calloc(most, sizeof(char *));
  headers->texts = calloc(most, sizeof(char *));
  if (!headers->names || !headers->texts) return 0;
  for (size_t i = 0; i < request->headers; i++) add_header(headers, request->header_names[i], request->header_texts[i]);
  if (!rtc->include[0][0]) add_list(headers, cuda_own_halves);
  add_list(headers, cuda_headers);
  for (const struct device_header *header = luhip_device_headers; header->path; header++)
    for (int i = 0; i < EMBEDDED; i++)
      if (!strcmp(header->path, embedded[i][0])) add_header(headers, embedded[i][1], header->text);
  return 1;
}

/* ---- compiling ------------------------------------------------------------------------------------------------- */

static int arch_known(const struct cuda_nvrtc *rtc, const char *arch, struct text *log) {
  int count = 0, known = 0, wanted = !strncmp(arch, "sm_", 3) ? atoi(arch + 3) : -1;
  if (rtc->archs_count(&count) || count <= 0) return 1;
  int *list = calloc((size_t)count, sizeof *list);
  if (!list || rtc->archs(list)) {
    free(list);
    return 1;
  }
  for (int i = 0; i < count; i++) known |= list[i] == wanted;
  if (!known) {
    text_printf(log, "NVRTC %d.%d knows no architecture '%s'; it knows", rtc->major, rtc->minor, arch);
    for (int i = 0; i < count; i++) text_printf(log, "%s sm_%d", i ? "," : "", list[i]);
    text_add(log, "\n");
  }
  free(list);
  return known;
}

struct compiling {
  const struct cuda_nvrtc *rtc;
  nvrtc_program program;
};

static void lowered_name(void *user, const struct hip_compile_kernel *kernel, const struct hip_compile_result *result,
                         struct text *out) {
  const struct compiling *compiling = user;
  const char *lowered = NULL;
  if (kernel->optional || kernel->c_linkage)
    kernel_symbol(result->code, result->code_bytes, kernel, out);
  else if (!compiling->rtc->lowered_name(compiling->program, kernel->expression, &lowered))
    text_add(out, lowered);
}

static void read_log(const struct compiling *compiling, struct text *out) {
  size_t bytes = 0;
  if (compiling->rtc->log_size(compiling->program, &bytes) || bytes <= 1) return;
  char *log = calloc(1, bytes + 1);
  if (log && !compiling->rtc->log(compiling->program, log)) cuda_log_rewrite(log, out);
  free(log);
}

static hip_error_t outcome_of(int rc) {
  switch (rc) {
  case 0:
    return hip_Success;
  case NVRTC_OUT_OF_MEMORY:
    return hip_ErrorOutOfMemory;
  case NVRTC_INVALID_OPTION:
    return hip_ErrorInvalidValue;
  case NVRTC_COMPILATION:
    return hip_ErrorInvalidSource;
  default:
    return hip_ErrorUnknown;
  }
}

static hip_error_t take_code(struct compiling *compiling, const struct hip_compile_request *request,
                             struct hip_compile_result *result) {
  const struct cuda_nvrtc *rtc = compiling->rtc;
  if (rtc->code_size(compiling->program, &result->code_bytes)) return hip_ErrorUnknown;
  result->code = malloc(result->code_bytes ? result->code_bytes : 1);
  if (!result->code) return hip_ErrorOutOfMemory;
  if (rtc->code(compiling->program, result->code)) return hip_ErrorUnknown;
  return kernel_names_lower(request, result, lowered_name, compiling) ? hip_Success : hip_ErrorOutOfMemory;
}

static hip_error_t run(struct compiling *compiling, const struct hip_compile_request *request,
                       struct hip_compile_result *result, const struct options *options, struct text *log) {
  const struct cuda_nvrtc *rtc = compiling->rtc;
  const char **list = calloc(options->count + 1, sizeof *list);
  if (!list) return hip_ErrorOutOfMemory;
  for (size_t i = 0; i < options->count; i++) list[i] = options->list[i].data;
  for (size_t i = 0; i < request->nkernels; i++)
    if (!request->kernels[i].optional && !request->kernels[i].c_linkage)
      rtc->add_name(compiling->program, request->kernels[i].expression);
  int rc = rtc->compile(compiling->program, (int)options->count, list);
  free(list);
  read_log(compiling, log);
  if (rc && !log->length) text_printf(log, "%s: NVRTC: %s\n", request->name, rtc->error_string(rc));
  return rc ? outcome_of(rc) : take_code(compiling, request, result);
}

static hip_error_t compile_program(const struct cuda_nvrtc *rtc, const struct hip_compile_request *request,
                                   struct hip_compile_result *result, struct text *log) {
  struct headers headers = {0};
  struct options options = {0};
  struct text source = {0};
  struct compiling compiling = {.rtc = rtc};
  hip_error_t outcome = hip_ErrorOutOfMemory;
  text_add(&source, "#include \"luhip_cuda.h\"\n");
  text_add(&source, request->source);
  if (!source.failed && collect_headers(rtc, request, &headers) && make_options(&options, rtc, request) &&
      !rtc->create(&compiling.program, source.data, request->name, headers.count, headers.texts, headers.names)) {
    outcome = run(&compiling, request, result, &options, log);
    rtc->destroy(&compiling.program);
  }
  text_free(&source);
  free_options(&options);
  free(headers.names);
  free(headers.texts);
  return outcome;
}

hip_error_t cuda_compile(const struct hip_compile_request *request, struct hip_compile_result *result) {
  struct text log = {0};
  const char *reason;
  const struct cuda_nvrtc *rtc = cuda_nvrtc_load(&reason);
  hip_error_t outcome = hip_ErrorFileNotFound;
  *result = (struct hip_compile_result){0};
  if (!rtc)
    text_add(&log, reason);
  else if (!arch_known(rtc, request->arch, &log))
    outcome = hip_ErrorInvalidDevice;
  else
    outcome = compile_program(rtc, request, result, &log);
  if (outcome == hip_Success && !cuda_includes(request, &result->dependencies)) outcome = hip_ErrorOutOfMemory;
  result->log = text_take(&log);
  return outcome == hip_Success ? outcome : cuda_refuse(outcome);
}

hip_error_t cuda_compile_free(struct hip_compile_result *result) {
  for (size_t i = 0; result->dependencies && result->dependencies[i]; i++) free(result->dependencies[i]);
  free(result->dependencies);
  free(result->code);
  free(result->log);
  free(result->lowered);
  *result = (struct hip_compile_result){0};
  return hip_Success;
}
