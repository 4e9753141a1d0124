/*
 * command_line.c - how the compiler is called.
 *
 * The device headers stand in for libc's and libstdc++'s, so neither is looked for. Functions are hidden, so that
 * calls within a module are direct; names stay in the symbol table. Floating point is as on a GPU: contraction to
 * fused multiply-add, no errno, no traps; -ffast-math is the user's to ask for.
 */
#include "cpu/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/abi.h"
#include "cpu/headers.h"

static const char *const common[] = {
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-fno-threadsafe-statics",
    "-fno-ident",
    "-fstack-clash-protection", /* a large frame touches each of its pages, so that none skips a guard page */
};
/* Barriers and warp operations must not be duplicated, merged, or moved into branches, wherever they are inlined to
   (convergent, no tail merging); and blocks stay in the order of the source, which tells lanes that are behind from
   lanes that are ahead (fiber.c). Barriers are calls that the compiler does not know of: nothing may lie below the
   stack pointer. */
static const char *const clang_only[] = {"--no-default-config",
                                         "-nostdinc++",
                                         "-nostdlibinc",
                                         "-fno-crash-diagnostics",
                                         "-Wno-unused-command-line-argument",
                                         "-Wno-pass-failed", /* the loop over threads is asked to be vectorised */
                                         "-fconvergent-functions",
                                         "-mno-red-zone",
                                         "-mllvm",
                                         "-enable-tail-merge=0",
                                         "-mllvm",
                                         "-disable-block-placement"};
static const char *const gcc_only[] = {"-nostdinc++",       "-nostdinc",           "-fno-extern-tls-init",
                                       "-fno-gnu-unique",   "-Wno-attributes",     "-mno-red-zone",
                                       "-fno-crossjumping", "-fno-tree-tail-merge"};

void cpu_line_add(struct command_line *line, const char *item) {
  if (line->count + 2 > line->capacity) {
    size_t capacity = line->capacity ? 2 * line->capacity : 64;
    const char **items = realloc(line->items, capacity * sizeof *items);
    if (!items) {
      line->failed = true;
      return;
    }
    line->items = items;
    line->capacity = capacity;
  }
  line->items[line->count++] = item;
  line->items[line->count] = NULL;
}

void cpu_line_free(struct command_line *line) {
  free(line->items);
}

static void add_all(struct command_line *line, const char *const *items, size_t count) {
  for (size_t i = 0; i < count; i++) cpu_line_add(line, items[i]);
}

void cpu_line_begin(struct command_line *line, const struct toolchain *toolchain, unsigned warp) {
  cpu_line_add(line, toolchain->compiler);
  cpu_line_add(line, toolchain->march);
  add_all(line, common, sizeof common / sizeof common[0]);
  if (toolchain->is_clang)
    add_all(line, clang_only, sizeof clang_only / sizeof clang_only[0]);
  else
    add_all(line, gcc_only, sizeof gcc_only / sizeof gcc_only[0]);
  if (toolchain->is_clang && toolchain->libmvec[0]) cpu_line_add(line, "-fveclib=libmvec");
  cpu_line_add(line, warp == 64 ? "-DLUHIP_CPU_WARP=64" : "-DLUHIP_CPU_WARP=32");
}

void cpu_line_identity(const struct toolchain *toolchain, unsigned warp, uint8_t digest[HASH_BYTES]) {
  struct command_line line = {.items = NULL};
  struct hash hash;
  uint8_t headers[HASH_BYTES];
  cpu_headers_digest(headers);
  cpu_line_begin(&line, toolchain, warp);
  hash_start(&hash);
  hash_add_u64(&hash, LUHIP_CPU_ABI);
  hash_add(&hash, toolchain->identity, HASH_BYTES);
  hash_add(&hash, headers, HASH_BYTES);
  for (size_t i = 0; i < line.count; i++) hash_add_string(&hash, line.items[i]);
  hash_finish(&hash, digest);
  cpu_line_free(&line);
}

static char *setting(const char *name, const char *value) {
  size_t length = strlen(name) + strlen(value) + 2;
  char *text = malloc(length);
  if (text) snprintf(text, length, "%s=%s", name, value);
  return text;
}

const char **cpu_environment_new(const char *scratch) {
  const char *libraries = getenv("LD_LIBRARY_PATH"); /* a compiler outside the usual places may need it */
  const char *const settings[][2] = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                     {"LC_ALL", "C"},
                                     {"TMPDIR", scratch},
                                     {libraries ? "LD_LIBRARY_PATH" : NULL, libraries}};
  const char **environment = calloc(sizeof settings / sizeof settings[0] + 1, sizeof *environment);
  size_t count = 0;
  for (size_t i = 0; environment && i < sizeof settings / sizeof settings[0] && settings[i][0]; i++)
    if (!(environment[count++] = setting(settings[i][0], settings[i][1]))) {
      cpu_environment_free(environment);
      return NULL;
    }
  return environment;
}

void cpu_environment_free(const char **environment) {
  for (size_t i = 0; environment && environment[i]; i++) free((char *)environment[i]);
  free(environment);
}
