/*
 * settings.h - the one table of luhip's settings.
 *
 * A row is all that a setting needs: docs/configuration.md is held against it by a spec, `luhip doctor` shows it,
 * and config.h gives the values. Only files and scripts know the key; the environment knows the variable.
 */
#ifndef LUHIP_BASE_SETTINGS_H
#define LUHIP_BASE_SETTINGS_H

#define SETTING_SIZE_FORM "a size: bytes, or a number with K, M, G or T"
#define SETTING_LEVEL_FORM "a level: off, basic or full"

/* X(ID, key, variable, type, low, high, standard, own, wanted, meaning)
   type      TEXT, PATH, COUNT (low..high), MILLISECONDS, SIZE (low.. bytes), SWITCH, LEVEL, SINK, or a word of a list of
             its own: PRESET, POLICY
   standard  the built-in value as text; "": none
   own       true: not to be set by a luhip.conf.lua that lies in a working folder: it names what is run or written
   wanted    completes "it is 'x', which is not ..." */
#define CONFIG_SETTINGS(X)                                                                                             \
  X(DEVICE, "device", "LUHIP_DEVICE", TEXT, 0, 0, "", false, "the id of a device",                                     \
    "the device that `luhip.open()` takes: `cpu`, `cpu:0/64` (warps of 64), `rocm:0`, `cuda:1`; the best present "     \
    "one")                                                                                                             \
  X(TIMEOUT, "timeout", "LUHIP_TIMEOUT", MILLISECONDS, 0, UINT32_MAX, "10000", false, "a number of milliseconds",      \
    "milliseconds after which a launch on the CPU device counts as endless; 0: never")                                 \
  X(MEMORY_LIMIT, "memory.limit", "LUHIP_MEMORY_LIMIT", SIZE, 0, 0, "0", false, SETTING_SIZE_FORM,                     \
    "how much memory a device may hold where `luhip.open` names no limit; 0: all there is")                            \
  X(MEMORY_POOLS, "memory.pools", "LUHIP_MEMORY_POOLS", PRESET, 0, 0, "", false,                                       \
    "a preset: sub-slices, exclusive or direct",                                                                       \
    "the pools of a device where `luhip.open` names none: `sub-slices`, `exclusive` or `direct`; `direct` on the CPU " \
    "device, else `sub-slices`")                                                                                       \
  X(MEMORY_PERSISTENT, "memory.persistent", "LUHIP_MEMORY_PERSISTENT", POLICY, 0, 0, "auto", false,                    \
    "a policy: auto, disabled or enforced",                                                                            \
    "what the persistent pools serve where `luhip.open` says nothing: captures and persistent mode (`auto`), "         \
    "captures "                                                                                                        \
    "alone (`disabled`), or everything (`enforced`)")                                                                  \
  X(MAX_STREAMS, "streaming.max_streams", "LUHIP_MAX_STREAMS", COUNT, 1, 128, "128", false,                            \
    "a number of streams from 1 to 128", "how many streams a device may have beside its default one, 1 to 128")        \
  X(CPU_THREADS, "cpu.threads", "LUHIP_CPU_THREADS", COUNT, 1, UINT64_MAX, "", false,                                  \
    "a number of threads: 1 or more", "threads of the CPU device; the cores that this process may use")                \
  X(CPU_MEMORY, "cpu.memory", "LUHIP_CPU_MEMORY", SIZE, 1, 0, "", false, SETTING_SIZE_FORM,                            \
    "memory of the CPU device; seven eighths of what there is")                                                        \
  X(CPU_CHECKED, "cpu.checked", "LUHIP_CPU_CHECKED", SWITCH, 0, 0, "off", false, "a switch: on or off",                \
    "whether the CPU device is opened in checked mode where `luhip.open` says nothing")                                \
  X(CPU_COMPILER, "cpu.compiler", "LUHIP_CLANG", PATH, 0, 0, "", true, "a program",                                    \
    "the compiler of kernels for the CPU device; clang 19, or another from 16 on, else g++")                           \
  X(CPU_ARCH, "cpu.arch", "LUHIP_CPU_ARCH", TEXT, 0, 0, "native", false, "an architecture",                            \
    "the processor that kernels of the CPU device are compiled for: `native`, or a level of x86-64 that this one "     \
    "has, as `x86-64-v3`")                                                                                             \
  X(CUDA_INCLUDE, "cuda.include", "LUHIP_CUDA_INCLUDE", PATH, 0, 0, "", true, "a folder",                              \
    "CUDA's headers (`cuda_fp16.h`), for kernels on NVIDIA GPUs; those beside NVRTC, else 16-bit floats are luhip's "  \
    "own")                                                                                                             \
  X(COMPILE_TIMEOUT, "compile.timeout", "LUHIP_COMPILE_TIMEOUT", MILLISECONDS, 1, UINT32_MAX, "60000", false,          \
    "a number of milliseconds", "milliseconds that one compile may take")                                              \
  X(CACHE, "cache.enabled", "LUHIP_CACHE", SWITCH, 0, 0, "on", false, "a switch: on or off",                           \
    "whether compiled kernels are kept on disk")                                                                       \
  X(CACHE_FOLDER, "cache.folder", "LUHIP_CACHE_DIR", PATH, 0, 0, "", true, "a folder",                                 \
    "where compiled kernels are kept; `luhip` in `XDG_CACHE_HOME` or `~/.cache`")                                      \
  X(CACHE_LIMIT, "cache.limit", "LUHIP_CACHE_LIMIT", SIZE, 0, 0, "4G", true, SETTING_SIZE_FORM,                        \
    "how much the compiled kernels on disk may take; those not used for longest go; 0: no limit")                      \
  X(TUNE_FOLDER, "tune.folder", "LUHIP_TUNE_DIR", PATH, 0, 0, "", true, "a folder",                                    \
    "where tuning results are stored by name; `luhip/tune` in `XDG_DATA_HOME` or `~/.local/share`")                    \
  X(LOG_LEVEL, "log.level", "LUHIP_LOG", LEVEL, 0, 0, "off", false, SETTING_LEVEL_FORM,                                \
    "the level of every logger that has none of its own: `off`, `basic` or `full`")                                    \
  X(LOG_COMPILE, "log.compile", "LUHIP_LOG_COMPILE", LEVEL, 0, 0, "", false, SETTING_LEVEL_FORM,                       \
    "compiles and cache hits; full: options and the compiler's log")                                                   \
  X(LOG_MEMORY, "log.memory", "LUHIP_LOG_MEMORY", LEVEL, 0, 0, "", false, SETTING_LEVEL_FORM,                          \
    "memory taken from and given back to the driver; full: every buffer")                                              \
  X(LOG_STREAMS, "log.streams", "LUHIP_LOG_STREAMS", LEVEL, 0, 0, "", false, SETTING_LEVEL_FORM,                       \
    "devices and streams opened and closed, captures; full: waits of one stream for another")                          \
  X(LOG_LAUNCHES, "log.launches", "LUHIP_LOG_LAUNCHES", LEVEL, 0, 0, "", false, SETTING_LEVEL_FORM,                    \
    "failed and skipped launches, profiles; full: every launch")                                                       \
  X(LOG_TUNE, "log.tune", "LUHIP_LOG_TUNE", LEVEL, 0, 0, "", false, SETTING_LEVEL_FORM,                                \
    "begin and end of a tuning run; full: every configuration")                                                        \
  X(LOG_SINK, "log.sink", "LUHIP_LOG_SINK", SINK, 0, 0, "stderr", true, "stderr or a file",                            \
    "where log lines go: `stderr`, a file that they are added to, or in a script a function of topic, level and "      \
    "text")                                                                                                            \
  X(SIZE, "size", "LUHIP_SIZE", COUNT, 1, INT64_MAX, "", false, "a whole number, 1 or more",                           \
    "problem size of the examples")

#endif
