/*
 * limits.c - what this machine and the CPU device's settings allow, read from /proc, /sys and the configuration.
 */
#include "cpu/limits.h"

#include "base/config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* The number a file holds; false when there is none ("max" in a control group's file). */
static bool file_number(const char *path, uint64_t *number) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool found = fscanf(file, "%" SCNu64, number) == 1;
  fclose(file);
  return found;
}

/* A number from the settings, or what it was; false with a sentence in `reason` when the setting is wrong. */
static bool setting_number(enum config_id id, uint64_t *number, char *reason, size_t len) {
  luhip_error *error = NULL;
  if (config_number(id, number, &error) == LUHIP_OK) return true;
  snprintf(reason, len, "%s", luhip_error_message(error));
  luhip_error_release(error);
  return false;
}

size_t cpu_limits_memory(char *reason, size_t len) {
  uint64_t bytes = 0;
  if (!setting_number(CONFIG_CPU_MEMORY, &bytes, reason, len)) return 0;
  if (bytes) return bytes;
  bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  static const char *const groups[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    uint64_t limit;
    if (file_number(groups[i], &limit) && limit < bytes) bytes = limit;
  }
  bytes -= bytes / 8;
  return bytes > 16 * MIB ? bytes : 16 * MIB;
}

int cpu_limits_threads(char *reason, size_t len) {
  uint64_t threads = 0;
  if (!setting_number(CONFIG_CPU_THREADS, &threads, reason, len)) return -1;
  return threads < INT32_MAX ? (int)threads : INT32_MAX;
}

/* The first processor's value for a key of /proc/cpuinfo, "" when there is none. */
static void cpuinfo(const char *key, char *value, size_t len) {
  char line[4096];
  value[0] = '\0';
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    size_t length = strlen(key);
    char *colon = strchr(line, ':');
    if (line[0] == '\n') break;
    if (!colon || strncmp(line, key, length) != 0 ||
        (line[length] != '\t' && line[length] != ' ' && line[length] != ':'))
      continue;
    char *text = colon + 1 + strspn(colon + 1, " \t");
    text[strcspn(text, "\n")] = '\0';
    snprintf(value, len, "%s", text);
    break;
  }
  fclose(file);
}

void cpu_limits_cpu_name(char *name, size_t len) {
  cpuinfo("model name", name, len);
  if (!name[0]) snprintf(name, len, "CPU");
}

void cpu_limits_cpu_identity(char *identity, size_t len) {
  char vendor[64], family[16], model[16], flags[4096];
  cpuinfo("vendor_id", vendor, sizeof vendor);
  cpuinfo("cpu family", family, sizeof family);
  cpuinfo("model", model, sizeof model);
  cpuinfo("flags", flags, sizeof flags);
  uint64_t hash = 14695981039346656037u;
  for (const char *c = vendor; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  for (const char *c = flags; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  snprintf(identity, len, "%s-%s-%08x", family[0] ? family : "0", model[0] ? model : "0",
           (unsigned)(hash ^ hash >> 32));
}

int cpu_limits_clock_khz(void) {
  uint64_t khz;
  char mhz[32];
  if (file_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", &khz) && khz < INT32_MAX) return (int)khz;
  cpuinfo("cpu MHz", mhz, sizeof mhz);
  return (int)(strtod(mhz, NULL) * 1000);
}

int cpu_limits_l2_bytes(void) {
  long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 && bytes < INT32_MAX ? (int)bytes : 0;
}
