/*
 * fake_hip.c - a libamdhip64.so.N for the specs of the rocm provider where there is no AMD GPU.
 *
 * Two devices of "gfx90a:sramecc+:xnack-" whose memory is the host's. What is enqueued is done at once, or noted while
 * the stream captures and done at each launch of the graph; a kernel is not run: all that a launch does is to be
 * counted. Every call is counted by name; fake_hip_calls gives the counts as text. hiprtc's functions are handed on to a
 * library that has them. The environment chooses what library it is:
 *
 *   FAKE_HIP_RTC       path of the library whose hiprtc functions are used
 *   FAKE_HIP_DEVICES   how many devices there are (2)
 *   FAKE_HIP_PEERS=0   the devices cannot reach each other's memory
 *   FAKE_HIP_FAIL      the name of a call that answers hipErrorUnknown
 *
 * Built by the specs: cc -shared -fPIC -DVERSION=50221153 -o libamdhip64.so.5 fake_hip.c, for ROCm 5.2. From 6.0 on
 * hipGetDevicePropertiesR0600 is there, from 7.0 on hiprtc is not: it is in a library of its own (-DRTC alone). With
 * -DWITHOUT_name a function is left out: WITHOUT_hipMallocAsync, WITHOUT_hipMemcpyPeerAsync, WITHOUT_hipMemGetInfo.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 60140091
#endif

/* ---- hiprtc ---------------------------------------------------------------------------------------------------- */

#if defined RTC || (VERSION < 70000000 && !defined WITHOUT_hiprtc)
static void *rtc(const char *name) {
  static void *library;
  const char *path = getenv("FAKE_HIP_RTC");
  if (!library) library = dlopen(path ? path : "none", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, name) : NULL;
  if (!found) abort();
  return found;
}
#define HAND_ON(name, parameters, arguments)                                                                           \
  int name parameters {                                                                                                \
    return ((int(*) parameters)rtc(#name))arguments;                                                                   \
  }
const char *hiprtcGetErrorString(int code) {
  return ((const char *(*)(int))rtc("hiprtcGetErrorString"))(code);
}
HAND_ON(hiprtcVersion, (int *major, int *minor), (major, minor))
HAND_ON(hiprtcCreateProgram,
        (void **program, const char *source, const char *name, int n, const char **texts, const char **names),
        (program, source, name, n, texts, names))
HAND_ON(hiprtcDestroyProgram, (void **program), (program))
HAND_ON(hiprtcAddNameExpression, (void *program, const char *expression), (program, expression))
HAND_ON(hiprtcCompileProgram, (void *program, int n, const char **options), (program, n, options))
HAND_ON(hiprtcGetProgramLogSize, (void *program, size_t *bytes), (program, bytes))
HAND_ON(hiprtcGetProgramLog, (void *program, char *log), (program, log))
HAND_ON(hiprtcGetCodeSize, (void *program, size_t *bytes), (program, bytes))
HAND_ON(hiprtcGetCode, (void *program, char *code), (program, code))
HAND_ON(hiprtcGetLoweredName, (void *program, const char *expression, const char **name), (program, expression, name))
#endif

#ifndef RTC

typedef int result;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, BAD_DEVICE = 101, BAD_IMAGE = 200, BAD_HANDLE = 400 };
enum { NOT_FOUND = 500, PEER_THERE = 704, UNKNOWN = 999 };
enum { DEVICES = 2 };

#define FAIL_VARIABLE "FAKE_HIP_FAIL"
#include "fake_calls.h"

int fake_hip_calls(void *lua) {
  return push_calls(lua);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

static _Thread_local int current;
static int peers[DEVICES][DEVICES];

static int present(void) {
  const char *set = getenv("FAKE_HIP_DEVICES");
  return set ? atoi(set) : DEVICES;
}
result hipInit(unsigned flags) {
  CALL return flags ? INVALID : OK;
}
result hipRuntimeGetVersion(int *out) {
  CALL *out = VERSION;
  return OK;
}
result hipDriverGetVersion(int *out) {
  CALL *out = VERSION;
  return OK;
}
result hipGetDeviceCount(int *out) {
  CALL *out = present();
  return *out ? OK : NO_DEVICE;
}
result hipSetDevice(int device) {
  CALL if (device < 0 || device >= present()) return BAD_DEVICE;
  current = device;
  return OK;
}
result hipGetDevice(int *out) {
  CALL *out = current;
  return OK;
}
result hipDeviceGetName(char *name, int len, int device) {
  CALL snprintf(name, (size_t)len, "fake AMD GPU %d", device);
  return OK;
}
result hipDeviceTotalMem(size_t *bytes, int device) {
  CALL(void) device;
  *bytes = (size_t)4 << 30;
  return OK;
}
result hipDeviceGetAttribute(int *value, int attribute, int device) {
  CALL(void) device;
  static const int known[][2] = {{26, 1024},  {27, 1024}, {28, 1024},       {29, 2147483647}, {30, 65535}, {31, 65535},
                                 {56, 1024},  {57, 2048}, {58, 2147483647}, {63, 104},        {71, 65536}, {74, 65536},
                                 {75, 65536}, {81, 256},  {82, 256},        {83, 65536},      {87, 64}};
  *value = 1;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i][0] == attribute) *value = known[i][1];
  return OK;
}
/* Each layout has the name at a place of its own, and something else at the other's. */
static void properties(char *out, size_t at, const char *wrong, size_t there) {
  strcpy(out + there, wrong);
  strcpy(out + at, "gfx90a:sramecc+:xnack-");
}
#if VERSION >= 60000000
result hipGetDevicePropertiesR0600(char *out, int device) {
  CALL(void) device;
  properties(out, 1160, "gfx000", 396);
  return OK;
}
#endif
result hipGetDeviceProperties(char *out, int device) {
  CALL(void) device;
  properties(out, 396, "gfx000", 1160);
  return OK;
}
result hipDeviceSynchronize(void) {
  CALL return OK;
}
result hipGetLastError(void) {
  CALL return OK;
}
result hipDeviceCanAccessPeer(int *out, int device, int peer) {
  CALL const char *reach = getenv("FAKE_HIP_PEERS");
  if (peer < 0 || peer >= DEVICES) return BAD_DEVICE;
  *out = device != peer && !(reach && *reach == '0');
  return OK;
}
result hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  CALL if (flags || peer == current) return INVALID;
  if (peers[current][peer]) return PEER_THERE;
  peers[current][peer] = 1;
  return OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void *aligned(size_t bytes) {
  void *made = NULL;
  return bytes < (size_t)4 << 30 && posix_memalign(&made, 512, bytes ? bytes : 1) == 0 ? made : NULL;
}
#ifndef WITHOUT_hipMemGetInfo
result hipMemGetInfo(size_t *available, size_t *total) {
  CALL *available = (size_t)3 << 30;
  *total = (size_t)4 << 30;
  return OK;
}
#endif
result hipMalloc(void **out, size_t bytes) {
  CALL void *made = aligned(bytes);
  if (!made) return NO_MEMORY;
  *out = made;
  return OK;
}
result hipFree(void *pointer) {
  CALL free(pointer);
  return OK;
}
#ifndef WITHOUT_hipMallocAsync
result hipMallocAsync(void **out, size_t bytes, void *stream) {
  CALL(void) stream;
  void *made = aligned(bytes);
  if (!made) return NO_MEMORY;
  *out = made;
  return OK;
}
#endif
result hipFreeAsync(void *pointer, void *stream) {
  CALL(void) stream;
  free(pointer);
  return OK;
}
result hipHostMalloc(void **out, size_t bytes, unsigned flags) {
  CALL(void) flags;
  void *made = aligned(bytes);
  if (!made) return NO_MEMORY;
  *out = made;
  return OK;
}
result hipHostFree(void *pointer) {
  CALL free(pointer);
  return OK;
}
result hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  CALL(void) flags;
  *device = host;
  return OK;
}

/* ---- work: rows that are copied, or set to a word of so many bytes ------------------------------------------------- */

struct work {
  char *to;
  const char *from; /* NULL: a word */
  size_t to_pitch, from_pitch, width, height, word_bytes;
  int word;
};
struct list {
  struct work *works;
  size_t n;
};
struct stream {
  struct list *noted; /* while it captures */
};

static void run(const struct work *w) {
  for (size_t row = 0; row < w->height; row++) {
    char *to = w->to + row * w->to_pitch;
    if (w->from) {
      memmove(to, w->from + row * w->from_pitch, w->width);
      continue;
    }
    for (size_t i = 0; w->word_bytes && i < w->width; i += w->word_bytes) memcpy(to + i, &w->word, w->word_bytes);
  }
}
static result enqueue(struct stream *stream, struct work work) {
  struct list *list = stream->noted;
  if (!list) {
    run(&work);
    return OK;
  }
  list->works = realloc(list->works, (list->n + 1) * sizeof work);
  list->works[list->n++] = work;
  return OK;
}
result hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct stream *stream) {
  CALL(void) kind;
  return enqueue(stream, (struct work){to, from, 0, 0, bytes, 1, 0, 0});
}
#ifndef WITHOUT_hipMemcpyPeerAsync
result hipMemcpyPeerAsync(void *to, int there, const void *from, int here, size_t bytes, struct stream *stream) {
  CALL return there == here ? INVALID : enqueue(stream, (struct work){to, from, 0, 0, bytes, 1, 0, 0});
}
#endif
result hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                        int kind, struct stream *stream) {
  CALL(void) kind;
  return enqueue(stream, (struct work){to, from, to_pitch, from_pitch, width, height, 0, 0});
}
result hipMemsetAsync(void *to, int value, size_t bytes, struct stream *stream) {
  CALL return enqueue(stream, (struct work){to, NULL, 0, 0, bytes, 1, 1, value});
}
result hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, struct stream *stream) {
  CALL return enqueue(stream, (struct work){to, NULL, pitch, 0, width, height, 1, value});
}
result hipMemsetD16Async(void *to, unsigned short value, size_t n, struct stream *stream) {
  CALL return enqueue(stream, (struct work){to, NULL, 0, 0, 2 * n, 1, 2, value});
}
result hipMemsetD32Async(void *to, int value, size_t n, struct stream *stream) {
  CALL return enqueue(stream, (struct work){to, NULL, 0, 0, 4 * n, 1, 4, value});
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

result hipStreamCreateWithFlags(struct stream **out, unsigned flags) {
  CALL(void) flags;
  *out = calloc(1, sizeof **out);
  return OK;
}
result hipStreamDestroy(struct stream *stream) {
  CALL free(stream);
  return OK;
}
result hipStreamSynchronize(struct stream *stream) {
  CALL(void) stream;
  return OK;
}
result hipStreamQuery(struct stream *stream) {
  CALL(void) stream;
  return OK;
}
result hipStreamWaitEvent(struct stream *stream, void *event, unsigned flags) {
  CALL(void) stream, (void)event, (void)flags;
  return OK;
}
result hipStreamAddCallback(struct stream *stream, void (*call)(void *, result, void *), void *user, unsigned flags) {
  CALL(void) flags;
  call(stream, OK, user);
  return OK;
}
result hipEventCreateWithFlags(char **out, unsigned flags) {
  CALL(void) flags;
  *out = calloc(1, 1);
  return OK;
}
result hipEventDestroy(char *event) {
  CALL free(event);
  return OK;
}
result hipEventRecord(char *event, struct stream *stream) {
  CALL(void) stream;
  *event = 1;
  return OK;
}
result hipEventSynchronize(char *event) {
  CALL(void) event;
  return OK;
}
result hipEventQuery(char *event) {
  CALL(void) event;
  return OK;
}
result hipEventElapsedTime(float *ms, char *start, char *stop) {
  CALL if (!*start || !*stop) return BAD_HANDLE;
  *ms = 0.5f;
  return OK;
}

/* ---- modules: copies of ELF images, whose symbols are the functions and globals --------------------------------------- */

static size_t image_bytes(const char *image) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
  size_t end = head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr);
  for (int i = 0; i < head->e_shnum; i++) {
    const Elf64_Shdr *section = (const Elf64_Shdr *)(image + head->e_shoff) + i;
    size_t last = section->sh_type == SHT_NOBITS ? 0 : section->sh_offset + section->sh_size;
    if (last > end) end = last;
  }
  return end;
}
static const Elf64_Sym *find(const char *image, const char *name) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
  for (int i = 0; i < head->e_shnum; i++) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(image + sections[i].sh_offset);
    const char *names = image + sections[sections[i].sh_link].sh_offset;
    for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
      if (symbols[s].st_shndx && !strcmp(names + symbols[s].st_name, name)) return &symbols[s];
  }
  return NULL;
}
result hipModuleLoadData(char **out, const char *image) {
  CALL if (memcmp(image, ELFMAG, SELFMAG)) return BAD_IMAGE;
  size_t bytes = image_bytes(image);
  *out = malloc(bytes);
  memcpy(*out, image, bytes);
  return OK;
}
result hipModuleUnload(char *module) {
  CALL free(module);
  return OK;
}
result hipModuleGetFunction(const void **out, char *module, const char *name) {
  CALL const Elf64_Sym *symbol = find(module, name);
  if (!symbol) return NOT_FOUND;
  *out = symbol;
  return OK;
}
result hipModuleGetGlobal(void **out, size_t *bytes, char *module, const char *name) {
  static char globals[1 << 16];
  CALL const Elf64_Sym *symbol = find(module, name);
  if (!symbol) return NOT_FOUND;
  if (out) *out = globals;
  if (bytes) *bytes = symbol->st_size;
  return OK;
}
result hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, struct stream *stream, void **params, void **extra) {
  CALL(void) function, (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)params, (void)extra;
  return gx && bx ? enqueue(stream, (struct work){0}) : INVALID;
}
result hipFuncGetAttribute(int *value, int attribute, void *function) {
  CALL(void) function;
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0;
  return OK;
}
result hipFuncSetAttribute(void *function, int attribute, int value) {
  CALL(void) function, (void)attribute, (void)value;
  return OK;
}
result hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block, size_t shared) {
  CALL(void) function, (void)block, (void)shared;
  *blocks = 2;
  return OK;
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

static struct list *copy_of(const struct list *list) {
  struct list *made = calloc(1, sizeof *made);
  made->n = list->n;
  made->works = malloc((list->n + 1) * sizeof *made->works);
  if (list->n) memcpy(made->works, list->works, list->n * sizeof *made->works);
  return made;
}
static result discard(struct list *list) {
  free(list->works);
  free(list);
  return OK;
}
result hipStreamBeginCapture(struct stream *stream, int mode) {
  CALL(void) mode;
  stream->noted = calloc(1, sizeof *stream->noted);
  return OK;
}
result hipStreamEndCapture(struct stream *stream, struct list **graph) {
  CALL *graph = stream->noted;
  stream->noted = NULL;
  return OK;
}
result hipStreamIsCapturing(struct stream *stream, int *status) {
  CALL *status = stream->noted != NULL;
  return OK;
}
result hipGraphInstantiate(struct list **exec, struct list *graph, void **node, char *log, size_t bytes) {
  CALL(void) node, (void)log, (void)bytes;
  *exec = copy_of(graph);
  return OK;
}
result hipGraphUpload(struct list *exec, struct stream *stream) {
  CALL(void) exec, (void)stream;
  return OK;
}
result hipGraphLaunch(struct list *exec, struct stream *stream) {
  CALL(void) stream;
  for (size_t i = 0; i < exec->n; i++) run(&exec->works[i]);
  return OK;
}
result hipGraphGetNodes(struct list *graph, void **nodes, size_t *n) {
  CALL for (size_t i = 0; nodes && i < *n && i < graph->n; i++) nodes[i] = &graph->works[i];
  *n = graph->n;
  return OK;
}
result hipGraphDestroy(struct list *graph) {
  CALL return discard(graph);
}
result hipGraphExecDestroy(struct list *exec) {
  CALL return discard(exec);
}
result hipGraphExecUpdate(struct list *exec, struct list *graph, void **node, int *out) {
  CALL struct list *made = copy_of(graph);
  free(exec->works);
  *exec = *made;
  free(made);
  *node = NULL;
  *out = 0;
  return OK;
}

#endif
