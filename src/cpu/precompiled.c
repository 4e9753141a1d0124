/*
 * precompiled.c - the device headers precompiled.
 *
 * The file lies beside the headers, named after a hash of compiler, options and headers. Making it costs more than it
 * saves on one compile, so the second compile of a process makes it, and the next process finds it. It appears by
 * renaming, so nobody sees half of one. The compiler checks it against the headers' times; where it objects, the file
 * is removed and the compile done again without. It is read as code, so it must be this user's own.
 */
#include "cpu/precompiled.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/spawn.h"
#include "cpu/command_line.h"

enum { MAKE_TIMEOUT_MS = 60000, MAX_DISCARDS = 2 };

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint asked, discards;

static bool is_own_file(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static bool make(const char *path, const struct toolchain *toolchain, const struct cpu_headers *headers, unsigned warp,
                 const char *const *environment) {
  char temporary[HEADERS_PATH + 96], header[HEADERS_PATH + 32];
  snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  snprintf(header, sizeof header, "%s/hip/hip_runtime.h", headers->folder);
  struct command_line line = {.items = NULL};
  cpu_line_begin(&line, toolchain, warp);
  const char *const rest[] = {"-isystem", headers->folder, "-o", temporary, "-x", "c++-header", header};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) cpu_line_add(&line, rest[i]);
  struct spawn_request request = {
      .path = toolchain->compiler, .argv = line.items, .envp = environment, .timeout_ms = MAKE_TIMEOUT_MS};
  struct spawn_result result = {.output = NULL};
  bool good = !line.failed && spawn_run(&request, &result) == 0 &&
              (result.end == SPAWN_UNKNOWN || (result.end == SPAWN_EXITED && result.code == 0)) &&
              chmod(temporary, 0600) == 0 && rename(temporary, path) == 0;
  if (!good) unlink(temporary);
  free(result.output);
  cpu_line_free(&line);
  return good;
}

bool cpu_precompiled_get(struct precompiled *precompiled, const struct toolchain *toolchain,
                         const struct cpu_headers *headers, unsigned warp, const char *const *environment) {
  uint8_t digest[HASH_BYTES];
  char hex[2 * HASH_BYTES + 1];
  cpu_line_identity(toolchain, warp, digest);
  for (int i = 0; i < HASH_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  snprintf(precompiled->path, sizeof precompiled->path, "%s/%s.pch", headers->folder, hex);
  if (atomic_load(&discards) >= MAX_DISCARDS) return false;
  if (is_own_file(precompiled->path)) return true;
  if (atomic_fetch_add(&asked, 1) == 0 || pthread_mutex_trylock(&making)) return false;
  bool made = make(precompiled->path, toolchain, headers, warp, environment);
  pthread_mutex_unlock(&making);
  if (!made) atomic_store(&discards, MAX_DISCARDS); /* it will not go better next time */
  return made;
}

void cpu_precompiled_discard(const struct precompiled *precompiled) {
  atomic_fetch_add(&discards, 1);
  unlink(precompiled->path);
}
