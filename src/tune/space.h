/*
 * space.h - the configurations that constraints leave of a product of parameter values.
 *
 * An axis is a parameter, its values are numbered by digits from 0. Axes that constraints tie together form a group;
 * each group's valid rows are enumerated and kept, one digit per axis, in lexicographic order. Groups are never
 * multiplied out: a configuration's index is a number of mixed radix over the groups, in the order of their first
 * axes, the first one counting slowest. An axis that no constraint reads is a group of its own and keeps nothing.
 *
 * A space is built in steps, so that a host can look after other things in between, and answer the constraints that
 * it evaluates itself. A built space is not changed by anything and may be read by several threads.
 */
#ifndef LUHIP_TUNE_SPACE_H
#define LUHIP_TUNE_SPACE_H

#include "tune/expr.h"

struct tune_space;

enum tune_step {
  TUNE_MORE, /* not done yet: call again */
  TUNE_ASK,  /* wants an answer to the question */
  TUNE_DONE, /* built; count may be 0, then what follows the empty group was not looked at */
  TUNE_NO_MEMORY,
  TUNE_TOO_MANY, /* a group has more rows than allowed, or all together more than 2^62 configurations */
};
enum tune_answer { TUNE_ANSWER_NONE, TUNE_ANSWER_FALSE, TUNE_ANSWER_TRUE };

/* What a constraint has done so far. */
struct tune_removal {
  double removed;     /* rows of its group's product, the earlier tested counted where several would */
  double share;       /* of the product of the group's axes that is */
  uint64_t undefined; /* tests with a divisor of zero */
  uint64_t bad;       /* tests whose operands did not fit */
  struct tune_value first_bad;
};

/* NULL: no memory. max_rows: of one group. */
struct tune_space *tune_space_new(uint64_t max_rows);
void tune_space_free(struct tune_space *space);

/* Before the first step; false: no memory. Texts are borrowed until the space is freed. */
bool tune_space_axis(struct tune_space *space, const struct tune_value *values, uint32_t count);
/* axis_of_name: the axis of each of the expression's names. */
bool tune_space_expr(struct tune_space *space, const struct tune_expr *expr, const uint32_t *axis_of_name);
/* A constraint on these axes that the host answers, at most once for each combination of their values where a table of
   those has room, else as often as it is met. */
bool tune_space_asked(struct tune_space *space, const uint32_t *axes, uint32_t count);

/* Builds a space without constraints, of `count` configurations that are given: axes * count digits, each below its
   axis's count. Those that are there twice count once. Instead of the first step; false: no memory. */
bool tune_space_list(struct tune_space *space, const uint32_t *digits, uint64_t count);

/* Goes on for about `nodes` partial configurations. */
enum tune_step tune_space_build(struct tune_space *space, uint64_t nodes);
/* The question: which constraint, and the digits of all axes; only those of its axes and of earlier ones in its group
   mean something. */
uint32_t tune_space_question(const struct tune_space *space, const uint32_t **digits);
void tune_space_answer(struct tune_space *space, enum tune_answer answer);
/* How much of the product has been looked at, 0 to 1, and rows found in the group that is being enumerated. */
double tune_space_progress(const struct tune_space *space, uint64_t *rows);
struct tune_removal tune_space_removal(const struct tune_space *space, uint32_t constraint);
/* The axes of the group that the constraint is in, by a mark for each axis. */
void tune_space_group_of(const struct tune_space *space, uint32_t constraint, uint8_t *marks);

/* Of a built space. Indices count from 0. */
uint64_t tune_space_count(const struct tune_space *space);
size_t tune_space_bytes(const struct tune_space *space);
uint32_t tune_space_axes(const struct tune_space *space);
uint32_t tune_space_values(const struct tune_space *space, uint32_t axis, const struct tune_value **values);
void tune_space_nth(const struct tune_space *space, uint64_t index, uint32_t *digits);
bool tune_space_find(const struct tune_space *space, const uint32_t *digits, uint64_t *index);

enum tune_near {
  TUNE_HAMMING,  /* one axis differs */
  TUNE_ADJACENT, /* every axis differs by one value at most */
  TUNE_STRICT,   /* one axis differs, by one value */
};
/* Indices of the neighbours of any digits, ascending, in a malloc'ed list. false: no memory, or more than `most`, which
   *count then says. */
bool tune_space_near(const struct tune_space *space, const uint32_t *digits, enum tune_near kind, uint64_t most,
                     uint64_t **list, uint64_t *count);
/* n different indices below `count` (n <= count) in random order, each sequence as likely as any other. */
bool tune_sample(uint64_t count, uint64_t n, uint64_t seed, uint64_t *list);

#endif
