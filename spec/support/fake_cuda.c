/*
 * fake_cuda.c - a libcuda.so.1 for the specs of the cuda provider where there is no NVIDIA GPU.
 *
 * Two devices of "sm_90" whose memory is the host's. What is enqueued is done at once, but a kernel is not run: all
 * that a launch does is to be counted. Every call is counted by name; fake_cuda_calls gives the counts as text. The
 * environment chooses what driver it is:
 *
 *   FAKE_CUDA_DEVICES   how many devices there are (2)
 *   FAKE_CUDA_MAJOR     the major number of their architecture (9)
 *   FAKE_CUDA_PEERS=0   the devices cannot reach each other's memory
 *   FAKE_CUDA_NO_WORDS  streams do not write the words that they are told to
 *   FAKE_CUDA_LOSES     captures lose what they should note
 *   FAKE_CUDA_FAIL      the name of a call that answers CUDA_ERROR_UNKNOWN
 *
 * Built by the specs: cc -shared -fPIC -DVERSION=11080 -o libcuda.so.1 fake_cuda.c, for a driver of CUDA 11.8. Later ones
 * have more names, and cuGetProcAddress_v2 from 12.0 on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
typedef uint64_t address;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_FOUND = 500, PEER_THERE = 704, PEER_NOT = 705, UNKNOWN = 999 };
enum { DEVICES = 2 };

#define FAIL_VARIABLE "FAKE_CUDA_FAIL"
#include "fake_calls.h"

int fake_cuda_calls(void *lua) {
  return push_calls(lua);
}

#ifndef VERSION
#define VERSION 13000
#endif

/* ---- devices --------------------------------------------------------------------------------------------------- */

struct context {
  int device;
  int peers[DEVICES];
};
static struct context contexts[DEVICES] = {{.device = 0}, {.device = 1}};
static _Thread_local struct context *current;

result cuInit(unsigned flags) {
  CALL(void) flags;
  return OK;
}
result cuDriverGetVersion(int *out) {
  CALL *out = VERSION;
  return OK;
}
result cuDeviceGetCount(int *out) {
  CALL const char *set = getenv("FAKE_CUDA_DEVICES");
  *out = set ? atoi(set) : DEVICES;
  return OK;
}
result cuDeviceGet(int *out, int ordinal) {
  CALL if (ordinal < 0 || ordinal >= DEVICES) return 101;
  *out = ordinal;
  return OK;
}
result cuDeviceGetName(char *name, int len, int device) {
  CALL snprintf(name, (size_t)len, "fake GPU %d", device);
  return OK;
}
result cuDeviceTotalMem_v2(size_t *bytes, int device) {
  CALL(void) device;
  *bytes = (size_t)4 << 30;
  return OK;
}
result cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  CALL switch (attribute) {
  case 1: /* threads of a block */
  case 2:
  case 3:
    *value = 1024;
    return OK;
  case 4:
    *value = 64;
    return OK;
  case 5:
    *value = 2147483647;
    return OK;
  case 6:
  case 7:
    *value = 65535;
    return OK;
  case 8: /* shared memory of a block */
    *value = 49152;
    return OK;
  case 97:
    *value = 232448;
    return OK;
  case 10: /* warp */
    *value = 32;
    return OK;
  case 11:
    *value = 2147483647;
    return OK;
  case 14:
    *value = 512;
    return OK;
  case 51:
    *value = 32;
    return OK;
  case 75:
    *value = getenv("FAKE_CUDA_MAJOR") ? atoi(getenv("FAKE_CUDA_MAJOR")) : 9;
    return OK;
  case 76:
  case 18:
    *value = 0;
    return OK;
  case 16:
    *value = 4;
    return OK;
  default:
    *value = 1;
    return OK;
  }
}
result cuDevicePrimaryCtxRetain(struct context **out, int device) {
  CALL *out = &contexts[device];
  return OK;
}
result cuDevicePrimaryCtxReset_v2(int device) {
  CALL memset(contexts[device].peers, 0, sizeof contexts[device].peers);
  return OK;
}
result cuCtxSetCurrent(struct context *context) {
  CALL current = context;
  return OK;
}
result cuCtxSynchronize(void) {
  CALL return OK;
}
result cuDeviceCanAccessPeer(int *out, int device, int peer) {
  CALL const char *peers = getenv("FAKE_CUDA_PEERS");
  *out = device != peer && !(peers && *peers == '0');
  return OK;
}
result cuCtxEnablePeerAccess(struct context *peer, unsigned flags) {
  CALL if (flags || !current || peer == current) return INVALID;
  if (current->peers[peer->device]) return PEER_THERE;
  current->peers[peer->device] = 1;
  return OK;
}
result cuCtxDisablePeerAccess(struct context *peer) {
  CALL if (!current || !current->peers[peer->device]) return PEER_NOT;
  current->peers[peer->device] = 0;
  return OK;
}

/* The latest of a name that is not later than `since`: of the two functions here that have two signatures each the
   second one is from 12.0; other _v2 are older than all drivers that are asked. */
static result find_name(const char *name, void **out, int since) {
  char symbol[96];
  void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  snprintf(symbol, sizeof symbol, "%s_v2", name);
  *out = strcmp(name, "cuGraphExecUpdate") || since >= 12000 ? dlsym(self, symbol) : NULL;
  if (!*out) *out = dlsym(self, name);
  dlclose(self);
  return *out ? OK : NOT_FOUND;
}

#if VERSION >= 12000
result cuGetProcAddress_v2(const char *name, void **out, int since, uint64_t flags, int *found) {
  (void)flags;
  CALL result rc = find_name(name, out, since);
  if (found) *found = rc == OK ? 0 : 1;
  return rc;
}
#endif
result cuGetProcAddress(const char *name, void **out, int since, uint64_t flags) {
  (void)flags;
  CALL return find_name(name, out, since);
}

/* NVRTC 13 asks for a table of the driver's own functions, and looks at its size before it uses any. */
result cuGetExportTable(const void **table, const void *id) {
  static const size_t none[1];
  (void)id;
  *table = none;
  return OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* While a capture is on, work is noted and not done, and lost altogether where the environment says so. */
static int capturing;
static size_t noted;
static int note(void) {
  if (capturing && !getenv("FAKE_CUDA_LOSES")) noted++;
  return capturing;
}
#define WORK CALL if (note()) return OK;

static void *aligned(size_t bytes) {
  void *made = NULL;
  return bytes < (size_t)4 << 30 && posix_memalign(&made, 512, bytes ? bytes : 1) == 0 ? made : NULL;
}
result cuMemGetInfo_v2(size_t *available, size_t *total) {
  CALL *available = (size_t)3 << 30;
  *total = (size_t)4 << 30;
  return OK;
}
result cuMemAlloc_v2(address *out, size_t bytes) {
  CALL void *made = aligned(bytes);
  if (!made) return NO_MEMORY;
  *out = (address)(uintptr_t)made;
  return OK;
}
result cuMemFree_v2(address pointer) {
  CALL free((void *)(uintptr_t)pointer);
  return OK;
}
result cuMemAllocAsync(address *out, size_t bytes, void *stream) {
  CALL(void) stream;
  void *made = aligned(bytes);
  if (!made) return NO_MEMORY;
  *out = (address)(uintptr_t)made;
  return OK;
}
result cuMemFreeAsync(address pointer, void *stream) {
  CALL(void) stream;
  free((void *)(uintptr_t)pointer);
  return OK;
}
result cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  CALL(void) flags;
  *out = aligned(bytes);
  return *out ? OK : NO_MEMORY;
}
result cuMemFreeHost(void *pointer) {
  CALL free(pointer);
  return OK;
}
result cuMemHostGetDevicePointer_v2(address *out, void *pointer, unsigned flags) {
  CALL(void) flags;
  *out = (address)(uintptr_t)pointer;
  return OK;
}
static void move(address to, address from, size_t bytes) {
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
}
result cuMemcpyAsync(address to, address from, size_t bytes, void *stream) {
  WORK(void) stream;
  move(to, from, bytes);
  return OK;
}
result cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream) {
  WORK(void) stream;
  move(to, (address)(uintptr_t)from, bytes);
  return OK;
}
result cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream) {
  WORK(void) stream;
  move((address)(uintptr_t)to, from, bytes);
  return OK;
}
result cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream) {
  WORK(void) stream;
  move(to, from, bytes);
  return OK;
}
result cuMemcpyPeerAsync(address to, struct context *there, address from, struct context *here, size_t bytes,
                         void *stream) {
  WORK(void) stream;
  if (!there || !here) return INVALID;
  move(to, from, bytes);
  return OK;
}
struct copy_2d {
  size_t src_x, src_y;
  unsigned src_type;
  const void *src_host;
  address src_device;
  void *src_array;
  size_t src_pitch;
  size_t dst_x, dst_y;
  unsigned dst_type;
  void *dst_host;
  address dst_device;
  void *dst_array;
  size_t dst_pitch;
  size_t width, height;
};
result cuMemcpy2DAsync_v2(const struct copy_2d *c, void *stream) {
  WORK(void) stream;
  address to = c->dst_type == 1 ? (address)(uintptr_t)c->dst_host : c->dst_device;
  address from = c->src_type == 1 ? (address)(uintptr_t)c->src_host : c->src_device;
  for (size_t row = 0; row < c->height; row++) move(to + row * c->dst_pitch, from + row * c->src_pitch, c->width);
  return OK;
}
result cuMemsetD8Async(address to, unsigned char value, size_t n, void *stream) {
  WORK(void) stream;
  memset((void *)(uintptr_t)to, value, n);
  return OK;
}
result cuMemsetD16Async(address to, unsigned short value, size_t n, void *stream) {
  WORK(void) stream;
  for (size_t i = 0; i < n; i++) ((unsigned short *)(uintptr_t)to)[i] = value;
  return OK;
}
result cuMemsetD32Async(address to, unsigned value, size_t n, void *stream) {
  WORK(void) stream;
  for (size_t i = 0; i < n; i++) ((unsigned *)(uintptr_t)to)[i] = value;
  return OK;
}
result cuMemsetD2D8Async(address to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream) {
  WORK(void) stream;
  for (size_t i = 0; i < height; i++) memset((char *)(uintptr_t)to + i * pitch, value, width);
  return OK;
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

result cuStreamCreate(void **out, unsigned flags) {
  CALL(void) flags;
  *out = malloc(1);
  return OK;
}
result cuStreamDestroy_v2(void *stream) {
  CALL free(stream);
  return OK;
}
result cuStreamSynchronize(void *stream) {
  CALL(void) stream;
  return OK;
}
result cuStreamQuery(void *stream) {
  CALL(void) stream;
  return OK;
}
result cuStreamWriteValue32_v2(void *stream, address to, uint32_t value, unsigned flags) {
  CALL(void) stream, (void)flags;
  if (!getenv("FAKE_CUDA_NO_WORDS")) *(uint32_t *)(uintptr_t)to = value;
  return OK;
}
result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  CALL(void) stream, (void)event, (void)flags;
  return OK;
}
result cuStreamAddCallback(void *stream, void (*call)(void *, result, void *), void *user, unsigned flags) {
  CALL(void) flags;
  call(stream, OK, user);
  return OK;
}
result cuEventCreate(void **out, unsigned flags) {
  CALL(void) flags;
  *out = calloc(1, 1);
  return OK;
}
result cuEventDestroy_v2(void *event) {
  CALL free(event);
  return OK;
}
result cuEventRecord(char *event, void *stream) {
  CALL(void) stream;
  *event = 1;
  return OK;
}
result cuEventSynchronize(void *event) {
  CALL(void) event;
  return OK;
}
result cuEventQuery(void *event) {
  CALL(void) event;
  return OK;
}
result cuEventElapsedTime(float *ms, char *start, char *stop) {
  CALL if (!*start || !*stop) return 400;
  *ms = 0.5f;
  return OK;
}

/* ---- modules ------------------------------------------------------------------------------------------------------ */

/* A module is a copy of its ELF image; a function and a global are found as symbols of it. */
struct module {
  char *image;
  size_t bytes;
  struct module *next;
};

static size_t image_bytes(const char *image) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
  size_t end = head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr);
  for (int i = 0; i < head->e_shnum; i++) {
    const Elf64_Shdr *section = (const Elf64_Shdr *)(image + head->e_shoff) + i;
    size_t last = section->sh_type == SHT_NOBITS ? 0 : section->sh_offset + section->sh_size;
    if (last > end) end = last;
  }
  size_t programs = head->e_phoff + (size_t)head->e_phnum * sizeof(Elf64_Phdr);
  return programs > end ? programs : end;
}
static const Elf64_Sym *find(const struct module *module, const char *name) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)module->image;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(module->image + head->e_shoff);
  for (int i = 0; i < head->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(module->image + sections[i].sh_offset);
    const char *names = module->image + sections[sections[i].sh_link].sh_offset;
    for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
      if (symbols[s].st_shndx && !strcmp(names + symbols[s].st_name, name)) return &symbols[s];
  }
  return NULL;
}
/* The argument of the last launch that came first, as an int. */
static int32_t first_argument;

int fake_cuda_argument(void *lua) {
  char text[16];
  snprintf(text, sizeof text, "%d", (int)first_argument);
  lua_pushstring(lua, text);
  return 1;
}

static struct module *modules;

static struct module *module_of(const void *function) {
  struct module *module = modules;
  while (module && !((const char *)function >= module->image && (const char *)function < module->image + module->bytes))
    module = module->next;
  return module;
}

result cuModuleLoadData(struct module **out, const char *image) {
  CALL if (memcmp(image, ELFMAG, SELFMAG)) return 200;
  struct module *module = malloc(sizeof *module);
  size_t bytes = image_bytes(image);
  module->bytes = bytes;
  module->next = modules;
  modules = module;
  module->image = malloc(bytes);
  memcpy(module->image, image, bytes);
  *out = module;
  return OK;
}
result cuModuleUnload(struct module *module) {
  CALL struct module **at = &modules;
  while (*at != module) at = &(*at)->next;
  *at = module->next;
  free(module->image);
  free(module);
  return OK;
}
result cuModuleGetFunction(const void **out, struct module *module, const char *name) {
  CALL const Elf64_Sym *symbol = find(module, name);
  if (!symbol) return NOT_FOUND;
  *out = symbol;
  return OK;
}
result cuModuleGetGlobal_v2(address *out, size_t *bytes, struct module *module, const char *name) {
  static char globals[1 << 16];
  CALL const Elf64_Sym *symbol = find(module, name);
  if (!symbol) return NOT_FOUND;
  if (out) *out = (address)(uintptr_t)globals;
  if (bytes) *bytes = symbol->st_size;
  return OK;
}
result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **params, void **extra) {
  WORK(void) function, (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  if (!gx || !bx) return INVALID;
  first_argument = params && params[0] ? *(int32_t *)params[0] : 0;
  return OK;
}
result cuFuncGetModule(void **module, void *function) {
  CALL *module = module_of(function);
  return OK;
}
result cuFuncGetAttribute(int *value, int attribute, void *function) {
  CALL(void) function;
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0;
  return OK;
}
result cuFuncSetAttribute(void *function, int attribute, int value) {
  CALL(void) function, (void)attribute, (void)value;
  return OK;
}
result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block, size_t shared) {
  CALL(void) function, (void)block, (void)shared;
  *blocks = 2;
  return OK;
}

/* ---- graphs: how many calls were noted ---------------------------------------------------------------------------------------- */

/* Graphs and what is made of them are the same: how many calls, and the argument of the one that was added by itself. */
struct graph {
  size_t calls;
  int32_t argument;
};
struct kernel_node {
  void *function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
};

static result graph_new(void **out, size_t calls) {
  struct graph *graph = malloc(sizeof *graph);
  *graph = (struct graph){.calls = calls};
  *out = graph;
  return OK;
}

result cuGraphCreate(void **graph, unsigned flags) {
  CALL(void) flags;
  return graph_new(graph, 0);
}
static result set_kernel(struct graph *graph, const struct kernel_node *node) {
  if (!node->grid[0] || !node->block[0]) return INVALID;
  graph->argument = node->params && node->params[0] ? *(int32_t *)node->params[0] : 0;
  return OK;
}
result cuGraphAddKernelNode(void **node, struct graph *graph, void *const *after, size_t n,
                            const struct kernel_node *made) {
  CALL(void) after, (void)n;
  *node = graph;
  graph->calls++;
  return set_kernel(graph, made);
}
result cuGraphExecKernelNodeSetParams(struct graph *exec, void *node, const struct kernel_node *set) {
  CALL(void) node;
  return set_kernel(exec, set);
}
result cuStreamBeginCapture_v2(void *stream, int mode) {
  CALL(void) stream, (void)mode;
  capturing = 1;
  noted = 0;
  return OK;
}
result cuStreamEndCapture(void *stream, void **graph) {
  CALL(void) stream;
  capturing = 0;
  return graph_new(graph, noted);
}
result cuStreamIsCapturing(void *stream, int *status) {
  CALL(void) stream;
  *status = capturing;
  return OK;
}
result cuGraphInstantiateWithFlags(void **exec, struct graph *graph, unsigned long long flags) {
  CALL(void) flags;
  graph_new(exec, graph->calls);
  ((struct graph *)*exec)->argument = graph->argument;
  return OK;
}
result cuGraphUpload(void *exec, void *stream) {
  CALL(void) exec, (void)stream;
  return OK;
}
result cuGraphLaunch(struct graph *exec, void *stream) {
  CALL(void) stream;
  first_argument = exec->argument;
  return OK;
}
result cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
  CALL(void) nodes;
  *n = ((struct graph *)graph)->calls;
  return OK;
}
result cuGraphDestroy(void *graph) {
  CALL free(graph);
  return OK;
}
result cuGraphExecDestroy(void *exec) {
  CALL free(exec);
  return OK;
}
result cuGraphExecUpdate(void *exec, void *graph, void **node, int *out) {
  CALL(void) exec, (void)graph;
  *node = NULL;
  *out = 0;
  return OK;
}
#if VERSION >= 12000
result cuGraphExecUpdate_v2(void *exec, void *graph, int *out) {
  CALL(void) exec, (void)graph;
  *out = 0;
  return OK;
}
#endif
