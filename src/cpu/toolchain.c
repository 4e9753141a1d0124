/*
 * toolchain.c - finding a compiler and a linker.
 *
 * clang 19 first, for which the device headers are written, then 18 down to 16 (older ones have no _Float16 on x86),
 * then newer ones, then g++ from 12 on, with which kernels run but are not vectorised. Only absolute folders of PATH
 * count, and after them the usual ones: nothing from the working directory is run. Starting a compiler to ask its
 * version takes longer than compiling a small kernel, so identity comes from the files, and a version from the name.
 */
#include "cpu/toolchain.h"

#include "base/config.h"

#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLANG_OLDEST = 16, GCC_OLDEST = 12 };

static const char usual_folders[] = "/usr/local/bin:/usr/bin:/bin:/usr/lib/llvm-19/bin";

static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool find_in(const char *folders, const char *name, char path[TOOLCHAIN_PATH]) {
  while (folders && *folders) {
    size_t length = strcspn(folders, ":");
    if (folders[0] == '/' && snprintf(path, TOOLCHAIN_PATH, "%.*s/%s", (int)length, folders, name) < TOOLCHAIN_PATH &&
        is_program(path))
      return true;
    folders += length + (folders[length] == ':');
  }
  return false;
}

static bool find_program(const char *name, char path[TOOLCHAIN_PATH]) {
  return find_in(getenv("PATH"), name, path) || find_in(usual_folders, name, path);
}

static bool is_clang_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return strstr(slash ? slash : path, "clang") != NULL;
}

/* The last number in a path's file name, or after "llvm-" in it: 19 for /usr/lib/llvm-19/bin/clang++; 0 when there is
   none. */
static int version_of(const char *path) {
  char real[PATH_MAX];
  if (!realpath(path, real)) return 0;
  const char *slash = strrchr(real, '/');
  const char *dash = slash ? strrchr(slash, '-') : NULL;
  if (dash && isdigit((unsigned char)dash[1])) return atoi(dash + 1);
  const char *folder = strstr(real, "/llvm-");
  return folder ? atoi(folder + 6) : 0;
}

static bool find_clang(char path[TOOLCHAIN_PATH]) {
  static const int versions[] = {19, 18, 17, 16, 20, 21, 22};
  char name[32];
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    snprintf(name, sizeof name, "clang++-%d", versions[i]);
    if (find_program(name, path)) return true;
  }
  return find_program("clang++", path) && version_of(path) >= CLANG_OLDEST;
}

static bool find_gcc(char path[TOOLCHAIN_PATH]) {
  char name[32];
  for (int version = 15; version >= GCC_OLDEST; version--) {
    snprintf(name, sizeof name, "g++-%d", version);
    if (find_program(name, path)) return true;
  }
  return find_program("g++", path) && version_of(path) >= GCC_OLDEST;
}

static bool find_compiler(struct toolchain *toolchain, char *reason, size_t len) {
  struct config_value value;
  const char *wanted = value.text;
  config_find(CONFIG_CPU_COMPILER, &value);
  if (*wanted) {
    bool found = strchr(wanted, '/') ? wanted[0] == '/' && is_program(wanted) &&
                                           snprintf(toolchain->compiler, TOOLCHAIN_PATH, "%s", wanted) < TOOLCHAIN_PATH
                                     : find_program(wanted, toolchain->compiler);
    toolchain->is_clang = is_clang_name(toolchain->compiler);
    if (!found)
      snprintf(reason, len, "%.300s names the compiler '%.200s', which is not a program that can be run", value.origin,
               wanted);
    return found;
  }
  toolchain->is_clang = find_clang(toolchain->compiler);
  if (toolchain->is_clang || find_gcc(toolchain->compiler)) return true;
  snprintf(reason, len, "no compiler for kernels: install clang-19 (clang 16 or later), or name one with LUHIP_CLANG");
  return false;
}

static bool find_linker(struct toolchain *toolchain, char *reason, size_t len) {
  char beside[TOOLCHAIN_PATH], real[PATH_MAX];
  if (find_program("ld", toolchain->linker) || find_program("ld.lld", toolchain->linker)) return true;
  for (int version = 22; version >= CLANG_OLDEST; version--) {
    char name[32];
    snprintf(name, sizeof name, "ld.lld-%d", version);
    if (find_program(name, toolchain->linker)) return true;
  }
  if (realpath(toolchain->compiler, real) && strrchr(real, '/')) {
    *strrchr(real, '/') = '\0';
    if (find_in(real, "ld.lld", beside)) {
      memcpy(toolchain->linker, beside, sizeof beside);
      return true;
    }
  }
  snprintf(reason, len, "no linker for kernels: install binutils or lld");
  return false;
}

/* Of several versions the highest. */
static void find_libgcc(char path[TOOLCHAIN_PATH]) {
  glob_t found;
  int best = -1;
  path[0] = '\0';
  if (glob("/usr/lib/gcc/x86_64-*linux*/*/libgcc.a", GLOB_NOSORT, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) {
      const char *name = found.gl_pathv[i];
      const char *end = strrchr(name, '/');
      const char *start = end;
      while (start > name && start[-1] != '/') start--;
      if (atoi(start) > best && snprintf(path, TOOLCHAIN_PATH, "%s", name) < TOOLCHAIN_PATH) best = atoi(start);
    }
    globfree(&found);
  }
}

/* ---- the host's own libraries ------------------------------------------------------------------------------------ */

static struct { void *libm, *libmvec; } math;

static void open_math(void) {
  math.libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  math.libmvec = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_LOCAL);
}

void cpu_toolchain_load_math(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_math);
}

static bool has(void *library, const char *name) {
  struct link_map *map;
  Dl_info info;
  void *found = library ? dlsym(library, name) : NULL;
  /* dlsym looks into what the library needs too. */
  return found && !dlinfo(library, RTLD_DI_LINKMAP, &map) && dladdr(found, &info) &&
         (uintptr_t)info.dli_fbase == map->l_addr;
}

bool cpu_toolchain_is_math(const char *name) {
  cpu_toolchain_load_math();
  return has(math.libm, name) || has(math.libmvec, name);
}

static void path_of(void *library, char path[TOOLCHAIN_PATH]) {
  struct link_map *map;
  path[0] = '\0';
  if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map) && map->l_name[0] == '/' &&
      strlen(map->l_name) < TOOLCHAIN_PATH)
    snprintf(path, TOOLCHAIN_PATH, "%s", map->l_name);
}

static void find_libraries(struct toolchain *toolchain) {
  cpu_toolchain_load_math();
  path_of(math.libm, toolchain->libm);
  path_of(math.libmvec, toolchain->libmvec);
  void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  path_of(libc, toolchain->libc);
  if (libc) dlclose(libc);
  find_libgcc(toolchain->libgcc);
}

/* ---- identity --------------------------------------------------------------------------------------------------- */

static void add_file(struct hash *hash, const char *path) {
  struct stat info;
  hash_add_string(hash, path);
  if (path[0] && stat(path, &info) == 0) {
    hash_add_u64(hash, (uint64_t)info.st_size);
    hash_add_u64(hash, (uint64_t)info.st_mtim.tv_sec);
    hash_add_u64(hash, (uint64_t)info.st_mtim.tv_nsec);
  }
}

bool cpu_toolchain_find(struct toolchain *toolchain, char *reason, size_t len) {
  struct hash hash;
  *toolchain = (struct toolchain){.compiler = ""};
  if (!cpu_arch_option(toolchain->march, reason, len)) return false;
  if (!find_compiler(toolchain, reason, len) || !find_linker(toolchain, reason, len)) return false;
  find_libraries(toolchain);
  hash_start(&hash);
  add_file(&hash, toolchain->compiler);
  add_file(&hash, toolchain->linker);
  add_file(&hash, toolchain->libgcc);
  hash_add_string(&hash, toolchain->libm);
  hash_add_string(&hash, toolchain->libmvec);
  hash_finish(&hash, toolchain->identity);
  return true;
}
