/*
 * stream.h - stream handles over slots.
 */
#ifndef LUHIP_SERVER_STREAM_H
#define LUHIP_SERVER_STREAM_H

#include "server/server.h"

hip_error_t stream_open_default(luhip_device *device);
void stream_close_default(luhip_device *device);

#endif
