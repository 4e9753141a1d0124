/*
 * block.c - rows that are found once and used again. See layout.h.
 *
 * Where nothing below a depth reads that depth's axis, the rows below one digit of it are the rows below any other: they
 * are enumerated for the first digit that passes and copied for the rest, and what was removed there counts again.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

bool tune_room(struct tune_group *g, uint64_t rows) {
  if (rows <= g->capacity - g->valid) return true;
  uint64_t capacity = g->capacity + g->capacity / 2 + rows + 256;
  if (capacity > (SIZE_MAX / 2 - TUNE_SLACK) / g->row_bytes) return false;
  uint8_t *list = realloc(g->rows, (size_t)capacity * g->row_bytes + TUNE_SLACK);
  if (!list) return false;
  g->rows = list;
  g->capacity = capacity;
  return true;
}

static bool reads(const uint32_t *axes, uint32_t count, uint32_t axis) {
  for (uint32_t i = 0; i < count; i++)
    if (axes[i] == axis) return true;
  return false;
}

/* Whether a test or question of a later axis reads this one. */
static bool read_below(const struct tune_space *s, uint32_t axis) {
  for (uint32_t i = 0; i < s->test_count; i++) {
    const struct tune_test *test = &s->tests[i];
    if (s->program.axis[test->reg] > (int32_t)axis && reads(test->axes, test->axis_count, axis)) return true;
  }
  for (uint32_t i = 0; i < s->constraint_count; i++) {
    const struct tune_constraint *c = &s->constraints[i];
    if (c->asked && c->last > (int32_t)axis && reads(c->axes, c->axis_count, axis)) return true;
  }
  return false;
}

bool tune_blocks_plan(struct tune_space *s) {
  const struct tune_group *g = &s->groups[s->group];
  struct tune_block *blocks = realloc(s->blocks, g->count * sizeof *blocks);
  if (blocks) s->blocks = blocks;
  double *removed = realloc(s->removed, ((size_t)g->count * s->constraint_count + 1) * sizeof *removed);
  if (removed) s->removed = removed;
  if (!blocks || !removed) return false;
  for (uint32_t i = 0; i < g->count; i++)
    blocks[i] = (struct tune_block){.reusable = i + 1 < g->count && !read_below(s, g->axes[i])};
  return true;
}

static double *removed_at(struct tune_space *s, uint32_t depth) {
  return s->removed + (size_t)depth * s->constraint_count;
}

void tune_block_open(struct tune_space *s) {
  struct tune_block *block = &s->blocks[s->depth];
  if (!block->reusable) return;
  block->open = true;
  block->first = s->groups[s->group].valid;
  double *removed = removed_at(s, s->depth);
  for (uint32_t i = 0; i < s->constraint_count; i++) removed[i] = s->constraints[i].removal.removed;
}

void tune_block_close(struct tune_space *s) {
  struct tune_block *block = &s->blocks[s->depth];
  if (!block->open) return;
  block->open = false;
  block->known = true;
  block->count = s->groups[s->group].valid - block->first;
  double *removed = removed_at(s, s->depth);
  for (uint32_t i = 0; i < s->constraint_count; i++) removed[i] = s->constraints[i].removal.removed - removed[i];
}

enum tune_step tune_block_copy(struct tune_space *s) {
  const struct tune_block *block = &s->blocks[s->depth];
  struct tune_group *g = &s->groups[s->group];
  const double *removed = removed_at(s, s->depth);
  for (uint32_t i = 0; i < s->constraint_count; i++) s->constraints[i].removal.removed += removed[i];
  if (block->count > s->max_rows - g->valid) return TUNE_TOO_MANY;
  if (!tune_room(g, block->count)) return TUNE_NO_MEMORY;
  uint8_t *row = g->rows + g->valid * g->row_bytes;
  if (block->count > 0) memcpy(row, g->rows + block->first * g->row_bytes, (size_t)block->count * g->row_bytes);
  uint32_t digit = s->digits[g->axes[s->depth]];
  row += (size_t)s->depth * g->width;
  for (uint64_t i = 0; i < block->count; i++, row += g->row_bytes)
    for (uint32_t b = 0; b < g->width; b++) row[b] = (uint8_t)(digit >> (8 * (g->width - 1 - b)));
  g->valid += block->count;
  return TUNE_MORE;
}
