/*
 * program.c - adding instructions to the code of a space. See program.h.
 */
#include "tune/program.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };

/* ---- room ------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h) {
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 27) * 0x94D049BB133111EBu;
  return h ^ h >> 31;
}

static uint64_t hash_value(const struct tune_value *value) {
  uint64_t h = value->kind;
  if (value->kind != TUNE_TEXT) return mix(h + mix((uint64_t)value->u.i));
  for (uint32_t i = 0; i < value->length; i++) h = mix(h + (unsigned char)value->u.text[i]);
  return h;
}

static uint64_t hash_instr(const struct tune_instr *instr, const struct tune_value *value) {
  uint64_t h = mix(instr->op);
  if (instr->op == TUNE_CONST) return mix(h + hash_value(value));
  return mix(h + ((uint64_t)instr->a << 32 | instr->b));
}

static bool rehash(struct tune_program *p, uint32_t buckets) {
  uint32_t *fresh = calloc(buckets, sizeof *fresh);
  if (!fresh) return false;
  for (uint32_t r = 0; r < p->count; r++) {
    uint64_t at = hash_instr(&p->instrs[r], &p->regs[r]) & (buckets - 1);
    while (fresh[at]) at = (at + 1) & (buckets - 1);
    fresh[at] = r + 1;
  }
  free(p->buckets);
  p->buckets = fresh;
  p->bucket_count = buckets;
  return true;
}

static bool grow(struct tune_program *p) {
  uint32_t capacity = p->capacity ? p->capacity * 2 : FIRST;
  if (capacity < p->capacity || capacity > INT32_MAX / 4) return false;
  struct tune_instr *instrs = realloc(p->instrs, capacity * sizeof *instrs);
  if (instrs) p->instrs = instrs;
  struct tune_value *regs = realloc(p->regs, capacity * sizeof *regs);
  if (regs) p->regs = regs;
  int32_t *axis = realloc(p->axis, capacity * sizeof *axis);
  if (axis) p->axis = axis;
  if (!instrs || !regs || !axis || !rehash(p, capacity * 2)) return false;
  p->capacity = capacity;
  return true;
}

/* ---- adding ---------------------------------------------------------------------------------------------------- */

static bool same_instr(const struct tune_program *p, uint32_t reg, const struct tune_instr *instr,
                       const struct tune_value *value) {
  const struct tune_instr *other = &p->instrs[reg];
  if (other->op != instr->op) return false;
  if (instr->op == TUNE_CONST) return tune_same(&p->regs[reg], value);
  return other->a == instr->a && other->b == instr->b;
}

static bool add(struct tune_program *p, struct tune_instr instr, const struct tune_value *value, int32_t axis,
                uint32_t *reg) {
  if (p->count == p->capacity && !grow(p)) return false;
  uint64_t mask = p->bucket_count - 1, at = hash_instr(&instr, value) & mask;
  for (; p->buckets[at]; at = (at + 1) & mask) {
    if (!same_instr(p, p->buckets[at] - 1, &instr, value)) continue;
    *reg = p->buckets[at] - 1;
    return true;
  }
  *reg = p->count++;
  p->buckets[at] = *reg + 1;
  p->instrs[*reg] = instr;
  p->regs[*reg] = *value;
  p->axis[*reg] = axis;
  return true;
}

bool tune_program_is_const(const struct tune_program *p, uint32_t reg) {
  return p->instrs[reg].op == TUNE_CONST;
}

bool tune_program_const(struct tune_program *p, const struct tune_value *value, uint32_t *reg) {
  return add(p, (struct tune_instr){.op = TUNE_CONST}, value, TUNE_NOWHERE, reg);
}

bool tune_program_param(struct tune_program *p, int32_t axis, uint32_t *reg) {
  const struct tune_value none = {.kind = TUNE_NIL};
  return add(p, (struct tune_instr){.op = TUNE_PARAM, .a = (uint32_t)axis}, &none, axis, reg);
}

bool tune_program_op(struct tune_program *p, uint32_t op, uint32_t a, uint32_t b, uint32_t *reg) {
  const struct tune_value none = {.kind = TUNE_NIL};
  bool constant = tune_program_is_const(p, a);
  if (constant && tune_program_is_const(p, b)) {
    struct tune_value value = tune_apply(op, &p->regs[a], &p->regs[b]);
    return tune_program_const(p, &value, reg);
  }
  if (constant && (op == TUNE_AND || op == TUNE_OR) && p->regs[a].kind < TUNE_UNDEFINED) {
    *reg = tune_truth(&p->regs[a]) == (op == TUNE_AND) ? b : a;
    return true;
  }
  int32_t axis = p->axis[a] > p->axis[b] ? p->axis[a] : p->axis[b];
  return add(p, (struct tune_instr){op, a, b}, &none, axis, reg);
}

/* ---- using ----------------------------------------------------------------------------------------------------- */

void tune_program_mark(const struct tune_program *p, uint32_t reg, uint8_t *marks) {
  if (marks[reg]) return;
  marks[reg] = 1;
  /* Operands come before what uses them, so one pass downwards meets every register after all that use it. What was
     marked before has its operands marked. */
  for (uint32_t r = reg + 1; r-- > 0;) {
    if (!marks[r] || p->instrs[r].op <= TUNE_PARAM) continue;
    marks[p->instrs[r].a] = marks[p->instrs[r].b] = 1;
  }
}

void tune_program_run(struct tune_program *p, uint32_t reg) {
  const struct tune_instr *instr = &p->instrs[reg];
  p->regs[reg] = tune_apply(instr->op, &p->regs[instr->a], &p->regs[instr->b]);
}

void tune_program_free(struct tune_program *p) {
  free(p->instrs);
  free(p->regs);
  free(p->axis);
  free(p->buckets);
  *p = (struct tune_program){0};
}
