/*
 * file.c - reading and replacing whole files. What decides trust (owner, mode) is asked of the open
 * descriptor, never of a path that may change in between.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_own(const struct stat *info) {
  return info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Reads all of an open regular file. A file that grows meanwhile is cut at the size it had. */
static int read_all(int fd, const struct stat *info, struct file_content *content) {
  size_t bytes = (size_t)info->st_size, have = 0;
  if (bytes >= SIZE_MAX / 2) return EFBIG;
  char *data = malloc(bytes + 1);
  if (!data) return ENOMEM;
  while (have < bytes) {
    ssize_t got = read(fd, data + have, bytes - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int error = errno;
      free(data);
      return error;
    }
    if (got == 0) break;
    have += (size_t)got;
  }
  data[have] = '\0';
  content->data = data;
  content->bytes = have;
  return 0;
}

static int read_at(int folder, const char *name, int flags, bool own, struct file_content *content) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  if (fd < 0) return errno == ELOOP ? EPERM : errno;
  struct stat info;
  int error = 0;
  if (fstat(fd, &info) != 0)
    error = errno;
  else if (!S_ISREG(info.st_mode))
    error = own ? EPERM : EINVAL;
  else if (own && !is_own(&info))
    error = EPERM;
  else
    error = read_all(fd, &info, content);
  close(fd);
  return error;
}

int file_read(const char *path, struct file_content *content) {
  return read_at(AT_FDCWD, path, 0, false, content);
}

int file_read_own(int folder, const char *name, struct file_content *content) {
  return read_at(folder, name, O_NOFOLLOW, true, content);
}

static int write_all(int fd, const char *data, size_t bytes) {
  while (bytes) {
    ssize_t put = write(fd, data, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    data += put;
    bytes -= (size_t)put;
  }
  return 0;
}

int file_replace(int folder, const char *name, const void *data, size_t bytes) {
  static atomic_uint serial;
  char temporary[64];
  snprintf(temporary, sizeof temporary, ".new-%ld-%u", (long)getpid(), atomic_fetch_add(&serial, 1));
  int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST && unlinkat(folder, temporary, 0) == 0) /* of a process that died, same pid */
    fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = write_all(fd, data, bytes);
  if (close(fd) != 0 && !error) error = errno;
  if (!error && renameat(folder, temporary, folder, name) != 0) error = errno;
  if (error) unlinkat(folder, temporary, 0);
  return error;
}

static int write_close(int fd, const void *data, size_t bytes) {
  int error = write_all(fd, data, bytes);
  if (close(fd) != 0 && !error) error = errno;
  return error;
}

static int write_through(const char *path, const void *data, size_t bytes) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return fd < 0 ? errno : write_close(fd, data, bytes);
}

int file_write(const char *path, const void *data, size_t bytes) {
  static atomic_uint serial;
  struct stat info;
  bool there = lstat(path, &info) == 0;
  if (there && (!S_ISREG(info.st_mode) || access(path, W_OK) != 0)) return write_through(path, data, bytes);
  size_t room = strlen(path) + 48;
  char *temporary = malloc(room);
  if (!temporary) return ENOMEM;
  snprintf(temporary, room, "%s.new-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    free(temporary);
    return write_through(path, data, bytes);
  }
  int error = there && fchmod(fd, info.st_mode & 07777) != 0 ? errno : 0;
  int late = write_close(fd, data, bytes);
  if (!error) error = late;
  if (!error && rename(temporary, path) != 0) error = errno;
  if (error) unlink(temporary);
  free(temporary);
  return error;
}

int file_make_folders(const char *path, mode_t mode) {
  if (!*path) return ENOENT;
  char *copy = strdup(path);
  if (!copy) return ENOMEM;
  int error = 0;
  for (char *at = copy + 1; !error; at++) {
    if (*at != '/' && *at != '\0') continue;
    char kept = *at;
    *at = '\0';
    if (mkdir(copy, mode) != 0 && errno != EEXIST) error = errno;
    *at = kept;
    if (kept == '\0') break;
  }
  free(copy);
  return error;
}

int file_open_own_folder(const char *path, int *folder) {
  if (!*path) return ENOENT;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    int error = file_make_folders(path, 0700);
    if (error) return error;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (fd < 0) return errno;
  struct stat info;
  int error = fstat(fd, &info) != 0 ? errno : is_own(&info) ? 0 : EPERM;
  if (error)
    close(fd);
  else
    *folder = fd;
  return error;
}

char *file_absolute(const char *path) {
  if (path[0] == '/') return strdup(path);
  char *here = getcwd(NULL, 0);
  if (!here) return errno == ENOMEM ? NULL : strdup(path);
  size_t bytes = strlen(here) + strlen(path) + 2;
  char *whole = malloc(bytes);
  if (whole) snprintf(whole, bytes, "%s/%s", here, path);
  free(here);
  return whole;
}
