/*
 * cuda_log.c - NVRTC's log (cuda_log.h). A diagnostic is a line "file(line): severity: text", then the source line,
 * indented by two, a caret under its column, and an empty line. Functions that do not fit a call follow its error, each a
 * line "Note #3322-D: text" without a place.
 */
#include "hip/cuda_log.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { ERRORS_SHOWN = 20 }; /* clang's limit; NVRTC has none */

static const char *line_end(const char *line) {
  return line + strcspn(line, "\n");
}

static const char *next_line(const char *line) {
  const char *end = line_end(line);
  return *end ? end + 1 : end;
}

/* The "(12)" before ": error", ": warning" and the like; NULL when the line is none of those. */
static const char *place(const char *line, const char *end) {
  static const char *const severities[] = {"error", "warning", "catastrophic error", "remark", "note"};
  for (const char *p = line; p < end; p++) {
    if (*p != '(' || !isdigit((unsigned char)p[1])) continue;
    const char *close = p + 1 + strspn(p + 1, "0123456789");
    if (strncmp(close, "): ", 3) != 0) continue;
    for (size_t i = 0; i < sizeof severities / sizeof *severities; i++)
      if (strncmp(close + 3, severities[i], strlen(severities[i])) == 0) return p;
  }
  return NULL;
}

/* The caret is at most a few lines below: messages may have more lines of their own. */
static long column_below(const char *line) {
  for (int i = 0; i < 8 && *line; i++, line = next_line(line)) {
    const char *end = line_end(line), *p = line + strspn(line, " ");
    if (p == end || place(line, end)) return 0;
    if (*p == '^' && p + 1 == end && p - line >= 2) return p - line - 2 + 1;
  }
  return 0;
}

/* Behind the "(12): " at `at`. */
static const char *words_of(const char *at) {
  return at + 1 + strspn(at + 1, "0123456789") + 3;
}

static const char catastrophe[] = "catastrophic ";

/* From "error" on, where the words begin with that. */
static const char *error_of(const char *words) {
  if (strncmp(words, catastrophe, sizeof catastrophe - 1) == 0) words += sizeof catastrophe - 1;
  return strncmp(words, "error", 5) == 0 ? words : NULL;
}

/* An #error of the user's is as little a failure of the compiler as clang's. */
static const char *without_catastrophe(const char *words) {
  static const char directive[] = "error: #error directive";
  const char *error = error_of(words);
  return error && strncmp(error, directive, sizeof directive - 1) == 0 ? error : words;
}

/* What follows "Note #12-D: ", or NULL. */
static const char *note_text(const char *line) {
  static const char note[] = "Note #";
  if (strncmp(line, note, sizeof note - 1) != 0) return NULL;
  const char *end = line + sizeof note - 1 + strspn(line + sizeof note - 1, "0123456789");
  if (strncmp(end, "-D", 2) == 0) end += 2;
  return strncmp(end, ": ", 2) == 0 ? end + 2 : NULL;
}

static void add_words(struct text *out, const char *from, const char *to) {
  for (; from < to; from++) text_append(out, *from == '"' ? "'" : from, 1);
}

void cuda_log_rewrite(const char *log, struct text *out) {
  static const char names[] = "__nv_name_map(";
  unsigned errors = 0;
  for (const char *line = log; *line;) {
    const char *end = line_end(line), *next = next_line(line), *at = place(line, end), *note = note_text(line);
    errors += at && error_of(words_of(at));
    if (errors > ERRORS_SHOWN) { /* as clang ends, which counts no further either */
      text_printf(out, "fatal error: too many errors, those behind the first %d are not shown\n", ERRORS_SHOWN);
      return;
    }
    if (at && strncmp(line, names, sizeof names - 1) == 0) {
      do line = next_line(line);
      while (*line && *line != '\n');
      line = next_line(line);
      continue;
    }
    if (at) {
      long column = column_below(next);
      size_t digits = strspn(at + 1, "0123456789");
      text_append(out, line, (size_t)(at - line));
      text_printf(out, ":%.*s", (int)digits, at + 1);
      if (column) text_printf(out, ":%ld", column);
      text_add(out, ": ");
      add_words(out, without_catastrophe(words_of(at)), end);
      text_add(out, *end ? "\n" : "");
    } else if (note) {
      text_add(out, "note: candidate not viable: ");
      add_words(out, note, end);
      text_add(out, *end ? "\n" : "");
    } else {
      text_append(out, line, (size_t)(next - line));
    }
    line = next;
  }
}
