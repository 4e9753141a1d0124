/*
 * expr.h - one expression over parameters: the code that luhip.tune.expr parsed a text into.
 */
#ifndef LUHIP_TUNE_EXPR_H
#define LUHIP_TUNE_EXPR_H

#include "tune/value.h"

struct tune_expr {
  struct tune_instr *code; /* CONST: a is an index of constants. PARAM: a is an index of the names it reads */
  struct tune_value *constants;
  uint32_t code_count, constant_count, name_count; /* the last instruction is the result */
};

/* Whether every operand is there: code comes from outside. */
bool tune_expr_valid(const struct tune_expr *expr);
/* The result, given a value for each name. `regs` has room for code_count values. */
struct tune_value tune_expr_eval(const struct tune_expr *expr, const struct tune_value *params,
                                 struct tune_value *regs);

#endif
