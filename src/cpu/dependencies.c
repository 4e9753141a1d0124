/*
 * dependencies.c - reading the rule that -MD writes: "kernel.o: a.h dir\ with\ space/b.h \", newline, and so on.
 */
#include "cpu/dependencies.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const char *skip_space(const char *at) {
  for (;;) {
    at += strspn(at, " \t\r\n");
    if (at[0] != '\\' || (at[1] != '\n' && at[1] != '\r')) return at;
    at++;
  }
}

/* One file name, unescaped into `name`; gives what follows it, NULL when there is none. */
static const char *next_name(const char *at, struct text *name) {
  at = skip_space(at);
  if (!*at) return NULL;
  for (; *at && !strchr(" \t\r\n", *at); at++) {
    if (at[0] == '\\' && (at[1] == '\n' || at[1] == '\r')) break;
    if ((at[0] == '\\' && at[1] && strchr(" #\\", at[1])) || (at[0] == '$' && at[1] == '$')) at++;
    text_append(name, at, 1);
  }
  return at;
}

static bool lies_in(const char *path, const char *const *folders) {
  for (; *folders; folders++) {
    size_t length = strlen(*folders);
    if (strncmp(path, *folders, length) == 0 && path[length] == '/') return true;
  }
  return false;
}

static bool append(char ***list, size_t *count, char *path) {
  char **longer = realloc(*list, (*count + 2) * sizeof *longer);
  if (!longer) return false;
  *list = longer;
  longer[*count] = path;
  *count += path != NULL;
  longer[*count] = NULL;
  return true;
}

char **cpu_dependencies_read(const char *path, const char *const *folders) {
  struct file_content content;
  char **list = NULL;
  size_t count = 0;
  if (!append(&list, &count, NULL) || file_read(path, &content)) return list;
  const char *colon = strstr(content.data, ": ");
  const char *at = colon ? colon + 1 : "";
  bool failed = false;
  while (at && !failed) {
    struct text name = {.data = NULL};
    at = next_name(at, &name);
    if (at && name.length && !name.failed && !lies_in(name.data, folders)) {
      char *file = text_take(&name);
      failed = !file || !append(&list, &count, file);
      if (failed) free(file);
    }
    failed = failed || name.failed;
    text_free(&name);
  }
  free(content.data);
  if (!failed) return list;
  cpu_dependencies_free(list);
  return NULL;
}

void cpu_dependencies_free(char **list) {
  for (size_t i = 0; list && list[i]; i++) free(list[i]);
  free(list);
}
