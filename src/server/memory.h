/*
 * memory.h - the memory managers of a device's streams (B1).
 *
 * A slot has a manager of device memory and one of pinned host memory, made when it first needs either. They stay with
 * the slot when its stream goes: the next stream of the slot inherits what is free, and what lives there lives on.
 * Every function but memory_open and memory_free is called with the device lock held.
 */
#ifndef LUHIP_SERVER_MEMORY_H
#define LUHIP_SERVER_MEMORY_H

#include "server/server.h"

/* Before the device is used; its options, info and api are there. */
luhip_status memory_open(luhip_device *device, luhip_error **error);
/* Close: everything free leaves, to the driver or, where it is not safe to free it, into oblivion. */
void memory_close(luhip_device *device, bool free_memory);
/* The records; the last reference to the device goes. */
void memory_free(luhip_device *device);

/* The managers of a slot; NULL when the host has no memory for them. */
struct manager *memory_of(luhip_device *device, uint32_t slot);
/* A new stream takes the slot: the layout of new streams, no mode, no window. */
void memory_stream_made(luhip_device *device, uint32_t slot);
/* Its stream is gone and its work has passed: what is free is let go. */
void memory_reap(luhip_device *device, uint32_t slot);
/* Frees all cached device memory to the driver when its users have passed; drops the lock for it. E_INTERRUPTED and
   E_TIMEOUT, nothing was freed then; E_FREED: the device was closed meanwhile. */
luhip_status memory_release(luhip_device *device, luhip_error **error);

/* Pinned memory for one operation or array of the slot; the host may touch it at once. NULL when there is none: never an
   error, there is plain memory then. It goes back by manager_give, with its marks. */
struct slice *staging_take(luhip_device *device, uint32_t slot, size_t bytes);
/* Pinned memory that left a closed server of the same device becomes this one's, free. */
bool memory_adopt_pinned(luhip_device *device, struct slice *slice);

/* Whether new streams have the layout that the options ask for, if they do. An unknown preset is another one. */
bool memory_layout_is(const luhip_device *device, const luhip_open_options *wanted);
/* Writes the layout that the slot's device memory has, or would have; returns how many pools it has. */
size_t memory_layout(const luhip_device *device, uint32_t slot, luhip_pool list[LUHIP_MAX_POOLS]);

#endif
