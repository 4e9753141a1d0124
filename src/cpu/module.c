/*
 * module.c - loading compiled modules and finding what is in them.
 *
 * The caller gives a pointer and no size, so the image is copied by write(), which answers EFAULT where memory ends
 * instead of crashing; the ELF header tells the size, and the trailer whether the bytes are all there and ours.
 * Only then does the system's loader see it, as /proc/self/fd/N of an anonymous file. The copy stays mapped as long as
 * the module lives: names, sizes and the kinds of symbols are read from its symbol table.
 */
#include "cpu/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/device.h"
#include "cpu/function.h"
#include "cpu/image.h"
#include "cpu/scratch.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

struct hip_module_impl {
  int device;
  struct cpu_image image;
  void *mapped; /* the copy of the image */
  size_t mapped_bytes;
  void *handle; /* dlopen's */
  uintptr_t base;
  size_t nfunctions;
  struct hip_function_impl *functions;
  hip_module_t previous, next;
};

static struct {
  pthread_mutex_t lock;
  hip_module_t first;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the copy of the image ------------------------------------------------------------------------------------ */

/* The system call itself: sanitizers look at what goes through the library's function. */
static bool put(int fd, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes) {
    long done = syscall(SYS_write, fd, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    bytes -= (size_t)done;
  }
  return true;
}

static int anonymous_file(void) {
  int fd = memfd_create("luhip-module", MFD_CLOEXEC | MFD_EXEC);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("luhip-module", MFD_CLOEXEC);
}

/* Copies the image into the file and maps it. */
static hip_error_t copy_image(hip_module_t module, int fd, const void *image) {
  Elf64_Ehdr header;
  struct cpu_image_trailer trailer;
  if (!put(fd, image, sizeof header) || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
    return hip_ErrorInvalidImage;
  size_t size = cpu_image_size(&header);
  if (!size || !put(fd, (const char *)image + sizeof header, size + sizeof trailer - sizeof header))
    return hip_ErrorInvalidImage;
  module->mapped_bytes = size + sizeof trailer;
  module->mapped = mmap(NULL, module->mapped_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (module->mapped == MAP_FAILED) {
    module->mapped = NULL;
    return hip_ErrorOutOfMemory;
  }
  memcpy(&trailer, (const char *)module->mapped + size, sizeof trailer);
  if (!cpu_image_check_trailer(&trailer, module->mapped, size)) return hip_ErrorInvalidImage;
  if (trailer.abi != LUHIP_CPU_ABI || trailer.warp != cpu_device_warp(module->device)) return hip_ErrorNoBinaryForGpu;
  return cpu_image_open(&module->image, module->mapped, size, ET_DYN) ? hip_Success : hip_ErrorInvalidImage;
}

/* ---- the loader ------------------------------------------------------------------------------------------------ */

/* The loader takes a path it knows for the object it has, though descriptors are used again and again: so every
   path is spelled in a way of its own, with a number written in "./" and "/". */
static void *load_descriptor(int fd) {
  static atomic_ulong counter;
  unsigned long number = atomic_fetch_add(&counter, 1);
  char path[32 + 2 * 40 + 16] = "/proc/self/fd/";
  for (int bit = 0; bit < 40; bit++) strcat(path, number >> bit & 1 ? "./" : "/");
  snprintf(path + strlen(path), 16, "%d", fd);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Where /proc is not mounted, or anonymous files may not be executed. */
static void *load_file(const void *data, size_t bytes) {
  char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
  if (cpu_scratch_make(folder)) return NULL;
  snprintf(path, sizeof path, "%s/module.so", folder);
  void *handle = cpu_scratch_write(folder, "module.so", data, bytes) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cpu_scratch_remove(folder);
  return handle;
}

static hip_error_t load(hip_module_t module, int fd) {
  module->handle = load_descriptor(fd);
  if (!module->handle) module->handle = load_file(module->mapped, module->image.bytes);
  struct link_map *map;
  if (!module->handle || dlinfo(module->handle, RTLD_DI_LINKMAP, &map)) return hip_ErrorSharedObjectInitFailed;
  module->base = map->l_addr;
  return hip_Success;
}

/* ---- what is in it ---------------------------------------------------------------------------------------------- */

static bool is_descriptor(const struct cpu_image *image, const Elf64_Sym *symbol) {
  const char *name = cpu_image_name(image, symbol);
  return symbol->st_shndx != SHN_UNDEF && strncmp(name, "luhip_kd_", 9) == 0 &&
         symbol->st_size >= sizeof(struct luhip_cpu_kernel) &&
         cpu_image_flags(image, symbol->st_value, symbol->st_size);
}

/* The function symbol at an address of the file; "" when there is none. */
static const char *function_name(const struct cpu_image *image, uint64_t address) {
  for (size_t i = 0; i < image->nsymbols; i++)
    if (ELF64_ST_TYPE(image->symbols[i].st_info) == STT_FUNC && image->symbols[i].st_shndx != SHN_UNDEF &&
        image->symbols[i].st_value == address)
      return cpu_image_name(image, &image->symbols[i]);
  return "";
}

/* What __launch_bounds__ says of the kernel whose descriptor this is. */
static unsigned most_threads(hip_module_t module, const Elf64_Sym *descriptor) {
  char name[32];
  snprintf(name, sizeof name, "luhip_kb_%.16s", cpu_image_name(&module->image, descriptor) + strlen("luhip_kd_"));
  const Elf64_Sym *symbol = cpu_image_find(&module->image, name);
  unsigned bound = 0;
  if (symbol && symbol->st_size == sizeof bound && cpu_image_flags(&module->image, symbol->st_value, sizeof bound))
    memcpy(&bound, (const void *)(module->base + symbol->st_value), sizeof bound);
  return bound && bound < CPU_MAX_THREADS ? bound : CPU_MAX_THREADS;
}

static const Elf64_Phdr *local_segment(const struct cpu_image *image) {
  for (size_t i = 0; i < image->nsegments; i++)
    if (image->segments[i].p_type == PT_TLS) return &image->segments[i];
  return NULL;
}

static hip_error_t add_function(hip_module_t module, const Elf64_Sym *symbol) {
  struct hip_function_impl *function = &module->functions[module->nfunctions];
  const struct luhip_cpu_kernel *kernel = (const void *)(module->base + symbol->st_value);
  if (kernel->abi != LUHIP_CPU_ABI) return hip_ErrorNoBinaryForGpu;
  function->device = module->device;
  function->kernel = kernel;
  function->max_threads = most_threads(module, symbol);
  const Elf64_Phdr *local = local_segment(&module->image);
  function->local = local ? local->p_memsz : 0;
  function->lowered = function_name(&module->image, (uintptr_t)kernel->function - module->base);
  if (!cpu_image_plain_name(function->lowered, function->name, sizeof function->name))
    snprintf(function->name, sizeof function->name, "%s", function->lowered);
  module->nfunctions++;
  return hip_Success;
}

static hip_error_t find_functions(hip_module_t module) {
  const struct cpu_image *image = &module->image;
  size_t count = 0;
  for (size_t i = 0; i < image->nsymbols; i++) count += is_descriptor(image, &image->symbols[i]);
  module->functions = calloc(count ? count : 1, sizeof *module->functions);
  if (!module->functions) return hip_ErrorOutOfMemory;
  hip_error_t rc = hip_Success;
  for (size_t i = 0; i < image->nsymbols && !rc; i++)
    if (is_descriptor(image, &image->symbols[i])) rc = add_function(module, &image->symbols[i]);
  cpu_function_find_shared(image, module->functions, module->nfunctions);
  return rc;
}

/* Sets a variable of the module's; one that it does not have it does not need. */
static hip_error_t connect(hip_module_t module, const char *name, const void *value, size_t bytes) {
  const Elf64_Sym *symbol = cpu_image_find(&module->image, name);
  if (!symbol) return hip_Success;
  if (symbol->st_size != bytes || !(cpu_image_flags(&module->image, symbol->st_value, bytes) & PF_W))
    return hip_ErrorNoBinaryForGpu;
  /* A module may come to lie where another one did until just now; the lock orders the two for who looks for races. */
  pthread_mutex_lock(&list.lock);
  memcpy((void *)(module->base + symbol->st_value), value, bytes);
  pthread_mutex_unlock(&list.lock);
  return hip_Success;
}

static hip_error_t connect_runtime(hip_module_t module) {
  long offset = cpu_exec_local_offset();
  const Elf64_Phdr *local = local_segment(&module->image);
  if (local && (local->p_filesz || local->p_align > CPU_LOCAL_ALIGN)) return hip_ErrorNoBinaryForGpu;
  hip_error_t rc = connect(module, "luhip_cpu_rt", &cpu_exec_runtime, sizeof cpu_exec_runtime);
  return rc ? rc : connect(module, "luhip_cpu_rt_local", &offset, sizeof offset);
}

/* Tells the module where its thread-local block lies about its anchor: atomics on shared memory are not real ones
   (luhip_atomics.h). A module without atomics has no such symbols. */
static hip_error_t connect_shared(hip_module_t module) {
  const Elf64_Sym *anchor = cpu_image_find(&module->image, "luhip_tls_anchor");
  const Elf64_Phdr *local = local_segment(&module->image);
  if (!anchor || !local || ELF64_ST_TYPE(anchor->st_info) != STT_TLS) return hip_Success;
  const size_t words[2] = {anchor->st_value, local->p_memsz};
  return connect(module, "luhip_cpu_rt_tls", words, sizeof words);
}

static void discard(hip_module_t module) {
  if (module->handle) dlclose(module->handle);
  if (module->mapped) munmap(module->mapped, module->mapped_bytes);
  free(module->functions);
  free(module);
}

hip_error_t cpu_module_load(hip_module_t *out, const void *image, int device) {
  if (!out || !image) return hip_ErrorInvalidValue;
  hip_module_t module = calloc(1, sizeof *module);
  int fd = anonymous_file();
  if (!module || fd < 0) {
    free(module);
    if (fd >= 0) close(fd);
    return hip_ErrorOutOfMemory;
  }
  module->device = device;
  hip_error_t rc = copy_image(module, fd, image);
  if (!rc) rc = load(module, fd);
  close(fd);
  if (!rc) rc = connect_runtime(module);
  if (!rc) rc = connect_shared(module);
  if (!rc) rc = find_functions(module);
  if (rc) {
    discard(module);
    return rc;
  }
  pthread_mutex_lock(&list.lock);
  module->next = list.first;
  if (module->next) module->next->previous = module;
  list.first = module;
  pthread_mutex_unlock(&list.lock);
  *out = module;
  return hip_Success;
}

hip_error_t cpu_module_unload(hip_module_t module) {
  if (!module) return hip_ErrorInvalidHandle;
  pthread_mutex_lock(&list.lock);
  *(module->previous ? &module->previous->next : &list.first) = module->next;
  if (module->next) module->next->previous = module->previous;
  pthread_mutex_unlock(&list.lock);
  discard(module);
  return hip_Success;
}

hip_error_t cpu_module_function(hip_function_t *function, hip_module_t module, const char *name) {
  if (!function || !name) return hip_ErrorInvalidValue;
  if (!module) return hip_ErrorInvalidHandle;
  hip_function_t plain = NULL;
  size_t plains = 0;
  for (size_t i = 0; i < module->nfunctions; i++) {
    struct hip_function_impl *candidate = &module->functions[i];
    if (strcmp(candidate->lowered, name) == 0) {
      *function = candidate;
      return hip_Success;
    }
    if (strcmp(candidate->name, name) == 0) {
      plain = candidate;
      plains++;
    }
  }
  if (plains != 1) /* an overloaded name is no name */
    return hip_ErrorNotFound;
  *function = plain;
  return hip_Success;
}

/* ---- globals ---------------------------------------------------------------------------------------------------- */

static bool is_global(const struct cpu_image *image, const Elf64_Sym *symbol) {
  return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF && symbol->st_size &&
         strncmp(cpu_image_name(image, symbol), "luhip_cpu_rt", 12) != 0 &&
         cpu_image_flags(image, symbol->st_value, symbol->st_size);
}

hip_error_t cpu_module_global(hip_deviceptr_t *ptr, size_t *bytes, hip_module_t module, const char *name) {
  char plain[512];
  if (!name || (!ptr && !bytes)) return hip_ErrorInvalidValue;
  if (!module) return hip_ErrorInvalidHandle;
  const struct cpu_image *image = &module->image;
  const Elf64_Sym *found = NULL;
  for (size_t i = 0; i < image->nsymbols; i++) {
    const Elf64_Sym *symbol = &image->symbols[i];
    if (!is_global(image, symbol)) continue;
    if (strcmp(cpu_image_name(image, symbol), name) == 0) {
      found = symbol;
      break;
    }
    if (!found && cpu_image_plain_name(cpu_image_name(image, symbol), plain, sizeof plain) && strcmp(plain, name) == 0)
      found = symbol;
  }
  if (!found) return hip_ErrorNotFound;
  if (ptr) *ptr = (hip_deviceptr_t)(module->base + found->st_value);
  if (bytes) *bytes = found->st_size;
  return hip_Success;
}

static bool covers(hip_module_t module, uintptr_t address, size_t bytes, bool written) {
  const struct cpu_image *image = &module->image;
  unsigned flags = address >= module->base ? cpu_image_flags(image, address - module->base, bytes) : 0;
  if (!flags || (written && !(flags & PF_W))) return false;
  for (size_t i = 0; i < image->nsymbols; i++) {
    const Elf64_Sym *symbol = &image->symbols[i];
    uint64_t into = address - module->base - symbol->st_value;
    if (is_global(image, symbol) && into < symbol->st_size && bytes <= symbol->st_size - into) return true;
  }
  return false;
}

bool cpu_module_covers(const void *ptr, size_t bytes, bool written) {
  bool found = false;
  pthread_mutex_lock(&list.lock);
  for (hip_module_t module = list.first; module && !found; module = module->next)
    found = covers(module, (uintptr_t)ptr, bytes, written);
  pthread_mutex_unlock(&list.lock);
  return found;
}

void cpu_modules_fork_prepare(void) {
  pthread_mutex_lock(&list.lock);
}
void cpu_modules_fork_parent(void) {
  pthread_mutex_unlock(&list.lock);
}
void cpu_modules_fork_child(void) {
  pthread_mutex_init(&list.lock, NULL);
}
