/*
 * layout.h - what the files of a space share: its fields. See space.h.
 */
#ifndef LUHIP_TUNE_LAYOUT_H
#define LUHIP_TUNE_LAYOUT_H

#include "tune/program.h"
#include "tune/space.h"

struct tune_axis {
  struct tune_value *values;
  uint32_t count;
  uint32_t group;
  uint32_t reg; /* of the program; TUNE_NO_REG while no expression reads it */
};
#define TUNE_NO_REG UINT32_MAX

struct tune_constraint {
  bool asked; /* by the host, not by the program */
  uint32_t group;
  int32_t last;   /* the last axis it reads, TUNE_NOWHERE for none */
  uint32_t *axes; /* asked: ascending */
  uint32_t axis_count;
  uint8_t *memo;     /* asked: an answer per combination, NULL where there are too many */
  uint64_t *strides; /* of the memo, by position in axes */
  uint64_t answered; /* asked without a memo: the node that `answer` is for */
  enum tune_answer answer;
  struct tune_removal removal;
};

/* A test: an expression's register, or a part of one that is joined by `and`. */
struct tune_test {
  uint32_t reg, constraint;
  uint32_t *axes; /* what it reads, ascending */
  uint32_t axis_count;
  uint8_t *table; /* where there are few combinations of values: whether each passes, the last axis fastest */
};

/* A test with a table, at the depth of its last axis. */
struct tune_filter {
  const struct tune_test *test;
  const uint8_t *row; /* by the digit of the last axis, for the digits before it */
};

/* One instruction of what is done when the digit of an axis was set. */
struct tune_action {
  uint32_t op; /* of enum tune_op; TUNE_OP_COUNT: test register a of constraint b; + 1: ask constraint b */
  uint32_t a, b, out;
};

/* The rows below one digit of a depth, which serve its other digits too. */
struct tune_block {
  bool reusable;    /* nothing below reads the depth's axis */
  bool open, known; /* being enumerated; enumerated */
  uint64_t first, count;
};

enum { TUNE_SLACK = 8 };

struct tune_group {
  uint32_t *axes; /* ascending */
  uint32_t count;
  uint32_t width; /* bytes of a digit in rows; 0: an axis of its own, all of whose values are valid */
  uint8_t *rows;  /* big-endian digits, so that memcmp is their order */
  size_t row_bytes;
  uint64_t valid, capacity; /* rows; TUNE_SLACK bytes can be read behind the last */
  uint64_t stride;          /* configurations per row: of all later groups */
};

struct tune_space {
  struct tune_axis *axes;
  uint32_t axis_count;
  struct tune_constraint *constraints;
  uint32_t constraint_count;
  struct tune_test *tests;
  uint32_t test_count, test_capacity;
  struct tune_program program;
  struct tune_group *groups;
  uint32_t group_count;
  uint64_t max_rows, count;
  bool planned, built;

  /* the enumeration: the group, how deep in it, the digits so far, and what to do at each depth */
  uint32_t group, depth;
  uint32_t *digits; /* by axis */
  bool entered;     /* the group's actions are made */
  bool again;       /* the node is tested once more, after an answer */
  uint64_t node;    /* numbers the nodes, for answers that are not kept */
  struct tune_filter *filters;
  uint32_t filter_count, filter_capacity;
  uint32_t *filter_starts; /* by depth, and one behind */
  struct tune_action *actions;
  uint32_t action_count, action_capacity;
  uint32_t *action_starts;   /* by depth, and one behind */
  struct tune_block *blocks; /* by depth */
  double *removed; /* by depth and constraint: what the block removes, or had been removed when it was opened */
  double *weights; /* rows of the group's product below one node, by depth */
  uint32_t question;
};

/* table.c: finds what each test reads, makes tables where they are small, and drops tests that pass always. */
bool tune_tabulate(struct tune_space *space);
void tune_test_free(struct tune_test *test);
/* Counts a value that is undefined or bad. */
void tune_note_lost(struct tune_removal *removal, const struct tune_value *value);
/* block.c, of the group and depth that the walk is at. Room for that many more rows; which depths' rows serve again; begins
   and ends the rows below a digit; copies them for another one. */
bool tune_room(struct tune_group *group, uint64_t rows);
bool tune_blocks_plan(struct tune_space *space);
void tune_block_open(struct tune_space *space);
void tune_block_close(struct tune_space *space);
enum tune_step tune_block_copy(struct tune_space *space);
/* plan.c: groups the axes; then the actions of the group that is entered next. */
bool tune_plan(struct tune_space *space);
bool tune_plan_group(struct tune_space *space);

#endif
