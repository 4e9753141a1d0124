/*
 * expr.c - evaluating one expression outside of a space. See expr.h.
 */
#include "tune/expr.h"

static bool instr_valid(const struct tune_expr *expr, uint32_t at) {
  const struct tune_instr *instr = &expr->code[at];
  if (instr->op == TUNE_CONST) return instr->a < expr->constant_count;
  if (instr->op == TUNE_PARAM) return instr->a < expr->name_count;
  return instr->op < TUNE_OP_COUNT && instr->a < at && instr->b < at;
}

bool tune_expr_valid(const struct tune_expr *expr) {
  for (uint32_t i = 0; i < expr->code_count; i++)
    if (!instr_valid(expr, i)) return false;
  return expr->code_count > 0;
}

struct tune_value tune_expr_eval(const struct tune_expr *expr, const struct tune_value *params,
                                 struct tune_value *regs) {
  for (uint32_t i = 0; i < expr->code_count; i++) {
    const struct tune_instr *instr = &expr->code[i];
    if (instr->op == TUNE_CONST)
      regs[i] = expr->constants[instr->a];
    else if (instr->op == TUNE_PARAM)
      regs[i] = params[instr->a];
    else
      regs[i] = tune_apply(instr->op, &regs[instr->a], &regs[instr->b]);
  }
  return regs[expr->code_count - 1];
}
