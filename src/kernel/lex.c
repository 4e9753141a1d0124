/*
 * lex.c - the tokens of lex.h. Every function moves forward only and looks at a bounded number of characters
 * beyond what it takes, so that any text, well formed or not, is read in linear time.
 */
#include "kernel/lex.h"

#include <string.h>

static bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}

static char peek(const struct lexer *lexer, size_t ahead) {
  return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

/* Bytes of the line splice at p, 0 when there is none. */
static size_t splice(const char *p, const char *end) {
  if (end - p >= 2 && p[0] == '\\' && p[1] == '\n') return 2;
  return end - p >= 3 && p[0] == '\\' && p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

static void skip_splices(struct lexer *lexer) {
  for (size_t n; (n = splice(lexer->at, lexer->end)) != 0;) lexer->at += n;
}

/* Up to the end of the logical line; the newline stays. */
static void skip_line_comment(struct lexer *lexer) {
  while (lexer->at < lexer->end && *lexer->at != '\n') {
    size_t n = splice(lexer->at, lexer->end);
    lexer->at += n ? n : 1;
  }
}

static void skip_block_comment(struct lexer *lexer) {
  for (lexer->at += 2; lexer->at < lexer->end; lexer->at++)
    if (*lexer->at == '*' && peek(lexer, 1) == '/') {
      lexer->at += 2;
      return;
    }
}

static bool skip_comment(struct lexer *lexer) {
  if (*lexer->at != '/') return false;
  if (peek(lexer, 1) == '/')
    skip_line_comment(lexer);
  else if (peek(lexer, 1) == '*')
    skip_block_comment(lexer);
  else
    return false;
  return true;
}

/* White space, comments and splices between tokens. */
static void skip_space(struct lexer *lexer) {
  while (lexer->at < lexer->end) {
    char c = *lexer->at;
    size_t n = splice(lexer->at, lexer->end);
    if (n)
      lexer->at += n;
    else if (c == '\n') {
      lexer->line_start = true;
      lexer->at++;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f')
      lexer->at++;
    else if (!skip_comment(lexer))
      return;
    lexer->spaced = true;
  }
}

/* A literal ends at its quote, or unterminated before the end of the line. */
static void skip_quoted(struct lexer *lexer) {
  char quote = *lexer->at++;
  while (lexer->at < lexer->end && *lexer->at != '\n') {
    size_t n = splice(lexer->at, lexer->end);
    if (n) {
      lexer->at += n;
      continue;
    }
    char c = *lexer->at++;
    if (c == quote) return;
    if (c == '\\' && lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
  }
}

/* At the quote of R"delimiter( ... )delimiter". The standard allows 16 characters of delimiter. */
static void skip_raw_string(struct lexer *lexer) {
  const char *delimiter = lexer->at + 1;
  size_t length = 0;
  while (length <= 16 && peek(lexer, 1 + length) != '(' && peek(lexer, 1 + length) != '\0') length++;
  if (length > 16 || peek(lexer, 1 + length) != '(') {
    skip_quoted(lexer);
    return;
  }
  for (lexer->at += length + 2; lexer->at < lexer->end; lexer->at++)
    if (*lexer->at == ')' && (size_t)(lexer->end - lexer->at) >= length + 2 && lexer->at[length + 1] == '"' &&
        memcmp(lexer->at + 1, delimiter, length) == 0) {
      lexer->at += length + 2;
      return;
    }
}

static void skip_word(struct lexer *lexer) {
  while (lexer->at < lexer->end) {
    const char *kept = lexer->at;
    skip_splices(lexer);
    if (lexer->at == lexer->end || !is_word(*lexer->at)) {
      lexer->at = kept;
      return;
    }
    lexer->at++;
  }
}

/* A preprocessing number: digits, letters, points, digit separators, and signs after an exponent. */
static void skip_number(struct lexer *lexer) {
  while (lexer->at < lexer->end) {
    char c = *lexer->at, next = peek(lexer, 1);
    if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (next == '+' || next == '-'))
      lexer->at += 2;
    else if (is_word(c) || c == '.' || (c == '\'' && is_word(next)))
      lexer->at++;
    else
      return;
  }
}

/* A directive runs to the end of its logical line; comments in it may hold newlines, literals may hold what
   looks like comments, and prose (#error don't) may hold a lone quote. */
static void skip_directive(struct lexer *lexer) {
  while (lexer->at < lexer->end && *lexer->at != '\n') {
    size_t n = splice(lexer->at, lexer->end);
    if (n)
      lexer->at += n;
    else if (*lexer->at == '"')
      skip_quoted(lexer);
    else if (!skip_comment(lexer))
      lexer->at++;
  }
}

static size_t punct_length(const struct lexer *lexer) {
  static const char pairs[][3] = {"::", "->", "<<", "<=", ">=", "&&"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (*lexer->at == pairs[i][0] && peek(lexer, 1) == pairs[i][1]) return 2;
  return 1;
}

void lex_start(struct lexer *lexer, const char *text, size_t length) {
  *lexer = (struct lexer){.at = text, .end = text + length, .line_start = true};
}

void lex_start_inside(struct lexer *lexer, struct lex_token directive) {
  *lexer = (struct lexer){.at = directive.begin, .end = directive.end, .nested = true};
}

static bool is_raw_prefix(struct lex_token word) {
  static const char *const prefixes[] = {"R", "u8R", "uR", "UR", "LR"};
  if (word.end - word.begin > 3) return false;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (lex_is(word, prefixes[i])) return true;
  return false;
}

struct lex_token lex_next(struct lexer *lexer) {
  lexer->spaced = false;
  skip_space(lexer);
  struct lex_token token = {LEX_END, lexer->at, lexer->at};
  if (lexer->at == lexer->end) return token;
  bool directive = lexer->line_start && !lexer->nested && *lexer->at == '#';
  lexer->line_start = false;
  char c = *lexer->at;
  if (directive) {
    token.kind = LEX_DIRECTIVE;
    token.begin = ++lexer->at;
    skip_directive(lexer);
  } else if (is_word_start(c)) {
    token.kind = LEX_WORD;
    skip_word(lexer);
    token.end = lexer->at;
    if (peek(lexer, 0) == '"' && is_raw_prefix(token)) {
      token.kind = LEX_STRING;
      token.begin = lexer->at;
      skip_raw_string(lexer);
    }
  } else if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
    token.kind = LEX_NUMBER;
    skip_number(lexer);
  } else if (c == '"' || c == '\'') {
    token.kind = LEX_STRING;
    skip_quoted(lexer);
  } else {
    token.kind = LEX_PUNCT;
    lexer->at += punct_length(lexer);
  }
  token.end = lexer->at;
  return token;
}

bool lex_is_open(struct lex_token token) {
  return token.kind == LEX_PUNCT && (*token.begin == '(' || *token.begin == '[' || *token.begin == '{');
}

bool lex_is_close(struct lex_token token) {
  return token.kind == LEX_PUNCT && (*token.begin == ')' || *token.begin == ']' || *token.begin == '}');
}

bool lex_is(struct lex_token token, const char *spelling) {
  const char *p = token.begin;
  for (;; p++, spelling++) {
    for (size_t n; (n = splice(p, token.end)) != 0;) p += n;
    if (p == token.end || *spelling == '\0') return p == token.end && *spelling == '\0';
    if (*p != *spelling) return false;
  }
}

bool lex_same(struct lex_token a, struct lex_token b) {
  const char *p = a.begin, *q = b.begin;
  for (;; p++, q++) {
    for (size_t n; (n = splice(p, a.end)) != 0;) p += n;
    for (size_t n; (n = splice(q, b.end)) != 0;) q += n;
    if (p == a.end || q == b.end) return p == a.end && q == b.end;
    if (*p != *q) return false;
  }
}

size_t lex_copy(struct lex_token token, char *text) {
  size_t length = 0;
  for (const char *p = token.begin; p < token.end;) {
    size_t n = splice(p, token.end);
    if (n)
      p += n;
    else
      text[length++] = *p++;
  }
  text[length] = '\0';
  return length;
}
