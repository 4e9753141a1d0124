/*
 * link.c - from the compiler's object file to a module image.
 *
 * `extern __shared__` arrays are thread-local symbols that the object file leaves undefined. A second object file,
 * written here by hand, defines each of them at the start of one thread-local block as large as shared memory can be,
 * so that all of them are the same memory, as in HIP.
 *
 * Modules are linked with the host's own libm and libmvec. Of libc they may have only what compilers call by
 * themselves: whatever else is undefined is an error of the kernel, named here rather than met when the module is
 * loaded.
 */
#include "cpu/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/spawn.h"
#include "cpu/exec.h"
#include "cpu/image.h"
#include "cpu/scratch.h"

/* ---- the object file with dynamic shared memory ------------------------------------------------------------------ */

enum { STUB_NULL, STUB_TBSS, STUB_SYMTAB, STUB_STRTAB, STUB_SHSTRTAB, STUB_SECTIONS };
static const char section_names[] = "\0.tbss\0.symtab\0.strtab\0.shstrtab";
enum { NAME_TBSS = 1, NAME_SYMTAB = 7, NAME_STRTAB = 15, NAME_SHSTRTAB = 23 };

static bool is_dynamic_shared(const Elf64_Sym *symbol) {
  return symbol->st_shndx == SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_TLS;
}

/* Writes stub.o for the undefined thread-local symbols of the object; *needed says whether there are any. */
static int write_stub(const struct cpu_image *object, const char *scratch, bool *needed) {
  size_t count = 1, strings = 1;
  for (size_t i = 1; i < object->nsymbols; i++)
    if (is_dynamic_shared(&object->symbols[i])) {
      count++;
      strings += strlen(cpu_image_name(object, &object->symbols[i])) + 1;
    }
  *needed = count > 1;
  if (!*needed) return 0;

  size_t symbols_at = sizeof(Elf64_Ehdr) + STUB_SECTIONS * sizeof(Elf64_Shdr);
  size_t strings_at = symbols_at + count * sizeof(Elf64_Sym);
  size_t names_at = strings_at + strings;
  size_t bytes = names_at + sizeof section_names;
  unsigned char *file = calloc(1, bytes);
  if (!file) return ENOMEM;

  Elf64_Ehdr *header = (Elf64_Ehdr *)file;
  memcpy(header->e_ident, ELFMAG, SELFMAG);
  header->e_ident[EI_CLASS] = ELFCLASS64;
  header->e_ident[EI_DATA] = ELFDATA2LSB;
  header->e_ident[EI_VERSION] = EV_CURRENT;
  header->e_type = ET_REL;
  header->e_machine = EM_X86_64;
  header->e_version = EV_CURRENT;
  header->e_shoff = sizeof *header;
  header->e_ehsize = sizeof *header;
  header->e_shentsize = sizeof(Elf64_Shdr);
  header->e_shnum = STUB_SECTIONS;
  header->e_shstrndx = STUB_SHSTRTAB;

  Elf64_Shdr *sections = (Elf64_Shdr *)(file + sizeof *header);
  sections[STUB_TBSS] = (Elf64_Shdr){.sh_name = NAME_TBSS,
                                     .sh_type = SHT_NOBITS,
                                     .sh_flags = SHF_ALLOC | SHF_WRITE | SHF_TLS,
                                     .sh_offset = symbols_at,
                                     .sh_size = CPU_SHARED_BYTES,
                                     .sh_addralign = 128};
  sections[STUB_SYMTAB] = (Elf64_Shdr){.sh_name = NAME_SYMTAB,
                                       .sh_type = SHT_SYMTAB,
                                       .sh_offset = symbols_at,
                                       .sh_size = count * sizeof(Elf64_Sym),
                                       .sh_link = STUB_STRTAB,
                                       .sh_info = 1,
                                       .sh_addralign = 8,
                                       .sh_entsize = sizeof(Elf64_Sym)};
  sections[STUB_STRTAB] = (Elf64_Shdr){
      .sh_name = NAME_STRTAB, .sh_type = SHT_STRTAB, .sh_offset = strings_at, .sh_size = strings, .sh_addralign = 1};
  sections[STUB_SHSTRTAB] = (Elf64_Shdr){.sh_name = NAME_SHSTRTAB,
                                         .sh_type = SHT_STRTAB,
                                         .sh_offset = names_at,
                                         .sh_size = sizeof section_names,
                                         .sh_addralign = 1};
  memcpy(file + names_at, section_names, sizeof section_names);

  /* Size 0: dynamic memory counts by what a launch asks for. */
  Elf64_Sym *symbol = (Elf64_Sym *)(file + symbols_at);
  char *string = (char *)file + strings_at + 1;
  for (size_t i = 1; i < object->nsymbols; i++)
    if (is_dynamic_shared(&object->symbols[i])) {
      const char *name = cpu_image_name(object, &object->symbols[i]);
      *++symbol = (Elf64_Sym){.st_name = (Elf64_Word)(string - ((char *)file + strings_at)),
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
                              .st_other = STV_HIDDEN,
                              .st_shndx = STUB_TBSS};
      memcpy(string, name, strlen(name) + 1);
      string += strlen(name) + 1;
    }
  int error = cpu_scratch_write(scratch, "stub.o", file, bytes);
  free(file);
  return error;
}

/* ---- running the linker ------------------------------------------------------------------------------------------ */

static hip_error_t run_linker(const struct cpu_link *link, bool stub, struct text *log) {
  const struct toolchain *tools = link->toolchain;
  char object[SCRATCH_PATH + 16], stub_path[SCRATCH_PATH + 16], output[SCRATCH_PATH + 16];
  snprintf(object, sizeof object, "%s/kernel.o", link->scratch);
  snprintf(stub_path, sizeof stub_path, "%s/stub.o", link->scratch);
  snprintf(output, sizeof output, "%s/module.so", link->scratch);
  const char *argv[40] = {tools->linker,     "-shared", "-Bsymbolic",  "-z",  "norelro", "-z",
                          "noseparate-code", "-z",      "noexecstack", "-z",  "now",     "--hash-style=gnu",
                          "--build-id=none", "-o",      output,        object};
  size_t n = 16;
  if (stub) argv[n++] = stub_path;
  argv[n++] = "--as-needed";
  const char *const libraries[] = {tools->libgcc, tools->libmvec, tools->libm, tools->libc};
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (libraries[i][0]) argv[n++] = libraries[i];

  struct spawn_request request = {
      .path = tools->linker, .argv = argv, .envp = link->envp, .timeout_ms = link->timeout_ms};
  struct spawn_result result;
  int error = spawn_run(&request, &result);
  if (error) {
    text_printf(log, "%s: error: the linker %s cannot be started: %s\n", link->name, tools->linker, strerror(error));
    return hip_ErrorFileNotFound;
  }
  bool good = result.end == SPAWN_UNKNOWN || (result.end == SPAWN_EXITED && result.code == 0);
  if (result.end == SPAWN_TIMEOUT)
    text_printf(log, "%s: error: linking took longer than %u ms\n", link->name, link->timeout_ms);
  else if (!good)
    text_printf(log, "%s%s: error: linking failed\n", result.output, link->name);
  free(result.output);
  return good ? hip_Success : result.end == SPAWN_TIMEOUT ? hip_ErrorLaunchTimeOut : hip_ErrorInvalidSource;
}

/* ---- what the module may not have -------------------------------------------------------------------------------- */

/* What compilers call by themselves. */
static bool is_allowed(const char *name) {
  static const char *const allowed[] = {"memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"};
  for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
    if (strcmp(name, allowed[i]) == 0) return true;
  return cpu_toolchain_is_math(name);
}

enum { MAX_NAMED = 16 };

struct undefined {
  char names[MAX_NAMED][512]; /* the first ones */
  size_t count;
};

static void note_undefined(void *user, const char *full) {
  struct undefined *undefined = user;
  char name[512];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(full, "@"), full); /* ld writes "sinf@GLIBC_2.2.5" */
  if (is_allowed(name)) return;
  if (undefined->count < MAX_NAMED)
    snprintf(undefined->names[undefined->count], sizeof undefined->names[0], "%s", name);
  undefined->count++;
}

/* As C++ writes it, by binutils' c++filt where it is; as it is otherwise. */
static void add_readable(const struct cpu_link *link, const char *name, struct text *log) {
  static const char filter[] = "/usr/bin/c++filt";
  const char *const argv[] = {filter, name, NULL};
  struct spawn_request request = {.path = filter, .argv = argv, .envp = link->envp, .timeout_ms = 5000};
  struct spawn_result result = {.output = NULL};
  if (strncmp(name, "_Z", 2) == 0 && spawn_run(&request, &result) == 0 && result.length > 1) {
    result.output[strcspn(result.output, "\n")] = '\0';
    name = result.output;
  }
  text_add(log, name);
  free(result.output);
}

static bool has_initialisers(const struct cpu_image *image) {
  for (size_t i = 0; i < image->nsections; i++)
    if ((image->sections[i].sh_type == SHT_INIT_ARRAY || image->sections[i].sh_type == SHT_FINI_ARRAY) &&
        image->sections[i].sh_size)
      return true;
  return false;
}

/* No thread-local variable has a first value: __shared__ cannot have one, and the block is any module's (exec.c). */
static bool has_initial_locals(const struct cpu_image *image) {
  for (size_t i = 0; i < image->nsegments; i++)
    if (image->segments[i].p_type == PT_TLS && image->segments[i].p_filesz) return true;
  return false;
}

static hip_error_t check_module(const struct cpu_link *link, const struct cpu_image *image, struct text *log) {
  struct undefined undefined = {.count = 0};
  cpu_image_each_undefined(image, note_undefined, &undefined);
  for (size_t i = 0; i < undefined.count && i < MAX_NAMED; i++) {
    text_printf(log, "%s: error: undefined: ", link->name);
    add_readable(link, undefined.names[i], log);
    text_add(log, " (called in a kernel, but not defined for the device)\n");
  }
  if (has_initialisers(image)) {
    text_printf(log, "%s: error: a global variable needs code to be initialised; device globals take constants only\n",
                link->name);
    return hip_ErrorInvalidSource;
  }
  if (has_initial_locals(image)) {
    text_printf(log, "%s: error: a __shared__ or thread_local variable has an initial value; they cannot have one\n",
                link->name);
    return hip_ErrorInvalidSource;
  }
  return undefined.count ? hip_ErrorInvalidSource : hip_Success;
}

static hip_error_t unreadable(const struct cpu_link *link, const char *what, struct text *log) {
  text_printf(log, "%s: error: %s\n", link->name, what);
  return hip_ErrorUnknown;
}

static hip_error_t finish(const struct cpu_link *link, struct file_content *content, void **out, size_t *bytes,
                          struct text *log) {
  struct cpu_image image;
  if (!cpu_image_open(&image, content->data, content->bytes, ET_DYN) ||
      cpu_image_size((const Elf64_Ehdr *)content->data) != content->bytes)
    return unreadable(link, "the linker's output cannot be read", log);
  hip_error_t rc = check_module(link, &image, log);
  if (rc) return rc;
  struct cpu_image_trailer trailer;
  cpu_image_make_trailer(&trailer, content->data, content->bytes, link->warp);
  char *whole = realloc(content->data, content->bytes + sizeof trailer);
  if (!whole) return hip_ErrorOutOfMemory;
  content->data = NULL;
  memcpy(whole + content->bytes, &trailer, sizeof trailer);
  *out = whole;
  *bytes = content->bytes + sizeof trailer;
  return hip_Success;
}

hip_error_t cpu_link_module(const struct cpu_link *link, void **image, size_t *bytes, struct text *log) {
  char path[SCRATCH_PATH + 16];
  struct file_content content;
  struct cpu_image object;
  bool stub = false;
  snprintf(path, sizeof path, "%s/kernel.o", link->scratch);
  if (file_read(path, &content)) return unreadable(link, "the compiler made no object file", log);
  bool good = cpu_image_open(&object, content.data, content.bytes, ET_REL);
  int error = good ? write_stub(&object, link->scratch, &stub) : 0;
  free(content.data);
  if (!good) return unreadable(link, "the compiler's object file cannot be read", log);
  if (error) return unreadable(link, strerror(error), log);

  hip_error_t rc = run_linker(link, stub, log);
  if (rc) return rc;
  snprintf(path, sizeof path, "%s/module.so", link->scratch);
  if (file_read(path, &content)) return unreadable(link, "the linker made no module", log);
  rc = finish(link, &content, image, bytes, log);
  free(content.data);
  return rc;
}
