/*
 * lex.h - C++ source cut into tokens, as far as finding kernels needs it: comments, literals (raw strings
 * too), line splices and preprocessor directives are understood; tokens point into the text.
 */
#ifndef LUHIP_KERNEL_LEX_H
#define LUHIP_KERNEL_LEX_H

#include <stdbool.h>
#include <stddef.h>

enum lex_kind {
  LEX_END,
  LEX_WORD, /* identifiers and keywords */
  LEX_NUMBER,
  LEX_STRING,   /* string and character literals, without prefix or suffix */
  LEX_PUNCT,    /* one character, or one of :: -> << <= >= && */
  LEX_DIRECTIVE /* what follows # up to the end of the logical line */
};

struct lex_token {
  enum lex_kind kind;
  const char *begin, *end; /* may contain line splices */
};

struct lexer {
  const char *at, *end;
  bool line_start; /* only white space so far on this line */
  bool nested;     /* inside a directive: # is a character */
  bool spaced;     /* white space or a comment stood before the last token */
};

void lex_start(struct lexer *lexer, const char *text, size_t length);
/* The tokens of a directive's own text: no directive begins inside it. */
void lex_start_inside(struct lexer *lexer, struct lex_token directive);
struct lex_token lex_next(struct lexer *lexer);

/* One of ( [ {, or of ) ] }. */
bool lex_is_open(struct lex_token token);
bool lex_is_close(struct lex_token token);
/* Whether the token spells exactly this, line splices aside. */
bool lex_is(struct lex_token token, const char *spelling);
bool lex_same(struct lex_token a, struct lex_token b);
/* The spelling without line splices, into text[token.end - token.begin + 1]; returns its length. */
size_t lex_copy(struct lex_token token, char *text);

#endif
