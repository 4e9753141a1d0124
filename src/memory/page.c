/*
 * page.c - making, cutting, fusing and freeing pages.
 */
#include "memory/page.h"

#include "base/log.h"

#include <stdlib.h>

enum { SPARE = 64 }; /* records that are kept */

static void tell(const struct storage *storage, size_t bytes, const char *done) {
  if (!storage->device) return;
  LOG(LOG_MEMORY, LOG_BASIC, "%s: %zu bytes of %s memory %s the driver, %zu held", storage->device, bytes,
      storage->what, done, storage->reserved);
}

enum page_result page_new(struct storage *storage, size_t bytes, struct page **out, int *code) {
  if (!storage_within_limit(storage, bytes)) return PAGE_LIMIT;
  struct page *page = calloc(1, sizeof *page);
  struct slice *slice = page ? calloc(1, sizeof *slice) : NULL;
  void *address = NULL;
  enum page_result result = PAGE_NO_HOST;
  if (!slice) goto failed;
  *code = storage->allocate(storage->user, bytes, &address);
  result = *code == storage->full ? PAGE_FULL : PAGE_FAILED;
  if (*code) goto failed;
  *page = (struct page){.address = address, .bytes = bytes, .storage = storage, .first = slice};
  *slice = (struct slice){.address = address, .bytes = bytes, .page = page};
  storage->reserved += bytes;
  tell(storage, bytes, "taken from");
  *out = page;
  return PAGE_OK;
failed:
  free(slice);
  free(page);
  return result;
}

void page_leave(struct page *page) {
  page->storage->reserved -= page->bytes;
  tell(page->storage, page->bytes, "given back to");
  page->pool = NULL;
}

static void drop(struct page *list, bool release) {
  for (struct page *older; list; list = older) {
    older = list->older;
    if (release) list->storage->release(list->storage->user, list->address);
    for (struct slice *slice = list->first, *after; slice; slice = after) {
      after = slice->after;
      marks_free(&slice->marks);
      free(slice);
    }
    free(list);
  }
}

void pages_free(struct page *list) {
  drop(list, true);
}

void pages_forget(struct page *list) {
  drop(list, false);
}

/* Cutting and fusing come in turns, so a few records are kept for the next cut. */
static void record_give(struct storage *storage, struct slice *slice) {
  marks_free(&slice->marks);
  if (storage->nspare == SPARE) {
    free(slice);
    return;
  }
  slice->next = storage->spare;
  storage->spare = slice;
  storage->nspare++;
}

static struct slice *record_take(struct storage *storage) {
  struct slice *slice = storage->spare;
  if (!slice) return calloc(1, sizeof *slice);
  storage->spare = slice->next;
  storage->nspare--;
  *slice = (struct slice){0};
  return slice;
}

void storage_close(struct storage *storage) {
  while (storage->spare) {
    struct slice *slice = storage->spare;
    storage->spare = slice->next;
    free(slice);
  }
  storage->nspare = 0;
}

struct slice *slice_cut(struct slice *slice, size_t bytes) {
  struct storage *storage = slice->page->storage;
  struct slice *rest = record_take(storage);
  if (!rest) return NULL;
  if (!marks_merge(&rest->marks, &slice->marks)) {
    record_give(storage, rest);
    return NULL;
  }
  rest->address = (char *)slice->address + bytes;
  rest->bytes = slice->bytes - bytes;
  rest->page = slice->page;
  rest->before = slice;
  rest->after = slice->after;
  if (rest->after) rest->after->before = rest;
  slice->after = rest;
  slice->bytes = bytes;
  return rest;
}

bool slice_fuse(struct slice *slice) {
  struct slice *gone = slice->after;
  if (!marks_merge(&slice->marks, &gone->marks)) return false;
  slice->bytes += gone->bytes;
  slice->after = gone->after;
  if (slice->after) slice->after->before = slice;
  record_give(gone->page->storage, gone);
  return true;
}
