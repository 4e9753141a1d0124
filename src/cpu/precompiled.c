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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/spawn.h"
#include "cpu/command_line.h"

enum { MAKE_TIMEOUT_MS = 60000, MAX_FAILURES = 2, STATES = 8 };

/* What this process knows of one such file. Of many (compilers, cache folders) the last few are remembered. */
struct state {
  char path[HEADERS_PATH + 64];
  unsigned asked, failures;
  bool making;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct state states[STATES];

/* The lock is held. */
static struct state *state_of(const char *path) {
  static unsigned next;
  for (int i = 0; i < STATES; i++)
    if (strcmp(states[i].path, path) == 0) return &states[i];
  struct state *state = &states[next++ % STATES];
  *state = (struct state){.asked = 0};
  snprintf(state->path, sizeof state->path, "%s", path);
  return state;
}

static void note_end(const char *path, bool failed) {
  pthread_mutex_lock(&lock);
  struct state *state = state_of(path);
  state->making = false;
  state->failures += failed;
  pthread_mutex_unlock(&lock);
}

enum answer { ANSWER_USE, ANSWER_MAKE, ANSWER_NONE };

static bool is_own_file(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static enum answer ask(const char *path) {
  enum answer answer = ANSWER_NONE;
  bool there = is_own_file(path);
  pthread_mutex_lock(&lock);
  struct state *state = state_of(path);
  if (state->failures < MAX_FAILURES) {
    if (there)
      answer = ANSWER_USE;
    else if (state->asked++ > 0 && !state->making)
      answer = ANSWER_MAKE;
  }
  state->making = state->making || answer == ANSWER_MAKE;
  pthread_mutex_unlock(&lock);
  return answer;
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
  enum answer answer = ask(precompiled->path);
  if (answer != ANSWER_MAKE) return answer == ANSWER_USE;
  bool made = make(precompiled->path, toolchain, headers, warp, environment);
  note_end(precompiled->path, !made);
  return made;
}

void cpu_precompiled_discard(const struct precompiled *precompiled) {
  unlink(precompiled->path);
  note_end(precompiled->path, true);
}
