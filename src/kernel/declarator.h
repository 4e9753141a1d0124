/*
 * declarator.h - inside one declaration: which tokens are the function's name and parameters, and what each
 * parameter is called.
 */
#ifndef LUHIP_KERNEL_DECLARATOR_H
#define LUHIP_KERNEL_DECLARATOR_H

#include "base/text.h"
#include "kernel/lex.h"
#include "kernel/scan.h"

/* A statement while it is read: newest token first. */
struct statement_token {
  const struct statement_token *previous;
  struct lex_token token;
};

struct declarator {
  size_t name, name_end; /* tokens of the possibly qualified name */
  size_t open, close;    /* the parameter list's parentheses */
  size_t head, head_end; /* the first template < ... >; empty when there is none */
  bool is_template;      /* a template or a specialisation of one */
  bool c_linkage;        /* extern "C" stands before it */
};

/* False when the tokens before the `{` declare no function. */
bool declarator_find(const struct lex_token *tokens, size_t n, struct declarator *found);
/* The name as written: "axpy", "ns::axpy". */
void declarator_name(const struct lex_token *tokens, const struct declarator *d, struct text *name);
/* Fills kernel->params; false when memory runs out. */
bool declarator_params(const struct lex_token *tokens, const struct declarator *d, struct scan_kernel *kernel);
/* From an opening bracket to its closing one, n - 1 when there is none. */
size_t declarator_skip(const struct lex_token *tokens, size_t n, size_t open);
void declarator_add_word(struct text *text, struct lex_token word);

#endif
