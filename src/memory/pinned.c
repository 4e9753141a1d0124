/*
 * pinned.c - the cache of pinned host memory.
 */
#include "memory/pinned.h"

enum { SMALLEST = 4096 };

/* Class i holds blocks of class_bytes(i): 8 steps from each power of two to the next. */
static size_t class_of(size_t bytes, size_t *rounded) {
  if (bytes < SMALLEST) bytes = SMALLEST;
  int power = 63 - __builtin_clzll((unsigned long long)bytes);
  size_t step = (size_t)1 << (power - 3);
  *rounded = (bytes + step - 1) / step * step;
  power = 63 - __builtin_clzll((unsigned long long)*rounded);
  return (size_t)power * 8 + ((*rounded >> (power - 3)) & 7);
}

static struct pinned_block *take_head(struct pinned *pinned, size_t class) {
  struct pinned_block *block = pinned->classes[class];
  pinned->classes[class] = block->next;
  if (!block->next) pinned->tails[class] = NULL;
  block->next = NULL;
  pinned->cached -= block->bytes;
  return block;
}

static void let_go(struct pinned *pinned, size_t class, struct pinned_block **list) {
  struct pinned_block *block = take_head(pinned, class);
  pinned->reserved -= block->bytes;
  block->next = *list;
  *list = block;
}

/* Lets go of idle blocks, largest classes first, until the cache is within its limit. */
static void trim(struct pinned *pinned, marks_passed passed, void *user, struct pinned_block **trash) {
  for (size_t class = PINNED_CLASSES; class -- > 0 && pinned->cached > pinned->cache_limit;) {
    while (pinned->classes[class] && pinned->cached > pinned->cache_limit &&
           passed(user, &pinned->classes[class]->marks)) {
      let_go(pinned, class, trash);
    }
  }
}

struct pinned_block *pinned_take(struct pinned *pinned, size_t bytes, marks_passed passed, void *user,
                                 struct pinned_block **trash) {
  if (bytes > (size_t)1 << 62) return NULL;
  size_t rounded, class = class_of(bytes, &rounded);
  if (pinned->classes[class] && passed(user, &pinned->classes[class]->marks)) {
    struct pinned_block *block = take_head(pinned, class);
    block->marks.writer.position = 0;
    block->marks.nreaders = 0;
    return block;
  }
  trim(pinned, passed, user, trash);
  struct pinned_block *block = calloc(1, sizeof *block);
  if (!block) return NULL;
  if (pinned->api->hipHostMalloc(&block->data, rounded, hip_HostMallocDefault) != hip_Success || !block->data) {
    free(block);
    return NULL;
  }
  block->bytes = rounded;
  pinned->reserved += rounded;
  return block;
}

void pinned_give(struct pinned *pinned, struct pinned_block *block) {
  size_t rounded, class = class_of(block->bytes, &rounded);
  block->next = NULL;
  if (pinned->tails[class]) {
    pinned->tails[class]->next = block;
  } else {
    pinned->classes[class] = block;
  }
  pinned->tails[class] = block;
  pinned->cached += block->bytes;
}

void pinned_adopt(struct pinned *pinned, struct pinned_block *block) {
  pinned->reserved += block->bytes;
  pinned_give(pinned, block);
}

void pinned_leave(struct pinned *pinned, const struct pinned_block *block) {
  pinned->reserved -= block->bytes;
}

struct pinned_block *pinned_detach(struct pinned *pinned, marks_passed passed, void *user) {
  struct pinned_block *list = NULL;
  for (size_t class = 0; class < PINNED_CLASSES; class ++) {
    while (pinned->classes[class] && (!passed || passed(user, &pinned->classes[class]->marks))) {
      let_go(pinned, class, &list);
    }
  }
  return list;
}

static void drop_list(const struct hip_api *api, struct pinned_block *list) {
  for (struct pinned_block *next; list; list = next) {
    next = list->next;
    if (api) api->hipHostFree(list->data);
    marks_free(&list->marks);
    free(list);
  }
}

void pinned_free_list(const struct hip_api *api, struct pinned_block *list) {
  drop_list(api, list);
}

void pinned_forget_list(struct pinned_block *list) {
  drop_list(NULL, list);
}
