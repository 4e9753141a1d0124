/*
 * mark.c - words of a source that mean two things.
 *
 * __shared__. Shared memory is thread_local in C++ terms, and an extern thread_local array is reached through a
 * function that might have to construct it first, which no optimiser sees through. An attribute says that there is
 * nothing to construct; but on a definition the same attribute refuses structs whose constructors, though trivial, are
 * not constexpr.
 *
 * __device__. A variable that only its own file can name (static, or in a namespace without one) is the host's to write
 * too, so it needs an attribute that keeps the compiler from taking its first value for its only one. On a function the
 * same attribute would have every unused function compiled; and in a lambda no attribute may stand at all.
 *
 * Each is one macro in the source, so the rarer use is given a name of its own, of the same length (luhip_cpu_core.h).
 * Headers of the user's own are not changed: there extern arrays are slow.
 */
#include "cpu/mark.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool spells(const char *begin, const char *end, const char *word) {
  size_t length = strlen(word);
  return (size_t)(end - begin) == length && memcmp(begin, word, length) == 0;
}

/* ---- skipping
   ------------------------------------------------------------------------------------------------------ */

/* The rest after a string or character literal that begins at `at`; a line's end ends it too. */
static char *after_literal(char *at) {
  char quote = *at++;
  while (*at && *at != quote && *at != '\n') at += *at == '\\' && at[1] ? 2 : 1;
  return *at == quote ? at + 1 : at;
}

/* At the quote of R"x(...)x". */
static char *after_raw(char *at) {
  char closing[20];
  size_t length = strcspn(at + 1, "(");
  if (at[1 + length] != '(' || length > 16) return after_literal(at);
  closing[0] = ')';
  memcpy(closing + 1, at + 1, length);
  closing[1 + length] = '"';
  closing[2 + length] = '\0';
  char *end = strstr(at, closing);
  return end ? end + length + 2 : at + strlen(at);
}

static char *after_comment(char *at) {
  char *end = at[1] == '/' ? strchr(at, '\n') : strstr(at + 2, "*/");
  return !end ? at + strlen(at) : at[1] == '/' ? end : end + 2;
}

/* The next token from `at` on: a word, a literal, or one character. False at the end. */
static bool next_token(char *at, char **begin, char **end) {
  for (;;) {
    while (isspace((unsigned char)*at) || (*at == '\\' && at[1] == '\n')) at++;
    if (at[0] != '/' || (at[1] != '/' && at[1] != '*')) break;
    at = after_comment(at);
  }
  if (!*at) return false;
  *begin = at;
  if (*at == '"' || *at == '\'') {
    at = after_literal(at);
  } else if (is_word(*at)) {
    bool number = isdigit((unsigned char)*at);
    while (is_word(*at) || (number && *at == '\'')) at++;
    if (*at == '"')
      at = at[-1] == 'R' ? after_raw(at) : after_literal(at);
    else if (*at == '\'')
      at = after_literal(at);
  } else {
    at++;
  }
  *end = at;
  return true;
}

/* ---- variables
   ------------------------------------------------------------------------------------------------------- */

/* From an opening bracket to what follows its closing one; NULL when there is none. */
static char *after_brackets(char *at) {
  char *begin, *end = at;
  int depth = 0;
  while (next_token(end, &begin, &end)) {
    if (strchr("([{<", *begin))
      depth++;
    else if (strchr(")]}>", *begin) && --depth == 0)
      return end;
    else if (*begin == ';')
      return NULL; /* < was less-than, or the source is broken */
  }
  return NULL;
}

/* Words that are followed by brackets and are not a function's name. */
static bool takes_brackets(const char *begin, const char *end) {
  static const char *const words[] = {"__attribute__", "__align__", "alignas", "decltype", "__launch_bounds__"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (spells(begin, end, words[i])) return true;
  }
  return false;
}

/* Does a variable's declaration go on at `at`, after __device__? Then its name and type are followed by one of ; = [
   {. */
static bool declares_variable(char *at) {
  char *begin, *end;
  bool skip = false; /* brackets are next */
  while (at && next_token(at, &begin, &end)) {
    if (is_word(*begin)) {
      if (spells(begin, end, "operator")) return false;
      skip = takes_brackets(begin, end);
      at = end;
    } else if (*begin == '<' || (*begin == '(' && skip) || (*begin == '[' && begin[1] == '[')) {
      at = after_brackets(begin);
    } else if (strchr("*&:", *begin)) {
      at = end;
    } else {
      return strchr(";=[{,", *begin) != NULL;
    }
  }
  return false;
}

/* ---- marking
   -------------------------------------------------------------------------------------------------------------- */

void cpu_mark_source(char *source) {
  char *begin, *end = source;
  bool after_extern = false, after_square = false;
  while (next_token(end, &begin, &end)) {
    if (after_extern && spells(begin, end, "__shared__"))
      memcpy(begin, "__shared_x", 10);
    else if (!after_square && spells(begin, end, "__device__") && declares_variable(end))
      memcpy(begin, "__device_v", 10);
    after_extern = spells(begin, end, "extern");
    after_square = *begin == ']'; /* a lambda's */
  }
}
