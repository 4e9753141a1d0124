/*
 * rocm_compile.c - hiprtc behind the guards it needs (tried on ROCm 5.2.3; facts of later versions from AMD's
 * change notes).
 *
 *   arch        a target id that comgr does not know makes hiprtc abort the process, so comgr's own tables are
 *               asked first (rocm_arch.c).
 *   options     those that make something else than a code object are refused (rocm_options.c).
 *   headers     hiprtc carries the HIP device library built in; the header files of the same content would
 *               redefine it, so empty ones of those names are supplied. A header that the caller gives wins.
 *   log         lines that name comgr's temporary file are rewritten to the program's name. (The user's own
 *               lines already follow a #line directive.)
 *   names       extern "C" kernels are their own name. Template kernels, which must be there, are asked for
 *               by name expression. Kernels that may be inside a false #if cannot be: a bad expression fails
 *               the compile. Their name is found among the symbols of the code object instead, by the
 *               beginning of its mangled form.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "hip/kernel_names.h"
#include "hip/rocm.h"
#include "hip/rocm_arch.h"
#include "hip/rocm_headers.h"
#include "hip/rocm_options.h"

typedef struct hiprtc_program_impl *hiprtc_program_t;

static struct {
  int (*hiprtcVersion)(int *major, int *minor);
  const char *(*hiprtcGetErrorString)(int result);
  int (*hiprtcCreateProgram)(hiprtc_program_t *program, const char *source, const char *name, int headers,
                             const char **texts, const char **names);
  int (*hiprtcDestroyProgram)(hiprtc_program_t *program);
  int (*hiprtcAddNameExpression)(hiprtc_program_t program, const char *expression);
  int (*hiprtcCompileProgram)(hiprtc_program_t program, int options, const char **list);
  int (*hiprtcGetProgramLogSize)(hiprtc_program_t program, size_t *bytes);
  int (*hiprtcGetProgramLog)(hiprtc_program_t program, char *log);
  int (*hiprtcGetCodeSize)(hiprtc_program_t program, size_t *bytes);
  int (*hiprtcGetCode)(hiprtc_program_t program, char *code);
  int (*hiprtcGetLoweredName)(hiprtc_program_t program, const char *expression, const char **lowered);
} rtc;

/* ---- loading -------------------------------------------------------------------------------------------- */

static int resolve_all(void *library, void *const *slots, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return 0;
    memcpy(slots[i], &symbol, sizeof symbol);
  }
  return 1;
}

static int resolve_hiprtc(void *library) {
#define ENTRIES(X)                                                                                                     \
  X(hiprtcVersion)                                                                                                     \
  X(hiprtcGetErrorString)                                                                                              \
  X(hiprtcCreateProgram)                                                                                               \
  X(hiprtcDestroyProgram)                                                                                              \
  X(hiprtcAddNameExpression)                                                                                           \
  X(hiprtcCompileProgram)                                                                                              \
  X(hiprtcGetProgramLogSize) X(hiprtcGetProgramLog) X(hiprtcGetCodeSize) X(hiprtcGetCode) X(hiprtcGetLoweredName)
#define SLOT(name) &rtc.name,
#define NAME(name) #name,
  void *const slots[] = {ENTRIES(SLOT)};
  const char *const names[] = {ENTRIES(NAME)};
#undef ENTRIES
#undef SLOT
#undef NAME
  return resolve_all(library, slots, names, sizeof slots / sizeof *slots);
}

int rocm_compile_load(char *reason, size_t len) {
  static const char *const beside[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL};
  rocm_library.rtc = rocm_library.hip;
  int found = resolve_hiprtc(rocm_library.hip);
  for (int i = 0; !found && beside[i]; i++) {
    rocm_library.rtc = dlopen(beside[i], RTLD_NOW | RTLD_LOCAL);
    found = rocm_library.rtc && resolve_hiprtc(rocm_library.rtc);
  }
  if (!found) snprintf(reason, len, "neither libamdhip64 nor libhiprtc has the hiprtc functions");
  return !found;
}

hip_error_t rocm_toolchain(char *identity, size_t len, hip_device_t device) {
  (void)device;
  int major = 0, minor = 0;
  struct stat file = {0};
  rtc.hiprtcVersion(&major, &minor);
  stat(rocm_library.path, &file);
  snprintf(identity, len, "hiprtc %d.%d, runtime %d, %s %lld %lld", major, minor, rocm_library.runtime,
           rocm_library.path, (long long)file.st_size, (long long)file.st_mtime);
  return hip_Success;
}

/* ---- headers -------------------------------------------------------------------------------------------- */

struct headers {
  const char **names, **texts;
  int count;
};

static int given(const struct hip_compile_request *request, const char *name) {
  for (size_t i = 0; i < request->headers; i++)
    if (!strcmp(request->header_names[i], name)) return 1;
  return 0;
}

static int collect_headers(const struct hip_compile_request *request, struct headers *headers) {
  headers->names = calloc(request->headers + rocm_header_count, sizeof(char *));
  headers->texts = calloc(request->headers + rocm_header_count, sizeof(char *));
  headers->count = 0;
  if (!headers->names || !headers->texts) return 0;
  for (size_t i = 0; i < request->headers; i++) {
    headers->names[headers->count] = request->header_names[i];
    headers->texts[headers->count++] = request->header_texts[i];
  }
  for (size_t i = 0; i < rocm_header_count; i++) {
    if (given(request, rocm_header_names[i])) continue;
    headers->names[headers->count] = rocm_header_names[i];
    headers->texts[headers->count++] = rocm_header_text(i, rocm_library.runtime);
  }
  return 1;
}

/* ---- the log -------------------------------------------------------------------------------------------- */

/* Replaces "/tmp/comgr-xxxxxx/input/CompileSource" by the program's name. */
static void rewrite_log(const char *log, const char *name, struct text *out) {
  static const char marker[] = "/input/CompileSource";
  for (const char *p = log; *p;) {
    const char *hit = strstr(p, marker);
    if (!hit) {
      text_add(out, p);
      return;
    }
    const char *start = hit;
    while (start > p && !isspace((unsigned char)start[-1]) && start[-1] != '\'' && start[-1] != '"') start--;
    text_append(out, p, (size_t)(start - p));
    text_add(out, name);
    p = hit + sizeof marker - 1;
  }
}

static void read_log(hiprtc_program_t program, const char *name, struct text *out) {
  size_t bytes = 0;
  if (rtc.hiprtcGetProgramLogSize(program, &bytes) || bytes <= 1) return;
  char *log = calloc(1, bytes + 1);
  if (log && !rtc.hiprtcGetProgramLog(program, log)) rewrite_log(log, name, out);
  free(log);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

static void lowered_name(void *user, const struct hip_compile_kernel *kernel, const struct hip_compile_result *result,
                         struct text *out) {
  hiprtc_program_t program = user;
  const char *lowered = NULL;
  if (kernel->optional || kernel->c_linkage)
    kernel_symbol(result->code, result->code_bytes, kernel, out);
  else if (!rtc.hiprtcGetLoweredName(program, kernel->expression, &lowered))
    text_add(out, lowered);
}

/* ---- compiling ------------------------------------------------------------------------------------------ */

enum { FIXED_OPTIONS = 3 };

static int run_compile(hiprtc_program_t program, const struct hip_compile_request *request) {
  const char **options = calloc(FIXED_OPTIONS + request->noptions, sizeof *options);
  struct text arch = {0};
  text_printf(&arch, "--offload-arch=%s", request->arch);
  int rc = -1;
  if (options && arch.data) {
    options[0] = arch.data;
    options[1] = "-std=c++17"; /* ROCm 7's hiprtc no longer takes C++11 */
    options[2] = "-O3";
    for (size_t i = 0; i < request->noptions; i++) options[FIXED_OPTIONS + i] = request->options[i];
    rc = rtc.hiprtcCompileProgram(program, (int)(FIXED_OPTIONS + request->noptions), options);
  }
  free(options);
  text_free(&arch);
  return rc;
}

static hip_error_t take_code(hiprtc_program_t program, const struct hip_compile_request *request,
                             struct hip_compile_result *result) {
  if (rtc.hiprtcGetCodeSize(program, &result->code_bytes)) return hip_ErrorUnknown;
  result->code = malloc(result->code_bytes ? result->code_bytes : 1);
  if (!result->code) return hip_ErrorOutOfMemory;
  if (rtc.hiprtcGetCode(program, result->code)) return hip_ErrorUnknown;
  return kernel_names_lower(request, result, lowered_name, program) ? hip_Success : hip_ErrorOutOfMemory;
}

static hip_error_t compile_program(const struct hip_compile_request *request, struct hip_compile_result *result,
                                   struct text *log) {
  struct headers headers = {0};
  hiprtc_program_t program = NULL;
  hip_error_t outcome = hip_ErrorOutOfMemory;
  if (collect_headers(request, &headers) &&
      !rtc.hiprtcCreateProgram(&program, request->source, request->name, headers.count, headers.texts, headers.names)) {
    for (size_t i = 0; i < request->nkernels; i++)
      if (!request->kernels[i].optional && !request->kernels[i].c_linkage)
        rtc.hiprtcAddNameExpression(program, request->kernels[i].expression);
    int rc = run_compile(program, request);
    read_log(program, request->name, log);
    if (rc && !log->length) text_printf(log, "%s: hiprtc: %s\n", request->name, rtc.hiprtcGetErrorString(rc));
    outcome = rc ? hip_ErrorInvalidSource : take_code(program, request, result);
    rtc.hiprtcDestroyProgram(&program);
  }
  free(headers.names);
  free(headers.texts);
  return outcome;
}

hip_error_t rocm_compile(const struct hip_compile_request *request, struct hip_compile_result *result) {
  struct text log = {0};
  *result = (struct hip_compile_result){0};
  pthread_mutex_lock(&rocm_compile_lock);
  hip_error_t outcome = hip_ErrorInvalidDevice;
  if (rocm_arch_known(request->arch, &log))
    outcome = rocm_options_allowed(request->options, request->noptions, &log) ? compile_program(request, result, &log)
                                                                              : hip_ErrorInvalidValue;
  pthread_mutex_unlock(&rocm_compile_lock);
  result->log = text_take(&log);
  return outcome;
}

hip_error_t rocm_compile_free(struct hip_compile_result *result) {
  free(result->code);
  free(result->log);
  free(result->lowered);
  *result = (struct hip_compile_result){0};
  return hip_Success;
}
