/*
 * headers.c - writing the embedded device headers to files.
 *
 * They lie in the user's cache, in a folder named after their content, so that a precompiled header can lie beside
 * them. Every compile compares each file with the text in the library and replaces what differs: a folder that
 * somebody emptied, or a half-written file, mends itself, and processes need no lock among each other. A file that is
 * as it should be is never touched, since a precompiled header goes by its time.
 */
#include "cpu/headers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/file.h"
#include "cpu/device_headers.h"
#include "cpu/scratch.h"

static uint8_t all[HASH_BYTES];

static void make_digest(void) {
  struct hash hash;
  hash_start(&hash);
  for (const struct device_header *header = luhip_device_headers; header->path; header++) {
    hash_add_string(&hash, header->path);
    hash_add_string(&hash, header->text);
  }
  hash_finish(&hash, all);
}

void cpu_headers_digest(uint8_t digest[HASH_BYTES]) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_digest);
  memcpy(digest, all, HASH_BYTES);
}

static bool is_safe(const char *folder) {
  int fd;
  if (file_open_own_folder(folder, &fd)) return false;
  close(fd);
  return true;
}

/* A folder named after the headers' content, in the user's cache folder. The compiler goes there by name, so nobody
   else may be able to put another folder in its place: those above it are looked at too. False when there is none. */
static bool kept_folder(char *path, size_t len) {
  struct text text = {.data = NULL};
  uint8_t digest[HASH_BYTES];
  cache_folder(&text);
  bool found = text.length && !text.failed && is_safe(text.data);
  if (found) {
    text_add(&text, "/device");
    found = !text.failed && is_safe(text.data);
  }
  if (found) {
    cpu_headers_digest(digest);
    text_add(&text, "/");
    for (int i = 0; i < HASH_BYTES; i++) text_printf(&text, "%02x", digest[i]);
    found = !text.failed && text.length < len;
  }
  if (found) memcpy(path, text.data, text.length + 1);
  text_free(&text);
  return found;
}

static int write_kept(const char *folder, const struct device_header *header) {
  char path[HEADERS_PATH + 64];
  const char *slash = strrchr(header->path, '/');
  int fd, error;
  if (snprintf(path, sizeof path, "%s/%.*s", folder, slash ? (int)(slash - header->path) : 0, header->path) >=
      (int)sizeof path)
    return ENAMETOOLONG;
  error = file_open_own_folder(path, &fd);
  if (error) return error;
  const char *name = slash ? slash + 1 : header->path;
  struct file_content content;
  if (file_read_own(fd, name, &content) == 0) {
    bool same = content.bytes == header->bytes && memcmp(content.data, header->text, header->bytes) == 0;
    free(content.data);
    if (!same) error = file_replace(fd, name, header->text, header->bytes);
  } else {
    error = file_replace(fd, name, header->text, header->bytes);
  }
  close(fd);
  return error;
}

static bool prepare_kept(struct cpu_headers *headers) {
  if (!kept_folder(headers->folder, sizeof headers->folder)) return false;
  for (const struct device_header *header = luhip_device_headers; header->path; header++)
    if (write_kept(headers->folder, header)) return false;
  return true;
}

int cpu_headers_prepare(struct cpu_headers *headers, const char *scratch) {
  char name[256];
  headers->kept = prepare_kept(headers);
  if (headers->kept) return 0;
  if (snprintf(headers->folder, sizeof headers->folder, "%s/device", scratch) >= (int)sizeof headers->folder)
    return ENAMETOOLONG;
  for (const struct device_header *header = luhip_device_headers; header->path; header++) {
    snprintf(name, sizeof name, "device/%s", header->path);
    int error = cpu_scratch_write(scratch, name, header->text, header->bytes);
    if (error) return error;
  }
  return 0;
}
