/*
 * bounds.c - __launch_bounds__ as text.
 *
 * The brackets' content is kept as it is written, with all its commas: only the compiler knows which of them lies
 * between arguments, and what the first argument is worth.
 */
#include "kernel/bounds.h"

#include <string.h>

static void add_token(struct text *text, struct lex_token token) {
  if (text->length) text_add(text, " ");
  declarator_add_word(text, token);
}

void bounds_take(struct bounds *bounds, struct lex_token token) {
  if (bounds->done) return;
  if (bounds->depth == 0) {
    bounds->depth = bounds->after && lex_is(token, "(");
    bounds->after = token.kind == LEX_WORD && lex_is(token, "__launch_bounds__");
    return;
  }
  bounds->depth += lex_is_open(token);
  bounds->done = lex_is_close(token) && --bounds->depth == 0;
  if (!bounds->done) add_token(&bounds->text, token);
}

void bounds_head(const struct lex_token *tokens, const struct declarator *d, struct text *head) {
  if (!d->is_template || d->head_end <= d->head + 3) return; /* template < > */
  for (size_t i = d->head; i < d->head_end; i++) add_token(head, tokens[i]);
}

/* Commas between the arguments or parameters in the first pair of angle brackets. */
static size_t commas(const char *text) {
  size_t n = 0, depth = 0;
  for (const char *at = strchr(text, '<'); at && *at; at++) {
    if (strchr("<([{", *at))
      depth++;
    else if (strchr(">)]}", *at) && depth && --depth == 0)
      break;
    else if (*at == ',' && depth == 1)
      n++;
  }
  return n;
}

bool bounds_fit(const char *head, const char *expression) {
  return strchr(expression, '<') && (strstr(head, "...") || commas(expression) == commas(head));
}

bool bounds_are_literal(const char *bounds) {
  return bounds[strspn(bounds, "0123456789 ,*/+-()")] == '\0';
}
