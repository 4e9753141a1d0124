/*
 * value.h - the values of tuning parameters and what expressions compute from them.
 *
 * Numbers follow Lua: whole numbers and floats, compared by value. Where 64 bits do not hold a whole result it becomes
 * a float, since a limit that overflows must not look satisfied. Two kinds are not values but what became of an
 * expression: TUNE_UNDEFINED (a divisor was zero) and TUNE_BAD (operands do not fit an operator). They pass through
 * every operator that needs them, so that code needs no jumps: `a and b` is decided by a alone where it can be.
 */
#ifndef LUHIP_TUNE_VALUE_H
#define LUHIP_TUNE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tune_kind { TUNE_NIL, TUNE_BOOL, TUNE_INT, TUNE_FLOAT, TUNE_TEXT, TUNE_UNDEFINED, TUNE_BAD };

struct tune_value {
  uint32_t kind;
  uint32_t length; /* of a text */
  union {
    int64_t i;        /* TUNE_INT; TUNE_BOOL: 0 or 1; TUNE_BAD: operator and operands' kinds, for tune_bad_text */
    double f;         /* TUNE_FLOAT */
    const char *text; /* borrowed; may hold zero bytes */
  } u;
};

/* Operators. Both operands are given even where one is used. */
#define TUNE_OPS(X)                                                                                                    \
  X(CONST, "const")                                                                                                    \
  X(PARAM, "param")                                                                                                    \
  X(NEG, "neg")                                                                                                        \
  X(NOT, "not")                                                                                                        \
  X(ADD, "add")                                                                                                        \
  X(SUB, "sub")                                                                                                        \
  X(MUL, "mul")                                                                                                        \
  X(DIV, "div")                                                                                                        \
  X(IDIV, "idiv")                                                                                                      \
  X(MOD, "mod")                                                                                                        \
  X(POW, "pow")                                                                                                        \
  X(CDIV, "cdiv")                                                                                                      \
  X(EQ, "eq")                                                                                                          \
  X(NE, "ne")                                                                                                          \
  X(LT, "lt")                                                                                                          \
  X(LE, "le")                                                                                                          \
  X(GT, "gt")                                                                                                          \
  X(GE, "ge")                                                                                                          \
  X(AND, "and")                                                                                                        \
  X(OR, "or")                                                                                                          \
  X(MIN, "min")                                                                                                        \
  X(MAX, "max")                                                                                                        \
  X(ABS, "abs")                                                                                                        \
  X(FLOOR, "floor")                                                                                                    \
  X(CEIL, "ceil")

enum tune_op {
#define X(NAME, name) TUNE_##NAME,
  TUNE_OPS(X)
#undef X
      TUNE_OP_COUNT
};

/* One step of an expression: operands are earlier steps. CONST: a is a constant. PARAM: a is a parameter. */
struct tune_instr {
  uint32_t op, a, b;
};

/* nil, false and 0 are false; so are undefined and bad. */
static inline bool tune_truth(const struct tune_value *value) {
  switch (value->kind) {
  case TUNE_BOOL:
  case TUNE_INT:
    return value->u.i != 0;
  case TUNE_FLOAT:
    return value->u.f != 0;
  case TUNE_TEXT:
    return true;
  default:
    return false;
  }
}

/* Applies an operator other than CONST and PARAM. Cannot fail: what has no value is TUNE_UNDEFINED or TUNE_BAD. */
struct tune_value tune_apply(uint32_t op, const struct tune_value *a, const struct tune_value *b);
/* Why a value is TUNE_BAD, as Lua says it: "attempt to compare number with string". Returns what snprintf does. */
int tune_bad_text(const struct tune_value *value, char *text, size_t size);
/* Whether two values are the same: kind and content, so that 2 and 2.0 differ. */
bool tune_same(const struct tune_value *a, const struct tune_value *b);

#endif
