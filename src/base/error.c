/*
 * error.c - error objects.
 *
 * An error is a small tree: a kind, one sentence, an optional cause, and lists that only some kinds have
 * (failures of a read, diagnostics of a compile, skip records). It is built by one thread, then shared and
 * immutable, except for its full text, which the first reader renders and publishes with one atomic exchange.
 *
 * What an error does not know itself (the kernel of a fault, a compiler's log) it reads through its cause, so
 * that wrapping costs no copies and loses nothing.
 */
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPS_KEPT = 16 };

struct where {
  char *kernel;
  int32_t block[3], thread[3];
};

struct luhip_error {
  int refs; /* atomic; IMMORTAL: the static error */
  luhip_status kind;
  char *message;
  char *full; /* atomic: NULL until somebody asked */
  luhip_error *cause;
  luhip_error **failures;
  size_t nfailures;
  luhip_diagnostic *diagnostics;
  size_t ndiagnostics;
  char *log;
  char *digest; /* what is shown of the log; NULL: all */
  struct where *where;
  size_t carriers;
  char *skips[SKIPS_KEPT]; /* oldest first */
  size_t nskips;
  uint64_t skip_total;
};

enum { IMMORTAL = -1 };

static char no_memory_text[] = "the host is out of memory";
static luhip_error no_memory = {
    .refs = IMMORTAL, .kind = LUHIP_E_MEMORY, .message = no_memory_text, .full = no_memory_text};

/* ---- making -------------------------------------------------------------------------------------------------- */

static char *format_text(const char *format, va_list arguments) PRINTF_LIKE(1, 0);

static char *format_text(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0) return NULL;
  char *text = malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

static luhip_error *error_make(luhip_status kind, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

static luhip_error *error_make(luhip_status kind, const char *format, va_list arguments) {
  luhip_error *error = calloc(1, sizeof *error);
  if (!error) return &no_memory;
  error->refs = 1;
  error->kind = kind;
  error->message = format_text(format, arguments);
  if (!error->message) {
    free(error);
    return &no_memory;
  }
  return error;
}

luhip_error *error_new(luhip_status kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  luhip_error *error = error_make(kind, format, arguments);
  va_end(arguments);
  return error;
}

luhip_status error_set(luhip_error **out, luhip_status kind, const char *format, ...) {
  if (!out) return kind;
  va_list arguments;
  va_start(arguments, format);
  *out = error_make(kind, format, arguments);
  va_end(arguments);
  return kind;
}

luhip_status error_give(luhip_error **out, luhip_error *error) {
  luhip_status kind = error->kind;
  if (out) {
    *out = error;
  } else {
    luhip_error_release(error);
  }
  return kind;
}

luhip_error *error_wrap(luhip_error *cause, luhip_status kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  luhip_error *error = error_make(kind, format, arguments);
  va_end(arguments);
  if (error == &no_memory) return luhip_error_retain(cause);
  error->cause = luhip_error_retain(cause);
  return error;
}

static bool fixed(const luhip_error *error) {
  return __atomic_load_n(&error->refs, __ATOMIC_RELAXED) == IMMORTAL;
}

/* Makes room for one more element of `size` bytes in a list that grows by doubling. */
static void *grown(void *list, size_t count, size_t size) {
  if (count & (count - 1)) return list; /* only at powers of two, and at 0 */
  return realloc(list, (count ? count * 2 : 1) * size);
}

void error_add_failure(luhip_error *error, luhip_error *failure) {
  if (fixed(error)) return;
  luhip_error **list = grown(error->failures, error->nfailures, sizeof(luhip_error *));
  if (!list) return;
  error->failures = list;
  list[error->nfailures++] = luhip_error_retain(failure);
}

void error_set_carriers(luhip_error *error, size_t carriers) {
  if (!fixed(error)) error->carriers = carriers;
}

void error_add_diagnostic(luhip_error *error, const char *file, int line, int column, const char *severity,
                          const char *text) {
  if (fixed(error)) return;
  luhip_diagnostic *list = grown(error->diagnostics, error->ndiagnostics, sizeof(luhip_diagnostic));
  if (!list) return;
  error->diagnostics = list;
  char *names[3] = {strdup(file ? file : ""), strdup(severity ? severity : ""), strdup(text ? text : "")};
  if (!names[0] || !names[1] || !names[2]) {
    for (int i = 0; i < 3; i++) free(names[i]);
    return;
  }
  list[error->ndiagnostics++] =
      (luhip_diagnostic){.file = names[0], .line = line, .column = column, .severity = names[1], .text = names[2]};
}

void error_set_log(luhip_error *error, const char *log) {
  if (fixed(error)) return;
  free(error->log);
  error->log = log ? strdup(log) : NULL;
}

void error_set_log_digest(luhip_error *error, const char *digest) {
  if (fixed(error)) return;
  free(error->digest);
  error->digest = digest ? strdup(digest) : NULL;
}

void error_set_where(luhip_error *error, const char *kernel, const int32_t block[3], const int32_t thread[3]) {
  if (fixed(error)) return;
  if (!error->where) error->where = calloc(1, sizeof *error->where);
  if (!error->where) return;
  free(error->where->kernel);
  error->where->kernel = strdup(kernel ? kernel : "");
  for (int i = 0; i < 3; i++) {
    error->where->block[i] = block ? block[i] : -1;
    error->where->thread[i] = thread ? thread[i] : -1;
  }
}

void error_add_skip(luhip_error *error, const char *text) {
  if (fixed(error)) return;
  error->skip_total++;
  char *copy = strdup(text);
  if (!copy) return;
  if (error->nskips == SKIPS_KEPT) {
    free(error->skips[0]);
    memmove(error->skips, error->skips + 1, (SKIPS_KEPT - 1) * sizeof error->skips[0]);
    error->nskips--;
  }
  error->skips[error->nskips++] = copy;
}

void error_set_skip_total(luhip_error *error, uint64_t total) {
  if (!fixed(error)) error->skip_total = total;
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

luhip_error *luhip_error_retain(luhip_error *error) {
  if (error && !fixed(error)) __atomic_fetch_add(&error->refs, 1, __ATOMIC_RELAXED);
  return error;
}

void luhip_error_release(luhip_error *error) {
  if (!error || fixed(error) || __atomic_sub_fetch(&error->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  luhip_error_release(error->cause);
  for (size_t i = 0; i < error->nfailures; i++) luhip_error_release(error->failures[i]);
  for (size_t i = 0; i < error->ndiagnostics; i++) {
    free((char *)error->diagnostics[i].file);
    free((char *)error->diagnostics[i].severity);
    free((char *)error->diagnostics[i].text);
  }
  for (size_t i = 0; i < error->nskips; i++) free(error->skips[i]);
  if (error->where) free(error->where->kernel);
  free(error->where);
  free(error->failures);
  free(error->diagnostics);
  free(error->log);
  free(error->digest);
  free(error->message);
  free(error->full);
  free(error);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

luhip_status luhip_error_kind(const luhip_error *error) {
  return error ? error->kind : LUHIP_OK;
}

const char *luhip_error_kind_name(luhip_status status) {
  static const char *const names[] = {
#define X(name, text) text,
      LUHIP_ERROR_KINDS(X)
#undef X
  };
  return (unsigned)status < LUHIP_STATUS_COUNT ? names[status] : "unknown";
}

const char *luhip_error_message(const luhip_error *error) {
  return error ? error->message : "";
}

const luhip_error *luhip_error_cause(const luhip_error *error) {
  return error ? error->cause : NULL;
}

size_t luhip_error_failures(const luhip_error *error) {
  return error ? error->nfailures : 0;
}

const luhip_error *luhip_error_failure(const luhip_error *error, size_t index) {
  return error && index < error->nfailures ? error->failures[index] : NULL;
}

size_t luhip_error_diagnostics(const luhip_error *error, const luhip_diagnostic **list) {
  while (error && !error->ndiagnostics) error = error->cause;
  if (list) *list = error ? error->diagnostics : NULL;
  return error ? error->ndiagnostics : 0;
}

const char *luhip_error_log(const luhip_error *error) {
  while (error && !error->log) error = error->cause;
  return error ? error->log : "";
}

bool luhip_error_where(const luhip_error *error, const char **kernel, int32_t block[3], int32_t thread[3]) {
  while (error && !error->where) error = error->cause;
  if (!error) return false;
  if (kernel) *kernel = error->where->kernel ? error->where->kernel : "";
  for (int i = 0; i < 3; i++) {
    if (block) block[i] = error->where->block[i];
    if (thread) thread[i] = error->where->thread[i];
  }
  return true;
}

size_t luhip_error_carriers(const luhip_error *error) {
  return error ? error->carriers : 0;
}

size_t luhip_error_skips(const luhip_error *error, uint64_t *total) {
  if (total) *total = error ? error->skip_total : 0;
  return error ? error->nskips : 0;
}

const char *luhip_error_skip(const luhip_error *error, size_t index) {
  return error && index < error->nskips ? error->skips[index] : NULL;
}

/* ---- the full text ------------------------------------------------------------------------------------------- */

static void indent(struct text *text, int depth) {
  text_add(text, "\n");
  for (int i = 0; i < depth; i++) text_add(text, "  ");
}

static void render_skips(struct text *text, const luhip_error *error, int depth) {
  if (error->skip_total > error->nskips) {
    indent(text, depth);
    text_printf(text, "%llu launches were skipped since; of these:", (unsigned long long)error->skip_total);
  }
  for (size_t i = 0; i < error->nskips; i++) {
    indent(text, depth);
    text_add(text, error->skips[i]);
  }
}

/* The next error down that says something its wrapper's message does not say already. */
static const luhip_error *new_cause(const luhip_error *error) {
  const luhip_error *cause = error->cause;
  while (cause && strstr(error->message, cause->message)) cause = cause->cause;
  return cause;
}

static void render(struct text *text, const luhip_error *error, int depth) {
  text_add(text, error->message);
  /* With a single failure the message is that failure's already. */
  const luhip_error *carried = error->nfailures == 1 ? error->failures[0] : error;
  if (carried->carriers) {
    text_printf(text, " (carried by %zu buffer%s)", carried->carriers, carried->carriers == 1 ? "" : "s");
  }
  render_skips(text, carried, depth + 1);
  for (size_t i = 0; i < error->nfailures && error->nfailures > 1; i++) {
    indent(text, depth + 1);
    text_printf(text, "%s: ", luhip_error_kind_name(error->failures[i]->kind));
    render(text, error->failures[i], depth + 1);
  }
  const luhip_error *cause = error->nfailures > 1 ? NULL : new_cause(error);
  if (cause) {
    indent(text, depth + 1);
    text_add(text, "because: ");
    render(text, cause, depth + 1);
  }
}

static void render_all(struct text *text, const luhip_error *error) {
  render(text, error, 0);
  while (error && !error->log) error = error->cause;
  if (!error || !*error->log) return;
  text_add(text, "\n");
  text_add(text, error->digest ? error->digest : error->log);
}

const char *luhip_error_full(const luhip_error *error) {
  if (!error) return "";
  char *full = __atomic_load_n(&error->full, __ATOMIC_ACQUIRE);
  if (full) return full;
  struct text text = {0};
  render_all(&text, error);
  char *rendered = text_take(&text);
  if (!rendered) return error->message;
  char *expected = NULL;
  luhip_error *shared = (luhip_error *)error; /* the text is a cache, not part of the value */
  if (__atomic_compare_exchange_n(&shared->full, &expected, rendered, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return rendered;
  }
  free(rendered);
  return expected;
}
