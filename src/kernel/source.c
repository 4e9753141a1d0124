/*
 * source.c - writing markers into a source (markers.h).
 *
 * A kernel of the source gets its marker right after its body, on the same line. What has no such place gets it in
 * the tail, a part of its own after the user's last line, one line each, so that an error there tells which name it
 * is about: first the name expressions that were asked for, then kernels of headers and of expanded macros. Whether
 * the latter exist in the end is not known here, so each has a stand-in that is found only when the real one is not:
 * the stand-in's namespace is used by (using namespace) the one that is looked in, and a qualified look-up prefers
 * what is declared there itself.
 */
#include "kernel/source.h"
#include "kernel/bounds.h"
#include "kernel/names.h"
#include "kernel/prelude.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static luhip_status no_memory(luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "out of host memory");
}

/* ---- what is wanted --------------------------------------------------------------------------------------------- */

static struct wanted *add_wanted(struct source *source) {
  size_t n = source->nwanted;
  if ((n & (n - 1)) == 0) {
    struct wanted *grown = realloc(source->wanted, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown) return NULL;
    source->wanted = grown;
  }
  source->wanted[n] = (struct wanted){0};
  source->nwanted++;
  return &source->wanted[n];
}

static bool is_wanted(const struct source *source, const char *normal) {
  for (size_t i = 0; i < source->nwanted; i++)
    if (strcmp(source->wanted[i].expression, normal) == 0) return true;
  return false;
}

/* The definition that a name expression may mean: the name itself, or the template before its arguments; also by
   the last part of a qualified name, for `using namespace`. */
static const struct scan_kernel *find_definition(const struct source *source, const char *normal) {
  for (size_t s = 0; s < source->nscans; s++)
    for (size_t i = 0; i < source->scans[s].nkernels; i++) {
      const struct scan_kernel *kernel = &source->scans[s].kernels[i];
      const char *last = strrchr(kernel->name, ':');
      if (strcmp(kernel->name, normal) == 0 || name_has_base(normal, kernel->name) ||
          (last && (strcmp(last + 1, normal) == 0 || name_has_base(normal, last + 1))))
        return kernel;
    }
  return NULL;
}

static bool want_kernel(struct source *source, const struct scan_kernel *kernel) {
  struct wanted *wanted = add_wanted(source);
  if (!wanted) return false;
  wanted->source = kernel;
  wanted->optional = true;
  wanted->c_linkage = kernel->c_linkage;
  wanted->name = strdup(kernel->name);
  wanted->expression = name_normal(kernel->name);
  return wanted->name && wanted->expression;
}

/* The user's spelling without the & and the space around it. */
static char *trimmed(const char *name) {
  name += strspn(name, " \t");
  if (*name == '&') name += 1 + strspn(name + 1, " \t");
  size_t length = strlen(name);
  while (length && strchr(" \t", name[length - 1])) length--;
  return strndup(name, length);
}

static luhip_status want_expression(struct source *source, const char *name, luhip_error **error) {
  if (!name || !name_is_valid(name))
    return error_set(error, LUHIP_E_ARGUMENT,
                     "'%s' is no name expression (wanted: a kernel's name, like \"scale<float, 4>\")",
                     name ? name : "");
  char *normal = name_normal(name);
  if (!normal) return no_memory(error);
  if (is_wanted(source, normal)) {
    free(normal);
    return LUHIP_OK;
  }
  struct wanted *wanted = add_wanted(source);
  if (!wanted) {
    free(normal);
    return no_memory(error);
  }
  wanted->expression = normal;
  wanted->name = trimmed(name);
  wanted->source = find_definition(source, normal);
  return wanted->name ? LUHIP_OK : no_memory(error);
}

/* A definition that no branch closes has no place for a marker; when another of the same name has, that one counts. */
static bool is_superseded(const struct scan *scan, size_t index) {
  for (size_t i = 0; i < scan->nkernels; i++)
    if (scan->kernels[i].end != SCAN_NO_END && strcmp(scan->kernels[i].name, scan->kernels[index].name) == 0)
      return true;
  return false;
}

static bool note_templates(struct source *source) {
  const struct scan *own = &source->scans[0];
  source->inserted = calloc(own->nkernels + 1, sizeof *source->inserted);
  for (size_t i = 0; i < own->nkernels && source->inserted; i++) {
    const struct scan_kernel *kernel = &own->kernels[i];
    if (kernel->bounds && *kernel->head && kernel->end != SCAN_NO_END)
      source->inserted[source->ninserted++].kernel = kernel;
  }
  return source->inserted;
}

static bool add_scan(struct source *source, const char *text, size_t bytes) {
  struct scan *scans = realloc(source->scans, (source->nscans + 1) * sizeof *scans);
  if (!scans) return false;
  source->scans = scans;
  struct scan *scan = &scans[source->nscans++];
  scan_source(text, bytes, scan);
  source->hidden |= scan->hidden;
  return !scan->failed;
}

luhip_status source_start(struct source *source, const char *text, const luhip_compile_options *options,
                          const char *program, luhip_error **error) {
  *source = (struct source){.program = program, .text = text, .strict = options->strict};
  if (!add_scan(source, text, strlen(text)) || !note_templates(source)) return no_memory(error);
  for (size_t i = 0; i < source->scans[0].nkernels; i++) {
    const struct scan_kernel *kernel = &source->scans[0].kernels[i];
    if (kernel->is_template || (kernel->end == SCAN_NO_END && is_superseded(&source->scans[0], i))) continue;
    if (!want_kernel(source, kernel)) return no_memory(error);
  }
  for (size_t i = 0; i < options->nheaders; i++) {
    bool grown;
    const char *header = options->headers[i].value;
    if (!strstr(header, "__global__")) continue;
    luhip_status status = source_scan_more(source, header, strlen(header), &grown, error);
    if (status != LUHIP_OK) return status;
  }
  for (size_t i = 0; i < options->nnames; i++) {
    luhip_status status = want_expression(source, options->names[i], error);
    if (status != LUHIP_OK) return status;
  }
  return LUHIP_OK;
}

luhip_status source_scan_more(struct source *source, const char *text, size_t bytes, bool *grown, luhip_error **error) {
  *grown = false;
  if (!add_scan(source, text, bytes)) return no_memory(error);
  const struct scan *scan = &source->scans[source->nscans - 1];
  for (size_t i = 0; i < scan->nkernels; i++) {
    const struct scan_kernel *kernel = &scan->kernels[i];
    if (kernel->is_template || is_wanted(source, kernel->name)) continue;
    if (!want_kernel(source, kernel)) return no_memory(error);
    *grown = true;
  }
  for (size_t i = 0; i < source->nwanted; i++)
    if (!source->wanted[i].source) source->wanted[i].source = find_definition(source, source->wanted[i].expression);
  return LUHIP_OK;
}

char *source_templates(const struct source *source) {
  struct text text = {0};
  const char *last = "";
  for (size_t s = 0; s < source->nscans; s++)
    for (size_t i = 0; i < source->scans[s].nkernels; i++) {
      const struct scan_kernel *kernel = &source->scans[s].kernels[i];
      if (!kernel->is_template || strcmp(kernel->name, last) == 0) continue; /* specialisations follow their template */
      last = kernel->name;
      text_printf(&text, "%s%s", text.length ? ", " : "", last);
    }
  return text_take(&text);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void add_line_directive(struct text *text, const char *file) {
  text_add(text, "#line 1 \"");
  for (; *file; file++) {
    if (*file == '"' || *file == '\\') text_add(text, "\\");
    text_append(text, file, 1);
  }
  text_add(text, "\"\n");
}

static void add_definitions(const struct source *source, struct text *text) {
  add_line_directive(text, SOURCE_DEFINES);
  for (size_t i = 0; i < source->ndefinitions; i++) text_printf(text, "#define %s\n", source->definitions[i]);
}

/* Where the text has got to while markers are put into it. */
struct progress {
  const char *at;
  int line, column;
};

static void advance(struct progress *progress, struct text *text, const char *to) {
  text_append(text, progress->at, (size_t)(to - progress->at));
  for (; progress->at < to; progress->at++) {
    progress->column = *progress->at == '\n' ? 1 : progress->column + 1;
    progress->line += *progress->at == '\n';
  }
}

/* Templates whose body ends before `end` and that have bounds get them declared. */
static void add_template_bounds(struct source *source, struct text *text, struct progress *progress, size_t *next,
                                const char *end) {
  const struct scan *own = &source->scans[0];
  for (; *next < source->ninserted; ++*next) {
    struct inserted *inserted = &source->inserted[*next];
    const struct scan_kernel *kernel = inserted->kernel;
    if (source->text + kernel->end > end) return;
    if (source->text + kernel->end < progress->at) continue;
    advance(progress, text, source->text + kernel->end);
    size_t before = text->length;
    text_printf(text, " LUHIP_TEMPLATE_BOUNDS(%zu, (%s), %s)", (size_t)(kernel - own->kernels), kernel->bounds,
                kernel->head);
    inserted->line = progress->line;
    inserted->column = progress->column;
    inserted->width = (int)(text->length - before);
    progress->column += inserted->width;
  }
}

/* The user's lines; markers in the order of their places, which is that of `wanted`. */
static void add_marked(struct source *source, struct text *text) {
  struct progress progress = {source->text, 1, 1};
  const struct scan *own = &source->scans[0];
  size_t next = 0;
  for (size_t i = 0; i < source->nwanted; i++) {
    struct wanted *wanted = &source->wanted[i];
    const struct scan_kernel *kernel = wanted->source;
    wanted->width = 0;
    bool here = kernel >= own->kernels && kernel < own->kernels + own->nkernels && kernel->end != SCAN_NO_END &&
                !kernel->is_template && wanted->optional;
    if (!here || source->text + kernel->end < progress.at) continue;
    add_template_bounds(source, text, &progress, &next, source->text + kernel->end);
    advance(&progress, text, source->text + kernel->end);
    size_t before = text->length;
    text_printf(text, " LUHIP_MARK(%zu, %s)", i, kernel->local);
    if (kernel->bounds) text_printf(text, " LUHIP_BOUNDS(%zu, %s)", i, kernel->bounds);
    wanted->line = progress.line;
    wanted->column = progress.column;
    wanted->width = (int)(text->length - before);
    progress.column += wanted->width;
  }
  add_template_bounds(source, text, &progress, &next, source->text + strlen(source->text));
  text_add(text, progress.at);
}

/* namespace a { namespace b { ... } } around `inner`. */
static void add_nested(struct text *text, const char *name, const char *inner) {
  int depth = 0;
  for (const char *part = name, *colon; (colon = strstr(part, "::")) != NULL; part = colon + 2, depth++)
    text_printf(text, "namespace %.*s { ", (int)(colon - part), part);
  text_add(text, inner);
  for (; depth; depth--) text_add(text, " }");
}

static void add_optional_tail(struct text *text, const struct wanted *wanted, size_t index) {
  const char *colon = strrchr(wanted->expression, ':');
  struct text use = {0};
  text_printf(&use, "using namespace ::luhip_none_%zu;", index);
  text_printf(text, "namespace luhip_none_%zu { __global__ void %s(" PRELUDE_MISSING ") {} } ", index,
              colon ? colon + 1 : wanted->expression);
  add_nested(text, wanted->expression, use.data ? use.data : "");
  text_printf(text, " LUHIP_MARK(%zu, (::%s))", index, wanted->expression);
  const char *bounds = wanted->source ? wanted->source->bounds : NULL;
  if (bounds && bounds_are_literal(bounds)) text_printf(text, " LUHIP_BOUNDS(%zu, %s)", index, bounds);
  text_add(text, "\n");
  text->failed |= use.failed;
  text_free(&use);
}

/* Of a template's instance, when there is one template of the name and it declared its bounds. */
static void add_instance_bounds(const struct source *source, const struct wanted *wanted, size_t index,
                                struct text *text) {
  const struct scan *own = &source->scans[0];
  const struct inserted *found = NULL;
  for (size_t i = 0; i < source->ninserted && !found; i++)
    if (source->inserted[i].kernel == wanted->source && source->inserted[i].width) found = &source->inserted[i];
  if (!found || !bounds_fit(wanted->source->head, wanted->expression)) return;
  for (size_t i = 0; i < own->nkernels; i++)
    if (&own->kernels[i] != wanted->source && strcmp(own->kernels[i].name, wanted->source->name) == 0) return;
  const char *arguments = strchr(wanted->expression, '<'), *name = arguments;
  while (name > wanted->expression && name[-1] != ':') name--;
  text_printf(text, " LUHIP_BOUNDS(%zu, %.*sluhip_tb_%zu%s)", index, (int)(name - wanted->expression),
              wanted->expression, (size_t)(wanted->source - own->kernels), arguments);
}

/* Name expressions are all tried once before any marker, since a marker repeats a wrong name many times and compilers
   stop after some twenty errors. */
static void add_tail(struct source *source, struct text *text) {
  int line = 0;
  add_line_directive(text, SOURCE_NAMES);
  for (size_t i = 0; i < source->nwanted; i++) {
    struct wanted *wanted = &source->wanted[i];
    if (wanted->optional) continue;
    wanted->line = ++line;
    text_printf(text, "using luhip_tried_%zu = decltype(&(%s));\n", i, wanted->expression);
  }
  source->ntried = line;
  for (size_t i = 0; i < source->nwanted; i++)
    if (!source->wanted[i].optional) {
      text_printf(text, "LUHIP_MARK(%zu, (%s))", i, source->wanted[i].expression);
      add_instance_bounds(source, &source->wanted[i], i, text);
      text_add(text, "\n");
    }
  line *= 2;
  for (size_t i = 0; i < source->nwanted; i++) {
    if (!source->wanted[i].optional || source->wanted[i].width) continue;
    source->wanted[i].line = ++line;
    add_optional_tail(text, &source->wanted[i], i);
  }
}

/* A device whose own headers have more than hiprtc takes that away; hiprtc itself has no such header. */
static const char strict_text[] = "#define LUHIP_STRICT 1\n"
                                  "#if __has_include(<luhip_strict.h>)\n"
                                  "#include <luhip_strict.h>\n"
                                  "#endif\n";

char *source_assemble(struct source *source) {
  struct text text = {0};
  add_line_directive(&text, SOURCE_PRELUDE);
  text_add(&text, kernel_prelude);
  if (source->strict) text_add(&text, strict_text);
  add_definitions(source, &text);
  add_line_directive(&text, source->program);
  add_marked(source, &text);
  text_add(&text, "\n");
  add_tail(source, &text);
  return text_take(&text);
}

char *source_plain(const struct source *source) {
  struct text text = {0};
  add_definitions(source, &text);
  add_line_directive(&text, source->program);
  text_add(&text, source->text);
  text_add(&text, "\n");
  return text_take(&text);
}

void source_free(struct source *source) {
  for (size_t i = 0; i < source->nwanted; i++) {
    free(source->wanted[i].name);
    free(source->wanted[i].expression);
  }
  for (size_t i = 0; i < source->nscans; i++) scan_free(&source->scans[i]);
  free(source->wanted);
  free(source->inserted);
  free(source->scans);
  *source = (struct source){0};
}
