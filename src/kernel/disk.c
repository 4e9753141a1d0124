/*
 * disk.c - cache entries as files.
 *
 * What is loaded is native code, so a folder or an entry that somebody else could have written is refused. An entry
 * is written whole under another name and renamed, so that processes share the folder without locks: a reader sees
 * the old entry, the new one, or none.
 */
#include "kernel/disk.h"
#include "kernel/disk_limit.h"
#include "kernel/entry.h"

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 2 * HASH_BYTES + sizeof ".kernel" };

static void entry_name(const uint8_t key[HASH_BYTES], char name[NAME_BYTES]) {
  for (int i = 0; i < HASH_BYTES; i++) snprintf(name + 2 * i, 3, "%02x", key[i]);
  strcpy(name + 2 * HASH_BYTES, ".kernel");
}

/* One warning per folder and cause in a row, not one per compile. */
static void warn_folder(const char *path, int error) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char last_path[512];
  static int last_error;
  pthread_mutex_lock(&lock);
  bool again = error == last_error && strncmp(path, last_path, sizeof last_path - 1) == 0;
  last_error = error;
  snprintf(last_path, sizeof last_path, "%s", path);
  pthread_mutex_unlock(&lock);
  if (again) return;
  if (error == EPERM)
    log_warning(
        "the compile cache '%s' is not used: the folder must belong to you and be writable by nobody else (chmod 700)",
        path);
  else
    log_warning("the compile cache '%s' is not used: %s", path, strerror(error));
}

/* A descriptor of the folder, -1: none to be used. */
static int open_folder(struct text *path) {
  int folder = -1;
  cache_folder(path);
  if (!path->length || path->failed) return -1;
  int error = file_open_own_folder(path->data, &folder);
  if (!error) return folder;
  warn_folder(path->data, error);
  return -1;
}

struct kernel_image *disk_load(const uint8_t key[HASH_BYTES], struct dependencies *dependencies, bool *rejected) {
  struct text path = {0};
  struct file_content content = {0};
  struct kernel_image *image = NULL;
  char name[NAME_BYTES];
  *rejected = false;
  *dependencies = (struct dependencies){0};
  entry_name(key, name);
  int folder = open_folder(&path);
  if (folder >= 0) {
    int error = file_read_own(folder, name, &content);
    if (!error) image = entry_decode(key, content.data, content.bytes, dependencies);
    if (image) disk_used(folder, name);
    *rejected = error == EPERM || (!error && !image);
    if (error == EPERM)
      log_warning("the cached kernel '%s/%s' is not used and will be replaced: it must be a file of yours that nobody "
                  "else may write",
                  path.data, name);
    close(folder);
  }
  free(content.data);
  text_free(&path);
  if (image && !dependencies_hold(dependencies)) {
    kernel_image_release(image);
    dependencies_free(dependencies);
    image = NULL;
  }
  return image;
}

void disk_store(const uint8_t key[HASH_BYTES], const struct kernel_image *image,
                const struct dependencies *dependencies) {
  struct text path = {0}, bytes = {0};
  char name[NAME_BYTES];
  entry_name(key, name);
  int folder = open_folder(&path);
  if (folder >= 0) {
    int error =
        entry_encode(key, image, dependencies, &bytes) ? file_replace(folder, name, bytes.data, bytes.length) : ENOMEM;
    if (error)
      warn_folder(path.data, error);
    else
      disk_stored(folder, name, bytes.length);
    close(folder);
  }
  text_free(&bytes);
  text_free(&path);
}
