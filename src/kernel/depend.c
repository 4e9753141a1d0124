/*
 * depend.c - dependencies of a compile: content of each file read, and the absence of files that would have been
 * found first in an earlier include folder.
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

bool dependencies_collect(struct dependencies *dependencies, char *const *files, const struct setup *setup,
                          struct timespec since) {
  for (; files && *files; files++) {
    struct stat info;
    uint8_t digest[HASH_BYTES];
    if (stat(*files, &info) != 0 || is_later(info.st_mtim, since) || !digest_file(*files, digest) ||
        !dependencies_add(dependencies, *files, false, digest) || !add_shadows(dependencies, *files, &setup->folders))
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
