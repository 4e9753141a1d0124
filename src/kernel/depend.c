/*
 * depend.c - dependencies of a compile: content of each file read, and the absence of files that would have been
 * found first in an earlier include folder.
 *
 * Two kinds of results depend on more than can be told, and are not kept in the caches at all. Where __has_include
 * or __has_embed was asked, on files that were not there: no compiler lists these. And where the compiler lists
 * nothing (hiprtc), on all that is in the include folders.
 */
#include "kernel/depend.h"

#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct timespec dependencies_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now); /* what the kernel stamps files with */
  return now;
}

static bool is_later(struct timespec a, struct timespec b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static bool digest_file(const char *path, uint8_t digest[HASH_BYTES]) {
  struct file_content content;
  if (file_read(path, &content) != 0) return false;
  hash_of(content.data, content.bytes, digest);
  free(content.data);
  return true;
}

bool dependencies_add(struct dependencies *dependencies, const char *path, bool absent,
                      const uint8_t digest[HASH_BYTES]) {
  size_t n = dependencies->n;
  if ((n & (n - 1)) == 0) {
    struct dependency *grown = realloc(dependencies->list, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown) return false;
    dependencies->list = grown;
  }
  struct dependency *added = &dependencies->list[n];
  *added = (struct dependency){.path = strdup(path), .absent = absent};
  if (!added->path) return false;
  if (!absent) memcpy(added->digest, digest, HASH_BYTES);
  dependencies->n++;
  return true;
}

/* The file was found in folder k as <relative>: the same name in folders 0..k-1 would have come first. */
static bool add_shadows(struct dependencies *dependencies, const char *file, const struct strings *folders) {
  for (size_t k = 0; k < folders->n; k++) {
    size_t length = strlen(folders->list[k]);
    if (strncmp(file, folders->list[k], length) != 0 || file[length] != '/') continue;
    for (size_t i = 0; i < k; i++) {
      struct text path = {0};
      text_printf(&path, "%s%s", folders->list[i], file + length);
      bool ok = !path.failed && (strcmp(path.data, file) == 0 || dependencies_add(dependencies, path.data, true, NULL));
      text_free(&path);
      if (!ok) return false;
    }
    return true;
  }
  return true;
}

/* Also in a comment or an untaken branch: a compile more does no harm. */
static bool asks_for_files(const char *text) {
  return strstr(text, "__has_include") || strstr(text, "__has_embed");
}

static bool any_asks(const struct strings *texts) {
  for (size_t i = 0; i < texts->n; i++)
    if (asks_for_files(texts->list[i])) return true;
  return false;
}

static bool file_asks(const char *path) {
  struct file_content content;
  if (file_read(path, &content) != 0) return true;
  bool asks = asks_for_files(content.data);
  free(content.data);
  return asks;
}

/* Whether files outside the source can have been read: an include folder, or a file of a flag. */
static bool names_files(const struct setup *setup) {
  for (size_t i = 0; i < setup->flags.n; i++)
    if (strncmp(setup->flags.list[i], "-i", 2) == 0) return true;
  return setup->folders.n > 0;
}

/* "x.h" of the headers that were given. The names between quotes, which reach to the end of the text or the line. */
static bool is_given(const struct setup *setup, const char *name, size_t length) {
  for (size_t i = 0; i < setup->names.n; i++)
    if (strlen(setup->names.list[i]) == length && memcmp(setup->names.list[i], name, length) == 0) return true;
  return false;
}

/* The word in a comment counts as well: then a failure is not kept, which costs a compile. */
static bool includes_files(const struct setup *setup, const char *text) {
  static const char word[] = "include";
  for (const char *at = text; (at = strstr(at, word)) != NULL;) {
    at += sizeof word - 1;
    at += strspn(at, " \t");
    if (*at != '"' && *at != '<') return true;
    const char *name = ++at;
    at += strcspn(at, "\">\n");
    if (!is_given(setup, name, (size_t)(at - name))) return true;
  }
  return strstr(text, "embed") || strstr(text, "import");
}

bool dependencies_possible(const struct setup *setup) {
  if (setup->folders.n || includes_files(setup, setup->source)) return true;
  for (size_t i = 0; i < setup->texts.n; i++)
    if (includes_files(setup, setup->texts.list[i])) return true;
  for (size_t i = 0; i < setup->definitions.n; i++)
    if (includes_files(setup, setup->definitions.list[i])) return true;
  for (size_t i = 0; i < setup->flags.n; i++) /* others than these may name files */
    if (!strchr("OfmWg", setup->flags.list[i][1]) || setup->flags.list[i][0] != '-' ||
        strchr(setup->flags.list[i], '/'))
      return true;
  return false;
}

bool dependencies_collect(struct dependencies *dependencies, char *const *files, const struct setup *setup,
                          struct timespec since) {
  if (asks_for_files(setup->source) || any_asks(&setup->definitions) || any_asks(&setup->texts)) return false;
  if (!files && names_files(setup)) return false;
  for (; files && *files; files++) {
    struct stat info;
    uint8_t digest[HASH_BYTES];
    if (stat(*files, &info) != 0 || is_later(info.st_mtim, since) || file_asks(*files) ||
        !digest_file(*files, digest) || !dependencies_add(dependencies, *files, false, digest) ||
        !add_shadows(dependencies, *files, &setup->folders))
      return false;
  }
  return true;
}

bool dependencies_hold(const struct dependencies *dependencies) {
  for (size_t i = 0; i < dependencies->n; i++) {
    const struct dependency *d = &dependencies->list[i];
    uint8_t digest[HASH_BYTES];
    if (d->absent ? access(d->path, F_OK) == 0
                  : !digest_file(d->path, digest) || memcmp(digest, d->digest, HASH_BYTES) != 0)
      return false;
  }
  return true;
}

void dependencies_free(struct dependencies *dependencies) {
  for (size_t i = 0; i < dependencies->n; i++) free(dependencies->list[i].path);
  free(dependencies->list);
  *dependencies = (struct dependencies){0};
}
