/*
 * arena_block.c - blocks of the arena's addresses.
 *
 * Live blocks are a treap by address. Free ones lie in bins by size, so that any block of a bin that is searched is
 * large enough, and the first one is taken. Blocks of a zone are linked by address, and no two free ones stand side by
 * side.
 */
#include "cpu/arena_block.h"

#include <stdlib.h>

/* ---- live blocks by address: a treap ------------------------------------------------------------------ */

void cpu_live_insert(struct block **root, struct block *block) {
  static uint32_t random = 2463534242u;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  block->priority = random;
  struct block **link = root;
  while (*link && (*link)->priority >= block->priority)
    link = block->base < (*link)->base ? &(*link)->left : &(*link)->right;
  struct block *rest = *link, **left = &block->left, **right = &block->right;
  *link = block;
  while (rest) {
    if (rest->base < block->base) {
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

void cpu_live_remove(struct block **root, struct block *block) {
  struct block **link = root;
  while (*link != block) link = block->base < (*link)->base ? &(*link)->left : &(*link)->right;
  struct block *left = block->left, *right = block->right;
  while (left && right) {
    if (left->priority > right->priority) {
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

void cpu_live_around(struct block *root, uintptr_t address, struct block **below, struct block **above) {
  *below = *above = NULL;
  for (struct block *at = root; at;) {
    if (at->base <= address) {
      *below = at;
      at = at->right;
    } else {
      *above = at;
      at = at->left;
    }
  }
}

/* ---- free blocks by size: bins -------------------------------------------------------------------------- */

/* The bin of a block with so many pages: blocks of bin i are at least as large as bin_of(size) == i says. */
static unsigned bin_of(size_t pages) {
  if (pages < 16) return (unsigned)pages;
  unsigned top = 63 - (unsigned)__builtin_clzll(pages);
  return 16 + (top - 4) * 8 + (unsigned)((pages >> (top - 3)) & 7);
}

/* The first bin whose every block has at least so many pages. */
static unsigned bin_from(size_t pages) {
  if (pages >= 16) {
    unsigned top = 63 - (unsigned)__builtin_clzll(pages);
    pages += ((size_t)1 << (top - 3)) - 1;
  }
  return bin_of(pages);
}

void cpu_block_push(struct block **head, struct block *block) {
  block->next = *head;
  block->link = head;
  if (block->next) block->next->link = &block->next;
  *head = block;
}

void cpu_block_remove(struct block *block) {
  *block->link = block->next;
  if (block->next) block->next->link = block->link;
}

static void bin_push(struct block *block) {
  unsigned bin = bin_of(block->pages + block->zone->guard);
  cpu_block_push(&block->zone->bins[bin], block);
  block->zone->used[bin / 64] |= (uint64_t)1 << bin % 64;
  block->state = BLOCK_FREE;
}

static void bin_remove(struct block *block) {
  unsigned bin = bin_of(block->pages + block->zone->guard);
  cpu_block_remove(block);
  if (!block->zone->bins[bin]) block->zone->used[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

static struct block *bin_find(struct zone *zone, size_t pages) {
  unsigned bin = bin_from(pages);
  for (unsigned word = bin / 64; word < sizeof zone->used / sizeof zone->used[0]; word++) {
    uint64_t bits = zone->used[word];
    if (word == bin / 64) bits &= ~(uint64_t)0 << bin % 64;
    if (bits) return zone->bins[word * 64 + (unsigned)__builtin_ctzll(bits)];
  }
  return NULL;
}

/* ---- cutting and fusing ----------------------------------------------------------------------------------- */

/* Cuts a block that is in no list: it keeps `pages` and its guard, what follows becomes the returned block (which may
   consist of a guard alone). NULL: no memory. */
static struct block *cut(struct block *block, size_t pages) {
  struct block *rest = calloc(1, sizeof *rest);
  if (!rest) return NULL;
  size_t guard = block->zone->guard;
  rest->zone = block->zone;
  rest->base = block->base + (pages + guard) * PAGE;
  rest->pages = block->pages - pages - guard;
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  block->pages = pages;
  return rest;
}

/* Appends the block after it, which is in no list, and forgets that one. */
static void fuse(struct block *block) {
  struct block *gone = block->after;
  block->pages += gone->pages + block->zone->guard;
  block->after = gone->after;
  if (block->after) block->after->before = block;
  free(gone);
}

void cpu_zone_give(struct block *block) {
  if (block->after && block->after->state == BLOCK_FREE) {
    bin_remove(block->after);
    fuse(block);
  }
  if (block->before && block->before->state == BLOCK_FREE) {
    block = block->before;
    bin_remove(block);
    fuse(block);
  }
  bin_push(block);
}

struct block *cpu_zone_take(struct zone *zone, size_t pages, size_t align) {
  struct block *block = bin_find(zone, pages + zone->guard + (align - 1));
  if (!block) return NULL;
  bin_remove(block);
  uintptr_t wanted = (block->base + align * PAGE - 1) / (align * PAGE) * (align * PAGE);
  size_t skip = (wanted - block->base) / PAGE; /* 0 in the packed zone, which aligns to pages */
  if (skip) {
    struct block *rest = cut(block, skip - zone->guard);
    bin_push(block);
    if (!rest) return NULL;
    block = rest;
  }
  if (block->pages > pages) {
    struct block *rest = cut(block, pages);
    if (!rest) {
      cpu_zone_give(block);
      return NULL;
    }
    bin_push(rest);
  }
  return block;
}

bool cpu_zone_fill(struct zone *zone) {
  struct block *all = calloc(1, sizeof *all);
  if (!all) return false;
  all->zone = zone;
  all->base = zone->start;
  all->pages = (zone->end - zone->start) / PAGE - zone->guard;
  bin_push(all);
  return true;
}
