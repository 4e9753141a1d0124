/*
 * image.h - compiled modules as bytes: an ELF shared object, then a trailer that says it is one of ours.
 */
#ifndef LUHIP_CPU_IMAGE_H
#define LUHIP_CPU_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Behind the ELF file, whose size its header tells. Shows a truncated or damaged image before the loader sees it. */
struct cpu_image_trailer {
  char magic[8]; /* IMAGE_MAGIC */
  uint32_t abi;  /* LUHIP_CPU_ABI */
  uint32_t warp;
  uint64_t bytes;             /* of the ELF file */
  uint8_t digest[HASH_BYTES]; /* of the ELF file and the fields above */
};

#define IMAGE_MAGIC "luhipcpu"
#define IMAGE_MAX ((size_t)1 << 30)

struct cpu_image {
  const unsigned char *data;
  size_t bytes;
  const Elf64_Shdr *sections;
  size_t nsections;
  const Elf64_Phdr *segments;
  size_t nsegments;
  const Elf64_Sym *symbols; /* .symtab */
  size_t nsymbols;
  const char *names; /* ends with a NUL */
  size_t names_bytes;
};

/* Size of the ELF file that begins so, 0 when it is not a 64-bit x86-64 one of a reasonable size. */
size_t cpu_image_size(const Elf64_Ehdr *header);
/* Checks every table that others below and the loader go by. `type`: ET_REL or ET_DYN. */
bool cpu_image_open(struct cpu_image *image, const void *data, size_t bytes, unsigned type);
const char *cpu_image_name(const struct cpu_image *image, const Elf64_Sym *symbol); /* "" when out of range */
const Elf64_Sym *cpu_image_find(const struct cpu_image *image, const char *name);   /* defined ones alone */
/* The flags (PF_R, PF_W, PF_X) of the segment that holds [address, address + bytes); 0 when none does. */
unsigned cpu_image_flags(const struct cpu_image *image, uint64_t address, uint64_t bytes);
/* Where the pointer stored at `address` will point after loading; 0 when the image does not tell. */
uint64_t cpu_image_pointer(const struct cpu_image *image, uint64_t address);
/* Undefined symbols that the loader must find elsewhere: calls `each` for every name that is not weak. */
void cpu_image_each_undefined(const struct cpu_image *image, void (*each)(void *user, const char *name), void *user);

/* "ns::scale" for _ZN2ns5scaleIfEEvPT_, "table" for _ZL5table and for names that are not mangled; template
   arguments and parameters are left out. False when it does not fit or is mangled in another way. */
bool cpu_image_plain_name(const char *symbol, char *plain, size_t len);

void cpu_image_make_trailer(struct cpu_image_trailer *trailer, const void *data, size_t bytes, unsigned warp);
bool cpu_image_check_trailer(const struct cpu_image_trailer *trailer, const void *data, size_t bytes);

#endif
