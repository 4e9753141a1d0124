/*
 * clear.c - forgetting everything that was compiled, in memory and on disk.
 *
 * Only files that are named like entries go. Other processes may store meanwhile; what they load is whole or not there.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "kernel/cache.h"

static bool is_entry(const char *name) {
  static const char ending[] = ".kernel";
  size_t length = strlen(name);
  return length > sizeof ending - 1 && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* Takes over the descriptor. An errno value. */
static int remove_entries(int folder, size_t *entries) {
  DIR *list = fdopendir(folder);
  int error = 0;
  if (!list) {
    error = errno;
    close(folder);
    return error;
  }
  for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
    if (!is_entry(entry->d_name)) continue;
    if (unlinkat(folder, entry->d_name, 0) == 0)
      ++*entries;
    else if (errno != ENOENT && !error)
      error = errno;
  }
  closedir(list);
  return error;
}

static luhip_status cannot(const char *path, int reason, luhip_error **error) {
  if (reason == EPERM)
    return error_set(
        error, LUHIP_E_CACHE,
        "the compile cache '%s' cannot be emptied: it must be a folder that belongs to you and that nobody "
        "else may write (chmod 700)",
        path);
  return error_set(error, LUHIP_E_CACHE, "the compile cache '%s' cannot be emptied: %s", path, strerror(reason));
}

luhip_status luhip_cache_clear(size_t *entries, luhip_error **error) {
  struct text path = {0};
  struct stat info;
  int folder;
  size_t count = 0;
  luhip_status status = LUHIP_OK;
  cache_clear();
  cache_folder(&path);
  if (path.length && !path.failed && (stat(path.data, &info) == 0 || errno != ENOENT)) {
    int reason = file_open_own_folder(path.data, &folder);
    if (!reason) reason = remove_entries(folder, &count);
    if (reason) status = cannot(path.data, reason, error);
  }
  text_free(&path);
  if (status == LUHIP_OK && entries) *entries = count;
  return status;
}
