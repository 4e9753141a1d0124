/*
 * background.h - compiles that go on beside the program; luhip.h has the entry points.
 */
#ifndef LUHIP_SERVER_BACKGROUND_H
#define LUHIP_SERVER_BACKGROUND_H

#include "luhip.h"

/* A device that is being closed, without its lock: what is queued for it will not be compiled; what is compiling for it is
   waited for. */
void background_close(luhip_device *device);

#endif
