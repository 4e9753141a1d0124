/*
 * scratch.c - private temporary folders.
 */
#include "cpu/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cpu_scratch_make(char path[SCRATCH_PATH]) {
  const char *parent = getenv("TMPDIR");
  if (!parent || parent[0] != '/') parent = "/tmp";
  if (snprintf(path, SCRATCH_PATH, "%s/luhip-XXXXXX", parent) >= SCRATCH_PATH) return ENAMETOOLONG;
  return mkdtemp(path) ? 0 : errno;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info, (void)type, (void)where;
  remove(path);
  return 0;
}

void cpu_scratch_remove(const char *path) {
  nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

bool cpu_scratch_is_below(const char *name) {
  if (!*name || *name == '/') return false;
  for (const char *part = name; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2])) return false;
  }
  return true;
}

static int make_folders(char *full, size_t from) {
  for (char *slash = strchr(full + from, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    int failed = mkdir(full, 0700) && errno != EEXIST;
    *slash = '/';
    if (failed) return errno;
  }
  return 0;
}

static int write_file(const char *path, const char *data, size_t bytes) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  int error = 0;
  while (bytes && !error) {
    ssize_t put = write(fd, data, bytes);
    if (put >= 0) {
      data += put;
      bytes -= (size_t)put;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(fd) && !error) error = errno;
  return error;
}

int cpu_scratch_write(const char *path, const char *name, const void *data, size_t bytes) {
  char full[4096];
  if (!cpu_scratch_is_below(name)) return EINVAL;
  if (snprintf(full, sizeof full, "%s/%s", path, name) >= (int)sizeof full) return ENAMETOOLONG;
  int error = make_folders(full, strlen(path) + 1);
  return error ? error : write_file(full, data, bytes);
}
