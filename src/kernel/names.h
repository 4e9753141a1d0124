/*
 * names.h - name expressions: how C++ names one kernel ("axpy", "ns::scale<float, 4>").
 */
#ifndef LUHIP_KERNEL_NAMES_H
#define LUHIP_KERNEL_NAMES_H

#include <stdbool.h>

/* One spelling for all that mean the same text: no leading & or ::, no white space but between words. NULL when
   memory runs out; the caller frees it. */
char *name_normal(const char *expression);
/* Whether it can be a name expression at all: one line, brackets closed, nothing that ends a declaration. */
bool name_is_valid(const char *expression);
/* The same name before its template arguments: "ns::scale" of "ns::scale<float>". Takes a normal spelling. */
bool name_has_base(const char *normal, const char *base);
/* Equal, white space and a leading & aside. False when memory runs out. */
bool name_equal(const char *a, const char *b);

#endif
