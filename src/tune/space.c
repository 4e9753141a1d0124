/*
 * space.c - making a space and enumerating its groups. See space.h; layout.h has the fields.
 *
 * The enumeration is a depth-first walk whose whole state is in the space, so that it stops anywhere and goes on. At
 * each node the digit of one axis is set and that axis's actions run: they compute what depends on it, test every
 * constraint whose last axis it is, and ask the host about those that the host answers, last, so that it is asked
 * seldom. A failed test drops the whole subtree.
 */
#include "tune/space.h"

#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

#define MAX_COUNT ((uint64_t)1 << 62)
#define MEMO_BYTES ((uint64_t)1 << 24)

/* ---- making ---------------------------------------------------------------------------------------------------- */

struct tune_space *tune_space_new(uint64_t max_rows) {
  struct tune_space *s = calloc(1, sizeof *s);
  if (s) s->max_rows = max_rows;
  return s;
}

static void free_constraint(struct tune_constraint *c) {
  free(c->axes);
  free(c->memo);
  free(c->strides);
}

static void free_walk(struct tune_space *s) {
  for (uint32_t i = 0; i < s->test_count; i++) tune_test_free(&s->tests[i]);
  free(s->tests);
  free(s->filters);
  free(s->filter_starts);
  free(s->actions);
  free(s->action_starts);
  free(s->weights);
  free(s->blocks);
  free(s->removed);
  tune_program_free(&s->program);
  s->tests = NULL, s->filters = NULL, s->filter_starts = NULL;
  s->actions = NULL, s->action_starts = NULL, s->weights = NULL;
  s->blocks = NULL, s->removed = NULL;
  s->test_count = 0;
}

void tune_space_free(struct tune_space *s) {
  if (!s) return;
  free_walk(s);
  for (uint32_t i = 0; i < s->axis_count; i++) free(s->axes[i].values);
  for (uint32_t i = 0; i < s->constraint_count; i++) free_constraint(&s->constraints[i]);
  for (uint32_t i = 0; i < s->group_count; i++) {
    free(s->groups[i].axes);
    free(s->groups[i].rows);
  }
  free(s->axes);
  free(s->constraints);
  free(s->groups);
  free(s->digits);
  free(s);
}

bool tune_space_axis(struct tune_space *s, const struct tune_value *values, uint32_t count) {
  struct tune_axis *axes = realloc(s->axes, (s->axis_count + 1) * sizeof *axes);
  if (!axes) return false;
  s->axes = axes;
  struct tune_value *copy = malloc(count * sizeof *copy);
  if (!copy) return false;
  memcpy(copy, values, count * sizeof *copy);
  s->axes[s->axis_count++] = (struct tune_axis){.values = copy, .count = count, .reg = TUNE_NO_REG};
  return true;
}

static struct tune_constraint *add_constraint(struct tune_space *s) {
  struct tune_constraint *list = realloc(s->constraints, (s->constraint_count + 1) * sizeof *list);
  if (!list) return NULL;
  s->constraints = list;
  struct tune_constraint *c = &list[s->constraint_count++];
  *c = (struct tune_constraint){.last = TUNE_NOWHERE, .group = UINT32_MAX};
  return c;
}

static bool add_test(struct tune_space *s, uint32_t reg, uint32_t constraint) {
  const struct tune_instr *instr = &s->program.instrs[reg];
  if (instr->op == TUNE_AND) {
    uint32_t b = instr->b;
    return add_test(s, instr->a, constraint) && add_test(s, b, constraint);
  }
  if (s->test_count == s->test_capacity) {
    uint32_t capacity = s->test_capacity ? s->test_capacity * 2 : 16;
    struct tune_test *tests = realloc(s->tests, capacity * sizeof *tests);
    if (!tests) return false;
    s->tests = tests;
    s->test_capacity = capacity;
  }
  s->tests[s->test_count++] = (struct tune_test){.reg = reg, .constraint = constraint};
  return true;
}

/* A parameter with one value is a constant. */
static bool add_param(struct tune_space *s, uint32_t axis, uint32_t *reg) {
  struct tune_axis *a = &s->axes[axis];
  if (a->count == 1) return tune_program_const(&s->program, a->values, reg);
  if (!tune_program_param(&s->program, (int32_t)axis, reg)) return false;
  a->reg = *reg;
  return true;
}

static bool add_instr(struct tune_space *s, const struct tune_expr *expr, uint32_t at, const uint32_t *axis_of_name,
                      uint32_t *regs) {
  const struct tune_instr *instr = &expr->code[at];
  if (instr->op == TUNE_CONST) return tune_program_const(&s->program, &expr->constants[instr->a], &regs[at]);
  if (instr->op == TUNE_PARAM) return add_param(s, axis_of_name[instr->a], &regs[at]);
  return tune_program_op(&s->program, instr->op, regs[instr->a], regs[instr->b], &regs[at]);
}

bool tune_space_expr(struct tune_space *s, const struct tune_expr *expr, const uint32_t *axis_of_name) {
  struct tune_constraint *c = add_constraint(s);
  uint32_t *regs = malloc(expr->code_count * sizeof *regs);
  bool ok = c && regs;
  for (uint32_t i = 0; ok && i < expr->code_count; i++) ok = add_instr(s, expr, i, axis_of_name, regs);
  uint32_t result = ok ? regs[expr->code_count - 1] : 0;
  free(regs);
  return ok && add_test(s, result, s->constraint_count - 1);
}

static bool make_memo(struct tune_space *s, struct tune_constraint *c) {
  uint64_t size = 1;
  c->strides = malloc((c->axis_count + 1) * sizeof *c->strides);
  if (!c->strides) return false;
  for (uint32_t i = c->axis_count; i-- > 0;) {
    c->strides[i] = size;
    if (size > MEMO_BYTES / s->axes[c->axes[i]].count) return true; /* too many: asked each time */
    size *= s->axes[c->axes[i]].count;
  }
  c->memo = calloc(size, 1);
  return c->memo != NULL;
}

bool tune_space_asked(struct tune_space *s, const uint32_t *axes, uint32_t count) {
  struct tune_constraint *c = add_constraint(s);
  if (!c) return false;
  c->asked = true;
  c->axes = malloc((count + 1) * sizeof *c->axes);
  if (!c->axes) return false;
  memcpy(c->axes, axes, count * sizeof *axes);
  c->axis_count = count;
  for (uint32_t i = 0; i < count; i++)
    if ((int32_t)axes[i] > c->last) c->last = (int32_t)axes[i];
  return make_memo(s, c);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* The commonest cases of the commonest operators; the rest is tune_apply's. */
static inline void compute(const struct tune_action *action, struct tune_value *regs) {
  const struct tune_value *a = &regs[action->a], *b = &regs[action->b];
  struct tune_value *out = &regs[action->out];
  int64_t r;
  if (a->kind == TUNE_INT && b->kind == TUNE_INT) {
    switch (action->op) {
    case TUNE_ADD:
      if (__builtin_add_overflow(a->u.i, b->u.i, &r)) break;
      out->kind = TUNE_INT, out->u.i = r;
      return;
    case TUNE_MUL:
      if (__builtin_mul_overflow(a->u.i, b->u.i, &r)) break;
      out->kind = TUNE_INT, out->u.i = r;
      return;
    case TUNE_MOD:
      if (a->u.i < 0 || b->u.i <= 0 || (a->u.i | b->u.i) >> 31) break;
      out->kind = TUNE_INT, out->u.i = (int64_t)((uint32_t)a->u.i % (uint32_t)b->u.i);
      return;
    case TUNE_EQ:
      out->kind = TUNE_BOOL, out->u.i = a->u.i == b->u.i;
      return;
    case TUNE_NE:
      out->kind = TUNE_BOOL, out->u.i = a->u.i != b->u.i;
      return;
    case TUNE_LE:
      out->kind = TUNE_BOOL, out->u.i = a->u.i <= b->u.i;
      return;
    case TUNE_GE:
      out->kind = TUNE_BOOL, out->u.i = a->u.i >= b->u.i;
      return;
    case TUNE_LT:
      out->kind = TUNE_BOOL, out->u.i = a->u.i < b->u.i;
      return;
    case TUNE_GT:
      out->kind = TUNE_BOOL, out->u.i = a->u.i > b->u.i;
      return;
    default:
      break;
    }
  } else if (a->kind == TUNE_BOOL && (action->op == TUNE_OR || action->op == TUNE_AND)) {
    *out = (a->u.i != 0) == (action->op == TUNE_OR) ? *a : *b;
    return;
  }
  *out = tune_apply(action->op, a, b);
}

/* value: what the test gave, NULL for an answer of the host's. */
static void fail(struct tune_space *s, uint32_t constraint, const struct tune_value *value, double weight) {
  struct tune_removal *removal = &s->constraints[constraint].removal;
  removal->removed += weight;
  if (value) tune_note_lost(removal, value);
}

static uint64_t memo_at(const struct tune_space *s, const struct tune_constraint *c) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < c->axis_count; i++) at += s->digits[c->axes[i]] * c->strides[i];
  return at;
}

static enum tune_answer known_answer(const struct tune_space *s, const struct tune_constraint *c) {
  if (c->memo) return (enum tune_answer)c->memo[memo_at(s, c)];
  return c->answered == s->node ? c->answer : TUNE_ANSWER_NONE;
}

enum verdict { PASSES, FAILS, ASKS };

static enum verdict ask(struct tune_space *s, uint32_t constraint) {
  enum tune_answer answer = known_answer(s, &s->constraints[constraint]);
  if (answer == TUNE_ANSWER_TRUE) return PASSES;
  if (answer == TUNE_ANSWER_NONE) {
    s->question = constraint;
    return ASKS;
  }
  fail(s, constraint, NULL, s->weights[s->depth]);
  return FAILS;
}

static enum verdict run_actions(struct tune_space *s) {
  const struct tune_action *action = s->actions + s->action_starts[s->depth];
  const struct tune_action *end = s->actions + s->action_starts[s->depth + 1];
  struct tune_value *regs = s->program.regs;
  for (; action < end; action++) {
    if (action->op < TUNE_OP_COUNT) {
      compute(action, regs);
    } else if (action->op == TUNE_OP_COUNT) {
      if (tune_truth(&regs[action->a])) continue;
      fail(s, action->b, &regs[action->a], s->weights[s->depth]);
      return FAILS;
    } else {
      enum verdict verdict = ask(s, action->b);
      if (verdict != PASSES) return verdict;
    }
  }
  return PASSES;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

static enum tune_step add_row(struct tune_space *s, struct tune_group *g) {
  if (g->valid == s->max_rows) return TUNE_TOO_MANY;
  if (g->valid == g->capacity && !tune_room(g, 1)) return TUNE_NO_MEMORY;
  uint8_t *row = g->rows + g->valid++ * g->row_bytes;
  for (uint32_t i = 0; i < g->count; i++) {
    uint32_t digit = s->digits[g->axes[i]];
    for (uint32_t b = g->width; b-- > 0;) *row++ = (uint8_t)(digit >> (8 * b));
  }
  return TUNE_MORE;
}

static void set_digit(struct tune_space *s, uint32_t axis, uint32_t digit) {
  const struct tune_axis *a = &s->axes[axis];
  s->digits[axis] = digit;
  if (a->reg != TUNE_NO_REG) s->program.regs[a->reg] = a->values[digit];
}

/* Sets the filters of this depth to the digits above it, and stands before the first digit. */
static void enter_depth(struct tune_space *s, const struct tune_group *g, uint32_t depth) {
  s->depth = depth;
  s->digits[g->axes[depth]] = UINT32_MAX;
  s->blocks[depth].open = s->blocks[depth].known = false;
  for (uint32_t i = s->filter_starts[depth]; i < s->filter_starts[depth + 1]; i++) {
    const struct tune_test *test = s->filters[i].test;
    size_t at = 0;
    for (uint32_t k = 0; k < test->axis_count; k++) {
      at *= s->axes[test->axes[k]].count;
      if (k + 1 < test->axis_count) at += s->digits[test->axes[k]];
    }
    s->filters[i].row = test->table + at;
  }
}

static bool filters_pass(struct tune_space *s, uint32_t digit) {
  for (uint32_t i = s->filter_starts[s->depth]; i < s->filter_starts[s->depth + 1]; i++) {
    if (s->filters[i].row[digit]) continue;
    fail(s, s->filters[i].test->constraint, NULL, s->weights[s->depth]);
    return false;
  }
  return true;
}

/* Moves to the next node; false at the end of the group. */
static bool advance(struct tune_space *s, const struct tune_group *g) {
  if (s->again) {
    s->again = false;
    return true;
  }
  s->node++;
  for (;;) {
    uint32_t axis = g->axes[s->depth], next = s->digits[axis] + 1; /* UINT32_MAX stands before the first */
    while (next < s->axes[axis].count && !filters_pass(s, next)) next++;
    if (next < s->axes[axis].count) {
      set_digit(s, axis, next);
      return true;
    }
    if (s->depth == 0) return false;
    s->depth--;
    tune_block_close(s);
  }
}

static enum tune_step walk(struct tune_space *s, struct tune_group *g, uint64_t *nodes) {
  while (advance(s, g)) {
    enum verdict verdict = run_actions(s);
    if (verdict == ASKS) return TUNE_ASK;
    if (verdict == PASSES) {
      enum tune_step step = TUNE_MORE;
      if (s->depth + 1 == g->count) {
        step = add_row(s, g);
      } else if (s->blocks[s->depth].known) {
        step = tune_block_copy(s);
      } else {
        tune_block_open(s);
        enter_depth(s, g, s->depth + 1);
      }
      if (step != TUNE_MORE) return step;
    }
    if ((*nodes)-- == 0) {
      *nodes = 0;
      return TUNE_MORE;
    }
  }
  return TUNE_DONE;
}

static void shrink(struct tune_group *g) {
  if (g->valid == g->capacity || g->valid == 0) return;
  uint8_t *rows = realloc(g->rows, (size_t)g->valid * g->row_bytes + TUNE_SLACK);
  if (!rows) return;
  g->rows = rows;
  g->capacity = g->valid;
}

/* The group's part; a group of one free axis has nothing to walk. */
static enum tune_step build_group(struct tune_space *s, struct tune_group *g, uint64_t *nodes) {
  if (g->width == 0) return TUNE_DONE;
  if (!s->entered) {
    if (!tune_plan_group(s) || !tune_blocks_plan(s)) return TUNE_NO_MEMORY;
    s->entered = true;
    enter_depth(s, g, 0);
  }
  enum tune_step step = walk(s, g, nodes);
  if (step == TUNE_DONE) shrink(g);
  return step;
}

/* Constraints that depend on no axis: decided once. */
static bool constants_hold(struct tune_space *s) {
  for (uint32_t i = 0; i < s->test_count; i++) {
    const struct tune_test *test = &s->tests[i];
    if (s->program.axis[test->reg] != TUNE_NOWHERE || tune_truth(&s->program.regs[test->reg])) continue;
    fail(s, test->constraint, &s->program.regs[test->reg], 1);
    s->constraints[test->constraint].removal.share = 1;
    return false;
  }
  return true;
}

static enum tune_step finish(struct tune_space *s) {
  uint64_t count = 1;
  for (uint32_t i = s->group_count; i-- > 0;) {
    s->groups[i].stride = count;
    if (s->groups[i].valid != 0 && count > MAX_COUNT / s->groups[i].valid) return TUNE_TOO_MANY;
    count *= s->groups[i].valid;
  }
  s->count = count;
  s->built = true;
  free_walk(s);
  return TUNE_DONE;
}

enum tune_step tune_space_build(struct tune_space *s, uint64_t nodes) {
  if (s->built) return TUNE_DONE;
  if (!s->planned) {
    if (!tune_plan(s)) return TUNE_NO_MEMORY;
    if (!constants_hold(s)) {
      s->built = true;
      return TUNE_DONE;
    }
    s->planned = true;
  }
  while (s->group < s->group_count) {
    struct tune_group *g = &s->groups[s->group];
    enum tune_step step = build_group(s, g, &nodes);
    if (step != TUNE_DONE) return step;
    if (g->valid == 0) {
      s->built = true;
      return TUNE_DONE;
    }
    s->group++;
    s->entered = false;
  }
  return finish(s);
}

/* ---- the host's part ---------------------------------------------------------------------------------------------- */

uint32_t tune_space_question(const struct tune_space *s, const uint32_t **digits) {
  *digits = s->digits;
  return s->question;
}

void tune_space_answer(struct tune_space *s, enum tune_answer answer) {
  struct tune_constraint *c = &s->constraints[s->question];
  if (c->memo) c->memo[memo_at(s, c)] = (uint8_t)answer;
  c->answer = answer;
  c->answered = s->node;
  s->again = true;
}

double tune_space_progress(const struct tune_space *s, uint64_t *rows) {
  *rows = s->group < s->group_count ? s->groups[s->group].valid : 0;
  if (s->built) return 1;
  if (!s->planned || !s->entered) return s->group_count ? (double)s->group / s->group_count : 0;
  const struct tune_group *g = &s->groups[s->group];
  double part = 0, size = 1;
  for (uint32_t i = 0; i <= s->depth; i++) {
    uint32_t digit = s->digits[g->axes[i]];
    size /= s->axes[g->axes[i]].count;
    part += digit == UINT32_MAX ? 0 : digit * size;
  }
  return (s->group + part) / s->group_count;
}

struct tune_removal tune_space_removal(const struct tune_space *s, uint32_t constraint) {
  return s->constraints[constraint].removal;
}

void tune_space_group_of(const struct tune_space *s, uint32_t constraint, uint8_t *marks) {
  for (uint32_t i = 0; i < s->axis_count; i++)
    marks[i] = s->constraints[constraint].last != TUNE_NOWHERE && s->axes[i].group == s->constraints[constraint].group;
}
