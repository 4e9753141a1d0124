/*
 * declared.c - parameters as the text declares them.
 *
 * A source that does not compile can still be scanned. Kernels of the name are looked for in it and in the headers
 * that were given with it; where there are several (branches of #if, overloads), a parameter is only read when all
 * of them say so. A type is read as text: a name that stands for a pointer, or a macro for const, is not known here,
 * and what is not known counts as written.
 */
#include "kernel/declared.h"

#include "kernel/lex.h"
#include "kernel/names.h"
#include "kernel/scan.h"

#include <stdlib.h>
#include <string.h>

/* Whether `const` is among the words of text[from, end). */
static bool has_const(const char *from, const char *end) {
  struct lexer lexer;
  lex_start(&lexer, from, (size_t)(end - from));
  for (struct lex_token t = lex_next(&lexer); t.kind != LEX_END; t = lex_next(&lexer))
    if (t.kind == LEX_WORD && lex_is(t, "const")) return true;
  return false;
}

/* "const float *", "float const *const", "const float []": what it points to cannot be written. */
static bool points_to_const(const char *type) {
  const char *star = strrchr(type, '*'), *bracket = strchr(type, '[');
  const char *end = star ? star : bracket;
  if (!end || strchr(type, '<') || strchr(type, '(')) return false;
  const char *from = end;
  while (from > type && from[-1] != '*') from--;
  return has_const(from, end);
}

/* A kernel that is asked for by this name, or made from the template of this name. */
static bool has_name(const char *asked, const char *known) {
  return name_equal(asked, known) || name_has_base(asked, known);
}

static enum access access_of(const struct scan_param *param, const char *kernel, const luhip_compile_options *options) {
  enum access access = param->out || !points_to_const(param->type) ? ACCESS_INOUT : ACCESS_IN;
  for (size_t i = 0; i < options->naccess; i++) {
    const luhip_access *wish = &options->access[i];
    if (!wish->kernel || !wish->parameter || !wish->access || strcmp(wish->parameter, param->name) != 0) continue;
    if (has_name(kernel, wish->kernel)) access = strcmp(wish->access, "in") == 0 ? ACCESS_IN : ACCESS_INOUT;
  }
  return access;
}

static const struct scan_param *param_at(const struct scan_kernel *kernel, size_t i) {
  size_t n = kernel->nparams;
  if (n && kernel->params[n - 1].pack && i >= n - 1) return &kernel->params[n - 1];
  return i < n ? &kernel->params[i] : NULL;
}

struct search {
  const luhip_compile_options *options;
  const char *name; /* NULL: whatever there is, as long as it has one name */
  char *only;       /* that name */
  bool several;
  bool found;
  size_t nargs;
  enum access *access;
};

static void take_kernel(struct search *search, const struct scan_kernel *kernel) {
  if (!search->name && !search->only) search->only = strdup(kernel->name);
  if (!search->name && (!search->only || strcmp(search->only, kernel->name) != 0)) search->several = true;
  if (search->name && !has_name(search->name, kernel->name)) return;
  for (size_t i = 0; i < search->nargs; i++) {
    const struct scan_param *param = param_at(kernel, i);
    enum access access =
        param ? access_of(param, search->name ? search->name : kernel->name, search->options) : ACCESS_INOUT;
    search->access[i] = search->found ? search->access[i] | access : access;
  }
  search->found = true;
}

static void search_text(struct search *search, const char *text) {
  struct scan scan;
  if (!text || !strstr(text, "__global__")) return;
  scan_source(text, strlen(text), &scan);
  for (size_t i = 0; i < scan.nkernels && !scan.failed; i++) take_kernel(search, &scan.kernels[i]);
  search->several |= scan.failed;
  scan_free(&scan);
}

void declared_access(const char *source, const luhip_compile_options *options, const char *name, size_t nargs,
                     enum access *access) {
  static const luhip_compile_options none;
  char *normal = name ? name_normal(name) : NULL;
  struct search search = {.options = options ? options : &none, .name = normal, .nargs = nargs, .access = access};
  if (!name || normal) {
    search_text(&search, source);
    for (size_t i = 0; i < search.options->nheaders; i++) search_text(&search, search.options->headers[i].value);
  }
  if (!search.found || search.several)
    for (size_t i = 0; i < nargs; i++) access[i] = ACCESS_INOUT;
  free(search.only);
  free(normal);
}
