/*
 * cache.c - the memory side of the cache, and the one place where its two sides and the compiler meet.
 *
 * A slot is in the table from the moment somebody began to build it. Who finds it still building waits on one
 * condition variable for all slots: compiles are few. A slot that failed for reasons beyond its key, went stale or was
 * evicted leaves the table at once and dies with the last thread that looks at it. The others are kept by recent use, up
 * to a number and a size.
 */
#include "kernel/cache.h"
#include "kernel/disk.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, MAX_SLOTS = 1024 };
static const size_t max_bytes = (size_t)128 << 20;

enum slot_state { SLOT_BUILDING, SLOT_READY, SLOT_FAILED };

struct slot {
  struct slot *next;          /* in its bucket */
  struct slot *newer, *older; /* kept ones, by use */
  uint8_t key[HASH_BYTES];
  enum slot_state state;
  bool in_table, kept;
  int refs; /* the table's and each looking thread's */
  luhip_status status;
  luhip_error *error;
  struct kernel_image *image;
  struct dependencies dependencies;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t built = PTHREAD_COND_INITIALIZER;
static struct slot *buckets[BUCKETS];
static struct slot *newest, *oldest;
static size_t kept_slots, kept_bytes;

static atomic_uint_fast64_t compiles, memory_hits, disk_hits, disk_rejects;

void cache_count_compile(void) {
  atomic_fetch_add(&compiles, 1);
}

void luhip_compile_get_stats(luhip_compile_stats *stats) {
  *stats = (luhip_compile_stats){.compiles = atomic_load(&compiles),
                                 .memory_hits = atomic_load(&memory_hits),
                                 .disk_hits = atomic_load(&disk_hits),
                                 .disk_rejects = atomic_load(&disk_rejects)};
}

/* ---- the table; all under the lock ------------------------------------------------------------------------------ */

static struct slot **bucket_of(const uint8_t key[HASH_BYTES]) {
  return &buckets[key[0]];
}

static struct slot *find_slot(const uint8_t key[HASH_BYTES]) {
  struct slot *slot = *bucket_of(key);
  while (slot && memcmp(slot->key, key, HASH_BYTES) != 0) slot = slot->next;
  return slot;
}

static struct slot *add_slot(const uint8_t key[HASH_BYTES]) {
  struct slot *slot = calloc(1, sizeof *slot);
  if (!slot) return NULL;
  memcpy(slot->key, key, HASH_BYTES);
  slot->refs = 2; /* the table's and the builder's */
  slot->in_table = true;
  slot->next = *bucket_of(key);
  *bucket_of(key) = slot;
  return slot;
}

static void drop_slot(struct slot *slot) {
  if (--slot->refs > 0) return;
  kernel_image_release(slot->image);
  luhip_error_release(slot->error);
  dependencies_free(&slot->dependencies);
  free(slot);
}

static void unlink_use(struct slot *slot) {
  *(slot->newer ? &slot->newer->older : &newest) = slot->older;
  *(slot->older ? &slot->older->newer : &oldest) = slot->newer;
  slot->newer = slot->older = NULL;
}

static void link_newest(struct slot *slot) {
  slot->older = newest;
  if (newest) newest->newer = slot;
  newest = slot;
  if (!oldest) oldest = slot;
}

static size_t bytes_of(const struct slot *slot) {
  return slot->image ? slot->image->code_bytes : 0;
}

static void remove_slot(struct slot *slot) {
  if (!slot->in_table) return;
  struct slot **at = bucket_of(slot->key);
  while (*at != slot) at = &(*at)->next;
  *at = slot->next;
  slot->in_table = false;
  if (slot->kept) {
    unlink_use(slot);
    kept_slots--;
    kept_bytes -= bytes_of(slot);
  }
  drop_slot(slot);
}

static void keep_slot(struct slot *slot) {
  link_newest(slot);
  slot->kept = true;
  kept_slots++;
  kept_bytes += bytes_of(slot);
  while (oldest != slot && (kept_slots > MAX_SLOTS || kept_bytes > max_bytes)) remove_slot(oldest);
}

/* ---- fetching --------------------------------------------------------------------------------------------------- */

/* What a finished slot gives its waiters. */
static luhip_status take_result(const struct slot *slot, struct kernel_image **image, luhip_error **error) {
  if (slot->state == SLOT_READY) *image = kernel_image_retain(slot->image);
  if (slot->state == SLOT_FAILED && slot->error) return error_give(error, luhip_error_retain(slot->error));
  return slot->status;
}

static bool load_from_disk(struct slot *slot) {
  bool rejected;
  slot->image = disk_load(slot->key, &slot->dependencies, &rejected);
  if (rejected) atomic_fetch_add(&disk_rejects, 1);
  if (slot->image) atomic_fetch_add(&disk_hits, 1);
  return slot->image != NULL;
}

/* The builder's part: fills the slot without the lock, then publishes it. */
static luhip_status build_slot(struct slot *slot, cache_build *build, void *user, struct kernel_image **image,
                               luhip_error **error) {
  bool lasting = true;
  if (!load_from_disk(slot)) {
    slot->status = build(user, &slot->image, &slot->dependencies, &lasting, &slot->error);
    if (slot->status == LUHIP_OK && lasting) disk_store(slot->key, slot->image, &slot->dependencies);
  }
  pthread_mutex_lock(&lock);
  slot->state = slot->status == LUHIP_OK ? SLOT_READY : SLOT_FAILED;
  luhip_status status = take_result(slot, image, error);
  if (lasting) {
    keep_slot(slot);
  } else {
    remove_slot(slot);
  }
  pthread_cond_broadcast(&built);
  drop_slot(slot);
  pthread_mutex_unlock(&lock);
  return status;
}

/* A ready slot whose files are as they were. Called with the lock held, gives it up for the files. */
static bool is_fresh(struct slot *slot) {
  if (!slot->dependencies.n) return true;
  pthread_mutex_unlock(&lock);
  bool fresh = dependencies_hold(&slot->dependencies);
  pthread_mutex_lock(&lock);
  return fresh;
}

luhip_status cache_fetch(const uint8_t key[HASH_BYTES], cache_build *build, void *user, struct kernel_image **image,
                         luhip_error **error) {
  pthread_mutex_lock(&lock);
  for (struct slot *slot; (slot = find_slot(key)) != NULL;) {
    slot->refs++;
    bool waited = slot->state == SLOT_BUILDING;
    while (slot->state == SLOT_BUILDING) pthread_cond_wait(&built, &lock);
    if (waited || is_fresh(slot)) {
      luhip_status status = take_result(slot, image, error);
      if (slot->kept && slot->in_table) {
        unlink_use(slot);
        link_newest(slot);
      }
      drop_slot(slot);
      pthread_mutex_unlock(&lock);
      if (status == LUHIP_OK) atomic_fetch_add(&memory_hits, 1);
      return status;
    }
    remove_slot(slot);
    drop_slot(slot);
  }
  struct slot *slot = add_slot(key);
  pthread_mutex_unlock(&lock);
  if (!slot) return error_set(error, LUHIP_E_MEMORY, "out of host memory");
  return build_slot(slot, build, user, image, error);
}

void cache_clear(void) {
  pthread_mutex_lock(&lock);
  while (oldest) remove_slot(oldest);
  pthread_mutex_unlock(&lock);
}
