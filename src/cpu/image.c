/*
 * image.c - reading ELF files without trusting them: every offset is checked before it is used.
 */
#include "cpu/image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/abi.h"

enum { LOADED_MAX = 1 << 30 }; /* bytes of addresses that a module may take */

static bool within(size_t bytes, uint64_t offset, uint64_t length) {
  return offset <= bytes && length <= bytes - offset;
}

size_t cpu_image_size(const Elf64_Ehdr *header) {
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64 ||
      header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 || header->e_shoff > IMAGE_MAX ||
      !header->e_shnum)
    return 0;
  return header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
}

static bool open_sections(struct cpu_image *image, const Elf64_Ehdr *header) {
  image->sections = (const Elf64_Shdr *)(image->data + header->e_shoff);
  image->nsections = header->e_shnum;
  for (size_t i = 0; i < image->nsections; i++) {
    const Elf64_Shdr *section = &image->sections[i];
    if (section->sh_type != SHT_NOBITS && !within(image->bytes, section->sh_offset, section->sh_size)) return false;
  }
  return true;
}

static bool open_segments(struct cpu_image *image, const Elf64_Ehdr *header) {
  if (!header->e_phnum) return header->e_type == ET_REL;
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff % 8 ||
      !within(image->bytes, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
    return false;
  image->segments = (const Elf64_Phdr *)(image->data + header->e_phoff);
  image->nsegments = header->e_phnum;
  for (size_t i = 0; i < image->nsegments; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (!within(image->bytes, segment->p_offset, segment->p_filesz) || segment->p_vaddr > LOADED_MAX ||
        segment->p_memsz > LOADED_MAX || segment->p_filesz > segment->p_memsz)
      return false;
  }
  return true;
}

/* The symbol table with its names, and nothing when there is none. */
static bool open_symbols(struct cpu_image *image) {
  for (size_t i = 0; i < image->nsections; i++) {
    const Elf64_Shdr *table = &image->sections[i];
    if (table->sh_type != SHT_SYMTAB) continue;
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_offset % 8 || table->sh_link >= image->nsections)
      return false;
    const Elf64_Shdr *strings = &image->sections[table->sh_link];
    if (strings->sh_type != SHT_STRTAB || !strings->sh_size || image->data[strings->sh_offset + strings->sh_size - 1])
      return false;
    image->symbols = (const Elf64_Sym *)(image->data + table->sh_offset);
    image->nsymbols = table->sh_size / sizeof(Elf64_Sym);
    image->names = (const char *)(image->data + strings->sh_offset);
    image->names_bytes = strings->sh_size;
    return true;
  }
  return true;
}

bool cpu_image_open(struct cpu_image *image, const void *data, size_t bytes, unsigned type) {
  const Elf64_Ehdr *header = data;
  *image = (struct cpu_image){.data = data, .bytes = bytes, .names = ""};
  if (bytes < sizeof *header) return false;
  size_t size = cpu_image_size(header);
  return size && size <= bytes && header->e_type == type && open_sections(image, header) &&
         open_segments(image, header) && open_symbols(image);
}

const char *cpu_image_name(const struct cpu_image *image, const Elf64_Sym *symbol) {
  return symbol->st_name < image->names_bytes ? image->names + symbol->st_name : "";
}

const Elf64_Sym *cpu_image_find(const struct cpu_image *image, const char *name) {
  for (size_t i = 0; i < image->nsymbols; i++)
    if (image->symbols[i].st_shndx != SHN_UNDEF && strcmp(cpu_image_name(image, &image->symbols[i]), name) == 0)
      return &image->symbols[i];
  return NULL;
}

unsigned cpu_image_flags(const struct cpu_image *image, uint64_t address, uint64_t bytes) {
  for (size_t i = 0; i < image->nsegments; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
        within(segment->p_memsz, address - segment->p_vaddr, bytes))
      return segment->p_flags;
  }
  return 0;
}

uint64_t cpu_image_pointer(const struct cpu_image *image, uint64_t address) {
  for (size_t i = 0; i < image->nsections; i++) {
    const Elf64_Shdr *section = &image->sections[i];
    if (section->sh_type != SHT_RELA || section->sh_offset % 8) continue;
    const Elf64_Rela *entries = (const Elf64_Rela *)(image->data + section->sh_offset);
    for (size_t j = 0; j < section->sh_size / sizeof *entries; j++)
      if (entries[j].r_offset == address && ELF64_R_TYPE(entries[j].r_info) == R_X86_64_RELATIVE)
        return (uint64_t)entries[j].r_addend;
  }
  return 0;
}

void cpu_image_each_undefined(const struct cpu_image *image, void (*each)(void *user, const char *name), void *user) {
  for (size_t i = 1; i < image->nsymbols; i++) {
    const Elf64_Sym *symbol = &image->symbols[i];
    if (symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
      each(user, cpu_image_name(image, symbol));
  }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* One length-prefixed part of a mangled name, after an L that marks internal linkage. */
static const char *part(const char *at, const char **text, size_t *length) {
  if (*at == 'L') at++;
  if (!isdigit((unsigned char)*at)) return NULL;
  char *end;
  *length = strtoul(at, &end, 10);
  if (!*length || *length > strlen(end)) return NULL;
  *text = end;
  return end + *length;
}

static bool append(char *plain, size_t len, const char *text, size_t length) {
  size_t used = strlen(plain), colons = used ? 2 : 0;
  if (used + colons + length + 1 > len) return false;
  memcpy(plain + used, "::", colons);
  memcpy(plain + used + colons, text, length);
  plain[used + colons + length] = '\0';
  return true;
}

bool cpu_image_plain_name(const char *symbol, char *plain, size_t len) {
  static const char anonymous[] = "_GLOBAL__N_1";
  const char *text = symbol;
  size_t length = strlen(symbol);
  plain[0] = '\0';
  if (strncmp(symbol, "_Z", 2) != 0) return append(plain, len, text, length);
  const char *at = symbol + 2;
  if (*at != 'N') {
    return part(at, &text, &length) && append(plain, len, text, length);
  }
  for (at++; *at && *at != 'E' && *at != 'I';) {
    at = part(at, &text, &length);
    if (!at) return false;
    if (length == sizeof anonymous - 1 && strncmp(text, anonymous, length) == 0) continue;
    if (!append(plain, len, text, length)) return false;
  }
  return plain[0] != '\0';
}

/* ---- trailer ----------------------------------------------------------------------------------------------------- */

static void digest_of(const struct cpu_image_trailer *trailer, const void *data, size_t bytes,
                      uint8_t digest[HASH_BYTES]) {
  struct hash hash;
  hash_start(&hash);
  hash_add(&hash, trailer, offsetof(struct cpu_image_trailer, digest));
  hash_add(&hash, data, bytes);
  hash_finish(&hash, digest);
}

void cpu_image_make_trailer(struct cpu_image_trailer *trailer, const void *data, size_t bytes, unsigned warp) {
  *trailer = (struct cpu_image_trailer){.abi = LUHIP_CPU_ABI, .warp = warp, .bytes = bytes};
  memcpy(trailer->magic, IMAGE_MAGIC, sizeof trailer->magic);
  digest_of(trailer, data, bytes, trailer->digest);
}

bool cpu_image_check_trailer(const struct cpu_image_trailer *trailer, const void *data, size_t bytes) {
  uint8_t digest[HASH_BYTES];
  if (memcmp(trailer->magic, IMAGE_MAGIC, sizeof trailer->magic) != 0 || trailer->bytes != bytes) return false;
  digest_of(trailer, data, bytes, digest);
  return memcmp(digest, trailer->digest, sizeof digest) == 0;
}
