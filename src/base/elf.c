/*
 * elf.c - symbol look-up in an ELF64 little-endian image that nobody vouches for.
 *
 * All numbers are taken by copy at checked offsets, so alignment and truncation do not matter. What hiprtc gives may
 * be a bundle of images (__CLANG_OFFLOAD_BUNDLE__): every ELF in it is searched.
 */
#include "base/elf.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct image {
  const unsigned char *base;
  size_t bytes;
};

static bool has(const struct image *image, uint64_t offset, uint64_t bytes) {
  return offset <= image->bytes && bytes <= image->bytes - offset;
}

static bool copy(const struct image *image, uint64_t offset, void *into, size_t bytes) {
  if (!has(image, offset, bytes)) return false;
  memcpy(into, image->base + offset, bytes);
  return true;
}

static bool read_header(const struct image *image, Elf64_Ehdr *header) {
  return copy(image, 0, header, sizeof *header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
         header->e_shentsize == sizeof(Elf64_Shdr);
}

static bool read_section(const struct image *image, const Elf64_Ehdr *header, uint64_t index, Elf64_Shdr *section) {
  return index < header->e_shnum && header->e_shoff <= image->bytes &&
         copy(image, header->e_shoff + index * sizeof *section, section, sizeof *section);
}

/* Whether the string table holds exactly `name` at the offset. */
static bool is_named(const struct image *image, const Elf64_Shdr *strings, uint64_t offset, const char *name) {
  size_t bytes = strlen(name) + 1;
  return strings->sh_type == SHT_STRTAB && offset < strings->sh_size && bytes <= strings->sh_size - offset &&
         strings->sh_offset <= image->bytes && has(image, strings->sh_offset + offset, bytes) &&
         memcmp(image->base + strings->sh_offset + offset, name, bytes) == 0;
}

/* The name at an offset of the string table, when it is whole. */
static const char *name_at(const struct image *image, const Elf64_Shdr *strings, uint64_t offset) {
  if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size || !has(image, strings->sh_offset, strings->sh_size))
    return NULL;
  const char *name = (const char *)image->base + strings->sh_offset + offset;
  return memchr(name, 0, (size_t)(strings->sh_size - offset)) ? name : NULL;
}

/* "luhip_sig_0" as what NVRTC makes of it in an anonymous namespace: "_ZN...11luhip_sig_0E". */
static bool is_inner_name(const struct image *image, const Elf64_Shdr *strings, uint64_t offset, const char *name) {
  char ending[128];
  const char *symbol = name_at(image, strings, offset);
  int length = snprintf(ending, sizeof ending, "%zu%sE", strlen(name), name);
  if (!symbol || strncmp(symbol, "_ZN", 3) != 0 || length < 0 || (size_t)length >= sizeof ending) return false;
  size_t whole = strlen(symbol);
  return whole > (size_t)length && strcmp(symbol + whole - (size_t)length, ending) == 0;
}

/* Section addresses are 0 in relocatable files, where a symbol's value is an offset already. */
static bool locate(const struct image *image, const Elf64_Ehdr *header, const Elf64_Sym *symbol,
                   const unsigned char **data, size_t *size) {
  Elf64_Shdr section;
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
      !read_section(image, header, symbol->st_shndx, &section) || section.sh_type == SHT_NOBITS || !symbol->st_size ||
      symbol->st_value < section.sh_addr)
    return false;
  uint64_t within = symbol->st_value - section.sh_addr;
  if (within > section.sh_size || symbol->st_size > section.sh_size - within || section.sh_offset > image->bytes ||
      within > image->bytes || !has(image, section.sh_offset + within, symbol->st_size))
    return false;
  *data = image->base + section.sh_offset + within;
  *size = (size_t)symbol->st_size;
  return true;
}

/* What is done with each entry of the symbol tables. True ends the search. */
struct query {
  const char *name; /* elf_symbol: this symbol's content */
  const unsigned char **data;
  size_t *size;
  bool (*visit)(void *user, const char *name); /* elf_functions */
  bool (*note)(void *user, const char *owner, uint32_t type, const unsigned char *data, size_t bytes); /* elf_notes */
  void *user;
};

static bool answers(const struct query *query, const struct image *image, const Elf64_Ehdr *header,
                    const Elf64_Shdr *strings, const Elf64_Sym *symbol) {
  if (query->name)
    return (is_named(image, strings, symbol->st_name, query->name) ||
            is_inner_name(image, strings, symbol->st_name, query->name)) &&
           locate(image, header, symbol, query->data, query->size);
  if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return false;
  const char *name = name_at(image, strings, symbol->st_name);
  return name && !query->visit(query->user, name);
}

static bool search_table(const struct image *image, const Elf64_Ehdr *header, const Elf64_Shdr *table,
                         const struct query *query) {
  Elf64_Shdr strings;
  if (table->sh_entsize != sizeof(Elf64_Sym) || !read_section(image, header, table->sh_link, &strings) ||
      !has(image, table->sh_offset, table->sh_size))
    return false;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!copy(image, table->sh_offset + at, &symbol, sizeof symbol)) return false;
    if (answers(query, image, header, &strings, &symbol)) return true;
  }
  return false;
}

static uint64_t padded(uint64_t bytes) {
  return (bytes + 3) & ~UINT64_C(3);
}

static bool search_notes(const struct image *image, const Elf64_Shdr *section, const struct query *query) {
  if (!has(image, section->sh_offset, section->sh_size)) return false;
  const unsigned char *base = image->base + section->sh_offset;
  for (uint64_t at = 0; section->sh_size - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr note;
    memcpy(&note, base + at, sizeof note);
    uint64_t name = at + sizeof note, data = name + padded(note.n_namesz), end = data + padded(note.n_descsz);
    if (data + note.n_descsz > section->sh_size) return false;
    bool whole = note.n_namesz && !base[name + note.n_namesz - 1];
    if (whole && !query->note(query->user, (const char *)base + name, note.n_type, base + data, note.n_descsz))
      return true;
    if (end > section->sh_size) return false;
    at = end;
  }
  return false;
}

static bool search_section(const struct image *image, const Elf64_Ehdr *header, const Elf64_Shdr *section,
                           const struct query *query) {
  if (query->note) return section->sh_type == SHT_NOTE && search_notes(image, section, query);
  bool table = section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM;
  return table && search_table(image, header, section, query);
}

static bool search_image(const struct image *image, const struct query *query) {
  Elf64_Ehdr header;
  if (!read_header(image, &header)) return false;
  for (uint64_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    if (!read_section(image, &header, i, &section)) return false;
    if (search_section(image, &header, &section, query)) return true;
  }
  return false;
}

/* A bundle: magic, u64 count, then per image u64 offset, u64 size, u64 length of its triple, the triple. */
static bool search_bundle(const struct image *bundle, const struct query *query) {
  static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
  uint64_t at = sizeof magic - 1, count;
  if (!has(bundle, 0, at) || memcmp(bundle->base, magic, at) != 0 || !copy(bundle, at, &count, sizeof count))
    return false;
  at += sizeof count;
  for (; count; count--) {
    uint64_t entry[3]; /* offset, size, length of the triple */
    if (!copy(bundle, at, entry, sizeof entry)) return false;
    at += sizeof entry;
    if (!has(bundle, at, entry[2])) return false;
    at += entry[2];
    if (!has(bundle, entry[0], entry[1])) continue;
    struct image image = {bundle->base + entry[0], (size_t)entry[1]};
    if (search_image(&image, query)) return true;
  }
  return false;
}

bool elf_symbol(const void *image, size_t bytes, const char *name, const unsigned char **data, size_t *size) {
  struct image whole = {image, bytes};
  struct query query = {.name = name, .data = data, .size = size};
  return search_image(&whole, &query) || search_bundle(&whole, &query);
}

void elf_functions(const void *image, size_t bytes, bool (*visit)(void *user, const char *name), void *user) {
  struct image whole = {image, bytes};
  struct query query = {.visit = visit, .user = user};
  if (!search_image(&whole, &query)) search_bundle(&whole, &query);
}

void elf_notes(const void *image, size_t bytes,
               bool (*visit)(void *user, const char *owner, uint32_t type, const unsigned char *data, size_t bytes),
               void *user) {
  struct image whole = {image, bytes};
  struct query query = {.note = visit, .user = user};
  if (!search_image(&whole, &query)) search_bundle(&whole, &query);
}
