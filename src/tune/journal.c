/*
 * journal.c - appending records to a file, and finding them in its text. See journal.h.
 *
 * CRC-32 takes a small part of the time of BLAKE2b, which lines had at first, and tells a cut or a changed line as well.
 */
#include "tune/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

enum { SUM = 8, OLD_SUM = 16 }; /* hexadecimal digits */

struct journal {
  int fd;
  char *path;
  off_t ended; /* the size at which the file was seen to end with a newline */
  char *line;
  size_t capacity;
};

static const char hexadecimal[] = "0123456789abcdef";

static void checksum(const char *record, size_t bytes, char sum[SUM]) {
  uint32_t crc = libdeflate_crc32(0, record, bytes);
  for (int i = 0; i < SUM; i++) sum[i] = hexadecimal[crc >> (28 - 4 * i) & 15];
}

static void old_checksum(const char *record, size_t bytes, char sum[OLD_SUM]) {
  uint8_t digest[HASH_BYTES];
  hash_of(record, bytes, digest);
  for (int i = 0; i < OLD_SUM / 2; i++) {
    sum[2 * i] = hexadecimal[digest[i] >> 4];
    sum[2 * i + 1] = hexadecimal[digest[i] & 15];
  }
}

static int open_file(const char *path, int *fd) {
  do *fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  while (*fd < 0 && errno == EINTR);
  return *fd < 0 ? errno : 0;
}

int journal_open(const char *path, struct journal **journal) {
  struct journal *j = calloc(1, sizeof *j);
  if (!j) return ENOMEM;
  j->path = strdup(path);
  int error = j->path ? open_file(path, &j->fd) : ENOMEM;
  if (error) {
    free(j->path);
    free(j);
    return error;
  }
  *journal = j;
  return 0;
}

void journal_close(struct journal *j) {
  if (!j) return;
  close(j->fd);
  free(j->path);
  free(j->line);
  free(j);
}

const char *journal_path(const struct journal *j) {
  return j->path;
}

/* Names in /proc may be of files without one. */
static bool has_name(const struct journal *j, const struct stat *info) {
  struct stat named;
  return stat(j->path, &named) == 0 && named.st_dev == info->st_dev && named.st_ino == info->st_ino;
}

/* Locks the file that has the journal's name now: that may be another one after the wait, or since the last time. */
static int lock(struct journal *j, struct stat *info) {
  for (;;) {
    while (flock(j->fd, LOCK_EX) != 0)
      if (errno != EINTR) return errno;
    if (fstat(j->fd, info) != 0) break;
    if (info->st_nlink > 0 || has_name(j, info)) return 0;
    int fd, error = open_file(j->path, &fd);
    if (error) {
      flock(j->fd, LOCK_UN);
      return error;
    }
    close(j->fd);
    j->fd = fd;
    j->ended = 0;
  }
  int error = errno;
  flock(j->fd, LOCK_UN);
  return error;
}

int journal_lock(struct journal *j) {
  struct stat info;
  return lock(j, &info);
}

void journal_unlock(struct journal *j) {
  flock(j->fd, LOCK_UN);
}

static bool make_room(struct journal *j, size_t bytes) {
  if (bytes <= j->capacity) return true;
  char *line = realloc(j->line, bytes * 2);
  if (!line) return false;
  j->line = line;
  j->capacity = bytes * 2;
  return true;
}

/* Writes all, or puts the file back to `size`. */
static int write_line(struct journal *j, const char *line, size_t bytes, off_t size) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = write(j->fd, line + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error = errno;
      if (done > 0 && ftruncate(j->fd, size) != 0) j->ended = 0; /* the next append ends the line */
      return error;
    }
    done += (size_t)n;
  }
  j->ended = size + (off_t)bytes;
  return 0;
}

static int append_locked(struct journal *j, size_t bytes, off_t size) {
  char last = '\n';
  if (size > 0 && size != j->ended && pread(j->fd, &last, 1, size - 1) < 0) return errno;
  return last == '\n' ? write_line(j, j->line + 1, bytes - 1, size) : write_line(j, j->line, bytes, size);
}

int journal_append(struct journal *j, const char *record, size_t bytes) {
  if (bytes > SIZE_MAX / 4) return EFBIG;
  if (memchr(record, '\n', bytes)) return EINVAL;
  size_t length = 1 + SUM + 1 + bytes + 1; /* the first newline ends what somebody left */
  if (!make_room(j, length)) return ENOMEM;
  j->line[0] = j->line[length - 1] = '\n';
  checksum(record, bytes, j->line + 1);
  j->line[1 + SUM] = ' ';
  memcpy(j->line + 1 + SUM + 1, record, bytes);
  struct stat info;
  int error = lock(j, &info);
  if (error) return error;
  error = append_locked(j, length, info.st_size);
  flock(j->fd, LOCK_UN);
  return error;
}

int journal_sync(struct journal *j) {
  return fdatasync(j->fd) == 0 ? 0 : errno;
}

/* Whether the line begins with the checksum of what follows it and a space. */
static bool is_whole(const char *line, const char *stop, int digits, void (*sum_of)(const char *, size_t, char *)) {
  char sum[OLD_SUM];
  if (stop - line < digits + 2 || line[digits] != ' ') return false;
  sum_of(line + digits + 1, (size_t)(stop - line - digits - 1), sum);
  return memcmp(sum, line, (size_t)digits) == 0;
}

enum journal_line journal_next(const char **at, const char *end, const char **record, size_t *bytes) {
  while (*at < end && **at == '\n') ++*at;
  if (*at >= end) return JOURNAL_END;
  const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
  if (!stop) stop = end;
  *at = stop;
  int digits = is_whole(line, stop, SUM, checksum) ? SUM : is_whole(line, stop, OLD_SUM, old_checksum) ? OLD_SUM : 0;
  if (!digits) return JOURNAL_DAMAGED;
  *record = line + digits + 1;
  *bytes = (size_t)(stop - *record);
  return JOURNAL_RECORD;
}
