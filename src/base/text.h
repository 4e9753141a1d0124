/*
 * text.h - a growing string. Zero-initialise, append, then take or free. Out of host memory is remembered:
 * later appends do nothing and text_take gives NULL.
 */
#ifndef LUHIP_BASE_TEXT_H
#define LUHIP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
  char *data; /* NUL-terminated when not NULL */
  size_t length, capacity;
  bool failed;
};

void text_append(struct text *text, const char *bytes, size_t length);
void text_add(struct text *text, const char *string);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The string ("" rather than NULL), now the caller's to free(); NULL when memory ran out. */
char *text_take(struct text *text);
void text_free(struct text *text);

#endif
