/*
 * kernel_names.c - lowered names (kernel_names.h).
 */
#include "hip/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/elf.h"

/* The beginning of the Itanium mangling of a plain qualified name: "axpy" _Z4axpy, "ns::axpy" _ZN2ns4axpyE. */
static void mangled_prefix(const char *expression, struct text *out) {
  int nested = strstr(expression, "::") != NULL;
  text_add(out, nested ? "_ZN" : "_Z");
  for (const char *p = expression; *p;) {
    const char *end = strstr(p, "::");
    size_t length = end ? (size_t)(end - p) : strlen(p);
    if (length) text_printf(out, "%zu%.*s", length, (int)length, p);
    p += length + (end ? 2 : 0);
  }
  if (nested) text_add(out, "E");
}

/* Whether a symbol is of the nested name's parts in order, perhaps with an anonymous namespace between, which some
   compilers give a name that they do not tell: "a::b" as _ZN1a12_GLOBAL__N_11bEv. */
static bool has_parts(const char *symbol, const char *expression) {
  if (strncmp(symbol, "_ZN", 3) != 0) return false;
  const char *at = symbol + 3;
  for (const char *p = expression; *p;) {
    const char *end = strstr(p, "::");
    size_t length = end ? (size_t)(end - p) : strlen(p);
    for (;;) {
      char *part;
      size_t bytes = strtoul(at, &part, 10);
      if (part == at || strlen(part) < bytes) return false;
      at = part + bytes;
      if (bytes == length && strncmp(part, p, length) == 0) break;
      if (strncmp(part, "_GLOBAL__N", 10) != 0) return false;
    }
    p += length + (end ? 2 : 0);
  }
  return *at == 'E';
}

struct symbol_search {
  const char *wanted;
  size_t length;
  int whole; /* the name itself, not a beginning */
  const char *expression;
  struct text *found;
};

static bool match_symbol(void *user, const char *name) {
  struct symbol_search *search = user;
  if (strncmp(name, search->wanted, search->length) || (search->whole && name[search->length])) return true;
  text_add(search->found, name);
  return false;
}

static bool match_parts(void *user, const char *name) {
  struct symbol_search *search = user;
  if (!has_parts(name, search->expression)) return true;
  text_add(search->found, name);
  return false;
}

void kernel_symbol(const void *code, size_t bytes, const struct hip_compile_kernel *kernel, struct text *out) {
  struct text wanted = {0};
  const char *last = strrchr(kernel->expression, ':'); /* extern "C" in a namespace is of none */
  if (kernel->c_linkage)
    text_add(&wanted, last ? last + 1 : kernel->expression);
  else
    mangled_prefix(kernel->expression, &wanted);
  struct symbol_search search = {wanted.data ? wanted.data : "", wanted.length, kernel->c_linkage, kernel->expression,
                                 out};
  size_t before = out->length;
  elf_functions(code, bytes, match_symbol, &search);
  if (out->length == before) elf_functions(code, bytes, match_parts, &search);
  text_free(&wanted);
}

bool kernel_names_lower(const struct hip_compile_request *request, struct hip_compile_result *result,
                        void (*lower)(void *user, const struct hip_compile_kernel *kernel,
                                      const struct hip_compile_result *result, struct text *out),
                        void *user) {
  size_t *starts = calloc(request->nkernels + 1, sizeof *starts);
  struct text names = {0};
  for (size_t i = 0; starts && i < request->nkernels; i++) {
    starts[i] = names.length;
    lower(user, &request->kernels[i], result, &names);
    text_append(&names, "", 1);
  }
  size_t pointers = (request->nkernels + 1) * sizeof(char *);
  result->lowered = starts && !names.failed ? calloc(1, pointers + names.length) : NULL;
  for (size_t i = 0; result->lowered && i < request->nkernels; i++) {
    char *name = strcpy((char *)result->lowered + pointers + starts[i], names.data + starts[i]);
    result->lowered[i] = *name ? name : NULL;
  }
  free(starts);
  text_free(&names);
  return result->lowered != NULL;
}
