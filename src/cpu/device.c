/*
 * device.c - the ordinals of the CPU device: names, limits, settings, and the faults of their launches.
 *
 * Faults wait in a list of at most MAX_FAULTS. A fault that finds it full is counted in the newest record's
 * text: whoever takes that one knows that some launches failed without a record.
 */
#include "cpu/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/exec.h"
#include "cpu/limits.h"

enum { MAX_FAULTS = 4096 };

struct fault_node {
  struct hip_fault fault;
  struct fault_node *next;
};

static struct device {
  atomic_bool checked;
  atomic_uint timeout_ms;
  struct fault_node *first, *last;
  unsigned faults;
  uint64_t dropped;
} devices[CPU_DEVICES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the faults */

static _Thread_local int current;
static _Thread_local uint64_t tag;

unsigned cpu_device_warp(int device) {
  return device == 0 ? 32 : 64;
}
bool cpu_device_exists(int device) {
  return device >= 0 && device < CPU_DEVICES;
}
int cpu_device_current(void) {
  return current;
}
void cpu_device_set_current(int device) {
  current = device;
}
bool cpu_device_checked(int device) {
  return atomic_load(&devices[device].checked);
}
void cpu_device_set_checked(int device, bool on) {
  atomic_store(&devices[device].checked, on);
}
unsigned cpu_device_timeout(int device) {
  return atomic_load(&devices[device].timeout_ms);
}
void cpu_device_set_timeout(int device, unsigned ms) {
  atomic_store(&devices[device].timeout_ms, ms);
}
uint64_t cpu_device_tag(void) {
  return tag;
}
void cpu_device_set_tag(uint64_t value) {
  tag = value;
}

/* ---- faults --------------------------------------------------------------------------------------------------- */

void cpu_device_add_fault(int ordinal, const struct hip_fault *fault) {
  struct device *device = &devices[ordinal];
  pthread_mutex_lock(&lock);
  struct fault_node *node = device->faults < MAX_FAULTS ? malloc(sizeof *node) : NULL;
  if (node) {
    node->fault = *fault;
    node->next = NULL;
    *(device->last ? &device->last->next : &device->first) = node;
    device->last = node;
    device->faults++;
  } else {
    device->dropped++;
  }
  pthread_mutex_unlock(&lock);
}

bool cpu_device_take_fault(int ordinal, struct hip_fault *fault) {
  struct device *device = &devices[ordinal];
  uint64_t dropped = 0;
  pthread_mutex_lock(&lock);
  struct fault_node *node = device->first;
  if (node) {
    device->first = node->next;
    device->faults--;
    if (!device->first) {
      device->last = NULL;
      dropped = device->dropped;
      device->dropped = 0;
    }
  }
  pthread_mutex_unlock(&lock);
  if (!node) return false;
  *fault = node->fault;
  free(node);
  if (dropped) {
    size_t used = strlen(fault->text);
    snprintf(fault->text + used, sizeof fault->text - used, " (and %llu more faults without a record)",
             (unsigned long long)dropped);
  }
  return true;
}

void cpu_device_fork_prepare(void) {
  pthread_mutex_lock(&lock);
}
void cpu_device_fork_parent(void) {
  pthread_mutex_unlock(&lock);
}
void cpu_device_fork_child(void) {
  pthread_mutex_init(&lock, NULL);
}

/* ---- names and limits ------------------------------------------------------------------------------------------- */

/* What the machine tells does not change, so it is read once. */
static struct {
  char name[128];
  char identity[96];
  int clock_khz, l2_bytes;
} machine;

static void read_machine(void) {
  cpu_limits_cpu_name(machine.name, sizeof machine.name);
  cpu_limits_cpu_identity(machine.identity, sizeof machine.identity);
  machine.clock_khz = cpu_limits_clock_khz();
  machine.l2_bytes = cpu_limits_l2_bytes();
}

static void need_machine(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_machine);
}

void cpu_device_name(char *name, size_t len) {
  need_machine();
  snprintf(name, len, "%s", machine.name);
}

void cpu_device_arch(int device, char *arch, size_t len) {
  need_machine();
  snprintf(arch, len, "x86-64-%s/%u", machine.identity, cpu_device_warp(device));
}

/* Grid limits are those of NVIDIA's devices, the narrowest around, so that what runs here runs there. */
bool cpu_device_attribute(int device, hip_device_attribute_t attribute, int *value) {
  need_machine();
  switch (attribute) {
  case hip_DeviceAttributeMaxThreadsPerBlock:
  case hip_DeviceAttributeMaxThreadsPerMultiProcessor:
  case hip_DeviceAttributeMaxBlockDimX:
  case hip_DeviceAttributeMaxBlockDimY:
  case hip_DeviceAttributeMaxBlockDimZ:
    *value = CPU_MAX_THREADS;
    return true;
  case hip_DeviceAttributeMaxGridDimX:
    *value = CPU_MAX_GRID_X;
    return true;
  case hip_DeviceAttributeMaxGridDimY:
  case hip_DeviceAttributeMaxGridDimZ:
    *value = CPU_MAX_GRID_YZ;
    return true;
  case hip_DeviceAttributeMaxSharedMemoryPerBlock:
  case hip_DeviceAttributeSharedMemPerBlockOptin:
    *value = CPU_SHARED_BYTES;
    return true;
  case hip_DeviceAttributeWarpSize:
    *value = (int)cpu_device_warp(device);
    return true;
  case hip_DeviceAttributeMultiprocessorCount:
    *value = (int)cpu_exec_workers();
    return true;
  case hip_DeviceAttributeClockRate:
    *value = machine.clock_khz;
    return true;
  case hip_DeviceAttributeL2CacheSize:
    *value = machine.l2_bytes;
    return true;
  case hip_DeviceAttributeMaxPitch:
    *value = INT32_MAX;
    return true;
  case hip_DeviceAttributeMaxRegistersPerBlock:
  case hip_DeviceAttributeTotalConstantMemory:
    *value = 65536;
    return true;
  case hip_DeviceAttributeTextureAlignment:
  case hip_DeviceAttributeTexturePitchAlignment:
    *value = 256;
    return true;
  case hip_DeviceAttributeMemoryBusWidth:
    *value = 64;
    return true;
  case hip_DeviceAttributeAsyncEngineCount:
  case hip_DeviceAttributeCanMapHostMemory:
  case hip_DeviceAttributeConcurrentKernels:
  case hip_DeviceAttributeIntegrated:
  case hip_DeviceAttributeUnifiedAddressing:
  case hip_DeviceAttributeComputeCapabilityMajor:
    *value = 1;
    return true;
  case hip_DeviceAttributeComputeCapabilityMinor:
  case hip_DeviceAttributeCooperativeLaunch:
  case hip_DeviceAttributeManagedMemory:
  case hip_DeviceAttributeMemoryClockRate:
    *value = 0;
    return true;
  }
  return false;
}
