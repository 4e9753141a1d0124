/*
 * device.h - what belongs to one ordinal of the CPU device, and to the calling thread.
 *
 * Ordinal 0 has warps of 32 threads, ordinal 1 of 64. They share memory, pool and everything else.
 */
#ifndef LUHIP_CPU_DEVICE_H
#define LUHIP_CPU_DEVICE_H

#include <stdbool.h>

#include "hip/api.h"

enum { CPU_DEVICES = 2 };

unsigned cpu_device_warp(int device);
bool cpu_device_exists(int device);
int cpu_device_current(void); /* of the calling thread */
void cpu_device_set_current(int device);

/* Settings of one ordinal. */
bool cpu_device_checked(int device);
void cpu_device_set_checked(int device, bool on);
unsigned cpu_device_timeout(int device);
void cpu_device_set_timeout(int device, unsigned ms);

/* Tag of what the calling thread enqueues. */
uint64_t cpu_device_tag(void);
void cpu_device_set_tag(uint64_t tag);

/* Faults wait, oldest first, until they are taken. The newest one tells how many had no room. */
void cpu_device_add_fault(int device, const struct hip_fault *fault);
bool cpu_device_take_fault(int device, struct hip_fault *fault);

void cpu_device_name(char *name, size_t len);
void cpu_device_arch(int device, char *arch, size_t len); /* "x86-64-6-207-1a2b3c4d/32" */
bool cpu_device_attribute(int device, hip_device_attribute_t attribute, int *value);

void cpu_device_fork_prepare(void);
void cpu_device_fork_parent(void);
void cpu_device_fork_child(void);

#endif
