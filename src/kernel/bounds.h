/*
 * bounds.h - what a kernel's __launch_bounds__ says, as text: the compiler is asked for its value (markers.h).
 */
#ifndef LUHIP_KERNEL_BOUNDS_H
#define LUHIP_KERNEL_BOUNDS_H

#include "base/text.h"
#include "kernel/declarator.h"

/* Fed the tokens of a declaration, or of a macro's body, one after the other; zero-initialised. */
struct bounds {
  struct text text; /* what stands between the brackets */
  size_t depth;
  bool after, done;
};

void bounds_take(struct bounds *bounds, struct lex_token token);

/* "template <class T, int N>" of a template that is no specialisation; "" otherwise. */
void bounds_head(const struct lex_token *tokens, const struct declarator *d, struct text *head);

/* Whether "scale<float,64>" names every parameter of the head: then another template with this head takes the same
   arguments. Defaults may stand in a declaration before it, so those are not relied upon. */
bool bounds_fit(const char *head, const char *expression);

/* Whether the bounds are numbers alone, and so mean the same anywhere. */
bool bounds_are_literal(const char *bounds);

#endif
