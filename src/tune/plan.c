/*
 * plan.c - which axes go together, and what is done at each depth of a group. See space.h; layout.h has the fields.
 *
 * Two axes are in one group when a test reads both. The parts of a constraint that are joined by `and` are tests of
 * their own, so "A > 1 and B > 1" ties nothing together. A test with a table (table.c) needs no actions: it says which
 * digits are worth looking at.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static uint32_t find_root(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* The smallest axis becomes the root. */
static void join(uint32_t *parent, uint32_t a, uint32_t b) {
  a = find_root(parent, a), b = find_root(parent, b);
  if (a < b)
    parent[b] = a;
  else
    parent[a] = b;
}

static void join_axes(uint32_t *parent, uint8_t *read, const uint32_t *axes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    read[axes[i]] = 1;
    join(parent, axes[i], axes[0]);
  }
}

static void join_all(struct tune_space *s, uint32_t *parent, uint8_t *read) {
  for (uint32_t i = 0; i < s->axis_count; i++) parent[i] = i;
  for (uint32_t i = 0; i < s->test_count; i++) {
    const struct tune_test *test = &s->tests[i];
    struct tune_constraint *c = &s->constraints[test->constraint];
    join_axes(parent, read, test->axes, test->axis_count);
    if (s->program.axis[test->reg] > c->last) c->last = s->program.axis[test->reg];
  }
  for (uint32_t i = 0; i < s->constraint_count; i++)
    if (s->constraints[i].asked) join_axes(parent, read, s->constraints[i].axes, s->constraints[i].axis_count);
}

static uint32_t digit_width(const struct tune_space *s, const struct tune_group *g) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < g->count; i++)
    if (s->axes[g->axes[i]].count > most) most = s->axes[g->axes[i]].count;
  return most <= 1u << 8 ? 1 : most <= 1u << 16 ? 2 : 4;
}

static bool add_group(struct tune_space *s, uint32_t root, uint32_t *parent, const uint8_t *read) {
  struct tune_group *g = &s->groups[s->group_count];
  *g = (struct tune_group){.axes = malloc(s->axis_count * sizeof *g->axes)};
  if (!g->axes) return false;
  for (uint32_t i = root; i < s->axis_count; i++) {
    if (find_root(parent, i) != root) continue;
    s->axes[i].group = s->group_count;
    g->axes[g->count++] = i;
  }
  if (read[root]) {
    g->width = digit_width(s, g);
    g->row_bytes = (size_t)g->width * g->count;
  } else {
    g->valid = s->axes[root].count;
  }
  s->group_count++;
  return true;
}

bool tune_plan(struct tune_space *s) {
  uint32_t *parent = malloc(s->axis_count * sizeof *parent);
  uint8_t *read = calloc(s->axis_count, 1);
  s->groups = calloc(s->axis_count, sizeof *s->groups);
  s->digits = calloc(s->axis_count, sizeof *s->digits);
  bool ok = parent && read && s->groups && s->digits && tune_tabulate(s);
  if (ok) join_all(s, parent, read);
  for (uint32_t i = 0; ok && i < s->axis_count; i++)
    if (parent[i] == i) ok = add_group(s, i, parent, read);
  for (uint32_t i = 0; ok && i < s->constraint_count; i++)
    if (s->constraints[i].last != TUNE_NOWHERE) s->constraints[i].group = s->axes[s->constraints[i].last].group;
  free(parent);
  free(read);
  return ok;
}

/* ---- the actions of a group --------------------------------------------------------------------------------------- */

static bool add_action(struct tune_space *s, struct tune_action action) {
  if (s->action_count == s->action_capacity) {
    uint32_t capacity = s->action_capacity ? s->action_capacity * 2 : 64;
    struct tune_action *actions = realloc(s->actions, capacity * sizeof *actions);
    if (!actions) return false;
    s->actions = actions;
    s->action_capacity = capacity;
  }
  s->actions[s->action_count++] = action;
  return true;
}

/* What a register of this axis needs that is not computed yet, in order, itself last. */
static bool add_registers(struct tune_space *s, uint32_t reg, int32_t axis, uint8_t *marks, uint8_t *done) {
  memset(marks, 0, s->program.count);
  tune_program_mark(&s->program, reg, marks);
  for (uint32_t r = 0; r <= reg; r++) {
    const struct tune_instr *instr = &s->program.instrs[r];
    if (!marks[r] || done[r] || s->program.axis[r] != axis || instr->op <= TUNE_PARAM) continue;
    done[r] = 1;
    if (!add_action(s, (struct tune_action){instr->op, instr->a, instr->b, r})) return false;
  }
  return true;
}

/* What later axes' tests need of this one. */
static bool add_hoisted(struct tune_space *s, int32_t axis, const uint8_t *needed, uint8_t *done) {
  for (uint32_t r = 0; r < s->program.count; r++) {
    const struct tune_instr *instr = &s->program.instrs[r];
    if (!needed[r] || done[r] || s->program.axis[r] != axis || instr->op <= TUNE_PARAM) continue;
    done[r] = 1;
    if (!add_action(s, (struct tune_action){instr->op, instr->a, instr->b, r})) return false;
  }
  return true;
}

static bool add_filters(struct tune_space *s, int32_t axis) {
  for (uint32_t i = 0; i < s->test_count; i++) {
    const struct tune_test *test = &s->tests[i];
    if (s->program.axis[test->reg] != axis || !test->table) continue;
    if (s->filter_count == s->filter_capacity) {
      uint32_t capacity = s->filter_capacity ? s->filter_capacity * 2 : 16;
      struct tune_filter *filters = realloc(s->filters, capacity * sizeof *filters);
      if (!filters) return false;
      s->filters = filters;
      s->filter_capacity = capacity;
    }
    s->filters[s->filter_count++] = (struct tune_filter){.test = test};
  }
  return true;
}

static bool add_depth(struct tune_space *s, int32_t axis, const uint8_t *needed, uint8_t *marks, uint8_t *done) {
  for (uint32_t i = 0; i < s->test_count; i++) {
    const struct tune_test *test = &s->tests[i];
    if (s->program.axis[test->reg] != axis || test->table) continue;
    if (!add_registers(s, test->reg, axis, marks, done)) return false;
    if (!add_action(s, (struct tune_action){TUNE_OP_COUNT, test->reg, test->constraint, 0})) return false;
  }
  for (uint32_t i = 0; i < s->constraint_count; i++) {
    if (!s->constraints[i].asked || s->constraints[i].last != axis) continue;
    if (!add_action(s, (struct tune_action){TUNE_OP_COUNT + 1, 0, i, 0})) return false;
  }
  return add_hoisted(s, axis, needed, done);
}

static void mark_needed(struct tune_space *s, uint8_t *needed, uint8_t *marks) {
  for (uint32_t i = 0; i < s->test_count; i++) {
    if (s->tests[i].table) continue;
    memset(marks, 0, s->program.count);
    tune_program_mark(&s->program, s->tests[i].reg, marks);
    for (uint32_t r = 0; r < s->program.count; r++) needed[r] |= marks[r];
  }
}

static void weigh(struct tune_space *s, const struct tune_group *g) {
  double weight = 1;
  for (uint32_t i = g->count; i-- > 0;) {
    s->weights[i] = weight;
    weight *= s->axes[g->axes[i]].count;
  }
  for (uint32_t i = 0; i < s->constraint_count; i++)
    if (s->constraints[i].group == s->group) s->constraints[i].removal.share = weight;
}

bool tune_plan_group(struct tune_space *s) {
  const struct tune_group *g = &s->groups[s->group];
  uint32_t *starts = realloc(s->action_starts, (g->count + 1) * sizeof *starts);
  if (starts) s->action_starts = starts;
  uint32_t *filters = realloc(s->filter_starts, (g->count + 1) * sizeof *filters);
  if (filters) s->filter_starts = filters;
  double *weights = realloc(s->weights, g->count * sizeof *weights);
  if (weights) s->weights = weights;
  uint32_t n = s->program.count + 1;
  uint8_t *marks = calloc(3, n), *needed = marks ? marks + n : NULL, *done = marks ? marks + 2 * n : NULL;
  bool ok = starts && filters && weights && marks;
  s->action_count = s->filter_count = 0;
  if (ok) weigh(s, g);
  if (ok) mark_needed(s, needed, marks);
  for (uint32_t i = 0; ok && i < g->count; i++) {
    s->action_starts[i] = s->action_count;
    s->filter_starts[i] = s->filter_count;
    ok = add_filters(s, (int32_t)g->axes[i]) && add_depth(s, (int32_t)g->axes[i], needed, marks, done);
  }
  if (ok) {
    s->action_starts[g->count] = s->action_count;
    s->filter_starts[g->count] = s->filter_count;
  }
  free(marks);
  return ok;
}
