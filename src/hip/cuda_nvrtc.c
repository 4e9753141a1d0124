/*
 * cuda_nvrtc.c - finding NVRTC, the compiler, and the toolkit's headers beside it.
 *
 * It is loaded when the first kernel is compiled. The loader's own search comes first, then where the toolkit's
 * installers put it. A compiler later than the driver makes code that the driver may refuse, so versions up to the
 * driver's are preferred. Headers such as cuda_fp16.h are files of the toolkit and lie beside the library: in
 * ../include of a toolkit's lib64, and in ../../../include of targets/x86_64-linux/lib; cuda.include names another
 * folder. Where they are not, 16-bit floats are our own.
 */
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "hip/cuda.h"

static struct cuda_nvrtc nvrtc;

static int resolve_all(void *library, struct cuda_nvrtc *found) {
  void *symbol;
#define RESOLVE(field, name, type, parameters)                                                                         \
  symbol = dlsym(library, name);                                                                                       \
  if (!symbol) return 0;                                                                                               \
  memcpy(&found->field, &symbol, sizeof symbol);
  CUDA_NVRTC(RESOLVE)
#undef RESOLVE
  return 1;
}

static int driver_major(void) {
  int version = 0;
  if (cuda_driver.driver_version) cuda_driver.driver_version(&version);
  return version / 1000;
}

/* Takes the library at path when it is one, and not later than `latest`. */
static int try_library(const char *path, int latest) {
  struct cuda_nvrtc found = {.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL)};
  if (!found.library) return 0;
  Dl_info info;
  void *symbol = dlsym(found.library, "nvrtcVersion");
  if (!resolve_all(found.library, &found) || found.version(&found.major, &found.minor) || found.major > latest) {
    dlclose(found.library);
    return 0;
  }
  snprintf(found.path, sizeof found.path, "%s",
           symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : path);
  nvrtc = found;
  return 1;
}

static int try_pattern(const char *pattern, int latest) {
  glob_t list;
  int found = 0;
  if (glob(pattern, 0, NULL, &list) != 0) return 0;
  for (size_t i = list.gl_pathc; i > 0 && !found; i--) found = try_library(list.gl_pathv[i - 1], latest);
  globfree(&list);
  return found;
}

static int try_home(const char *variable, int latest) {
  const char *home = getenv(variable);
  char pattern[512];
  if (!home || !*home) return 0;
  snprintf(pattern, sizeof pattern, "%s/lib64/libnvrtc.so.1[0-9]*", home);
  return try_pattern(pattern, latest);
}

static int find_library(int latest) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};
  static const char *const patterns[] = {"/usr/local/cuda/lib64/libnvrtc.so.1[0-9]*",
                                         "/usr/local/cuda*/lib64/libnvrtc.so.1[0-9]*",
                                         "/usr/local/cuda*/targets/x86_64-linux/lib/libnvrtc.so.1[0-9]*", NULL};
  for (int i = 0; names[i]; i++)
    if (try_library(names[i], latest)) return 1;
  if (try_home("CUDA_HOME", latest) || try_home("CUDA_PATH", latest)) return 1;
  for (int i = 0; patterns[i]; i++)
    if (try_pattern(patterns[i], latest)) return 1;
  return 0;
}

/* The folder `up` from the library's, when it has cuda_fp16.h; CUDA 13 keeps a part of its headers in cccl. */
static int try_headers(const char *folder, const char *up) {
  char file[1200];
  snprintf(file, sizeof file, "%s/%s/cuda_fp16.h", folder, up);
  if (access(file, R_OK) != 0) return 0;
  snprintf(nvrtc.include[0], sizeof nvrtc.include[0], "%.400s/%.60s", folder, up);
  snprintf(file, sizeof file, "%s/cccl", nvrtc.include[0]);
  if (access(file, R_OK) == 0) snprintf(nvrtc.include[1], sizeof nvrtc.include[1], "%.500s/cccl", nvrtc.include[0]);
  return 1;
}

static void find_headers(void) {
  static const char *const ups[] = {"../include", "../../../include", "../../cuda_runtime/include",
                                    "../targets/x86_64-linux/include", NULL};
  static const char *const folders[] = {"/usr/local/cuda/include", "/usr/include", NULL};
  struct config_value told;
  char folder[512];
  config_find(CONFIG_CUDA_INCLUDE, &told);
  if (told.text[0]) {
    try_headers(told.text, ".");
    return;
  }
  snprintf(folder, sizeof folder, "%s", nvrtc.path);
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  for (int i = 0; slash && ups[i]; i++)
    if (try_headers(folder, ups[i])) return;
  for (int i = 0; folders[i]; i++)
    if (try_headers(folders[i], ".")) return;
}

static void load_once(void) {
  int latest = driver_major();
  if (!find_library(latest ? latest : 99) && !find_library(99)) {
    snprintf(nvrtc.reason, sizeof nvrtc.reason,
             "libnvrtc is not installed (CUDA's package cuda-nvrtc; looked for libnvrtc.so.13, .12 and .11.2, in "
             "$CUDA_HOME and /usr/local/cuda* too)");
    return;
  }
  find_headers();
}

const struct cuda_nvrtc *cuda_nvrtc_load(const char **reason) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_once);
  if (reason) *reason = nvrtc.reason;
  return nvrtc.library ? &nvrtc : NULL;
}
