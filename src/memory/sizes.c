/*
 * sizes.c - the tree of rings.
 *
 * A ring's head is the slice in the tree. Those added later stand behind it, newest first, and come and go without the
 * tree being touched.
 */
#include "memory/sizes.h"

enum { LOOKS = 4 }; /* different sizes that are looked at for a slice that is idle */

/* Heads with more of it stand above those with less: chance by the address alone, so that runs repeat. */
static uint64_t priority(const struct slice *slice) {
  uint64_t mixed = (uint64_t)(uintptr_t)slice * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 29;
}

static struct slice **find_link(struct sizes *sizes, size_t bytes) {
  struct slice **link = &sizes->root;
  while (*link && (*link)->bytes != bytes) link = bytes < (*link)->bytes ? &(*link)->left : &(*link)->right;
  return link;
}

/* ---- the tree ------------------------------------------------------------------------------------------------ */

static void tree_insert(struct sizes *sizes, struct slice *slice) {
  struct slice **link = &sizes->root;
  while (*link && priority(*link) >= priority(slice))
    link = slice->bytes < (*link)->bytes ? &(*link)->left : &(*link)->right;
  struct slice *rest = *link, **left = &slice->left, **right = &slice->right;
  *link = slice;
  while (rest) {
    if (rest->bytes < slice->bytes) {
      *left = rest;
      left = &rest->right;
      rest = rest->right;
    } else {
      *right = rest;
      right = &rest->left;
      rest = rest->left;
    }
  }
  *left = *right = NULL;
}

static void tree_remove(struct slice **link) {
  struct slice *left = (*link)->left, *right = (*link)->right;
  while (left && right) {
    if (priority(left) > priority(right)) {
      *link = left;
      link = &left->right;
      left = left->right;
    } else {
      *link = right;
      link = &right->left;
      right = right->left;
    }
  }
  *link = left ? left : right;
}

static const struct slice *at_least(const struct sizes *sizes, size_t bytes) {
  const struct slice *best = NULL;
  for (const struct slice *at = sizes->root; at;) {
    if (at->bytes >= bytes) {
      best = at;
      at = at->left;
    } else {
      at = at->right;
    }
  }
  return best;
}

/* ---- rings --------------------------------------------------------------------------------------------------- */

void sizes_add(struct sizes *sizes, struct slice *slice) {
  struct slice *head = *find_link(sizes, slice->bytes);
  slice->head = !head;
  if (!head) {
    slice->next = slice->previous = slice;
    tree_insert(sizes, slice);
    return;
  }
  slice->next = head->next;
  slice->previous = head;
  slice->next->previous = head->next = slice;
}

/* The place in the tree goes to the next of the ring. That one's own chance does not matter for being found; the order of
   the heap would be lost, so it is taken out and put in again. */
static void replace_head(struct sizes *sizes, struct slice *slice) {
  tree_remove(find_link(sizes, slice->bytes));
  if (slice->next == slice) return;
  slice->next->head = true;
  tree_insert(sizes, slice->next);
}

void sizes_remove(struct sizes *sizes, struct slice *slice) {
  if (slice->head) replace_head(sizes, slice);
  slice->next->previous = slice->previous;
  slice->previous->next = slice->next;
  slice->next = slice->previous = NULL;
  slice->head = false;
}

struct slice *sizes_find(const struct sizes *sizes, size_t least, size_t most, marks_passed passed, void *user,
                         struct slice **busy) {
  const struct slice *head = at_least(sizes, least);
  *busy = NULL;
  for (int look = 0; head && head->bytes <= most && look < LOOKS; look++) {
    /* The newest is likely to be in a cache, the oldest to be idle. */
    struct slice *candidates[] = {head->next, head->previous, head->next->previous};
    for (int i = 0; i < 3; i++) {
      if (passed(user, &candidates[i]->marks)) return candidates[i];
    }
    if (!*busy) *busy = head->previous;
    if (head->bytes == SIZE_MAX) break;
    head = at_least(sizes, head->bytes + 1);
  }
  return NULL;
}
