/*
 * metadata.c - the tables of integers that each stream has uploaded.
 *
 * A hash table of entries for each slot that was ever given one. Unpinned entries are in a list by age of use as well;
 * pinned ones are not, so that evicting never has to look for one that may go. An entry holds its allocation, and the
 * allocation points back, which is how a graph's node finds what it pins.
 */
#include "server/metadata.h"

#include "server/capture.h"
#include "server/transfer.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 }; /* a power of two */

struct metadata_entry {
  struct metadata_entry *chain;         /* of its bucket */
  struct metadata_entry *newer, *older; /* of the unpinned ones */
  struct allocation *allocation;        /* held */
  uint64_t hash;
  size_t bytes;
  uint64_t capture; /* the last one that pinned it */
  unsigned pins;
  uint32_t slot;
  unsigned char words[];
};

struct metadata {
  struct metadata_entry *buckets[BUCKETS];
  struct metadata_entry *newest, *oldest;
  struct metadata_counts counts;
};

/* ---- the hash table ------------------------------------------------------------------------------------------ */

/* FNV-1a by words of 8 bytes, the rest by bytes. */
static uint64_t hash_words(const unsigned char *words, size_t bytes) {
  uint64_t hash = 0xCBF29CE484222325u ^ bytes;
  for (; bytes >= 8; words += 8, bytes -= 8) {
    uint64_t word;
    memcpy(&word, words, sizeof word);
    hash = (hash ^ word) * 0x100000001B3u;
    hash ^= hash >> 29; /* the multiplication carries upwards only */
  }
  for (; bytes; words++, bytes--) hash = (hash ^ *words) * 0x100000001B3u;
  return hash ^ hash >> 32;
}

static struct metadata_entry **bucket_of(struct metadata *metadata, uint64_t hash) {
  return &metadata->buckets[hash & (BUCKETS - 1)];
}

static struct metadata_entry *find(struct metadata *metadata, uint64_t hash, const unsigned char *words, size_t bytes) {
  struct metadata_entry *entry = *bucket_of(metadata, hash);
  while (entry && (entry->hash != hash || entry->bytes != bytes || memcmp(entry->words, words, bytes) != 0))
    entry = entry->chain;
  return entry;
}

static void age_remove(struct metadata *metadata, struct metadata_entry *entry) {
  *(entry->newer ? &entry->newer->older : &metadata->newest) = entry->older;
  *(entry->older ? &entry->older->newer : &metadata->oldest) = entry->newer;
  entry->newer = entry->older = NULL;
  metadata->counts.entries--;
}

static void age_add(struct metadata *metadata, struct metadata_entry *entry) {
  entry->newer = NULL;
  entry->older = metadata->newest;
  *(entry->older ? &entry->older->newer : &metadata->oldest) = entry;
  metadata->newest = entry;
  metadata->counts.entries++;
}

/* Its memory goes back with the marks of who uses it still. */
static void forget(struct metadata *metadata, struct metadata_entry *entry) {
  struct metadata_entry **link = bucket_of(metadata, entry->hash);
  while (*link != entry) link = &(*link)->chain;
  *link = entry->chain;
  entry->allocation->metadata = NULL;
  allocation_unhold(entry->allocation);
  free(entry);
}

static void evict(struct metadata *metadata, size_t most) {
  while (metadata->counts.entries > most) {
    struct metadata_entry *entry = metadata->oldest;
    age_remove(metadata, entry);
    forget(metadata, entry);
  }
}

/* ---- pins ---------------------------------------------------------------------------------------------------- */

static void pin(struct metadata *metadata, struct metadata_entry *entry) {
  if (entry->pins++) return;
  age_remove(metadata, entry);
  metadata->counts.pinned++;
}

/* keep: it may become an ordinary one. */
static void unpin(struct metadata *metadata, struct metadata_entry *entry, bool keep) {
  if (--entry->pins) return;
  metadata->counts.pinned--;
  if (!keep || entry->bytes > METADATA_BYTES) {
    forget(metadata, entry);
    return;
  }
  age_add(metadata, entry);
  evict(metadata, METADATA_ENTRIES);
}

void metadata_hold(struct allocation *allocation) {
  struct metadata_entry *entry = allocation->metadata;
  if (entry) pin(allocation->device->metadata[entry->slot], entry);
}

void metadata_unhold(struct allocation *allocation) {
  struct metadata_entry *entry = allocation->metadata;
  if (entry) unpin(allocation->device->metadata[entry->slot], entry, false);
}

/* Once for each capture. False when the host has no memory. */
static bool pin_for_capture(luhip_device *device, struct metadata_entry *entry) {
  struct capture *capture = device->captures[entry->slot];
  if (!capture || entry->capture == capture->since) return true;
  struct metadata_pins *pins = &capture->pins;
  if (pins->count == pins->capacity) {
    size_t capacity = pins->capacity ? pins->capacity * 2 : 16;
    struct metadata_entry **list = realloc(pins->list, capacity * sizeof *list);
    if (!list) return false;
    pins->list = list;
    pins->capacity = capacity;
  }
  pins->list[pins->count++] = entry;
  entry->capture = capture->since;
  pin(device->metadata[entry->slot], entry);
  return true;
}

void metadata_release_pins(luhip_device *device, struct metadata_pins *pins) {
  for (size_t i = 0; i < pins->count; i++) {
    struct metadata_entry *entry = pins->list[i];
    entry->capture = 0;
    unpin(device->metadata[entry->slot], entry, true);
  }
  free(pins->list);
  *pins = (struct metadata_pins){0};
}

/* ---- uploading ----------------------------------------------------------------------------------------------- */

static luhip_status no_memory(size_t bytes, luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a table of %zu bytes", bytes);
}

/* Memory with these words, held once. */
static luhip_status upload(luhip_device *device, uint32_t slot, const luhip_layout *layout, const unsigned char *words,
                           struct allocation **out, luhip_error **error) {
  struct allocation *allocation = allocation_new(device, layout->bytes, layout);
  if (!allocation) return no_memory(layout->bytes, error);
  allocation_set_internal(allocation);
  struct capture *capture = capture_recording(device, slot);
  luhip_status status = capture ? capture_memory(capture, allocation, "a table of integers", error) : LUHIP_OK;
  if (!status) status = write_bytes(allocation, slot, words, error);
  if (status) {
    allocation_unref(allocation);
  } else {
    *out = allocation;
  }
  return status;
}

static struct metadata *metadata_of(luhip_device *device, uint32_t slot) {
  if (!device->metadata[slot]) device->metadata[slot] = calloc(1, sizeof *device->metadata[slot]);
  return device->metadata[slot];
}

/* The allocation becomes an entry, unless the host has no memory for one: it then serves once. */
static struct metadata_entry *enter(struct metadata *metadata, uint32_t slot, uint64_t hash,
                                    struct allocation *allocation, const unsigned char *words) {
  struct metadata_entry *entry = malloc(sizeof *entry + allocation->bytes);
  if (!entry) return NULL;
  struct metadata_entry **bucket = bucket_of(metadata, hash);
  *entry = (struct metadata_entry){
      .chain = *bucket, .allocation = allocation, .hash = hash, .bytes = allocation->bytes, .slot = slot};
  memcpy(entry->words, words, entry->bytes);
  *bucket = entry;
  allocation->metadata = entry;
  allocation_hold(allocation);
  age_add(metadata, entry);
  return entry;
}

static void used(struct metadata *metadata, struct metadata_entry *entry) {
  if (entry->pins || metadata->newest == entry) return;
  age_remove(metadata, entry);
  age_add(metadata, entry);
}

/* Held once for the caller. */
static luhip_status obtain(luhip_device *device, uint32_t slot, const luhip_layout *layout, const unsigned char *words,
                           struct allocation **out, luhip_error **error) {
  struct metadata *metadata = metadata_of(device, slot);
  if (!metadata) return no_memory(layout->bytes, error);
  uint64_t hash = hash_words(words, layout->bytes);
  struct metadata_entry *entry = find(metadata, hash, words, layout->bytes);
  if (entry) {
    metadata->counts.hits++;
    used(metadata, entry);
    allocation_hold(entry->allocation);
    *out = entry->allocation;
  } else {
    luhip_status status = upload(device, slot, layout, words, out, error);
    if (status) return status;
    metadata->counts.uploads++;
    /* The lock may have been dropped: somebody else may have entered the same, which does no harm but to find first. */
    bool keep = layout->bytes <= METADATA_BYTES || device->captures[slot];
    if (keep) entry = enter(metadata, slot, hash, *out, words);
  }
  if (entry && !pin_for_capture(device, entry)) {
    allocation_unhold(*out);
    *out = NULL; /* metadata_done gives back what it finds there */
    return no_memory(layout->bytes, error);
  }
  evict(metadata, METADATA_ENTRIES);
  return LUHIP_OK;
}

static luhip_status resolve_one(luhip_device *device, uint32_t slot, const struct kernel_signature *signature,
                                struct kernel_use *argument, luhip_error **error) {
  unsigned char few[METADATA_BYTES];
  luhip_layout layout;
  kernel_table_layout(signature, argument, &layout);
  unsigned char *words = layout.bytes <= sizeof few ? few : malloc(layout.bytes);
  if (!words) return no_memory(layout.bytes, error);
  kernel_table_words(signature, argument, words);
  luhip_status status = obtain(device, slot, &layout, words, &argument->made, error);
  if (words != few) free(words);
  return status;
}

luhip_status metadata_resolve(luhip_device *device, uint32_t slot, const struct kernel_signature *signature,
                              struct kernel_use *arguments, size_t narguments, luhip_error **error) {
  luhip_status status = LUHIP_OK;
  for (size_t i = 0; i < narguments && !status; i++) {
    if (arguments[i].table) status = resolve_one(device, slot, signature, &arguments[i], error);
  }
  return status;
}

void metadata_done(struct kernel_use *arguments, size_t narguments) {
  for (size_t i = 0; i < narguments; i++) {
    if (arguments[i].made) allocation_unhold(arguments[i].made);
    arguments[i].made = NULL;
  }
}

/* ---- clearing ------------------------------------------------------------------------------------------------ */

void metadata_clear(luhip_device *device, uint32_t slot) {
  if (device->metadata[slot]) evict(device->metadata[slot], 0);
}

void metadata_clear_all(luhip_device *device) {
  for (uint32_t slot = 0; slot < SLOTS; slot++) metadata_clear(device, slot);
}

void metadata_close(luhip_device *device) {
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    struct metadata *metadata = device->metadata[slot];
    if (!metadata) continue;
    evict(metadata, 0);
    free(metadata);
    device->metadata[slot] = NULL;
  }
}

struct metadata_counts metadata_count(const luhip_device *device, uint32_t slot) {
  return device->metadata[slot] ? device->metadata[slot]->counts : (struct metadata_counts){0};
}
