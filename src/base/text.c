/*
 * text.c - the growing string of text.h. Capacity doubles, so appending n bytes in all costs O(n).
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and the final NUL. */
static bool text_reserve(struct text *text, size_t more) {
  if (text->failed) return false;
  if (more >= SIZE_MAX / 2 - text->length) {
    text->failed = true;
    return false;
  }
  size_t need = text->length + more + 1;
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 64;
  while (capacity < need) capacity *= 2;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void text_append(struct text *text, const char *bytes, size_t length) {
  if (!text_reserve(text, length)) return;
  if (length) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string) {
  text_append(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0)
    text->failed = true;
  else if (text_reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

char *text_take(struct text *text) {
  text_append(text, "", 0);
  char *data = text->failed ? NULL : text->data;
  if (!data) free(text->data);
  *text = (struct text){0};
  return data;
}

void text_free(struct text *text) {
  free(text->data);
  *text = (struct text){0};
}
