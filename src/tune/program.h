/*
 * program.h - the expressions of one space as straight-line code over shared registers.
 *
 * Each register is written by one instruction, so equal instructions are one register, and what depends on constants
 * alone is computed when it is added. A register knows the last axis it depends on: it is computed when that axis is
 * set and not again while only later axes change, as a compiler moves work out of inner loops.
 */
#ifndef LUHIP_TUNE_PROGRAM_H
#define LUHIP_TUNE_PROGRAM_H

#include "tune/value.h"

enum { TUNE_NOWHERE = -1 }; /* the axis of what depends on none */

struct tune_program {
  struct tune_instr *instrs; /* CONST: a is not used. PARAM: a is the axis. */
  struct tune_value *regs;   /* one per instruction; constants are there from the start */
  int32_t *axis;             /* the last axis that a register depends on, or TUNE_NOWHERE */
  uint32_t count, capacity;
  uint32_t *buckets; /* open addressing: register + 1, by hash of the instruction */
  uint32_t bucket_count;
};

/* false: memory ran out; the program can still be freed. Out-parameters are written on success only. */
bool tune_program_const(struct tune_program *program, const struct tune_value *value, uint32_t *reg);
bool tune_program_param(struct tune_program *program, int32_t axis, uint32_t *reg);
bool tune_program_op(struct tune_program *program, uint32_t op, uint32_t a, uint32_t b, uint32_t *reg);
/* Marks what the register depends on, itself included, in `marks` of count bytes. */
void tune_program_mark(const struct tune_program *program, uint32_t reg, uint8_t *marks);
bool tune_program_is_const(const struct tune_program *program, uint32_t reg);
/* Computes one register from those it depends on. */
void tune_program_run(struct tune_program *program, uint32_t reg);
void tune_program_free(struct tune_program *program);

#endif
