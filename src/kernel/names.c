/*
 * names.c - spelling name expressions evenly.
 */
#include "kernel/names.h"

#include <stdlib.h>
#include <string.h>

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (unsigned char)c >= 0x80;
}

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_space(const char *p) {
  while (is_space(*p)) p++;
  return p;
}

char *name_normal(const char *expression) {
  char *normal = malloc(strlen(expression) + 1), *end = normal;
  if (!normal) return NULL;
  const char *p = skip_space(expression);
  if (*p == '&') p = skip_space(p + 1);
  if (p[0] == ':' && p[1] == ':') p = skip_space(p + 2);
  while (*p) {
    const char *next = skip_space(p);
    if (next != p && end != normal && is_word(end[-1]) && is_word(*next)) *end++ = ' ';
    if (*next) *end++ = *next++;
    p = next;
  }
  *end = '\0';
  return normal;
}

bool name_is_valid(const char *expression) {
  const char *p = skip_space(expression);
  if (*p == '&') p = skip_space(p + 1);
  if (!is_word(*p) && *p != ':') return false;
  int depth = 0;
  for (; *p; p++) {
    if (strchr(";#\\\"\n\r", *p) || (p[0] == '/' && (p[1] == '/' || p[1] == '*'))) return false;
    depth += strchr("([{", *p) != NULL;
    if (strchr(")]}", *p) && --depth < 0) return false;
  }
  return depth == 0;
}

bool name_has_base(const char *normal, const char *base) {
  size_t length = strlen(base);
  return strncmp(normal, base, length) == 0 && normal[length] == '<';
}

bool name_equal(const char *a, const char *b) {
  if (strcmp(a, b) == 0) return true;
  char *first = name_normal(a), *second = name_normal(b);
  bool equal = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return equal;
}
