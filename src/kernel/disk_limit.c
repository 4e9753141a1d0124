/*
 * disk_limit.c - the oldest entries go.
 *
 * An entry's time of change says when it was used last: a hit sets it. Looking at the folder costs a stat for each entry,
 * so it is done at a process's first store into it and then whenever what was stored since, or might have been by others,
 * could matter. Processes need not agree: each removes the same oldest ones, one that was removed already is no error, and who
 * is reading one reads on. Temporary files that a process left when it died are removed as well once they are old.
 */
#include "kernel/disk_limit.h"

#include "base/config.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STORES_BETWEEN_LOOKS = 32, TEMPORARY_SECONDS = 3600, BLOCK = 4096 };

struct entry {
  char name[64];
  struct timespec used;
  uint64_t bytes;
};

struct entries {
  struct entry *list;
  size_t n, room;
  uint64_t bytes;
};

static struct {
  pthread_mutex_t lock;
  bool looked; /* at the folder of these numbers; what follows is of it */
  dev_t device;
  ino_t folder;
  uint64_t bytes; /* when it was looked at last, and what was stored since */
  unsigned stores;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void disk_used(int folder, const char *name) {
  utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW); /* where it may not be, its age is that of its making */
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
  size_t length = strlen(name), ending = strlen(end);
  return length > ending && strcmp(name + length - ending, end) == 0;
}

static void note(struct entries *entries, const char *name, const struct stat *info) {
  if (entries->n == entries->room) {
    size_t room = entries->room ? entries->room * 2 : 256;
    struct entry *list = realloc(entries->list, room * sizeof *list);
    if (!list) return; /* not seen this time */
    entries->list = list;
    entries->room = room;
  }
  struct entry *entry = &entries->list[entries->n++];
  *entry = (struct entry){.used = info->st_mtim, .bytes = (uint64_t)info->st_blocks * 512};
  memcpy(entry->name, name, strlen(name) + 1);
  entries->bytes += entry->bytes;
}

static void look(DIR *dir, struct entries *entries) {
  time_t now = time(NULL);
  int folder = dirfd(dir);
  for (const struct dirent *found; (found = readdir(dir)) != NULL;) {
    struct stat info;
    bool kernel = ends_with(found->d_name, ".kernel"), temporary = strncmp(found->d_name, ".new-", 5) == 0;
    if ((!kernel && !temporary) || strlen(found->d_name) >= sizeof(((struct entry *)0)->name) ||
        fstatat(folder, found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
      continue;
    if (kernel) note(entries, found->d_name, &info);
    if (temporary && info.st_mtim.tv_sec < now - TEMPORARY_SECONDS) unlinkat(folder, found->d_name, 0);
  }
}

static int by_use(const void *left, const void *right) {
  const struct timespec *a = &((const struct entry *)left)->used, *b = &((const struct entry *)right)->used;
  if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
  return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* A little more than needed, so that not every store after this removes something. */
static void shrink(int folder, struct entries *entries, uint64_t limit, const char *kept) {
  if (entries->bytes <= limit) return;
  qsort(entries->list, entries->n, sizeof *entries->list, by_use);
  for (size_t i = 0; i < entries->n && entries->bytes > limit - limit / 10; i++) {
    const struct entry *entry = &entries->list[i];
    if (strcmp(entry->name, kept) == 0 || unlinkat(folder, entry->name, 0) != 0) continue;
    entries->bytes -= entry->bytes;
  }
}

static uint64_t look_and_shrink(int folder, uint64_t limit, const char *kept) {
  struct entries entries = {0};
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
  DIR *dir = own >= 0 ? fdopendir(own) : NULL;
  if (!dir) {
    if (own >= 0) close(own);
    return 0;
  }
  look(dir, &entries);
  shrink(folder, &entries, limit, kept);
  closedir(dir);
  free(entries.list);
  return entries.bytes;
}

/* ---- when ------------------------------------------------------------------------------------------------------- */

static bool is_known(int folder) {
  struct stat info;
  if (fstat(folder, &info) != 0) return false;
  bool known = state.looked && info.st_dev == state.device && info.st_ino == state.folder;
  state.device = info.st_dev;
  state.folder = info.st_ino;
  return known;
}

/* Whether what was stored may have made the folder too large. */
static bool is_due(int folder, uint64_t limit, size_t bytes) {
  if (!is_known(folder)) return true;
  state.bytes += (bytes + BLOCK - 1) / BLOCK * BLOCK;
  state.stores++;
  return state.bytes > limit || state.stores >= STORES_BETWEEN_LOOKS;
}

void disk_stored(int folder, const char *name, size_t bytes) {
  uint64_t limit = 0;
  bool limited = config_number(CONFIG_CACHE_LIMIT, &limit, NULL) == LUHIP_OK && limit;
  pthread_mutex_lock(&state.lock);
  if (limited && is_due(folder, limit, bytes)) {
    state.stores = 0;
    state.bytes = look_and_shrink(folder, limit, name);
  }
  state.looked = limited; /* without a limit nothing is counted */
  pthread_mutex_unlock(&state.lock);
}
