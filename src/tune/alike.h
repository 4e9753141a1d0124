/*
 * alike.h - how alike whole configurations are: the product of the correlations of all axes. See surrogate.h.
 *
 * Neighbouring axes with few values together are a group, whose digits are one joint digit: its correlations are
 * products that are computed once, when they are first asked for, and looked up from then on.
 */
#ifndef LUHIP_TUNE_ALIKE_H
#define LUHIP_TUNE_ALIKE_H

#include "tune/correlation.h"

enum { ALIKE_JOINT = 64 }; /* joint digits of a group, unless that is an axis of more */

struct alike_group {
  uint32_t first, count; /* axes */
  uint32_t size;         /* joint digits, the first axis counting fastest */
  uint32_t stride;       /* of rows: a multiple of LANES_BLOCK */
  float *rows;           /* the correlations of each joint digit with all; NULL: too many, computed each time */
  bool *there;           /* by joint digit: whether its row is */
};

struct alike {
  struct correlation *axes;
  uint32_t axis_count;
  struct alike_group *groups;
  uint32_t group_count;
};

/* Configurations by their joint digits: that of group g and configuration i is at [g * stride + i]. */
struct alike_list {
  const uint32_t *joint;
  size_t stride;
};

/* The axes are borrowed. false: no memory; it can still be freed. */
bool alike_init(struct alike *a, struct correlation *axes, uint32_t axis_count);
void alike_free(struct alike *a);
/* The correlations of the axes are others than before. */
void alike_renew(struct alike *a);
/* joint[g * stride] = the joint digit of group g; and the digits of one group's axes from its joint digit. */
void alike_join(const struct alike *a, const uint32_t *digits, uint32_t *joint, size_t stride);
void alike_split(const struct alike *a, uint32_t group, uint32_t joint, uint32_t *digits);
/* out[i] = how alike the first of `own` and the i-th of n others are, without a group `but`, UINT32_MAX: with all. */
void alike_row(const struct alike *a, struct alike_list own, uint32_t but, struct alike_list others, size_t n,
               float *out);

#endif
