/*
 * surrogate_fields.h - what surrogate.c and fit.c share. See surrogate.h.
 */
#ifndef LUHIP_TUNE_SURROGATE_FIELDS_H
#define LUHIP_TUNE_SURROGATE_FIELDS_H

#include "tune/alike.h"
#include "tune/surrogate.h"

#define SURROGATE_NOISE 1e-3f /* variance of a cost that is not explained by its configuration, relative to all */

struct surrogate {
  struct correlation *axes;
  uint32_t axis_count;
  uint64_t told;       /* costs that were ever added */
  uint64_t next_fit;   /* how many they are when lengths are looked for again */
  uint32_t size;       /* costs */
  uint32_t rows;       /* of `factor` and `pool_rows` that are there */
  uint32_t framed;     /* the size when targets were last scaled; 0: they are to be */
  double best, worst;  /* of the finite costs */
  uint32_t finite;     /* how many there are */
  float centre, scale; /* of the targets */
  float lowest;        /* target */
  double *costs;
  float *raw;       /* targets before they are scaled */
  uint32_t *digits; /* by axis, SURROGATE_MOST each */
  struct alike alike;
  uint32_t *joint, *pool_joint; /* joint digits by group, SURROGATE_MOST and SURROGATE_POOL each */
  uint32_t *own_joint;          /* of one configuration */
  float *by_row, *by_column;    /* M, SURROGATE_MOST a row or column, zero above the diagonal */
  float *solved;                /* M * targets */
  float *weights;               /* M' * solved */
  float *pool_rows;             /* M * correlations with the pool, SURROGATE_POOL a row */
  float *mean, *variance;
  float *deviation; /* the root of the variance, as of the last update or put */
  float *hole;      /* by place: infinite for an empty one, else 0 */
};

/* fit.c: looks for lengths that explain the targets better; true when any changed. */
bool surrogate_fit(struct surrogate *s);
/* The lengths before any cost is known. */
void surrogate_unfit(struct surrogate *s);

#endif
