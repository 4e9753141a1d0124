/*
 * cuda_includes.c - the files that #include lines name, followed through the request's folders.
 *
 * Conditions are not looked at, so a file may be listed that was not read: then a cached kernel is compiled again once
 * too often. Names that macros make are not followed. The toolkit's own headers belong to the compiler's identity.
 */
#include "hip/cuda_includes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { MOST_FILES = 4096 };

struct search {
  const struct hip_compile_request *request;
  char **files;
  size_t count;
  bool failed;
};

/* The folder that option i names, or NULL; the second word of -isystem and the like counts. */
static const char *folder_of(const struct hip_compile_request *request, size_t i) {
  const char *option = request->options[i];
  if (!strncmp(option, "-I", 2) && option[2]) return option + 2;
  if (i == 0) return NULL;
  const char *before = request->options[i - 1];
  return !strcmp(before, "-isystem") || !strcmp(before, "-iquote") || !strcmp(before, "-idirafter") ? option : NULL;
}

static bool is_listed(const struct search *search, const char *path) {
  for (size_t i = 0; i < search->count; i++)
    if (!strcmp(search->files[i], path)) return true;
  return false;
}

/* Whether the file is there. */
static bool add_file(struct search *search, const char *folder, size_t folder_length, const char *name, size_t length) {
  struct text path = {0};
  text_append(&path, folder, folder_length);
  text_add(&path, "/");
  text_append(&path, name, length);
  bool there = path.data && !path.failed && access(path.data, R_OK) == 0;
  search->failed |= path.failed;
  if (there && !is_listed(search, path.data) && search->count < MOST_FILES) {
    char **grown = realloc(search->files, (search->count + 2) * sizeof *grown);
    char *copy = grown ? strdup(path.data) : NULL;
    if (grown) search->files = grown;
    if (copy) {
      search->files[search->count++] = copy;
      search->files[search->count] = NULL;
    }
    search->failed |= !copy;
  }
  text_free(&path);
  return there;
}

static void add_name(struct search *search, const char *from, const char *name, size_t length) {
  const char *slash = from ? strrchr(from, '/') : NULL;
  if (slash && add_file(search, from, (size_t)(slash - from), name, length)) return;
  for (size_t i = 0; i < search->request->noptions; i++) {
    const char *folder = folder_of(search->request, i);
    if (folder && add_file(search, folder, strlen(folder), name, length)) return;
  }
}

/* `from` is the file that the text is of, or NULL. */
static void scan(struct search *search, const char *from, const char *text) {
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    const char *p = line + strspn(line, " \t");
    if (*p != '#') continue;
    p += 1 + strspn(p + 1, " \t");
    if (strncmp(p, "include", 7) != 0) continue;
    p += 7 + strspn(p + 7, " \t");
    const char *end = *p == '"' ? "\"\n" : *p == '<' ? ">\n" : NULL;
    size_t length = end ? strcspn(p + 1, end) : 0;
    if (length) add_name(search, *p == '"' ? from : NULL, p + 1, length);
  }
}

bool cuda_includes(const struct hip_compile_request *request, char ***files) {
  struct search search = {.request = request};
  scan(&search, NULL, request->source);
  for (size_t i = 0; i < request->headers; i++) scan(&search, NULL, request->header_texts[i]);
  for (size_t i = 0; i < search.count; i++) {
    struct file_content content;
    if (file_read(search.files[i], &content) != 0) continue;
    scan(&search, search.files[i], content.data);
    free(content.data);
  }
  if (!search.files) search.files = calloc(1, sizeof *search.files);
  *files = search.files;
  return search.files && !search.failed;
}
