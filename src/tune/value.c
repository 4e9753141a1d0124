/*
 * value.c - the operators of expressions over tuning parameters. See value.h.
 *
 * Each operator has a case for two whole numbers, one for numbers of which one is a float, and refuses the rest. `//`
 * and `%` round down, as in Lua and Python. Texts are compared byte by byte.
 */
#include "tune/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tune_value value;

#define TWO_63 9223372036854775808.0

static value of_int(int64_t i) {
  return (value){.kind = TUNE_INT, .u.i = i};
}
static value of_float(double f) {
  return (value){.kind = TUNE_FLOAT, .u.f = f};
}
static value of_bool(bool b) {
  return (value){.kind = TUNE_BOOL, .u.i = b};
}
static value undefined(void) {
  return (value){.kind = TUNE_UNDEFINED};
}
static value bad(uint32_t op, const value *a, const value *b) {
  return (value){.kind = TUNE_BAD, .u.i = (int64_t)(op | a->kind << 8 | b->kind << 16)};
}
static bool is_number(const value *v) {
  return v->kind == TUNE_INT || v->kind == TUNE_FLOAT;
}
static double as_float(const value *v) {
  return v->kind == TUNE_INT ? (double)v->u.i : v->u.f;
}

/* A float that is a whole number within 64 bits as one, another as it is. */
static value whole(double f) {
  if (f >= -TWO_63 && f < TWO_63 && floor(f) == f) return of_int((int64_t)f);
  return of_float(f);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------ */

static int64_t int_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}

static double float_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static value int_idiv(int64_t a, int64_t b) {
  if (b == -1) return a == INT64_MIN ? of_float(TWO_63) : of_int(-a);
  int64_t q = a / b;
  return of_int(a % b != 0 && (a ^ b) < 0 ? q - 1 : q);
}

static value int_arithmetic(uint32_t op, int64_t a, int64_t b) {
  int64_t r;
  switch (op) {
  case TUNE_ADD:
    return __builtin_add_overflow(a, b, &r) ? of_float((double)a + (double)b) : of_int(r);
  case TUNE_SUB:
    return __builtin_sub_overflow(a, b, &r) ? of_float((double)a - (double)b) : of_int(r);
  case TUNE_MUL:
    return __builtin_mul_overflow(a, b, &r) ? of_float((double)a * (double)b) : of_int(r);
  case TUNE_DIV:
    return of_float((double)a / (double)b);
  case TUNE_IDIV:
    return int_idiv(a, b);
  case TUNE_MOD:
    return of_int(int_mod(a, b));
  case TUNE_CDIV: { /* -(-a // b), without the overflow of -a */
    value q = int_idiv(a, b);
    return q.kind == TUNE_INT && int_mod(a, b) != 0 ? of_int(q.u.i + 1) : q;
  }
  default:
    return b < 0 ? of_float(pow((double)a, (double)b)) : whole(pow((double)a, (double)b));
  }
}

static value float_arithmetic(uint32_t op, double a, double b) {
  switch (op) {
  case TUNE_ADD:
    return of_float(a + b);
  case TUNE_SUB:
    return of_float(a - b);
  case TUNE_MUL:
    return of_float(a * b);
  case TUNE_DIV:
    return of_float(a / b);
  case TUNE_IDIV:
    return of_float(floor(a / b));
  case TUNE_MOD:
    return of_float(float_mod(a, b));
  case TUNE_CDIV:
    return of_float(ceil(a / b));
  default:
    return of_float(pow(a, b));
  }
}

static value arithmetic(uint32_t op, const value *a, const value *b) {
  if (!is_number(a) || !is_number(b)) return bad(op, a, b);
  bool divides = op == TUNE_DIV || op == TUNE_IDIV || op == TUNE_MOD || op == TUNE_CDIV;
  if (divides && as_float(b) == 0) return undefined();
  if (op == TUNE_POW && as_float(a) == 0 && as_float(b) < 0) return undefined();
  if (a->kind == TUNE_INT && b->kind == TUNE_INT) return int_arithmetic(op, a->u.i, b->u.i);
  return float_arithmetic(op, as_float(a), as_float(b));
}

static value unary(uint32_t op, const value *a) {
  if (!is_number(a)) return bad(op, a, a);
  if (a->kind == TUNE_INT) {
    if (op == TUNE_FLOOR || op == TUNE_CEIL || (op == TUNE_ABS && a->u.i >= 0)) return *a;
    return a->u.i == INT64_MIN ? of_float(TWO_63) : of_int(-a->u.i);
  }
  switch (op) {
  case TUNE_NEG:
    return of_float(-a->u.f);
  case TUNE_ABS:
    return of_float(fabs(a->u.f));
  case TUNE_FLOOR:
    return whole(floor(a->u.f));
  default:
    return whole(ceil(a->u.f));
  }
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

static bool same_text(const value *a, const value *b) {
  return a->length == b->length && (a->u.text == b->u.text || memcmp(a->u.text, b->u.text, a->length) == 0);
}

static bool equal(const value *a, const value *b) {
  if (a->kind != b->kind) return is_number(a) && is_number(b) && as_float(a) == as_float(b);
  switch (a->kind) {
  case TUNE_FLOAT:
    return a->u.f == b->u.f;
  case TUNE_TEXT:
    return same_text(a, b);
  case TUNE_NIL:
    return true;
  default:
    return a->u.i == b->u.i;
  }
}

static int text_order(const value *a, const value *b) {
  uint32_t common = a->length < b->length ? a->length : b->length;
  int order = memcmp(a->u.text, b->u.text, common);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool ordered(uint32_t op, double a, double b) {
  switch (op) {
  case TUNE_LT:
    return a < b;
  case TUNE_LE:
    return a <= b;
  case TUNE_GT:
    return a > b;
  default:
    return a >= b;
  }
}

static value compare(uint32_t op, const value *a, const value *b) {
  if (a->kind == TUNE_INT && b->kind == TUNE_INT)
    return of_bool(ordered(op, (double)((a->u.i > b->u.i) - (a->u.i < b->u.i)), 0));
  if (is_number(a) && is_number(b)) return of_bool(ordered(op, as_float(a), as_float(b)));
  if (a->kind == TUNE_TEXT && b->kind == TUNE_TEXT) return of_bool(ordered(op, text_order(a, b), 0));
  return bad(op, a, b);
}

static value extreme(uint32_t op, const value *a, const value *b) {
  if (!is_number(a) || !is_number(b)) return bad(op, a, b);
  value takes_b = compare(op == TUNE_MIN ? TUNE_LT : TUNE_GT, b, a);
  return takes_b.u.i ? *b : *a;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static bool lost(const value *v) {
  return v->kind == TUNE_UNDEFINED || v->kind == TUNE_BAD;
}

struct tune_value tune_apply(uint32_t op, const struct tune_value *a, const struct tune_value *b) {
  if (lost(a)) return *a;
  if (op == TUNE_AND) return tune_truth(a) ? *b : *a;
  if (op == TUNE_OR) return tune_truth(a) ? *a : *b;
  if (op == TUNE_NOT) return of_bool(!tune_truth(a));
  if (lost(b)) return *b;
  switch (op) {
  case TUNE_EQ:
    return of_bool(equal(a, b));
  case TUNE_NE:
    return of_bool(!equal(a, b));
  case TUNE_LT:
  case TUNE_LE:
  case TUNE_GT:
  case TUNE_GE:
    return compare(op, a, b);
  case TUNE_MIN:
  case TUNE_MAX:
    return extreme(op, a, b);
  case TUNE_NEG:
  case TUNE_ABS:
  case TUNE_FLOOR:
  case TUNE_CEIL:
    return unary(op, a);
  default:
    return arithmetic(op, a, b);
  }
}

int tune_bad_text(const struct tune_value *v, char *text, size_t size) {
  static const char *const kinds[] = {"nil", "boolean", "number", "number", "string", "undefined", "bad"};
  uint32_t op = (uint32_t)v->u.i & 255;
  const char *a = kinds[v->u.i >> 8 & 255], *b = kinds[v->u.i >> 16 & 255];
  if (op >= TUNE_LT && op <= TUNE_GE) return snprintf(text, size, "attempt to compare %s with %s", a, b);
  if (strcmp(a, "number") == 0) a = b;
  return snprintf(text, size, "attempt to perform arithmetic on a %s value", a);
}

bool tune_same(const struct tune_value *a, const struct tune_value *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == TUNE_TEXT) return same_text(a, b);
  return a->kind == TUNE_NIL || a->u.i == b->u.i; /* floats by their bits: 0.0 and -0.0 differ, NaN is itself */
}
