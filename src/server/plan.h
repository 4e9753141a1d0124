/*
 * plan.h - trying a layout without memory (J9).
 *
 * A plan has a manager of its own over a storage that hands out addresses and no memory. Buffers added to it are carved
 * there beside whatever else they are, and go back when they are freed. Guarded by the device lock.
 */
#ifndef LUHIP_SERVER_PLAN_H
#define LUHIP_SERVER_PLAN_H

#include "server/server.h"

struct allocation;

/* The allocation goes, or loses its memory. */
void plan_forget(struct allocation *allocation);

#endif
