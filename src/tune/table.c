/*
 * table.c - tests of few values, decided beforehand. See layout.h.
 *
 * "X % Y == 0" over ten values each is a hundred answers: they are computed once, and the walk skips the digits that do
 * not pass. A test that always passes is dropped, so that it does not tie its axes together.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

enum { TABLE_LIMIT = 2048 };

static bool find_axes(struct tune_space *s, struct tune_test *test, uint8_t *marks) {
  memset(marks, 0, s->program.count);
  tune_program_mark(&s->program, test->reg, marks);
  test->axes = malloc((s->axis_count + 1) * sizeof *test->axes);
  if (!test->axes) return false;
  for (uint32_t i = 0; i < s->axis_count; i++) {
    uint32_t reg = s->axes[i].reg;
    if (reg != TUNE_NO_REG && reg <= test->reg && marks[reg]) test->axes[test->axis_count++] = i;
  }
  return true;
}

static uint32_t table_size(const struct tune_space *s, const struct tune_test *test) {
  uint64_t size = 1;
  for (uint32_t i = 0; i < test->axis_count && size <= TABLE_LIMIT; i++) size *= s->axes[test->axes[i]].count;
  return size <= TABLE_LIMIT ? (uint32_t)size : 0;
}

/* One combination. What is undefined or bad is counted for the constraint. */
static bool decide(struct tune_space *s, struct tune_test *test, uint32_t combination, const uint8_t *marks) {
  for (uint32_t i = test->axis_count; i-- > 0;) {
    const struct tune_axis *axis = &s->axes[test->axes[i]];
    s->program.regs[axis->reg] = axis->values[combination % axis->count];
    combination /= axis->count;
  }
  for (uint32_t r = 0; r <= test->reg; r++)
    if (marks[r] && s->program.instrs[r].op > TUNE_PARAM) tune_program_run(&s->program, r);
  const struct tune_value *value = &s->program.regs[test->reg];
  tune_note_lost(&s->constraints[test->constraint].removal, value);
  return tune_truth(value);
}

/* Gives whether the test can fail at all. */
static bool tabulate(struct tune_space *s, struct tune_test *test, const uint8_t *marks, bool *fails) {
  uint32_t size = table_size(s, test);
  *fails = true;
  if (size == 0 || test->axis_count == 0) return true;
  test->table = malloc(size);
  if (!test->table) return false;
  *fails = false;
  for (uint32_t i = 0; i < size; i++) {
    test->table[i] = decide(s, test, i, marks);
    if (!test->table[i]) *fails = true;
  }
  return true;
}

void tune_note_lost(struct tune_removal *removal, const struct tune_value *value) {
  if (value->kind == TUNE_UNDEFINED) removal->undefined++;
  if (value->kind == TUNE_BAD && removal->bad++ == 0) removal->first_bad = *value;
}

void tune_test_free(struct tune_test *test) {
  free(test->axes);
  free(test->table);
}

bool tune_tabulate(struct tune_space *s) {
  uint8_t *marks = malloc(s->program.count + 1);
  bool ok = marks != NULL, fails;
  uint32_t kept = 0, at = 0;
  for (; ok && at < s->test_count; at++) {
    struct tune_test test = s->tests[at];
    ok = find_axes(s, &test, marks) && tabulate(s, &test, marks, &fails);
    if (ok && fails)
      s->tests[kept++] = test;
    else
      tune_test_free(&test);
  }
  for (; at < s->test_count; at++) s->tests[kept++] = s->tests[at];
  s->test_count = kept;
  free(marks);
  return ok;
}
