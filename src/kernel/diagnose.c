/*
 * diagnose.c - reading compiler logs.
 *
 * Three parts of the text are not the user's: the prelude, the definitions and the names tail; and a marker stands on
 * the line of each kernel's last brace. An error in the tail is about a name expression, one inside a marker about the
 * kernel it follows, and columns behind a marker are moved back to where the user's text has them.
 */
#include "kernel/diagnose.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { ERROR, WARNING, NOTE, SEVERITIES };

static const char *const severity_names[SEVERITIES] = {"error", "warning", "note"};

/* ---- parsing ---------------------------------------------------------------------------------------------------- */

/* Where a line says its severity: the end of the location, and the begin of the text. */
struct cut {
  const char *location_end, *text;
  int severity;
  bool fatal;
};

static const char *find(const char *begin, const char *end, const char *what) {
  size_t length = strlen(what);
  for (const char *p = begin; (size_t)(end - p) >= length; p++)
    if (memcmp(p, what, length) == 0) return p;
  return NULL;
}

/* "location: error: text", "error: text" at the begin of a line, "location: error #12-D: text". */
static bool cut_line(const char *begin, const char *end, struct cut *cut) {
  static const struct {
    const char *word;
    int severity;
    bool fatal;
  } words[] = {{"fatal error", ERROR, true}, {"catastrophic error", ERROR, true},
               {"error", ERROR, false},      {"warning", WARNING, false},
               {"remark", NOTE, false},      {"note", NOTE, false}};
  bool found = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i].word);
    for (const char *p = begin; (p = find(p, end, words[i].word)) != NULL; p += length) {
      bool starts = p == begin || (p - begin >= 2 && p[-2] == ':' && p[-1] == ' ');
      const char *after = p + length;
      if (starts && end - after > 2 && after[0] == ' ' && after[1] == '#') after = find(after, end, ":");
      if (!starts || !after || end - after < 1 || *after != ':') continue;
      if (found && cut->location_end <= p) break; /* an earlier word won: the text may quote another */
      *cut = (struct cut){p == begin ? begin : p - 2, after + 1, words[i].severity, words[i].fatal};
      found = true;
      break;
    }
  }
  return found;
}

/* Takes ":<digits>" off the end of [begin, *end); 0 when there is none. */
static int take_number(const char *begin, const char **end) {
  const char *p = *end;
  while (p > begin && p[-1] >= '0' && p[-1] <= '9') p--;
  if (p == *end || p == begin || p[-1] != ':' || *end - p > 9) return 0;
  int number = atoi(p);
  *end = p - 1;
  return number;
}

/* "file:line:column", "file:line", "file(line)", "file". */
static void read_location(const char *begin, const char *end, struct diagnostic *diagnostic) {
  int last = take_number(begin, &end);
  int before = last ? take_number(begin, &end) : 0;
  diagnostic->line = before ? before : last;
  diagnostic->column = before ? last : 0;
  const char *open = end;
  if (!last && end > begin && end[-1] == ')')
    for (open = end - 2; open > begin && *open >= '0' && *open <= '9'; open--) {
    }
  if (!last && open > begin && open < end && *open == '(') {
    diagnostic->line = atoi(open + 1);
    end = open;
  }
  diagnostic->file = strndup(begin, (size_t)(end - begin));
}

/* "In file included from a.hip:1:", and below it "                 from b.h:2:"; "a.hip: In function 'f':" */
static bool leads_on(const char *begin, const char *end) {
  static const char included[] = "In file included from ";
  if ((size_t)(end - begin) >= sizeof included - 1 && memcmp(begin, included, sizeof included - 1) == 0) return true;
  if (end == begin || !strchr(":,", end[-1])) return false;
  return memcmp(begin, "     ", strnlen(begin, 5)) == 0 || find(begin, end, ": In ") || find(begin, end, ": At ");
}

/* *part: where the part of the next diagnostic begins. */
static bool add_line(struct diagnostics *diagnostics, const char *log, const char *begin, const char *end,
                     const char **part) {
  struct cut cut = {NULL, NULL, 0, false};
  if (!cut_line(begin, end, &cut)) {
    if (!leads_on(begin, end))
      *part = NULL;
    else if (!*part)
      *part = begin;
    return true;
  }
  size_t n = diagnostics->n;
  if ((n & (n - 1)) == 0) {
    struct diagnostic *grown = realloc(diagnostics->list, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown) return false;
    diagnostics->list = grown;
  }
  struct diagnostic *diagnostic = &diagnostics->list[diagnostics->n++];
  *diagnostic = (struct diagnostic){.severity = cut.severity, .fatal = cut.fatal};
  diagnostic->begin = (size_t)((*part ? *part : begin) - log);
  *part = NULL;
  while (cut.text < end && *cut.text == ' ') cut.text++;
  diagnostic->text = strndup(cut.text, (size_t)(end - cut.text));
  read_location(begin, cut.location_end, diagnostic);
  return diagnostic->text && diagnostic->file;
}

/* Whether [line, line + length) is a last line of a log, which counts what is dropped too: clang's "2 errors generated.",
   NVRTC's "2 errors detected in the compilation of "a.hip".". */
static bool is_count(const char *line, size_t length) {
  static const char clang[] = " generated.";
  const char *end = line + length;
  return (length >= sizeof clang && memcmp(end - (sizeof clang - 1), clang, sizeof clang - 1) == 0) ||
         find(line, end, " detected in the compilation of ") || find(line, end, "Compilation terminated.") == line;
}

/* The log's length without such lines at its end, and without empty ones before those. */
static size_t told_length(const char *log) {
  size_t length = strlen(log), told = length;
  while (length && log[length - 1] == '\n') {
    size_t begin = length - 1;
    while (begin && log[begin - 1] != '\n') begin--;
    bool counts = is_count(log + begin, length - 1 - begin);
    if (!counts && length - 1 > begin) break;
    length = begin;
    if (counts) told = length;
  }
  return told;
}

bool diagnostics_parse(const char *log, struct diagnostics *diagnostics) {
  *diagnostics = (struct diagnostics){0};
  bool ok = true;
  const char *line = log, *part = NULL;
  while (*line && ok) {
    const char *end = line + strcspn(line, "\n");
    const char *stop = end > line && end[-1] == '\r' ? end - 1 : end;
    ok = add_line(diagnostics, log, line, stop, &part);
    line = *end ? end + 1 : end;
  }
  for (size_t i = 0; i < diagnostics->n; i++)
    diagnostics->list[i].end = i + 1 < diagnostics->n ? diagnostics->list[i + 1].begin : told_length(log);
  return ok;
}

void diagnostics_free(struct diagnostics *diagnostics) {
  for (size_t i = 0; i < diagnostics->n; i++) {
    free(diagnostics->list[i].file);
    free(diagnostics->list[i].text);
  }
  free(diagnostics->list);
  *diagnostics = (struct diagnostics){0};
}

/* ---- in the user's terms ---------------------------------------------------------------------------------------- */

static void set_text(struct diagnostic *diagnostic, struct text *text) {
  char *taken = text_take(text);
  if (!taken) return; /* the compiler's own words stay */
  free(diagnostic->text);
  diagnostic->text = taken;
}

static void set_place(struct diagnostic *diagnostic, const struct source *source, int line, int column) {
  char *file = strdup(source->program);
  if (file) {
    free(diagnostic->file);
    diagnostic->file = file;
  }
  diagnostic->line = line;
  diagnostic->column = column;
}

static void add_kernel_list(const struct source *source, struct text *text) {
  size_t n = 0;
  for (size_t i = 0; i < source->nwanted; i++)
    if (source->wanted[i].optional)
      text_printf(text, "%s%s", n++ ? ", " : "; the source has: ", source->wanted[i].name);
  char *templates = source_templates(source);
  if (templates && *templates)
    text_printf(text, "%s%s", n ? "; templates: " : "; the source has templates: ", templates);
  free(templates);
}

static void tell_tail(struct diagnostic *diagnostic, const struct source *source) {
  const struct wanted *wanted = NULL;
  int line = diagnostic->line;
  if (line > source->ntried && line <= 2 * source->ntried) line -= source->ntried;
  for (size_t i = 0; i < source->nwanted && !wanted; i++)
    if (!source->wanted[i].width && source->wanted[i].line == line) wanted = &source->wanted[i];
  struct text text = {0};
  diagnostic->name = line;
  if (wanted && diagnostic->severity == ERROR) {
    text_printf(&text, "no kernel is named '%s' (%s)", wanted->name, diagnostic->text);
    add_kernel_list(source, &text);
  } else
    text_printf(&text, "in the names asked for: %s", diagnostic->text);
  set_text(diagnostic, &text);
  set_place(diagnostic, source, 0, 0);
}

static const char NOT_VOID[] = "a kernel must return void";
static const char SEVERAL[] = "several functions have this name; kernels cannot be overloaded, nor be called like a "
                              "built-in function: give it a name of its own";

/* What a marker's own checks are about (prelude.c, and the compilers' words for a name of several functions). */
static const char *marker_reason(const char *said) {
  if (strstr(said, NOT_VOID)) return NOT_VOID;
  if (strstr(said, "a kernel's parameters cannot be references")) return "a kernel's parameters cannot be references";
  if (strstr(said, "a kernel cannot take a variable number of arguments"))
    return "a kernel cannot take a variable number of arguments";
  if (strstr(said, "overloaded function")) return SEVERAL;
  return NULL;
}

static void tell_marker(struct diagnostic *diagnostic, const struct source *source, const struct wanted *wanted) {
  struct text text = {0};
  const char *reason = marker_reason(diagnostic->text);
  text_printf(&text, reason ? "kernel '%s': %s" : "after kernel '%s': %s", wanted->name,
              reason ? reason : diagnostic->text);
  diagnostic->name = -wanted->column;
  set_text(diagnostic, &text);
  set_place(diagnostic, source, wanted->line, wanted->column);
}

/* On a line with markers: an error inside one, or a column to be moved back. NVRTC tells no columns, so there the text
   decides. */
static void settle_column(struct diagnostic *diagnostic, const struct source *source) {
  int shift = 0, column = diagnostic->column;
  for (size_t i = 0; i < source->nwanted; i++) {
    const struct wanted *wanted = &source->wanted[i];
    if (!wanted->width || wanted->line != diagnostic->line) continue;
    bool inside = column >= wanted->column && column < wanted->column + wanted->width;
    if (inside || (!column && marker_reason(diagnostic->text))) {
      tell_marker(diagnostic, source, wanted);
      return;
    }
    if (column >= wanted->column) shift += wanted->width;
  }
  for (size_t i = 0; i < source->ninserted; i++) {
    const struct inserted *inserted = &source->inserted[i];
    if (inserted->line == diagnostic->line && column >= inserted->column) shift += inserted->width;
  }
  diagnostic->column -= shift;
}

/* g++ places what is wrong in a marker into the prelude, and the marker into the note behind it. */
static void leave_prelude(struct diagnostics *all, const struct source *source) {
  for (size_t i = 0; i + 1 < all->n; i++) {
    struct diagnostic *d = &all->list[i];
    const struct diagnostic *next = d + 1;
    if (strcmp(d->file, SOURCE_PRELUDE) != 0 || strcmp(next->file, source->program) != 0 || next->severity != NOTE ||
        !strstr(next->text, "in expansion of macro 'LUHIP_MARK'"))
      continue;
    set_place(d, source, next->line, next->column);
  }
}

/* A kernel that is called like a function of C's is that function to compilers, and what the marker finds is its type. */
static bool is_other_of_c(const struct diagnostic *d) {
  return d->severity == ERROR && !d->name &&
         (strstr(d->text, "functions that differ only in their return type cannot be overloaded") ||
          strstr(d->text, "conflicting declaration of C function"));
}

static void tell_built_in(struct diagnostics *all) {
  for (size_t i = 0; i < all->n; i++) {
    if (!is_other_of_c(&all->list[i])) continue;
    for (size_t j = i + 1; j < all->n; j++) {
      struct diagnostic *marker = &all->list[j];
      const char *reason = strstr(marker->text, NOT_VOID);
      if (marker->name >= 0 || marker->line < all->list[i].line || !reason) continue;
      struct text text = {0};
      text_append(&text, marker->text, (size_t)(reason - marker->text));
      text_add(&text, SEVERAL);
      set_text(marker, &text);
      break;
    }
  }
}

static void add_search_path(struct diagnostic *diagnostic, const struct setup *setup) {
  bool missing = strstr(diagnostic->text, "file not found") || strstr(diagnostic->text, "No such file or directory") ||
                 strstr(diagnostic->text, "could not open source file") ||
                 strstr(diagnostic->text, "cannot open source file");
  missing = missing && diagnostic->fatal; /* else it is the text of an #error */
  char *path = missing ? setup_search_path(setup) : NULL;
  if (!path) return;
  struct text text = {0};
  text_printf(&text, "%s (%s)", diagnostic->text, path);
  set_text(diagnostic, &text);
  free(path);
}

static void translate(struct diagnostic *diagnostic, const struct setup *setup, const struct source *source) {
  if (strcmp(diagnostic->file, SOURCE_NAMES) == 0)
    tell_tail(diagnostic, source);
  else if (strcmp(diagnostic->file, source->program) == 0)
    settle_column(diagnostic, source);
  if (diagnostic->severity == ERROR) add_search_path(diagnostic, setup);
}

/* In our own text, or in the headers of a device: nothing that the user wrote or can change. So is a note that tells no
   place. */
static bool is_internal(const struct diagnostic *d, const struct source *source) {
  static const char *const parts[] = {SOURCE_PRELUDE, "luhip_", "<scratch space>", "/amd_detail/", "/__clang_"};
  if (strcmp(d->file, source->program) == 0) return false;
  if (!*d->file) return d->severity == NOTE;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(d->file, parts[i])) return true;
  return false;
}

/* What compilers say themselves of a kernel's head, and the marker at the kernel's end again, with the kernel's name. */
static bool is_said_by_marker(const struct diagnostics *all, const struct diagnostic *d) {
  static const char *const pairs[][2] = {
      {"a __global__ function cannot have ellipsis", "a kernel cannot take a variable number of arguments"},
      {"__global__ function must have void return type", "a kernel must return void"},
      {"a __global__ function must have a void return type", "a kernel must return void"},
      {"functions that differ only in their return type cannot be overloaded", SEVERAL},
      {"conflicting declaration of C function", SEVERAL}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (d->name || !strstr(d->text, pairs[i][0])) continue;
    for (size_t j = 0; j < all->n; j++) {
      const struct diagnostic *other = &all->list[j];
      if (other->name < 0 && other->line >= d->line && strstr(other->text, pairs[i][1])) return true;
    }
  }
  return false;
}

/* What helps no user: errors inside our own text that follow one that was told, all that compilers add to those and
   to an error that was told in other words, notes in our text but for the first of an error that says how a function
   is to be called, and the compilers' remarks about having said enough. */
static void drop_noise(struct diagnostics *all, const struct source *source) {
  size_t kept = 0;
  for (size_t i = 0; i < all->n; i++) all->list[i].again = is_said_by_marker(all, &all->list[i]);
  bool told = false, quiet = false, hinted = false;
  for (size_t i = 0; i < all->n; i++) {
    struct diagnostic *d = &all->list[i];
    bool ours = is_internal(d, source), noise;
    if (d->severity == NOTE) {
      bool hint = ours && !hinted && strncmp(d->text, "candidate ", 10) == 0;
      noise = quiet || d->name || (ours && !hint) || strstr(d->text, "LUHIP_");
      hinted |= hint;
    } else {
      noise = d->severity == ERROR ? (ours && told) || d->again : ours || d->name || strstr(d->text, "LUHIP_");
      noise |= !*d->file && (strstr(d->text, "too many errors") || strstr(d->text, "Error limit reached"));
      quiet = noise || d->name;
      hinted = false;
      told |= d->severity == ERROR && !noise;
    }
    d->alone = ours || d->name;
    if (noise) {
      free(d->file);
      free(d->text);
    } else
      all->list[kept++] = *d;
  }
  all->n = kept;
}

/* The same error again: compilers say the follow-ups of one wrong name several times. */
static bool is_repeated(const struct diagnostics *all, size_t index) {
  const struct diagnostic *d = &all->list[index];
  for (size_t i = 0; i < index; i++) {
    const struct diagnostic *other = &all->list[i];
    if (other->severity == d->severity && other->line == d->line && other->column == d->column &&
        strcmp(other->file, d->file) == 0 && (d->name ? other->name == d->name : strcmp(other->text, d->text) == 0))
      return true;
  }
  return false;
}

/* The width of the marker whose text this may be; 0: it is none. */
static size_t marker_width(const struct source *source, const char *text) {
  static const char mark[] = " LUHIP_MARK(", bounds[] = " LUHIP_TEMPLATE_BOUNDS(";
  size_t width = 0;
  if (strncmp(text, mark, sizeof mark - 1) == 0) {
    unsigned long index = strtoul(text + sizeof mark - 1, NULL, 10);
    if (index < source->nwanted) width = (size_t)source->wanted[index].width;
  } else if (strncmp(text, bounds, sizeof bounds - 1) == 0) {
    unsigned long index = strtoul(text + sizeof bounds - 1, NULL, 10);
    for (size_t i = 0; i < source->ninserted; i++)
      if ((size_t)(source->inserted[i].kernel - source->scans[0].kernels) == index)
        width = (size_t)source->inserted[i].width;
  }
  return width && strlen(text) >= width && text[width - 1] == ')' ? width : 0;
}

char *diagnose_clean_log(const struct source *source, const char *log) {
  struct text text = {0};
  static const char mark[] = " LUHIP_";
  for (const char *p; (p = strstr(log, mark)) != NULL;) {
    size_t skip = marker_width(source, p);
    text_append(&text, log, (size_t)(p - log) + (skip ? 0 : sizeof mark - 1));
    log = p + (skip ? skip : sizeof mark - 1);
  }
  text_add(&text, log);
  return text_take(&text);
}

/* ---- the error -------------------------------------------------------------------------------------------------- */

static void add_place(struct text *text, const struct diagnostic *d) {
  if (d->line) text_printf(text, "%s:%d:", d->file, d->line);
  if (d->line && d->column) text_printf(text, "%d:", d->column);
  if (d->line) text_add(text, " ");
}

/* The log without what was dropped, and with what was told in other words in these. The caller frees it. */
static char *make_digest(const struct diagnostics *all, const struct source *source, const char *log) {
  struct text text = {0};
  for (size_t i = 0; i < all->n; i++) {
    const struct diagnostic *d = &all->list[i];
    if (is_repeated(all, i)) continue;
    if (d->alone) {
      add_place(&text, d);
      text_printf(&text, "%s: %s\n", severity_names[d->severity], d->text);
    } else
      text_append(&text, log + d->begin, d->end - d->begin);
  }
  char *raw = text_take(&text), *digest = raw ? diagnose_clean_log(source, raw) : NULL;
  free(raw);
  return digest;
}

static void add_headline(struct text *text, const struct diagnostics *all, const struct setup *setup, const char *log) {
  const struct diagnostic *first = NULL;
  size_t more = 0;
  for (size_t i = 0; i < all->n; i++) {
    if (all->list[i].severity != ERROR || is_repeated(all, i)) continue;
    more += first != NULL;
    if (!first) first = &all->list[i];
  }
  if (!first) {
    size_t length = strcspn(log, "\n");
    text_printf(text, "cannot compile '%s': %.*s", setup->program, (int)(length < 500 ? length : 500),
                length ? log : "the compiler gave no reason");
    return;
  }
  text_printf(text, "cannot compile '%s': ", setup->program);
  add_place(text, first);
  text_add(text, first->text);
  if (more) text_printf(text, " (and %zu more error%s)", more, more > 1 ? "s" : "");
}

luhip_status diagnose_failure(const struct setup *setup, const struct source *source, const char *log,
                              luhip_error **error) {
  struct diagnostics all;
  struct text headline = {0};
  if (!diagnostics_parse(log, &all)) diagnostics_free(&all);
  leave_prelude(&all, source);
  for (size_t i = 0; i < all.n; i++) translate(&all.list[i], setup, source);
  tell_built_in(&all);
  drop_noise(&all, source);
  add_headline(&headline, &all, setup, log);
  luhip_error *made = error_new(LUHIP_E_COMPILE, "%s", headline.data ? headline.data : "cannot compile");
  text_free(&headline);
  for (int severity = ERROR; severity < SEVERITIES; severity++)
    for (size_t i = 0; i < all.n; i++) {
      const struct diagnostic *d = &all.list[i];
      if (d->severity == severity && !is_repeated(&all, i))
        error_add_diagnostic(made, d->file, d->line, d->column, severity_names[severity], d->text);
    }
  char *clean = diagnose_clean_log(source, log);
  error_set_log(made, clean ? clean : log);
  free(clean);
  char *digest = all.n ? make_digest(&all, source, log) : NULL;
  error_set_log_digest(made, digest);
  free(digest);
  diagnostics_free(&all);
  return error_give(error, made);
}
