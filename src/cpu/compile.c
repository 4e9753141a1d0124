/*
 * compile.c - from kernel source to a module image, by a spawned compiler and linker.
 *
 *   scratch folder   source/kernel.cpp, include/<headers given as text>, kernel.o, kernel.d, stub.o, module.so
 *   cache folder     the device headers (headers.c), and beside them a precompiled one (precompiled.c)
 *
 * Everything is written into a private folder that is removed on every way out. The source starts with a #line that
 * gives it the program's name; paths that the compiler still writes are replaced in the log.
 */
#include "cpu/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/text.h"
#include "cpu/abi.h"
#include "cpu/command_line.h"
#include "cpu/dependencies.h"
#include "cpu/device.h"
#include "cpu/headers.h"
#include "cpu/image.h"
#include "cpu/link.h"
#include "cpu/options.h"
#include "cpu/precompiled.h"
#include "cpu/scratch.h"
#include "cpu/mark.h"

struct compile {
  const struct hip_compile_request *request;
  struct hip_compile_result *result;
  const char *name;
  unsigned warp;
  bool preprocess;
  struct toolchain toolchain;
  struct cpu_headers headers;
  char scratch[SCRATCH_PATH];
  const char **environment;
  struct text log;
};

/* "prefix + rest" paths of this compile. */
struct path {
  char text[SCRATCH_PATH + 32];
};

static struct path in_scratch(const struct compile *compile, const char *rest) {
  struct path path;
  snprintf(path.text, sizeof path.text, "%s/%s", compile->scratch, rest);
  return path;
}

/* ---- before: the request and its files --------------------------------------------------------------------------- */

static hip_error_t complain(struct compile *compile, hip_error_t rc, const char *text) {
  text_printf(&compile->log, "%s: error: %s\n", compile->name, text);
  return rc;
}

/* The arch must be one of this machine's: the suffix tells the warp size. */
static hip_error_t check_request(struct compile *compile) {
  const struct hip_compile_request *request = compile->request;
  char why[512], arch[128];
  compile->name = request->name && *request->name ? request->name : "kernel.hip";
  if (!request->source || !request->arch)
    return complain(compile, hip_ErrorInvalidValue, "a compile needs a source and an architecture");
  for (int device = 0; device < CPU_DEVICES && !compile->warp; device++) {
    cpu_device_arch(device, arch, sizeof arch);
    if (strcmp(arch, request->arch) == 0) compile->warp = cpu_device_warp(device);
  }
  if (!compile->warp) {
    snprintf(why, sizeof why, "this device compiles for itself, %s, and not for '%.100s'", arch, request->arch);
    return complain(compile, hip_ErrorInvalidValue, why);
  }
  if (!cpu_options_allowed(request->options, request->noptions, why, sizeof why))
    return complain(compile, hip_ErrorInvalidValue, why);
  return hip_Success;
}

static hip_error_t write_source(struct compile *compile) {
  struct text text = {.data = NULL};
  cpu_options_add_lines(compile->request->options, compile->request->noptions, &text);
  text_add(&text, "#line 1 \"");
  for (const char *c = compile->name; *c; c++)
    text_printf(&text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c == '\n' ? ' ' : *c);
  text_add(&text, "\"\n");
  text_add(&text, compile->request->source);
  text_add(&text, "\n");
  if (!text.failed && !compile->preprocess) cpu_mark_source(text.data);
  int error = text.failed ? ENOMEM : cpu_scratch_write(compile->scratch, "source/kernel.cpp", text.data, text.length);
  text_free(&text);
  return error ? complain(compile, hip_ErrorOperatingSystem, strerror(error)) : hip_Success;
}

static hip_error_t write_headers(struct compile *compile) {
  const struct hip_compile_request *request = compile->request;
  char why[512];
  for (size_t i = 0; i < request->headers; i++) {
    struct text name = {.data = NULL};
    text_printf(&name, "include/%s", request->header_names[i]);
    int error = cpu_scratch_is_below(request->header_names[i]) ? 0 : EINVAL;
    if (!error)
      error = name.failed ? ENOMEM
                          : cpu_scratch_write(compile->scratch, name.data, request->header_texts[i],
                                              strlen(request->header_texts[i]));
    text_free(&name);
    if (error) {
      snprintf(why, sizeof why, "header '%.200s' given as text: %s", request->header_names[i],
               error == EINVAL ? "its name must be relative and may not lead upwards" : strerror(error));
      return complain(compile, error == EINVAL ? hip_ErrorInvalidValue : hip_ErrorOperatingSystem, why);
    }
  }
  return hip_Success;
}

static hip_error_t prepare(struct compile *compile) {
  char why[512];
  int error;
  hip_error_t rc = check_request(compile);
  if (rc) return rc;
  if (!cpu_toolchain_find(&compile->toolchain, why, sizeof why)) return complain(compile, hip_ErrorFileNotFound, why);
  error = cpu_scratch_make(compile->scratch);
  if (error) {
    compile->scratch[0] = '\0';
    snprintf(why, sizeof why, "no temporary folder for the compiler (TMPDIR): %s", strerror(error));
    return complain(compile, hip_ErrorOperatingSystem, why);
  }
  compile->environment = cpu_environment_new(compile->scratch);
  if (!compile->environment) return complain(compile, hip_ErrorOutOfMemory, "out of host memory");
  error = cpu_headers_prepare(&compile->headers, compile->scratch);
  if (error) {
    snprintf(why, sizeof why, "the device headers cannot be written: %s", strerror(error));
    return complain(compile, hip_ErrorOperatingSystem, why);
  }
  rc = write_source(compile);
  return rc ? rc : write_headers(compile);
}

/* ---- the compiler's log ------------------------------------------------------------------------------------------ */

/* Adds the compiler's words with our paths replaced: the source's by the program's name, folders by nothing. */
static void add_output(struct compile *compile, const char *output) {
  struct path source = in_scratch(compile, "source/kernel.cpp"), include = in_scratch(compile, "include/");
  char device[HEADERS_PATH + 2];
  snprintf(device, sizeof device, "%s/", compile->headers.folder);
  const struct { const char *from, *to; } changes[] = {{source.text, compile->name}, {include.text, ""}, {device, ""}};
  for (const char *at = output; *at;) {
    const char *next = NULL, *to = "";
    size_t length = 0;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
      const char *found = strstr(at, changes[i].from);
      if (found && (!next || found < next)) {
        next = found;
        to = changes[i].to;
        length = strlen(changes[i].from);
      }
    }
    if (!next) {
      text_add(&compile->log, at);
      break;
    }
    text_append(&compile->log, at, (size_t)(next - at));
    text_add(&compile->log, to);
    at = next + length;
  }
}

/* ---- running the compiler ---------------------------------------------------------------------------------------- */

static void build_line(const struct compile *compile, struct command_line *line, const struct path paths[4],
                       const char *precompiled) {
  cpu_line_begin(line, &compile->toolchain, compile->warp);
  cpu_line_add(line, "-I");
  cpu_line_add(line, paths[0].text);
  cpu_options_add_arguments(compile->request->options, compile->request->noptions, line);
  cpu_line_add(line, "-isystem");
  cpu_line_add(line, compile->headers.folder);
  if (compile->preprocess) {
    cpu_line_add(line, "-DLUHIP_CPU_SCAN");
    cpu_line_add(line, "-E");
    cpu_line_add(line, "-P");
  } else {
    cpu_line_add(line, precompiled ? "-include-pch" : "-include");
    cpu_line_add(line, precompiled ? precompiled : "hip/hip_runtime.h");
    cpu_line_add(line, "-c");
  }
  cpu_line_add(line, "-MD");
  cpu_line_add(line, "-MF");
  cpu_line_add(line, paths[1].text);
  cpu_line_add(line, "-o");
  cpu_line_add(line, paths[2].text);
  cpu_line_add(line, "-x");
  cpu_line_add(line, "c++");
  cpu_line_add(line, paths[3].text);
}

/* clang catches its own crashes and exits with the signal's number on top of 128, or with 70. */
static bool has_crashed(const struct spawn_result *ended) {
  return ended->end == SPAWN_KILLED || (ended->end == SPAWN_EXITED && (ended->code >= 128 || ended->code == 70));
}

static hip_error_t verdict(struct compile *compile, const struct spawn_result *ended) {
  char why[512];
  if (ended->end == SPAWN_TIMEOUT) {
    snprintf(why, sizeof why, "compiling took longer than %u ms", compile->request->timeout_ms);
    return complain(compile, hip_ErrorLaunchTimeOut, why);
  }
  if (has_crashed(ended)) {
    snprintf(why, sizeof why, "the compiler %.200s crashed (%s %d)", compile->toolchain.compiler,
             ended->end == SPAWN_KILLED ? "signal" : "exit code", ended->code);
    return complain(compile, hip_ErrorUnknown, why);
  }
  if (ended->end == SPAWN_UNKNOWN) { /* the output tells: compilers rename it into place at the end */
    struct path output = in_scratch(compile, compile->preprocess ? "kernel.i" : "kernel.o");
    struct file_content content;
    if (file_read(output.text, &content)) return hip_ErrorInvalidSource;
    bool good = content.bytes > 0;
    free(content.data);
    return good ? hip_Success : hip_ErrorInvalidSource;
  }
  if (ended->code && !*ended->output) {
    snprintf(why, sizeof why, "the compiler %.200s failed (exit code %d) and gave no reason",
             compile->toolchain.compiler, ended->code);
    return complain(compile, hip_ErrorInvalidSource, why);
  }
  return ended->code == 0 ? hip_Success : hip_ErrorInvalidSource;
}

static hip_error_t run_once(struct compile *compile, const char *precompiled, bool *suspect) {
  struct path paths[4] = {in_scratch(compile, "include"), in_scratch(compile, "kernel.d"),
                          in_scratch(compile, compile->preprocess ? "kernel.i" : "kernel.o"),
                          in_scratch(compile, "source/kernel.cpp")};
  struct command_line line = {.items = NULL};
  build_line(compile, &line, paths, precompiled);
  if (line.failed) {
    cpu_line_free(&line);
    return complain(compile, hip_ErrorOutOfMemory, "out of host memory");
  }
  struct spawn_request request = {.path = compile->toolchain.compiler,
                                  .argv = line.items,
                                  .envp = compile->environment,
                                  .timeout_ms = compile->request->timeout_ms};
  struct spawn_result ended;
  int error = spawn_run(&request, &ended);
  cpu_line_free(&line);
  if (error) {
    char why[512];
    snprintf(why, sizeof why, "the compiler %.200s cannot be started: %s", compile->toolchain.compiler,
             strerror(error));
    return complain(compile, hip_ErrorFileNotFound, why);
  }
  *suspect = precompiled && (has_crashed(&ended) || strstr(ended.output, precompiled));
  hip_error_t rc = hip_Success;
  if (!*suspect) {
    add_output(compile, ended.output);
    rc = verdict(compile, &ended);
  }
  free(ended.output);
  return rc;
}

/* With the precompiled header where there is one; a failure that may be its fault is tried again without. */
static hip_error_t run_compiler(struct compile *compile) {
  struct precompiled precompiled = {.path = ""};
  bool use =
      !compile->preprocess && compile->toolchain.is_clang && compile->headers.kept &&
      cpu_options_are_light(compile->request->options, compile->request->noptions) &&
      cpu_precompiled_get(&precompiled, &compile->toolchain, &compile->headers, compile->warp, compile->environment);
  bool suspect = false;
  hip_error_t rc = run_once(compile, use ? precompiled.path : NULL, &suspect);
  if (!suspect) return rc;
  cpu_precompiled_discard(&precompiled);
  return run_once(compile, NULL, &suspect);
}

/* ---- after: what the compile gives ------------------------------------------------------------------------------- */

static hip_error_t take_dependencies(struct compile *compile) {
  const char *const ours[] = {compile->scratch, compile->headers.folder, NULL};
  struct path path = in_scratch(compile, "kernel.d");
  compile->result->dependencies = cpu_dependencies_read(path.text, ours);
  return compile->result->dependencies ? hip_Success : complain(compile, hip_ErrorOutOfMemory, "out of host memory");
}

/* The name of the function that kernel i's descriptor points to; NULL when there is no descriptor. */
static const char *lowered_name(const struct cpu_image *image, size_t i) {
  char name[32];
  snprintf(name, sizeof name, "luhip_kd_%zu", i);
  const Elf64_Sym *descriptor = cpu_image_find(image, name);
  uint64_t address =
      descriptor ? cpu_image_pointer(image, descriptor->st_value + offsetof(struct luhip_cpu_kernel, function)) : 0;
  for (size_t j = 0; address && j < image->nsymbols; j++)
    if (ELF64_ST_TYPE(image->symbols[j].st_info) == STT_FUNC && image->symbols[j].st_value == address)
      return cpu_image_name(image, &image->symbols[j]);
  return NULL;
}

/* The list and its names are one allocation, since whoever frees it does not know how long it is. */
static char **pack_names(const char *const *names, size_t count) {
  size_t bytes = (count + 1) * sizeof(char *);
  for (size_t i = 0; i < count; i++) bytes += names[i] ? strlen(names[i]) + 1 : 0;
  char **list = calloc(1, bytes);
  char *at = (char *)(list + count + 1);
  for (size_t i = 0; list && i < count; i++) {
    if (!names[i]) continue;
    list[i] = at;
    at = stpcpy(at, names[i]) + 1;
  }
  return list;
}

static hip_error_t take_names(struct compile *compile) {
  const struct hip_compile_request *request = compile->request;
  struct cpu_image image;
  size_t bytes = compile->result->code_bytes - sizeof(struct cpu_image_trailer);
  hip_error_t rc = hip_Success;
  if (!cpu_image_open(&image, compile->result->code, bytes, ET_DYN))
    return complain(compile, hip_ErrorUnknown, "the module cannot be read");
  const char **names = calloc(request->nkernels + 1, sizeof *names);
  for (size_t i = 0; names && i < request->nkernels; i++) {
    names[i] = lowered_name(&image, i);
    if (!names[i] && !request->kernels[i].optional) {
      char why[512];
      snprintf(why, sizeof why, "kernel '%.300s' is not in the compiled module", request->kernels[i].expression);
      rc = complain(compile, hip_ErrorInvalidSource, why);
    }
  }
  if (names && !rc) compile->result->lowered = pack_names(names, request->nkernels);
  free(names);
  return rc || compile->result->lowered ? rc : complain(compile, hip_ErrorOutOfMemory, "out of host memory");
}

static hip_error_t compile_and_link(struct compile *compile) {
  hip_error_t rc = prepare(compile);
  if (!rc) rc = run_compiler(compile);
  if (!rc) rc = take_dependencies(compile);
  if (rc) return rc;
  struct cpu_link link = {.toolchain = &compile->toolchain,
                          .scratch = compile->scratch,
                          .name = compile->name,
                          .envp = compile->environment,
                          .warp = compile->warp,
                          .timeout_ms = compile->request->timeout_ms};
  rc = cpu_link_module(&link, &compile->result->code, &compile->result->code_bytes, &compile->log);
  if (rc) return rc;
  if (!compile->toolchain.is_clang)
    text_printf(&compile->log, "%s: note: compiled with %s, as there is no clang; kernels run slowly\n", compile->name,
                compile->toolchain.compiler);
  return take_names(compile);
}

static hip_error_t preprocess(struct compile *compile) {
  struct file_content content;
  hip_error_t rc = prepare(compile);
  if (!rc) rc = run_compiler(compile);
  if (!rc) rc = take_dependencies(compile);
  if (rc) return rc;
  struct path output = in_scratch(compile, "kernel.i");
  int error = file_read(output.text, &content);
  if (error) return complain(compile, hip_ErrorOperatingSystem, strerror(error));
  compile->result->code = content.data;
  compile->result->code_bytes = content.bytes;
  return hip_Success;
}

/* ---- the table's entries ----------------------------------------------------------------------------------------- */

static void free_product(struct hip_compile_result *result) {
  free(result->code);
  free(result->lowered);
  cpu_dependencies_free(result->dependencies);
  *result = (struct hip_compile_result){.log = result->log};
}

static hip_error_t run(const struct hip_compile_request *request, struct hip_compile_result *result,
                       bool preprocessing) {
  if (!result) return hip_ErrorInvalidValue;
  *result = (struct hip_compile_result){.code = NULL};
  if (!request) return hip_ErrorInvalidValue;
  struct compile compile = {.request = request, .result = result, .preprocess = preprocessing};
  hip_error_t rc = preprocessing ? preprocess(&compile) : compile_and_link(&compile);
  if (compile.scratch[0]) cpu_scratch_remove(compile.scratch);
  cpu_environment_free(compile.environment);
  if (rc) free_product(result);
  result->log = text_take(&compile.log);
  return rc;
}

hip_error_t cpu_compile(const struct hip_compile_request *request, struct hip_compile_result *result) {
  return run(request, result, false);
}

hip_error_t cpu_preprocess(const struct hip_compile_request *request, struct hip_compile_result *result) {
  return run(request, result, true);
}

hip_error_t cpu_compile_free(struct hip_compile_result *result) {
  if (!result) return hip_ErrorInvalidValue;
  free_product(result);
  free(result->log);
  result->log = NULL;
  return hip_Success;
}

hip_error_t cpu_compile_identity(char *identity, size_t len, unsigned warp) {
  struct toolchain toolchain;
  uint8_t digest[HASH_BYTES];
  if (!identity || !len) return hip_ErrorInvalidValue;
  if (!cpu_toolchain_find(&toolchain, identity, len)) return hip_ErrorFileNotFound;
  cpu_line_identity(&toolchain, warp, digest);
  const char *slash = strrchr(toolchain.compiler, '/');
  int used = snprintf(identity, len, "%s-", slash ? slash + 1 : toolchain.compiler);
  for (int i = 0; i < HASH_BYTES && used >= 0 && (size_t)used < len; i++)
    used += snprintf(identity + used, len - (size_t)used, "%02x", digest[i]);
  return hip_Success;
}
