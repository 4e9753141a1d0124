/*
 * shared.c - the two meanings of __shared__.
 *
 * Shared memory is thread_local in C++ terms, and an extern thread_local array is reached through a function that
 * might have to construct it first, which no optimiser sees through. An attribute says that there is nothing to
 * construct; but on a definition the same attribute refuses structs whose constructors, though trivial, are not
 * constexpr. Both are the same macro in the source, so the extern ones are given a name of their own, of the same
 * length (luhip_cpu_core.h). Those in a user's own headers keep the slow way.
 */
#include "cpu/shared.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char word_extern[] = "extern", word_shared[] = "__shared__", word_marked[] = "__shared_x";

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

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

static bool begins_comment(const char *at) { return at[0] == '/' && (at[1] == '/' || at[1] == '*'); }

static char *after_word(char *at) {
  while (is_word(*at)) at++;
  return at;
}

void cpu_shared_mark(char *source) {
  bool after_extern = false;
  for (char *at = source; *at;) {
    char *begin = at;
    if (is_word(*at)) {
      at = after_word(at);
      size_t length = (size_t)(at - begin);
      bool is_shared = length == sizeof word_shared - 1 && memcmp(begin, word_shared, length) == 0;
      if (is_shared && after_extern) memcpy(begin, word_marked, length);
      after_extern = length == sizeof word_extern - 1 && memcmp(begin, word_extern, length) == 0;
      if (*at == '"') at = at[-1] == 'R' ? after_raw(at) : after_literal(at);
      else if (*at == '\'') at = isdigit((unsigned char)*begin) ? at + 1 : after_literal(at); /* 1'000 */
    } else if (begins_comment(at)) {
      at = after_comment(at);
    } else {
      if (!isspace((unsigned char)*at) && *at != '\\') after_extern = false;
      at = *at == '"' || *at == '\'' ? after_literal(at) : at + 1;
    }
  }
}
